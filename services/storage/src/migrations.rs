//! Migrations: numbered files of database commands under `migrations`, applied once each, in
//! order, by one process at a time. The rules for writing one are in `migrations/README.md`.

use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::error::{INDEX_CONFLICTS, NAMESPACE_EXISTS, code};
use crate::store::durable;
use crate::{StorageError, Store};

/// How long a process that migrates holds the lock without renewing it.
const LOCK_MILLIS: i64 = 60_000;
const LOCK: &str = "migrate";

const FILES: [(&str, &str); 4] = [
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
];

#[derive(Deserialize)]
struct Migration {
    #[serde(rename = "description")]
    _description: String,
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
        "another process has been migrating this database for too long; if none is, the lock ends by itself within a minute"
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

    /// Whether the database has migrations that this release does not know.
    pub(crate) async fn has_newer_migrations(&self) -> Result<bool, StorageError> {
        let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        let unknown = doc! { "_id": { "$nin": known } };
        Ok(self
            .documents("migrations")
            .find_one(unknown)
            .await?
            .is_some())
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
        if self
            .migration_status()
            .await?
            .iter()
            .all(|migration| migration.applied)
        {
            return Ok(Vec::new());
        }
        self.lock(owner).await?;
        let applied = self.apply_migrations(owner, report).await;
        self.unlock(owner).await?;
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
            self.apply_migration(status.name).await?;
            self.lock(owner).await?;
            applied.push(status.name);
        }
        Ok(applied)
    }

    /// Applies one migration, whether or not it was applied before: every migration may be
    /// repeated.
    ///
    /// # Errors
    /// [`MigrationError::Storage`] when a command fails.
    pub async fn apply_migration(&self, name: &str) -> Result<(), MigrationError> {
        let file = FILES.iter().find(|(known, _)| *known == name);
        let (_, text) = file.expect("only names from migration_status are applied");
        let migration: Migration = serde_json::from_str(text).expect("tests read every file");
        for command in migration.commands {
            self.run_migration_command(command).await?;
        }
        let now = doc! { "checksum": { "$literal": checksum(text) }, "applied_at": "$$NOW" };
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
            Err(error) => Err(describe(error)),
        }
    }

    async fn lock(&self, owner: &str) -> Result<(), MigrationError> {
        const PAUSE: Duration = Duration::from_millis(100);
        for _ in 0..(2 * LOCK_MILLIS / 100) {
            if self.try_lock(owner).await? {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(MigrationError::Locked)
    }

    /// Takes the lock if it is free, ours, or left behind. By the server's clock, which all
    /// processes share.
    async fn try_lock(&self, owner: &str) -> Result<bool, StorageError> {
        let until = doc! { "$add": ["$$NOW", LOCK_MILLIS] };
        let take = vec![doc! { "$set": { "owner": { "$literal": owner }, "expires_at": until } }];
        let leases = self.documents("leases");
        let left = doc! { "_id": LOCK, "$expr": { "$lt": ["$expires_at", "$$NOW"] } };
        let taken = leases
            .update_one(left, take.clone())
            .write_concern(durable())
            .await?;
        if taken.matched_count == 1 {
            return Ok(true);
        }
        let ours = doc! { "_id": LOCK, "owner": owner };
        let update = leases
            .update_one(ours, take)
            .upsert(true)
            .write_concern(durable());
        match update.await.map_err(StorageError::from) {
            Ok(_) => Ok(true),
            Err(StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn unlock(&self, owner: &str) -> Result<(), StorageError> {
        let ours = doc! { "_id": LOCK, "owner": owner };
        self.documents("leases")
            .delete_one(ours)
            .write_concern(durable())
            .await?;
        Ok(())
    }
}

fn describe(error: mongodb::error::Error) -> StorageError {
    if code(&error).is_some_and(|code| INDEX_CONFLICTS.contains(&code)) {
        return StorageError::Conflict {
            key: Bson::from(error.to_string()).to_string(),
        };
    }
    error.into()
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
