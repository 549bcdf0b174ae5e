//! The rejects file: JSON Lines with everything that was refused or left out.
//!
//! It is written under the name with `.part` and gets its own name when the import ends, so that a
//! rejects file is always the whole of one run; after a kill the `.part` holds what the finished
//! batches refused. A rejects file of an earlier run is kept once, under the name with `.old`.

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

/// Where everything that was refused or left out is written to.
#[derive(Debug)]
pub struct Rejects {
    path: PathBuf,
    part: PathBuf,
    writer: BufWriter<File>,
    entries: u64,
}

/// What became of the rejects file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RejectsFile {
    /// The file, when there was something to write.
    pub path: Option<PathBuf>,
    /// How many entries it has.
    pub entries: u64,
    /// Where the file of an earlier run is now.
    pub earlier: Option<PathBuf>,
}

impl Rejects {
    /// Begins a rejects file.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let part = with_ending(path, ".part");
        let writer = BufWriter::new(File::create(&part)?);
        Ok(Self {
            path: path.to_owned(),
            part,
            writer,
            entries: 0,
        })
    }

    /// Adds what was refused or left out of a line that ended as `outcome`.
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

    /// Hands what was added to the operating system; called after each batch.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Gives the file its name. With nothing to tell there is none.
    ///
    /// # Errors
    /// When it cannot be written or renamed.
    pub fn finish(mut self) -> io::Result<RejectsFile> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        let earlier = self.path.exists().then(|| with_ending(&self.path, ".old"));
        if let Some(earlier) = &earlier {
            fs::rename(&self.path, earlier)?;
        }
        let told = self.entries > 0;
        if told {
            fs::rename(&self.part, &self.path)?;
        }
        Ok(RejectsFile {
            path: told.then(|| std::mem::take(&mut self.path)),
            entries: self.entries,
            earlier,
        })
    }
}

impl Drop for Rejects {
    /// Leaves no empty file behind, also when the import could not begin.
    fn drop(&mut self) {
        if self.entries == 0 {
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
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
    fn a_file_is_whole_or_not_there_and_the_one_before_is_kept() {
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
    fn a_killed_run_leaves_its_part_and_the_file_before() {
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
            fs::read_to_string(with_ending(&path, ".part"))
                .unwrap()
                .contains("is worse")
        );
    }
}
