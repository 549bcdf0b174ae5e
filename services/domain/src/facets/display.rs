//! From panels to displayed facets: labels, filters to send back, margins.

use rust_decimal::Decimal;
use vitrine_model::clock::Timestamp;
use vitrine_model::facet::{Bucket, FacetKey, Joined, PanelData, PanelFacet, PanelValue};
use vitrine_model::facet::{CountedBucket, MIN_ESTIMATED};
use vitrine_model::filter::{Bounds, DateTest, ProductFilter, SpecFilter, SpecTest};
use vitrine_model::id::CategoryId;
use vitrine_model::money::{Currency, Money};
use vitrine_model::significant::format_number;
use vitrine_model::spec::{SpecValue, ValueType, with_unit};
use vitrine_model::text::fold;
use vitrine_model::unit::Unit;

use super::{
    Count, Counts, Facet, FacetAccuracy, FacetChoice, FacetKind, FacetValue, is_name_of, panel,
};
use crate::reference::Reference;

/// The context in which the facets of one panel are built.
pub(super) struct FacetDisplay<'a> {
    pub(super) reference: &'a Reference,
    /// The filter of the list.
    pub(super) filter: &'a ProductFilter,
    pub(super) currency: Currency,
    pub(super) limit: usize,
    pub(super) counts: &'a Counts,
}

