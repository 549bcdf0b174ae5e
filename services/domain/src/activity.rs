//! Views, carts and purchases.
//!
//! Views and carts are counted in memory and flushed once a second, so that recording them needs no
//! command. A batch may have an idempotency key, which the receiving process remembers for ten
//! minutes. The counts are estimates: a killed process loses its last second, and an overloaded one
//! samples.
//!
//! Of a caller who is not trusted, a process counts one view and one cart of a product in an hour: otherwise anybody could
//! rank any product.

mod repeats;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use vitrine_model::activity::{
    ActivityKind, ActivityTally, DAY_MILLIS, DAYS_KEPT_DAYS, HOUR_MILLIS, HOURS_KEPT_DAYS,
    InvalidEventTime, MAX_EXACT_KEYS, day, event_time, hour,
};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{ProductId, random_bytes};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::activity::ActivityBatch;

pub use vitrine_storage::activity::{Bucket, Resolution};

use self::repeats::Repeats;
use crate::{Catalog, DomainError};

/// The maximum number of events in one batch.
pub const MAX_EVENTS: usize = 500;
/// The maximum number of hours in a range.
pub const MAX_HOURS: i64 = 7 * 24;
/// The maximum number of days in a range.
pub const MAX_DAYS: i64 = 400;

/// How long the key of a batch is remembered.
const KEY_REMEMBERED_FOR: Duration = Duration::from_mins(10);
/// The maximum number of remembered keys.
const MAX_KEYS: u64 = 100_000;
/// How long a product is assumed to be on sale.
const KNOWN_FOR: Duration = Duration::from_mins(10);
/// The maximum number of products remembered as on sale.
const MAX_KNOWN: u64 = 200_000;
/// The maximum number of batches waiting for the database; later counts stay in the tally.
const MAX_WAITING: usize = 30;
/// The number of flushed batches aggregated per run.
const BATCHES_PER_RUN: u32 = 20;
/// The number of sales aggregated per run.
const SALES_PER_RUN: u32 = 500;

/// An event around a product.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The product.
    pub product: ProductId,
    /// The kind of event.
    pub kind: ActivityKind,
    /// When it happened; now if absent.
    pub at: Option<Timestamp>,
}

/// Who records activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorder {
    /// What tells callers apart: the subject of a token, or the network of an address.
    pub name: String,
    /// Whether all events count: a service reports what many people do.
    pub is_trusted: bool,
}

impl Recorder {
    /// Returns a part of the service.
    #[must_use]
    pub fn trusted(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_trusted: true,
        }
    }
}

/// Why an event was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredReason {
    /// The product does not exist or is not on sale.
    Unknown,
    /// It is more than a day old.
    TooOld,
    /// It is more than five minutes in the future.
    Ahead,
    /// The caller has recorded such an event of the product in this hour.
    AlreadyCounted,
}

/// The result of recording a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedActivity {
    /// The number of counted events; zero for a repeated batch.
    pub counted: usize,
    /// Whether the same batch was recorded before.
    pub repeated: bool,
    /// Whether the key was used for other events; nothing was counted.
    pub conflict: bool,
    /// The events that were not counted, by their index in the batch.
    pub ignored: Vec<(usize, IgnoredReason)>,
}

/// What this process has counted and not yet flushed.
#[derive(Debug)]
pub(crate) struct ActivityBuffer {
    tally: Mutex<ActivityTally>,
    waiting: Mutex<VecDeque<ActivityBatch>>,
    /// Products known to be on sale.
    known: Cache<ProductId, ()>,
    /// Keys of recorded batches, with the fingerprints of their events.
    keys: Cache<String, u64>,
    /// What callers who are not trusted have recorded in this hour.
    repeats: Repeats,
    full: tokio::sync::Notify,
    /// Only one flush at a time, so that no batch is inserted twice.
    flush: tokio::sync::Mutex<()>,
}

