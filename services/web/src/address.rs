//! The address of a list, and the variables that it stands for. `ui/store/address.js` does the same:
//! a browser that reaches other variables than the HTML was written with asks again.
//!
//! | parameter | what |
//! |---|---|
//! | `q`, `sort`, `after` | the search, the order, where the page begins |
//! | `category`, `brand`, `country` | one value each; may be repeated |
//! | `price=10..50`, `rating=4` | a range; at least this average |
//! | `t.panel_type=IPS` | a text of a spec; may be repeated |
//! | `n.screen_size=65..<70~cm`, `n.ports==3` | a range of numbers, the end included or not; one number |
//! | `b.hdr=yes`, `d.release=2026-01-01..` | yes or no; a range of dates |
//! | `u.screen_size=in` | the unit to show a spec in |
//!
//! A spec with a qualifier is written `t.size@EU`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// How many products a page of a list has.
pub(crate) const PAGE_SIZE: usize = 24;
/// How many values of a facet are shown at first.
pub(crate) const FACET_VALUES: usize = 8;
/// What an address may have: more parameters are not read.
const MAX_PARAMETERS: usize = 60;

/// What need not be encoded in a parameter, as `encodeURIComponent` has it.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Encodes a text for an address.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PARAMETER).to_string()
}

/// Reads the parameters of an address, in their order.
pub(crate) fn parameters(query: Option<&str>) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = query.unwrap_or_default().split('&');
    pairs
        .filter(|pair| !pair.is_empty())
        .take(MAX_PARAMETERS)
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

/// Whether a parameter may be repeated, for several values that are alternatives.
pub(crate) fn is_repeated(name: &str) -> bool {
    ["category", "brand", "country"].contains(&name) || name.starts_with("t.")
}

/// The address of a list.
pub(crate) struct ListAddress {
    category: Option<String>,
    parameters: Vec<(String, String)>,
}

impl ListAddress {
    pub(crate) fn new(category: Option<String>, query: Option<&str>) -> Self {
        Self {
            category,
            parameters: parameters(query),
        }
    }

    /// The slug of the category whose page this is.
    pub(crate) fn category(&self) -> Option<&str> {
        self.category.as_deref()
    }

    /// The text that is searched for.
    pub(crate) fn search(&self) -> Option<&str> {
        let search = self.value("q").map(str::trim);
        search.filter(|text| !text.is_empty())
    }