impl FacetDisplay<'_> {
    /// Builds the facet; `None` for a key that is no longer in the dictionary.
    pub(super) fn facet(&self, key: FacetKey, found: &PanelFacet) -> Option<Facet> {
        let mut facet = Facet {
            label: self.label(&key)?,
            kind: self.kind(&key)?,
            accuracy: self.accuracy(&key),
            as_of: self.counts.as_of,
            sample_size: self.counts.sample.map(|_| self.counts.panel.products),
            products: self.count(found.products),
            distinct_values: found.distinct,
            values: Vec::new(),
            numbers: None,
            unit: None,
            dates: None,
            prices: None,
            key,
        };
        self.fill(&mut facet, &found.data);
        if self.counts.sample.is_some() {
            let min = self.count(MIN_ESTIMATED).value;
            facet
                .values
                .retain(|value| value.selected || value.count.value >= min);
        }
        if self.counts.sample.is_some() && facet.values.is_empty() {
            return None;
        }
        if is_listed(facet.kind) && !self.counts.counted.is_empty() {
            // These have exact counts, unlike the rest of the panel or sample.
            let by_count = |value: &FacetValue| std::cmp::Reverse(value.count.value);
            facet.values.sort_by_key(by_count);
        }
        // Ranges are joined to as many. Selected values are always returned.
        let mut at = 0;
        facet.values.retain(|value| {
            at += 1;
            at <= self.limit || value.selected
        });
        Some(facet)
    }

    fn fill(&self, facet: &mut Facet, data: &PanelData) {
        match data {
            PanelData::Text { values } => {
                facet.values = self.texts(&facet.key, values);
            }
            PanelData::Boolean { yes, no } => {
                let answers = [(true, *yes), (false, *no)];
                let answers = answers.into_iter().filter(|(_, count)| *count > 0);
                let selected = self.selected_tests(&facet.key);
                facet.values = answers
                    .map(|(v, n)| self.boolean(&selected, v, n))
                    .collect();
            }
            PanelData::Number {
                min,
                max,
                unit,
                buckets,
                joined,
            } => {
                facet.numbers = Some((*min, *max));
                facet.unit.clone_from(unit);
                let unit = unit
                    .as_deref()
                    .and_then(|unit| self.reference.units.find(unit));
                let buckets = joined.at_most(self.limit, buckets).into_iter();
                let selected = self.selected_tests(&facet.key);
                let values = buckets.map(|bucket| self.number(&selected, &bucket, unit));
                facet.values = values.collect();
            }
            PanelData::Date {
                min,
                max,
                buckets,
                joined,
            } => {
                facet.dates = Some((*min, *max));
                let buckets = joined.at_most(self.limit, buckets).into_iter();
                let selected = self.selected_tests(&facet.key);
                facet.values = buckets.map(|b| self.date(&selected, &b)).collect();
            }
            PanelData::Price { min, max, buckets } => {
                facet.prices = Some((self.money(*min), self.money(*max)));
                // A product has one price.
                let buckets = Joined::default().at_most(self.limit, buckets).into_iter();
                facet.values = buckets.map(|b| self.price(&b)).collect();
            }
            PanelData::Rating { at_least } => {
                facet.values = at_least
                    .iter()
                    .map(|(n, count)| self.rating(*n, *count))
                    .collect();
            }
            PanelData::Category { counts } => facet.values = self.categories(counts),
        }
    }

    fn label(&self, key: &FacetKey) -> Option<String> {
        Some(match key {
            FacetKey::Category => "Category".to_owned(),
            FacetKey::Brand => "Brand".to_owned(),
            FacetKey::Price => "Price".to_owned(),
            FacetKey::Rating => "Rating".to_owned(),
            FacetKey::Country => "Supplier country".to_owned(),
            FacetKey::Spec(key) => self.reference.dictionary.get(key)?.label.clone(),
        })
    }

    fn kind(&self, key: &FacetKey) -> Option<FacetKind> {
        Some(match key {
            FacetKey::Category => FacetKind::Category,
            FacetKey::Brand => FacetKind::Brand,
            FacetKey::Price => FacetKind::Price,
            FacetKey::Rating => FacetKind::Rating,
            FacetKey::Country => FacetKind::SupplierCountry,
            FacetKey::Spec(key) => match self.reference.dictionary.get(key)?.value_type {
                ValueType::Text => FacetKind::Text,
                ValueType::Boolean => FacetKind::Boolean,
                ValueType::Number => FacetKind::Number,
                ValueType::Quantity => FacetKind::Quantity,
                ValueType::Date => FacetKind::Date,
            },
        })
    }

    /// A current snapshot is exact, because no product has been written since; but reviews change
    /// ratings without changing the generation.
    fn accuracy(&self, key: &FacetKey) -> FacetAccuracy {
        match self.counts.accuracy {
            FacetAccuracy::Precomputed if self.counts.current && *key != FacetKey::Rating => {
                FacetAccuracy::Exact
            }
            accuracy => accuracy,
        }
    }

    fn count(&self, counted: u64) -> Count {
        match self.counts.sample {
            None => Count {
                value: counted,
                margin: 0,
            },
            Some(sample) => {
                let estimate = sample.estimate(counted);
                Count {
                    value: estimate.value,
                    margin: estimate.margin,
                }
            }
        }
    }

    fn value(&self, label: String, count: u64, selected: bool, choice: FacetChoice) -> FacetValue {
        FacetValue {
            label,
            count: self.count(count),
            selected,
            choice,
            path: Vec::new(),
        }
    }

    /// Returns the texts of a key; no more than are shown, unless they are sorted again.
    fn texts(&self, key: &FacetKey, values: &[PanelValue]) -> Vec<FacetValue> {
        let selected = match key {
            FacetKey::Brand => self.filter.selected_brands(),
            FacetKey::Country => self.filter.selected_countries(),
            other => {
                let is_it = |key: &str| is_name_of(key, other.name(), self.reference);
                self.filter.selected_texts(&is_it)
            }
        };
        let selected: Vec<String> = selected.into_iter().map(fold).collect();
        let counted = &self.counts.counted;
        let is_sorted = self.counts.sample.is_none() && counted.is_empty();
        let mut shown = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let is_left_out = is_sorted && at >= self.limit;
            if is_left_out && selected.is_empty() {
                break;
            }
            let compared = !selected.is_empty() || !counted.is_empty();
            let folded = compared.then(|| fold(&value.value));
            let is_among =
                |texts: &[String]| folded.as_ref().is_some_and(|text| texts.contains(text));
            let is_selected = is_among(&selected);
            if is_left_out && !is_selected {
                continue;
            }
            let choice = FacetChoice::Text(value.value.clone());
            let mut text = self.value(value.label.clone(), value.count, is_selected, choice);
            if is_among(counted) {
                text.count = Count {
                    value: value.count,
                    margin: 0,
                };
            }
            shown.push(text);
        }
        shown
    }

    /// Returns a value of a spec key that is not a text.
    fn tested(
        &self,
        label: String,
        count: u64,
        selected: &[&SpecTest],
        test: SpecTest,
    ) -> FacetValue {
        let is_selected = selected.contains(&&test);
        self.value(label, count, is_selected, FacetChoice::Test(test))
    }

    fn boolean(&self, selected: &[&SpecTest], value: bool, count: u64) -> FacetValue {
        let label = SpecValue::<String>::Boolean(value).display();
        self.tested(label, count, selected, SpecTest::Boolean(value))
    }

    fn number(
        &self,
        selected: &[&SpecTest],
        bucket: &CountedBucket,
        unit: Option<&Unit>,
    ) -> FacetValue {
        let Bucket {
            low,
            high,
            high_included,
        } = bucket.bucket;
        let test = panel::number_test(low, high, high_included, unit);
        let shown = |number: String| match unit {
            Some(unit) => with_unit(&number, &unit.id),
            None => number,
        };
        // One end, in a unit in which it is short.
        let alone = |end: f64| match unit {
            Some(unit) => {
                let (end, unit) = self.reference.units.readable(end, unit);
                with_unit(&format_number(end), &unit.id)
            }
            None => format_number(end),
        };
        let label = match (low, high) {
            (Some(low), Some(high)) if low < high => {
                let mut ends = [low, high].map(format_number);
                if ends[0] == ends[1] {
                    ends = [low, high].map(|end| end.to_string());
                }
                let [from, to] = ends;
                format!("{from} to {}", shown(to))
            }
            (Some(low), None) => format!("{} and more", alone(low)),
            (Some(one), _) | (None, Some(one)) => alone(one),
            (None, None) => String::new(),
        };
        self.tested(label, bucket.count, selected, SpecTest::Number(test))
    }

    fn date(&self, selected: &[&SpecTest], bucket: &CountedBucket<Timestamp>) -> FacetValue {
        let Bucket {
            low,
            high,
            high_included,
        } = bucket.bucket;
        let test = DateTest {
            gte: low,
            lte: high.filter(|_| high_included),
            gt: None,
            lt: high.filter(|_| !high_included),
        };
        let shown = |at: Option<Timestamp>| {
            at.map_or_else(String::new, |at| SpecValue::<String>::Date(at).display())
        };
        let label = match high {
            Some(_) => format!("{} to {}", shown(low), shown(high)),
            None => format!("{} and later", shown(low)),
        };
        self.tested(label, bucket.count, selected, SpecTest::Date(test))
    }

    fn price(&self, bucket: &CountedBucket<i64>) -> FacetValue {
        let bounds = bucket.bucket.bounds();
        let amount = |minor: Option<i64>| minor.map(|minor| self.amount(minor));
        let price = Bounds {
            gte: amount(bounds.gte),
            lte: amount(bounds.lte),
        };
        let text =
            |amount: Option<Decimal>| amount.map_or_else(String::new, |amount| amount.to_string());
        let (from, currency) = (text(price.gte), self.currency.code());
        let label = match price.lte {
            Some(to) if price.gte == Some(to) => format!("{from} {currency}"),
            Some(_) => format!("{from} to {} {currency}", text(price.lte)),
            None => format!("{from} {currency} and more"),
        };
        let is_selected = self.filter.selected_prices().contains(&price);
        self.value(label, bucket.count, is_selected, FacetChoice::Price(price))
    }

    fn rating(&self, stars: f64, count: u64) -> FacetValue {
        let is_selected = self.filter.selected_rating() == Some(stars);
        let label = format!("{} and more", format_number(stars));
        self.value(label, count, is_selected, FacetChoice::MinRating(stars))
    }

    /// All categories that contain products directly or in descendants, largest first; ties:
    /// ancestors first.
    fn categories(&self, counts: &[(CategoryId, u64)]) -> Vec<FacetValue> {
        let tree = &self.reference.categories;
        let mut totals: Vec<(CategoryId, u64)> = Vec::new();
        for (leaf, count) in counts {
            let above = tree
                .ancestors(*leaf)
                .into_iter()
                .map(|category| category.id);
            for id in above.chain([tree.current(*leaf)]) {
                match totals.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, total)) => *total += count,
                    None => totals.push((id, *count)),
                }
            }
        }
        let chosen = self.filter.selected_categories();
        let mut values: Vec<FacetValue> = Vec::new();
        for (id, count) in totals {
            let Some(category) = tree.get(id) else {
                continue;
            };
            let choice = FacetChoice::Text(category.slug.clone());
            let is_selected = chosen.contains(&category.slug.as_str());
            let mut value = self.value(category.name.clone(), count, is_selected, choice);
            let above = tree.ancestors(id).into_iter().map(|c| c.name.clone());
            value.path = above.chain([category.name.clone()]).collect();
            values.push(value);
        }
        values.sort_by(|a, b| {
            let by_count = b.count.value.cmp(&a.count.value);
            by_count
                .then_with(|| a.path.len().cmp(&b.path.len()))
                .then_with(|| a.path.cmp(&b.path))
        });
        values
    }

    /// Returns the tests of a key in the filter of the list, without those that name a qualifier: no value of a facet does.
    fn selected_tests(&self, key: &FacetKey) -> Vec<&SpecTest> {
        let is_it = |name: &str| is_name_of(name, key.name(), self.reference);
        let chosen = self.filter.selected_specs(&is_it).into_iter();
        let unqualified = chosen.filter(|filter| filter.qualifier.is_none());
        unqualified.map(|filter| &filter.test).collect()
    }

    fn money(&self, minor: i64) -> Money {
        Money {
            minor,
            currency: self.currency,
        }
    }

    fn amount(&self, minor: i64) -> Decimal {
        self.money(minor).amount()
    }
}

