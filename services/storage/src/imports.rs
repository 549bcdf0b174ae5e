//! Runs of imports, with their rejects. Both go some time after the run began (TTL).

use mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{Hint, ReturnDocument};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ImportId, UploadId, random_number};
use vitrine_model::import::Rejection;
use vitrine_model::import_run::{
    ImportPhase, ImportRun, ImportSource, NewImportRun, RunCounts, RunProgress, RunReject,
    StopRequest,
};

use crate::documents::{REFERENCE_VERSION, put};
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::raw::{Fields, Read, date, stored_id};
use crate::write::WriteUnit;
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
        let run = new_run((id, ImportPhase::Reading, 1), what, now, expires_at);
        self.documents(RUNS).insert_one(run).await?;
        Ok(())
    }

    /// Returns the oldest run that was started by a mutation and has not ended. One command.
    pub async fn open_import(&self) -> Result<Option<ImportRun>, StorageError> {
        let runs = self.raw(RUNS);
        let find = runs
            .find_one(doc! { "open": true })
            .sort(doc! { "started_at": 1 })
            .hint(Hint::Name("open".to_owned()));
        let found: Option<RawDocumentBuf> = find.max_time(self.max_time).await?;
        found.map(|run| read_run(&run)).transpose()
    }

    /// Begins another attempt of a run that was started by a mutation, and forgets what it has rejected. Returns
    /// whether nobody else has begun one since it was read. At most two commands.
    pub async fn claim_import(
        &self,
        run: &ImportRun,
        process: &str,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let mut set = numbers(&RunProgress::default());
        set.extend(doc! {
            "phase": ImportPhase::Reading.name(),
            "process": process,
            "seen_at": date(now),
            "attempt": run.attempt + 1,
        });
        let id = stored_id(run.id.to_i64());
        let open = doc! { "_id": id.clone(), "open": true, "attempt": run.attempt };
        let runs = self.documents(RUNS);
        let claimed = runs.update_one(open, doc! { "$set": set }).await?;
        if claimed.modified_count == 0 {
            return Ok(false);
        }
        if run.attempt > 0 {
            let rejects = self.documents(REJECTS);
            let delete = rejects.delete_many(doc! { "import": id });
            delete.hint(Hint::Name("import".to_owned())).await?;
        }
        Ok(true)
    }

    /// Records how far an attempt of a run is. Returns whether it is to stop: somebody wants that, or another attempt
    /// has begun. One command.
    pub async fn advance_import(
        &self,
        (id, attempt): (ImportId, i64),
        phase: ImportPhase,
        progress: &RunProgress,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let mut set = numbers(progress);
        set.extend(doc! { "phase": phase.name(), "seen_at": date(now) });
        let runs = self.documents(RUNS);
        let update = runs
            .find_one_and_update(own(id, attempt), doc! { "$set": set })
            .projection(doc! { "stop": 1 });
        let before = update.await?;
        Ok(before.is_none_or(|run| run.contains_key("stop")))
    }

    /// Records the end of an attempt of a run, which is the end of the run. One command.
    pub async fn end_import(
        &self,
        (id, attempt): (ImportId, i64),
        phase: ImportPhase,
        end: &ImportEnd,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let mut set = numbers(&end.progress);
        set.extend(doc! { "phase": phase.name(), "seen_at": date(now), "ended_at": date(now) });
        put(&mut set, "error", end.error.as_deref());
        put(&mut set, "report", end.report.as_deref());
        let update = doc! { "$set": set, "$unset": { "open": "" } };
        let runs = self.documents(RUNS);
        runs.update_one(own(id, attempt), update).await?;
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

    /// Asks a run to stop, unless it has ended or somebody has asked already; one that waits for the worker ends at
    /// once. Returns the run; `None` if there is none. At most three commands.
    pub async fn stop_import(
        &self,
        id: ImportId,
        stop: &StopRequest,
    ) -> Result<Option<ImportRun>, StorageError> {
        let asked = doc! { "stop": { "at": date(stop.at), "by": &stop.by } };
        let mut ended = asked.clone();
        ended.extend(doc! {
            "phase": ImportPhase::Stopped.name(),
            "seen_at": date(stop.at),
            "ended_at": date(stop.at),
        });
        let running = [ImportPhase::Reading, ImportPhase::Finishing].map(ImportPhase::name);
        let steps = [
            (
                vec![ImportPhase::Queued.name()],
                doc! { "$set": ended, "$unset": { "open": "" } },
            ),
            (running.to_vec(), doc! { "$set": asked }),
        ];
        let runs = self.raw(RUNS);
        for (phases, update) in steps {
            let filter = doc! {
                "_id": stored_id(id.to_i64()),
                "phase": { "$in": phases },
                "stop": { "$exists": false },
            };
            let update = runs
                .find_one_and_update(filter, update)
                .return_document(ReturnDocument::After);
            if let Some(run) = update.await? {
                return read_run(&run).map(Some);
            }
        }
        self.get_import(id).await
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

impl WriteUnit {
    /// Inserts a run that waits for the worker.
    pub async fn insert_queued_import(
        &mut self,
        id: ImportId,
        (what, source): (&NewImportRun, &ImportSource),
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StorageError> {
        let mut run = new_run((id, ImportPhase::Queued, 0), what, now, expires_at);
        run.insert("open", true);
        let ids = |ids: &[UploadId]| -> Vec<Bson> {
            ids.iter().map(|id| stored_id(id.to_i64())).collect()
        };
        run.insert(
            "source",
            doc! {
                "feeds": ids(&source.feeds),
                "tables": ids(&source.tables),
                "mapping": &source.mapping,
                "by": &source.by,
            },
        );
        self.insert(RUNS, vec![run]).await
    }
}

/// What is stored of the end of a run.
#[derive(Clone, Debug, Default)]
pub struct ImportEnd {
    /// Its progress.
    pub progress: RunProgress,
    /// Why it failed.
    pub error: Option<String>,
    /// What `vitrine import` prints at its end.
    pub report: Option<String>,
}

fn new_run(
    (id, phase, attempt): (ImportId, ImportPhase, i64),
    what: &NewImportRun,
    now: Timestamp,
    expires_at: Timestamp,
) -> Document {
    let mut run = doc! {
        "_id": stored_id(id.to_i64()),
        "schema_version": REFERENCE_VERSION,
        "feeds": &what.feeds,
        "system": &what.system,
        "process": &what.process,
        "dry_run": what.dry_run,
        "phase": phase.name(),
        "attempt": attempt,
        "started_at": date(now),
        "seen_at": date(now),
        "expires_at": date(expires_at),
    };
    run.extend(numbers(&RunProgress::default()));
    run
}

fn own(id: ImportId, attempt: i64) -> Document {
    doc! { "_id": stored_id(id.to_i64()), "attempt": attempt }
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
        start: NewImportRun {
            feeds: fields.items("feeds", |feed: RawBsonRef<'_>| {
                feed.as_str().map(str::to_owned)
            })?,
            system: fields.string("system")?,
            process: fields.string("process")?,
            dry_run: fields.bool("dry_run")?,
        },
        phase: phase.ok_or_else(|| fields.corrupt("phase"))?,
        progress: read_progress(&fields)?,
        started_at: fields.date("started_at")?,
        seen_at: fields.date("seen_at")?,
        ended_at: fields.opt_date("ended_at")?,
        error: fields.opt_string("error")?,
        stop: read_stop(&fields)?,
        report: fields.opt_string("report")?,
        source: read_source(&fields)?,
        attempt: fields.i64("attempt")?,
    })
}

fn read_source(fields: &Fields<'_>) -> Read<Option<ImportSource>> {
    let Some(source) = fields.opt_doc("source")? else {
        return Ok(None);
    };
    let uploads = |name: &str| source.items(name, |id| id.as_i64().map(UploadId::from_i64));
    Ok(Some(ImportSource {
        feeds: uploads("feeds")?,
        tables: uploads("tables")?,
        mapping: source.string("mapping")?,
        by: source.string("by")?,
    }))
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
