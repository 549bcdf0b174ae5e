//! Imports that are started by a mutation: it stores what is wanted, and the worker `imports` runs one after the other.
//! A run whose process died is restarted, which completes it: what is stored already is unchanged.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use serde::Serialize;
use vitrine_model::id::{ImportId, UploadId};
use vitrine_model::import_run::{
    ImportPhase, ImportRun, ImportSource, MAX_MAPPING_TEXT, MAX_RUN_ATTEMPTS, MAX_RUN_FEEDS,
    NewImportRun, RUN_KEPT_DAYS,
};
use vitrine_model::upload::{MAX_TABLE_BYTES, Upload};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::StorageError;
use vitrine_storage::write::{Answer, WriteUnit};

use super::MutationRequest;
use super::answers::StorableAnswer;
use super::commands::{Attempt, Change, Command, Step};
use crate::import_runs::{ImportRecord, days_after, short};
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::{Catalog, DomainError};

/// Files that a mapping may name, by their names.
pub type Tables = HashMap<String, Vec<u8>>;

/// Reads feeds and stores their lines. Implemented by the crate that knows the formats.
pub trait FeedImporter: fmt::Debug + Send + Sync {
    /// The process, as it is named in the records of runs.
    fn process(&self) -> &str;

    /// Checks a mapping and returns the source system that it names.
    ///
    /// # Errors
    /// Everything that is wrong with the mapping.
    fn check(&self, mapping: &str, tables: &Tables) -> Result<String, Vec<String>>;

    /// Runs an import, and records its progress and its end.
    fn run<'a>(
        &'a self,
        catalog: &'a Catalog,
        record: &'a ImportRecord,
        import: PreparedImport,
    ) -> BoxFuture<'a, ()>;
}

/// An import whose files are in a folder of this machine.
#[derive(Debug)]
pub struct PreparedImport {
    /// The files, in order.
    pub feeds: Vec<PathBuf>,
    /// The files that the mapping may name.
    pub tables: Tables,
    /// The mapping, as TOML.
    pub mapping: String,
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// Deletes the folder when it is dropped.
    pub folder: tempfile::TempDir,
}

/// An import that is requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewImport {
    /// The files, in order.
    pub feeds: Vec<UploadId>,
    /// Files that the mapping names.
    pub tables: Vec<UploadId>,
    /// The mapping, as TOML.
    pub mapping: String,
    /// Whether nothing is stored.
    pub dry_run: bool,
}

impl Catalog {
    /// Requests an import. The worker begins it within seconds after those that were started before have ended.
    pub async fn start_import(
        &self,
        request: MutationRequest,
        new: NewImport,
    ) -> Result<Outcome<ImportRun>, DomainError> {
        if let Some(refusal) = check_form(&new) {
            return Ok(refused(vec![refusal]));
        }
        let system = match self.check_mapping(&new).await? {
            Ok(system) => system,
            Err(refusals) => return Ok(refused(refusals)),
        };
        let start = StartImport {
            id: ImportId::random(),
            by: request.subject.clone(),
            system,
            new: new.clone(),
        };
        let started = self.execute(request, ("startImport", "", &new), start);
        let id = match started.await? {
            Outcome::Done(StartedImport(id)) => id,
            Outcome::Refused { refusals, .. } => return Ok(refused(refusals)),
        };
        let run = self.import_run(id).await?;
        // With a repeated idempotency key it may have expired.
        Ok(run.map_or_else(|| refused(vec![missing_run()]), Outcome::Done))
    }

    /// Returns the system that the mapping names, or everything that is wrong with the mapping and its tables. `None`
    /// if a table is missing: then the mapping cannot be checked.
    async fn check_mapping(
        &self,
        new: &NewImport,
    ) -> Result<Result<Option<String>, Vec<UserError>>, DomainError> {
        let Some(importer) = self.importer() else {
            let message = "this service does not import files";
            return Ok(Err(vec![UserError::new(
                UserErrorCode::NotAllowed,
                &[],
                message,
            )]));
        };
        let ids = new.tables.clone();
        let uploads = self
            .read(|store| async move { store.get_uploads(&ids).await })
            .await?;
        if uploads.len() < new.tables.len() {
            return Ok(Ok(None));
        }
        if let Some(refusal) = check_tables(&uploads) {
            return Ok(Err(vec![refusal]));
        }
        let mut tables = Tables::new();
        for upload in uploads {
            let Some(content) = self.content(&upload).await? else {
                return Ok(Ok(None));
            };
            tables.insert(upload.name, content);
        }
        let mapping = new.mapping.clone();
        let check = tokio::task::spawn_blocking(move || importer.check(&mapping, &tables));
        let checked = check.await;
        let checked = checked.map_err(|lost| DomainError::Internal(Box::new(lost)))?;
        Ok(checked.map(Some).map_err(|mistakes| {
            let refusal =
                |mistake: String| UserError::new(UserErrorCode::Invalid, &[&"mapping"], mistake);
            mistakes.into_iter().map(refusal).collect()
        }))
    }

