//! What gets attention: counted ahead by a worker, read as one document.
//!
//! All products with activity are looked at about once an hour. In between only those are whose
//! activity was counted since: what the others get of attention has only aged, nearly in the same
//! measure, so that their order hardly changes.

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

/// How many products of a list of what gets attention are given at most.
pub const MAX_TRENDING: usize = 100;
/// How many are kept: some may be archived or moved before the next look at all products.
const KEPT: usize = 150;
/// How many products are looked up at once.
const BATCH: u32 = 500;
/// How many are counted anew at once, when not all are.
const BUSY: usize = 200;
/// For how long products are looked at in one run; the rest is for the next.
const RUN: Duration = Duration::from_secs(4);
/// How often all products with activity are looked at.
const FULL_PASS: Duration = Duration::from_hours(1);
/// More rarely where that takes long: it rests so many times as long as it took.
const FULL_PASS_SHARE: u32 = 20;

/// What the worker that counts what gets attention remembers between its runs.
#[derive(Debug, Default)]
pub struct TrendingUpkeep {
    pass: Option<Pass>,
    /// When all products are looked at again; `None` when they were not looked at yet, or the last
    /// pass failed.
    full_pass_at: Option<Instant>,
    /// Before this all products are not looked at again, however many are busy.
    rests_until: Option<Instant>,
}

/// A pass through products around which something happened.
#[derive(Debug)]
struct Pass {
    now: Timestamp,
    through: Through,
    lists: Lists,
    /// How many products stand otherwise than before.
    changed: u64,
    /// How many are said to stand so in time to come.
    ahead: usize,
    /// The first failure.
    failed: Option<StorageError>,
}