impl Default for ActivityBuffer {
    fn default() -> Self {
        let seed = u64::from_be_bytes(random_bytes());
        Self {
            tally: Mutex::new(ActivityTally::new(MAX_EXACT_KEYS, seed)),
            waiting: Mutex::default(),
            known: cache(MAX_KNOWN, KNOWN_FOR),
            keys: cache(MAX_KEYS, KEY_REMEMBERED_FOR),
            repeats: Repeats::default(),
            full: tokio::sync::Notify::new(),
            flush: tokio::sync::Mutex::default(),
        }
    }
}

impl ActivityBuffer {
    fn tally(&self) -> MutexGuard<'_, ActivityTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<ActivityBatch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the tally into batches, unless too many are waiting; returns whether it did.
    fn tally_to_batches(&self) -> bool {
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING {
            return false;
        }
        let counted = self.tally().take();
        let batches = counted.chunks(MAX_EXACT_KEYS);
        waiting.extend(batches.map(|rows| ActivityBatch::new(rows.to_vec())));
        true
    }
}

impl Catalog {
    /// Counts a batch of events. No command, except one to check products not known to be on sale. A key belongs to the
    /// caller.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an empty or too long batch. When the database fails, nothing
    /// was counted.
    pub async fn record_activity(
        &self,
        events: &[Event],
        key: Option<String>,
        by: &Recorder,
    ) -> Result<RecordedActivity, DomainError> {
        if events.is_empty() || events.len() > MAX_EVENTS {
            let reason = format!("a batch has 1 to {MAX_EVENTS} events, not {}", events.len());
            return Err(DomainError::invalid("events", reason));
        }
        let (activity_buffer, fingerprint) = (self.activity_buffer(), fingerprint_of(events));
        let key = key.map(|key| format!("{} {key}", by.name));
        if let Some(other) = key.as_ref().and_then(|key| activity_buffer.keys.get(key)) {
            return Ok(RecordedActivity::before(other == fingerprint));
        }
        let on_sale = self.on_sale_among(events).await?;
        let now = self.now();
        let (mut counted, mut countable) = (
            RecordedActivity::default(),
            Vec::with_capacity(events.len()),
        );
        for (place, event) in events.iter().enumerate() {
            match counted_at(event, &on_sale, now) {
                Ok(at) => countable.push((place, event, at)),
                Err(ignored) => counted.ignored.push((place, ignored)),
            }
        }
        if countable.is_empty() {
            // A batch without countable events may be repeated.
            return Ok(counted);
        }
        if let Some(key) = key {
            // Of concurrent identical batches, one is counted.
            let first = activity_buffer.keys.entry(key).or_insert(fingerprint);
            if !first.is_fresh() {
                return Ok(RecordedActivity::before(first.into_value() == fingerprint));
            }
        }
        let hour = hour(now).as_millis();
        countable.retain(|(place, event, _)| {
            let of = (event.product, event.kind);
            let counts = by.is_trusted || activity_buffer.repeats.is_first(&by.name, of, hour);
            if !counts {
                let why = IgnoredReason::AlreadyCounted;
                counted.ignored.push((*place, why));
            }
            counts
        });
        counted.ignored.sort_unstable_by_key(|(place, _)| *place);
        counted.counted = countable.len();
        let mut tally = activity_buffer.tally();
        for (_, event, at) in countable {
            tally.add(event.product, at, event.kind);
        }
        if tally.len() >= MAX_EXACT_KEYS {
            activity_buffer.full.notify_one();
        }
        Ok(counted)
    }

    /// The products of these events that are on sale, cached for ten minutes.
    async fn on_sale_among(&self, events: &[Event]) -> Result<HashSet<ProductId>, DomainError> {
        let known = &self.activity_buffer().known;
        let products: HashSet<ProductId> = events.iter().map(|event| event.product).collect();
        let (mut on_sale, unknown): (HashSet<_>, HashSet<_>) = products
            .into_iter()
            .partition(|product| known.contains_key(product));
        if unknown.is_empty() {
            return Ok(on_sale);
        }
        let unknown = Vec::from_iter(unknown);
        let found = self
            .read(|store| async move { store.products_on_sale(&unknown).await })
            .await?;
        for product in &found {
            known.insert(*product, ());
        }
        on_sale.extend(found);
        Ok(on_sale)
    }

