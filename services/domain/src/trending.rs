//! What gets attention: counted ahead by a worker, read as one document.

use std::collections::{BTreeMap, HashMap};

use vitrine_model::activity::{ActivityCounts, Standing, TrendingWindow, day, hour};
use vitrine_model::category::CategoryTree;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::product::ProductStatus;
use vitrine_model::worker::Run;
use vitrine_storage::activity::{Resolution, Score};
use vitrine_storage::trending::{NewStanding, Placed, Trending};

pub use vitrine_storage::trending::TrendingRow;

use crate::products::Sight;
use crate::{Catalog, DomainError};

/// How many products a list of what gets attention has.
pub const MOST_TRENDING: usize = 100;
/// How many products are looked up at once.
const BATCH: usize = 500;

/// What happened around a product, over the windows.
#[derive(Clone, Copy, Debug, Default)]
struct Attention {
    /// Of today and the 30 days before.
    counts: ActivityCounts,
    scores: [f64; 3],
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
        let store = self.store().clone();
        let states = sight.states();
        self.shielded(async move { store.trending(category, window, states, most).await })
            .await
    }

    /// Counts anew what gets attention, and how products stand with it. Gives how many products
    /// stand otherwise than before.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; the next call does it all again.
    pub async fn refresh_trending(&self) -> Result<Run, DomainError> {
        let now = self.now();
        let attention = self.attention(now).await?;
        let mut ids: Vec<ProductId> = attention.keys().copied().collect();
        ids.sort_unstable();
        let (mut lists, mut changed) = (Lists::default(), 0);
        for some in ids.chunks(BATCH) {
            let placed = self.placed(some).await?;
            lists.add(&placed, &attention, &self.reference().categories);
            changed += self.restand(placed, &attention, now).await?;
        }
        changed += self.sit_down(&attention, now).await?;
        for (at, window) in TrendingWindow::ALL.into_iter().enumerate() {
            let lists = lists.of(at, window);
            let store = self.store().clone();
            self.shielded(async move { store.keep_trending(window, &lists, now).await })
                .await?;
        }
        Ok(Run {
            done: changed,
            backlog: 0,
        })
    }

    async fn attention(
        &self,
        now: Timestamp,
    ) -> Result<HashMap<ProductId, Attention>, DomainError> {
        let mut all: HashMap<ProductId, Attention> = HashMap::new();
        for (at, window) in TrendingWindow::ALL.into_iter().enumerate() {
            let resolution = match window {
                TrendingWindow::Day => Resolution::Hour,
                TrendingWindow::Week | TrendingWindow::Month => Resolution::Day,
            };
            let since = now.plus_millis(-window.millis());
            // Whole hours and days: the one that the window begins in as well.
            let since = match resolution {
                Resolution::Hour => hour(since),
                Resolution::Day => day(since),
            };
            let store = self.store().clone();
            let half_life = window.half_life_millis();
            let scores =
                self.shielded(async move { store.scores(since, now, half_life, resolution).await });
            for Score {
                product,
                counts,
                score,
            } in scores.await?
            {
                let one = all.entry(product).or_default();
                one.scores[at] = score;
                if window == TrendingWindow::Month {
                    one.counts = counts;
                }
            }
        }
        Ok(all)
    }

    async fn placed(&self, ids: &[ProductId]) -> Result<Vec<Placed>, DomainError> {
        let (store, ids) = (self.store().clone(), ids.to_vec());
        self.shielded(async move { store.placed(&ids).await }).await
    }

    /// Writes how products stand, of those that stand otherwise than before, or whose popularity is
    /// to be put right.
    async fn restand(
        &self,
        placed: Vec<Placed>,
        attention: &HashMap<ProductId, Attention>,
        now: Timestamp,
    ) -> Result<u64, DomainError> {
        let standing = |placed: Placed| {
            let attention = attention.get(&placed.product);
            // The score of the week says what gets attention now.
            let standing = attention.map(|one| Standing::of(one.counts, one.scores[1], now));
            let same = placed.standing.same(standing.unwrap_or_default());
            let known = placed.standing.as_of.is_some() == standing.is_some();
            (!same || !known || placed.adrift).then_some(NewStanding { placed, standing })
        };
        let changed: Vec<NewStanding> = placed.into_iter().filter_map(standing).collect();
        let count = u64::try_from(changed.len()).unwrap_or(u64::MAX);
        let store = self.store().clone();
        self.shielded(async move { store.keep_standings(&changed, now).await })
            .await?;
        Ok(count)
    }

    /// Products around which nothing happened for so long do not stand out any more.
    async fn sit_down(
        &self,
        attention: &HashMap<ProductId, Attention>,
        now: Timestamp,
    ) -> Result<u64, DomainError> {
        let (mut after, mut changed) = (None, 0);
        loop {
            let store = self.store().clone();
            let most = u32::try_from(BATCH).expect("hundreds");
            let some = self
                .shielded(async move { store.standing_products(after, most).await })
                .await?;
            let Some(last) = some.last() else {
                return Ok(changed);
            };
            after = Some(*last);
            let gone: Vec<ProductId> = some
                .into_iter()
                .filter(|product| !attention.contains_key(product))
                .collect();
            if !gone.is_empty() {
                let placed = self.placed(&gone).await?;
                changed += self.restand(placed, attention, now).await?;
            }
        }
    }
}

/// The best of each category, window by window.
#[derive(Default)]
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
                    if list.len() >= 4 * MOST_TRENDING {
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
