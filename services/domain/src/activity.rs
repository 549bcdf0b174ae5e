//! Views, carts and purchases.
//!
//! What happens is counted in memory and handed over once a second, so that recording it costs no
//! command. A batch may say by a key that it is the same as another one; for ten minutes the
//! process that took it remembers. Views and carts are estimates all the same: a process that is
//! killed loses the last second, and one that is flooded counts one in so many.

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

use crate::{Catalog, DomainError};

/// The most events of one batch.
pub const MAX_EVENTS: usize = 500;
/// The longest range of hours.
pub const MAX_HOURS: i64 = 7 * 24;
/// The longest range of days.
pub const MAX_DAYS: i64 = 400;

/// For how long a batch is known by its key.
const KEY_KEPT: Duration = Duration::from_mins(10);
/// How many keys are known.
const MAX_KEYS: u64 = 100_000;
/// For how long it is taken for true that a product is on sale.
const KNOWN_FOR: Duration = Duration::from_mins(10);
/// Of how many products it is known.
const MAX_KNOWN: u64 = 200_000;
/// How many handovers may wait while the database does not take them; what is counted meanwhile
/// stays in the tally.
const MAX_WAITING: usize = 30;
/// How many handovers are put into buckets at once: of a few processes within a second.
const HANDOVERS: u32 = 20;
/// How many sales are counted at once.
const SALES: u32 = 500;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Around which product.
    pub product: ProductId,
    /// What.
    pub kind: ActivityKind,
    /// When; now if absent.
    pub at: Option<Timestamp>,
}

/// Why an event was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// There is no such product on sale.
    Unknown,
    /// It lies more than a day back.
    TooOld,
    /// It lies more than five minutes ahead.
    Ahead,
}

/// What became of a batch of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many were counted; nothing of a batch that was counted before.
    pub counted: usize,
    /// Whether the batch was counted before.
    pub repeated: bool,
    /// Whether its key was used for other events; nothing was counted then.
    pub conflict: bool,
    /// Those that were not, by their place in the batch.
    pub ignored: Vec<(usize, Ignored)>,
}

/// What this process has counted and not handed over yet.
#[derive(Debug)]
pub(crate) struct ActivityBuffer {
    tally: Mutex<ActivityTally>,
    waiting: Mutex<VecDeque<ActivityBatch>>,
    /// Products that are on sale.
    known: Cache<ProductId, ()>,
    /// Batches that were counted, with what says which events they had.
    keys: Cache<String, u64>,
    full: tokio::sync::Notify,
    /// One hands over at a time, so that nothing is taken twice.
    handing: tokio::sync::Mutex<()>,
}

