//! Trending products: precomputed by a worker, read as one document.
//!
//! A full pass over all products with activity runs about once an hour. Passes in between cover
//! only products whose activity has been aggregated since the last one. The scores of the others
//! only decay, nearly at the same rate, so their order hardly changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use vitrine_model::activity::{ActivitySummary, TrendingWindow, decay};
use vitrine_model::category::CategoryTree;
use vitrine_model::clock::Timestamp;
use vitrine_model::filter::Condition;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::StorageError;
use vitrine_storage::activity::{Attention, AttentionCursor};
use vitrine_storage::trending::{NewSummary, ProductSummary, Trending};

pub use vitrine_storage::trending::TrendingRow;

use crate::products::Visibility;
use crate::recent::Busy;
use crate::{Catalog, DomainError};

/// The maximum number of trending products returned.
pub const MAX_TRENDING: usize = 100;
/// The maximum length of a stored list: some products may be archived or moved before the next full pass.
const MAX_LIST_LENGTH: usize = 150;
/// The number of products read at once in a full pass.
const BATCH: u32 = 500;
/// The number of products recomputed at once between full passes.
const BUSY_BATCH: usize = 200;
/// The time budget of a run.
const RUN_TIME: Duration = Duration::from_secs(4);
/// The interval of full passes.
const FULL_PASS: Duration = Duration::from_hours(1);
/// The next full pass starts at least this many times the duration of the last one later.
const FULL_PASS_SHARE: u32 = 20;

/// What the trending worker remembers between its runs.
#[derive(Debug, Default)]
pub struct TrendingState {
    pass: Option<Pass>,
    /// When the next full pass is due; `None` when there was none yet, or the last pass failed.
    full_pass_at: Option<Instant>,
    /// No full pass starts earlier, however many products are busy.
    no_full_pass_before: Option<Instant>,
}

/// A pass over products with activity.
#[derive(Debug)]
struct Pass {
    now: Timestamp,
    scope: Scope,
    lists: Lists,
    /// The number of products whose summary changed.
    changed: u64,
    /// The number of products whose summary is dated in the future.
    from_future: usize,
    /// The first error.
    failed: Option<StorageError>,
}

impl Catalog {
    /// The trending products of a category and its descendants, or of the whole shop, highest score
    /// first. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when there is no such category or `first` is out of range.
    pub async fn trending(
        &self,
        category: Option<&str>,
        window: TrendingWindow,
        first: i32,
        visibility: Visibility,
    ) -> Result<Vec<TrendingRow>, DomainError> {
        let max = u32::try_from(first).ok();
        let max = max.filter(|max| (1..=MAX_TRENDING).contains(&(*max as usize)));
        let Some(max) = max else {
            let reason = format!("must be 1 to {MAX_TRENDING}, not {first}");
            return Err(DomainError::invalid("first", reason));
        };
        let category = match category {
            None => None,
            Some(slug) => {
                let reference = self.reference_for_slug(slug).await?;
                let found = reference.categories.by_slug(slug);
                let reason = "there is no category with this slug";
                let found = found.ok_or_else(|| DomainError::invalid("category", reason))?;
                Some(found.id)
            }
        };
        let reference = self.reference();
        let within = category.map(|id| Condition::Category(reference.categories.subtree(id)));
        let visible = Condition::Status(visibility.states().to_vec());
        let condition = Condition::All(within.into_iter().chain([visible]).collect());
        self.read(|store| async move { store.trending(category, window, &condition, max).await })
            .await
    }

    /// Recomputes trending lists and activity summaries for at most a few seconds: for all products
    /// with activity in a full pass, otherwise for those whose activity has been aggregated since.
    /// Returns how many summaries changed, and whether the pass is incomplete. No command without
    /// activity.
    ///
    /// # Errors
    /// Fails when the database fails; the next call starts over. The first error of a product that cannot
    /// be read or written, after all others are done.
    pub async fn refresh_trending(
        &self,
        state: &mut TrendingState,
    ) -> Result<WorkerRun, DomainError> {
        let began = Instant::now();
        let mut pass = match state.pass.take() {
            Some(pass) => pass,
            None => match self.begin_pass(state).await? {
                Some(pass) => pass,
                None => return Ok(WorkerRun::default()),
            },
        };
        let before = pass.changed;
        while self.process_next(&mut pass).await? {
            if began.elapsed() >= RUN_TIME {
                let done = pass.changed - before;
                if let Scope::All { spent, .. } = &mut pass.scope {
                    *spent += began.elapsed();
                }
                state.pass = Some(pass);
                return Ok(WorkerRun {
                    done,
                    backlog: 1,
                    ..WorkerRun::default()
                });
            }
        }
        self.store_lists(&mut pass).await?;
        state.full_pass_at = match pass.scope {
            Scope::All { spent, .. } => {
                let rest = (spent + began.elapsed()) * FULL_PASS_SHARE;
                state.no_full_pass_before = Some(Instant::now() + rest);
                Some(Instant::now() + FULL_PASS.max(rest))
            }
            Scope::Busy { full_pass_at, .. } => full_pass_at,
        };
        if pass.from_future > 0 {
            tracing::warn!(
                products = pass.from_future,
                "the clock of a process was ahead, or the clock of this one is behind: \
                 activity summaries from the future are recomputed"
            );
        }
        let done = pass.changed - before;
        pass.failed.map_or(
            Ok(WorkerRun {
                done,
                ..WorkerRun::default()
            }),
            |error| Err(error.into()),
        )
    }