    /// Whether the list is narrowed down, or not at its start: such pages are not for search engines.
    pub(crate) fn is_narrowed(&self) -> bool {
        !self.parameters.is_empty()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn values(&self, name: &str) -> Vec<&str> {
        let found = self.parameters.iter().filter(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// The spec keys that the shopper has chosen by, or in whose unit.
    pub(crate) fn chosen_keys(&self) -> Vec<&str> {
        let names = self
            .parameters
            .iter()
            .filter_map(|(name, _)| name.split_once('.'));
        let mut keys = Vec::new();
        for (kind, key) in names {
            let key = key.split('@').next().unwrap_or_default();
            if ["t", "n", "b", "d", "u"].contains(&kind) && !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The path, with these parameters changed: those of the name are removed, and the values, if there
    /// are any, are added.
    pub(crate) fn with<'a>(
        &'a self,
        name: &'a str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let others = self.parameters.iter().filter(|(known, _)| known != name);
        let others = others.filter(|(known, _)| known != "after");
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs = others.chain(values.into_iter().map(|value| (name, value)));
        let query: Vec<String> = pairs
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let path = self.path();
        if query.is_empty() {
            return path;
        }
        format!("{path}?{}", query.join("&"))
    }

    /// The path, with a value of a parameter added or, if it has that value, removed. Other values of
    /// the name are kept if it may be repeated, and replaced otherwise.
    pub(crate) fn toggled(&self, name: &str, value: &str) -> String {
        let alike = |other: &str| other.to_lowercase() == value.to_lowercase();
        let chosen = self.values(name).into_iter().any(alike);
        let values = self.values(name).into_iter();
        let kept = values.filter(|other| is_repeated(name) && !alike(other));
        self.with(name, kept.chain((!chosen).then_some(value)))
    }

    pub(crate) fn path(&self) -> String {
        match &self.category {
            Some(slug) => format!("/c/{}", encoded(slug)),
            None => "/search".to_owned(),
        }
    }

    /// The variables of the operation `List`.
    pub(crate) fn list_variables(&self) -> Value {
        json!({
            "category": self.category().unwrap_or_default(),
            "inCategory": self.category.is_some(),
            "filter": self.filter(),
            "search": self.search(),
            "sort": self.sort(),
            "first": PAGE_SIZE,
            "after": self.value("after"),
            "units": self.units(),
        })
    }

    /// The variables of the operation `Facets`.
    pub(crate) fn facet_variables(&self) -> Value {
        json!({
            "filter": self.filter(),
            "search": self.search(),
            "units": self.units(),
            "keys": null,
            "limit": FACET_VALUES,
        })
    }

    fn sort(&self) -> Value {
        let Some(sort) = self.value("sort") else {
            return Value::Null;
        };
        let (key, direction) = match sort.strip_suffix("-desc") {
            Some(key) => (key, Some("DESCENDING")),
            None => (sort, None),
        };
        let key = match key {
            "price" => "PRICE",
            "rating" => "RATING",
            "newest" => "NEWEST",
            "name" => "NAME",
            "best-selling" => "BEST_SELLING",
            "trending" => "TRENDING",
            "popularity" => "POPULARITY",
            _ => return Value::Null,
        };
        match direction {
            Some(direction) => json!([{ "key": key, "direction": direction }]),
            None => json!([{ "key": key }]),
        }
    }

    fn units(&self) -> Value {
        let chosen = self.parameters.iter().filter_map(|(name, unit)| {
            let key = name.strip_prefix("u.")?;
            Some(json!({ "unit": unit, "key": key }))
        });
        let chosen: Vec<Value> = chosen.collect();
        if chosen.is_empty() {
            return Value::Null;
        }
        Value::from(chosen)
    }

    fn filter(&self) -> Value {
        let mut filter = Map::new();
        match self.category() {
            Some(slug) => drop(filter.insert("category".to_owned(), json!([slug]))),
            None => self.add_list(&mut filter, "category"),
        }
        self.add_list(&mut filter, "brand");
        self.add_list(&mut filter, "country");
        if let Some(price) = self.value("price").and_then(price) {
            filter.insert("price".to_owned(), price);
        }
        let rating = self.value("rating").and_then(number);
        if let Some(rating) = rating {
            filter.insert("rating".to_owned(), json!({ "gte": rating }));
        }
        let specs = self.specs();
        if !specs.is_empty() {
            filter.insert("specs".to_owned(), Value::from(specs));
        }
        if filter.is_empty() {
            return Value::Null;
        }
        Value::from(filter)
    }

    fn add_list(&self, filter: &mut Map<String, Value>, name: &str) {
        let values = self.values(name);
        if !values.is_empty() {
            filter.insert(name.to_owned(), json!(values));
        }
    }

    /// One condition for each key; several texts of a key are alternatives.
    fn specs(&self) -> Vec<Value> {
        let mut specs: Vec<Value> = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        for (name, value) in &self.parameters {
            if known.contains(&name.as_str()) {
                continue;
            }
            let Some((kind, key)) = name.split_once('.') else {
                continue;
            };
            let test = match kind {
                "t" => Some(("text", json!({ "in": self.values(name) }))),
                "n" => numbers(value).map(|range| ("number", range)),
                "b" => Some(("boolean", json!(value == "yes"))),
                "d" => Some(("date", dates(value))),
                _ => None,
            };
            let Some((field, test)) = test else { continue };
            known.push(name);
            let (key, qualifier) = match key.split_once('@') {
                Some((key, qualifier)) => (key, Some(qualifier)),
                None => (key, None),
            };
            let mut spec = json!({ "key": key, field: test });
            if let Some(qualifier) = qualifier {
                spec["qualifier"] = json!(qualifier);
            }
            specs.push(spec);
        }
        specs
    }
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(number)
}

/// Splits `10..50` or `10..<50` into its ends, and whether the upper one is left out. Ends that are the wrong
/// way round are exchanged: a person has typed them.
fn ends(text: &str) -> Option<(&str, &str, bool)> {
    let (low, high) = text.split_once("..")?;
    let (high, left_out) = match high.strip_prefix('<') {
        Some(high) => (high, true),
        None => (high, false),
    };
    let reversed = match (number(low), number(high)) {
        (Some(low), Some(high)) => low > high,
        (None, None) => !high.is_empty() && low > high,
        _ => false,
    };
    Some(if reversed {
        (high, low, false)
    } else {
        (low, high, left_out)
    })
}

/// Reads `10..50`, either end of which may be missing.
fn price(text: &str) -> Option<Value> {
    let (low, high, _) = ends(text)?;
    let mut range = Map::new();
    for (name, text) in [("gte", low), ("lte", high)] {
        if number(text).is_some() {
            range.insert(name.to_owned(), json!(text));
        }
    }
    (!range.is_empty()).then(|| Value::from(range))
}

/// Reads `65..70~cm`, `65..<70~cm` or `=5`.
fn numbers(text: &str) -> Option<Value> {
    let (range, unit) = match text.split_once('~') {
        Some((range, unit)) => (range, Some(unit)),
        None => (text, None),
    };
    let mut test = Map::new();
    if let Some(exact) = range.strip_prefix('=') {
        test.insert("eq".to_owned(), json!(number(exact)?));
    } else {
        let (low, high, left_out) = ends(range)?;
        if let Some(low) = number(low) {
            test.insert("gte".to_owned(), json!(low));
        }
        if let Some(high) = number(high) {
            test.insert(upper(left_out).to_owned(), json!(high));
        }
    }
    if test.is_empty() {
        return None;
    }
    if let Some(unit) = unit {
        test.insert("unit".to_owned(), json!(unit));
    }
    Some(Value::from(test))
}

/// Reads `2026-01-01..<2027-01-01`; the API says what is wrong with other texts.
fn dates(text: &str) -> Value {
    let (low, high, left_out) = ends(text).unwrap_or((text, "", false));
    let mut range = Map::new();
    if !low.is_empty() {
        range.insert("gte".to_owned(), json!(low));
    }
    if !high.is_empty() {
        range.insert(upper(left_out).to_owned(), json!(high));
    }
    Value::from(range)
}

const fn upper(left_out: bool) -> &'static str {
    if left_out { "lt" } else { "lte" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(query: &str) -> Value {
        ListAddress::new(None, Some(query)).list_variables()["filter"].clone()
    }

    #[test]
    fn an_address_without_parameters_filters_by_its_category_only() {
        let list = ListAddress::new(Some("monitors".to_owned()), None);
        let variables = list.list_variables();
        assert_eq!(variables["filter"], json!({ "category": ["monitors"] }));
        assert_eq!(variables["sort"], Value::Null);
        assert!(!list.is_narrowed());
        assert_eq!(filter(""), Value::Null);
    }

    #[test]
    fn parameters_are_conditions() {
        assert_eq!(
            filter("brand=Karst&brand=Silo+Works&price=10..50.5&rating=3.5"),
            json!({
                "brand": ["Karst", "Silo Works"],
                "price": { "gte": "10", "lte": "50.5" },
                "rating": { "gte": 3.5 },
            })
        );
        assert_eq!(
            filter("t.panel=IPS&t.panel=VA&n.size=65..%3C70~cm&n.ports==3&b.hdr=no&t.size@EU=M"),
            json!({ "specs": [
                { "key": "panel", "text": { "in": ["IPS", "VA"] } },
                { "key": "size", "number": { "gte": 65.0, "lt": 70.0, "unit": "cm" } },
                { "key": "ports", "number": { "eq": 3.0 } },
                { "key": "hdr", "boolean": false },
                { "key": "size", "text": { "in": ["M"] }, "qualifier": "EU" },
            ] })
        );
        assert_eq!(
            filter("d.release=2026-01-01..<2027-01-01"),
            json!({ "specs": [{ "key": "release", "date": { "gte": "2026-01-01", "lt": "2027-01-01" } }] })
        );
    }

    #[test]
    fn ends_that_are_the_wrong_way_round_are_exchanged() {
        assert_eq!(
            filter("price=500..100.5&n.size=70..<9~cm&d.release=2027-01-01..2026-01-01"),
            json!({
                "price": { "gte": "100.5", "lte": "500" },
                "specs": [
                    { "key": "size", "number": { "gte": 9.0, "lte": 70.0, "unit": "cm" } },
                    { "key": "release", "date": { "gte": "2026-01-01", "lte": "2027-01-01" } },
                ],
            })
        );
        assert_eq!(filter("price=100.."), json!({ "price": { "gte": "100" } }));
        assert_eq!(filter("price=..9"), json!({ "price": { "lte": "9" } }));
    }

    #[test]
    fn chosen_keys_are_named_once() {
        let list = ListAddress::new(None, Some("brand=A&t.size@EU=M&u.size=in&n.x=1..2&q=a.b"));
        assert_eq!(list.chosen_keys(), ["size", "x"]);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(
            filter("price=cheap&rating=good&n.size=large&n.a=..&x=1&sort=9"),
            Value::Null
        );
        assert_eq!(filter("rating=inf"), Value::Null);
    }

    #[test]
    fn other_addresses_keep_what_they_do_not_change() {
        let list = ListAddress::new(Some("a b".to_owned()), Some("q=x%26y&after=c&sort=price"));
        assert_eq!(
            list.with("sort", Some("name")),
            "/c/a%20b?q=x%26y&sort=name"
        );
        assert_eq!(
            list.with("after", Some("d")),
            "/c/a%20b?q=x%26y&sort=price&after=d"
        );
        let list = ListAddress::new(None, Some("q=x"));
        assert_eq!(list.with("q", None), "/search");
    }

    #[test]
    fn a_value_is_added_to_or_removed_from_those_of_its_name() {
        let list = ListAddress::new(None, Some("brand=A&brand=B&t.size=M&rating=4&after=c"));
        for (name, value, expected) in [
            ("brand", "A", "t.size=M&rating=4&brand=B"),
            ("brand", "b", "t.size=M&rating=4&brand=A"),
            ("brand", "C", "t.size=M&rating=4&brand=A&brand=B&brand=C"),
            ("t.size", "L", "brand=A&brand=B&rating=4&t.size=M&t.size=L"),
            ("t.size", "M", "brand=A&brand=B&rating=4"),
            ("rating", "3", "brand=A&brand=B&t.size=M&rating=3"),
            ("rating", "4", "brand=A&brand=B&t.size=M"),
        ] {
            let expected = format!("/search?{expected}");
            assert_eq!(list.toggled(name, value), expected, "{name}={value}");
        }
    }
}
