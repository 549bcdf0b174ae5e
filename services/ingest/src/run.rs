//! Storing batches in the catalogue.
//!
//! A thread reads, parses and drafts while batches are stored. At most two batches are queued, so
//! memory is bounded. Everything is stored by the domain's import session, which makes a run
//! repeatable: importing a feed again changes nothing, and a run that was killed is completed by
//! the next.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use vitrine_domain::import::{ImportMode, ImportSession, ImportSummary};
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::import::{ExternalRef, LineOutcome, Rejection};

use crate::draft::{Batch, LineStatus};
use crate::feed::FeedError;
use crate::mapping::{Mapping, MappingOutput};
use crate::rejects::Rejects;
use crate::report::{NewEntries, Report, outcome_name};

mod progress;
mod reader;

pub use progress::Progress;
use reader::ReadBatch;

/// The maximum number of queued batches.
const MAX_QUEUED_BATCHES: usize = 2;
/// The maximum number of rejected products whose reasons are kept for their reviews.
const MAX_REJECTED_PRODUCTS: usize = 10_000;

/// What to import, and how.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// The mapping of their rows.
    pub mapping: Arc<Mapping>,
    /// Whether to write or only to report.
    pub mode: ImportMode,
    /// The rejects file; `None` for no such file.
    pub rejects: Option<PathBuf>,
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
    let mut run = ImportRun::new(options, catalog.import(options.mode), progress)?;
    let (sender, mut batches) = mpsc::channel(MAX_QUEUED_BATCHES);
    let (files, mapping) = (options.files.clone(), Arc::clone(&options.mapping));
    let reader = tokio::task::spawn_blocking(move || reader::read(&files, &mapping, &sender));
    while let Some(read) = batches.recv().await {
        run.store(read).await?;
    }
    match reader.await {
        Ok(ended) => ended?,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
    run.finish().await
}

/// A running import.
struct ImportRun<P> {
    session: ImportSession,
    output: MappingOutput,
    report: Report,
    rejects: Option<(PathBuf, Rejects)>,
    rejected: HashMap<ExternalRef, Vec<Rejection>>,
    start: Instant,
    state: Progress,
    progress: P,
}

impl<P: FnMut(&Progress)> ImportRun<P> {
    fn new(
        options: &ImportOptions,
        session: ImportSession,
        progress: P,
    ) -> Result<Self, ImportError> {
        let rejects = options.rejects.as_deref().map(|path| {
            let rejects = Rejects::create(path).map_err(|source| failed(path, source))?;
            Ok::<_, ImportError>((path.to_owned(), rejects))
        });
        let derives = options.mapping.output() == MappingOutput::ReviewsAndProducts;
        Ok(Self {
            session,
            output: options.mapping.output(),
            report: Report {
                dry_run: options.mode == ImportMode::DryRun,
                system: options.mapping.system().to_owned(),
                notice: options.mapping.notice().map(str::to_owned),
                products_derived: derives.then(Default::default),
                ..Report::default()
            },
            rejects: rejects.transpose()?,
            rejected: HashMap::new(),
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
        let outcomes = if self.output == MappingOutput::Products {
            self.session.products(products).await?
        } else {
            self.derive(products).await?;
            self.reviews(std::mem::take(&mut batch.reviews)).await?
        };
        self.count(&file, &batch, outcomes)?;
        if let Some(reason) = batch.broken {
            self.report.broken_files.insert(file.to_string(), reason);
        }
        self.state.bytes_read = bytes_read;
        self.state.bytes_total = bytes_total;
        self.report_progress();
        Ok(())
    }

    /// Stores the products that were derived from reviews.
    async fn derive(
        &mut self,
        drafts: Vec<vitrine_model::import::ProductDraft>,
    ) -> Result<(), ImportError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let sources: Vec<ExternalRef> = drafts.iter().map(|draft| draft.source.clone()).collect();
        let outcomes = self.session.products(drafts).await?;
        for (source, outcome) in sources.into_iter().zip(outcomes) {
            self.report.derived(&outcome);
            if let LineOutcome::Rejected(reasons) = outcome
                && self.rejected.len() < MAX_REJECTED_PRODUCTS
            {
                self.rejected.insert(source, reasons);
            }
        }
        Ok(())
    }

    /// Stores reviews. If a review is rejected because its product was, the product's reasons are
    /// added.
    async fn reviews(
        &mut self,
        drafts: Vec<vitrine_model::import::ReviewDraft>,
    ) -> Result<Vec<LineOutcome>, ImportError> {
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

    /// Counts the lines of a batch. `outcomes` are those of its drafts, in order.
    fn count(
        &mut self,
        file: &str,
        batch: &Batch,
        outcomes: Vec<LineOutcome>,
    ) -> Result<(), ImportError> {
        let mut outcomes = outcomes.into_iter();
        for line in &batch.lines {
            let outcome = match &line.status {
                LineStatus::Blank => {
                    self.report.blank();
                    continue;
                }
                LineStatus::Rejected(reasons) => LineOutcome::Rejected(reasons.clone()),
                LineStatus::Drafted => outcomes.next().expect("one outcome for each draft"),
            };
            self.report.line(&outcome, &line.dropped);
            self.write(file, line.number, &outcome, &line.dropped)?;
        }
        let Some((path, rejects)) = &mut self.rejects else {
            return Ok(());
        };
        rejects.flush().map_err(|source| failed(path, source))
    }

    /// Writes the rejections and dropped values of a line to the rejects file.
    fn write(
        &mut self,
        file: &str,
        line: u64,
        outcome: &LineOutcome,
        dropped: &[Rejection],
    ) -> Result<(), ImportError> {
        let Some((path, rejects)) = &mut self.rejects else {
            return Ok(());
        };
        let name = outcome_name(outcome);
        let reasons = match outcome {
            LineOutcome::Rejected(reasons) => reasons.as_slice(),
            _ => &[],
        };
        for rejections in [reasons, dropped] {
            let written = rejects.add(file, line, name, rejections);
            written.map_err(|source| failed(path, source))?;
        }
        Ok(())
    }

    fn report_progress(&mut self) {
        self.state.counts = self.report.counts;
        self.state.elapsed = self.start.elapsed();
        (self.progress)(&self.state);
    }

    /// Finishes the session, which computes what depends on the imported data, and completes the
    /// report.
    async fn finish(mut self) -> Result<Report, ImportError> {
        self.state.finishing = true;
        self.report_progress();
        self.report.new = new_entries(self.session.finish().await?);
        if let Some((path, rejects)) = self.rejects {
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

fn new_entries(summary: ImportSummary) -> NewEntries {
    NewEntries {
        spec_keys: summary.new_keys,
        categories: summary.new_categories,
        suppliers: summary.new_suppliers,
    }
}
