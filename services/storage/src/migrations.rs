//! Migrations: bring a database to the schema that this release needs. What `schema/mongodb`
//! contains and the database lacks is created; numbered files of database commands under
//! `migrations` do what a comparison cannot detect. A lease allows only one process at a time. The
//! rules are in `migrations/README.md`.

mod privileges;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::error::{INDEX_NOT_FOUND, code};
use crate::schema::{CollectionSchema, IndexName, SchemaDifference, desired, hex, schema_version};
use crate::{StorageError, Store};

/// How long a migrating process holds the lock without renewing it.
const LOCK_LEASE: Duration = Duration::from_mins(1);
const LOCK: &str = "migrate";
/// How often the lock is renewed and the progress of index builds reported.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// The collection that records what was applied.
const COLLECTION: &str = "migrations";
/// The record of the version of `schema/mongodb`.
const SCHEMA: &str = "schema";

/// A numbered file under `migrations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationFile {
    /// The name without `.json`; it begins with the number.
    pub name: &'static str,
    /// The contents.
    pub text: &'static str,
}

/// The numbered files of this release, in order.
pub const FILES: &[MigrationFile] = &[];

#[derive(Deserialize)]
struct Migration {
    description: String,
    commands: Vec<Document>,
}

impl MigrationFile {
    fn read(&self) -> Migration {
        serde_json::from_str(self.text).expect("tests read every file")
    }

    fn checksum(&self) -> String {
        hex(&Sha256::digest(self.text.as_bytes()))
    }
}

/// The steps of a migration, in order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The missing parts.
    pub steps: Vec<Step>,
    /// Indexes of earlier releases that this one does not need; dropped only on request.
    pub unwanted: Vec<Step>,
    /// Indexes that no release has made, as `collection.name`: those of the operator. They are never dropped.
    pub foreign: Vec<String>,
}

/// A step of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create a collection with its validator and indexes.
    Create(String),
    /// Replace the validator of a collection.
    SetValidator(String),
    /// Build indexes of a collection.
    BuildIndexes {
        /// The collection.
        collection: String,
        /// The names of the indexes.
        names: Vec<String>,
        /// The approximate number of documents.
        documents: u64,
    },
    /// Run the commands of a numbered file.
    Apply {
        /// The name of the file.
        name: &'static str,
        /// Its description.
        description: String,
    },
    /// Drop an index.
    DropIndex {
        /// Its collection.
        collection: String,
        /// Its name.
        name: String,
        /// Whether an index with the same name and another definition replaces it.
        replaced: bool,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(collection) => write!(f, "create collection {collection}"),
            Self::SetValidator(collection) => write!(f, "set the validator of {collection}"),
            Self::BuildIndexes {
                collection,
                names,
                documents,
            } => {
                let names = names.join(", ");
                write!(
                    f,
                    "build indexes of {collection} over {documents} documents: {names}"
                )
            }
            Self::Apply { name, description } => write!(f, "apply {name}: {description}"),
            Self::DropIndex {
                collection,
                name,
                replaced: false,
            } => write!(f, "drop index {collection}.{name}"),
            Self::DropIndex {
                collection,
                name,
                replaced: true,
            } => write!(
                f,
                "drop index {collection}.{name} and build it with its new definition"
            ),
        }
    }
}

/// A numbered file, and whether it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    /// The name of the file.
    pub name: &'static str,
    /// Whether it was applied.
    pub applied: bool,
}

/// Why a database cannot be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The file of an applied migration was changed afterwards.
    #[error(
        "migration {0} was changed after it had been applied; undo the change and write a new migration"
    )]
    Changed(&'static str),
    /// A newer release has migrated the database, and something that this release needs is missing.
    #[error(
        "a newer release brought this database to version {found} of the schema and this one knows version {known}; the database lacks {lacking}: run the newer release, or restore a backup from before its migration"
    )]
    Newer {
        /// The version of the database.
        found: i32,
        /// The version of this release.
        known: i32,
        /// What this release needs and the database lacks.
        lacking: String,
    },
    /// Another process holds the lock and does not finish.
    #[error(
        "another process is migrating this database and does not finish; wait for it, or, if no such process is running, try again in a minute, when its lock has expired"
    )]
    Locked,
    /// The database user may not do what a migration needs. Nothing was changed.
    #[error(
        "the user of the database lacks privileges that a migration of {database} needs: {lacking}; nothing was changed"
    )]
    Privileges {
        /// The name of the database.
        database: String,
        /// The actions, as the server calls them.
        lacking: String,
    },
    /// The database failed.
    #[error("a migration failed")]
    Storage(#[from] StorageError),
}

impl Store {
    /// Returns for each file whether it was applied.
    ///
    /// # Errors
    /// [`MigrationError::Changed`] when an applied file has changed since.
    pub async fn migration_status(
        &self,
        files: &[MigrationFile],
    ) -> Result<Vec<MigrationStatus>, MigrationError> {
        let mut status = Vec::with_capacity(files.len());
        for file in files {
            let applied = self.migration_record(file.name).await?;
            let checksum = file.checksum();
            let same = |doc: &Document| doc.get_str("checksum").ok() == Some(checksum.as_str());
            if applied.as_ref().is_some_and(|doc| !same(doc)) {
                return Err(MigrationError::Changed(file.name));
            }
            status.push(MigrationStatus {
                name: file.name,
                applied: applied.is_some(),
            });
        }
        Ok(status)
    }