/// Whether the values are a list with the most frequent ones first.
const fn is_listed(kind: FacetKind) -> bool {
    matches!(
        kind,
        FacetKind::Text | FacetKind::Brand | FacetKind::Category | FacetKind::SupplierCountry
    )
}

/// Returns the filter that chooses a value of a key.
pub(super) fn choice_filter(key: &FacetKey, choice: &FacetChoice) -> ProductFilter {
    match choice {
        FacetChoice::Text(text) => text_filter(key, text),
        FacetChoice::Test(test) => spec(key.name(), test.clone()),
        FacetChoice::Price(price) => ProductFilter {
            price: Some(*price),
            ..ProductFilter::default()
        },
        FacetChoice::MinRating(stars) => ProductFilter {
            min_rating: Some(*stars),
            ..ProductFilter::default()
        },
    }
}

/// The filter that chooses a text of a key.
pub(super) fn text_filter(key: &FacetKey, text: &str) -> ProductFilter {
    let one = || Some(vec![text.to_owned()]);
    match key {
        FacetKey::Category => ProductFilter {
            category: one(),
            ..ProductFilter::default()
        },
        FacetKey::Brand => ProductFilter {
            brand: one(),
            ..ProductFilter::default()
        },
        FacetKey::Country => ProductFilter {
            country: one(),
            ..ProductFilter::default()
        },
        other => spec(other.name(), SpecTest::Text(vec![text.to_owned()])),
    }
}