    /// The content of an upload; `None` if a part of it is missing.
    async fn content(&self, upload: &Upload) -> Result<Option<Vec<u8>>, DomainError> {
        let mut content = Vec::new();
        for number in 0..upload.parts {
            let Some(part) = self.upload_part(upload.id, number).await? else {
                return Ok(None);
            };
            content.extend(part);
        }
        Ok(Some(content))
    }

    async fn upload_part(&self, id: UploadId, number: u32) -> Result<Option<Vec<u8>>, DomainError> {
        self.maintain(|store| async move { store.get_upload_part(id, number).await })
            .await
    }

    /// Runs the oldest import that waits or whose process died, to its end. A run without a heartbeat for 30 seconds is
    /// restarted by the next call.
    pub async fn run_next_import(&self) -> Result<WorkerRun, DomainError> {
        let nothing = Ok(WorkerRun::default());
        let Some(importer) = self.importer() else {
            return nothing;
        };
        let open = self
            .maintain(|store| async move { store.open_import().await })
            .await?;
        let now = self.now();
        // One that goes on has another process, which has lost its lease a moment ago.
        let due = |run: &ImportRun| run.phase == ImportPhase::Queued || run.is_cut_off(now);
        let Some(run) = open.filter(due) else {
            return nothing;
        };
        let record = |attempt| {
            let expires_at = days_after(run.started_at, RUN_KEPT_DAYS);
            ImportRecord::new(self.clone(), (run.id, attempt), expires_at)
        };
        if run.stop.is_some() {
            record(run.attempt).end(ImportPhase::Stopped, None).await;
            return Ok(ended());
        }
        if run.attempt >= MAX_RUN_ATTEMPTS {
            let error = format!(
                "its process has ended {} times before it was complete",
                run.attempt
            );
            let record = record(run.attempt);
            record.end(ImportPhase::Failed, Some(&error)).await;
            return Ok(ended());
        }
        let (claimed, process) = (run.clone(), importer.process().to_owned());
        let claimed = self
            .maintain(|store| async move { store.claim_import(&claimed, &process, now).await })
            .await?;
        if !claimed {
            return nothing;
        }
        let record = record(run.attempt + 1);
        let prepared = tokio::select! {
            prepared = self.prepare_import(&run) => prepared?,
            () = record.send_heartbeats() => unreachable!("they go on until the files are there"),
        };
        match prepared {
            Ok(import) => {
                let folders = import.feeds.iter().filter_map(|feed| feed.parent());
                record.hide_folders(folders.map(|folder| format!("{}/", folder.display())));
                importer.run(self, &record, import).await;
            }
            Err(error) => record.end(ImportPhase::Failed, Some(&error)).await,
        }
        Ok(ended())
    }

    /// Copies the files of an import to a folder, or returns why it cannot.
    async fn prepare_import(
        &self,
        run: &ImportRun,
    ) -> Result<Result<PreparedImport, String>, DomainError> {
        let source = run.source.clone().unwrap_or_default();
        let ids: Vec<UploadId> = source.feeds.iter().chain(&source.tables).copied().collect();
        let count = ids.len();
        let uploads = self
            .maintain(|store| async move { store.get_uploads(&ids).await })
            .await?;
        let gone = || "a file is not there any more: it is kept for a day".to_owned();
        if uploads.len() < count {
            return Ok(Err(gone()));
        }
        let folder = tempfile::tempdir().map_err(|error| DomainError::Internal(Box::new(error)))?;
        let (feeds, tables) = uploads.split_at(source.feeds.len());
        let mut prepared = PreparedImport {
            feeds: Vec::new(),
            tables: Tables::new(),
            mapping: source.mapping,
            dry_run: run.start.dry_run,
            folder,
        };
        for (number, upload) in feeds.iter().enumerate() {
            // Two files may have the same name.
            let path = prepared.folder.path().join(number.to_string());
            match self.copy_upload(upload, &path).await? {
                Some(path) => prepared.feeds.push(path),
                None => return Ok(Err(gone())),
            }
        }
        for upload in tables {
            let Some(content) = self.content(upload).await? else {
                return Ok(Err(gone()));
            };
            prepared.tables.insert(upload.name.clone(), content);
        }
        Ok(Ok(prepared))
    }