    /// Writes the buffered counts to the database. What fails remains buffered for the next call.
    pub async fn flush_activity(&self) -> Result<usize, DomainError> {
        let activity_buffer = self.activity_buffer();
        let _one = activity_buffer.flush.lock().await;
        let (mut moved, mut flushed) = (activity_buffer.tally_to_batches(), 0);
        loop {
            let next = activity_buffer.waiting().front().cloned();
            let Some(batch) = next else {
                if moved {
                    return Ok(flushed);
                }
                // There is room now for what was counted meanwhile.
                moved = activity_buffer.tally_to_batches();
                continue;
            };
            flushed += batch.len();
            let now = self.now();
            self.maintain(|store| async move { store.insert_activity_batch(&batch, now).await })
                .await?;
            activity_buffer.waiting().pop_front();
        }
    }

    /// Waits until the buffer is full enough to flush at once.
    pub async fn wait_for_full_activity_buffer(&self) {
        self.activity_buffer().full.notified().await;
    }

    /// The number of products and hours buffered in this process.
    #[must_use]
    pub fn buffered_activity(&self) -> usize {
        let activity_buffer = self.activity_buffer();
        let waiting: usize = activity_buffer
            .waiting()
            .iter()
            .map(ActivityBatch::len)
            .sum();
        waiting + activity_buffer.tally().len()
    }

    /// Aggregates some flushed batches and sales into buckets.
    ///
    /// # Errors
    /// Fails when the database fails; the next call continues.
    pub async fn fill_buckets(&self) -> Result<WorkerRun, DomainError> {
        let now = self.now();
        let filled = self
            .maintain(|store| async move {
                store
                    .fill_buckets(now, BATCHES_PER_RUN, SALES_PER_RUN)
                    .await
            })
            .await;
        let filled = filled.inspect_err(|_| self.busy().note_any())?;
        self.busy().note(filled.products);
        let left = if filled.more {
            self.maintain(|store| async move { store.count_unbucketed().await })
                .await?
        } else {
            0
        };
        Ok(WorkerRun {
            done: u64::try_from(filled.batches + filled.sales).unwrap_or(u64::MAX),
            backlog: left,
            ..WorkerRun::default()
        })
    }

    /// A product's activity from `from` (inclusive) to `to` (exclusive), one bucket for every hour
    /// or day, including empty ones; and whether sales are still to be aggregated. Two commands.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an empty or too long range.
    pub async fn activity(
        &self,
        product: ProductId,
        (from, to): (Timestamp, Timestamp),
        resolution: Resolution,
    ) -> Result<(Vec<Bucket>, bool), DomainError> {
        let (from, to, step) = range((from, to), resolution, self.now())?;
        let found = self
            .read(|store| async move {
                // Read first: sales aggregated meanwhile are then in the buckets.
                let waiting = store.has_uncounted_sales(product).await?;
                let buckets = store.buckets(product, (from, to), resolution).await?;
                Ok((buckets, waiting))
            })
            .await?;
        let (found, waiting) = found;
        let mut found = found.into_iter().peekable();
        let (mut at, mut buckets) = (from, Vec::new());
        while at < to {
            let bucket = found.next_if(|bucket| bucket.at == at);
            buckets.push(bucket.unwrap_or(Bucket {
                at,
                counted: vitrine_model::activity::SampledCounts {
                    counts: vitrine_model::activity::ActivityCounts::default(),
                    one_in: 1,
                },
            }));
            at = at.plus_millis(step);
        }
        Ok((buckets, waiting))
    }
}

impl RecordedActivity {
    /// The result for a known key, with the same or other events.
    fn before(same: bool) -> Self {
        Self {
            repeated: same,
            conflict: !same,
            ..Self::default()
        }
    }
}

/// A fingerprint of the events of a batch.
fn fingerprint_of(events: &[Event]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in events {
        (event.product, event.kind, event.at).hash(&mut hasher);
    }
    hasher.finish()
}

