//! The database that a command works on: one that is named, one that runs on this machine, or one
//! that is started for as long as the command takes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vitrine_domain::reviewing::Moderation;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_mongod::{Instance, StartError};
use vitrine_storage::store::{Deployment, Topology};
use vitrine_storage::{Store, StoreOptions};

use crate::auth::Tokens;
use crate::local::{LocalData, random_secret};
use crate::pulse::Pulse;
use crate::settings::Common;
use crate::waiting::{Waiting, is_away};

/// How long a database that should be running already is waited for.
const HERE_ALREADY: Duration = Duration::from_millis(800);
/// The shortest secrets that are taken.
const MIN_CURSOR_SECRET: usize = 16;
const MIN_TOKEN_SECRET: usize = 32;

const STANDALONE: &str = "the MongoDB at this address is a standalone server, which has no \
                          transactions; run it as a replica set (one member will do: start it \
                          with --replSet and call rs.initiate())";

/// A database and, if it is ours, the mongod behind it.
pub(crate) struct Database {
    pub(crate) store: Store,
    pub(crate) instance: Option<Instance>,
    pub(crate) local: Option<LocalData>,
    pub(crate) pulse: Pulse,
}

impl Database {
    /// Reaches the database that the settings name, starting one on this machine if they name none.
    /// One that is not there is waited for, for a while.
    pub(crate) async fn open(
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        Self::open_within(&mut Waiting::for_a_while(), settings, report).await
    }

    /// The same, waiting as `waiting` says.
    pub(crate) async fn open_within(
        waiting: &mut Waiting,
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        let Some(uri) = &settings.mongodb_uri else {
            let local = LocalData::new(settings)?;
            return match running(settings, &local).await {
                Some(store) => Ok(Self::of(store, None, Some(local))),
                None => Self::start(settings, local, report).await,
            };
        };
        let store = waiting.reach(async || connect(settings, uri, None).await);
        Ok(Self::of(store.await?, None, None))
    }

    /// Starts the database of this machine; it must not be running.
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
            pulse: Pulse::new(),
        }
    }

    /// The catalogue in this database, to be served from.
    pub(crate) async fn catalog(
        &self,
        settings: &Common,
        moderation: Moderation,
    ) -> anyhow::Result<Catalog> {
        let secret = cursor_secret(settings, self.local.as_ref())?;
        self.catalog_with(settings, secret, moderation).await
    }

    /// The catalogue in this database for work that gives nobody a cursor.
    pub(crate) async fn catalog_for_work(&self, settings: &Common) -> anyhow::Result<Catalog> {
        self.catalog_with(settings, random_secret(), Moderation::default())
            .await
    }

    /// The catalogue in this database for looking only: nothing is written.
    pub(crate) async fn catalog_to_look_at(&self, settings: &Common) -> anyhow::Result<Catalog> {
        let secret = random_secret();
        let options = self.options(settings, secret, Moderation::default());
        Catalog::look(self.store.clone(), options.await?)
            .await
            .context("opening the catalogue")
    }

    async fn catalog_with(
        &self,
        settings: &Common,
        secret: String,
        moderation: Moderation,
    ) -> anyhow::Result<Catalog> {
        let options = self.options(settings, secret, moderation);
        Catalog::open(self.store.clone(), options.await?)
            .await
            .context("opening the catalogue")
    }

    async fn options(
        &self,
        settings: &Common,
        secret: String,
        moderation: Moderation,
    ) -> anyhow::Result<CatalogOptions> {
        let compared = self.pulse.compare_clocks(&self.store).await;
        compared.context("comparing this machine's clock with the database's")?;
        Ok(CatalogOptions {
            moderation,
            clock: Arc::new(self.pulse.clock()),
            ..CatalogOptions::new(settings.currency, secret.into_bytes())
        })
    }

    /// The tokens of this database.
    pub(crate) fn tokens(&self, settings: &Common) -> anyhow::Result<Tokens> {
        tokens(settings, self.local.as_ref())
    }

    /// Refuses to go on with a database that lacks what this release needs.
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
        // Log keepers show the last line.
        bail!(
            "the database lacks {count} things that this release needs, listed above: run `vitrine migrate up`"
        )
    }

    /// Closes connections, and the mongod if it is ours.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.store.close().await;
        match (self.instance, self.local) {
            (Some(instance), Some(local)) => local.stop(instance).await,
            _ => Ok(()),
        }
    }
}