    /// Writes an upload to a file in a new folder; `None` if a part of it is missing.
    async fn copy_upload(
        &self,
        upload: &Upload,
        folder: &Path,
    ) -> Result<Option<PathBuf>, DomainError> {
        let internal = |error: std::io::Error| DomainError::Internal(Box::new(error));
        tokio::fs::create_dir(folder).await.map_err(internal)?;
        let path = folder.join(&upload.name);
        let mut file = tokio::fs::File::create(&path).await.map_err(internal)?;
        for number in 0..upload.parts {
            let Some(part) = self.upload_part(upload.id, number).await? else {
                return Ok(None);
            };
            tokio::io::AsyncWriteExt::write_all(&mut file, &part)
                .await
                .map_err(internal)?;
        }
        tokio::io::AsyncWriteExt::flush(&mut file)
            .await
            .map_err(internal)?;
        Ok(Some(path))
    }
}

/// Another import may wait.
fn ended() -> WorkerRun {
    WorkerRun {
        done: 1,
        backlog: 1,
        ..WorkerRun::default()
    }
}

fn refused(refusals: Vec<UserError>) -> Outcome<ImportRun> {
    Outcome::Refused {
        refusals,
        current: None,
    }
}

fn missing_run() -> UserError {
    let message = "there is no such import, or no longer";
    UserError::new(UserErrorCode::NotFound, &[], message)
}

fn missing_upload(path: &[&dyn fmt::Display]) -> UserError {
    let message = "there is no such upload, or no longer: uploads are kept for a day";
    UserError::new(UserErrorCode::NotFound, path, message)
}

/// Returns what is wrong with the form of the input, whatever the database has.
fn check_form(new: &NewImport) -> Option<UserError> {
    let refusal =
        |code, field: &str, message: String| Some(UserError::new(code, &[&field], message));
    if new.feeds.is_empty() {
        let message = "no file is to be read; give at least one upload".to_owned();
        return refusal(UserErrorCode::Invalid, "feeds", message);
    }
    for (field, uploads) in [("feeds", &new.feeds), ("tables", &new.tables)] {
        if uploads.len() > MAX_RUN_FEEDS {
            let message = format!("{} files; {MAX_RUN_FEEDS} are possible", uploads.len());
            return refusal(UserErrorCode::TooLarge, field, message);
        }
    }
    let length = new.mapping.chars().count();
    if length > MAX_MAPPING_TEXT {
        let message = format!("{length} characters; {MAX_MAPPING_TEXT} are possible");
        return refusal(UserErrorCode::TooLarge, "mapping", message);
    }
    None
}

/// Returns what is wrong with the files that a mapping names.
fn check_tables(tables: &[Upload]) -> Option<UserError> {
    for (at, table) in tables.iter().enumerate() {
        let refusal = |code, message: String| UserError::new(code, &[&"tables", &at], message);
        if table.bytes > MAX_TABLE_BYTES {
            let message = format!(
                "has more than {} MiB; a file that a mapping names is kept in memory",
                MAX_TABLE_BYTES / 1_024 / 1_024
            );
            return Some(refusal(UserErrorCode::TooLarge, message));
        }
        if tables[..at].iter().any(|other| other.name == table.name) {
            let message = format!("another file is called {} too", table.name);
            return Some(refusal(UserErrorCode::Invalid, message));
        }
    }
    None
}

struct StartImport {
    id: ImportId,
    by: String,
    /// `None` if a table is missing.
    system: Option<String>,
    new: NewImport,
}

/// The id of the import that was started.
pub(crate) struct StartedImport(ImportId);

impl StorableAnswer for StartedImport {
    fn to_stored(&self) -> Answer {
        Answer::Text(self.0.to_i64().to_string())
    }

    fn from_stored(answer: Answer) -> Option<Self> {
        let Answer::Text(text) = answer else {
            return None;
        };
        text.parse().ok().map(ImportId::from_i64).map(Self)
    }
}

impl Command for StartImport {
    type Answer = StartedImport;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<StartedImport>, StorageError> {
        let mut names = Vec::new();
        for (field, ids) in [("feeds", &self.new.feeds), ("tables", &self.new.tables)] {
            let found = at.store().get_uploads(ids).await?;
            let missing = ids
                .iter()
                .position(|id| !found.iter().any(|one| one.id == *id));
            if let Some(place) = missing {
                return Ok(Step::refuse(missing_upload(&[&field, &place]), None));
            }
            if field == "feeds" {
                names = found.into_iter().map(|one| short(&one.name)).collect();
            }
        }
        let Some(system) = &self.system else {
            return Ok(Step::refuse(missing_upload(&[&"tables"]), None));
        };
        let what = NewImportRun {
            feeds: names,
            system: short(system),
            process: String::new(),
            dry_run: self.new.dry_run,
        };
        let source = ImportSource {
            feeds: self.new.feeds.clone(),
            tables: self.new.tables.clone(),
            mapping: self.new.mapping.clone(),
            by: self.by.clone(),
        };
        let expires_at = days_after(at.now, RUN_KEPT_DAYS);
        unit.insert_queued_import(self.id, (&what, &source), at.now, expires_at)
            .await?;
        Ok(Step::done(StartedImport(self.id), Change::Content))
    }
}
