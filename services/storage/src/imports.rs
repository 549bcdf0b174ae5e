//! Runs of imports, with their rejects. Both go some time after the run began (TTL).

use mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ImportId, random_number};
use vitrine_model::import::Rejection;
use vitrine_model::import_run::{
    ImportPhase, ImportRun, NewImportRun, RunCounts, RunProgress, RunReject, StopRequest,
};

use crate::documents::{REFERENCE_VERSION, put};
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::raw::{Fields, Read, date, stored_id};
use crate::{StorageError, Store};

const RUNS: &str = "imports";
const REJECTS: &str = "import_rejects";

/// The numbers of a run, as they are stored.
type Number = (&'static str, fn(&RunProgress) -> u64);
const NUMBERS: [Number; 11] = [
    ("lines", |progress| progress.counts.lines),
    ("created", |progress| progress.counts.created),
    ("updated", |progress| progress.counts.updated),
    ("unchanged", |progress| progress.counts.unchanged),
    ("waiting", |progress| progress.counts.waiting),
    ("rejected", |progress| progress.counts.rejected),
    ("skipped", |progress| progress.counts.skipped),
    ("dropped_values", |progress| progress.counts.dropped_values),
    ("bytes_read", |progress| progress.bytes_read),
    ("bytes_total", |progress| progress.bytes_total),
    ("rejects", |progress| progress.rejects),
];

impl Store {
    /// Records the start of a run, to be deleted at an instant. One command.
    pub async fn begin_import(
        &self,
        id: ImportId,
        what: &NewImportRun,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StorageError> {
        let mut run = doc! {
            "_id": stored_id(id.to_i64()),
            "schema_version": REFERENCE_VERSION,
            "feeds": &what.feeds,
            "system": &what.system,
            "process": &what.process,
            "phase": ImportPhase::Reading.name(),
            "started_at": date(now),
            "seen_at": date(now),
            "expires_at": date(expires_at),
        };
        run.extend(numbers(&RunProgress::default()));
        self.documents(RUNS).insert_one(run).await?;
        Ok(())
    }

    /// Records how far a run is. Returns whether somebody wants it to stop. One command.
    pub async fn advance_import(
        &self,
        id: ImportId,
        phase: ImportPhase,
        progress: &RunProgress,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let mut set = numbers(progress);
        set.extend(doc! { "phase": phase.name(), "seen_at": date(now) });
        let runs = self.documents(RUNS);
        let update = runs
            .find_one_and_update(doc! { "_id": stored_id(id.to_i64()) }, doc! { "$set": set })
            .projection(doc! { "stop": 1 });
        let before = update.await?;
        Ok(before.is_some_and(|run| run.contains_key("stop")))
    }

    /// Records the end of a run. One command.
    pub async fn end_import(
        &self,
        id: ImportId,
        phase: ImportPhase,
        (progress, error): (&RunProgress, Option<&str>),
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let mut set = numbers(progress);
        set.extend(doc! { "phase": phase.name(), "seen_at": date(now), "ended_at": date(now) });
        put(&mut set, "error", error);
        let runs = self.documents(RUNS);
        runs.update_one(doc! { "_id": stored_id(id.to_i64()) }, doc! { "$set": set })
            .await?;
        Ok(())
    }

    /// Stores rejects of a run, of which the first has this number. One command.
    pub async fn insert_rejects(
        &self,
        id: ImportId,
        first: u64,
        rejects: &[RunReject],
        expires_at: Timestamp,
    ) -> Result<(), StorageError> {
        let document = |(n, reject): (u64, &RunReject)| {
            doc! {
                "_id": stored_id(random_number()),
                "schema_version": REFERENCE_VERSION,
                "import": stored_id(id.to_i64()),
                "n": stored(n),
                "file": &reject.file,
                "line": stored(reject.line),
                "outcome": &reject.outcome,
                "field": &reject.rejection.field,
                "reason": &reject.rejection.reason,
                "expires_at": date(expires_at),
            }
        };
        let documents: Vec<Document> = (first..).zip(rejects).map(document).collect();
        if !documents.is_empty() {
            self.documents(REJECTS).insert_many(documents).await?;
        }
        Ok(())
    }

    /// Asks a run to stop, unless it has ended or somebody has asked already. Returns the run; `None` if there is none.
    /// At most two commands.
    pub async fn stop_import(
        &self,
        id: ImportId,
        stop: &StopRequest,
    ) -> Result<Option<ImportRun>, StorageError> {
        let running = [ImportPhase::Reading, ImportPhase::Finishing].map(ImportPhase::name);
        let filter = doc! {
            "_id": stored_id(id.to_i64()),
            "phase": { "$in": running.to_vec() },
            "stop": { "$exists": false },
        };
        let set = doc! { "$set": { "stop": { "at": date(stop.at), "by": &stop.by } } };
        let runs = self.raw(RUNS);
        let update = runs
            .find_one_and_update(filter, set)
            .return_document(ReturnDocument::After);
        match update.await? {
            Some(run) => read_run(&run).map(Some),
            None => self.get_import(id).await,
        }
    }

    /// Returns a run. One command.
    pub async fn get_import(&self, id: ImportId) -> Result<Option<ImportRun>, StorageError> {
        let runs = self.raw(RUNS);
        let find = runs.find_one(doc! { "_id": stored_id(id.to_i64()) });
        let found: Option<RawDocumentBuf> = find.max_time(self.max_time).await?;
        found.map(|run| read_run(&run)).transpose()
    }

    /// Returns a page of all runs, newest first. One command.
    pub async fn page_imports(
        &self,
        request: &PageRequest,
    ) -> Result<Page<ImportRun>, StorageError> {
        self.read_page(&runs(), request, read_run).await
    }

    /// Returns whether there are runs after (or before) this position.
    pub async fn has_import(&self, from: Boundary) -> Result<bool, StorageError> {
        self.has_row(&runs(), &from).await
    }

    /// Counts the runs.
    pub async fn count_imports(&self) -> Result<u64, StorageError> {
        let runs = self.documents(RUNS);
        let count = runs.count_documents(Document::new());
        Ok(count.max_time(self.max_time).await?)
    }

    /// Returns a page of the kept rejects of a run, in the order of the run. One command.
    pub async fn page_rejects(
        &self,
        id: ImportId,
        request: &PageRequest,
    ) -> Result<Page<RunReject>, StorageError> {
        self.read_page(&rejects(id), request, read_reject).await
    }

    /// Returns whether a run has kept rejects after (or before) this position.
    pub async fn has_reject(&self, id: ImportId, from: Boundary) -> Result<bool, StorageError> {
        self.has_row(&rejects(id), &from).await
    }
}

fn numbers(progress: &RunProgress) -> Document {
    let number = |(name, of): &Number| ((*name).to_owned(), stored(of(progress)).into());
    NUMBERS.iter().map(number).collect()
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn runs() -> ListQuery {
    ListQuery {
        descending: true,
        ..ListQuery::by(
            Column::new("started_at", ColumnKind::Instant),
            (RUNS, "started"),
            Document::new(),
        )
    }
}

fn rejects(id: ImportId) -> ListQuery {
    let filter = doc! { "import": stored_id(id.to_i64()) };
    let column = Column::new("n", ColumnKind::Integer);
    ListQuery::by(column, (REJECTS, "import"), filter)
}

fn read_run(run: &RawDocument) -> Read<ImportRun> {
    let fields = Fields::of(RUNS, run);
    let phase = ImportPhase::named(fields.str("phase")?);
    Ok(ImportRun {
        id: ImportId::from_i64(fields.id("_id")?),
        what: NewImportRun {
            feeds: fields.items("feeds", |feed: RawBsonRef<'_>| {
                feed.as_str().map(str::to_owned)
            })?,
            system: fields.string("system")?,
            process: fields.string("process")?,
        },
        phase: phase.ok_or_else(|| fields.corrupt("phase"))?,
        progress: read_progress(&fields)?,
        started_at: fields.date("started_at")?,
        seen_at: fields.date("seen_at")?,
        ended_at: fields.opt_date("ended_at")?,
        error: fields.opt_string("error")?,
        stop: read_stop(&fields)?,
    })
}

/// Reads the request to stop a run or a bulk change.
pub(crate) fn read_stop(fields: &Fields<'_>) -> Read<Option<StopRequest>> {
    let Some(stop) = fields.opt_doc("stop")? else {
        return Ok(None);
    };
    Ok(Some(StopRequest {
        at: stop.date("at")?,
        by: stop.string("by")?,
    }))
}

fn read_progress(fields: &Fields<'_>) -> Read<RunProgress> {
    let number = |name: &str| Ok::<_, StorageError>(u64::try_from(fields.i64(name)?).unwrap_or(0));
    Ok(RunProgress {
        counts: RunCounts {
            lines: number("lines")?,
            created: number("created")?,
            updated: number("updated")?,
            unchanged: number("unchanged")?,
            waiting: number("waiting")?,
            rejected: number("rejected")?,
            skipped: number("skipped")?,
            dropped_values: number("dropped_values")?,
        },
        bytes_read: number("bytes_read")?,
        bytes_total: number("bytes_total")?,
        rejects: number("rejects")?,
    })
}

fn read_reject(reject: &RawDocument) -> Read<RunReject> {
    let fields = Fields::of(REJECTS, reject);
    Ok(RunReject {
        file: fields.string("file")?,
        line: u64::try_from(fields.i64("line")?).unwrap_or(0),
        outcome: fields.string("outcome")?,
        rejection: Rejection::new(fields.string("field")?, fields.string("reason")?),
    })
}
