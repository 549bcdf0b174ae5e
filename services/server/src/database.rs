//! The database of a command: the one that the settings name, one that already runs on this
//! machine, or one started for the duration of the command.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vitrine_domain::pictures::PictureOptions;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_ingest::Importer;
use vitrine_mongod::{Instance, Obstacle, StartError, find_direct_obstacle};
use vitrine_storage::store::{Deployment, Topology};
use vitrine_storage::{Store, StoreOptions};

use crate::auth::{KeyKeeper, KeySource, Tokens};
use crate::commands::process_name;
use crate::health::DatabaseHealth;
use crate::local::{LocalData, random_secret};
use crate::retry::Retry;
use crate::settings::{Common, Secret, Serving};

/// How long to wait for the answer of a mongod that another process may have started on this
/// machine.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(800);
/// The minimum lengths of secrets, in bytes.
const MIN_CURSOR_SECRET_BYTES: usize = 16;
const MIN_TOKEN_SECRET_BYTES: usize = 32;

/// The version of MongoDB that tests and images use.
const TESTED_VERSION: &str = include_str!("../../../docker/mongodb-version");

/// A database and, if this process started it, its mongod.
pub(crate) struct Database {
    pub(crate) store: Store,
    pub(crate) instance: Option<Instance>,
    pub(crate) local: Option<LocalData>,
    pub(crate) health: DatabaseHealth,
    /// Where the catalogues that are opened in it keep pictures.
    pub(crate) pictures: Option<Arc<PictureOptions>>,
}

impl Database {
    /// Connects to the database of the settings, or to one on this machine, which is started if it
    /// is not running. Retries for up to half a minute while the database is unreachable.
    pub(crate) async fn open(
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        Self::open_within(&mut Retry::with_default_timeout(), settings, report).await
    }

    /// As [`Database::open`], with the timeout of `retry`.
    pub(crate) async fn open_within(
        retry: &mut Retry,
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        let Some(uri) = settings.mongodb_uri.as_ref().map(Secret::reveal) else {
            let local = LocalData::new(settings)?;
            return match running(settings, &local).await {
                Some(store) => Ok(Self::of(store, None, Some(local))),
                None => Self::start(settings, local, report).await,
            };
        };
        let retry = retry.of(uri);
        let store = retry.run(async || connect(settings, uri, None).await);
        Ok(Self::of(store.await?, None, None))
    }

    /// Starts the database on this machine, which must not be running.
    pub(crate) async fn start(
        settings: &Common,
        local: LocalData,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        let instance = local.start(settings, report).await?;
        let store = connect(settings, instance.uri(), None).await?;
        Ok(Self::of(store, Some(instance), Some(local)))
    }

    fn of(store: Store, instance: Option<Instance>, local: Option<LocalData>) -> Self {
        Self {
            store,
            instance,
            local,
            health: DatabaseHealth::new(),
            pictures: None,
        }
    }

    /// Opens the catalogue for serving: with the shared cursor secret.
    pub(crate) async fn catalog(
        &self,
        settings: &Common,
        serving: Serving,
    ) -> anyhow::Result<Catalog> {
        let secret = cursor_secret(settings, self.local.as_ref())?;
        let options = self.options(settings, secret).await?;
        let options = CatalogOptions {
            moderation: serving.moderation,
            product_memory: serving.product_memory,
            ..options
        };
        self.catalog_with(options).await
    }

    /// Opens the catalogue for commands that issue no cursors.
    pub(crate) async fn catalog_for_work(&self, settings: &Common) -> anyhow::Result<Catalog> {
        let options = self.options(settings, random_secret()).await?;
        self.catalog_with(options).await
    }

    /// Opens the catalogue read-only.
    pub(crate) async fn catalog_read_only(&self, settings: &Common) -> anyhow::Result<Catalog> {
        let options = self.options(settings, random_secret()).await?;
        Catalog::open_read_only(self.store.clone(), options)
            .await
            .context("opening the catalogue")
    }

    async fn catalog_with(&self, options: CatalogOptions) -> anyhow::Result<Catalog> {
        Catalog::open(self.store.clone(), options)
            .await
            .context("opening the catalogue")
    }

    async fn options(&self, settings: &Common, secret: String) -> anyhow::Result<CatalogOptions> {
        let compared = self.health.compare_clocks(&self.store).await;
        compared.context("comparing this machine's clock with the database's")?;
        Ok(CatalogOptions {
            clock: Arc::new(self.health.clock()),
            importer: Some(Arc::new(Importer::new(process_name()))),
            pictures: self.pictures.clone(),
            ..CatalogOptions::new(settings.currency, secret.into_bytes())
        })
    }

    /// Fails if the database lacks collections, indexes or migrations that this release needs.
    pub(crate) async fn require_schema(&self) -> anyhow::Result<()> {
        let missing = self
            .store
            .missing_from_schema()
            .await
            .context("comparing the database with this release")?;
        if missing.is_empty() {
            return Ok(());
        }
        for line in &missing {
            tracing::error!("the database lacks {line}");
        }
        let count = missing.len();
        // Log viewers may show only the last line.
        bail!(
            "the database lacks {count} things that this release needs (listed above); run `vitrine migrate up`"
        )
    }

    /// Closes the connections, and stops the mongod if this process started it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.store.close().await;
        match (self.instance, self.local) {
            (Some(instance), Some(local)) => local.stop(instance).await,
            _ => Ok(()),
        }
    }
}

