//! What became of the lines of an import, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use vitrine_model::import::{LineOutcome, Rejection};
use vitrine_model::spec::SpecKey;

use crate::rejects::RejectsFile;

mod table;

/// More kinds of reasons than this are counted together.
const MAX_REASONS: usize = 500;
const OTHER_REASONS: &str = "(other reasons)";

/// How many lines ended how. `created + updated + unchanged + rejected + blank` is `lines`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All lines; of CSV all records, the header not counted.
    pub lines: u64,
    /// Lines that made something new.
    pub created: u64,
    /// Lines that changed something.
    pub updated: u64,
    /// Lines that said what was known.
    pub unchanged: u64,
    /// Lines that were refused.
    pub rejected: u64,
    /// Lines with nothing in them.
    pub blank: u64,
    /// Values that were left out of lines that were not refused, or before they were.
    pub dropped_values: u64,
}

/// What became of products that were derived from reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// Products made.
    pub created: u64,
    /// Products that were there.
    pub unchanged: u64,
    /// Products refused; the reviews of theirs are refused too.
    pub rejected: u64,
}

/// What is new in the catalogue; in a dry run, what would be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct News {
    /// Spec keys, with the types and units learnt.
    pub spec_keys: Vec<SpecKey>,
    /// Categories, each with the names from the top down.
    pub categories: Vec<Vec<String>>,
    /// Suppliers.
    pub suppliers: Vec<String>,
}

/// What became of an import.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The system that the feed is from.
    pub system: String,
    /// What the publisher of the feed wants said wherever the data is shown.
    pub notice: Option<String>,
    /// How many lines ended how.
    pub counts: Counts,
    /// Products derived from reviews.
    pub products_derived: Option<Derived>,
    /// What is new.
    pub new: News,
    /// Why lines were refused: field, and the reason without the values in it.
    pub rejected_for: BTreeMap<String, u64>,
    /// Why values were left out.
    pub dropped_for: BTreeMap<String, u64>,
    /// Files that could not be read to their ends, and why.
    pub broken_files: BTreeMap<String, String>,
    /// The rejects file.
    pub rejects: RejectsFile,
    /// How long it took.
    #[serde(serialize_with = "seconds", rename = "elapsed_seconds")]
    pub elapsed: Duration,
}

impl Report {
    /// Counts a line without anything in it.
    pub fn blank(&mut self) {
        self.counts.lines += 1;
        self.counts.blank += 1;
    }

    /// Counts a line that was stored or refused, and what was left out of it.
    pub fn line(&mut self, outcome: &LineOutcome, dropped: &[Rejection]) {
        self.counts.lines += 1;
        match outcome {
            LineOutcome::Created => self.counts.created += 1,
            LineOutcome::Updated => self.counts.updated += 1,
            LineOutcome::Unchanged => self.counts.unchanged += 1,
            LineOutcome::Rejected(reasons) => {
                self.counts.rejected += 1;
                count(&mut self.rejected_for, reasons);
            }
        }
        self.counts.dropped_values += dropped.len() as u64;
        count(&mut self.dropped_for, dropped);
    }

    /// Counts a product derived from a review.
    pub fn derived(&mut self, outcome: &LineOutcome) {
        let derived = self.products_derived.get_or_insert_default();
        match outcome {
            LineOutcome::Created => derived.created += 1,
            LineOutcome::Updated | LineOutcome::Unchanged => derived.unchanged += 1,
            LineOutcome::Rejected(_) => derived.rejected += 1,
        }
    }

    /// Whether every file was read to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.broken_files.is_empty()
    }

    /// Spec keys whose values were refused because they are of another type or unit than the key.
    pub fn conflicts(&self) -> impl Iterator<Item = (&str, u64)> {
        let specs = self.rejected_for.iter().chain(&self.dropped_for);
        specs
            .filter(|(reason, _)| reason.starts_with("specs."))
            .map(|(reason, lines)| (reason.as_str(), *lines))
    }
}

/// The word for an outcome in the rejects file.
#[must_use]
pub fn outcome_name(outcome: &LineOutcome) -> &'static str {
    match outcome {
        LineOutcome::Created => "created",
        LineOutcome::Updated => "updated",
        LineOutcome::Unchanged => "unchanged",
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

/// A reason without what is in quotation marks, and with `#` for numbers: reasons that differ only
/// in the values are counted together.
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
        assert_eq!(without_values("\"12\\\"x\" is no number"), "… is no number");
        assert_eq!(without_values("18000.5 is above 6000"), "# is above #");
        let mut report = Report::default();
        for value in 0..3 {
            let rejected =
                LineOutcome::Rejected(vec![Rejection::new("a", format!("{value} is bad"))]);
            report.line(&rejected, &[Rejection::new("b", "is gone")]);
        }
        assert_eq!(report.rejected_for["a: # is bad"], 3);
        assert_eq!(report.dropped_for["b: is gone"], 3);
        assert_eq!((report.counts.lines, report.counts.dropped_values), (3, 3));
    }

    #[test]
    fn kinds_of_reasons_are_limited() {
        let mut report = Report::default();
        for field in 0..2 * MAX_REASONS {
            let rejected = vec![Rejection::new(format!("f{field}"), "is bad")];
            report.line(&LineOutcome::Rejected(rejected), &[]);
        }
        assert_eq!(report.rejected_for.len(), MAX_REASONS + 1);
        assert_eq!(
            report.rejected_for.values().sum::<u64>(),
            2 * MAX_REASONS as u64
        );
    }

    #[test]
    fn people_read_a_table() {
        let mut report = Report {
            system: "shop".to_owned(),
            elapsed: Duration::from_millis(2500),
            ..Report::default()
        };
        report.blank();
        report.line(&LineOutcome::Created, &[]);
        report.line(
            &LineOutcome::Rejected(vec![Rejection::new("name", "is missing")]),
            &[],
        );
        let text = report.to_string();
        assert!(text.contains("  lines                     3\n"), "{text}");
        assert!(text.contains("1  name: is missing"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["counts"]["created"], 1);
        assert_eq!(json["elapsed_seconds"], 2.5);
    }
}
