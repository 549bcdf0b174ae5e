//! Facets: the counts of a filter panel. Each count is the number of products that a click on it
//! returns.
//!
//! The counts of a key ignore what the filter says about that key, so that they show what else
//! could be chosen. All keys without a selection are counted in one pass over the matching
//! products, and each key with a selection in a pass of its own. Up to 10,000 products (5,000 in a
//! search) are counted exactly; larger sets are estimated from a sample of about 7,000, and each
//! count then has a margin. The most frequent requests, whole categories, are precomputed and
//! stored with a generation that tells whether any product of the category has changed since.
//!
//! How a pass is counted:
//!
//! 1. Without a filter, or with one category only, the facets are taken from [`memory`], or the
//!    cached facet counts are read: one `find` for the snapshot and one covered query for the
//!    generation.
//! 2. Otherwise the products are counted from rows in memory ([`rows`]), if their categories fit there. What was counted is
//!    kept until one of the rows changes.
//! 3. Without rows, `Store::bound` finds from indexes alone whether at most 10,000 products (5,000
//!    in a search) can match. Where indexes cannot tell and no token bounds the filter, one count
//!    decides; for a filter by price or rating alone, up to five slots in a hundred if they are clear.
//! 4. Up to that number, `Store::tally` reads each matching product once and counts all facets in
//!    one pass.
//! 5. Above it, the products of one slot in a hundred are read first. Their number determines how
//!    many slots make a sample of about 7,000 products. `model::facet::Sample` turns the counts
//!    into estimates with margins.
//!
//! The passes of a request share the limit: those with the fewest products are counted exactly, and
//! samples of the others are smaller. See [`reads`].
//!
//! A request runs at most four passes at a time, and a process at most four counts
//! from products that are read. Exact counts of a whole category, unless from rows, are cached with the generation that was read before counting.

mod coverage;
mod display;
mod generation;
pub(crate) mod memory;
mod panel;
mod reads;
pub(crate) mod rows;
pub(crate) mod selectivity;
mod snapshots;

pub use crate::search::{SearchReading, SearchWord, WordReading};
pub use coverage::{KeyCoverage, SuggestedKey};
pub use snapshots::{PanelLimits, PanelState};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use rust_decimal::Decimal;
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{
    FacetKey, FacetTally, Panel, PanelData, PanelFacet, PanelValue, Sample, TallyFields,
};
use vitrine_model::filter::{Bounds, Condition, ProductFilter, SpecTest};
use vitrine_model::id::CategoryId;
use vitrine_model::money::Money;
use vitrine_model::spec::SpecKey;
use vitrine_model::text::fold;
use vitrine_storage::counts::{CountSnapshot, TallyRequest};

use crate::filter::{Hint, unknown_key_hint};
use crate::products::{ListedProducts, ProductsQuery, Visibility};
use crate::reference::Reference;
use crate::{Catalog, DomainError, LineLimiter};
use panel::Units;
use reads::{ReadBudget, Share};

/// The maximum number of keys with a selection that are counted in one request: each needs a pass
/// over the products.
const MAX_CHOSEN: usize = 10;
/// The maximum number of concurrent passes of a request.
const MAX_CONCURRENT_PASSES: usize = 4;
/// The number of values per facet in a stored panel. Facets with more values are counted for the
/// request.
pub const MAX_STORED_VALUES: usize = 50;
/// The maximum number of values per facet that can be requested.
pub const MAX_FACET_VALUES: usize = 200;
/// The maximum number of facets that can be requested by name.
pub const MAX_FACETS: usize = 50;
/// The number of spec facets returned when none are named.
const DEFAULT_FACETS: usize = 20;

/// How many slots are read, one after the other, to estimate whether a filter matches too many
/// products: one by price or rating alone, which no value bounds.
const ESTIMATED_SLOTS: [u8; 2] = [1, 5];

/// The requested facets.
#[derive(Clone, Debug, Default)]
pub struct FacetsQuery {
    /// The keys, in the order of the result; a selection suitable for the matching products when
    /// absent.
    pub keys: Option<Vec<String>>,
    /// The maximum number of values per facet: 1 to 200.
    pub limit: usize,
    /// The units to display quantities in: `(unit, only for this key)`.
    pub display_units: Vec<(String, Option<String>)>,
}

/// One facet.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// The key that it counts.
    pub key: FacetKey,
    /// The displayed name.
    pub label: String,
    /// The kind of its values.
    pub kind: FacetKind,
    /// How accurate the counts are.
    pub accuracy: FacetAccuracy,
    /// When it was counted.
    pub as_of: Timestamp,
    /// The number of sampled products, for an estimate.
    pub sample_size: Option<u64>,
    /// The number of products that have a value of this key.
    pub products: Count,
    /// The number of different values counted.
    pub distinct_values: u64,
    /// The values or ranges.
    pub values: Vec<FacetValue>,
    /// Minimum and maximum of numbers and quantities, in `unit`.
    pub numbers: Option<(f64, f64)>,
    /// The unit of quantities.
    pub unit: Option<String>,
    /// Minimum and maximum of dates.
    pub dates: Option<(Timestamp, Timestamp)>,
    /// Minimum and maximum of prices.
    pub prices: Option<(Money, Money)>,
}