    async fn migration_record(&self, name: &str) -> Result<Option<Document>, StorageError> {
        let records = self.documents(COLLECTION);
        Ok(records.find_one(doc! { "_id": name }).await?)
    }

    /// Returns the schema version of the database if a newer release has migrated it; `None` when
    /// the version is that of this release or older.
    pub async fn newer_schema(&self) -> Result<Option<i32>, StorageError> {
        let recorded = self.recorded_schema().await?;
        Ok(recorded.filter(|version| *version > schema_version().version))
    }

    /// Returns the recorded schema version of the database.
    pub async fn recorded_schema(&self) -> Result<Option<i32>, StorageError> {
        let record = self.migration_record(SCHEMA).await?;
        Ok(record.and_then(|record| record.get_i32("version").ok()))
    }

    /// Returns the steps that the database needs. Writes nothing and takes no lock.
    ///
    /// # Errors
    /// [`MigrationError::Changed`]; [`MigrationError::Newer`] when only a newer release can
    /// migrate.
    pub async fn migration_plan(&self, files: &[MigrationFile]) -> Result<Plan, MigrationError> {
        let mut plan = Plan {
            steps: Vec::new(),
            unwanted: Vec::new(),
            foreign: Vec::new(),
        };
        if let Some(found) = self.newer_schema().await? {
            let lacking = self.missing_from_schema().await?;
            if lacking.is_empty() {
                return Ok(plan);
            }
            return Err(MigrationError::Newer {
                found,
                known: schema_version().version,
                lacking: lacking.join(", "),
            });
        }
        let made = self.made_indexes().await?;
        for difference in self.schema_differences().await? {
            match difference {
                SchemaDifference::Collection(name) => plan.steps.push(Step::Create(name)),
                SchemaDifference::Validator(name) => plan.steps.push(Step::SetValidator(name)),
                SchemaDifference::Index(index) => self.plan_index(index, &mut plan.steps).await?,
                SchemaDifference::OtherIndex { index, .. } => {
                    plan.unwanted.push(drop_step(index, true));
                }
                SchemaDifference::UnexpectedIndex(index) if made.contains(&index.to_string()) => {
                    plan.unwanted.push(drop_step(index, false));
                }
                SchemaDifference::UnexpectedIndex(index) => plan.foreign.push(index.to_string()),
                SchemaDifference::UnknownCollection(_) => {}
            }
        }
        let status = self.migration_status(files).await?;
        for (file, status) in files.iter().zip(status) {
            if !status.applied {
                let description = file.read().description;
                let name = file.name;
                plan.steps.push(Step::Apply { name, description });
            }
        }
        Ok(plan)
    }

    /// Returns the indexes that releases have made, as `collection.name`.
    async fn made_indexes(&self) -> Result<BTreeSet<String>, StorageError> {
        let record = self.migration_record(SCHEMA).await?;
        let names = record
            .as_ref()
            .and_then(|record| record.get_array("indexes").ok());
        let names = names.into_iter().flatten().filter_map(Bson::as_str);
        Ok(names.map(str::to_owned).collect())
    }

    /// Records the version of the schema, and its indexes beside those of earlier releases.
    async fn record_schema(&self) -> Result<(), StorageError> {
        let mut indexes = self.made_indexes().await?;
        for schema in desired() {
            let names = schema
                .indexes
                .iter()
                .filter_map(|index| index.get_str("name").ok());
            indexes.extend(names.map(|name| format!("{}.{name}", schema.collection)));
        }
        let indexes: Vec<String> = indexes.into_iter().collect();
        let record = doc! { "version": schema_version().version, "indexes": indexes };
        self.record(SCHEMA, record).await
    }

    /// Adds an index to the steps; all indexes of a collection are built in one pass.
    async fn plan_index(
        &self,
        index: IndexName,
        steps: &mut Vec<Step>,
    ) -> Result<(), StorageError> {
        if let Some(Step::BuildIndexes {
            collection, names, ..
        }) = steps.last_mut()
            && *collection == index.collection
        {
            names.push(index.name);
            return Ok(());
        }
        let collection = self.raw(&index.collection);
        steps.push(Step::BuildIndexes {
            documents: collection.estimated_document_count().await?,
            names: vec![index.name],
            collection: index.collection,
        });
        Ok(())
    }

