//! The file of rejected lines: JSON Lines with file, line and reasons. It exists only if there are
//! any.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use vitrine_model::import::Rejection;

/// The file.
pub(super) struct Rejects {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Rejects {
    /// Removes the file of an earlier import.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self {
            path: path.to_owned(),
            file: None,
        })
    }

    pub(super) fn add(&mut self, file: &str, line: u64, reasons: &[Rejection]) -> io::Result<()> {
        let to = match &mut self.file {
            Some(to) => to,
            None => self.file.insert(BufWriter::new(File::create(&self.path)?)),
        };
        let entry =
            json!({ "file": file, "line": line, "outcome": "rejected", "reasons": reasons });
        writeln!(to, "{entry}")
    }

    /// Returns the path if the file exists.
    pub(super) fn finish(self) -> io::Result<Option<PathBuf>> {
        let Some(mut file) = self.file else {
            return Ok(None);
        };
        file.flush()?;
        Ok(Some(self.path))
    }
}