/// The kind of a facet's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FacetKind {
    /// Texts.
    Text,
    /// True and false.
    Boolean,
    /// Ranges of plain numbers.
    Number,
    /// Ranges of quantities.
    Quantity,
    /// Ranges of dates.
    Date,
    /// Categories.
    Category,
    /// Brands.
    Brand,
    /// Ranges of prices.
    Price,
    /// Minimum numbers of stars.
    Rating,
    /// Countries of suppliers.
    SupplierCountry,
}

/// The accuracy of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FacetAccuracy {
    /// They equal the number of products that a click returns.
    Exact,
    /// They are estimated from a sample; each has a margin.
    Estimate,
    /// They were counted at `as_of` and may be outdated.
    Precomputed,
}

/// A number of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub value: u64,
    /// The error bound: the true number differs by at most this.
    pub margin: u64,
}

/// One value or range of a facet.
#[derive(Clone, Debug, PartialEq)]
pub struct FacetValue {
    /// The displayed text.
    pub label: String,
    /// The number of products when it is chosen and the rest of the filter is unchanged.
    pub count: Count,
    /// Whether the filter already chooses it.
    pub selected: bool,
    /// The condition of its filter; see [`Facet::filter`].
    pub choice: FacetChoice,
    /// For categories: the names from the root to this one.
    pub path: Vec<String>,
}

/// The condition of a value or range, on the key of its facet.
#[derive(Clone, Debug, PartialEq)]
pub enum FacetChoice {
    /// The text of a key, a brand, a country, or the slug of a category.
    Text(String),
    /// A truth value or a range of a spec key.
    Test(SpecTest),
    /// A range of prices in the shop's currency.
    Price(Bounds<Decimal>),
    /// At least this average rating.
    MinRating(f64),
}

impl Facet {
    /// Returns the filter that chooses one of its values. It replaces what the filter of the list says about this key.
    #[must_use]
    pub fn filter(&self, value: &FacetValue) -> ProductFilter {
        display::choice_filter(&self.key, &value.choice)
    }
}

/// The counts of one pass.
struct Counts {
    panel: Arc<Panel>,
    accuracy: FacetAccuracy,
    /// Whether a precomputed panel is known to be up to date, except for ratings.
    current: bool,
    sample: Option<Sample>,
    /// Folded texts that were counted exactly besides the sample.
    counted: Vec<String>,
    as_of: Timestamp,
}

impl Counts {
    fn exact(panel: impl Into<Arc<Panel>>, as_of: Timestamp) -> Self {
        Self {
            panel: panel.into(),
            accuracy: FacetAccuracy::Exact,
            current: true,
            sample: None,
            counted: Vec::new(),
            as_of,
        }
    }
}

/// One pass over the products.
struct Pass {
    filter: ProductFilter,
    /// The counted facets; when absent, all without a pass of their own.
    facets: Option<Vec<FacetKey>>,
}

impl Pass {
    /// Whether the pass is for a key with a selection.
    fn has_selection(&self, plan: &Plan) -> bool {
        let facets = self.facets.as_deref().unwrap_or_default();
        facets.iter().any(|key| plan.selected.contains(key))
    }

    /// Whether a precomputed panel has all requested keys that products have.
    fn is_covered_by(&self, snapshot: &FacetSnapshot) -> bool {
        let panel = &snapshot.panel;
        let has = |key: &FacetKey| panel.facets.iter().any(|facet| facet.key == key.name());
        let nobody_has = |key: &FacetKey| snapshot.current && panel.lacks(key.name());
        let mut named = self.named_specs();
        named.all(|key| has(key) || nobody_has(key))
    }

    /// The requested spec keys.
    fn named_specs(&self) -> impl Iterator<Item = &FacetKey> {
        let named = self.facets.iter().flatten();
        named.filter(|key| matches!(key, FacetKey::Spec(_)))
    }

    fn fields(&self) -> TallyFields {
        self.facets
            .as_deref()
            .map_or_else(TallyFields::all, TallyFields::only)
    }

    /// The facets to count for requests with these selections: without the selected ones, which have passes of their own.
    fn own_fields(&self, plan: &Plan) -> TallyFields {
        let others = || TallyFields::all_but(&plan.selected);
        self.facets
            .as_deref()
            .map_or_else(others, TallyFields::only)
    }
}

/// A pass before products are read.
enum Prepared {
    /// Counted without reading products.
    Counted(Counts),
    /// To be counted from products.
    Live(Box<LivePass>),
}

