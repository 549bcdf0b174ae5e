//! Reading an export into a database.
//!
//! Records are collected until there are enough of them to be stored together, and then stored in
//! the order in which they refer to each other. An import that was interrupted is completed by
//! running it again: what is there already is left as it is.

mod lines;
mod rejects;

use std::io;
use std::path::{Path, PathBuf};

use vitrine_domain::export::ExportedProduct;
use vitrine_domain::export::StoredReview;
use vitrine_domain::restore::RestoreSession;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::GlobalId;
use vitrine_model::import::{LineOutcome, Rejection};

use crate::record::{Header, Record};
use crate::report::ImportReport;
use lines::{Line, Lines};
use rejects::Rejects;

pub use lines::{ReadError, header};

/// How many products are stored together.
const PRODUCTS: usize = 250;
/// How many reviews are stored together.
const REVIEWS: usize = 1_000;

/// What to read.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// Where rejected lines are reported; `None` for nowhere.
    pub rejects: Option<PathBuf>,
}

/// Why an import was aborted. Running it again completes it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file of rejected lines cannot be written.
    #[error("cannot write the rejects file {}", path.display())]
    Rejects {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The catalogue could not store something.
    #[error("the catalogue could not store a batch")]
    Catalog(#[from] DomainError),
}

/// Where the files have been read to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of bytes read.
    pub read: u64,
    /// The size of all files.
    pub size: u64,
}

/// Reads exports into the catalogue.
///
/// # Errors
/// [`ImportError`] if it cannot continue. Rejected lines are not errors: they are reported.
pub async fn import(
    catalog: &Catalog,
    options: &ImportOptions,
    progress: impl FnMut(Position),
) -> Result<ImportReport, ImportError> {
    let session = catalog.restore().await?;
    Import::new(Some(session), options)?
        .run(options, progress)
        .await
}

/// Reads exports and stores nothing: each record is read, and each file compared with its last line.
///
/// # Errors
/// As [`import`].
pub async fn check(
    options: &ImportOptions,
    progress: impl FnMut(Position),
) -> Result<ImportReport, ImportError> {
    Import::new(None, options)?.run(options, progress).await
}

/// The place of a record.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    line: u64,
}

/// An import in progress.
struct Import<'a> {
    /// `None` if nothing is stored.
    session: Option<RestoreSession>,
    files: &'a [PathBuf],
    products: Vec<(Place, ExportedProduct)>,
    reviews: Vec<(Place, StoredReview)>,
    report: ImportReport,
    rejects: Option<(PathBuf, Rejects)>,
}

impl<'a> Import<'a> {
    fn new(
        session: Option<RestoreSession>,
        options: &'a ImportOptions,
    ) -> Result<Self, ImportError> {
        let rejects = options.rejects.as_deref().map(|path| {
            let rejects = Rejects::create(path).map_err(|source| failed(path, source))?;
            Ok::<_, ImportError>((path.to_owned(), rejects))
        });
        Ok(Self {
            report: ImportReport {
                dry_run: session.is_none(),
                ..ImportReport::default()
            },
            session,
            files: &options.files,
            products: Vec::new(),
            reviews: Vec::new(),
            rejects: rejects.transpose()?,
        })
    }

    async fn run(
        mut self,
        options: &ImportOptions,
        mut progress: impl FnMut(Position),
    ) -> Result<ImportReport, ImportError> {
        let mut position = Position::default();
        let mut readers = Vec::new();
        for path in &options.files {
            let lines = Lines::open(path)?;
            position.size += lines.size();
            readers.push(lines);
        }
        let mut before = 0;
        for (file, mut lines) in readers.into_iter().enumerate() {
            while let Some(line) = lines.next() {
                self.line(file, line).await?;
                position.read = before + lines.read();
                progress(position);
            }
            self.flush().await?;
            before += lines.size();
            let (digest, broken) = lines.end();
            self.report.digest = digest;
            if let Some(reason) = broken {
                self.report.broken.insert(self.name(file), reason);
            }
        }
        self.finish().await
    }

    async fn line(&mut self, file: usize, line: Line) -> Result<(), ImportError> {
        let place = Place {
            file,
            line: line.number,
        };
        match line.record {
            Ok(record) => self.record(place, record).await,
            Err(reason) => {
                let outcome = LineOutcome::Rejected(vec![Rejection::new("line", reason)]);
                self.outcome(place, "lines", &outcome)
            }
        }
    }

    async fn record(&mut self, place: Place, record: Record) -> Result<(), ImportError> {
        match record {
            Record::Product(product) => {
                if self.products.len() >= PRODUCTS {
                    self.flush().await?;
                }
                match product.product() {
                    Ok(product) => self.products.push((place, product)),
                    Err(wrong) => self.rejected(place, "products", wrong)?,
                }
                Ok(())
            }
            Record::Review(review) => {
                if self.reviews.len() >= REVIEWS {
                    self.flush().await?;
                }
                match review.stored() {
                    Ok(review) => self.reviews.push((place, review)),
                    Err(wrong) => self.rejected(place, "reviews", wrong)?,
                }
                Ok(())
            }
            Record::Vote(_) | Record::Report(_) | Record::Version(_) | Record::Decision(_) => {
                self.history(place, record)
            }
            reference => self.reference(place, reference).await,
        }
    }

