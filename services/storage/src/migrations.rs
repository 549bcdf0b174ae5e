//! Migrations: numbered files of database commands under `migrations`, applied once each, in
//! order, by one process at a time. The rules for writing one are in `migrations/README.md`.

use std::collections::HashSet;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::error::{DUPLICATE_KEY, INDEX_NOT_FOUND, NAMESPACE_EXISTS, code};
use crate::store::durable;
use crate::{StorageError, Store};

/// How long a process that migrates holds the lock without renewing it.
const LEASE: Duration = Duration::from_mins(1);
const LOCK: &str = "migrate";
/// How often the lock is renewed, and said how far building indexes is.
const TICK: Duration = Duration::from_secs(5);

const FILES: &[(&str, &str)] = &[
    (
        "0001_ground",
        include_str!("../../../migrations/0001_ground.json"),
    ),
    (
        "0002_reviews",
        include_str!("../../../migrations/0002_reviews.json"),
    ),
    (
        "0003_review_indexes",
        include_str!("../../../migrations/0003_review_indexes.json"),
    ),
    (
        "0004_popularity_due",
        include_str!("../../../migrations/0004_popularity_due.json"),
    ),
    (
        "0005_living_data",
        include_str!("../../../migrations/0005_living_data.json"),
    ),
    (
        "0006_living_products",
        include_str!("../../../migrations/0006_living_products.json"),
    ),
    (
        "0007_waiting_reviews",
        include_str!("../../../migrations/0007_waiting_reviews.json"),
    ),
    (
        "0008_category_counts",
        include_str!("../../../migrations/0008_category_counts.json"),
    ),
];

#[derive(Deserialize)]
struct Migration {
    description: String,
    commands: Vec<Document>,
}

/// A migration and whether the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its name, which begins with its number.
    pub name: &'static str,
    /// Whether it was applied.
    pub applied: bool,
}

/// What a migration that was not applied would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMigration {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub description: String,
    /// Its commands, a line each.
    pub commands: Vec<String>,
}

/// Why migrations cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The file of an applied migration was changed afterwards.
    #[error(
        "migration {0} was changed after it had been applied; undo the change and write a new migration"
    )]
    Changed(&'static str),
    /// Another process holds the lock and does not finish.
    #[error(
        "another process is migrating this database and does not come to an end; if none is, the lock ends by itself within a minute"
    )]
    Locked,
    /// The database failed.
    #[error("a migration failed")]
    Storage(#[from] StorageError),
}

impl Store {
    /// All migrations this release knows, and which of them the database has.
    ///
    /// # Errors
    /// [`MigrationError::Changed`] when an applied one is not what it was.
    pub async fn migration_status(&self) -> Result<Vec<MigrationStatus>, MigrationError> {
        let mut status = Vec::with_capacity(FILES.len());
        for (name, text) in FILES {
            let collection = self.documents("migrations");
            let find = collection.find_one(doc! { "_id": name });
            let applied = find.await.map_err(StorageError::from)?;
            let same =
                |doc: &Document| doc.get_str("checksum").ok() == Some(checksum(text).as_str());
            if applied.as_ref().is_some_and(|doc| !same(doc)) {
                return Err(MigrationError::Changed(name));
            }
            status.push(MigrationStatus {
                name,
                applied: applied.is_some(),
            });
        }
        Ok(status)
    }

    /// What is not applied yet, and would be. Nothing is written, and no lock is taken.
    ///
    /// # Errors
    /// As [`Store::migration_status`].
    pub async fn planned_migrations(&self) -> Result<Vec<PlannedMigration>, MigrationError> {
        let there = self.db.list_collection_names().await;
        let mut there: HashSet<String> = there.map_err(StorageError::from)?.into_iter().collect();
        let mut planned = Vec::new();
        for status in self.migration_status().await? {
            if status.applied {
                continue;
            }
            let migration = migration(status.name);
            let mut commands = Vec::with_capacity(migration.commands.len());
            for command in &migration.commands {
                commands.push(self.told(command, &mut there).await?);
            }
            planned.push(PlannedMigration {
                name: status.name,
                description: migration.description,
                commands,
            });
        }
        Ok(planned)
    }

