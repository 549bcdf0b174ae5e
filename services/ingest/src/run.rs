//! Storing batches in the catalogue.
//!
//! Threads read, parse and draft while batches are stored. At most two batches are queued, so
//! memory is bounded. Everything is stored by the domain's import session, which makes a run
//! repeatable: importing a feed again changes nothing, and a run that was killed is completed by
//! the next.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use vitrine_domain::import::{ImportMode, ImportSession, ImportSummary};
use vitrine_domain::import_runs::ImportRecord;
use vitrine_domain::{Catalog, DomainError};
use vitrine_formats::FeedError;
use vitrine_model::import::{ExternalRef, LineOutcome, ProductDraft, Rejection, ReviewDraft};
use vitrine_model::import_run::{ImportPhase, RunCounts, RunProgress};

use crate::draft::{Batch, Line, LineStatus, Records, Repeats};
use crate::mapping::{Mapping, MappingOutput};
use crate::rejects::Rejects;
use crate::report::{Counts, NewEntries, Report, Suppliers, outcome_name};

mod padded;
mod progress;
mod reader;

use padded::WaitingNumbers;
pub use progress::Progress;
use reader::{AllRead, FileEnd, Read, ReadBatch};

/// The maximum number of queued batches.
const MAX_QUEUED_BATCHES: usize = 2;
/// The maximum number of rejected products whose reasons are kept for their reviews.
const MAX_REJECTED_PRODUCTS: usize = 10_000;

/// What to import, and how.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The files, in order; also folders, addresses, and `-` for standard input.
    pub files: Vec<PathBuf>,
    /// The mapping of their rows.
    pub mapping: Arc<Mapping>,
    /// Whether to write or only to report.
    pub mode: ImportMode,
    /// The rejects file; `None` for no such file.
    pub rejects: Option<PathBuf>,
    /// The number of threads that map rows; `None` for one per processor. It changes nothing but the time.
    pub mappers: Option<NonZero<usize>>,
}

/// Why an import was aborted. What was stored stays; running it again completes the import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be opened, or has another format.
    #[error("the feed cannot be opened")]
    Feed(#[from] FeedError),
    /// The rejects file cannot be written.
    #[error("cannot write the rejects file {}", path.display())]
    Rejects {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An admin has stopped it.
    #[error("an admin has stopped the import; run the same command again to complete it")]
    Stopped,
    /// The outcomes of lines are not as many as the lines. A fault of the importer itself.
    #[error(
        "the importer has lost count of {file}: {read} lines were read, and {counted} have an outcome ({counts:?}); \
         please report this"
    )]
    Lost {
        /// The file.
        file: String,
        /// The number of its lines that were read.
        read: u64,
        /// The number of outcomes of its lines.
        counted: u64,
        /// The numbers of lines by outcome, of this file and those before it.
        counts: Box<Counts>,
    },
    /// The catalogue could not store a batch.
    #[error("the catalogue could not store a batch")]
    Catalog(#[from] DomainError),
}

/// Imports files.
///
/// # Errors
/// [`ImportError`] if it cannot continue. Rejected lines are not errors: they are reported.
pub async fn import(
    catalog: &Catalog,
    options: &ImportOptions,
    progress: impl FnMut(&Progress),
) -> Result<Report, ImportError> {
    import_lines(catalog, options, None, progress).await
}

/// Imports files like [`import`], and keeps a record of the run.
///
/// # Errors
/// As [`import`], and [`ImportError::Stopped`] when an admin has asked the run to stop.
pub async fn import_recorded(
    catalog: &Catalog,
    options: &ImportOptions,
    record: &ImportRecord,
    progress: impl FnMut(&Progress),
) -> Result<Report, ImportError> {
    let run = import_lines(catalog, options, Some(record), progress);
    let outcome = tokio::select! {
        outcome = run => outcome,
        () = record.send_heartbeats() => unreachable!("it goes on until the import ends"),
    };
    let (phase, error) = end_of(&outcome);
    if let Ok(report) = &outcome {
        record.report(&report.to_string());
    }
    record.end(phase, error.as_deref()).await;
    outcome
}

/// What the record says of the end of a run.
fn end_of(outcome: &Result<Report, ImportError>) -> (ImportPhase, Option<String>) {
    match outcome {
        Ok(report) if report.is_complete() => (ImportPhase::Done, None),
        Ok(report) => {
            let broken = report.broken_files.iter();
            let broken = broken.map(|(file, reason)| format!("{file}: {reason}"));
            let broken: Vec<String> = broken.collect();
            (ImportPhase::Incomplete, Some(broken.join("; ")))
        }
        Err(ImportError::Stopped) => (ImportPhase::Stopped, None),
        Err(error) => {
            let source = std::error::Error::source(error);
            let source = source.map(|source| format!(": {source}"));
            (
                ImportPhase::Failed,
                Some(format!("{error}{}", source.unwrap_or_default())),
            )
        }
    }
}