    /// Begins a pass over all products or over the busy ones; `None` when there are none.
    async fn begin_pass(&self, state: &mut TrendingState) -> Result<Option<Pass>, DomainError> {
        let now = self.now();
        let full_pass_at = state.full_pass_at.filter(|at| Instant::now() < *at);
        let scope = match self.busy().take() {
            Busy::These(products) if full_pass_at.is_some() => {
                if products.is_empty() {
                    return Ok(None);
                }
                Scope::Busy {
                    left: products.into_iter().collect(),
                    full_pass_at,
                }
            }
            Busy::Any
                if state
                    .no_full_pass_before
                    .is_some_and(|at| Instant::now() < at) =>
            {
                self.busy().note_any();
                return Ok(None);
            }
            _ => {
                let rows = self.maintain(|store| async move { store.attention(now, BATCH).await });
                Scope::All {
                    rows: Arc::new(Mutex::new(rows.await?)),
                    after: None,
                    spent: Duration::ZERO,
                }
            }
        };
        // After a failed pass comes a full one.
        state.full_pass_at = None;
        Ok(Some(Pass {
            now,
            scope,
            lists: Lists::default(),
            changed: 0,
            from_future: 0,
            failed: None,
        }))
    }

    /// Processes the next products. Returns whether there are more.
    async fn process_next(&self, pass: &mut Pass) -> Result<bool, DomainError> {
        match &mut pass.scope {
            Scope::All { rows, after, .. } => {
                let (rows, after) = (Arc::clone(rows), *after);
                let batch = self
                    .maintain(|_| async move { rows.lock().await.next(BATCH as usize).await })
                    .await?;
                let more = batch.len() >= BATCH as usize;
                let until = batch.last().filter(|_| more).map(|last| last.product);
                let ids = batch.iter().map(|one| one.product).collect();
                let attention = self.process(ids, batch, pass).await?;
                self.clear_stale((after, until), &attention, pass).await?;
                if let Scope::All { after, .. } = &mut pass.scope {
                    *after = until;
                }
                Ok(more)
            }
            Scope::Busy { left, .. } => {
                let batch = left.split_off(left.len().saturating_sub(BUSY_BATCH));
                let more = !left.is_empty();
                let (ids, now) = (batch.clone(), pass.now);
                let attention = self
                    .maintain(|store| async move { store.attention_of(&ids, now).await })
                    .await?;
                self.process(batch, attention, pass).await?;
                Ok(more)
            }
        }
    }

    /// Adds products to the lists and writes their summaries. Returns their attention.
    async fn process(
        &self,
        products: Vec<ProductId>,
        attention: Vec<Attention>,
        pass: &mut Pass,
    ) -> Result<HashMap<ProductId, Attention>, DomainError> {
        let attention: HashMap<ProductId, Attention> = attention
            .into_iter()
            .map(|one| (one.product, one))
            .collect();
        let summaries = self.summaries(products, pass).await?;
        let categories = &self.reference().categories;
        pass.lists.add(&summaries, &attention, categories);
        self.write_summaries(summaries, &attention, pass).await?;
        Ok(attention)
    }

    /// Stores the lists of a pass. Unless it was a full pass, merges them with the stored ones.
    async fn store_lists(&self, pass: &mut Pass) -> Result<(), DomainError> {
        let (now, full) = (pass.now, matches!(pass.scope, Scope::All { .. }));
        let mut lists = std::mem::take(&mut pass.lists);
        if !full {
            let keys = lists.keys();
            let stored =
                self.maintain(|store| async move { store.get_trending_lists(&keys).await });
            for (stored, as_of) in stored.await? {
                lists.merge(&stored, now.as_millis() - as_of.as_millis());
            }
        }
        let lists = lists.into_stored();
        self.maintain(|store| async move {
            store.save_trending_lists(&lists, now).await?;
            if full {
                store.delete_trending_before(now).await?;
            }
            Ok(())
        })
        .await
    }

