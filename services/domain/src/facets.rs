//! Facets: what a filter panel shows, counted so that a click gives what was promised.
//!
//! The counts of a key leave out what the filter says about that key, so they show what else could
//! be chosen. Everything that is not chosen from is counted in one pass over the products found,
//! and each key that is chosen from in one more. Up to 20,000 products (10,000 of a search) are
//! counted one by one; of more a sample of about 10,000 is, and every number then says how far it
//! may be off. What is asked most, whole categories, is precomputed and kept with a generation that
//! tells whether any product of the category has changed since.

mod coverage;
mod generation;
mod panel;
pub(crate) mod selectivity;
mod shape;
mod snapshots;

pub use crate::search::{SearchReading, SearchWord, WordReading};
pub use coverage::{KeyCoverage, SuggestedKey};
pub use snapshots::{PanelLimits, PanelUpkeep};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{
    FacetKey, FacetTally, Panel, PanelData, PanelFacet, PanelValue, Sample, TallyFields,
};
use vitrine_model::filter::{Condition, ProductFilter};
use vitrine_model::id::CategoryId;
use vitrine_model::money::Money;
use vitrine_model::spec::SpecKey;
use vitrine_model::text::fold;
use vitrine_storage::counts::{CountOrder, Kept};

use crate::products::{ListedProducts, ProductsQuery, Visibility};
use crate::reference::Reference;
use crate::{Catalog, DomainError};
use panel::Units;

/// How many products a sample aims at, so that it has 10,000 although the first slot is a guess.
const SAMPLE: u64 = 11_000;
/// From how many keys a filter may choose for all of them to be counted at once: each is one more
/// pass over the products.
const MAX_CHOSEN: usize = 10;
/// Chosen values are counted up to here.
const MAX_EXACT: u64 = 10_000_000;
/// How many passes of a request are under way at a time.
const MAX_AT_ONCE: usize = 4;
/// How many values of a facet are kept in panels.
const KEPT_VALUES: usize = 50;
/// The most values of a facet that may be asked for.
pub const MAX_FACET_VALUES: usize = 200;
/// The most facets that may be asked for by name.
pub const MAX_FACETS: usize = 50;
/// How many facets of spec keys are given when none are named.
const DEFAULT_FACETS: usize = 20;

/// Which facets are wanted.
#[derive(Clone, Debug, Default)]
pub struct FacetsQuery {
    /// Only these, in this order; those that suit the products found when absent.
    pub keys: Option<Vec<String>>,
    /// How many values of a facet at most: 1 to 200.
    pub limit: usize,
    /// Units to show quantities in: `(unit, only for this key)`.
    pub display_units: Vec<(String, Option<String>)>,
}

/// One facet.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// What it is about.
    pub key: FacetKey,
    /// What people read.
    pub label: String,
    /// What its values are.
    pub kind: FacetKind,
    /// How far the counts can be trusted.
    pub accuracy: FacetAccuracy,
    /// As of when.
    pub as_of: Timestamp,
    /// Of how many products, for an estimate.
    pub sample_size: Option<u64>,
    /// How many products have a value of this key, and how far that may be off.
    pub products: Count,
    /// How many different values were met.
    pub distinct_values: u64,
    /// The values or buckets.
    pub values: Vec<FacetValue>,
    /// From where to where numbers and quantities reach, in the unit shown.
    pub numbers: Option<(f64, f64)>,
    /// The unit shown.
    pub unit: Option<String>,
    /// From when to when dates reach.
    pub dates: Option<(Timestamp, Timestamp)>,
    /// From where to where prices reach.
    pub prices: Option<(Money, Money)>,
}

/// What the values of a facet are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FacetKind {
    /// Texts.
    Text,
    /// Yes and no.
    Boolean,
    /// Buckets of plain numbers.
    Number,
    /// Buckets of quantities.
    Quantity,
    /// Buckets of dates.
    Date,
    /// Categories.
    Category,
    /// Brands.
    Brand,
    /// Buckets of prices.
    Price,
    /// So many stars and more.
    Rating,
    /// Countries of suppliers.
    SupplierCountry,
}