/// The time at which an event counts, if it does.
fn counted_at(
    event: &Event,
    on_sale: &HashSet<ProductId>,
    now: Timestamp,
) -> Result<Timestamp, IgnoredReason> {
    let at = event_time(event.at, now).map_err(|invalid| match invalid {
        InvalidEventTime::TooOld => IgnoredReason::TooOld,
        InvalidEventTime::Ahead => IgnoredReason::Ahead,
    })?;
    let known = on_sale.contains(&event.product).then_some(at);
    known.ok_or(IgnoredReason::Unknown)
}

/// Extends a range to whole hours or days.
fn range(
    (from, to): (Timestamp, Timestamp),
    resolution: Resolution,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp, i64), DomainError> {
    let (step, max, unit, kept) = match resolution {
        Resolution::Hour => (HOUR_MILLIS, MAX_HOURS, "hours", HOURS_KEPT_DAYS),
        Resolution::Day => (DAY_MILLIS, MAX_DAYS, "days", DAYS_KEPT_DAYS),
    };
    let begin = |at| match resolution {
        Resolution::Hour => hour(at),
        Resolution::Day => day(at),
    };
    let last = begin(to.plus_millis(-1)).plus_millis(step);
    let first = begin(from);
    let length = (last.as_millis() - first.as_millis()) / step;
    if from >= to {
        let reason = "must be before `to`";
        return Err(DomainError::invalid("range.from", reason));
    }
    if length > max {
        let reason = format!("{length} {unit}; {max} are possible at once");
        return Err(DomainError::invalid("range", reason));
    }
    // Buckets expire by their start.
    let oldest = begin(now.plus_millis(-kept * DAY_MILLIS)).plus_millis(step);
    if first < oldest {
        let reason = format!("{unit} are kept for {kept} days: from {oldest} on");
        return Err(DomainError::invalid("range.from", reason));
    }
    Ok((first, last, step))
}

fn cache<K, V>(max: u64, time: Duration) -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder()
        .max_capacity(max)
        .time_to_live(time)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn ranges_are_whole_hours_and_days() {
        let (from, to) = (at("2026-05-30T10:30:00Z"), at("2026-05-30T12:00:00Z"));
        let now = to;
        let (first, last, step) = range((from, to), Resolution::Hour, now).unwrap();
        assert_eq!(
            (first, last, step),
            (at("2026-05-30T10:00:00Z"), to, HOUR_MILLIS)
        );
        let (first, last, _) = range((from, to), Resolution::Day, now).unwrap();
        assert_eq!(
            (first, last),
            (at("2026-05-30T00:00:00Z"), at("2026-05-31T00:00:00Z"))
        );
        assert!(range((to, to), Resolution::Day, now).is_err());
        let week = from.plus_millis(7 * DAY_MILLIS);
        assert!(range((hour(from), hour(week)), Resolution::Hour, now).is_ok());
        let touched = range((from, week), Resolution::Hour, now);
        assert!(touched.is_err(), "touches 169");
        let long = from.plus_millis(401 * DAY_MILLIS);
        assert!(range((from, long), Resolution::Day, now).is_err());
    }

    #[test]
    fn expired_buckets_cannot_be_requested() {
        let now = at("2026-05-30T12:34:00Z");
        for (resolution, kept) in [
            (Resolution::Hour, HOURS_KEPT_DAYS),
            (Resolution::Day, DAYS_KEPT_DAYS),
        ] {
            let gone = now.plus_millis(-kept * DAY_MILLIS);
            let of = |from: Timestamp| range((from, from.plus_millis(1)), resolution, now);
            let refused = of(gone).unwrap_err().to_string();
            assert!(refused.starts_with("range.from: "), "{refused}");
            let step = match resolution {
                Resolution::Hour => HOUR_MILLIS,
                Resolution::Day => DAY_MILLIS,
            };
            assert!(of(gone.plus_millis(step)).is_ok());
        }
    }
}
