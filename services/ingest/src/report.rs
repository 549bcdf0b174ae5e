//! The report of an import, for people as text and for programs as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use vitrine_domain::import::Namesake;
use vitrine_model::import::{LineOutcome, ProductDraft, Rejection};
use vitrine_model::spec::SpecKey;

use crate::draft::Repeats;
use crate::mapping::{Unmatched, shortened};
use crate::rejects::RejectsFile;

mod suppliers;
mod table;

pub(crate) use suppliers::Suppliers;
pub use suppliers::{Identity, SaidFacts, SupplierConflict};
pub(crate) use table::write_unmatched;

/// The maximum number of distinct reasons; further ones are counted together.
const MAX_REASONS: usize = 500;
const OTHER_REASONS: &str = "(other reasons)";

/// The numbers of lines by outcome. `created + updated + unchanged + waiting + rejected + skipped +
/// gathered + blank` is `lines`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All lines; for CSV all records, without the header.
    pub lines: u64,
    /// Lines that created a product or review.
    pub created: u64,
    /// Lines that changed an existing one.
    pub updated: u64,
    /// Lines that changed nothing.
    pub unchanged: u64,
    /// Lines that are stored and wait for a line that creates their product.
    pub waiting: u64,
    /// Lines that were rejected.
    pub rejected: u64,
    /// Lines for which the mapping has nothing: no `where` holds, or a list is empty.
    pub skipped: u64,
    /// Lines that are a part of the row of a line before them.
    pub gathered: u64,
    /// Blank lines.
    pub blank: u64,
    /// Values that were dropped, including those of rejected lines.
    pub dropped_values: u64,
    /// Values that were dropped and are only counted, as the mapping specifies.
    pub ignored_values: u64,
}

impl Counts {
    /// The number of outcomes of lines, which is that of lines.
    #[must_use]
    pub const fn outcomes(&self) -> u64 {
        let stored = self.created + self.updated + self.unchanged + self.waiting;
        stored + self.rejected + self.skipped + self.gathered + self.blank
    }
}

/// The numbers of products derived from reviews, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// Products created.
    pub created: u64,
    /// Products that already existed.
    pub unchanged: u64,
    /// Products rejected; their reviews are rejected as well.
    pub rejected: u64,
}

/// The numbers of products or reviews by outcome, where a line may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordCounts {
    /// Created.
    pub created: u64,
    /// Changed.
    pub updated: u64,
    /// As they were.
    pub unchanged: u64,
    /// Stored until a line creates the product.
    pub waiting: u64,
    /// Rejected.
    pub rejected: u64,
}

/// The products and reviews of a feed whose lines may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    /// The products.
    pub products: RecordCounts,
    /// The reviews.
    pub reviews: RecordCounts,
}

/// The new spec keys, categories and suppliers; in a dry run, those that would be created.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NewEntries {
    /// Spec keys with their types and units.
    pub spec_keys: Vec<SpecKey>,
    /// Categories, each as the names from the root down.
    pub categories: Vec<Vec<String>>,
    /// Suppliers.
    pub suppliers: Vec<String>,
    /// Those of them that have the name of others that were there before.
    pub namesakes: Vec<Namesake>,
}

/// A value of a spec key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecExample {
    /// The value as text for people, shortened.
    pub value: String,
    /// The file that it is in.
    pub file: Arc<str>,
    /// Its line.
    pub line: u64,
}

/// The maximum number of spec keys of which values are kept.
const MAX_EXAMPLE_KEYS: usize = 5000;
/// The maximum number of values that are kept of each spec key.
const MAX_EXAMPLES: usize = 3;

/// The report of an import.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Whether it was a dry run, which writes nothing.
    pub dry_run: bool,
    /// The source system of the feed.
    pub system: String,
    /// The notice to show with the data, as required by the publisher of the feed.
    pub notice: Option<String>,
    /// How each file was read: its format, its encoding, and what it was packed in.
    pub read_as: BTreeMap<String, String>,
    /// The numbers of lines by outcome.
    pub counts: Counts,
    /// The numbers of products derived from reviews.
    pub products_derived: Option<Derived>,
    /// The numbers of products and reviews, if a line may have several.
    pub records: Option<Records>,
    /// The new spec keys, categories and suppliers.
    pub new: NewEntries,
    /// The number of fields that people have edited, and of which the feed says something else. They
    /// were left as they are.
    pub kept_by_people: u64,
    /// The numbers of rejected lines by field and reason, with values removed from the reason.
    pub rejected_for: BTreeMap<String, u64>,
    /// The numbers of dropped values by field and reason.
    pub dropped_for: BTreeMap<String, u64>,
    /// The numbers of values that are only counted, by field and reason.
    pub ignored_for: BTreeMap<String, u64>,
    /// The ids that repeat in a file, by file.
    pub repeats: BTreeMap<String, Repeats>,
    /// The suppliers of which lines say different things.
    pub supplier_conflicts: Vec<SupplierConflict>,
    /// The skus of waiting lines that differ from those of products in zeros at their beginning only, with the latter.
    pub padded_skus: BTreeMap<String, String>,
    /// The spec keys that several names of the feed make, with these names.
    pub shared_keys: BTreeMap<String, Vec<String>>,
    /// The paths of the mapping that no row has.
    pub unmatched: Vec<Unmatched>,
    /// The numbers of rows without a matching row, by join.
    pub unpaired: Vec<(String, u64)>,
    /// Files that could not be read to their end, with the reason.
    pub broken_files: BTreeMap<String, String>,
    /// In a dry run, up to three different values of each spec key.
    pub spec_values: BTreeMap<String, Vec<SpecExample>>,
    /// The rejects file.
    pub rejects: RejectsFile,
    /// The duration.
    #[serde(serialize_with = "seconds", rename = "elapsed_seconds")]
    pub elapsed: Duration,
}

