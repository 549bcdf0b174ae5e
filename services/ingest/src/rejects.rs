//! The rejects file: JSON Lines with all rejected lines and dropped values.
//!
//! The file is written as `NAME.part` and renamed to `NAME` when the import ends, so that a rejects
//! file always belongs to one complete run. After a kill, `NAME.part` contains the rejects of the
//! batches that were completed. The rejects file of the previous run is kept once, as `NAME.old`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use vitrine_model::import::Rejection;

/// One line of the file.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    file: &'a str,
    line: u64,
    field: &'a str,
    reason: &'a str,
    outcome: &'a str,
}

/// The writer of a rejects file.
#[derive(Debug)]
pub struct Rejects {
    path: PathBuf,
    part: PathBuf,
    writer: BufWriter<File>,
    entries: u64,
}

/// The finished rejects file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RejectsFile {
    /// The file; `None` if nothing was rejected or dropped.
    pub path: Option<PathBuf>,
    /// The number of its entries.
    pub entries: u64,
    /// The new name of the file of an earlier run.
    pub earlier: Option<PathBuf>,
}

impl Rejects {
    /// Creates a rejects file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let part = with_suffix(path, ".part");
        let writer = BufWriter::new(File::create(&part)?);
        Ok(Self {
            path: path.to_owned(),
            part,
            writer,
            entries: 0,
        })
    }

    /// Adds the rejections of a line, or of values of it. `outcome` is the outcome of the line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(
        &mut self,
        file: &str,
        line: u64,
        outcome: &str,
        rejections: &[Rejection],
    ) -> io::Result<()> {
        for Rejection { field, reason } in rejections {
            let entry = Entry {
                file,
                line,
                field,
                reason,
                outcome,
            };
            serde_json::to_writer(&mut self.writer, &entry)?;
            self.writer.write_all(b"\n")?;
            self.entries += 1;
        }
        Ok(())
    }

    /// Flushes the entries to the operating system; called after each batch.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Renames the complete file; deletes it if it is empty.
    ///
    /// # Errors
    /// When it cannot be written or renamed.
    pub fn finish(mut self) -> io::Result<RejectsFile> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        let earlier = self.path.exists().then(|| with_suffix(&self.path, ".old"));
        if let Some(earlier) = &earlier {
            fs::rename(&self.path, earlier)?;
        }
        let has_entries = self.entries > 0;
        if has_entries {
            fs::rename(&self.part, &self.path)?;
        }
        Ok(RejectsFile {
            path: has_entries.then(|| std::mem::take(&mut self.path)),
            entries: self.entries,
            earlier,
        })
    }
}

impl Drop for Rejects {
    /// Deletes an empty file, also if the import failed to start.
    fn drop(&mut self) {
        if self.entries == 0 {
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(path: &Path, rejections: &[Rejection]) -> RejectsFile {
        let mut rejects = Rejects::create(path).unwrap();
        rejects.add("feed.csv", 7, "rejected", rejections).unwrap();
        rejects.flush().unwrap();
        rejects.finish().unwrap()
    }

    #[test]
    fn a_file_is_complete_or_absent_and_the_previous_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rejects.jsonl");
        let first = run(&path, &[Rejection::new("a", "is bad")]);
        assert_eq!((first.entries, first.earlier), (1, None));
        let line = "{\"file\":\"feed.csv\",\"line\":7,\"field\":\"a\",\"reason\":\"is bad\",\"outcome\":\"rejected\"}\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), line);

        let second = run(&path, &[]);
        assert_eq!((second.path, second.entries), (None, 0));
        assert_eq!(fs::read_to_string(second.earlier.unwrap()).unwrap(), line);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_killed_run_leaves_its_part_and_the_previous_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rejects.jsonl");
        run(&path, &[Rejection::new("a", "is bad")]);
        let mut killed = Rejects::create(&path).unwrap();
        killed
            .add("f", 1, "rejected", &[Rejection::new("b", "is worse")])
            .unwrap();
        killed.flush().unwrap();
        drop(killed);
        assert!(fs::read_to_string(&path).unwrap().contains("is bad"));
        assert!(
            fs::read_to_string(with_suffix(&path, ".part"))
                .unwrap()
                .contains("is worse")
        );
    }
}