/// How far counts can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FacetAccuracy {
    /// They equal what a click gives.
    Exact,
    /// They come from a sample; each says how far it may be off.
    Estimate,
    /// They were counted at `as_of` and may have changed since.
    Precomputed,
}

/// A number of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub value: u64,
    /// The true number differs by at most this.
    pub margin: u64,
}

/// One value or bucket of a facet.
#[derive(Clone, Debug, PartialEq)]
pub struct FacetValue {
    /// What people read.
    pub label: String,
    /// How many products one gets by choosing it, everything else of the filter unchanged.
    pub count: Count,
    /// Whether the filter chooses it already.
    pub selected: bool,
    /// The filter that chooses it: to be put in place of what the filter says about this key.
    pub filter: ProductFilter,
    /// For categories: the names from the top down to this one.
    pub path: Vec<String>,
}

/// What was counted of what fulfils one condition.
struct Counts {
    panel: Panel,
    accuracy: FacetAccuracy,
    /// Whether a panel that was precomputed is known to be up to date, but for ratings.
    current: bool,
    sample: Option<Sample>,
    /// Texts, folded, that were counted one by one beside the sample.
    counted: Vec<String>,
    as_of: Timestamp,
}

/// One pass that a request needs.
struct Pass {
    filter: ProductFilter,
    /// Only these; all but those that have a pass of their own when absent.
    facets: Option<Vec<FacetKey>>,
}

impl Pass {
    /// Whether it was made for a key that the filter chooses from.
    fn is_of_chosen(&self, plan: &Plan) -> bool {
        let facets = self.facets.as_deref().unwrap_or_default();
        facets.iter().any(|key| plan.selected.contains(key))
    }

    /// Whether a panel that was precomputed has all that is named.
    fn is_within(&self, panel: &Panel) -> bool {
        let has = |key: &FacetKey| panel.facets.iter().any(|facet| facet.key == key.name());
        let mut named = self.facets.iter().flatten();
        named.all(|key| has(key) || !matches!(key, FacetKey::Spec(_)))
    }

    /// The spec keys that were named.
    fn named_specs(&self) -> impl Iterator<Item = &FacetKey> {
        let named = self.facets.iter().flatten();
        named.filter(|key| matches!(key, FacetKey::Spec(_)))
    }

    fn wanted(&self) -> TallyFields {
        self.facets
            .as_deref()
            .map_or_else(TallyFields::all, TallyFields::only)
    }
}

/// What a request asks for, checked.
struct Plan {
    filter: ProductFilter,
    keys: Option<Vec<FacetKey>>,
    limit: usize,
    units: Units,
    selected: Vec<FacetKey>,
}

impl Catalog {
    /// The facets of a list.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a key, limit or unit that is wrong, or when the filter chooses
    /// from more keys than are counted at once.
    pub async fn facets(
        &self,
        list: &ListedProducts,
        wanted: FacetsQuery,
    ) -> Result<Vec<Facet>, DomainError> {
        let query = &list.query;
        let (reference, _) = self.product_condition(&query.filter, query.sight).await?;
        let reference = match &wanted.keys {
            None => reference,
            Some(keys) => {
                let is_known = |reference: &Reference, key: &String| {
                    key.starts_with('@') || reference.dictionary.get(key).is_some()
                };
                self.reference_knowing(|r| keys.iter().all(|key| is_known(r, key)))
                    .await?
            }
        };
        let plan = Plan::new(&query.filter, wanted, &reference)?;
        let passes = plan.passes(&query.filter, &reference)?;
        let counted: Vec<_> = passes
            .iter()
            .map(|pass| self.count_pass(list, pass, &plan, &reference).boxed())
            .collect();
        let counted: Vec<Counts> = stream::iter(counted)
            .buffered(MAX_AT_ONCE)
            .try_collect()
            .await?;
        let mut facets = Vec::new();
        for (pass, counts) in passes.iter().zip(counted) {
            let rare = self
                .count_rare(list, pass, &plan, &counts, &reference)
                .await?;
            let is_counted = |facets: &[Facet]| match pass.facets.as_deref() {
                Some([key]) => facets.iter().any(|facet| facet.key == *key),
                _ => false,
            };
            for mut counts in rare.into_iter().chain([counts]) {
                if is_counted(&facets) {
                    continue;
                }
                self.count_chosen(list, pass, &plan, &mut counts, &reference)
                    .await?;
                let shape = shape::Shape {
                    reference: &reference,
                    filter: &query.filter,
                    currency: self.currency(),
                    limit: plan.limit,
                    counts: &counts,
                };
                let of_pass = plan.of_pass(pass, &counts.panel, &reference);
                for (key, facet) in of_pass {
                    let known = facets.iter().any(|known: &Facet| known.key == key);
                    facets.extend((!known).then(|| shape.facet(key, facet)).flatten());
                }
            }
        }
        plan.sort(&mut facets);
        Ok(facets)
    }