    /// Applies the missing steps, and drops unwanted indexes if `drops` is set. Returns the steps
    /// that were executed. Of several processes that start at the same time, one migrates and the
    /// others wait. `report` receives a line for each step.
    ///
    /// # Errors
    /// [`MigrationError`]; completed steps are kept, and the next run continues after them.
    pub async fn migrate(
        &self,
        files: &[MigrationFile],
        owner: &str,
        drops: bool,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Step>, MigrationError> {
        let nothing = |plan: &Plan| plan.steps.is_empty() && (!drops || plan.unwanted.is_empty());
        let plan = self.migration_plan(files).await?;
        if nothing(&plan) && self.is_recorded().await? {
            return Ok(Vec::new());
        }
        self.check_privileges(&plan, drops).await?;
        self.lock(owner).await?;
        let done = self.migrate_locked(files, owner, drops, report).await;
        self.release_lease(LOCK, owner).await?;
        done
    }

    /// Returns whether the recorded schema version is that of this release or newer.
    async fn is_recorded(&self) -> Result<bool, StorageError> {
        let recorded = self.recorded_schema().await?;
        Ok(recorded.is_some_and(|version| version >= schema_version().version))
    }

    async fn migrate_locked(
        &self,
        files: &[MigrationFile],
        owner: &str,
        drops: bool,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Step>, MigrationError> {
        let Plan {
            mut steps,
            unwanted,
            foreign: _,
        } = self.migration_plan(files).await?;
        if drops {
            steps.extend(unwanted);
        }
        for step in &steps {
            report(&step.to_string());
            self.run_step_locked(files, step, owner, report).await?;
            self.lock(owner).await?;
        }
        if !self.is_recorded().await? {
            self.record_schema().await?;
        }
        Ok(steps)
    }

    /// Executes one step, renews the lock meanwhile, and reports the progress of index builds.
    async fn run_step_locked(
        &self,
        files: &[MigrationFile],
        step: &Step,
        owner: &str,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), MigrationError> {
        let running = self.run_step(files, step);
        let mut running = std::pin::pin!(running);
        let mut ticks = tokio::time::interval(RENEW_EVERY);
        ticks.tick().await;
        loop {
            tokio::select! {
                done = &mut running => return Ok(done?),
                _ = ticks.tick() => {
                    // No other process starts the same step meanwhile. A failed renewal does no
                    // harm.
                    let _ = self.take_lease(LOCK, owner, LOCK_LEASE).await;
                    for line in self.index_builds().await.unwrap_or_default() {
                        report(&line);
                    }
                }
            }
        }
    }

    async fn run_step(&self, files: &[MigrationFile], step: &Step) -> Result<(), StorageError> {
        match step {
            Step::Create(collection) => {
                let schema = schema_of(collection);
                self.create_collection(&schema).await?;
                self.create_indexes(&schema, |_| true).await
            }
            Step::SetValidator(collection) => {
                let validator = schema_of(collection).validator;
                let modify = doc! { "collMod": collection, "validator": validator };
                self.db.run_command(modify).await?;
                Ok(())
            }
            Step::BuildIndexes {
                collection, names, ..
            } => {
                let included = |name: &str| names.iter().any(|included| included == name);
                self.create_indexes(&schema_of(collection), included).await
            }
            Step::Apply { name, .. } => {
                let file = files.iter().find(|file| file.name == *name);
                let file = file.expect("the plan was made of these files");
                for command in file.read().commands {
                    let reply = self.write(command).await?;
                    if reply.contains_key("writeErrors") {
                        return Err(mongodb::error::Error::custom(reply).into());
                    }
                }
                self.record(name, doc! { "checksum": file.checksum() })
                    .await
            }
            Step::DropIndex {
                collection,
                name,
                replaced,
            } => {
                let command = doc! { "dropIndexes": collection, "index": name };
                match self.db.run_command(command).await {
                    // An earlier run has dropped it.
                    Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => {}
                    dropped => drop(dropped?),
                }
                if *replaced {
                    let included = |included: &str| included == name;
                    self.create_indexes(&schema_of(collection), included)
                        .await?;
                }
                Ok(())
            }
        }
    }

    async fn record(&self, name: &str, fields: Document) -> Result<(), StorageError> {
        let mut set = doc! { "applied_at": "$$NOW" };
        for (field, value) in fields {
            set.insert(field, doc! { "$literal": value });
        }
        let records = self.documents(COLLECTION);
        let update = records.update_one(doc! { "_id": name }, vec![doc! { "$set": set }]);
        update.upsert(true).await?;
        Ok(())
    }

    /// Returns the progress of running index builds, one line per collection; empty when the server
    /// does not report it or we lack the privilege.
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

    async fn lock(&self, owner: &str) -> Result<(), MigrationError> {
        const PAUSE: Duration = Duration::from_millis(100);
        for _ in 0..(2 * LOCK_LEASE.as_millis() / PAUSE.as_millis()) {
            let lease = self.take_lease(LOCK, owner, LOCK_LEASE).await?;
            if lease.owner == owner {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(MigrationError::Locked)
    }
}

fn drop_step(index: IndexName, replaced: bool) -> Step {
    Step::DropIndex {
        collection: index.collection,
        name: index.name,
        replaced,
    }
}

fn schema_of(collection: &str) -> CollectionSchema {
    let mut all = desired().into_iter();
    all.find(|schema| schema.collection == collection)
        .expect("the plan was made of these")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_readable_and_numbered_without_gaps() {
        for (at, file) in FILES.iter().enumerate() {
            let number = format!("{:04}_", at + 1);
            assert!(file.name.starts_with(&number), "{}", file.name);
            assert!(!file.read().commands.is_empty());
        }
    }
}
