//! Writing JSON Lines, and continuing a file that was interrupted.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

use vitrine_domain::export::{ExportPart, ReferenceData, StoredReview};
use vitrine_model::id::ProductId;

use crate::digest::{RecordDigest, SetDigest, digest};
use crate::output::{Output, Target, part_of};
use crate::record::{
    CategoryRecord, Counts, DecisionRecord, DimensionsRecord, End, ErasureRecord, FirstLine,
    Header, LastLine, ProductRecord, Record, ReportRecord, ReviewRecord, SupplierRecord,
    VersionRecord, VoteRecord, product_id,
};
use crate::{ExportError, ExportReport};

/// What the lines of an export say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The number of records that hold.
    pub(crate) counts: Counts,
    /// Their digest.
    pub(crate) digest: SetDigest,
    /// The digests of records of reference data, by what they are about.
    reference: HashMap<String, RecordDigest>,
}

impl Tally {
    /// Adds a record, in place of an earlier one if it is about the same. Returns false if the
    /// earlier one was equal.
    pub(crate) fn add(&mut self, record: &Record, line: &[u8]) -> bool {
        let own = digest(line);
        if let Some(key) = record.reference_key() {
            match self.reference.insert(key, own) {
                Some(earlier) if earlier == own => return false,
                Some(earlier) => {
                    self.digest.remove(&earlier);
                    self.digest.add(&own);
                    return true;
                }
                None => {}
            }
        }
        self.digest.add(&own);
        *self.counts.of(record) += 1;
        true
    }
}

/// Writes JSON Lines.
#[derive(Debug)]
pub(crate) struct LinesWriter {
    output: Output,
    tally: Tally,
}

impl LinesWriter {
    /// Begins to write, or continues a file with this header that was interrupted. Returns the
    /// product to continue with.
    pub(crate) fn open(
        target: &Target,
        header: Header,
        restart: bool,
    ) -> Result<(Self, Option<ProductId>), ExportError> {
        let header = serde_json::to_vec(&FirstLine::VitrineExport(header))
            .map_err(|error| ExportError::Write(error.into()))?;
        let path = match target {
            Target::File(path) => path,
            Target::Standard | Target::Directory(_) => {
                return Self::begin(Output::standard(), &header).map(|writer| (writer, None));
            }
            Target::Nowhere => {
                return Self::begin(Output::nowhere(), &header).map(|writer| (writer, None));
            }
        };
        let begun = if restart { None } else { begun(path, &header)? };
        if let Some(begun) = begun {
            let output = Output::resume(path, begun.length).map_err(ExportError::Write)?;
            let tally = begun.tally;
            return Ok((Self { output, tally }, Some(begun.product)));
        }
        let output = Output::create(path).map_err(ExportError::Write)?;
        Ok((Self::begin(output, &header)?, None))
    }

    fn begin(mut output: Output, header: &[u8]) -> Result<Self, ExportError> {
        output.write_all(header).map_err(ExportError::Write)?;
        output.write_all(b"\n").map_err(ExportError::Write)?;
        Ok(Self {
            output,
            tally: Tally::default(),
        })
    }

    pub(crate) const fn counts(&self) -> &Counts {
        &self.tally.counts
    }

    pub(crate) fn part(&mut self, part: &ExportPart) -> io::Result<()> {
        match part {
            ExportPart::Reference(reference) => self.reference(reference),
            ExportPart::Suppliers(suppliers) => {
                let mut records = suppliers.iter().map(SupplierRecord::of);
                records.try_for_each(|record| self.record(&Record::Supplier(record)))
            }
            ExportPart::Product(product) => {
                let record = Box::new(ProductRecord::of(product));
                self.record(&Record::Product(record))
            }
            ExportPart::Reviews(reviews) => {
                reviews.iter().try_for_each(|review| self.review(review))
            }
            ExportPart::Erasures(erasures) => {
                let mut records = erasures.iter().map(ErasureRecord::of);
                records.try_for_each(|record| self.record(&Record::Erasure(record)))
            }
            ExportPart::IncompleteBundle(_) => Ok(()),
        }
    }