    async fn count_pass(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        plan: &Plan,
        reference: &Arc<Reference>,
    ) -> Result<Counts, DomainError> {
        let scope = Scope::of(&pass.filter, &list.query, reference);
        let Some(scope) = scope.filter(|_| plan.is_usual()) else {
            let wanted = pass.wanted();
            return self.count_live(list, pass, plan, wanted, reference).await;
        };
        if scope.categories.is_none() && pass.facets.as_deref() == Some(&[FacetKey::Category]) {
            match self.count_categories().await {
                // They are being counted: until then a sample says how many there are.
                Err(DomainError::Unavailable(_)) => {}
                counts => return counts,
            }
        }
        let (kept, sum) = self.kept_panel(&scope, reference).await?;
        let kept = kept.filter(|kept| pass.is_within(&kept.panel));
        if let Some(kept) = kept {
            // What is too much to count while the caller waits is given as it was counted last.
            if kept.current || kept.panel.products > self.most_read().into() {
                return Ok(Counts {
                    panel: kept.panel,
                    accuracy: FacetAccuracy::Precomputed,
                    current: kept.current,
                    sample: None,
                    counted: Vec::new(),
                    as_of: kept.as_of,
                });
            }
        }
        if pass.facets.is_some() {
            return self
                .count_live(list, pass, plan, pass.wanted(), reference)
                .await;
        }
        let counts = self
            .count_live(list, pass, plan, TallyFields::all(), reference)
            .await?;
        if counts.accuracy == FacetAccuracy::Exact {
            // The answer is there, whether or not it can be kept for others.
            let kept = self.keep_panel(&scope, sum, &counts.panel, counts.as_of, reference);
            if let Err(error) = kept.await {
                tracing::warn!(%error, "a panel could not be kept");
            }
        }
        Ok(counts)
    }

    /// Counts keys that were named one by one where all products together are too many: of a key that
    /// few products have, only those have to be read.
    async fn count_rare(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        plan: &Plan,
        counts: &Counts,
        reference: &Arc<Reference>,
    ) -> Result<Vec<Counts>, DomainError> {
        let mut rare = Vec::new();
        if counts.accuracy != FacetAccuracy::Estimate {
            return Ok(rare);
        }
        let sight = list.query.sight;
        let filter = crate::filter::resolve(&pass.filter, sight, reference, self.currency())?;
        for key in pass.named_specs().take(MAX_CHOSEN) {
            let mut parts = vec![filter.clone(), carries(key.name(), reference)];
            parts.extend(list.search.as_ref().map(crate::search::Search::condition));
            let Some(condition) = self.countable(list, Condition::All(parts)).await? else {
                continue;
            };
            let (as_of, wanted) = (self.now(), TallyFields::only(std::slice::from_ref(key)));
            let tally = self
                .tally(
                    &condition,
                    wanted,
                    (self.most_read().into(), None),
                    reference,
                )
                .await?;
            rare.extend(tally.map(|tally| Counts {
                panel: panel::panel(&tally, reference, &plan.units, usize::MAX),
                accuracy: FacetAccuracy::Exact,
                current: true,
                sample: None,
                counted: Vec::new(),
                as_of,
            }));
        }
        Ok(rare)
    }

