//! The database that a command works on: one that is named, one that runs on this machine, or one
//! that is started for as long as the command takes.

use std::time::Duration;

use anyhow::{Context as _, bail};
use vitrine_domain::reviewing::Moderation;
use vitrine_domain::{Catalog, CatalogOptions};
use vitrine_mongod::{Instance, StartError};
use vitrine_storage::store::Topology;
use vitrine_storage::{Store, StoreOptions};

use crate::auth::Tokens;
use crate::local::{LocalData, random_secret};
use crate::settings::Common;

/// How long a database that should be running already is waited for.
const HERE_ALREADY: Duration = Duration::from_millis(800);
/// The shortest secrets that are taken.
const SHORTEST_CURSOR_SECRET: usize = 16;
const SHORTEST_TOKEN_SECRET: usize = 32;

/// A database and, if it is ours, the mongod behind it.
pub(crate) struct Database {
    pub(crate) store: Store,
    pub(crate) instance: Option<Instance>,
    pub(crate) local: Option<LocalData>,
}

impl Database {
    /// Reaches the database that the settings name, starting one on this machine if they name none.
    pub(crate) async fn open(
        settings: &Common,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        if let Some(uri) = &settings.mongodb_uri {
            let store = connect(settings, uri, Duration::from_secs(10)).await?;
            return Ok(Self {
                store,
                instance: None,
                local: None,
            });
        }
        let local = LocalData::new(settings)?;
        if let Some(store) = running(settings, &local).await {
            return Ok(Self {
                store,
                instance: None,
                local: Some(local),
            });
        }
        Self::start(settings, local, report).await
    }

    /// Starts the database of this machine; it must not be running.
    pub(crate) async fn start(
        settings: &Common,
        local: LocalData,
        report: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        let instance = local.start(settings, report).await?;
        let store = connect(settings, instance.uri(), Duration::from_secs(10)).await?;
        Ok(Self {
            store,
            instance: Some(instance),
            local: Some(local),
        })
    }

    /// The catalogue in this database, to be served from.
    pub(crate) async fn catalog(
        &self,
        settings: &Common,
        moderation: Moderation,
    ) -> anyhow::Result<Catalog> {
        let secret = self.cursor_secret(settings)?;
        self.catalog_with(settings, secret, moderation).await
    }

    /// The catalogue in this database for work that gives nobody a cursor.
    pub(crate) async fn catalog_for_work(&self, settings: &Common) -> anyhow::Result<Catalog> {
        self.catalog_with(settings, random_secret(), Moderation::default())
            .await
    }

    /// The catalogue in this database for looking only: nothing is written.
    pub(crate) async fn catalog_to_look_at(&self, settings: &Common) -> anyhow::Result<Catalog> {
        let options = CatalogOptions::new(settings.currency, random_secret().into_bytes());
        Catalog::look(self.store.clone(), options)
            .await
            .context("opening the catalogue")
    }

    async fn catalog_with(
        &self,
        settings: &Common,
        secret: String,
        moderation: Moderation,
    ) -> anyhow::Result<Catalog> {
        let options = CatalogOptions {
            moderation,
            ..CatalogOptions::new(settings.currency, secret.into_bytes())
        };
        Catalog::open(self.store.clone(), options)
            .await
            .context("opening the catalogue")
    }

    /// The tokens of this database.
    pub(crate) fn tokens(&self, settings: &Common) -> anyhow::Result<Tokens> {
        tokens(settings, self.local.as_ref())
    }

    fn cursor_secret(&self, settings: &Common) -> anyhow::Result<String> {
        secret(
            settings.cursor_secret.as_deref(),
            SHORTEST_CURSOR_SECRET,
            "VITRINE_CURSOR_SECRET",
            self.local.as_ref(),
            |secrets| secrets.cursor,
        )
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
        let missing = missing.join("\n  ");
        if self.store.is_migrated().await? {
            bail!(
                "the database was changed by hand since it was migrated; make what is missing again as `schema/mongodb` says. Missing:\n  {missing}"
            );
        }
        bail!(
            "the database lacks what this release needs; run `vitrine migrate up`. Missing:\n  {missing}"
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
        SHORTEST_TOKEN_SECRET,
        "VITRINE_TOKEN_SECRET",
        local,
        |secrets| secrets.token,
    )?;
    Ok(Tokens::new(secret.as_bytes()))
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
    connect(settings, &uri, HERE_ALREADY).await.ok()
}

/// Whether a database did not start because of the data that is there.
pub(crate) fn cannot_use_data(error: &anyhow::Error) -> bool {
    let start = error.downcast_ref::<StartError>();
    matches!(
        start,
        Some(StartError::Died(_) | StartError::ReplicaSet { .. })
    )
}

async fn connect(settings: &Common, uri: &str, patience: Duration) -> anyhow::Result<Store> {
    let options = StoreOptions {
        server_selection: patience,
        ..StoreOptions::new(uri, &settings.database)
    };
    let store = Store::connect(&options)
        .await
        .context("reading the connection string")?;
    let found = store.deployment().await.context(
        "cannot reach MongoDB; check VITRINE_MONGODB_URI, and that the server runs and may be reached from here",
    )?;
    if found.topology == Topology::Standalone {
        bail!(
            "the MongoDB at this address is a standalone server, which has no transactions; run it as a replica \
             set (one member will do: start it with --replSet and call rs.initiate())"
        );
    }
    require_version(&found.version)?;
    Ok(store)
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
