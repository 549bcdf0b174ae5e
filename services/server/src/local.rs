//! The database on this machine: its directory, its secrets, and the mongod that serves it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use vitrine_model::id::random_bytes;
use vitrine_mongod::{Claim, Instance, Mongod, Search, StartOptions};

use crate::settings::Common;

/// The secrets that sign cursors and tokens of the database on this machine.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Secrets {
    pub(crate) cursor: String,
    pub(crate) token: String,
}

/// The data directory of the database on this machine. While its mongod runs, the file `running`
/// contains its connection string, so that other commands can use it.
#[derive(Clone, Debug)]
pub(crate) struct LocalData(PathBuf);

impl LocalData {
    pub(crate) fn new(settings: &Common) -> anyhow::Result<Self> {
        let dir = settings.data_dir()?;
        fs::create_dir_all(&dir).with_context(|| {
            format!(
                "cannot create the data directory {}; choose another with --data-dir (VITRINE_DATA_DIR)",
                dir.display()
            )
        })?;
        Ok(Self(dir))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.0
    }

    fn mongo_dir(&self) -> PathBuf {
        self.0.join("mongodb")
    }

    /// Where uploaded pictures are kept.
    pub(crate) fn picture_dir(&self) -> PathBuf {
        self.0.join("pictures")
    }

    fn running_file(&self) -> PathBuf {
        self.0.join("running")
    }

    /// Deletes the database. Its mongod must not be running.
    pub(crate) fn reset(&self) -> anyhow::Result<()> {
        remove(&self.mongo_dir())
    }

    /// Deletes the uploaded pictures.
    pub(crate) fn reset_pictures(&self) -> anyhow::Result<()> {
        remove(&self.picture_dir())
    }

    /// Returns the secrets, after generating them if there are none. The file is readable by this
    /// user only.
    pub(crate) fn secrets(&self) -> anyhow::Result<Secrets> {
        let path = self.0.join("secrets.json");
        let context = || format!("reading the secrets in {}", path.display());
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(context),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => create_secrets(&path),
            Err(error) => Err(error).with_context(context),
        }
    }

    /// The connection string of the mongod that another process runs on this data, if it left one.
    pub(crate) fn running_uri(&self) -> Option<String> {
        fs::read_to_string(self.running_file()).ok()
    }

    /// Finds or downloads a mongod and starts it on this data.
    pub(crate) async fn start(
        &self,
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Instance> {
        let search = Search {
            binary: settings.mongod.clone(),
            path_var: settings.environment.path.clone(),
            cache_dir: settings.cache_dir()?,
            provision: true,
        };
        // First, so that nothing is downloaded for a directory that another process uses.
        let claim = Claim::new(&self.mongo_dir()).await?;
        let mongod = Mongod::find(&search, report).await?;
        let options = StartOptions::new(self.mongo_dir());
        let instance = Instance::start_on(claim, &mongod, &options).await?;
        fs::write(self.running_file(), instance.uri())
            .with_context(|| format!("writing to {}", self.0.display()))?;
        Ok(instance)
    }

    /// Stops the mongod cleanly.
    pub(crate) async fn stop(&self, instance: Instance) -> anyhow::Result<()> {
        // A file left behind does no harm: its readers check whether the mongod answers.
        let _ = fs::remove_file(self.running_file());
        instance.stop().await.context("stopping the local mongod")
    }
}

/// Deletes a directory, if there is one.
fn remove(dir: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Generates secrets, or reads those that another process generated at the same time. The hard link
/// makes the file appear complete or not at all.
fn create_secrets(path: &Path) -> anyhow::Result<Secrets> {
    let context = || {
        format!(
            "writing {}; choose another directory with --data-dir (VITRINE_DATA_DIR)",
            path.display()
        )
    };
    let secrets = Secrets {
        cursor: random_secret(),
        token: random_secret(),
    };
    let draft = path.with_extension(random_secret());
    let mut file = fs::OpenOptions::new();
    let mut file = file
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .with_context(context)?;
    file.write_all(&serde_json::to_vec_pretty(&secrets)?)
        .with_context(context)?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft).with_context(context)?;
    match linked {
        Ok(()) => Ok(secrets),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            serde_json::from_str(&fs::read_to_string(path).with_context(context)?)
                .with_context(context)
        }
        Err(error) => Err(error).with_context(context),
    }
}

/// The number of files that this process may have open at a time, where the system says it.
pub(crate) fn open_file_limit() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// Returns 224 random bits in hexadecimal digits.
pub(crate) fn random_secret() -> String {
    let halves = [random_bytes::<14>(), random_bytes::<14>()];
    halves
        .iter()
        .flatten()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