    /// Sees to it that texts and answers that the filter chooses are among the values, with their
    /// exact number: of a panel that was precomputed or of a sample they may be missing. Where a
    /// search would have to look through too many for that, the number is that of the sample.
    async fn count_chosen(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        plan: &Plan,
        counts: &mut Counts,
        reference: &Arc<Reference>,
    ) -> Result<(), DomainError> {
        let Some([key]) = pass.facets.as_deref() else {
            return Ok(());
        };
        let chosen = plan.chosen_texts(key, reference);
        if chosen.is_empty() {
            return Ok(());
        }
        let at = counts.panel.facets.iter().position(|f| f.key == key.name());
        let at = at.unwrap_or_else(|| {
            counts.panel.facets.push(PanelFacet {
                key: key.name().to_owned(),
                products: 0,
                distinct: 0,
                data: PanelData::Text { values: Vec::new() },
            });
            counts.panel.facets.len() - 1
        });
        let PanelData::Text { values } = &mut counts.panel.facets[at].data else {
            return Ok(());
        };
        for text in chosen.into_iter().take(MAX_CHOSEN) {
            let folded = fold(&text);
            let known = values.iter().position(|value| fold(&value.value) == folded);
            if known.is_some() && counts.accuracy == FacetAccuracy::Exact {
                continue;
            }
            let filter = ProductFilter {
                and: Some(vec![pass.filter.clone(), shape::text_filter(key, &text)]),
                ..ProductFilter::default()
            };
            let count = self.count_all_of(list, &filter, reference).await?;
            match (known, count) {
                (Some(known), Some(count)) => values[known].count = count,
                // It stays an estimate, like the others.
                (Some(_), None) => {}
                (None, count) => values.push(PanelValue {
                    label: text.clone(),
                    value: text.clone(),
                    count: count.unwrap_or(0),
                }),
            }
            if count.is_some() {
                counts.counted.push(folded);
            }
        }
        Ok(())
    }

    /// How many products a filter and the search of a list find; `None` when a search would have to
    /// look through too many.
    async fn count_all_of(
        &self,
        list: &ListedProducts,
        filter: &ProductFilter,
        reference: &Reference,
    ) -> Result<Option<u64>, DomainError> {
        let sight = list.query.sight;
        let mut parts = vec![crate::filter::resolve(
            filter,
            sight,
            reference,
            self.currency(),
        )?];
        parts.extend(list.search.as_ref().map(crate::search::Search::condition));
        let mut condition = Condition::All(parts);
        if condition.is_nothing() {
            return Ok(Some(0));
        }
        if list.search.is_some() {
            match self.countable(list, condition).await? {
                Some(countable) => condition = countable,
                None => return Ok(None),
            }
        }
        self.read(|store| async move { store.count_products(&condition, MAX_EXACT).await })
            .await
            .map(Some)
    }

    /// What every category page shows beside its own facets, found without reading products.
    async fn count_categories(&self) -> Result<Counts, DomainError> {
        let as_of = self.now();
        let counts = self.own_counts().await?.by_size();
        let products = counts.iter().map(|(_, count)| count).sum();
        let facet = PanelFacet {
            key: FacetKey::Category.name().to_owned(),
            products,
            distinct: counts.len().try_into().unwrap_or(u64::MAX),
            data: PanelData::Category { counts },
        };
        Ok(Counts {
            panel: Panel {
                products,
                facets: vec![facet],
                ..Panel::default()
            },
            accuracy: FacetAccuracy::Exact,
            current: true,
            sample: None,
            counted: Vec::new(),
            as_of,
        })
    }

