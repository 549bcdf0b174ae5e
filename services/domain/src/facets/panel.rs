//! From counts to panels: ranges with round limits in the requested unit, each counted with the
//! same range that its filter has.

use std::collections::HashMap;

use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{
    Bucket, FacetKey, FacetTally, Joined, MAX_BUCKETS, NumberBucket, Numbers, Panel, PanelData,
    PanelFacet, date_buckets, is_identifying, number_buckets, price_buckets,
};
use vitrine_model::filter::NumberTest;
use vitrine_model::significant::round_to_twelve_digits;
use vitrine_model::spec::{SpecKey, ValueType};
use vitrine_model::unit::Unit;

use crate::DomainError;
use crate::reference::Reference;

/// The minimum ratings that are counted.
const RATINGS: [f64; 4] = [4.0, 3.0, 2.0, 1.0];

/// The requested units of quantities.
#[derive(Debug, Default)]
pub(super) struct Units {
    by_key: HashMap<String, String>,
    by_dimension: HashMap<String, String>,
}

impl Units {
    pub(super) fn new(
        requested: &[(String, Option<String>)],
        reference: &Reference,
    ) -> Result<Self, DomainError> {
        let mut units = Self::default();
        for (at, (unit, key)) in requested.iter().enumerate() {
            let path = format!("displayUnits[{at}].unit");
            let wrong = |wrong: &dyn std::fmt::Display| {
                DomainError::invalid(path.clone(), wrong.to_string())
            };
            let found = reference.units.get(unit).map_err(|error| wrong(&error))?;
            let Some(key) = key else {
                units
                    .by_dimension
                    .insert(found.dimension.clone(), found.id.clone());
                continue;
            };
            let Some(entry) = reference.dictionary.get(key) else {
                continue;
            };
            let Some(dimension) = &entry.dimension else {
                return Err(wrong(&format!("{} holds no quantities", entry.key)));
            };
            let fits = reference.units.get_in(unit, dimension);
            fits.map_err(|error| wrong(&error))?;
            units.by_key.insert(entry.key.clone(), found.id.clone());
        }
        Ok(units)
    }

    pub(super) fn is_default(&self) -> bool {
        self.by_key.is_empty() && self.by_dimension.is_empty()
    }

    /// The unit for a key: the requested one, otherwise the one used by most values.
    fn unit<'a>(
        &self,
        key: &SpecKey,
        numbers: &Numbers,
        reference: &'a Reference,
    ) -> Option<&'a Unit> {
        let dimension = key.dimension.as_deref()?;
        let requested = self.by_key.get(&key.key);
        let requested = requested.or_else(|| self.by_dimension.get(dimension));
        let common = requested
            .map(String::as_str)
            .or_else(|| numbers.common_unit());
        let unit = common.and_then(|unit| reference.units.get_in(unit, dimension).ok());
        unit.or_else(|| reference.units.base(dimension))
    }
}

/// The panel of a tally.
pub(super) fn panel(
    tally: &FacetTally,
    reference: &Reference,
    units: &Units,
    limit: usize,
) -> Panel {
    panel_of(tally, reference, (units, limit), None)
}

/// The panel of a tally with at most this many spec keys, all of which are [offered](is_offered).
pub(super) fn panel_of_offered(
    tally: &FacetTally,
    reference: &Reference,
    (units, limit): (&Units, usize),
    most: usize,
) -> Panel {
    panel_of(tally, reference, (units, limit), Some(most))
}

fn panel_of(
    tally: &FacetTally,
    reference: &Reference,
    (units, limit): (&Units, usize),
    most_offered: Option<usize>,
) -> Panel {
    let mut facets = built_in(tally, limit);
    let mut keys = tally.keys();
    keys.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    keys.truncate(Panel::MAX_KEYS);
    let specs = keys.iter().filter_map(|(name, products)| {
        let key = reference.dictionary.get(name)?;
        let (distinct, data) = spec(tally, key, reference, units, limit)?;
        Some(PanelFacet {
            key: (*name).to_owned(),
            products: *products,
            distinct,
            data,
        })
    });
    match most_offered {
        None => facets.extend(specs),
        Some(most) => {
            let offered = specs.filter(|facet| is_offered(facet, reference));
            facets.extend(offered.take(most));
        }
    }
    Panel {
        products: tally.products(),
        facets,
        keys: keys.into_iter().map(|(name, _)| name.to_owned()).collect(),
    }
}

/// Whether a key is offered when no keys are requested by name.
pub(super) fn is_offered(facet: &PanelFacet, reference: &Reference) -> bool {
    let entry = reference.dictionary.get(&facet.key);
    let allowed = entry.is_some_and(|entry| entry.facetable && entry.filterable);
    let text = matches!(facet.data, PanelData::Text { .. });
    allowed && !(text && is_identifying(facet.products, facet.distinct))
}

