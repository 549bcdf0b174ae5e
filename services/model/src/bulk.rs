//! Bulk changes: one change of all products that match a filter, made by a background worker.

use strum::EnumCount;

use crate::clock::Timestamp;
use crate::id::{BulkChangeId, ProductId};
use crate::import_run::StopRequest;

/// The maximum number of products of a bulk change.
pub const MAX_BULK_PRODUCTS: u64 = 100_000;
/// For how long bulk changes and their results are kept, in milliseconds: 90 days.
pub const BULK_KEPT_MILLIS: i64 = 90 * 24 * 60 * 60 * 1000;

/// The state of a bulk change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount)]
pub enum BulkState {
    /// The matching products are being collected.
    Collecting,
    /// Products are being changed.
    Running,
    /// Every product has an outcome.
    Done,
    /// It was stopped.
    Stopped,
}

impl BulkState {
    /// All states.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Collecting, Self::Running, Self::Done, Self::Stopped];

    /// The name under which the state is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collecting => "collecting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The outcome of a product of a bulk change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount)]
pub enum BulkOutcome {
    /// Its turn has not come yet.
    Waiting,
    /// It was changed; in a dry run, it would be.
    Changed,
    /// It was as wanted already.
    Unchanged,
    /// The change is not valid for it.
    Refused,
    /// It no longer matched the filter.
    Skipped,
}

impl BulkOutcome {
    /// All outcomes.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Waiting,
        Self::Changed,
        Self::Unchanged,
        Self::Refused,
        Self::Skipped,
    ];

    /// The name under which the outcome is stored, and the number of such products.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
        }
    }

    /// The outcome with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// The numbers of products of a bulk change by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkCounts {
    /// Products whose turn has not come yet.
    pub waiting: u64,
    /// Products that were changed.
    pub changed: u64,
    /// Products that were as wanted already.
    pub unchanged: u64,
    /// Products for which the change is not valid.
    pub refused: u64,
    /// Products that no longer matched.
    pub skipped: u64,
}

/// A bulk change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkChange {
    /// Its id.
    pub id: BulkChangeId,
    /// The subject of the admin's token.
    pub by: String,
    /// Whether products are left as they are.
    pub dry_run: bool,
    /// Its state.
    pub state: BulkState,
    /// The numbers of its products.
    pub counts: BulkCounts,
    /// When it was requested.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The request to stop it.
    pub stop: Option<StopRequest>,
}

/// A product of a bulk change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkItem {
    /// The product.
    pub product: ProductId,
    /// Its outcome.
    pub outcome: BulkOutcome,
    /// Why it was refused.
    pub message: Option<String>,
}