    async fn count_live(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        plan: &Plan,
        wanted: TallyFields,
        reference: &Arc<Reference>,
    ) -> Result<Counts, DomainError> {
        let sight = list.query.sight;
        let condition = crate::filter::resolve(&pass.filter, sight, reference, self.currency())?;
        let condition = match &list.search {
            Some(search) => Condition::All(vec![condition, search.condition()]),
            None => condition,
        };
        let as_of = self.now();
        // A key that is chosen from keeps all its values, so that the chosen ones are among them.
        let limit = if pass.is_of_chosen(plan) {
            usize::MAX
        } else {
            plan.limit.max(KEPT_VALUES)
        };
        let panel = |tally: &FacetTally| panel::panel(tally, reference, &plan.units, limit);
        if condition.is_nothing() {
            return Ok(Counts {
                panel: panel(&FacetTally::new(wanted)),
                accuracy: FacetAccuracy::Exact,
                current: true,
                sample: None,
                counted: Vec::new(),
                as_of,
            });
        }
        if let Some(condition) = self.countable(list, condition.clone()).await?
            && let Some(tally) = self
                .tally(
                    &condition,
                    wanted.clone(),
                    (self.most_read().into(), None),
                    reference,
                )
                .await?
        {
            return Ok(Counts {
                panel: panel(&tally),
                accuracy: FacetAccuracy::Exact,
                current: true,
                sample: None,
                counted: Vec::new(),
                as_of,
            });
        }
        let (tally, sample) = self.sample(&condition, wanted, reference).await?;
        let accuracy = if sample.is_all() {
            FacetAccuracy::Exact
        } else {
            FacetAccuracy::Estimate
        };
        Ok(Counts {
            panel: panel(&tally),
            accuracy,
            current: true,
            sample: (!sample.is_all()).then_some(sample),
            counted: Vec::new(),
            as_of,
        })
    }

    /// The condition, in the form that reads least, if few enough products have to be read to count
    /// those that fulfil it one by one. Where values or words bound what is read, the rarest of
    /// them decides: two common values that few products have together are sampled too, or the
    /// cost would grow with the catalogue.
    async fn countable(
        &self,
        list: &ListedProducts,
        condition: Condition,
    ) -> Result<Option<Condition>, DomainError> {
        let most = match list.search {
            Some(_) => self.most_searched(),
            None => self.most_read(),
        };
        self.read(|store| async move {
            let bound = store.bound(&condition, most).await?;
            let is_countable = if bound.is_exceeded() && !bound.decides {
                let most = u64::from(most);
                store.count_products(&condition, most + 1).await? <= most
            } else {
                !bound.is_exceeded()
            };
            Ok(is_countable.then(|| bound.lead(condition)))
        })
        .await
    }

    /// Counts all products that fulfil a condition, if they are at most so many.
    async fn tally(
        &self,
        condition: &Condition,
        wanted: TallyFields,
        (most, max_time): (u64, Option<Duration>),
        reference: &Reference,
    ) -> Result<Option<FacetTally>, DomainError> {
        let order = CountOrder {
            condition: condition.clone(),
            slots: None,
            most,
            max_time,
            renamed: renamed(reference),
        };
        let tally = FacetTally::new(wanted);
        // Waited for by the caller and not in the shield: who leaves does not count any more.
        let _turn = self.panel_memory().turn().await;
        self.read(|store| async move { store.tally(order, tally).await })
            .await
    }

    /// Counts a sample: first one slot, which tells how many more are needed.
    async fn sample(
        &self,
        condition: &Condition,
        wanted: TallyFields,
        reference: &Reference,
    ) -> Result<(FacetTally, Sample), DomainError> {
        let ids = reference
            .categories
            .all()
            .iter()
            .map(|category| category.id);
        let condition = Condition::All(vec![condition.clone(), Condition::Category(ids.collect())]);
        let read = condition.clone();
        let order = move |slots| CountOrder {
            condition: condition.clone(),
            slots: Some(slots),
            most: u64::MAX - 1,
            max_time: None,
            renamed: HashMap::new(),
        };
        let renamed = renamed(reference);
        let (tally, most) = (FacetTally::new(wanted), u64::from(self.most_read()));
        let _turn = self.panel_memory().turn().await;
        self.read(|store| async move {
            let order = |slots| CountOrder {
                renamed: renamed.clone(),
                ..order(slots)
            };
            let whole = "a sample without a limit is read whole";
            let tally = store.tally(order((0, 1)), tally).await?.expect(whole);
            let in_one = tally.products().max(1);
            // A sample reads more than it finds where the filter says more than what it is read by.
            let read = store.read_per_slot(&read).await?.max(1);
            let most = most.div_ceil(read);
            let slots = SAMPLE
                .div_ceil(in_one)
                .min(most)
                .clamp(1, u64::from(vitrine_model::derived::SLOTS));
            let slots = u8::try_from(slots).expect("at most a hundred");
            let tally = if slots > 1 {
                store.tally(order((1, slots)), tally).await?.expect(whole)
            } else {
                tally
            };
            Ok((tally, Sample::of_slots(slots)))
        })
        .await
    }

