//! What an export has written, and what an import has read, as text.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use vitrine_model::import::LineOutcome;

use crate::google::Remarks;
use crate::record::Counts;

/// What an export has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// The number of records.
    pub counts: Counts,
    /// The digest of the records; of JSON Lines only.
    pub digest: Option<String>,
    /// The size of all files in bytes.
    pub bytes: u64,
    /// Whether a file that was interrupted was continued.
    pub continued: bool,
    /// The number of bundles that are left out because the filter excludes some of their items.
    pub incomplete_bundles: u64,
    /// What was left out of a feed, and what is doubtful in it.
    pub remarks: Remarks,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.continued {
            writeln!(f, "continued where it was interrupted")?;
        }
        write_counts(f, &self.counts)?;
        if self.incomplete_bundles > 0 {
            let bundles = self.incomplete_bundles;
            writeln!(
                f,
                "{bundles:>12} bundles are left out, because the filter excludes some of their items"
            )?;
        }
        for (remark, count) in &self.remarks.0 {
            writeln!(f, "{count:>12} {remark}")?;
        }
        match &self.digest {
            Some(digest) => writeln!(f, "digest {digest}"),
            None => Ok(()),
        }
    }
}

fn write_counts(f: &mut fmt::Formatter<'_>, counts: &Counts) -> fmt::Result {
    for (kind, count) in counts.each() {
        writeln!(f, "{count:>12} {}", kind.replace('_', " "))?;
    }
    Ok(())
}

/// The outcomes of the records of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Stored.
    pub created: u64,
    /// Replaced by a later record.
    pub updated: u64,
    /// There already.
    pub unchanged: u64,
    /// Rejected.
    pub rejected: u64,
}

/// What an import of an export has read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The outcomes by kind, in the order in which they were first met.
    pub outcomes: Vec<(&'static str, Outcomes)>,
    /// The digest of the records in the file.
    pub digest: String,
    /// What is wrong with the file as a whole, by file.
    pub broken: BTreeMap<String, String>,
    /// The file of rejected lines, if there are any.
    pub rejects: Option<PathBuf>,
}

impl ImportReport {
    /// Whether all files were read to their ends, with what they should have.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.broken.is_empty()
    }

    /// The number of rejected records.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.outcomes.iter().map(|(_, of)| of.rejected).sum()
    }

    /// The outcomes of a kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> Outcomes {
        let found = self.outcomes.iter().find(|(name, _)| *name == kind);
        found.map_or_else(Outcomes::default, |(_, outcomes)| *outcomes)
    }

    pub(crate) fn count(&mut self, kind: &'static str, outcome: &LineOutcome) {
        let known = self.outcomes.iter().position(|(name, _)| *name == kind);
        let at = known.unwrap_or_else(|| {
            self.outcomes.push((kind, Outcomes::default()));
            self.outcomes.len() - 1
        });
        let of = &mut self.outcomes[at].1;
        *match outcome {
            // Nothing of an export waits for a product.
            LineOutcome::Created | LineOutcome::Waiting => &mut of.created,
            LineOutcome::Updated => &mut of.updated,
            LineOutcome::Unchanged => &mut of.unchanged,
            LineOutcome::Rejected(_) => &mut of.rejected,
        } += 1;
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            writeln!(
                f,
                "dry run: nothing was written, and nothing compared with the database"
            )?;
        }
        for (kind, of) in &self.outcomes {
            let stored = if self.dry_run { "read" } else { "created" };
            write!(f, "{:>12} {kind} {stored}", of.created)?;
            for (count, word) in [
                (of.updated, "updated"),
                (of.unchanged, "unchanged"),
                (of.rejected, "rejected"),
            ] {
                if count > 0 {
                    write!(f, ", {count} {word}")?;
                }
            }
            writeln!(f)?;
        }
        for (file, reason) in &self.broken {
            writeln!(f, "{file}: {reason}")?;
        }
        if let Some(rejects) = &self.rejects {
            writeln!(f, "rejected lines are in {}", rejects.display())?;
        }
        writeln!(f, "digest {}", self.digest)
    }
}