async fn import_lines(
    catalog: &Catalog,
    options: &ImportOptions,
    record: Option<&ImportRecord>,
    progress: impl FnMut(&Progress),
) -> Result<Report, ImportError> {
    let session = catalog.import(options.mode);
    let mut run = ImportRun::new(options, session, record, progress)?;
    let (sender, mut batches) = mpsc::channel(MAX_QUEUED_BATCHES);
    let (files, mapping) = (options.files.clone(), Arc::clone(&options.mapping));
    let mappers = options.mappers.unwrap_or_else(reader::mappers);
    let now = catalog.now();
    let reader =
        tokio::task::spawn_blocking(move || reader::read(&files, &mapping, mappers, now, &sender));
    while let Some(read) = batches.recv().await {
        match read {
            Read::Batch(batch) => run.store(batch).await?,
            Read::End(end) => run.end_of_file(end)?,
        }
    }
    match reader.await {
        Ok(ended) => {
            let AllRead {
                unmatched,
                shared_keys,
            } = ended?;
            run.report.unmatched = unmatched;
            run.report.shared_keys = shared_keys;
            run.report.unpaired = options.mapping.unpaired();
        }
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
    run.finish(catalog).await
}

/// Values that the catalogue has left out, by line.
type Dropped = HashMap<u64, Vec<Rejection>>;

/// Adds what the catalogue has left out of drafts, which are of these lines.
fn add_dropped(dropped: &mut Dropped, more: Vec<(usize, Rejection)>, lines: &[u64]) {
    for (draft, rejection) in more {
        let line = lines.get(draft).copied().unwrap_or_default();
        dropped.entry(line).or_default().push(rejection);
    }
}

/// The outcomes of the drafts of a batch, in order, and the values that were left out of them.
struct Outcomes {
    products: std::vec::IntoIter<LineOutcome>,
    reviews: std::vec::IntoIter<LineOutcome>,
    dropped: Dropped,
}

impl Outcomes {
    /// The outcomes of the products and of the reviews of a line.
    fn of(&mut self, records: &Records) -> [Vec<LineOutcome>; 2] {
        let rejected = |rejected: &[Vec<Rejection>]| -> Vec<LineOutcome> {
            rejected
                .iter()
                .cloned()
                .map(LineOutcome::Rejected)
                .collect()
        };
        let mut products: Vec<_> = self.products.by_ref().take(records.products).collect();
        products.extend(rejected(&records.rejected_products));
        let mut reviews: Vec<_> = self.reviews.by_ref().take(records.reviews).collect();
        reviews.extend(rejected(&records.rejected_reviews));
        [products, reviews]
    }
}

/// The outcome of rejected records of a line in the rejects file.
const REJECTED: &str = "rejected";
/// The outcome of ids that repeat in the rejects file.
const REPEATED: &str = "repeated";

/// The outcome of suppliers of which lines say different things in the rejects file.
const DIFFERING: &str = "differing";

/// The order of outcomes: a line with several records ends as the first of these.
fn rank(outcome: &LineOutcome) -> u8 {
    match outcome {
        LineOutcome::Created => 0,
        LineOutcome::Updated => 1,
        LineOutcome::Waiting => 2,
        LineOutcome::Unchanged => 3,
        LineOutcome::Rejected(_) => 4,
    }
}

/// The outcome of a line: that of its best product, without products that of its best review. With
/// it the reasons of all other records that are rejected.
fn line_outcome(
    mut products: Vec<LineOutcome>,
    mut reviews: Vec<LineOutcome>,
) -> (LineOutcome, Vec<Rejection>) {
    let of_line = if products.is_empty() {
        &mut reviews
    } else {
        &mut products
    };
    let best = (0..of_line.len()).min_by_key(|at| rank(&of_line[*at]));
    let outcome = best.map_or(LineOutcome::Unchanged, |best| of_line.remove(best));
    let others = products.into_iter().chain(reviews);
    let rejected = others.filter_map(|other| match other {
        LineOutcome::Rejected(reasons) => Some(reasons),
        _ => None,
    });
    (outcome, rejected.flatten().collect())
}

/// A running import.
struct ImportRun<'a, P> {
    record: Option<&'a ImportRecord>,
    session: ImportSession,
    output: MappingOutput,
    report: Report,
    rejects: Option<(PathBuf, Rejects)>,
    rejected: HashMap<ExternalRef, Vec<Rejection>>,
    suppliers: Suppliers,
    /// The article numbers of lines that wait.
    waiting: WaitingNumbers,
    /// The number of outcomes of lines of the files that have ended.
    counted: u64,
    start: Instant,
    state: Progress,
    progress: P,
}