    /// The kept panel of a scope, and the sum of the counters that the scope has now.
    async fn kept_panel(
        &self,
        scope: &Scope,
        reference: &Reference,
    ) -> Result<(Option<FacetSnapshot>, i64), DomainError> {
        let name = scope.name.clone();
        let categories = scope.categories.clone();
        let (kept, sum) = self
            .read(|store| async move {
                futures_util::future::try_join(
                    store.panel(&name),
                    store.generation(categories.as_deref()),
                )
                .await
            })
            .await?;
        let read = |kept: Kept| {
            // A panel of another release may be of another form: then it is counted anew.
            let panel: Panel = serde_json::from_str(&kept.counted).ok()?;
            let generation = generation::of_panel(scope, sum, &panel.keys, reference);
            Some(FacetSnapshot {
                current: kept.generation == generation,
                as_of: kept.as_of,
                panel,
            })
        };
        Ok((kept.and_then(read), sum))
    }

    /// Keeps a panel that was counted after the counters of its scope had this sum.
    async fn keep_panel(
        &self,
        scope: &Scope,
        sum: i64,
        panel: &Panel,
        as_of: Timestamp,
        reference: &Reference,
    ) -> Result<(), DomainError> {
        let counted = serde_json::to_string(panel).expect("panels are plain data");
        let kept = Kept {
            generation: generation::of_panel(scope, sum, &panel.keys, reference),
            as_of,
            counted,
            products: i64::try_from(panel.products).unwrap_or(i64::MAX),
        };
        let name = scope.name.clone();
        self.write(|store| async move { store.keep_panel(&name, &kept).await })
            .await
    }
}

/// A panel that was counted before.
struct FacetSnapshot {
    panel: Panel,
    as_of: Timestamp,
    /// Whether a new count would be the same, but for ratings.
    current: bool,
}

/// A set of products that panels are kept for: all that are on sale, or those of a category and
/// all below it.
#[derive(Clone, Debug)]
struct Scope {
    name: String,
    categories: Option<Vec<CategoryId>>,
}

impl Scope {
    fn all() -> Self {
        Self {
            name: "all".to_owned(),
            categories: None,
        }
    }

    fn category(id: CategoryId, reference: &Reference) -> Self {
        Self {
            name: id.to_string(),
            categories: Some(reference.categories.subtree(id)),
        }
    }

    /// The scope that a filter lies within, whatever else it says.
    fn around(filter: &ProductFilter, sight: Visibility, reference: &Reference) -> Option<Self> {
        if sight != Visibility::Public {
            return None;
        }
        match filter.category.as_deref() {
            None => Some(Self::all()),
            Some([slug]) => {
                let category = reference.categories.by_slug(slug)?;
                Some(Self::category(category.id, reference))
            }
            Some(_) => None,
        }
    }

    /// The scope that a filter stands for, if it says nothing but at most one category.
    fn of(filter: &ProductFilter, query: &ProductsQuery, reference: &Reference) -> Option<Self> {
        if query.search.is_some() {
            return None;
        }
        let bare = |part: &ProductFilter| ProductFilter {
            category: None,
            and: None,
            specs: part.specs.clone().filter(|specs| !specs.is_empty()),
            ..part.clone()
        };
        let empty = ProductFilter::default();
        let says_more = |part: &ProductFilter| bare(part) != empty;
        let mut inner = filter.and.iter().flatten();
        if says_more(filter)
            || inner.any(|part| says_more(part) || part.category.is_some() || part.and.is_some())
        {
            return None;
        }
        Self::around(filter, query.sight, reference)
    }
}