impl Report {
    /// Counts a blank line.
    pub fn blank(&mut self) {
        self.counts.lines += 1;
        self.counts.blank += 1;
    }

    /// Counts a line that is a part of the row of a line before it.
    pub fn gathered(&mut self) {
        self.counts.lines += 1;
        self.counts.gathered += 1;
    }

    /// Counts a line for which the mapping has nothing.
    pub fn skipped(&mut self) {
        self.counts.lines += 1;
        self.counts.skipped += 1;
    }

    /// Counts values that are only counted.
    pub fn ignored(&mut self, ignored: &[Rejection]) {
        self.counts.ignored_values += ignored.len() as u64;
        count(&mut self.ignored_for, ignored);
    }

    /// Counts the reasons of records that are rejected, although their line is not.
    pub fn record_reasons(&mut self, rejected: &[Rejection]) {
        count(&mut self.rejected_for, rejected);
    }

    /// Keeps values of the specs of a product in this line, until each key has three.
    pub fn spec_values(&mut self, product: &ProductDraft, file: &Arc<str>, line: u64) {
        for spec in &product.specs {
            let room = self.spec_values.len() < MAX_EXAMPLE_KEYS;
            if !room && !self.spec_values.contains_key(&spec.key) {
                continue;
            }
            let known = self.spec_values.entry(spec.key.clone()).or_default();
            if known.len() == MAX_EXAMPLES {
                continue;
            }
            let value = shortened(&spec.value.display());
            if known.iter().all(|one| one.value != value) {
                let file = Arc::clone(file);
                known.push(SpecExample { value, file, line });
            }
        }
    }

    /// Counts the products and reviews of a line, if a line may have several.
    pub fn count_records(&mut self, products: &[LineOutcome], reviews: &[LineOutcome]) {
        if let Some(records) = &mut self.records {
            for outcome in products {
                records.products.add(outcome);
            }
            for outcome in reviews {
                records.reviews.add(outcome);
            }
        }
    }

    /// Counts values that were dropped.
    pub fn dropped(&mut self, dropped: &[Rejection]) {
        self.counts.dropped_values += dropped.len() as u64;
        count(&mut self.dropped_for, dropped);
    }

    /// Counts a line that was stored or rejected.
    pub fn line(&mut self, outcome: &LineOutcome) {
        self.counts.lines += 1;
        match outcome {
            LineOutcome::Created => self.counts.created += 1,
            LineOutcome::Updated => self.counts.updated += 1,
            LineOutcome::Unchanged => self.counts.unchanged += 1,
            LineOutcome::Waiting => self.counts.waiting += 1,
            LineOutcome::Rejected(reasons) => {
                self.counts.rejected += 1;
                count(&mut self.rejected_for, reasons);
            }
        }
    }

    /// Counts a product derived from a review.
    pub fn derived(&mut self, outcome: &LineOutcome) {
        let derived = self.products_derived.get_or_insert_default();
        match outcome {
            LineOutcome::Created => derived.created += 1,
            LineOutcome::Updated | LineOutcome::Unchanged | LineOutcome::Waiting => {
                derived.unchanged += 1;
            }
            LineOutcome::Rejected(_) => derived.rejected += 1,
        }
    }

    /// Returns true if every file was read to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.broken_files.is_empty()
    }

    /// The reasons, with counts, for rejecting or dropping values of specs, such as another type or
    /// unit than that of the key.
    pub fn conflicts(&self) -> impl Iterator<Item = (&str, u64)> {
        let specs = self.rejected_for.iter().chain(&self.dropped_for);
        specs
            .filter(|(reason, _)| reason.starts_with("specs."))
            .map(|(reason, lines)| (reason.as_str(), *lines))
    }
}

