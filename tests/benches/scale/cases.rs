//! What is asked: lists, facets, searches and single pages, as storefronts and admins ask them.

use serde_json::{Value, json};

use crate::probe::{Scope, words};
use crate::testbed::{Case, State};

const LIST: &str = "query($filter: ProductFilterInput, $sort: [ProductSortInput!]) {
  products(filter: $filter, sort: $sort, first: 24) {
    nodes {
      id slug name brand price { amount currency } media { url alt } ratingStats { count average }
      spec(key: \"color\") { label text }
    }
    pageInfo { hasNextPage endCursor }
  }
}";

const WHOLE_LIST: &str = "query($filter: ProductFilterInput) {
  products(filter: $filter, first: 24) { nodes { id name description specs { key label text } } }
}";

const FACETS: &str = "query($filter: ProductFilterInput, $search: String) {
  products(filter: $filter, search: $search, first: 1) {
    facets {
      key label kind accuracy sampleSize productCount productCountMargin distinctValues
      values {
        label count margin selected path
        filter {
          category brand country price { gte lte } rating { gte }
          specs { key text { eq } number { gte lte gt lt unit } boolean date { gte lte gt lt } }
        }
      }
    }
  }
}";

const SEARCH: &str = "query($search: String) {
  products(search: $search, first: 24) {
    nodes { id slug name brand price { amount currency } }
    search { words { typed reading corrected } ignored didYouMean }
    pageInfo { hasNextPage }
  }
}";

const SUGGESTIONS: &str = "query($prefix: String!) { searchSuggestions(prefix: $prefix) }";

const KEYS: &str = "{
  specKeys(first: 50) {
    nodes { key label type coverage { products distinctValues sampleValues kinds { kind missingShare } } }
  }
}";

const PRODUCT: &str = "query($id: ID!) {
  product(id: $id) {
    id name description brand price { amount currency } media { url }
    category { name path } supplier { name } specs { key label text }
    ratingStats { count average histogram { rating count } }
    topReviews { rating title excerpt }
  }
}";

/// Lists, with every sort and every kind of filter.
pub(crate) fn lists(scopes: &[Scope]) -> Vec<Case> {
    let (all, leaf, middle) = (&scopes[0], &scopes[1], &scopes[2]);
    let mut cases = Vec::new();
    for (scope, sorts) in [
        (
            leaf,
            &["PRICE", "POPULARITY", "RATING", "NAME", "NEWEST"][..],
        ),
        (middle, &["PRICE", "POPULARITY", "RATING", "NAME"]),
    ] {
        let one = scope.common.get(..1).unwrap_or_default();
        cases.extend(sorts.iter().map(|sort| list("1 filter", scope, one, sort)));
    }
    for scope in [all, leaf] {
        for sort in ["POPULARITY", "PRICE"] {
            let common = scope.common.get(..2).unwrap_or_default();
            cases.push(list("2 common filters", scope, common, sort));
            cases.push(list("2 rare filters", scope, &scope.rare, sort));
        }
    }
    for scope in [leaf, all] {
        for sort in ["PRICE", "POPULARITY"] {
            cases.push(list("range", scope, scope.range.as_slice(), sort));
        }
    }
    cases
}

/// Facets of whole scopes, as nothing has changed since they were precomputed.
pub(crate) fn counted_facets(scopes: &[Scope]) -> Vec<Case> {
    let counted = |scope| facets("facets, precomputed", scope, &[], State::Warm);
    scopes.iter().map(counted).collect()
}

/// The same when a product has just changed, or for the first time.
pub(crate) fn live_facets(scopes: &[Scope], first: bool) -> Vec<Case> {
    let live = |scope: &Scope| {
        let product = scope.product();
        let (name, state) = if first {
            ("facets, first", State::First(product))
        } else {
            ("facets, after a change", State::Touched(product))
        };
        facets(name, scope, &[], state)
    };
    scopes.iter().map(live).collect()
}

/// Facets of scopes narrowed down by texts: one common, two, two rare.
pub(crate) fn filtered_facets(scopes: &[Scope]) -> Vec<Case> {
    let mut cases = Vec::new();
    for scope in scopes {
        for (name, filters) in [
            ("facets, 1 common filter", scope.common.get(..1)),
            ("facets, 2 common filters", scope.common.get(..2)),
            ("facets, 2 rare filters", scope.rare.get(..)),
        ] {
            let filters = filters.unwrap_or_default();
            if !filters.is_empty() {
                cases.push(facets(name, scope, filters, State::Warm));
            }
        }
    }
    cases
}