    async fn summaries(
        &self,
        ids: Vec<ProductId>,
        pass: &mut Pass,
    ) -> Result<Vec<ProductSummary>, DomainError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let batch = self
            .maintain(|store| async move { store.product_summaries(&ids).await })
            .await?;
        pass.failed = pass.failed.take().or(batch.failed);
        let from_future = batch.summaries.iter().filter(|one| one.is_ahead(pass.now));
        pass.from_future += from_future.count();
        Ok(batch.summaries)
    }

    /// Writes the summaries that changed or whose popularity needs correction.
    async fn write_summaries(
        &self,
        summaries: Vec<ProductSummary>,
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        let now = pass.now;
        let new_summary = |placed: ProductSummary| {
            let attention = attention.get(&placed.product);
            // The score of the last week is the current attention.
            let activity = attention.map(|one| ActivitySummary::of(one.counts, one.scores[1], now));
            let same = placed.activity.is_near(activity.unwrap_or_default())
                && placed.activity.as_of.is_some() == activity.is_some();
            (!same || placed.has_stale_popularity || placed.is_ahead(now)).then_some(NewSummary {
                product: placed,
                activity,
            })
        };
        let changed: Vec<NewSummary> = summaries.into_iter().filter_map(new_summary).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let batch = self
            .maintain(|store| async move { store.apply_activity_summaries(&changed, now).await })
            .await?;
        pass.changed += u64::try_from(batch.written).unwrap_or(u64::MAX);
        pass.failed = pass.failed.take().or(batch.failed);
        Ok(())
    }

    /// Clears the summaries of products without recent activity, between the last processed product
    /// and this one.
    async fn clear_stale(
        &self,
        (mut after, until): (Option<ProductId>, Option<ProductId>),
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        loop {
            let batch = self
                .maintain(
                    |store| async move { store.products_with_activity(after, until, BATCH).await },
                )
                .await?;
            let more = batch.len() >= BATCH as usize;
            after = batch.last().copied();
            let gone: Vec<ProductId> = batch
                .into_iter()
                .filter(|product| !attention.contains_key(product))
                .collect();
            let summaries = self.summaries(gone, pass).await?;
            self.write_summaries(summaries, attention, pass).await?;
            if !more {
                return Ok(());
            }
        }
    }
}

/// The products of a pass.
#[derive(Debug)]
enum Scope {
    /// All products with activity, ordered by id.
    All {
        rows: Arc<Mutex<AttentionCursor>>,
        /// The last processed product.
        after: Option<ProductId>,
        /// The duration so far.
        spent: Duration,
    },
    /// Products whose activity has been aggregated since the last pass.
    Busy {
        left: Vec<ProductId>,
        /// When the next full pass is due.
        full_pass_at: Option<Instant>,
    },
}

/// The highest scores of each category, per window.
#[derive(Debug, Default)]
struct Lists([BTreeMap<Option<CategoryId>, Items>; 3]);

type Items = Vec<(ProductId, f64)>;

impl Lists {
    /// Adds products to their categories, the ancestors of these, and the list of the whole shop.
    fn add(
        &mut self,
        summaries: &[ProductSummary],
        attention: &HashMap<ProductId, Attention>,
        categories: &CategoryTree,
    ) {
        let on_sale = |summaries: &&ProductSummary| summaries.status == ProductStatus::Active;
        for summaries in summaries.iter().filter(on_sale) {
            let Some(one) = attention.get(&summaries.product) else {
                continue;
            };
            let category = categories.current(summaries.category);
            let above = categories.ancestors(category);
            let above = above.iter().map(|category| Some(category.id));
            let within: Vec<Option<CategoryId>> = above.chain([Some(category), None]).collect();
            for (lists, score) in self.0.iter_mut().zip(one.scores) {
                if score <= 0.0 {
                    continue;
                }
                for category in &within {
                    let list = lists.entry(*category).or_default();
                    list.push((summaries.product, score));
                    if list.len() >= 2 * MAX_LIST_LENGTH {
                        keep_best(list);
                    }
                }
            }
        }
    }

    fn keys(&self) -> Vec<(Option<CategoryId>, TrendingWindow)> {
        let windows = self.0.iter().zip(TrendingWindow::ALL);
        let keys = windows.flat_map(|(lists, window)| lists.keys().map(move |of| (*of, window)));
        keys.collect()
    }

    /// Adds products of a stored list of this age that are not in the list yet.
    fn merge(&mut self, stored: &Trending, age_millis: i64) {
        let aged = decay(age_millis, stored.window.half_life_millis());
        let at = TrendingWindow::ALL
            .iter()
            .position(|one| *one == stored.window);
        let list = at.and_then(|at| self.0[at].get_mut(&stored.category));
        let Some(list) = list else { return };
        let known: HashSet<ProductId> = list.iter().map(|(product, _)| *product).collect();
        let others = stored.items.iter();
        let others = others.filter(|(product, _)| !known.contains(product));
        list.extend(others.map(|(product, score)| (*product, score * aged)));
    }

    fn into_stored(self) -> Vec<Trending> {
        let windows = self.0.into_iter().zip(TrendingWindow::ALL);
        let lists = windows.flat_map(|(lists, window)| {
            lists.into_iter().map(move |(category, mut items)| {
                keep_best(&mut items);
                Trending {
                    category,
                    window,
                    items,
                }
            })
        });
        lists.collect()
    }
}

/// Keeps the highest scores; ties are broken by id.
fn keep_best(items: &mut Items) {
    items.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    items.truncate(MAX_LIST_LENGTH);
}