    /// Units come before spec keys, and categories before their dimensions.
    fn reference(&mut self, reference: &ReferenceData) -> io::Result<()> {
        for unit in &reference.units {
            self.record(&Record::Unit(unit.clone()))?;
        }
        for key in &reference.spec_keys {
            self.record(&Record::SpecKey(Box::new(key.clone())))?;
        }
        for category in &reference.categories {
            self.record(&Record::Category(CategoryRecord::of(category)))?;
        }
        for (kind, names) in &reference.dimensions.kinds {
            self.record(&Record::Dimensions(DimensionsRecord::of_kind(kind, names)))?;
        }
        for (category, names) in &reference.dimensions.categories {
            let record = DimensionsRecord::of_category(*category, names);
            self.record(&Record::Dimensions(record))?;
        }
        Ok(())
    }

    fn review(&mut self, stored: &StoredReview) -> io::Result<()> {
        let (review, history) = (&stored.review, &stored.history);
        self.record(&Record::Review(Box::new(ReviewRecord::of(stored))))?;
        for vote in &history.votes {
            self.record(&Record::Vote(VoteRecord::of(review, vote)))?;
        }
        for report in &history.reports {
            self.record(&Record::Report(ReportRecord::of(review, report)))?;
        }
        for version in &history.versions {
            self.record(&Record::Version(VersionRecord::of(review, version)))?;
        }
        for decision in &history.decisions {
            self.record(&Record::Decision(DecisionRecord::of(review, decision)))?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let line = record.line();
        if self.tally.add(record, &line) {
            self.output.write_all(&line)?;
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, report: &mut ExportReport) -> io::Result<()> {
        let end = End {
            records: self.tally.counts,
            digest: self.tally.digest.to_string(),
        };
        report.counts = end.records;
        report.digest = Some(end.digest.clone());
        let end = serde_json::to_vec(&LastLine::End(end)).map_err(io::Error::other)?;
        self.output.write_all(&end)?;
        self.output.write_all(b"\n")?;
        report.bytes = self.output.bytes();
        self.output.finish()
    }
}

/// A file that was interrupted.
struct Begun {
    /// The length of what is kept: all before the last product.
    length: u64,
    /// What it says.
    tally: Tally,
    /// The last product, whose reviews may not be complete.
    product: ProductId,
}

/// Reads a file that was interrupted. Returns `None` if there is none, or not even a product in it.
///
/// # Errors
/// [`ExportError::OtherExport`] if it is of an export with another header.
fn begun(path: &Path, header: &[u8]) -> Result<Option<Begun>, ExportError> {
    let part = part_of(path);
    let file = match File::open(&part) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ExportError::Write(error)),
    };
    let mut lines = BufReader::with_capacity(128 * 1024, file);
    let (mut line, mut length) = (Vec::new(), 0);
    let (mut tally, mut last) = (Tally::default(), None);
    // The reference data since the last product, as it was before.
    let mut undo = Vec::new();
    while read_line(&mut lines, &mut line).map_err(ExportError::Write)? {
        let start = length;
        length += line.len() as u64 + 1;
        if start == 0 {
            if line != header {
                return Err(ExportError::OtherExport(part));
            }
            continue;
        }
        // Anything else is the end, or damage; the file is continued before it.
        let Ok(record) = serde_json::from_slice::<Record>(&line) else {
            break;
        };
        if let Record::Product(product) = &record {
            let Ok(id) = product_id("id", &product.id) else {
                break;
            };
            last = Some((start, tally.counts, tally.digest, id));
            undo.clear();
        }
        if let Some(key) = record.reference_key() {
            let before = tally.reference.get(&key).copied();
            undo.push((key, before));
        }
        tally.add(&record, &line);
    }
    Ok(last.map(|(length, counts, digest, product)| {
        for (key, before) in undo.into_iter().rev() {
            match before {
                Some(before) => tally.reference.insert(key, before),
                None => tally.reference.remove(&key),
            };
        }
        let tally = Tally {
            counts,
            digest,
            ..tally
        };
        Begun {
            length,
            tally,
            product,
        }
    }))
}

/// Reads a line that ends with a line break; false at the end, and at a line that was cut off.
fn read_line(lines: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    lines.read_until(b'\n', line)?;
    Ok(line.pop_if(|last| *last == b'\n').is_some())
}
