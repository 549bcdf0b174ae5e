//! Runs of imports, and what they rejected.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use futures_util::FutureExt as _;
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::import_runs::{ListedImports, ListedRejects};
use vitrine_domain::page::PageArguments;
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{GlobalId, UploadId};
use vitrine_model::import_run::{self, ImportPhase, MAX_KEPT_REJECTS, RunCounts, RunReject};

use super::common::{TotalCount, count};
use super::page::{Ends, PageInfo};
use super::payload::{PayloadParts, UserError};
use crate::execution::{At as _, Failure, List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// The state of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
pub(crate) enum ImportState {
    /// It waits until the imports that were started before have ended.
    Queued,
    /// Lines are read and stored.
    Reading,
    /// All lines are stored, and ratings are computed.
    Finishing,
    /// It is complete.
    Done,
    /// It ended, but some file could not be read to its end.
    Incomplete,
    /// It ended with an error. Running it again completes it.
    Failed,
    /// It was stopped. Running it again completes it.
    Stopped,
    /// Its process has sent no heartbeat for half a minute. Running it again completes it; one that `startImport` has
    /// started is restarted automatically.
    CutOff,
}

/// The numbers of lines of an import by outcome.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct ImportCounts {
    /// All lines so far.
    lines: i32,
    /// Lines that created a product or review.
    created: i32,
    /// Lines that changed one.
    updated: i32,
    /// Lines that changed nothing.
    unchanged: i32,
    /// Lines that wait for a line that creates their product.
    waiting: i32,
    /// Lines that were rejected.
    rejected: i32,
    /// Lines for which the mapping has nothing, and blank lines.
    skipped: i32,
    /// Values that were dropped.
    dropped_values: i32,
}

impl From<RunCounts> for ImportCounts {
    fn from(counts: RunCounts) -> Self {
        Self {
            lines: count(counts.lines),
            created: count(counts.created),
            updated: count(counts.updated),
            unchanged: count(counts.unchanged),
            waiting: count(counts.waiting),
            rejected: count(counts.rejected),
            skipped: count(counts.skipped),
            dropped_values: count(counts.dropped_values),
        }
    }
}

#[derive(Clone)]
pub(crate) struct ImportRun {
    run: import_run::ImportRun,
    /// When it was read.
    now: Timestamp,
}

impl ImportRun {
    pub(crate) const fn new(run: import_run::ImportRun, now: Timestamp) -> Self {
        Self { run, now }
    }
}

/// A run of `vitrine import`, or an import that `startImport` has started. Dry runs of the command line are not
/// recorded.
#[direct]
#[Object]
impl ImportRun {
    /// The id of the run, for `import` and `stopImport`.
    pub(crate) fn id(&self) -> ID {
        GlobalId::Import(self.run.id).encode().into()
    }

    /// The files, at most 20 of them.
    fn feeds(&self) -> &[String] {
        &self.run.start.feeds
    }

    /// The source system that the mapping names.
    fn system(&self) -> &str {
        &self.run.start.system
    }

    /// The process that runs it: host, process id and a random part. Null while it waits.
    fn process(&self) -> Option<&str> {
        Some(self.run.start.process.as_str()).filter(|process| !process.is_empty())
    }

    /// Whether nothing is stored: the counts say what would happen.
    fn dry_run(&self) -> bool {
        self.run.start.dry_run
    }

    /// What `vitrine import` prints at the end, at most 100,000 characters: the numbers, new spec keys, rules that
    /// matched nothing, and for a dry run values of each spec key. Null before the end.
    fn report(&self) -> Option<&str> {
        self.run.report.as_deref()
    }

    /// What it reads. Null for a run of the command line.
    fn source(&self) -> Option<ImportSource> {
        self.run.source.clone().map(ImportSource)
    }

    /// The state.
    fn state(&self) -> ImportState {
        match self.run.phase {
            _ if self.run.is_cut_off(self.now) => ImportState::CutOff,
            ImportPhase::Queued => ImportState::Queued,
            ImportPhase::Reading => ImportState::Reading,
            ImportPhase::Finishing => ImportState::Finishing,
            ImportPhase::Done => ImportState::Done,
            ImportPhase::Incomplete => ImportState::Incomplete,
            ImportPhase::Failed => ImportState::Failed,
            ImportPhase::Stopped => ImportState::Stopped,
        }
    }

    /// The share of the files that was read, 0 to 1; null if their size is not known.
    fn progress(&self) -> Option<f64> {
        let progress = &self.run.progress;
        share(progress.bytes_read, progress.bytes_total)
    }

    /// The numbers of lines by outcome, as of the last heartbeat.
    fn counts(&self) -> ImportCounts {
        self.run.progress.counts.into()
    }

    /// When it began, or was asked for with `startImport`.
    fn started_at(&self) -> DateTime {
        DateTime(self.run.started_at)
    }

    /// The last heartbeat; there is one every few seconds.
    fn seen_at(&self) -> DateTime {
        DateTime(self.run.seen_at)
    }

    /// When it ended; null while it runs, and if it was cut off.
    fn ended_at(&self) -> Option<DateTime> {
        self.run.ended_at.map(DateTime)
    }

    /// Why it failed or is incomplete.
    fn error(&self) -> Option<&str> {
        self.run.error.as_deref()
    }

    /// When an admin asked it to stop.
    fn stop_requested_at(&self) -> Option<DateTime> {
        let stop = self.run.stop.as_ref();
        stop.map(|stop| DateTime(stop.at))
    }

    /// The subject of the admin who asked it to stop.
    fn stop_requested_by(&self) -> Option<&str> {
        self.run.stop.as_ref().map(|stop| stop.by.as_str())
    }

