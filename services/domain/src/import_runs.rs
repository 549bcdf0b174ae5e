//! Records of import runs: what admins see of them while they run and afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, MissedTickBehavior};
use vitrine_model::clock::Timestamp;
use vitrine_model::cursor::ListFingerprint;
use vitrine_model::id::ImportId;
use vitrine_model::import::Rejection;
use vitrine_model::import_run::{
    ImportPhase, ImportRun, MAX_KEPT_REJECTS, MAX_RUN_FEEDS, MAX_RUN_REPORT, MAX_RUN_TEXT,
    NewImportRun, RunProgress, RunReject, StopRequest,
};
use vitrine_model::text::excerpt;
use vitrine_storage::imports::ImportEnd;

use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::page::{HasMore, Listed, PageArguments};
use crate::{Catalog, DomainError};

/// The time between two heartbeats of a run.
const HEARTBEAT: Duration = Duration::from_secs(5);
const MILLIS_PER_DAY: i64 = 86_400_000;

/// A page of runs.
pub type ListedImports = Listed<ImportRun, ()>;
/// A page of the rejects of a run.
pub type ListedRejects = Listed<RunReject, ImportId>;

/// The record of a run, kept by the process that runs it.
#[derive(Debug)]
pub struct ImportRecord {
    catalog: Catalog,
    id: ImportId,
    attempt: i64,
    expires_at: Timestamp,
    state: Mutex<State>,
    is_stopping: AtomicBool,
}

#[derive(Debug)]
struct State {
    phase: ImportPhase,
    progress: RunProgress,
    /// Rejects that are not stored yet.
    rejects: Vec<RunReject>,
    /// The number of rejects that are stored.
    kept: u64,
    report: Option<String>,
    /// Folders that files have for this run only: what people read does not name them.
    folders: Vec<String>,
}

impl State {
    /// A text without the names of these folders.
    fn shown(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for folder in &self.folders {
            shown = shown.replace(folder.as_str(), "");
        }
        shown
    }
}