fn built_in(tally: &FacetTally, limit: usize) -> Vec<PanelFacet> {
    let mut facets = Vec::new();
    let mut add = |key: FacetKey, products: u64, distinct: usize, data: PanelData| {
        if products > 0 {
            facets.push(PanelFacet {
                key: key.name().to_owned(),
                products,
                distinct: distinct.try_into().unwrap_or(u64::MAX),
                data,
            });
        }
    };
    let counts = tally.categories();
    let in_categories = counts.iter().map(|(_, n)| n).sum();
    let categories = counts.len();
    add(
        FacetKey::Category,
        in_categories,
        categories,
        PanelData::Category { counts },
    );
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let brands = tally.brands();
    add(
        FacetKey::Brand,
        brands.products(),
        size(brands.distinct()),
        brands.panel(limit),
    );
    let prices = tally.prices();
    if let (Some(min), Some(max)) = (prices.min(), prices.max()) {
        let buckets = price_buckets(prices, MAX_BUCKETS).into_iter();
        let buckets = buckets.map(|bucket| bucket.counted(|b| prices.count(b.bounds())));
        let data = PanelData::Price {
            min,
            max,
            buckets: buckets.collect(),
        };
        add(FacetKey::Price, prices.products(), prices.distinct(), data);
    }
    let at_least = RATINGS.map(|stars| (stars, tally.rated_at_least(stars)));
    add(
        FacetKey::Rating,
        tally.rated(),
        RATINGS.len(),
        PanelData::Rating {
            at_least: at_least.to_vec(),
        },
    );
    let countries = tally.countries();
    add(
        FacetKey::Country,
        countries.products(),
        size(countries.distinct()),
        countries.panel(limit),
    );
    facets
}

/// The number of different values of a key, and the values.
fn spec(
    tally: &FacetTally,
    key: &SpecKey,
    reference: &Reference,
    units: &Units,
    limit: usize,
) -> Option<(u64, PanelData)> {
    let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    match key.value_type {
        ValueType::Text => {
            let texts = tally.texts(&key.key)?;
            Some((texts.distinct(), texts.panel(limit)))
        }
        ValueType::Boolean => {
            let (yes, no) = tally.booleans(&key.key)?;
            let distinct = u64::from(yes > 0) + u64::from(no > 0);
            Some((distinct, PanelData::Boolean { yes, no }))
        }
        ValueType::Number | ValueType::Quantity => {
            let found = tally.numbers(&key.key)?;
            let unit = units.unit(key, found, reference);
            Some((
                size(found.distinct()),
                numbers(found, key, unit, reference)?,
            ))
        }
        ValueType::Date => {
            let found = tally.dates(&key.key)?;
            Some((size(found.distinct()), dates(found)?))
        }
    }
}

fn numbers(
    found: &Numbers,
    key: &SpecKey,
    unit: Option<&Unit>,
    reference: &Reference,
) -> Option<PanelData> {
    let (min, max) = (found.min()?, found.max()?);
    // Numbers that are too large for a unit are shown in the base unit.
    let unit = unit.map(|unit| {
        let fits = unit.from_base(min).is_finite() && unit.from_base(max).is_finite();
        let base = reference.units.base(&unit.dimension).filter(|_| !fits);
        base.unwrap_or(unit)
    });
    let shown = |n: f64| unit.map_or(n, |unit| round_to_twelve_digits(unit.from_base(n)));
    let (min, max) = (shown(min), shown(max));
    let count = |bucket: &NumberBucket| {
        let test = number_test(bucket.low, bucket.high, bucket.high_included, unit);
        let range = crate::filter::number_range(&test, key, &reference.units);
        range.map_or(0, |range| found.count(&range))
    };
    let mut buckets = number_buckets(found, shown, unit.is_none(), MAX_BUCKETS);
    // Conversions round: a number at the end of a range may be in the next.
    buckets.retain(|bucket| count(bucket) > 0);
    Some(PanelData::Number {
        min,
        max,
        unit: unit.map(|unit| unit.id.clone()),
        joined: joined(found, &buckets, count),
        buckets: buckets.into_iter().map(|b| b.counted(count)).collect(),
    })
}

fn dates(found: &Numbers) -> Option<PanelData> {
    let at = |millis: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds are whole")]
        let millis = millis as i64;
        Timestamp::from_millis(millis)
    };
    let (min, max) = (at(found.min()?), at(found.max()?));
    let buckets = date_buckets(found, MAX_BUCKETS);
    let count = |bucket: &Bucket<Timestamp>| found.count(&bucket.range());
    Some(PanelData::Date {
        min,
        max,
        joined: joined(found, &buckets, count),
        buckets: buckets.into_iter().map(|b| b.counted(count)).collect(),
    })
}

/// The counts of adjacent ranges together, if they cannot be added.
fn joined<T: Copy>(
    found: &Numbers,
    buckets: &[Bucket<T>],
    count: impl Fn(&Bucket<T>) -> u64,
) -> Joined {
    if found.is_single() {
        return Joined::default();
    }
    Joined::count(buckets, count)
}

/// The number test of a range.
pub(super) fn number_test(
    low: Option<f64>,
    high: Option<f64>,
    high_included: bool,
    unit: Option<&Unit>,
) -> NumberTest {
    NumberTest {
        eq: None,
        gte: low,
        lte: high.filter(|_| high_included),
        gt: None,
        lt: high.filter(|_| !high_included),
        unit: unit.map(|unit| unit.id.clone()),
    }
}