/// A pass that reads products.
struct LivePass {
    condition: Condition,
    fields: TallyFields,
    /// The condition in its cheapest form, and the maximum number of products that an exact count
    /// reads; `None` if they are too many.
    exact: Option<(Condition, u64)>,
    /// Where an exact count is stored: a scope, and the sum of its generations before counting.
    stored_as: Option<(Scope, i64)>,
    has_selection: bool,
}

/// A validated request.
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
    /// [`DomainError::Invalid`] for an invalid key, limit or unit, or when the filter has
    /// selections of too many keys to count at once.
    pub async fn facets(
        &self,
        list: &ListedProducts,
        request: FacetsQuery,
    ) -> Result<Arc<Vec<Facet>>, DomainError> {
        let query = &list.query;
        let reference = self.reference_for(query, request.keys.as_deref()).await?;
        let changes = self.changes().filter(|_| {
            let is_whole = Scope::of(&query.filter, query, &reference).is_some();
            is_whole && request.limit <= MAX_STORED_VALUES && request.display_units.is_empty()
        });
        let asked = changes.map(|changes| {
            let asked = (query.filter.simplified(), &request, reference.version());
            (format!("{asked:?}"), changes)
        });
        if let Some((asked, now)) = &asked
            && let Some(facets) = self.remembered_facets(asked, *now)
        {
            return Ok(facets);
        }
        let plan = Plan::new(&query.filter, request, &reference)?;
        let passes = plan.passes(&query.filter, &reference)?;
        let mut budget = ReadBudget::new(self.max_counted(list));
        let counted = self
            .count_passes(list, &passes, &plan, &mut budget, &reference)
            .await?;
        let is_current = counted.iter().all(|counts| counts.current);
        let mut facets = Vec::new();
        for (pass, counts) in passes.iter().zip(counted) {
            self.add_facets(
                &mut facets,
                (list, &plan),
                pass,
                counts,
                &mut budget,
                &reference,
            )
            .await?;
        }
        plan.sort(&mut facets);
        let facets = Arc::new(facets);
        if let Some((asked, read_after)) = asked.filter(|_| is_current) {
            self.remember_facets(asked, read_after, &facets);
        }
        Ok(facets)
    }

    /// Adds the facets of a pass, with the values that are counted apart: rare keys and chosen values.
    async fn add_facets(
        &self,
        facets: &mut Vec<Facet>,
        (list, plan): (&ListedProducts, &Plan),
        pass: &Pass,
        counts: Counts,
        budget: &mut ReadBudget,
        reference: &Arc<Reference>,
    ) -> Result<(), DomainError> {
        let filter = &list.query.filter;
        let rare = self
            .count_rare((list, plan), pass, &counts, budget, reference)
            .await?;
        let is_counted = |facets: &[Facet]| match pass.facets.as_deref() {
            Some([key]) => facets.iter().any(|facet| facet.key == *key),
            _ => false,
        };
        for mut counts in rare.into_iter().chain([counts]) {
            if is_counted(facets) {
                continue;
            }
            let counts = &mut counts;
            self.count_chosen((list, plan), pass, counts, budget, reference)
                .await?;
            let display = display::FacetDisplay {
                reference,
                filter,
                currency: self.currency(),
                limit: plan.limit,
                counts,
            };
            for (key, facet) in plan.of_pass(pass, &counts.panel, reference) {
                let known = facets.iter().any(|known| known.key == key);
                facets.extend((!known).then(|| display.facet(key, facet)).flatten());
            }
        }
        Ok(())
    }

    /// A hint for each requested spec key that no product has ever had.
    #[must_use]
    pub fn facet_hints(&self, keys: &[String], visibility: Visibility) -> Vec<Hint> {
        let reference = self.reference_seen_with(visibility);
        // More are refused.
        let asked = keys.iter().take(MAX_FACETS).enumerate();
        let unknown = asked.filter(|(_, key)| !is_known(&reference, key));
        let hint =
            |(at, key): (usize, &String)| unknown_key_hint(&format!("keys[{at}]"), key, &reference);
        unknown.map(hint).collect()
    }

    /// The reference data, reloaded if it lacks something that the request names.
    async fn reference_for(
        &self,
        query: &ProductsQuery,
        keys: Option<&[String]>,
    ) -> Result<Arc<Reference>, DomainError> {
        let (reference, _) = self
            .product_condition(&query.filter, query.visibility)
            .await?;
        let Some(keys) = keys else {
            return Ok(reference);
        };
        let known = |reference: &Reference| keys.iter().all(|key| is_known(reference, key));
        self.reference_knowing(query.visibility, known).await
    }

    /// The counts of all passes, which share a budget.
    async fn count_passes(
        &self,
        list: &ListedProducts,
        passes: &[Pass],
        plan: &Plan,
        budget: &mut ReadBudget,
        reference: &Arc<Reference>,
    ) -> Result<Vec<Counts>, DomainError> {
        let prepared: Vec<_> = passes
            .iter()
            .map(|pass| self.prepare_pass(list, pass, plan, reference).boxed())
            .collect();
        let prepared: Vec<Prepared> = stream::iter(prepared)
            .buffered(MAX_CONCURRENT_PASSES)
            .try_collect()
            .await?;
        let live = prepared.iter().filter_map(|prepared| match prepared {
            Prepared::Live(live) => Some(live.exact.as_ref().map(|(_, products)| *products)),
            Prepared::Counted(_) => None,
        });
        let sizes: Vec<Option<u64>> = live.collect();
        let mut shares = budget.share(&sizes).into_iter();
        let counted: Vec<_> = prepared
            .into_iter()
            .map(|prepared| match prepared {
                Prepared::Counted(counts) => async { Ok(counts) }.boxed(),
                Prepared::Live(live) => {
                    let share = shares.next().expect("one for each pass");
                    self.count_live(*live, share, plan, reference).boxed()
                }
            })
            .collect();
        let counted = stream::iter(counted).buffered(MAX_CONCURRENT_PASSES);
        counted.try_collect().await
    }

    /// Finds what is known about a pass without reading products.
    async fn prepare_pass(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        plan: &Plan,
        reference: &Arc<Reference>,
    ) -> Result<Prepared, DomainError> {
        let scope = Scope::of(&pass.filter, &list.query, reference);
        let scope = scope.filter(|_| plan.is_default());
        let is_whole_shop = scope
            .as_ref()
            .is_some_and(|scope| scope.categories.is_none());
        if is_whole_shop && pass.facets.as_deref() == Some(&[FacetKey::Category]) {
            match self.count_categories().await {
                // They are being counted; until then a sample is used.
                Err(DomainError::Unavailable(_)) => {}
                counts => return counts.map(Prepared::Counted),
            }
        }
        let condition = self.pass_condition(list, pass, reference)?;
        // A few facets are counted faster than a panel is read.
        let rows_first = scope.is_none() || pass.facets.is_some();
        if rows_first
            && let Some(counts) = self
                .count_rows((list, plan), pass, &condition, reference)
                .await?
        {
            return Ok(Prepared::Counted(counts));
        }
        let Some(scope) = scope else {
            return self
                .prepare_live((list, plan), pass, condition, None, reference)
                .await;
        };
        let (snapshot, sum) = self.get_snapshot(&scope, reference).await?;
        let snapshot = snapshot.filter(|snapshot| pass.is_covered_by(snapshot));
        if let Some(snapshot) = snapshot.as_ref().filter(|snapshot| snapshot.current) {
            return Ok(Prepared::Counted(snapshot.counts()));
        }
        // Not stored: rows may lack a change that the generation already tells of.
        if !rows_first
            && let Some(counts) = self
                .count_rows((list, plan), pass, &condition, reference)
                .await?
        {
            return Ok(Prepared::Counted(counts));
        }
        let stored_as = pass.facets.is_none().then_some((scope, sum));
        // What is too much to count while the caller waits is served from the snapshot.
        let max = u64::from(self.max_products_read());
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.panel.products > max) {
            return Ok(Prepared::Counted(snapshot.counts()));
        }
        self.prepare_live((list, plan), pass, condition, stored_as, reference)
            .await
    }

    /// The products of a pass.
    fn pass_condition(
        &self,
        list: &ListedProducts,
        pass: &Pass,
        reference: &Reference,
    ) -> Result<Condition, DomainError> {
        let visibility = list.query.visibility;
        let condition =
            crate::filter::resolve(&pass.filter, visibility, reference, self.currency())?;
        Ok(match &list.search {
            Some(search) => Condition::All(vec![condition, search.condition()]),
            None => condition,
        })
    }

    /// Counts a pass from rows in memory, if they are there.
    async fn count_rows(
        &self,
        (list, plan): (&ListedProducts, &Plan),
        pass: &Pass,
        condition: &Condition,
        reference: &Arc<Reference>,
    ) -> Result<Option<Counts>, DomainError> {
        let as_of = self.now();
        if condition.is_nothing() {
            return Ok(None);
        }
        let Some(rows) = self.rows_for(list, condition, reference).await? else {
            return Ok(None);
        };
        let limit = plan.kept_values(pass.has_selection(plan));
        let asked = plan.units.is_default().then(|| {
            format!(
                "{:?}",
                (
                    condition,
                    &pass.facets,
                    &plan.selected,
                    limit,
                    reference.version()
                )
            )
        });
        if let Some(panel) = asked
            .as_ref()
            .and_then(|asked| self.kept_panel(asked, &rows))
        {
            return Ok(Some(Counts::exact(panel, as_of)));
        }
        let Some((tally, version)) =
            rows::tally(&rows, condition, &pass.own_fields(plan), limit).await
        else {
            return Ok(None);
        };
        let panel = if pass.facets.is_some() {
            panel::panel(&tally, reference, &plan.units, limit)
        } else {
            panel::panel_of_offered(&tally, reference, (&plan.units, limit), DEFAULT_FACETS)
        };
        let panel = Arc::new(panel);
        if let Some(asked) = asked {
            self.keep_panel(asked, version, &panel);
        }
        Ok(Some(Counts::exact(panel, as_of)))
    }

    async fn prepare_live(
        &self,
        (list, plan): (&ListedProducts, &Plan),
        pass: &Pass,
        condition: Condition,
        stored_as: Option<(Scope, i64)>,
        reference: &Reference,
    ) -> Result<Prepared, DomainError> {
        let exact = if condition.is_nothing() {
            Some((condition.clone(), 0))
        } else {
            self.countable(list, condition.clone(), reference).await?
        };
        Ok(Prepared::Live(Box::new(LivePass {
            condition,
            fields: pass.fields(),
            exact,
            stored_as,
            has_selection: pass.has_selection(plan),
        })))
    }

    /// Counts requested keys individually when all matching products are too many: for a key that
    /// few products have, only those have to be read.
    async fn count_rare(
        &self,
        (list, plan): (&ListedProducts, &Plan),
        pass: &Pass,
        counts: &Counts,
        budget: &mut ReadBudget,
        reference: &Arc<Reference>,
    ) -> Result<Vec<Counts>, DomainError> {
        let mut rare = Vec::new();
        if counts.accuracy != FacetAccuracy::Estimate {
            return Ok(rare);
        }
        let visibility = list.query.visibility;
        let filter = crate::filter::resolve(&pass.filter, visibility, reference, self.currency())?;
        for key in pass.named_specs().take(MAX_CHOSEN) {
            let mut parts = vec![filter.clone(), has_key(key.name(), reference)];
            parts.extend(list.search.as_ref().map(crate::search::Search::condition));
            let countable = self
                .countable(list, Condition::All(parts), reference)
                .await?;
            let Some((condition, _)) = countable.filter(|(_, products)| budget.take(*products))
            else {
                continue;
            };
            let (as_of, fields) = (self.now(), TallyFields::only(std::slice::from_ref(key)));
            let tally = self
                .tally(
                    &condition,
                    fields,
                    (self.max_products_read().into(), None),
                    reference,
                )
                .await?;
            rare.extend(tally.map(|tally| {
                Counts::exact(
                    panel::panel(&tally, reference, &plan.units, usize::MAX),
                    as_of,
                )
            }));
        }
        Ok(rare)
    }

    /// Returns the maximum number of products that are read to count the facets of a list. It is
    /// halved if the list also reads products to sort them by a spec key.
    fn max_counted(&self, list: &ListedProducts) -> u64 {
        let query = &list.query;
        let most = u64::from(self.max_products_read());
        match (&query.sort_spec, &query.fields) {
            (Some(_), Some(_)) => most / 2,
            _ => most,
        }
    }

    /// Adds selected texts to the values, with their exact counts. A panel lacks them if no product has them, and may lack
    /// them if it is precomputed or a sample. If too much would have to be read for that, the count remains an estimate.
    async fn count_chosen(
        &self,
        (list, plan): (&ListedProducts, &Plan),
        pass: &Pass,
        counts: &mut Counts,
        budget: &mut ReadBudget,
        reference: &Arc<Reference>,
    ) -> Result<(), DomainError> {
        let Some([key]) = pass.facets.as_deref() else {
            return Ok(());
        };
        let chosen = plan.chosen_texts(key, reference);
        let panel = &counts.panel;
        let is_exact = counts.accuracy == FacetAccuracy::Exact;
        let mut added = chosen.iter().take(MAX_CHOSEN);
        if chosen.is_empty() || (is_exact && added.all(|text| panel.has_text(key.name(), text))) {
            return Ok(());
        }
        let facets = &mut Arc::make_mut(&mut counts.panel).facets;
        let at = facets.iter().position(|f| f.key == key.name());
        let at = at.unwrap_or_else(|| {
            facets.push(PanelFacet {
                key: key.name().to_owned(),
                products: 0,
                distinct: 0,
                data: PanelData::Text { values: Vec::new() },
            });
            facets.len() - 1
        });
        let PanelData::Text { values } = &mut facets[at].data else {
            return Ok(());
        };
        for text in chosen.into_iter().take(MAX_CHOSEN) {
            let folded = fold(&text);
            let known = values.iter().position(|value| fold(&value.value) == folded);
            if known.is_some() && is_exact {
                continue;
            }
            // One filter that contains both could exceed the size limits of filters.
            let filters = [&pass.filter, &display::text_filter(key, &text)];
            let count = self.count_matches(list, filters, budget, reference).await?;
            match (known, count) {
                (Some(known), Some(count)) => values[known].count = count,
                // It remains an estimate like the others.
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

    /// The number of products that match two filters and the search of a list; `None` when too much
    /// would have to be read.
    async fn count_matches(
        &self,
        list: &ListedProducts,
        filters: [&ProductFilter; 2],
        budget: &mut ReadBudget,
        reference: &Reference,
    ) -> Result<Option<u64>, DomainError> {
        let visibility = list.query.visibility;
        let mut parts = Vec::with_capacity(3);
        for filter in filters {
            let currency = self.currency();
            parts.push(crate::filter::resolve(
                filter, visibility, reference, currency,
            )?);
        }
        parts.extend(list.search.as_ref().map(crate::search::Search::condition));
        let mut condition = Condition::All(parts);
        if condition.is_nothing() {
            return Ok(Some(0));
        }
        if let Some(rows) = self.rows_for(list, &condition, reference).await?
            && let Some(count) = rows::count(&rows, &condition).await
        {
            return Ok(Some(count));
        }
        if list.search.is_some() {
            match self.countable(list, condition, reference).await? {
                Some((countable, _)) => condition = countable,
                None => return Ok(None),
            }
        }
        let max = budget.entries();
        let limits = (self.max_examined(), visibility);
        let counted = self.count_examining(&condition, max + 1, limits).await?;
        budget.spend_entries(counted.products);
        let is_known = counted.is_complete && counted.products <= max;
        Ok(is_known.then_some(counted.products))
    }

    /// The category facet of the whole shop, from stored counts, without reading products.
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
        Ok(Counts::exact(
            Panel {
                products,
                facets: vec![facet],
                ..Panel::default()
            },
            as_of,
        ))
    }

    /// Counts a pass from products: exactly if its share allows, otherwise from a sample.
    async fn count_live(
        &self,
        live: LivePass,
        share: Share,
        plan: &Plan,
        reference: &Arc<Reference>,
    ) -> Result<Counts, DomainError> {
        let as_of = self.now();
        let limit = plan.kept_values(live.has_selection);
        let panel = |tally: &FacetTally| panel::panel(tally, reference, &plan.units, limit);
        if live.condition.is_nothing() {
            return Ok(Counts::exact(panel(&FacetTally::new(live.fields)), as_of));
        }
        let max = u64::from(self.max_products_read());
        let reads = match (share, live.exact) {
            (Share::Sample(reads), _) => reads,
            (Share::All(_), None) => max,
            (Share::All(_), Some((condition, _))) => {
                let fields = live.fields.clone();
                let limits = (max, None);
                let tally = self.tally(&condition, fields, limits, reference).await?;
                if let Some(tally) = tally {
                    let counts = Counts::exact(panel(&tally), as_of);
                    self.store_counts(live.stored_as, &counts, reference).await;
                    return Ok(counts);
                }
                max
            }
        };
        let (tally, sample) = self
            .sample(&live.condition, live.fields, reads, reference)
            .await?;
        let is_all = sample.is_all();
        let counts = Counts {
            panel: panel(&tally).into(),
            accuracy: if is_all {
                FacetAccuracy::Exact
            } else {
                FacetAccuracy::Estimate
            },
            current: true,
            sample: (!is_all).then_some(sample),
            counted: Vec::new(),
            as_of,
        };
        if is_all {
            self.store_counts(live.stored_as, &counts, reference).await;
        }
        Ok(counts)
    }

    /// Stores exact counts for the next requests. They are valid even if they cannot be stored.
    async fn store_counts(
        &self,
        stored_as: Option<(Scope, i64)>,
        counts: &Counts,
        reference: &Reference,
    ) {
        let Some((scope, sum)) = stored_as else {
            return;
        };
        let saved = self.save_panel(&scope, sum, &counts.panel, counts.as_of, reference);
        if let Err(error) = saved.await {
            log_unstored_panel(&error);
        }
    }

    /// Returns the condition in its cheapest form, and the maximum number of products that an exact
    /// count reads, if they are few enough. When values or words bound what is read, the rarest of
    /// them decides: two common values that few products share are sampled too, otherwise the cost
    /// would grow with the catalogue. A filter by price or rating alone is counted only if a few slots
    /// do not tell.
    async fn countable(
        &self,
        list: &ListedProducts,
        condition: Condition,
        reference: &Reference,
    ) -> Result<Option<(Condition, u64)>, DomainError> {
        let max = match list.search {
            Some(_) => self.max_searched(),
            None => self.max_products_read(),
        };
        let in_categories = in_categories(&condition, reference);
        let examined = self.max_examined();
        self.read(|store| async move {
            let bound = store.bound(&condition, max).await?;
            let max = u64::from(max);
            let mut products = bound.products;
            if bound.is_exceeded() && !bound.decides {
                let mut clear = None;
                let slots = ESTIMATED_SLOTS.iter().filter(|_| bound.counts_by_scanning);
                for slots in slots {
                    let estimate = store.estimate_products(&in_categories, *slots).await?;
                    if *estimate.start() > max || *estimate.end() <= max {
                        clear = Some(*estimate.end());
                        break;
                    }
                }
                products = if let Some(most) = clear {
                    most
                } else {
                    let counted = store.count_within(&condition, max + 1, examined).await?;
                    if counted.is_complete {
                        counted.products
                    } else {
                        max + 1
                    }
                };
            }
            Ok((products <= max).then(|| (bound.lead(condition), products)))
        })
        .await
    }

    /// Counts all matching products exactly, unless they are more than `max`.
    async fn tally(
        &self,
        condition: &Condition,
        fields: TallyFields,
        (max, max_time): (u64, Option<Duration>),
        reference: &Reference,
    ) -> Result<Option<FacetTally>, DomainError> {
        let request = TallyRequest {
            condition: condition.clone(),
            slots: None,
            max,
            max_time,
            renamed: renamed(reference),
        };
        let tally = FacetTally::new(fields);
        // Acquired by the caller, not in the detached task: a caller that goes away releases it.
        let _permit = self.panel_cache().counting_permit().await;
        self.read(|store| async move { store.tally(request, tally).await })
            .await
    }

    /// Counts a sample that reads at most about `reads` products: first one slot, from which the
    /// number of further slots follows.
    async fn sample(
        &self,
        condition: &Condition,
        fields: TallyFields,
        reads: u64,
        reference: &Reference,
    ) -> Result<(FacetTally, Sample), DomainError> {
        let condition = in_categories(condition, reference);
        let read = condition.clone();
        let request = move |slots| TallyRequest {
            condition: condition.clone(),
            slots: Some(slots),
            max: u64::MAX - 1,
            max_time: None,
            renamed: HashMap::new(),
        };
        let renamed = renamed(reference);
        let (tally, size) = (FacetTally::new(fields), Share::sample_size(reads));
        let _permit = self.panel_cache().counting_permit().await;
        self.read(|store| async move {
            let request = |slots| TallyRequest {
                renamed: renamed.clone(),
                ..request(slots)
            };
            let whole = "a sample without a limit is read whole";
            let tally = store.tally(request((0, 1)), tally).await?.expect(whole);
            let in_one = tally.products().max(1);
            // A sample reads more products than it finds when the filter has conditions beyond the
            // index.
            let per_slot = store.max_reads_per_slot(&read).await?.max(1);
            let max = reads.div_ceil(per_slot);
            let slots = size
                .div_ceil(in_one)
                .min(max)
                .clamp(1, u64::from(vitrine_model::derived::SLOTS));
            let slots = u8::try_from(slots).expect("at most a hundred");
            let tally = if slots > 1 {
                store.tally(request((1, slots)), tally).await?.expect(whole)
            } else {
                tally
            };
            Ok((tally, Sample::of_slots(slots)))
        })
        .await
    }

    /// The snapshot of a scope, and the current sum of its generations.
    async fn get_snapshot(
        &self,
        scope: &Scope,
        reference: &Reference,
    ) -> Result<(Option<FacetSnapshot>, i64), DomainError> {
        let name = scope.name.clone();
        let categories = scope.categories.clone();
        let (snapshot, sum) = self
            .read(|store| async move {
                futures_util::future::try_join(
                    store.panel(&name),
                    store.generation(categories.as_deref()),
                )
                .await
            })
            .await?;
        let read = |snapshot: CountSnapshot| {
            // A panel of another release may have another format: it is then recounted.
            let panel: Panel = serde_json::from_str(&snapshot.counted).ok()?;
            let generation = generation::of_panel(scope, sum, &panel.keys, reference);
            Some(FacetSnapshot {
                current: snapshot.generation == generation,
                as_of: snapshot.as_of,
                panel,
            })
        };
        Ok((snapshot.and_then(read), sum))
    }

    /// Stores a panel that was counted after the generations of its scope had this sum.
    async fn save_panel(
        &self,
        scope: &Scope,
        sum: i64,
        panel: &Panel,
        as_of: Timestamp,
        reference: &Reference,
    ) -> Result<(), DomainError> {
        let counted = serde_json::to_string(panel).expect("panels are plain data");
        let snapshot = CountSnapshot {
            generation: generation::of_panel(scope, sum, &panel.keys, reference),
            as_of,
            counted,
            products: i64::try_from(panel.products).unwrap_or(i64::MAX),
        };
        let name = scope.name.clone();
        self.write(|store| async move { store.save_panel(&name, &snapshot).await })
            .await
    }
}

/// A stored panel.
struct FacetSnapshot {
    panel: Panel,
    as_of: Timestamp,
    /// Whether a recount would have the same result, except for ratings.
    current: bool,
}

impl FacetSnapshot {
    fn counts(&self) -> Counts {
        Counts {
            panel: Arc::new(self.panel.clone()),
            accuracy: FacetAccuracy::Precomputed,
            current: self.current,
            sample: None,
            counted: Vec::new(),
            as_of: self.as_of,
        }
    }
}

/// Returns a condition with all categories, which samples need.
fn in_categories(condition: &Condition, reference: &Reference) -> Condition {
    let ids = reference.categories.ids();
    Condition::All(vec![condition.clone(), Condition::Category(ids.collect())])
}

/// A set of products with a stored panel: all active products, or those of a category and its
/// descendants.
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

    /// The scope that contains all products of a filter.
    fn around(
        filter: &ProductFilter,
        visibility: Visibility,
        reference: &Reference,
    ) -> Option<Self> {
        if visibility != Visibility::Public {
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

    /// The scope that a filter equals, if it has no conditions besides at most one category.
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
        Self::around(filter, query.visibility, reference)
    }
}

/// Products that have a key, under any of its names.
fn has_key(key: &str, reference: &Reference) -> Condition {
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

/// Whether the key of a facet is built in or in the dictionary.
fn is_known(reference: &Reference, key: &str) -> bool {
    key.starts_with('@') || reference.dictionary.get(key).is_some()
}

/// Old names of merged keys that products may still have.
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
        request: FacetsQuery,
        reference: &Reference,
    ) -> Result<Self, DomainError> {
        if !(1..=MAX_FACET_VALUES).contains(&request.limit) {
            let reason = format!("must be 1 to {MAX_FACET_VALUES}, not {}", request.limit);
            return Err(DomainError::invalid("limit", reason));
        }
        let keys = request
            .keys
            .map(|keys| requested_keys(&keys, reference))
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
            limit: request.limit,
            units: Units::new(&request.display_units, reference)?,
            selected,
        })
    }

    /// The maximum number of values of a facet that are kept. A key with a selection keeps all its values, so that the
    /// selected ones are among them.
    fn kept_values(&self, has_selection: bool) -> usize {
        if has_selection {
            usize::MAX
        } else {
            self.limit.max(MAX_STORED_VALUES)
        }
    }

    /// Whether a precomputed panel suffices.
    fn is_default(&self) -> bool {
        self.limit <= MAX_STORED_VALUES && self.units.is_default()
    }

    /// The selected texts of a key, as in the filter.
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

    /// One pass for all keys without a selection, and one for each key with one.
    fn passes(
        &self,
        filter: &ProductFilter,
        reference: &Reference,
    ) -> Result<Vec<Pass>, DomainError> {
        let requested = |key: &FacetKey| {
            let requested = self.keys.as_ref().is_none_or(|keys| keys.contains(key));
            requested && is_facet(key, reference)
        };
        let chosen: Vec<&FacetKey> = self.selected.iter().filter(|key| requested(key)).collect();
        if chosen.len() > MAX_CHOSEN {
            let reason = format!(
                "the filter has selections of {} keys, and facets of {MAX_CHOSEN} such keys can be \
                 counted at once: request fewer facets with `keys`",
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

    /// Sorts as requested; by default built-in facets first, then spec keys by the number of
    /// products that have them.
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

/// The requested keys, with aliases resolved and without unknown ones.
fn requested_keys(keys: &[String], reference: &Reference) -> Result<Vec<FacetKey>, DomainError> {
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

/// Whether a key can be a facet.
fn is_facet(key: &FacetKey, reference: &Reference) -> bool {
    match key {
        FacetKey::Spec(key) => reference
            .dictionary
            .get(key)
            .is_some_and(|entry| entry.facetable && entry.filterable),
        _ => true,
    }
}

/// The filter without its conditions on one key, under any of its names.
fn without(filter: &ProductFilter, key: &FacetKey, reference: &Reference) -> ProductFilter {
    match key {
        FacetKey::Spec(key) => filter.without_spec(&|name| is_name_of(name, key, reference)),
        other => filter.without(other),
    }
}

/// Whether a name, possibly an alias, means this key.
fn is_name_of(name: &str, key: &str, reference: &Reference) -> bool {
    reference
        .dictionary
        .get(name)
        .is_some_and(|entry| entry.key == key)
}

/// Logs that a panel is counted again by the next request. Strangers can ask for as many as they like.
fn log_unstored_panel(error: &DomainError) {
    static UNSTORED: LineLimiter = LineLimiter::new();
    if let Some(left_out) = UNSTORED.permit() {
        tracing::warn!(%error, left_out, "a panel could not be stored");
    }
}
