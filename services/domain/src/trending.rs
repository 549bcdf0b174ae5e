//! What gets attention: counted ahead by a worker, read as one document.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use vitrine_model::activity::{Standing, TrendingWindow};
use vitrine_model::category::CategoryTree;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::worker::Run;
use vitrine_storage::StorageError;
use vitrine_storage::activity::{Attention, AttentionCursor};
use vitrine_storage::trending::{NewStanding, Placed, Trending};

pub use vitrine_storage::trending::TrendingRow;

use crate::products::Sight;
use crate::{Catalog, DomainError};

/// How many products a list of what gets attention has.
pub const MOST_TRENDING: usize = 100;
/// How many products are looked up at once.
const BATCH: u32 = 500;
/// For how long products are looked at in one run; the rest is for the next.
const RUN: Duration = Duration::from_secs(4);

/// What the worker that counts what gets attention remembers between its runs.
#[derive(Debug, Default)]
pub struct TrendingUpkeep {
    pass: Option<Pass>,
}

/// A pass through all products around which something happened, in the order of their ids.
#[derive(Debug)]
struct Pass {
    now: Timestamp,
    rows: Arc<Mutex<AttentionCursor>>,
    lists: Lists,
    /// The last product that was looked at.
    after: Option<ProductId>,
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
        sight: Sight,
    ) -> Result<Vec<TrendingRow>, DomainError> {
        let most = u32::try_from(first).ok();
        let most = most.filter(|most| (1..=MOST_TRENDING).contains(&(*most as usize)));
        let Some(most) = most else {
            let reason = format!("must be 1 to {MOST_TRENDING}, not {first}");
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
        let states = sight.states();
        self.read(|store| async move { store.trending(category, window, states, most).await })
            .await
    }

    /// Counts anew what gets attention, and how products stand with it, for seconds at most. Returns
    /// how many products stand otherwise than before, and whether some were not looked at yet.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call begins anew. The first failure of a
    /// product that cannot be read or written, when all others are done.
    pub async fn refresh_trending(&self, upkeep: &mut TrendingUpkeep) -> Result<Run, DomainError> {
        let began = Instant::now();
        let mut pass = match upkeep.pass.take() {
            Some(pass) => pass,
            None => self.begin_pass().await?,
        };
        let before = pass.changed;
        while self.look_on(&mut pass).await? {
            if began.elapsed() >= RUN {
                let done = pass.changed - before;
                upkeep.pass = Some(pass);
                return Ok(Run {
                    done,
                    backlog: 1,
                    ..Run::default()
                });
            }
        }
        let (done, now) = (pass.changed - before, pass.now);
        for (at, window) in TrendingWindow::ALL.into_iter().enumerate() {
            let lists = pass.lists.of(at, window);
            self.maintain(|store| async move { store.keep_trending(window, &lists, now).await })
                .await?;
        }
        if pass.ahead > 0 {
            tracing::warn!(
                products = pass.ahead,
                "the clock of a process was ahead, or that of this one is behind: what products \
                 are said to get of attention in time to come is counted anew"
            );
        }
        pass.failed.map_or(
            Ok(Run {
                done,
                ..Run::default()
            }),
            |error| Err(error.into()),
        )
    }

    async fn begin_pass(&self) -> Result<Pass, DomainError> {
        let now = self.now();
        let rows = self
            .maintain(|store| async move { store.attention(now, BATCH).await })
            .await?;
        Ok(Pass {
            now,
            rows: Arc::new(Mutex::new(rows)),
            lists: Lists::default(),
            after: None,
            changed: 0,
            ahead: 0,
            failed: None,
        })
    }

    /// Looks at the next products. Returns whether there are more.
    async fn look_on(&self, pass: &mut Pass) -> Result<bool, DomainError> {
        let rows = Arc::clone(&pass.rows);
        let some = self
            .maintain(|_| async move { rows.lock().await.next(BATCH as usize).await })
            .await?;
        let more = some.len() >= BATCH as usize;
        let until = some.last().filter(|_| more).map(|last| last.product);
        let attention: HashMap<ProductId, Attention> =
            some.iter().map(|one| (one.product, *one)).collect();
        let ids = some.iter().map(|one| one.product).collect();
        let placed = self.placed(ids, pass).await?;
        let categories = &self.reference().categories;
        pass.lists.add(&placed, &attention, categories);
        self.restand(placed, &attention, pass).await?;
        self.sit_down(until, &attention, pass).await?;
        pass.after = until;
        Ok(more)
    }

    async fn placed(
        &self,
        ids: Vec<ProductId>,
        pass: &mut Pass,
    ) -> Result<Vec<Placed>, DomainError> {
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
    async fn restand(
        &self,
        placed: Vec<Placed>,
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        let now = pass.now;
        let standing = |placed: Placed| {
            let attention = attention.get(&placed.product);
            // The score of the week says what gets attention now.
            let standing = attention.map(|one| Standing::of(one.counts, one.scores[1], now));
            let same = placed.standing.is_near(standing.unwrap_or_default())
                && placed.standing.as_of.is_some() == standing.is_some();
            (!same || placed.adrift || placed.is_ahead(now))
                .then_some(NewStanding { placed, standing })
        };
        let changed: Vec<NewStanding> = placed.into_iter().filter_map(standing).collect();
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
    async fn sit_down(
        &self,
        until: Option<ProductId>,
        attention: &HashMap<ProductId, Attention>,
        pass: &mut Pass,
    ) -> Result<(), DomainError> {
        let mut after = pass.after;
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
            self.restand(placed, attention, pass).await?;
            if !more {
                return Ok(());
            }
        }
    }
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
        placed: &[Placed],
        attention: &HashMap<ProductId, Attention>,
        categories: &CategoryTree,
    ) {
        let on_sale = |placed: &&Placed| placed.status == ProductStatus::Active;
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
                    if list.len() >= 2 * MOST_TRENDING {
                        shorten(list);
                    }
                }
            }
        }
    }

    fn of(&mut self, at: usize, window: TrendingWindow) -> Vec<Trending> {
        let lists = std::mem::take(&mut self.0[at]);
        let list = |(category, mut items): (_, Items)| {
            shorten(&mut items);
            Trending {
                category,
                window,
                items,
            }
        };
        lists.into_iter().map(list).collect()
    }
}

/// Keeps the best; of equals the same ones every time.
fn shorten(items: &mut Items) {
    items.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    items.truncate(MOST_TRENDING);
}