/// Returns the codec for tokens, with the secrets of the settings or of the database on this
/// machine, and with the keys of an identity provider. With keys, no secret is needed.
pub(crate) fn tokens(
    settings: &Common,
    local: Option<&LocalData>,
    keys: Option<KeySource>,
) -> anyhow::Result<Tokens> {
    let given = &settings.tokens;
    let mut secrets = Vec::new();
    if given.token_secret.is_some() || local.is_some() || keys.is_none() {
        secrets.push(secret(
            given.token_secret.as_ref(),
            MIN_TOKEN_SECRET_BYTES,
            "VITRINE_TOKEN_SECRET",
            local,
            |secrets| secrets.token,
        )?);
    }
    if given.previous_token_secret.is_some() {
        if secrets.is_empty() {
            bail!("VITRINE_PREVIOUS_TOKEN_SECRET needs VITRINE_TOKEN_SECRET");
        }
        secrets.push(secret(
            given.previous_token_secret.as_ref(),
            MIN_TOKEN_SECRET_BYTES,
            "VITRINE_PREVIOUS_TOKEN_SECRET",
            None,
            |secrets| secrets.token,
        )?);
    }
    let secrets: Vec<&[u8]> = secrets.iter().map(String::as_bytes).collect();
    Ok(Tokens::new(given.rules(), &secrets, keys))
}

/// Returns what reads the keys of an identity provider, if the settings name them.
pub(crate) async fn token_keys(settings: &Common) -> anyhow::Result<Option<KeyKeeper>> {
    let Some(place) = settings.tokens.keys()? else {
        return Ok(None);
    };
    Ok(Some(KeyKeeper::open(place.clone()).await?))
}

/// Returns the secret for cursors, of the settings or of the database on this machine.
pub(crate) fn cursor_secret(
    settings: &Common,
    local: Option<&LocalData>,
) -> anyhow::Result<String> {
    secret(
        settings.cursor_secret.as_ref(),
        MIN_CURSOR_SECRET_BYTES,
        "VITRINE_CURSOR_SECRET",
        local,
        |secrets| secrets.cursor,
    )
}

fn secret(
    setting: Option<&Secret>,
    min_bytes: usize,
    name: &str,
    local: Option<&LocalData>,
    local_secret: impl Fn(crate::local::Secrets) -> String,
) -> anyhow::Result<String> {
    match (setting.map(Secret::reveal), local) {
        (Some(secret), _) if secret.len() < min_bytes => {
            bail!("{name} must have at least {min_bytes} characters")
        }
        (Some(secret), _) => Ok(secret.to_owned()),
        (None, Some(local)) => Ok(local_secret(local.secrets()?)),
        (None, None) => {
            let or = if name == "VITRINE_TOKEN_SECRET" {
                " (or VITRINE_TOKEN_KEYS)"
            } else {
                ""
            };
            bail!("set {name}{or}: secrets are generated only for a database on this machine")
        }
    }
}

/// Connects to the database that another process runs on this machine's data, if it answers.
async fn running(settings: &Common, local: &LocalData) -> Option<Store> {
    let uri = local.running_uri()?;
    connect(settings, &uri, Some(LOCAL_TIMEOUT)).await.ok()
}

/// Returns true if a mongod failed to start because of its existing data.
pub(crate) fn cannot_use_data(error: &anyhow::Error) -> bool {
    let start = error.downcast_ref::<StartError>();
    matches!(
        start,
        Some(StartError::Exited(_) | StartError::ReplicaSet { .. })
    )
}

/// The server selection timeout: shorter than the timeout of callers, so that they learn that there
/// is no primary.
const SERVER_SELECTION: Duration = Duration::from_secs(4);

/// Connects to the database at this address, which must answer within `timeout`, or within the
/// server selection timeout if that is `None`.
async fn connect(settings: &Common, uri: &str, timeout: Option<Duration>) -> anyhow::Result<Store> {
    let mut options = StoreOptions::new(uri, &settings.database);
    options.server_selection = timeout.unwrap_or(SERVER_SELECTION);
    let store = Store::connect(&options)
        .await
        .context("reading the connection string")?;
    let deployment = store.deployment().await;
    let mut usable = deployment
        .context("connecting to MongoDB")
        .and_then(|deployment| check_deployment(&deployment));
    if usable.is_ok()
        && let Some(obstacle) = find_direct_obstacle(uri).await
    {
        usable = Err(anyhow::anyhow!("{obstacle}; {}", obstacle.advice()));
    }
    if usable.is_err() {
        store.clone().close().await;
    }
    usable.map(|()| store)
}

/// Fails if the service cannot use such a database.
fn check_deployment(deployment: &Deployment) -> anyhow::Result<()> {
    if deployment.topology == Topology::Standalone {
        let standalone = Obstacle::Standalone;
        bail!("{standalone}; {}", standalone.advice());
    }
    require_version(&deployment.version)?;
    if let Some(note) = untested(&deployment.version) {
        tracing::info!("{note}");
    }
    Ok(())
}

/// Says that a version of MongoDB is not the one that this release is tested with, by its first two numbers.
fn untested(version: &str) -> Option<String> {
    let series = |version: &str| {
        version
            .trim()
            .split('.')
            .take(2)
            .collect::<Vec<_>>()
            .join(".")
    };
    let (found, tested) = (series(version), series(TESTED_VERSION));
    (found != tested)
        .then(|| format!("the MongoDB has version {version}; this release is tested with {tested}"))
}

fn require_version(version: &str) -> anyhow::Result<()> {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major < 6 => {
            bail!("the MongoDB at this address is version {version}; 6.0 or newer is required")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_series_of_mongodb_than_the_tested_one_is_named() {
        let tested = TESTED_VERSION.trim();
        assert_eq!(untested(tested), None);
        let note = untested("99.1.4").expect("it is not tested");
        assert!(note.contains("99.1.4"), "{note}");
    }
}