/// The tokens that the settings, or this machine's database, sign with.
pub(crate) fn tokens(settings: &Common, local: Option<&LocalData>) -> anyhow::Result<Tokens> {
    let secret = secret(
        settings.token_secret.as_deref(),
        MIN_TOKEN_SECRET,
        "VITRINE_TOKEN_SECRET",
        local,
        |secrets| secrets.token,
    )?;
    Ok(Tokens::new(secret.as_bytes()))
}

/// What the settings, or this machine's database, sign cursors with.
pub(crate) fn cursor_secret(
    settings: &Common,
    local: Option<&LocalData>,
) -> anyhow::Result<String> {
    secret(
        settings.cursor_secret.as_deref(),
        MIN_CURSOR_SECRET,
        "VITRINE_CURSOR_SECRET",
        local,
        |secrets| secrets.cursor,
    )
}

fn secret(
    given: Option<&str>,
    shortest: usize,
    name: &str,
    local: Option<&LocalData>,
    own: impl Fn(crate::local::Secrets) -> String,
) -> anyhow::Result<String> {
    match (given, local) {
        (Some(secret), _) if secret.len() < shortest => {
            bail!("{name} must have {shortest} characters or more")
        }
        (Some(secret), _) => Ok(secret.to_owned()),
        (None, Some(local)) => Ok(own(local.secrets()?)),
        (None, None) => bail!("set {name}: with VITRINE_MONGODB_URI secrets are not made up"),
    }
}

/// A database that another process runs on this machine's data, if one answers.
async fn running(settings: &Common, local: &LocalData) -> Option<Store> {
    let uri = local.running_uri()?;
    connect(settings, &uri, Some(HERE_ALREADY)).await.ok()
}

/// Whether a database did not start because of the data that is there.
pub(crate) fn cannot_use_data(error: &anyhow::Error) -> bool {
    let start = error.downcast_ref::<StartError>();
    matches!(
        start,
        Some(StartError::Died(_) | StartError::ReplicaSet { .. })
    )
}

/// How long a primary is looked for: shorter than callers wait, so that they learn that there is none.
const SELECTION: Duration = Duration::from_secs(4);

/// A handle on the database at this address, which must answer now: within `patience`, where that is
/// given, otherwise within the time that requests have.
async fn connect(
    settings: &Common,
    uri: &str,
    patience: Option<Duration>,
) -> anyhow::Result<Store> {
    let mut options = StoreOptions::new(uri, &settings.database);
    options.server_selection = patience.unwrap_or(SELECTION);
    let store = Store::connect(&options)
        .await
        .context("reading the connection string")?;
    let found = store.deployment().await;
    let suits = found
        .context("looking at MongoDB")
        .and_then(|found| suits(&found));
    match suits {
        Ok(()) => Ok(store),
        Err(error) => {
            store.close().await;
            if is_away(&error) && Store::is_standalone(&options).await {
                bail!(STANDALONE);
            }
            Err(error)
        }
    }
}

/// Whether the service can work on such a database.
fn suits(found: &Deployment) -> anyhow::Result<()> {
    if found.topology == Topology::Standalone {
        bail!(STANDALONE);
    }
    require_version(&found.version)
}

fn require_version(version: &str) -> anyhow::Result<()> {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major < 6 => {
            bail!("the MongoDB at this address is version {version}; 6.0 or newer is needed")
        }
        _ => Ok(()),
    }
}