impl Default for ActivityBuffer {
    fn default() -> Self {
        let seed = u64::from_be_bytes(random_bytes());
        Self {
            tally: Mutex::new(ActivityTally::new(MAX_EXACT_KEYS, seed)),
            waiting: Mutex::default(),
            known: cache(MAX_KNOWN, KNOWN_FOR),
            keys: cache(MAX_KEYS, KEY_KEPT),
            full: tokio::sync::Notify::new(),
            handing: tokio::sync::Mutex::default(),
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

    /// Makes handovers of what was counted, unless too many wait already; gives whether it did.
    fn clear(&self) -> bool {
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING {
            return false;
        }
        let counted = self.tally().take();
        let handovers = counted.chunks(MAX_EXACT_KEYS);
        waiting.extend(handovers.map(|rows| ActivityBatch::new(rows.to_vec())));
        true
    }
}

impl Catalog {
    /// Counts what happened. No command, except one for products of which this process has not
    /// heard within ten minutes that they are on sale.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a batch that is empty or too long; [`DomainError`] when the
    /// database fails, and nothing was counted.
    pub async fn record_activity(
        &self,
        events: &[Event],
        key: Option<String>,
    ) -> Result<Counted, DomainError> {
        if events.is_empty() || events.len() > MAX_EVENTS {
            let reason = format!("a batch has 1 to {MAX_EVENTS} events, not {}", events.len());
            return Err(DomainError::invalid("events", reason));
        }
        let (activity_buffer, print) = (self.activity_buffer(), fingerprint(events));
        if let Some(other) = key.as_ref().and_then(|key| activity_buffer.keys.get(key)) {
            return Ok(Counted::before(other == print));
        }
        let there = self.on_sale_among(events).await?;
        let now = self.now();
        let (mut counted, mut fitting) = (Counted::default(), Vec::with_capacity(events.len()));
        for (place, event) in events.iter().enumerate() {
            match fit(event, &there, now) {
                Ok(at) => fitting.push((event, at)),
                Err(ignored) => counted.ignored.push((place, ignored)),
            }
        }
        if fitting.is_empty() {
            // A batch of which nothing counts may come again.
            return Ok(counted);
        }
        if let Some(key) = key {
            // Of two that bring the same batch at once, one counts it.
            let first = activity_buffer.keys.entry(key).or_insert(print);
            if !first.is_fresh() {
                return Ok(Counted::before(first.into_value() == print));
            }
        }
        counted.counted = fitting.len();
        let mut tally = activity_buffer.tally();
        for (event, at) in fitting {
            tally.add(event.product, at, event.kind);
        }
        if tally.len() >= MAX_EXACT_KEYS {
            activity_buffer.full.notify_one();
        }
        Ok(counted)
    }

    /// Which products among these events are on sale, as far as was heard within ten minutes.
    async fn on_sale_among(&self, events: &[Event]) -> Result<HashSet<ProductId>, DomainError> {
        let known = &self.activity_buffer().known;
        let asked: HashSet<ProductId> = events.iter().map(|event| event.product).collect();
        let (mut there, unknown): (HashSet<_>, HashSet<_>) = asked
            .into_iter()
            .partition(|product| known.contains_key(product));
        if unknown.is_empty() {
            return Ok(there);
        }
        let unknown = Vec::from_iter(unknown);
        let found = self
            .read(|store| async move { store.products_on_sale(&unknown).await })
            .await?;
        for product in &found {
            known.insert(*product, ());
        }
        there.extend(found);
        Ok(there)
    }

    /// Hands over what was counted. What cannot be handed over stays, and is with the next call.
    pub async fn hand_over_activity(&self) -> Result<usize, DomainError> {
        let activity_buffer = self.activity_buffer();
        let _one = activity_buffer.handing.lock().await;
        let (mut cleared, mut handed) = (activity_buffer.clear(), 0);
        loop {
            let next = activity_buffer.waiting().front().cloned();
            let Some(handover) = next else {
                if cleared {
                    return Ok(handed);
                }
                // There is room now for what was counted meanwhile.
                cleared = activity_buffer.clear();
                continue;
            };
            handed += handover.len();
            let now = self.now();
            self.maintain(|store| async move { store.insert_activity_batch(&handover, now).await })
                .await?;
            activity_buffer.waiting().pop_front();
        }
    }

    /// Waits until so much was counted that it should be handed over at once.
    pub async fn activity_is_much(&self) {
        self.activity_buffer().full.notified().await;
    }

    /// How many products and hours wait in this process to be handed over.
    #[must_use]
    pub fn activity_waiting(&self) -> usize {
        let activity_buffer = self.activity_buffer();
        let waiting: usize = activity_buffer
            .waiting()
            .iter()
            .map(ActivityBatch::len)
            .sum();
        waiting + activity_buffer.tally().len()
    }

    /// Puts some of what processes handed over, and some sales, into buckets.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call goes on.
    pub async fn fill_buckets(&self) -> Result<WorkerRun, DomainError> {
        let now = self.now();
        let filled = self
            .maintain(|store| async move { store.fill_buckets(now, HANDOVERS, SALES).await })
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

    /// What happened around a product from an instant on and before another, every hour or day of
    /// it, also those where nothing did; and whether sales of it wait to be counted. Two commands.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a range that is empty or too long.
    pub async fn activity(
        &self,
        product: ProductId,
        (from, to): (Timestamp, Timestamp),
        resolution: Resolution,
    ) -> Result<(Vec<Bucket>, bool), DomainError> {
        let (from, to, step) = range((from, to), resolution, self.now())?;
        let found = self
            .read(|store| async move {
                // First: what is counted meanwhile is in the buckets then.
                let waiting = store.has_uncounted_sales(product).await?;
                let buckets = store.buckets(product, (from, to), resolution).await?;
                Ok((buckets, waiting))
            })
            .await?;
        let (found, waiting) = found;
        let mut found = found.into_iter().peekable();
        let (mut at, mut all) = (from, Vec::new());
        while at < to {
            let bucket = found.next_if(|bucket| bucket.at == at);
            all.push(bucket.unwrap_or(Bucket {
                at,
                counted: vitrine_model::activity::SampledCounts {
                    counts: vitrine_model::activity::ActivityCounts::default(),
                    one_in: 1,
                },
            }));
            at = at.plus_millis(step);
        }
        Ok((all, waiting))
    }
}

impl Counted {
    /// What becomes of a batch whose key is known, for these events or for others.
    fn before(same: bool) -> Self {
        Self {
            repeated: same,
            conflict: !same,
            ..Self::default()
        }
    }
}

/// What tells the events of a batch from those of another.
fn fingerprint(events: &[Event]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in events {
        (event.product, event.kind, event.at).hash(&mut hasher);
    }
    hasher.finish()
}

/// When an event counts as having happened, if it counts.
fn fit(event: &Event, there: &HashSet<ProductId>, now: Timestamp) -> Result<Timestamp, Ignored> {
    let at = event_time(event.at, now).map_err(|unfit| match unfit {
        InvalidEventTime::TooOld => Ignored::TooOld,
        InvalidEventTime::Ahead => Ignored::Ahead,
    })?;
    let known = there.contains(&event.product).then_some(at);
    known.ok_or(Ignored::Unknown)
}

/// From the beginning of the first to the end of the last hour or day.
fn range(
    (from, to): (Timestamp, Timestamp),
    resolution: Resolution,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp, i64), DomainError> {
    let (step, most, unit, kept) = match resolution {
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
    if length > most {
        let reason = format!("{length} {unit}; {most} are possible at once");
        return Err(DomainError::invalid("range", reason));
    }
    // Buckets expire by when they begin.
    let oldest = begin(now.plus_millis(-kept * DAY_MILLIS)).plus_millis(step);
    if first < oldest {
        let reason = format!("{unit} are kept for {kept} days: from {oldest} on");
        return Err(DomainError::invalid("range.from", reason));
    }
    Ok((first, last, step))
}

fn cache<K, V>(most: u64, time: Duration) -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder()
        .max_capacity(most)
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
    fn what_is_kept_no_more_is_not_asked_for() {
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
