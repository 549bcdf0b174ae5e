//! Batches into the catalogue.
//!
//! A thread reads, parses and drafts; two batches may wait while one is written, so memory stays
//! bounded and neither side waits for the other for long. Everything is stored by the domain's
//! import session, which makes a run repeatable: given again, a feed changes nothing; killed half
//! way, it is completed by the next run.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use vitrine_domain::import::{ImportMode, ImportSession, ImportSummary};
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::import::{ExternalRef, LineOutcome, Rejection};

use crate::draft::{Batch, Fate};
use crate::feed::FeedError;
use crate::mapping::{Makes, Mapping};
use crate::rejects::Rejects;
use crate::report::{News, Report, outcome_name};

mod progress;
mod reader;

pub use progress::Progress;
use reader::ReadBatch;

/// How many batches may wait to be written.
const WAITING_BATCHES: usize = 2;
/// Of how many refused products the reasons are remembered for their reviews.
const MAX_REFUSED: usize = 10_000;

/// What is to be imported, and how.
#[derive(Clone, Debug)]
pub struct ImportOrder {
    /// The files, one after the other.
    pub files: Vec<PathBuf>,
    /// What their rows mean.
    pub mapping: Arc<Mapping>,
    /// Whether anything is written.
    pub mode: ImportMode,
    /// Where everything that is refused or left out is written to; nowhere when absent.
    pub rejects: Option<PathBuf>,
}

/// Why an import ended early. What was stored until then stays; running it again completes it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be opened, or has another form.
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
    /// The catalogue cannot store anything.
    #[error("the catalogue could not store a batch")]
    Catalog(#[from] DomainError),
}

/// Imports files.
///
/// # Errors
/// [`ImportError`] when it cannot go on. Lines that are refused are no error: they are counted.
pub async fn import(
    catalog: &Catalog,
    order: &ImportOrder,
    progress: impl FnMut(&Progress),
) -> Result<Report, ImportError> {
    let mut run = Run::new(order, catalog.import(order.mode), progress)?;
    let (sender, mut batches) = mpsc::channel(WAITING_BATCHES);
    let (files, mapping) = (order.files.clone(), Arc::clone(&order.mapping));
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

/// An import under way.
struct Run<P> {
    session: ImportSession,
    makes: Makes,
    report: Report,
    rejects: Option<(PathBuf, Rejects)>,
    refused: HashMap<ExternalRef, Vec<Rejection>>,
    start: Instant,
    state: Progress,
    progress: P,
}

impl<P: FnMut(&Progress)> Run<P> {
    fn new(order: &ImportOrder, session: ImportSession, progress: P) -> Result<Self, ImportError> {
        let rejects = order.rejects.as_deref().map(|path| {
            let rejects = Rejects::create(path).map_err(|source| failed(path, source))?;
            Ok::<_, ImportError>((path.to_owned(), rejects))
        });
        let derives = order.mapping.makes() == Makes::ReviewsAndProducts;
        Ok(Self {
            session,
            makes: order.mapping.makes(),
            report: Report {
                dry_run: order.mode == ImportMode::DryRun,
                system: order.mapping.system().to_owned(),
                notice: order.mapping.notice().map(str::to_owned),
                products_derived: derives.then(Default::default),
                ..Report::default()
            },
            rejects: rejects.transpose()?,
            refused: HashMap::new(),
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
        let outcomes = if self.makes == Makes::Products {
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
        self.tell();
        Ok(())
    }

    /// Stores the products that reviews told of.
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
                && self.refused.len() < MAX_REFUSED
            {
                self.refused.insert(source, reasons);
            }
        }
        Ok(())
    }

    /// Stores reviews. One that is refused because its product was says why the product was.
    async fn reviews(
        &mut self,
        drafts: Vec<vitrine_model::import::ReviewDraft>,
    ) -> Result<Vec<LineOutcome>, ImportError> {
        let products: Vec<ExternalRef> = drafts.iter().map(|draft| draft.product.clone()).collect();
        let mut outcomes = self.session.reviews(drafts).await?;
        for (outcome, product) in outcomes.iter_mut().zip(products) {
            if let (LineOutcome::Rejected(reasons), Some(why)) =
                (outcome, self.refused.get(&product))
            {
                reasons.extend(why.iter().map(|why| {
                    Rejection::new(format!("product.{}", why.field), why.reason.clone())
                }));
            }
        }
        Ok(outcomes)
    }

    /// Counts the lines of a batch; the outcomes are those of its drafts.
    fn count(
        &mut self,
        file: &str,
        batch: &Batch,
        outcomes: Vec<LineOutcome>,
    ) -> Result<(), ImportError> {
        let mut outcomes = outcomes.into_iter();
        for line in &batch.lines {
            let outcome = match &line.fate {
                Fate::Blank => {
                    self.report.blank();
                    continue;
                }
                Fate::Rejected(reasons) => LineOutcome::Rejected(reasons.clone()),
                Fate::Drafted => outcomes.next().expect("one outcome for each draft"),
            };
            self.report.line(&outcome, &line.dropped);
            self.write(file, line.number, &outcome, &line.dropped)?;
        }
        let Some((path, rejects)) = &mut self.rejects else {
            return Ok(());
        };
        rejects.flush().map_err(|source| failed(path, source))
    }

    /// Writes what was refused and left out of a line to the rejects file.
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
        let refused = match outcome {
            LineOutcome::Rejected(reasons) => reasons.as_slice(),
            _ => &[],
        };
        for rejections in [refused, dropped] {
            let written = rejects.add(file, line, name, rejections);
            written.map_err(|source| failed(path, source))?;
        }
        Ok(())
    }

    fn tell(&mut self) {
        self.state.counts = self.report.counts;
        self.state.elapsed = self.start.elapsed();
        (self.progress)(&self.state);
    }

    /// Computes what the import changed, and closes the report.
    async fn finish(mut self) -> Result<Report, ImportError> {
        self.state.finishing = true;
        self.tell();
        self.report.new = news(self.session.finish().await?);
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

fn news(summary: ImportSummary) -> News {
    News {
        spec_keys: summary.new_keys,
        categories: summary.new_categories,
        suppliers: summary.new_suppliers,
    }
}