/// That products have a key, under whatever name.
fn carries(key: &str, reference: &Reference) -> Condition {
    let names = reference.dictionary.stored_names(key).into_iter();
    let mut names: Vec<Condition> = names
        .map(|name| Condition::SpecExists {
            key: name.to_owned(),
            qualifier: None,
        })
        .collect();
    match names.len() {
        1 => names.remove(0),
        _ => Condition::Any(names),
    }
}

/// Names that products may still carry for keys they were merged into.
fn renamed(reference: &Reference) -> HashMap<String, String> {
    let absorbed = |key: &SpecKey| {
        let main = key.key.clone();
        let pair = move |name: &String| (name.clone(), main.clone());
        key.absorbing.iter().map(pair).collect::<Vec<_>>()
    };
    reference
        .dictionary
        .keys()
        .iter()
        .flat_map(absorbed)
        .collect()
}

impl Plan {
    fn new(
        filter: &ProductFilter,
        wanted: FacetsQuery,
        reference: &Reference,
    ) -> Result<Self, DomainError> {
        if !(1..=MAX_FACET_VALUES).contains(&wanted.limit) {
            let reason = format!("must be 1 to {MAX_FACET_VALUES}, not {}", wanted.limit);
            return Err(DomainError::invalid("limit", reason));
        }
        let keys = wanted
            .keys
            .map(|keys| named(&keys, reference))
            .transpose()?;
        let mut selected: Vec<FacetKey> = Vec::new();
        for key in filter.selections() {
            let key = match key {
                FacetKey::Spec(name) => reference
                    .dictionary
                    .get(&name)
                    .map(|entry| FacetKey::Spec(entry.key.clone())),
                other => Some(other),
            };
            selected.extend(key.filter(|key| !selected.contains(key)));
        }
        Ok(Self {
            filter: filter.clone(),
            keys,
            limit: wanted.limit,
            units: Units::new(&wanted.display_units, reference)?,
            selected,
        })
    }

    /// Whether a panel that was precomputed has what is asked for.
    fn is_usual(&self) -> bool {
        self.limit <= KEPT_VALUES && self.units.is_usual()
    }

    /// The texts that the filter chooses of a key, as written.
    fn chosen_texts(&self, key: &FacetKey, reference: &Reference) -> Vec<String> {
        let texts = match key {
            FacetKey::Brand => self.filter.selected_brands(),
            FacetKey::Country => self.filter.selected_countries(),
            other => {
                let is_it = |name: &str| is_name_of(name, other.name(), reference);
                self.filter.selected_texts(&is_it)
            }
        };
        texts.into_iter().map(str::to_owned).collect()
    }

    /// One pass for everything that is not chosen from, and one for each key that is.
    fn passes(
        &self,
        filter: &ProductFilter,
        reference: &Reference,
    ) -> Result<Vec<Pass>, DomainError> {
        let asked = |key: &FacetKey| {
            let asked = self.keys.as_ref().is_none_or(|keys| keys.contains(key));
            asked && is_facet(key, reference)
        };
        let chosen: Vec<&FacetKey> = self.selected.iter().filter(|key| asked(key)).collect();
        if chosen.len() > MAX_CHOSEN {
            let reason = format!(
                "the filter chooses from {} keys, and facets of {MAX_CHOSEN} such keys can be \
                 counted at once: name those that are needed",
                chosen.len()
            );
            return Err(DomainError::invalid("keys", reason));
        }
        let mut passes = Vec::new();
        for key in chosen {
            passes.push(Pass {
                filter: without(filter, key, reference),
                facets: Some(vec![key.clone()]),
            });
        }
        let others = self.keys.as_ref().map(|keys| {
            let free = keys.iter().filter(|key| !self.selected.contains(key));
            free.cloned().collect::<Vec<_>>()
        });
        if others.as_ref().is_none_or(|others| !others.is_empty()) {
            passes.push(Pass {
                filter: filter.clone(),
                facets: others,
            });
        }
        Ok(passes)
    }