impl<'a, P: FnMut(&Progress)> ImportRun<'a, P> {
    fn new(
        options: &ImportOptions,
        session: ImportSession,
        record: Option<&'a ImportRecord>,
        progress: P,
    ) -> Result<Self, ImportError> {
        let rejects = options.rejects.as_deref().map(|path| {
            let rejects = Rejects::create(path).map_err(|source| failed(path, source))?;
            Ok::<_, ImportError>((path.to_owned(), rejects))
        });
        let output = options.mapping.output();
        let derives = output == MappingOutput::ReviewsAndProducts;
        Ok(Self {
            record,
            session,
            output,
            report: Report {
                dry_run: options.mode == ImportMode::DryRun,
                system: options.mapping.system().to_owned(),
                notice: options.mapping.notice().map(str::to_owned),
                products_derived: derives.then(Default::default),
                records: (output == MappingOutput::Several).then(Default::default),
                ..Report::default()
            },
            rejects: rejects.transpose()?,
            rejected: HashMap::new(),
            suppliers: Suppliers::default(),
            waiting: WaitingNumbers::default(),
            counted: 0,
            start: Instant::now(),
            state: Progress::default(),
            progress,
        })
    }

    /// Stores a batch and counts its lines.
    async fn store(&mut self, read: ReadBatch) -> Result<(), ImportError> {
        let ReadBatch {
            file,
            mut batch,
            bytes_read,
            bytes_total,
        } = read;
        let products = std::mem::take(&mut batch.products);
        for (product, line) in products.iter().zip(&batch.product_lines) {
            if let Some(supplier) = &product.supplier {
                self.suppliers.add(supplier, &file, *line);
            }
        }
        if self.report.dry_run {
            let lines = batch.product_lines.iter();
            for (product, line) in products.iter().zip(lines) {
                self.report.spec_values(product, &file, *line);
            }
        }
        self.session.label_keys(std::mem::take(&mut batch.labels));
        let mut dropped = Dropped::new();
        let products = if self.output == MappingOutput::ReviewsAndProducts {
            self.derive(products).await?;
            Vec::new()
        } else {
            self.products(products).await?
        };
        add_dropped(
            &mut dropped,
            self.session.take_dropped(),
            &batch.product_lines,
        );
        let reviews = self.reviews(std::mem::take(&mut batch.reviews)).await?;
        add_dropped(
            &mut dropped,
            self.session.take_dropped(),
            &batch.review_lines,
        );
        self.count(
            &file,
            &batch,
            Outcomes {
                products: products.into_iter(),
                reviews: reviews.into_iter(),
                dropped,
            },
        )?;
        if let Some(reason) = batch.broken {
            self.report.broken_files.insert(file.to_string(), reason);
        }
        let is_first = self.state.counts.lines == 0;
        self.state.bytes_read = bytes_read;
        self.state.bytes_total = bytes_total;
        self.report_progress();
        self.follow_record(is_first).await
    }

    /// Ends if an admin wants the run to stop. The first batch is recorded at once, later ones with the next
    /// heartbeat.
    async fn follow_record(&self, is_first: bool) -> Result<(), ImportError> {
        let Some(record) = self.record else {
            return Ok(());
        };
        if is_first {
            record.heartbeat().await;
        }
        if record.is_stopping() {
            return Err(ImportError::Stopped);
        }
        Ok(())
    }

    /// Stores the products that were derived from reviews.
    async fn derive(&mut self, drafts: Vec<ProductDraft>) -> Result<(), ImportError> {
        for outcome in self.products(drafts).await? {
            self.report.derived(&outcome);
        }
        Ok(())
    }

    /// Stores products. The reasons of rejected ones are kept for their reviews.
    async fn products(
        &mut self,
        drafts: Vec<ProductDraft>,
    ) -> Result<Vec<LineOutcome>, ImportError> {
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = padded::numbers(&drafts);
        if self.output == MappingOutput::Products {
            let outcomes = self.session.products(drafts).await?;
            self.waiting.add(numbers, &outcomes);
            return Ok(outcomes);
        }
        let sources: Vec<ExternalRef> = drafts.iter().map(|draft| draft.source.clone()).collect();
        let outcomes = self.session.products(drafts).await?;
        self.waiting.add(numbers, &outcomes);
        for (source, outcome) in sources.into_iter().zip(&outcomes) {
            if let LineOutcome::Rejected(reasons) = outcome
                && self.rejected.len() < MAX_REJECTED_PRODUCTS
            {
                self.rejected.insert(source, reasons.clone());
            }
        }
        Ok(outcomes)
    }