    /// Adds what happened to a review to the review before it.
    fn history(&mut self, place: Place, record: Record) -> Result<(), ImportError> {
        let (kind, id) = match &record {
            Record::Vote(vote) => ("votes", &vote.review),
            Record::Report(report) => ("reports", &report.review),
            Record::Version(version) => ("versions", &version.review),
            Record::Decision(decision) => ("decisions", &decision.review),
            _ => return Ok(()),
        };
        let last = self.reviews.last_mut().map(|(_, review)| review);
        let own = last.filter(|stored| {
            let review = &stored.review;
            GlobalId::Review(review.product_id, review.id).encode() == *id
        });
        let Some(own) = own else {
            let reason = "does not come after its review";
            return self.rejected(place, kind, Rejection::new("review", reason));
        };
        let history = &mut own.history;
        match record {
            Record::Vote(vote) => history.votes.push(vote.vote()),
            Record::Report(report) => history.reports.push(report.report()),
            Record::Version(version) => history.versions.push(version.version()),
            Record::Decision(decision) => match decision.decision() {
                Ok(decision) => history.decisions.push(decision),
                Err(wrong) => return self.rejected(place, kind, wrong),
            },
            _ => {}
        }
        Ok(())
    }

    /// Stores a record of reference data. Those before it may refer to an earlier one.
    async fn reference(&mut self, place: Place, record: Record) -> Result<(), ImportError> {
        self.flush().await?;
        let (kind, stored) = match record {
            Record::Unit(unit) => ("units", self.store_unit(unit).await?),
            Record::SpecKey(key) => ("spec keys", self.store_key(*key).await?),
            Record::Category(category) => match category.category() {
                Ok(category) => ("categories", self.store_category(category).await?),
                Err(wrong) => return self.rejected(place, "categories", wrong),
            },
            Record::Dimensions(dimensions) => match dimensions.scope() {
                Ok((of, names)) => {
                    let stored = match &mut self.session {
                        Some(session) => session.dimensions(of, names).await?,
                        None => LineOutcome::Created,
                    };
                    ("dimensions", stored)
                }
                Err(wrong) => return self.rejected(place, "dimensions", wrong),
            },
            Record::Supplier(supplier) => match supplier.supplier() {
                Ok(supplier) => ("suppliers", self.store_supplier(supplier).await?),
                Err(wrong) => return self.rejected(place, "suppliers", wrong),
            },
            Record::Erasure(erasure) => {
                let (author, receipt) = erasure.receipt();
                let stored = match &mut self.session {
                    Some(session) => session.erasure(author, receipt).await?,
                    None => LineOutcome::Created,
                };
                ("erasures", stored)
            }
            _ => return Ok(()),
        };
        self.outcome(place, kind, &stored)
    }

    /// Stores the products and reviews that were collected.
    async fn flush(&mut self) -> Result<(), ImportError> {
        let (places, products): (Vec<Place>, Vec<ExportedProduct>) =
            std::mem::take(&mut self.products).into_iter().unzip();
        if !products.is_empty() {
            let outcomes = match &mut self.session {
                Some(session) => session.products(products).await?,
                None => vec![LineOutcome::Created; products.len()],
            };
            for (place, outcome) in places.into_iter().zip(outcomes) {
                self.outcome(place, "products", &outcome)?;
            }
        }
        let (places, reviews): (Vec<Place>, Vec<StoredReview>) =
            std::mem::take(&mut self.reviews).into_iter().unzip();
        if !reviews.is_empty() {
            let outcomes = match &mut self.session {
                Some(session) => session.reviews(reviews).await?,
                None => vec![LineOutcome::Created; reviews.len()],
            };
            for (place, outcome) in places.into_iter().zip(outcomes) {
                self.outcome(place, "reviews", &outcome)?;
            }
        }
        Ok(())
    }

    fn rejected(
        &mut self,
        place: Place,
        kind: &'static str,
        wrong: Rejection,
    ) -> Result<(), ImportError> {
        self.outcome(place, kind, &LineOutcome::Rejected(vec![wrong]))
    }

    fn outcome(
        &mut self,
        place: Place,
        kind: &'static str,
        outcome: &LineOutcome,
    ) -> Result<(), ImportError> {
        self.report.count(kind, outcome);
        let name = self.name(place.file);
        if let (Some((path, rejects)), LineOutcome::Rejected(reasons)) =
            (&mut self.rejects, outcome)
        {
            let written = rejects.add(&name, place.line, reasons);
            written.map_err(|source| failed(path, source))?;
        }
        Ok(())
    }

    fn name(&self, file: usize) -> String {
        self.files[file].display().to_string()
    }

    async fn finish(mut self) -> Result<ImportReport, ImportError> {
        if let Some(session) = self.session {
            session.finish().await?;
        }
        if let Some((path, rejects)) = self.rejects {
            let finished = rejects.finish();
            self.report.rejects = finished.map_err(|source| failed(&path, source))?;
        }
        Ok(self.report)
    }
}

/// The stores of records that need no more than the session.
macro_rules! stores {
    ($($name:ident($type:ty) = $method:ident;)+) => {
        impl Import<'_> {
            $(async fn $name(&mut self, value: $type) -> Result<LineOutcome, ImportError> {
                match &mut self.session {
                    Some(session) => Ok(session.$method(value).await?),
                    None => Ok(LineOutcome::Created),
                }
            })+
        }
    };
}

stores! {
    store_unit(vitrine_model::unit::Unit) = unit;
    store_key(vitrine_model::spec::SpecKey) = spec_key;
    store_category(vitrine_model::category::Category) = category;
    store_supplier(vitrine_model::supplier::Supplier) = supplier;
}

fn failed(path: &Path, source: io::Error) -> ImportError {
    ImportError::Rejects {
        path: path.to_owned(),
        source,
    }
}

/// Returns the first line of a file that is an export; `None` if it is something else.
///
/// # Errors
/// [`ReadError`] if it cannot be read, or is an export of a newer format.
pub fn recognise(path: &Path) -> Result<Option<Header>, ReadError> {
    header(path)
}