    /// A page of what was rejected: lines, and values that were dropped, in the order of the files. The first 10,000
    /// are kept. One database query.
    async fn rejects(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The page size from the start or after `after`: 1 to 100; 20 when neither `first` nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The page starts after this cursor; used with `first`.")] after: Option<
            String,
        >,
        #[graphql(desc = "The page size from the end or before `before`: 1 to 100.")] last: Option<
            i32,
        >,
        #[graphql(desc = "The page ends before this cursor; used with `last`.")] before: Option<
            String,
        >,
    ) -> Option<R<ImportRejectConnection>> {
        let page = PageArguments {
            first,
            after,
            last,
            before,
        };
        let catalog = &ctx.session().catalog;
        let found = catalog.import_rejects(self.run.id, &page).boxed().await;
        found
            .map(|page| {
                Some(ImportRejectConnection {
                    page,
                    all: self.run.progress.rejects,
                })
            })
            .map_err(Failure::from)
            .nullable_at(ctx)
    }
}

#[derive(Clone)]
pub(crate) struct ImportSource(import_run::ImportSource);

/// What an import reads that `startImport` has started: the values of its input.
#[direct]
#[Object]
impl ImportSource {
    /// The ids of the uploads, which are kept for a day.
    fn feeds(&self) -> Vec<ID> {
        upload_ids(&self.0.feeds)
    }

    /// The ids of the uploads that the mapping names.
    fn tables(&self) -> Vec<ID> {
        upload_ids(&self.0.tables)
    }

    /// The mapping, as TOML.
    fn mapping(&self) -> &str {
        &self.0.mapping
    }

    /// The subject of the admin who has started it.
    fn started_by(&self) -> &str {
        &self.0.by
    }
}

fn upload_ids(ids: &[UploadId]) -> Vec<ID> {
    let ids = ids.iter().map(|id| GlobalId::Upload(*id).encode().into());
    ids.collect()
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// A reason for which a line of an import was rejected, or a value was dropped.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct ImportReject {
    /// The file.
    file: String,
    /// The line in the file.
    line: i32,
    /// What happened to the line: `rejected`, or how it was stored without the value that was dropped.
    outcome: String,
    /// The field.
    field: String,
    /// Why it was rejected.
    reason: String,
}

impl From<RunReject> for ImportReject {
    fn from(reject: RunReject) -> Self {
        Self {
            file: reject.file,
            line: count(reject.line),
            outcome: reject.outcome,
            field: reject.rejection.field,
            reason: reject.rejection.reason,
        }
    }
}

/// A rejected line or dropped value in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct ImportRejectEdge {
    /// The position in the list.
    cursor: String,
    /// The rejected line or dropped value.
    node: ImportReject,
}

pub(crate) struct ImportRejectConnection {
    page: ListedRejects,
    /// How many there are, also those that are not kept.
    all: u64,
}

/// A page of what an import rejected.
#[direct]
#[Object]
impl ImportRejectConnection {
    /// The rejected lines and dropped values with their cursors.
    fn edges(&self) -> List<ImportRejectEdge> {
        let rows = self.page.rows.iter();
        rows.map(|row| ImportRejectEdge {
            cursor: row.cursor(),
            node: row.value.clone().into(),
        })
        .collect()
    }

    /// The rejected lines and dropped values.
    fn nodes(&self) -> List<ImportReject> {
        let rows = self.page.rows.iter();
        rows.map(|row| row.value.clone().into()).collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Rejects(&self.page))
    }

    /// The number of reasons and dropped values, also of those that are not kept. A rejected line
    /// counts once for each of its reasons.
    fn total_count(&self) -> TotalCount {
        Total {
            value: self.all,
            relation: TotalRelation::Exact,
        }
        .into()
    }

    /// The number of those that are kept, which are the first ones.
    fn kept(&self) -> i32 {
        count(self.all.min(MAX_KEPT_REJECTS))
    }
}

/// An import in a list, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct ImportRunEdge {
    /// The position of the import in the list.
    cursor: String,
    /// The import.
    node: ImportRun,
}

pub(crate) struct ImportRunConnection {
    page: ListedImports,
    now: Timestamp,
}

impl ImportRunConnection {
    pub(crate) const fn new(page: ListedImports, now: Timestamp) -> Self {
        Self { page, now }
    }
}

/// A page of the imports.
#[direct]
#[Object]
impl ImportRunConnection {
    /// The imports with their cursors.
    fn edges(&self) -> List<ImportRunEdge> {
        let rows = self.page.rows.iter();
        rows.map(|row| ImportRunEdge {
            cursor: row.cursor(),
            node: ImportRun::new(row.value.clone(), self.now),
        })
        .collect()
    }

    /// The imports.
    fn nodes(&self) -> List<ImportRun> {
        let rows = self.page.rows.iter();
        rows.map(|row| ImportRun::new(row.value.clone(), self.now))
            .collect()
    }

    /// The position of the page in the list.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::Imports(&self.page))
    }

    /// The number of imports. Counted only if selected.
    async fn total_count(&self, ctx: &Context<'_>) -> R<TotalCount> {
        let counted = ctx.session().catalog.count_imports().boxed().await;
        counted
            .map(|value| Total {
                value,
                relation: TotalRelation::Exact,
            })
            .map(TotalCount::from)
            .at(ctx)
    }
}

/// The result of `stopImport`.
#[derive(SimpleObject, Direct)]
pub(crate) struct StopImportPayload {
    /// The import as it is now; null if there is none.
    import: Option<ImportRun>,
    /// Why nothing was done; empty on success.
    user_errors: List<UserError>,
}

impl From<PayloadParts<ImportRun>> for StopImportPayload {
    fn from(parts: PayloadParts<ImportRun>) -> Self {
        Self {
            import: parts.object,
            user_errors: parts.user_errors,
        }
    }
}