    /// Stores reviews. If a review is rejected because its product was, the product's reasons are
    /// added.
    async fn reviews(&mut self, drafts: Vec<ReviewDraft>) -> Result<Vec<LineOutcome>, ImportError> {
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        let products: Vec<ExternalRef> = drafts.iter().map(|draft| draft.product.clone()).collect();
        let mut outcomes = self.session.reviews(drafts).await?;
        for (outcome, product) in outcomes.iter_mut().zip(products) {
            if let (LineOutcome::Rejected(reasons), Some(why)) =
                (outcome, self.rejected.get(&product))
            {
                reasons.extend(why.iter().map(|why| {
                    Rejection::new(format!("product.{}", why.field), why.reason.clone())
                }));
            }
        }
        Ok(outcomes)
    }

    /// Counts the lines of a batch.
    fn count(
        &mut self,
        file: &str,
        batch: &Batch,
        mut outcomes: Outcomes,
    ) -> Result<(), ImportError> {
        for line in &batch.lines {
            match &line.status {
                LineStatus::Blank => self.report.blank(),
                LineStatus::Gathered => {
                    self.report.gathered();
                    self.dropped(file, line, "gathered", &line.dropped)?;
                }
                LineStatus::Skipped => {
                    self.report.skipped();
                    self.dropped(file, line, "skipped", &line.dropped)?;
                }
                LineStatus::Rejected(reasons) => {
                    self.line(file, line, &LineOutcome::Rejected(reasons.clone()), &[])?;
                }
                LineStatus::Drafted(records) => {
                    let of_line = outcomes.of(records);
                    let mut line = Cow::Borrowed(line);
                    if let Some(dropped) = outcomes.dropped.remove(&line.number) {
                        line.to_mut().dropped.extend(dropped);
                    }
                    self.records(file, &line, of_line)?;
                }
            }
        }
        let Some((path, rejects)) = &mut self.rejects else {
            return Ok(());
        };
        rejects.flush().map_err(|source| failed(path, source))
    }

    /// Counts a line with records.
    fn records(
        &mut self,
        file: &str,
        line: &Line,
        [products, reviews]: [Vec<LineOutcome>; 2],
    ) -> Result<(), ImportError> {
        self.report.count_records(&products, &reviews);
        let (outcome, rejected) = line_outcome(products, reviews);
        self.line(file, line, &outcome, &rejected)
    }

    /// Counts a line, and writes its rejections and dropped values to the rejects file. `rejected`
    /// are those of its records that are rejected, although the line is not.
    fn line(
        &mut self,
        file: &str,
        line: &Line,
        outcome: &LineOutcome,
        rejected: &[Rejection],
    ) -> Result<(), ImportError> {
        self.report.line(outcome);
        self.report.record_reasons(rejected);
        self.report.ignored(&line.ignored);
        let name = outcome_name(outcome);
        let reasons = match outcome {
            LineOutcome::Rejected(reasons) => reasons.as_slice(),
            _ => &[],
        };
        self.entries(file, line, name, reasons)?;
        self.entries(file, line, REJECTED, rejected)?;
        self.dropped(file, line, name, &line.dropped)
    }

    /// Counts values that were dropped, and writes them to the rejects file.
    fn dropped(
        &mut self,
        file: &str,
        line: &Line,
        outcome: &str,
        dropped: &[Rejection],
    ) -> Result<(), ImportError> {
        self.report.dropped(dropped);
        self.entries(file, line, outcome, dropped)
    }

    /// Writes what is wrong with a line to the rejects file and the record.
    fn entries(
        &mut self,
        file: &str,
        line: &Line,
        outcome: &str,
        rejections: &[Rejection],
    ) -> Result<(), ImportError> {
        if let Some(record) = self.record {
            for rejection in rejections {
                record.reject(file, line.number, outcome, rejection);
            }
        }
        let Some((path, rejects)) = &mut self.rejects else {
            return Ok(());
        };
        let written = rejects.add(file, line.number, outcome, rejections);
        written.map_err(|source| failed(path, source))
    }

    /// Checks that each line of a file has an outcome, and reports what is known at its end.
    fn end_of_file(&mut self, end: FileEnd) -> Result<(), ImportError> {
        let file = end.file.to_string();
        let counted = self.report.counts.outcomes() - self.counted;
        if counted != end.lines {
            return Err(ImportError::Lost {
                file,
                read: end.lines,
                counted,
                counts: Box::new(self.report.counts),
            });
        }
        self.counted += counted;
        self.report.read_as.insert(file.clone(), end.read_as);
        self.repeats(&file, end.repeats)
    }