impl RecordCounts {
    fn add(&mut self, outcome: &LineOutcome) {
        *match outcome {
            LineOutcome::Created => &mut self.created,
            LineOutcome::Updated => &mut self.updated,
            LineOutcome::Unchanged => &mut self.unchanged,
            LineOutcome::Waiting => &mut self.waiting,
            LineOutcome::Rejected(_) => &mut self.rejected,
        } += 1;
    }
}

/// The name of an outcome in the rejects file.
#[must_use]
pub fn outcome_name(outcome: &LineOutcome) -> &'static str {
    match outcome {
        LineOutcome::Created => "created",
        LineOutcome::Updated => "updated",
        LineOutcome::Unchanged => "unchanged",
        LineOutcome::Waiting => "waiting",
        LineOutcome::Rejected(_) => "rejected",
    }
}

fn count(reasons: &mut BTreeMap<String, u64>, rejections: &[Rejection]) {
    for rejection in rejections {
        let kind = format!("{}: {}", rejection.field, without_values(&rejection.reason));
        let known = reasons.contains_key(&kind) || reasons.len() < MAX_REASONS;
        let kind = if known {
            kind
        } else {
            OTHER_REASONS.to_owned()
        };
        *reasons.entry(kind).or_default() += 1;
    }
}

/// Replaces quoted text in a reason by `…` and numbers by `#`, so that reasons that differ only in
/// values are counted together.
fn without_values(reason: &str) -> String {
    let mut out = String::with_capacity(reason.len());
    let mut letters = reason.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                skip_quoted(&mut letters);
                out.push('…');
            }
            '0'..='9' => {
                while letters
                    .next_if(|c| c.is_ascii_digit() || *c == '.')
                    .is_some()
                {}
                out.push('#');
            }
            letter => out.push(letter),
        }
    }
    out
}

fn skip_quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return,
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
}

fn seconds<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_secs_f64())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table::write(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_without_their_values() {
        assert_eq!(
            without_values("\"12\\\"x\" is not a number"),
            "… is not a number"
        );
        assert_eq!(without_values("18000.5 is above 6000"), "# is above #");
        let mut report = Report::default();
        for value in 0..3 {
            let rejected =
                LineOutcome::Rejected(vec![Rejection::new("a", format!("{value} is bad"))]);
            report.line(&rejected);
            report.dropped(&[Rejection::new("b", "is gone")]);
        }
        assert_eq!(report.rejected_for["a: # is bad"], 3);
        assert_eq!(report.dropped_for["b: is gone"], 3);
        assert_eq!((report.counts.lines, report.counts.dropped_values), (3, 3));
    }

    #[test]
    fn names_that_are_easily_confused_are_told() {
        let mut report = Report::default();
        report.padded_skus.insert("7".to_owned(), "07".to_owned());
        let names = vec!["Größe".to_owned(), "grosse".to_owned()];
        report.shared_keys.insert("grosse".to_owned(), names);
        let text = report.to_string();
        for told in ["    7: the product has 07\n", "    grosse: Größe, grosse\n"] {
            assert!(text.contains(told), "{text}");
        }
    }

    #[test]
    fn every_line_has_one_outcome() {
        let mut report = Report::default();
        report.blank();
        report.skipped();
        report.gathered();
        for outcome in [
            LineOutcome::Waiting,
            LineOutcome::Updated,
            LineOutcome::Rejected(Vec::new()),
        ] {
            report.line(&outcome);
        }
        assert_eq!((report.counts.outcomes(), report.counts.lines), (6, 6));
    }

    #[test]
    fn kinds_of_reasons_are_limited() {
        let mut report = Report::default();
        for field in 0..2 * MAX_REASONS {
            let rejected = vec![Rejection::new(format!("f{field}"), "is bad")];
            report.line(&LineOutcome::Rejected(rejected));
        }
        assert_eq!(report.rejected_for.len(), MAX_REASONS + 1);
        assert_eq!(
            report.rejected_for.values().sum::<u64>(),
            2 * MAX_REASONS as u64
        );
    }

    #[test]
    fn the_report_is_a_table_for_people_and_json_for_programs() {
        let mut report = Report {
            system: "shop".to_owned(),
            elapsed: Duration::from_millis(2500),
            ..Report::default()
        };
        report.blank();
        report.line(&LineOutcome::Created);
        report.line(&LineOutcome::Rejected(vec![Rejection::new(
            "name",
            "is missing",
        )]));
        let text = report.to_string();
        assert!(text.contains("  lines                     3\n"), "{text}");
        assert!(text.contains("1  name: is missing"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["counts"]["created"], 1);
        assert_eq!(json["elapsed_seconds"], 2.5);
    }
}
