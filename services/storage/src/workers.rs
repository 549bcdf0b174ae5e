//! The latest reports of background workers.

use futures_util::TryStreamExt as _;
use mongodb::bson::{Document, doc};
use vitrine_model::worker::WorkerReport;

use crate::documents::{REFERENCE_VERSION, put};
use crate::durability::weak_document;
use crate::raw::{Fields, Read, date};
use crate::{StorageError, Store};

pub(crate) const COLLECTION: &str = "workers";

impl Store {
    /// Stores the reports of workers under their names. One command.
    pub async fn save_worker_reports(
        &self,
        reports: &[(&'static str, WorkerReport)],
    ) -> Result<(), StorageError> {
        if reports.is_empty() {
            return Ok(());
        }
        let update = |(name, report): &(&str, WorkerReport)| {
            doc! { "q": { "_id": *name }, "u": report_document(report), "upsert": true }
        };
        let updates: Vec<Document> = reports.iter().map(update).collect();
        let command = doc! {
            "update": COLLECTION,
            "updates": updates,
            "ordered": false,
            "writeConcern": weak_document(),
        };
        self.write(command).await?;
        Ok(())
    }

    /// Returns the latest report of each worker with the worker's name. One command.
    pub async fn reports(&self) -> Result<Vec<(String, WorkerReport)>, StorageError> {
        let collection = self.raw(COLLECTION);
        let found = collection.find(Document::new()).max_time(self.max_time);
        let found: Vec<_> = found.await?.try_collect().await?;
        let reports = found
            .iter()
            .map(|doc| read_report(&Fields::of(COLLECTION, doc)))
            .collect::<Read<Vec<_>>>()?;
        Ok(reports)
    }
}

fn report_document(report: &WorkerReport) -> Document {
    let mut doc = doc! {
        "schema_version": REFERENCE_VERSION,
        "runs": report.runs,
        "failures": report.failures,
        "last_run_millis": report.last_run_millis,
        "done": report.done,
        "backlog": report.backlog,
        "left_alone": report.left_alone,
        "done_since": report.done_since,
        "failing": report.failing,
    };
    put(&mut doc, "last_run_at", report.last_run_at.map(date));
    put(&mut doc, "last_done_at", report.last_done_at.map(date));
    put(&mut doc, "behind_since", report.behind_since.map(date));
    put(&mut doc, "last_error", report.last_error.as_deref());
    put(&mut doc, "last_error_at", report.last_error_at.map(date));
    doc
}

fn read_report(fields: &Fields<'_>) -> Read<(String, WorkerReport)> {
    let report = WorkerReport {
        runs: fields.i64("runs")?,
        failures: fields.i64("failures")?,
        last_run_at: fields.opt_date("last_run_at")?,
        last_run_millis: fields.i64("last_run_millis")?,
        done: fields.i64("done")?,
        last_done_at: fields.opt_date("last_done_at")?,
        backlog: fields.i64("backlog")?,
        left_alone: fields.opt_i64("left_alone")?.unwrap_or(0),
        behind_since: fields.opt_date("behind_since")?,
        done_since: fields.opt_i64("done_since")?.unwrap_or(0),
        last_error: fields.opt_string("last_error")?,
        last_error_at: fields.opt_date("last_error_at")?,
        failing: fields.bool("failing")?,
    };
    Ok((fields.string("_id")?, report))
}