    /// Reports the ids that repeat in a file.
    fn repeats(&mut self, file: &str, repeats: Repeats) -> Result<(), ImportError> {
        if let Some((path, rejects)) = &mut self.rejects {
            for id in &repeats.repeated {
                let reason = Rejection::new(format!("{}.external_id", id.of), id.reason());
                let line = id.lines.first().copied().unwrap_or_default();
                let written = rejects.add(file, line, REPEATED, &[reason]);
                written.map_err(|source| failed(path, source))?;
            }
        }
        if repeats != Repeats::default() {
            self.report.repeats.insert(file.to_owned(), repeats);
        }
        Ok(())
    }

    fn report_progress(&mut self) {
        self.state.counts = self.report.counts;
        self.state.elapsed = self.start.elapsed();
        (self.progress)(&self.state);
        if let Some(record) = self.record {
            let phase = if self.state.finishing {
                ImportPhase::Finishing
            } else {
                ImportPhase::Reading
            };
            record.advance(phase, run_progress(&self.state));
        }
    }

    /// Finishes the session, which computes what depends on the imported data, and completes the
    /// report.
    async fn finish(mut self, catalog: &Catalog) -> Result<Report, ImportError> {
        self.state.finishing = true;
        self.report_progress();
        let summary = self.session.finish().await?;
        self.report.kept_by_people = summary.kept_by_people;
        self.report.new = new_entries(summary);
        self.report.padded_skus = self.waiting.padded(catalog).await?;
        self.report.supplier_conflicts = self.suppliers.conflicts();
        if let Some((path, mut rejects)) = self.rejects {
            for conflict in &self.report.supplier_conflicts {
                let first = &conflict.said[0];
                let reason = [Rejection::new("product.supplier", conflict.reason())];
                let written = rejects.add(&first.file, first.line, DIFFERING, &reason);
                written.map_err(|source| failed(&path, source))?;
            }
            let finished = rejects.finish();
            self.report.rejects = finished.map_err(|source| failed(&path, source))?;
        }
        self.report.elapsed = self.start.elapsed();
        Ok(self.report)
    }
}

fn failed(path: &Path, source: io::Error) -> ImportError {
    ImportError::Rejects {
        path: path.to_owned(),
        source,
    }
}

fn run_progress(state: &Progress) -> RunProgress {
    let counts = &state.counts;
    RunProgress {
        counts: RunCounts {
            lines: counts.lines,
            created: counts.created,
            updated: counts.updated,
            unchanged: counts.unchanged,
            waiting: counts.waiting,
            rejected: counts.rejected,
            skipped: counts.skipped + counts.blank,
            dropped_values: counts.dropped_values,
        },
        bytes_read: state.bytes_read,
        bytes_total: state.bytes_total,
        rejects: 0,
    }
}

fn new_entries(summary: ImportSummary) -> NewEntries {
    NewEntries {
        spec_keys: summary.new_keys,
        categories: summary.new_categories,
        suppliers: summary.new_suppliers,
        namesakes: summary.namesakes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_the_catalogue_leaves_out_are_those_of_the_lines_of_their_drafts() {
        let reason = |field: &str| Rejection::new(field, "is refused");
        let mut dropped = Dropped::new();
        let products = vec![
            (0, reason("brand")),
            (2, reason("specs.a")),
            (2, reason("specs.b")),
        ];
        add_dropped(&mut dropped, products, &[3, 5, 8]);
        add_dropped(&mut dropped, vec![(0, reason("title"))], &[8]);
        assert_eq!(dropped.len(), 2);
        assert_eq!(dropped[&3], [reason("brand")]);
        assert_eq!(
            dropped[&8],
            [reason("specs.a"), reason("specs.b"), reason("title")]
        );
    }

    #[test]
    fn every_rejected_record_of_a_line_is_reported() {
        let reason = || Rejection::new("stars", "is missing");
        let rejected = || LineOutcome::Rejected(vec![reason()]);
        assert_eq!(
            line_outcome(vec![], vec![rejected(), rejected()]),
            (rejected(), vec![reason()])
        );
        assert_eq!(
            line_outcome(vec![rejected(), LineOutcome::Updated], vec![rejected()]),
            (LineOutcome::Updated, vec![reason(), reason()])
        );
        assert_eq!(
            line_outcome(vec![], vec![]),
            (LineOutcome::Unchanged, vec![])
        );
    }
}
