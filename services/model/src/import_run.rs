//! Runs of imports as they are recorded: what an admin sees of them while they run and afterwards.

use crate::clock::Timestamp;
use crate::id::{ImportId, UploadId};
use crate::import::Rejection;

/// A run without a heartbeat for this long was cut off, in milliseconds.
pub const CUT_OFF_AFTER: i64 = 30_000;
/// The maximum number of rejects of a run that are kept.
pub const MAX_KEPT_REJECTS: u64 = 10_000;
/// The maximum length of the texts of a run, in characters.
pub const MAX_RUN_TEXT: usize = 500;
/// The maximum length of the report of a run, in characters.
pub const MAX_RUN_REPORT: usize = 100_000;
/// The maximum length of a mapping that is sent with a request, in characters.
pub const MAX_MAPPING_TEXT: usize = 200_000;
/// How often a run is started whose process dies.
pub const MAX_RUN_ATTEMPTS: i64 = 5;
/// How long a run that was started by a mutation is kept, in days.
pub const RUN_KEPT_DAYS: u16 = 90;
/// The maximum number of files of a run that are named.
pub const MAX_RUN_FEEDS: usize = 20;

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportPhase {
    /// It waits for the worker.
    Queued,
    /// Lines are read and stored.
    Reading,
    /// All lines are stored, and what depends on them is computed.
    Finishing,
    /// It is complete.
    Done,
    /// It ended, but some file could not be read to its end.
    Incomplete,
    /// It ended with an error.
    Failed,
    /// It was stopped.
    Stopped,
}

impl ImportPhase {
    /// All phases.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Reading,
        Self::Finishing,
        Self::Done,
        Self::Incomplete,
        Self::Failed,
        Self::Stopped,
    ];

    /// The name under which the phase is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Reading => "reading",
            Self::Finishing => "finishing",
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The phase with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Whether the run goes on.
    #[must_use]
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Reading | Self::Finishing)
    }
}

/// The numbers of lines of a run by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// All lines.
    pub lines: u64,
    /// Lines that created something.
    pub created: u64,
    /// Lines that changed something.
    pub updated: u64,
    /// Lines that changed nothing.
    pub unchanged: u64,
    /// Lines that wait for their product.
    pub waiting: u64,
    /// Lines that were rejected.
    pub rejected: u64,
    /// Lines for which the mapping has nothing, and blank lines.
    pub skipped: u64,
    /// Values that were dropped.
    pub dropped_values: u64,
}

/// What a run is, as recorded at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewImportRun {
    /// The files.
    pub feeds: Vec<String>,
    /// The source system that the mapping names.
    pub system: String,
    /// The process that runs it; empty for none yet.
    pub process: String,
    /// Whether nothing is stored.
    pub dry_run: bool,
}

/// What a run reads that was started by a mutation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSource {
    /// The files, in order.
    pub feeds: Vec<UploadId>,
    /// Files that the mapping names.
    pub tables: Vec<UploadId>,
    /// The mapping, as TOML.
    pub mapping: String,
    /// The subject of the admin who started it.
    pub by: String,
}

/// The progress of a run, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// The lines so far.
    pub counts: RunCounts,
    /// The bytes of the files read so far.
    pub bytes_read: u64,
    /// The size of all files in bytes.
    pub bytes_total: u64,
    /// The number of rejected lines and dropped values so far, each with a reason.
    pub rejects: u64,
}

/// A request to stop a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopRequest {
    /// When.
    pub at: Timestamp,
    /// The subject of the admin's token.
    pub by: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRun {
    /// Its id.
    pub id: ImportId,
    /// What was recorded at its start.
    pub start: NewImportRun,
    /// Its phase.
    pub phase: ImportPhase,
    /// Its progress, in numbers.
    pub progress: RunProgress,
    /// When it began.
    pub started_at: Timestamp,
    /// Its last heartbeat.
    pub seen_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<String>,
    /// The request to stop it.
    pub stop: Option<StopRequest>,
    /// What `vitrine import` prints at its end.
    pub report: Option<String>,
    /// What it reads; `None` for a run of the command line.
    pub source: Option<ImportSource>,
    /// How often it was started. What a process writes about an earlier attempt is ignored.
    pub attempt: i64,
}

impl ImportRun {
    /// Whether its process died: it runs, without a heartbeat for [`CUT_OFF_AFTER`].
    #[must_use]
    pub fn is_cut_off(&self, now: Timestamp) -> bool {
        self.phase.is_running() && self.seen_at.plus_millis(CUT_OFF_AFTER) < now
    }
}

/// A rejected line or a dropped value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReject {
    /// The file.
    pub file: String,
    /// The line in the file.
    pub line: u64,
    /// The outcome of the line.
    pub outcome: String,
    /// The field and the reason.
    pub rejection: Rejection,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_running_import_is_cut_off() {
        let at = Timestamp::from_millis(1_000);
        let run = |phase| ImportRun {
            id: ImportId::from_i64(1),
            start: NewImportRun::default(),
            phase,
            progress: RunProgress::default(),
            started_at: at,
            seen_at: at,
            ended_at: None,
            error: None,
            stop: None,
            report: None,
            source: None,
            attempt: 1,
        };
        for phase in ImportPhase::ALL {
            assert_eq!(ImportPhase::named(phase.name()), Some(phase));
            assert!(!run(phase).is_cut_off(at.plus_millis(CUT_OFF_AFTER)));
            let later = at.plus_millis(CUT_OFF_AFTER + 1);
            assert_eq!(run(phase).is_cut_off(later), phase.is_running());
        }
    }
}