    /// What a command does, and to how much, to a database with these collections.
    async fn told(
        &self,
        command: &Document,
        there: &mut HashSet<String>,
    ) -> Result<String, StorageError> {
        let (name, collection) = command.iter().next().map_or(("", ""), |(name, value)| {
            (name.as_str(), value.as_str().unwrap_or_default())
        });
        let Ok(indexes) = command.get_array("indexes") else {
            // See `run_migration_command`.
            let new = there.insert(collection.to_owned()) || name != "create";
            let what = if new { name } else { "set the validator of" };
            return Ok(format!("{what} {collection}"));
        };
        let names = indexes.iter().filter_map(|index| {
            let index = index.as_document()?;
            index.get_str("name").ok()
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let documents = self.raw(collection).estimated_document_count().await?;
        Ok(format!(
            "{name} {collection}: {names} (over {documents} documents)"
        ))
    }

    /// Migrations that the database has and this release does not know: a newer one applied them.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails.
    pub async fn newer_migrations(&self) -> Result<Vec<String>, StorageError> {
        use futures_util::TryStreamExt as _;
        let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        let collection = self.documents("migrations");
        let unknown = collection.find(doc! { "_id": { "$nin": known } });
        let found: Vec<Document> = unknown.sort(doc! { "_id": 1 }).await?.try_collect().await?;
        let name = |doc: &Document| doc.get_str("_id").unwrap_or_default().to_owned();
        Ok(found.iter().map(name).collect())
    }

    /// Whether the database has all migrations that this release knows.
    ///
    /// # Errors
    /// [`MigrationError::Changed`] when an applied one is not what it was.
    pub async fn is_migrated(&self) -> Result<bool, MigrationError> {
        let status = self.migration_status().await?;
        Ok(status.iter().all(|migration| migration.applied))
    }

    /// Applies what is not applied yet and gives the names. Of several processes that start at
    /// once, one does it and the others wait. `report` is told of each step.
    ///
    /// # Errors
    /// [`MigrationError`]; what was applied before stays applied, and the next run goes on there.
    pub async fn migrate(
        &self,
        owner: &str,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<&'static str>, MigrationError> {
        if self.is_migrated().await? {
            return Ok(Vec::new());
        }
        self.lock(owner).await?;
        let applied = self.apply_migrations(owner, report).await;
        self.release_lease(LOCK, owner).await?;
        applied
    }

    async fn apply_migrations(
        &self,
        owner: &str,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<&'static str>, MigrationError> {
        let mut applied = Vec::new();
        for status in self.migration_status().await? {
            if status.applied {
                continue;
            }
            report(&format!("applying migration {}", status.name));
            self.apply_while_held(status.name, owner, report).await?;
            self.lock(owner).await?;
            applied.push(status.name);
        }
        Ok(applied)
    }

    /// Applies one migration, renews the lock as long as it takes, and says how far building
    /// indexes is.
    async fn apply_while_held(
        &self,
        name: &str,
        owner: &str,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), MigrationError> {
        let applying = self.apply_migration(name);
        let mut applying = std::pin::pin!(applying);
        let mut ticks = tokio::time::interval(TICK);
        ticks.tick().await;
        loop {
            tokio::select! {
                applied = &mut applying => return applied,
                _ = ticks.tick() => {
                    // Nobody else begins the same meanwhile; if it cannot be said, no harm is done.
                    let _ = self.take_lease(LOCK, owner, LEASE).await;
                    for line in self.index_builds().await.unwrap_or_default() {
                        report(&line);
                    }
                }
            }
        }
    }

    /// How far the server is with building indexes, a line for each collection; nothing when it
    /// does not say, or may not say it to us.
    async fn index_builds(&self) -> Result<Vec<String>, StorageError> {
        use futures_util::TryStreamExt as _;
        let admin = self.client.database("admin");
        let building = [
            doc! { "$currentOp": { "allUsers": true } },
            doc! { "$match": {
                "command.createIndexes": { "$exists": true },
                "command.$db": self.db.name(),
                "progress.total": { "$gt": 0 },
            } },
        ];
        let found: Vec<Document> = admin.aggregate(building).await?.try_collect().await?;
        let line = |op: &Document| {
            let collection = op
                .get_document("command")
                .ok()?
                .get_str("createIndexes")
                .ok()?;
            let progress = op.get_document("progress").ok()?;
            let number = |field| {
                let value = progress.get(field)?;
                value.as_i64().or_else(|| value.as_i32().map(i64::from))
            };
            let (done, total) = (number("done")?, number("total")?);
            let share = 100 * done / total.max(1);
            let what = "building indexes of";
            Some(format!(
                "{what} {collection}: {share} % ({done} of {total})"
            ))
        };
        Ok(found.iter().filter_map(line).collect())
    }

    /// Applies one migration, whether or not it was applied before: every migration may be
    /// repeated.
    ///
    /// # Errors
    /// [`MigrationError::Storage`] when a command fails.
    pub async fn apply_migration(&self, name: &str) -> Result<(), MigrationError> {
        let migration = migration(name);
        for command in migration.commands {
            self.run_migration_command(command).await?;
        }
        let now =
            doc! { "checksum": { "$literal": checksum(text_of(name)) }, "applied_at": "$$NOW" };
        let collection = self.documents("migrations");
        let update = collection.update_one(doc! { "_id": name }, vec![doc! { "$set": now }]);
        update
            .upsert(true)
            .write_concern(durable())
            .await
            .map_err(StorageError::from)?;
        Ok(())
    }

    /// A collection that is there already gets the validator; an index that is there already is
    /// left by the server.
    async fn run_migration_command(&self, command: Document) -> Result<(), StorageError> {
        let create = command.get_str("create").ok().map(str::to_owned);
        let validator = command.get_document("validator").ok().cloned();
        match self.db.run_command(command).await {
            Ok(_) => Ok(()),
            Err(error) if code(&error) == Some(NAMESPACE_EXISTS) => {
                let (Some(collection), Some(validator)) = (create, validator) else {
                    return Ok(());
                };
                let modify = doc! { "collMod": collection, "validator": validator };
                self.db.run_command(modify).await?;
                Ok(())
            }
            // It was dropped before.
            Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => Ok(()),
            Err(error) => Err(describe(error)),
        }
    }

    async fn lock(&self, owner: &str) -> Result<(), MigrationError> {
        const PAUSE: Duration = Duration::from_millis(100);
        for _ in 0..(2 * LEASE.as_millis() / PAUSE.as_millis()) {
            let lease = self.take_lease(LOCK, owner, LEASE).await?;
            if lease.owner == owner {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(MigrationError::Locked)
    }
}

fn text_of(name: &str) -> &'static str {
    let file = FILES.iter().find(|(known, _)| *known == name);
    file.expect("only names from migration_status are asked for")
        .1
}

fn migration(name: &str) -> Migration {
    serde_json::from_str(text_of(name)).expect("tests read every file")
}

fn describe(error: mongodb::error::Error) -> StorageError {
    match code(&error) {
        // The server says which key.
        Some(DUPLICATE_KEY) => StorageError::Driver(error),
        _ => error.into(),
    }
}

fn checksum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::with_capacity(64), |hex, byte| {
        hex + &format!("{byte:02x}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_readable_and_numbered_without_gaps() {
        for (at, (name, text)) in FILES.iter().enumerate() {
            assert!(name.starts_with(&format!("{:04}_", at + 1)), "{name}");
            let migration: Migration = serde_json::from_str(text).unwrap();
            assert!(!migration.commands.is_empty());
        }
    }
}