/// Searches, the last of them hostile, and suggestions.
pub(crate) fn searches(all: &Scope) -> Vec<Case> {
    let words = words(&all.sample);
    let word = |at: usize| words.get(at).map_or("", |(word, _)| word.as_str());
    let (common, second) = (word(0), word(1));
    let rare = words.iter().rev().find(|(word, _)| word.len() >= 6);
    let rare = rare.map_or(common, |(word, _)| word.as_str());
    let eight = words.iter().take(8).map(|(word, _)| word.as_str());
    let product = all.sample.first();
    let sku = product.and_then(|product| product["sku"].as_str());
    let name = product.and_then(|product| product["name"].as_str());
    let long: String = std::iter::repeat_n("wvutsrqponmlkjihgfedcba", 9).collect();
    let texts = [
        ("common word", common.to_owned()),
        ("rare word", rare.to_owned()),
        ("two common words", format!("{common} {second}")),
        ("common and rare word", format!("{common} {rare}")),
        ("whole name", name.unwrap_or_default().to_owned()),
        ("1 letter", beginning(common, 1)),
        ("2 letters", beginning(common, 2)),
        ("3 letters", beginning(common, 3)),
        ("common word, wrong letter", mistyped(common)),
        ("rare word, wrong letter", mistyped(rare)),
        ("code", sku.unwrap_or_default().to_owned()),
        ("nothing", "xqzvwkjhy".to_owned()),
        ("200 characters, one word", beginning(&long, 200)),
        ("200 characters, 8 unknown words", unknown_words()),
        ("8 very common words", eight.collect::<Vec<_>>().join(" ")),
        ("8 single letters", "b c d f g h k l".to_owned()),
    ];
    let search = |(name, text): (&str, String)| {
        case(
            &format!("search: {name}"),
            SEARCH,
            json!({ "search": text }),
        )
    };
    let mut cases: Vec<Case> = texts.into_iter().map(search).collect();
    for letters in [1, 3] {
        let prefix = json!({ "prefix": beginning(common, letters) });
        cases.push(case(
            &format!("suggestions: {letters} letters"),
            SUGGESTIONS,
            prefix,
        ));
    }
    let filter = json!({ "search": common });
    cases.push(case("facets of a search: common word", FACETS, filter));
    cases
}

/// The dictionary, a product, and a page of products with as many specs as they may have.
pub(crate) fn pages(all: &Scope, heavy: Option<&str>) -> Vec<Case> {
    let keys = "50 spec keys with coverage";
    let mut cases = vec![
        case(keys, KEYS, Value::Null),
        Case {
            state: State::Touched(all.product()),
            ..case(&format!("{keys}, after a change"), KEYS, Value::Null)
        },
        case("product page", PRODUCT, json!({ "id": all.product() })),
    ];
    if let Some(slug) = heavy {
        let filter = json!({ "filter": { "category": [slug] } });
        cases.push(case(
            "24 products with 200 specs, short",
            LIST,
            filter.clone(),
        ));
        cases.push(case(
            "24 products with 200 specs, in full",
            WHOLE_LIST,
            filter,
        ));
    }
    cases
}

/// The same cases without the sizes in their names, to be compared between catalogues.
pub(crate) fn place(at: usize) -> &'static str {
    ["whole", "large leaf", "middle leaf", "small leaf"][at]
}

fn list(name: &str, scope: &Scope, specs: &[Value], sort: &str) -> Case {
    let name = format!("{name}, {}, {sort}", scope.title());
    let variables = json!({ "filter": scope.filter(specs), "sort": [{ "key": sort }] });
    case(&name, LIST, variables)
}

fn facets(name: &str, scope: &Scope, specs: &[Value], state: State) -> Case {
    let name = format!("{name}, {}", scope.title());
    let variables = json!({ "filter": scope.filter(specs) });
    Case {
        state,
        ..case(&name, FACETS, variables)
    }
}

fn case(name: &str, document: &'static str, variables: Value) -> Case {
    Case {
        name: name.to_owned(),
        document,
        variables,
        state: State::Warm,
    }
}

fn beginning(word: &str, letters: usize) -> String {
    word.chars().take(letters).collect()
}

/// With another letter in its middle.
fn mistyped(word: &str) -> String {
    let middle = word.chars().count() / 2;
    let letters = word.chars().enumerate();
    letters
        .map(|(at, letter)| match (at == middle, letter) {
            (false, _) => letter,
            (true, 'x') => 'q',
            (true, _) => 'x',
        })
        .collect()
}

/// Eight words that nothing has.
fn unknown_words() -> String {
    let word = |at: u8| format!("{}qzvxwkjyqzvxwkjyqzvxwkj", char::from(b'a' + at));
    (0..8).map(word).collect::<Vec<_>>().join(" ")
}