fn spec(key: &str, test: SpecTest) -> ProductFilter {
    ProductFilter {
        specs: Some(vec![SpecFilter {
            key: key.to_owned(),
            qualifier: None,
            test,
        }]),
        ..ProductFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::facet::{Panel, Sample};
    use vitrine_model::unit::UnitTable;

    use super::*;

    #[test]
    fn values_counted_exactly_besides_a_sample_are_not_estimates() {
        let value = |label: &str, count| PanelValue {
            label: label.to_owned(),
            value: label.to_owned(),
            count,
        };
        let values = vec![value("Acme", 7_016), value("Other", 100)];
        let facet = PanelFacet {
            key: FacetKey::Brand.name().to_owned(),
            products: 170,
            distinct: 2,
            data: PanelData::Text { values },
        };
        let counts = |counted: &[&str]| Counts {
            panel: Panel {
                products: 170,
                facets: vec![facet.clone()],
                ..Panel::default()
            }
            .into(),
            accuracy: FacetAccuracy::Estimate,
            current: true,
            sample: Some(Sample::of_slots(20)),
            counted: counted.iter().map(|text| (*text).to_owned()).collect(),
            as_of: Timestamp::from_millis(0),
        };
        let shown = |counted: &[&str]| {
            let display = FacetDisplay {
                reference: &Reference::default(),
                filter: &ProductFilter::default(),
                currency: Currency::parse("EUR").unwrap(),
                limit: 10,
                counts: &counts(counted),
            };
            let facet = display.facet(FacetKey::Brand, &facet).unwrap();
            let value =
                |value: FacetValue| (value.label, value.count.value, value.count.margin > 0);
            facet.values.into_iter().map(value).collect::<Vec<_>>()
        };
        let of = |label: &str, count, estimated| (label.to_owned(), count, estimated);
        let other = || of("Other", 500, true);
        assert_eq!(shown(&[]), [of("Acme", 35_080, true), other()]);
        assert_eq!(shown(&["acme"]), [of("Acme", 7_016, false), other()]);
    }

    #[test]
    fn the_ends_of_a_range_are_shown_apart() {
        let counts = Counts {
            panel: Panel::default().into(),
            accuracy: FacetAccuracy::Exact,
            current: true,
            sample: None,
            counted: Vec::new(),
            as_of: Timestamp::from_millis(0),
        };
        let display = FacetDisplay {
            reference: &Reference::default(),
            filter: &ProductFilter::default(),
            currency: Currency::parse("EUR").unwrap(),
            limit: 10,
            counts: &counts,
        };
        let units = UnitTable::built_in();
        let label = |low: f64, high: f64, unit: &str| {
            let bucket = CountedBucket {
                bucket: Bucket {
                    low: Some(low),
                    high: Some(high),
                    high_included: true,
                },
                count: 1,
            };
            display.number(&[], &bucket, units.find(unit)).label
        };
        assert_eq!(label(1.0, 2.5, ""), "1 to 2.5");
        assert_eq!(label(1.0, 2.5, "%"), "1 to 2.5%");
        assert_eq!(label(1.0, 1.0, "kg"), "1 kg");
        assert_eq!(
            label(1.000_000_1, 1.000_000_2, ""),
            "1.0000001 to 1.0000002"
        );
        assert_eq!(label(1.0, 1.000_000_2, "kg"), "1 to 1.0000002 kg");
    }
}