impl Catalog {
    /// What gets attention in a category with all below it, or everywhere; the highest score first.
    /// One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when there is no such category or the number is wrong.
    pub async fn trending(
        &self,
        category: Option<&str>,
        window: TrendingWindow,
        first: i32,
        sight: Visibility,
    ) -> Result<Vec<TrendingRow>, DomainError> {
        let most = u32::try_from(first).ok();
        let most = most.filter(|most| (1..=MAX_TRENDING).contains(&(*most as usize)));
        let Some(most) = most else {
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
        let seen = Condition::Status(sight.states().to_vec());
        let condition = Condition::All(within.into_iter().chain([seen]).collect());
        self.read(|store| async move { store.trending(category, window, &condition, most).await })
            .await
    }

    /// Counts anew what gets attention, and how products stand with it, for seconds at most: of all
    /// products with activity once in a while, else of those whose activity was counted since. Returns
    /// how many products stand otherwise than before, and whether some were not looked at yet. No
    /// command when nothing happened.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call begins anew. The first failure of a
    /// product that cannot be read or written, when all others are done.
    pub async fn refresh_trending(
        &self,
        maintenance: &mut TrendingUpkeep,
    ) -> Result<WorkerRun, DomainError> {
        let began = Instant::now();
        let mut pass = match maintenance.pass.take() {
            Some(pass) => pass,
            None => match self.begin_pass(maintenance).await? {
                Some(pass) => pass,
                None => return Ok(WorkerRun::default()),
            },
        };
        let before = pass.changed;
        while self.look_on(&mut pass).await? {
            if began.elapsed() >= RUN {
                let done = pass.changed - before;
                if let Through::All { spent, .. } = &mut pass.through {
                    *spent += began.elapsed();
                }
                maintenance.pass = Some(pass);
                return Ok(WorkerRun {
                    done,
                    backlog: 1,
                    ..WorkerRun::default()
                });
            }
        }
        self.keep_lists(&mut pass).await?;
        maintenance.full_pass_at = match pass.through {
            Through::All { spent, .. } => {
                let rest = (spent + began.elapsed()) * FULL_PASS_SHARE;
                maintenance.rests_until = Some(Instant::now() + rest);
                Some(Instant::now() + FULL_PASS.max(rest))
            }
            Through::Busy { full_pass_at, .. } => full_pass_at,
        };
        if pass.ahead > 0 {
            tracing::warn!(
                products = pass.ahead,
                "the clock of a process was ahead, or that of this one is behind: what products \
                 are said to get of attention in time to come is counted anew"
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

    /// Begins to look at all products, or at those that are busy; `None` when none are.
    async fn begin_pass(
        &self,
        maintenance: &mut TrendingUpkeep,
    ) -> Result<Option<Pass>, DomainError> {
        let now = self.now();
        let full_pass_at = maintenance.full_pass_at.filter(|at| Instant::now() < *at);
        let through = match self.busy().take() {
            Busy::These(products) if full_pass_at.is_some() => {
                if products.is_empty() {
                    return Ok(None);
                }
                Through::Busy {
                    left: products.into_iter().collect(),
                    full_pass_at,
                }
            }
            Busy::Any
                if maintenance
                    .rests_until
                    .is_some_and(|at| Instant::now() < at) =>
            {
                self.busy().note_any();
                return Ok(None);
            }
            _ => {
                let rows = self.maintain(|store| async move { store.attention(now, BATCH).await });
                Through::All {
                    rows: Arc::new(Mutex::new(rows.await?)),
                    after: None,
                    spent: Duration::ZERO,
                }
            }
        };
        // A pass that fails is followed by one through all products.
        maintenance.full_pass_at = None;
        Ok(Some(Pass {
            now,
            through,
            lists: Lists::default(),
            changed: 0,
            ahead: 0,
            failed: None,
        }))
    }

    /// Looks at the next products. Returns whether there are more.
    async fn look_on(&self, pass: &mut Pass) -> Result<bool, DomainError> {
        match &mut pass.through {
            Through::All { rows, after, .. } => {
                let (rows, after) = (Arc::clone(rows), *after);
                let some = self
                    .maintain(|_| async move { rows.lock().await.next(BATCH as usize).await })
                    .await?;
                let more = some.len() >= BATCH as usize;
                let until = some.last().filter(|_| more).map(|last| last.product);
                let ids = some.iter().map(|one| one.product).collect();
                let attention = self.look_at(ids, some, pass).await?;
                self.clear_stale((after, until), &attention, pass).await?;
                if let Through::All { after, .. } = &mut pass.through {
                    *after = until;
                }
                Ok(more)
            }
            Through::Busy { left, .. } => {
                let some = left.split_off(left.len().saturating_sub(BUSY));
                let more = !left.is_empty();
                let (ids, now) = (some.clone(), pass.now);
                let attention = self
                    .maintain(|store| async move { store.attention_of(&ids, now).await })
                    .await?;
                self.look_at(some, attention, pass).await?;
                Ok(more)
            }
        }
    }

    /// Adds products to the lists, and writes how they stand. Returns what they get of attention.
    async fn look_at(
        &self,
        products: Vec<ProductId>,
        attention: Vec<Attention>,
        pass: &mut Pass,
    ) -> Result<HashMap<ProductId, Attention>, DomainError> {
        let attention: HashMap<ProductId, Attention> = attention
            .into_iter()
            .map(|one| (one.product, one))
            .collect();
        let placed = self.placed(products, pass).await?;
        let categories = &self.reference().categories;
        pass.lists.add(&placed, &attention, categories);
        self.write_summaries(placed, &attention, pass).await?;
        Ok(attention)
    }

    /// Keeps the lists of a pass. Where not all products were looked at, they are merged with those
    /// that are kept.
    async fn keep_lists(&self, pass: &mut Pass) -> Result<(), DomainError> {
        let (now, full) = (pass.now, matches!(pass.through, Through::All { .. }));
        let mut lists = std::mem::take(&mut pass.lists);
        if !full {
            let wanted = lists.keys();
            let kept = self.maintain(|store| async move { store.kept_trending(&wanted).await });
            for (kept, as_of) in kept.await? {
                lists.merge(&kept, now.as_millis() - as_of.as_millis());
            }
        }
        let lists = lists.whole();
        self.maintain(|store| async move {
            store.keep_trending(&lists, now).await?;
            if full {
                store.forget_trending(now).await?;
            }
            Ok(())
        })
        .await
    }

    async fn placed(
        &self,
        ids: Vec<ProductId>,
        pass: &mut Pass,
    ) -> Result<Vec<ProductSummary>, DomainError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let batch = self
            .maintain(|store| async move { store.placed(&ids).await })
            .await?;
        pass.failed = pass.failed.take().or(batch.failed);
        let ahead = batch.placed.iter().filter(|one| one.is_ahead(pass.now));
        pass.ahead += ahead.count();
        Ok(batch.placed)
    }

    /// Writes how products stand, of those that stand otherwise than before, or whose popularity is
    /// to be put right.
    async fn write_summaries(
        &self,
        placed: Vec<ProductSummary>,
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        let now = pass.now;
        let standing = |placed: ProductSummary| {
            let attention = attention.get(&placed.product);
            // The score of the week says what gets attention now.
            let standing = attention.map(|one| ActivitySummary::of(one.counts, one.scores[1], now));
            let same = placed.standing.is_near(standing.unwrap_or_default())
                && placed.standing.as_of.is_some() == standing.is_some();
            (!same || placed.adrift || placed.is_ahead(now))
                .then_some(NewSummary { placed, standing })
        };
        let changed: Vec<NewSummary> = placed.into_iter().filter_map(standing).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let batch = self
            .maintain(|store| async move { store.keep_standings(&changed, now).await })
            .await?;
        pass.changed += u64::try_from(batch.written).unwrap_or(u64::MAX);
        pass.failed = pass.failed.take().or(batch.failed);
        Ok(())
    }

    /// Products around which nothing happened for so long do not stand out any more: those behind the
    /// last that was looked at, up to this one.
    async fn clear_stale(
        &self,
        (mut after, until): (Option<ProductId>, Option<ProductId>),
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        loop {
            let some = self
                .maintain(|store| async move { store.standing_products(after, until, BATCH).await })
                .await?;
            let more = some.len() >= BATCH as usize;
            after = some.last().copied();
            let gone: Vec<ProductId> = some
                .into_iter()
                .filter(|product| !attention.contains_key(product))
                .collect();
            let placed = self.placed(gone, pass).await?;
            self.write_summaries(placed, attention, pass).await?;
            if !more {
                return Ok(());
            }
        }
    }
}

/// What a pass goes through.
#[derive(Debug)]
enum Through {
    /// All products with activity, in the order of their ids.
    All {
        rows: Arc<Mutex<AttentionCursor>>,
        /// The last product that was looked at.
        after: Option<ProductId>,
        /// How long it took.
        spent: Duration,
    },
    /// Those whose activity was counted since the last pass.
    Busy {
        left: Vec<ProductId>,
        /// When all products are looked at again.
        full_pass_at: Option<Instant>,
    },
}

/// The best of each category, window by window.
#[derive(Debug, Default)]
struct Lists([BTreeMap<Option<CategoryId>, Items>; 3]);

/// Products with their scores.
type Items = Vec<(ProductId, f64)>;

impl Lists {
    /// Adds products to their categories, to all above these, and to the list of all.
    fn add(
        &mut self,
        placed: &[ProductSummary],
        attention: &HashMap<ProductId, Attention>,
        categories: &CategoryTree,
    ) {
        let on_sale = |placed: &&ProductSummary| placed.status == ProductStatus::Active;
        for placed in placed.iter().filter(on_sale) {
            let Some(one) = attention.get(&placed.product) else {
                continue;
            };
            let above = categories.ancestors(placed.category);
            let above = above.iter().map(|category| Some(category.id));
            let within: Vec<Option<CategoryId>> =
                above.chain([Some(placed.category), None]).collect();
            for (lists, score) in self.0.iter_mut().zip(one.scores) {
                if score <= 0.0 {
                    continue;
                }
                for category in &within {
                    let list = lists.entry(*category).or_default();
                    list.push((placed.product, score));
                    if list.len() >= 2 * KEPT {
                        shorten(list);
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

    /// Adds what was kept so long ago, of products that are not in a list yet.
    fn merge(&mut self, kept: &Trending, age_millis: i64) {
        let aged = decay(age_millis, kept.window.half_life_millis());
        let at = TrendingWindow::ALL
            .iter()
            .position(|one| *one == kept.window);
        let list = at.and_then(|at| self.0[at].get_mut(&kept.category));
        let Some(list) = list else { return };
        let known: HashSet<ProductId> = list.iter().map(|(product, _)| *product).collect();
        let others = kept.items.iter();
        let others = others.filter(|(product, _)| !known.contains(product));
        list.extend(others.map(|(product, score)| (*product, score * aged)));
    }

    fn whole(self) -> Vec<Trending> {
        let windows = self.0.into_iter().zip(TrendingWindow::ALL);
        let lists = windows.flat_map(|(lists, window)| {
            lists.into_iter().map(move |(category, mut items)| {
                shorten(&mut items);
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

/// Keeps the best; of equals the same ones every time.
fn shorten(items: &mut Items) {
    items.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    items.truncate(KEPT);
}