    /// The facets of a panel that a pass was made for.
    fn of_pass<'a>(
        &self,
        pass: &Pass,
        panel: &'a Panel,
        reference: &Reference,
    ) -> Vec<(FacetKey, &'a vitrine_model::facet::PanelFacet)> {
        let parsed = panel
            .facets
            .iter()
            .filter_map(|facet| Some((FacetKey::parse(&facet.key).ok()?, facet)));
        if let Some(facets) = &pass.facets {
            return parsed.filter(|(key, _)| facets.contains(key)).collect();
        }
        let others = parsed.filter(|(key, _)| !self.selected.contains(key));
        let mut specs = 0;
        others
            .filter(|(key, facet)| {
                if !matches!(key, FacetKey::Spec(_)) {
                    return true;
                }
                let offered = panel::is_offered(facet, reference) && specs < DEFAULT_FACETS;
                specs += usize::from(offered);
                offered
            })
            .collect()
    }

    /// In the order that was asked for; otherwise those that need no spec first and then keys by
    /// the number of products that have them.
    fn sort(&self, facets: &mut [Facet]) {
        if let Some(keys) = &self.keys {
            let place = |facet: &Facet| keys.iter().position(|key| *key == facet.key);
            facets.sort_by_key(place);
            return;
        }
        let place = |key: &FacetKey| FacetKey::BUILT_IN.iter().position(|known| known == key);
        facets.sort_by(|a, b| {
            let of = |facet: &Facet| place(&facet.key).unwrap_or(usize::MAX);
            of(a)
                .cmp(&of(b))
                .then_with(|| b.products.value.cmp(&a.products.value))
                .then_with(|| a.key.name().cmp(b.key.name()))
        });
    }
}

/// The keys that were named, aliases resolved; those that nobody knows are left out.
fn named(keys: &[String], reference: &Reference) -> Result<Vec<FacetKey>, DomainError> {
    if keys.len() > MAX_FACETS {
        let reason = format!("at most {MAX_FACETS} facets at once, not {}", keys.len());
        return Err(DomainError::invalid("keys", reason));
    }
    let mut all = Vec::with_capacity(keys.len());
    for (at, name) in keys.iter().enumerate() {
        let path = format!("keys[{at}]");
        let key = FacetKey::parse(name)
            .map_err(|wrong| DomainError::invalid(path.clone(), wrong.to_string()))?;
        let key = match key {
            FacetKey::Spec(name) => {
                let Some(entry) = reference.dictionary.get(&name) else {
                    continue;
                };
                if !entry.facetable || !entry.filterable {
                    let reason = format!("{} is not offered as a facet", entry.key);
                    return Err(DomainError::invalid(path, reason));
                }
                FacetKey::Spec(entry.key.clone())
            }
            other => other,
        };
        if !all.contains(&key) {
            all.push(key);
        }
    }
    Ok(all)
}

/// Whether facets of a key are offered at all.
fn is_facet(key: &FacetKey, reference: &Reference) -> bool {
    match key {
        FacetKey::Spec(key) => reference
            .dictionary
            .get(key)
            .is_some_and(|entry| entry.facetable && entry.filterable),
        _ => true,
    }
}

/// The filter without what it says about one key, whatever name it calls it by.
fn without(filter: &ProductFilter, key: &FacetKey, reference: &Reference) -> ProductFilter {
    match key {
        FacetKey::Spec(key) => filter.without_spec(&|name| is_name_of(name, key, reference)),
        other => filter.without(other),
    }
}

/// Whether a name, maybe an alias, means this key.
fn is_name_of(name: &str, key: &str, reference: &Reference) -> bool {
    reference
        .dictionary
        .get(name)
        .is_some_and(|entry| entry.key == key)
}