impl ImportRecord {
    /// The record of an attempt of a run that nothing is known of yet.
    pub(crate) fn new(
        catalog: Catalog,
        (id, attempt): (ImportId, i64),
        expires_at: Timestamp,
    ) -> Self {
        Self {
            catalog,
            id,
            attempt,
            expires_at,
            state: Mutex::new(State {
                phase: ImportPhase::Reading,
                progress: RunProgress::default(),
                rejects: Vec::new(),
                kept: 0,
                report: None,
                folders: Vec::new(),
            }),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// The id of the run.
    #[must_use]
    pub const fn id(&self) -> ImportId {
        self.id
    }

    /// Whether an admin wants the run to stop, as of the last heartbeat.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Sets how far the run is; the next heartbeat stores it.
    pub fn advance(&self, phase: ImportPhase, progress: RunProgress) {
        let mut state = self.state();
        state.phase = phase;
        state.progress = RunProgress {
            rejects: state.progress.rejects,
            ..progress
        };
    }

    /// Adds a rejected line or a dropped value. The first 10,000 are kept, all are counted.
    pub fn reject(&self, file: &str, line: u64, outcome: &str, rejection: &Rejection) {
        let mut state = self.state();
        state.progress.rejects += 1;
        if state.progress.rejects > MAX_KEPT_REJECTS {
            return;
        }
        let rejection = Rejection::new(short(&rejection.field), short(&rejection.reason));
        let file = short(&state.shown(file));
        state.rejects.push(RunReject {
            file,
            line,
            outcome: outcome.to_owned(),
            rejection,
        });
    }

    /// Sets what `vitrine import` prints at the end; the end of the run stores it.
    pub fn report(&self, report: &str) {
        let mut state = self.state();
        let shown = state.shown(report);
        state.report = Some(excerpt(&shown, MAX_RUN_REPORT).text);
    }

    /// Sets the folders that files have for this run only.
    pub(crate) fn hide_folders(&self, folders: impl Iterator<Item = String>) {
        self.state().folders = folders.collect();
    }

    /// Sends a heartbeat every five seconds until it is dropped.
    pub async fn send_heartbeats(&self) {
        let mut due = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            self.heartbeat().await;
        }
    }

    /// Sends a heartbeat: stores how far the run is, and its rejects, and asks whether it is to stop. At most two
    /// commands. A run does not end because its record cannot be written.
    pub async fn heartbeat(&self) {
        if let Err(error) = self.try_heartbeat().await {
            tracing::warn!(%error, "the record of the import could not be written");
        }
    }

    /// Boxed, so that it is compiled here and not in the crates that import.
    fn try_heartbeat(&self) -> BoxFuture<'_, Result<(), DomainError>> {
        Box::pin(async move {
            self.store_rejects().await?;
            let (id, now) = ((self.id, self.attempt), self.catalog.now());
            let (phase, progress) = self.now_at();
            let stop = self
                .catalog
                .maintain(
                    |store| async move { store.advance_import(id, phase, &progress, now).await },
                )
                .await?;
            self.is_stopping.fetch_or(stop, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Stores the end of the run. If that fails, the run is shown as cut off after a while.
    pub async fn end(&self, phase: ImportPhase, error: Option<&str>) {
        if let Err(error) = self.try_end(phase, error).await {
            tracing::warn!(%error, "the end of the import could not be recorded");
        }
    }

    /// Boxed for the same reason.
    fn try_end<'a>(
        &'a self,
        phase: ImportPhase,
        error: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), DomainError>> {
        Box::pin(async move {
            self.store_rejects().await?;
            let (id, now) = ((self.id, self.attempt), self.catalog.now());
            let end = {
                let mut state = self.state();
                ImportEnd {
                    progress: state.progress,
                    error: error.map(|error| short(&state.shown(error))),
                    report: state.report.take(),
                }
            };
            self.catalog
                .maintain(|store| async move { store.end_import(id, phase, &end, now).await })
                .await
        })
    }

    async fn store_rejects(&self) -> Result<(), DomainError> {
        let (first, rejects) = {
            let mut state = self.state();
            let rejects = std::mem::take(&mut state.rejects);
            let first = state.kept;
            state.kept += rejects.len() as u64;
            (first, rejects)
        };
        if rejects.is_empty() {
            return Ok(());
        }
        let (id, expires_at) = (self.id, self.expires_at);
        self.catalog
            .maintain(
                |store| async move { store.insert_rejects(id, first, &rejects, expires_at).await },
            )
            .await
    }

    fn now_at(&self) -> (ImportPhase, RunProgress) {
        let state = self.state();
        (state.phase, state.progress)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn days_after(now: Timestamp, days: u16) -> Timestamp {
    now.plus_millis(i64::from(days) * MILLIS_PER_DAY)
}

pub(crate) fn short(text: &str) -> String {
    excerpt(text, MAX_RUN_TEXT).text
}

impl Catalog {
    /// Begins the record of a run, which is kept for some days.
    pub async fn record_import(
        &self,
        what: NewImportRun,
        days: u16,
    ) -> Result<ImportRecord, DomainError> {
        let (id, now) = (ImportId::random(), self.now());
        let expires_at = days_after(now, days);
        let feeds = what.feeds.iter().take(MAX_RUN_FEEDS);
        let what = NewImportRun {
            feeds: feeds.map(|feed| short(feed)).collect(),
            system: short(&what.system),
            process: short(&what.process),
            dry_run: what.dry_run,
        };
        self.maintain(|store| async move { store.begin_import(id, &what, now, expires_at).await })
            .await?;
        Ok(ImportRecord::new(self.clone(), (id, 1), expires_at))
    }

    /// A run; `None` if there is none, or no longer. One command.
    pub async fn import_run(&self, id: ImportId) -> Result<Option<ImportRun>, DomainError> {
        self.read(|store| async move { store.get_import(id).await })
            .await
    }

    /// Asks a run to stop; it does so within seconds. Does nothing if it has ended. Refused if there is none.
    pub async fn stop_import(
        &self,
        by: &str,
        id: ImportId,
    ) -> Result<Outcome<ImportRun>, DomainError> {
        let stop = StopRequest {
            at: self.now(),
            by: by.to_owned(),
        };
        let run = self
            .write(|store| async move { store.stop_import(id, &stop).await })
            .await?;
        Ok(run.map_or_else(
            || Outcome::Refused {
                refusals: vec![UserError::new(
                    UserErrorCode::NotFound,
                    &[&"id"],
                    "there is no such import, or no longer",
                )],
                current: None,
            },
            Outcome::Done,
        ))
    }

    /// A page of all runs, newest first. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn imports(&self, page: &PageArguments) -> Result<ListedImports, DomainError> {
        let fingerprint = ListFingerprint::of(&[b"imports"]);
        let request = page.request(self, fingerprint)?;
        let wanted = request.clone();
        let page = self
            .read(|store| async move { store.page_imports(&wanted).await })
            .await?;
        Ok(Listed::new(self, fingerprint, (), request, page))
    }

    /// Whether runs follow the page. At most one command.
    pub async fn imports_follow(&self, page: &ListedImports) -> Result<bool, DomainError> {
        self.has_imports(page.has_more_after()).await
    }

    /// Whether runs precede the page. At most one command.
    pub async fn imports_precede(&self, page: &ListedImports) -> Result<bool, DomainError> {
        self.has_imports(page.has_more_before()).await
    }

    async fn has_imports(&self, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                self.read(|store| async move { store.has_import(from).await })
                    .await
            }
        }
    }

    /// The number of runs. One command.
    pub async fn count_imports(&self) -> Result<u64, DomainError> {
        self.read(|store| async move { store.count_imports().await })
            .await
    }

    /// A page of the kept rejects of a run, in its order. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn import_rejects(
        &self,
        id: ImportId,
        page: &PageArguments,
    ) -> Result<ListedRejects, DomainError> {
        let fingerprint = ListFingerprint::of(&[b"import_rejects", &id.to_i64().to_be_bytes()]);
        let request = page.request(self, fingerprint)?;
        let wanted = request.clone();
        let page = self
            .read(|store| async move { store.page_rejects(id, &wanted).await })
            .await?;
        Ok(Listed::new(self, fingerprint, id, request, page))
    }

    /// Whether rejects follow the page. At most one command.
    pub async fn rejects_follow(&self, page: &ListedRejects) -> Result<bool, DomainError> {
        self.has_rejects(page.list, page.has_more_after()).await
    }

    /// Whether rejects precede the page. At most one command.
    pub async fn rejects_precede(&self, page: &ListedRejects) -> Result<bool, DomainError> {
        self.has_rejects(page.list, page.has_more_before()).await
    }

    async fn has_rejects(&self, id: ImportId, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                self.read(|store| async move { store.has_reject(id, from).await })
                    .await
            }
        }
    }
}
