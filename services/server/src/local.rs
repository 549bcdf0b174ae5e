//! The database on this machine: its directory, its secrets, and the mongod that serves it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use vitrine_mongod::{Instance, Mongod, Search, StartOptions};

use crate::settings::Common;

/// What the database on this machine signs with.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Secrets {
    pub(crate) cursor: String,
    pub(crate) token: String,
}

/// Where the data of this machine's database is. Its mongod is found there by other commands while
/// it runs.
#[derive(Clone, Debug)]
pub(crate) struct LocalData(PathBuf);

impl LocalData {
    pub(crate) fn new(settings: &Common) -> anyhow::Result<Self> {
        let dir = settings.data_dir()?;
        fs::create_dir_all(&dir).with_context(|| {
            format!(
                "cannot make the data directory {}; choose another with --data-dir",
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

    fn running_file(&self) -> PathBuf {
        self.0.join("running")
    }

    /// Removes the database. What runs on it must have ended.
    pub(crate) fn reset(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(self.mongo_dir()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("removing {}", self.mongo_dir().display()))
            }
            _ => Ok(()),
        }
    }

    /// The secrets, made when there are none yet; readable by this user only.
    pub(crate) fn secrets(&self) -> anyhow::Result<Secrets> {
        let path = self.0.join("secrets.json");
        let about = || format!("reading the secrets in {}", path.display());
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(about),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_secrets(&path),
            Err(error) => Err(error).with_context(about),
        }
    }

    /// Where a mongod that another process runs on this data said it can be reached.
    pub(crate) fn running_uri(&self) -> Option<String> {
        fs::read_to_string(self.running_file()).ok()
    }

    /// Finds or fetches a mongod and starts it on this data.
    pub(crate) async fn start(
        &self,
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Instance> {
        let search = Search {
            binary: settings.mongod.clone(),
            path_var: settings.surroundings.path.clone(),
            cache_dir: settings.cache_dir()?,
            provision: true,
        };
        let mongod = Mongod::find(&search, report).await?;
        let instance = Instance::start(&mongod, &StartOptions::new(self.mongo_dir())).await?;
        fs::write(self.running_file(), instance.uri())
            .with_context(|| format!("writing to {}", self.0.display()))?;
        Ok(instance)
    }

    /// Stops the mongod cleanly.
    pub(crate) async fn stop(&self, instance: Instance) -> anyhow::Result<()> {
        // Whether or not the file goes, whoever reads it looks whether anyone answers.
        let _ = fs::remove_file(self.running_file());
        instance.stop().await.context("stopping the local mongod")
    }
}

/// Makes secrets, or takes those that another process made at the same time. The file appears
/// whole or not at all.
fn make_secrets(path: &Path) -> anyhow::Result<Secrets> {
    let about = || {
        format!(
            "writing {}; choose another directory with --data-dir",
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
        .with_context(about)?;
    file.write_all(&serde_json::to_vec_pretty(&secrets)?)
        .with_context(about)?;
    let placed = fs::hard_link(&draft, path);
    fs::remove_file(&draft).with_context(about)?;
    match placed {
        Ok(()) => Ok(secrets),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            serde_json::from_str(&fs::read_to_string(path).with_context(about)?).with_context(about)
        }
        Err(error) => Err(error).with_context(about),
    }
}

/// Two hundred and forty-four random bits as text.
pub(crate) fn random_secret() -> String {
    let id = vitrine_model::id::ProductId::random;
    format!("{}{}", id(), id()).replace('-', "")
}
