//! Translates conditions into queries: the only place that builds predicates on specs and chooses
//! indexes.
//!
//! Every predicate on a spec is one `$elemMatch` on `{k, n}` or one comparison with a token. The
//! dotted form (`specs.k` and `specs.n` separately) may match two different specs and returns wrong
//! products.

use mongodb::bson::{Bson, Document, doc};
use vitrine_model::filter::{
    AccessPath, Bounds, Condition, Direction, ProductSort, ProductSortKey, Range, Words,
};

pub(crate) use self::served::Served;
use crate::keyset::{Column, ColumnKind, ListQuery, all_of, any_of};
use crate::raw::{date, stored_id};

mod served;

/// The maximum number of index ranges that the server merges in sort order; with more it sorts in
/// memory (its own limit for exploding scans for a sort).
const MAX_MERGED_RANGES: usize = 200;

/// Returns the query for a list of products.
pub(crate) fn list(
    condition: &Condition,
    sort: ProductSort,
    scan_sort_index: bool,
    projection: Document,
) -> ListQuery {
    let shape = Shape::of(condition);
    let window = window(condition).unwrap_or_default();
    let index = if scan_sort_index && sorts(shape, sort.key) {
        sort_index(shape, sort.key)
    } else {
        index(shape, sort.key)
    };
    ListQuery {
        collection: "products",
        filter: predicate(condition),
        columns: vec![sorting(sort.key).column],
        descending: sort.direction == Direction::Descending,
        index,
        // The result of a window is sorted as a whole where its own order is not the requested one.
        merged: shape.ranges() > 1 && window.is_empty(),
        window,
        projection: Some(projection),
        limit: None,
    }
}

/// Returns the projection to what the position of a product in a list is made of.
pub(crate) fn position(sort: ProductSort) -> Document {
    doc! { "_id": 1, sorting(sort.key).column.field: 1 }
}

/// Returns the index for counting products that match a condition. Reviews move products within the
/// indexes by popularity and rating, and a product that moves during the count may be counted twice
/// or not at all. The index is therefore one in which products keep their place, except for
/// searches, which have no such index. Those by creation have the price and the stars behind the id,
/// so that filters on them are counted without reading products.
pub(crate) fn count_index(condition: &Condition) -> &'static str {
    let shape = Shape::of(condition);
    if shape.exists && !shape.is_bounded_by_values() && shape.admin_index().is_none() {
        return if shape.categories.is_some() {
            "category_spec_number"
        } else {
            "spec_number"
        };
    }
    match index(shape, ProductSortKey::Newest) {
        "category_tokens_popularity" => "category_tokens_price",
        "tokens_popularity" => "tokens_slot",
        other => other,
    }
}

/// Returns whether a count reads the entries of all products of the condition's states and categories,
/// because nothing else limits the scan.
pub(crate) fn counts_by_scanning(condition: &Condition) -> bool {
    matches!(count_index(condition), "newest" | "category_newest")
}

/// Returns the index for a sample by slots.
pub(crate) fn slot_index(condition: &Condition) -> &'static str {
    if Shape::of(condition).tokens.is_some() {
        "tokens_slot"
    } else {
        "category_slot"
    }
}

/// Everything about a sort key that queries depend on.
struct Sorting {
    /// The column that products are compared by.
    column: Column,
    /// The index that has the products of each category in this order.
    category_index: &'static str,
    /// The index that has all products in this order.
    plain_index: &'static str,
}

/// Returns the sorting of a sort key. Whether its column is coarse, that is whether many products
/// share a value, decides how a page is found. Ranks are coarse; so are times of creation and change,
/// because imports write thousands of products at one instant.
const fn sorting(key: ProductSortKey) -> Sorting {
    use ColumnKind::{Instant, Integer, Text};
    let (column, category_index, plain_index) = match key {
        ProductSortKey::Price => (
            Column::new("list_price", Integer).nullable(),
            "category_price",
            "price",
        ),
        ProductSortKey::Rating => (
            Column::new("rank.rating", Integer).coarse(),
            "category_rating",
            "rating",
        ),
        ProductSortKey::Popularity | ProductSortKey::Relevance => (
            Column::new("rank.popularity", Integer).coarse(),
            "category_popularity",
            "popularity",
        ),
        ProductSortKey::Newest => (
            Column::new("created_at", Instant).coarse(),
            "category_newest",
            "newest",
        ),
        ProductSortKey::Updated => (
            Column::new("updated_at", Instant).coarse(),
            "category_updated",
            "updated",
        ),
        ProductSortKey::Name => (Column::new("name_key", Text), "category_name", "name"),
        ProductSortKey::BestSelling => (
            Column::new("rank.sold", Integer).nullable().coarse(),
            "category_sold",
            "sold",
        ),
        ProductSortKey::Trending => (
            Column::new("rank.trend", Integer).nullable().coarse(),
            "category_trend",
            "trend",
        ),
    };
    Sorting {
        column,
        category_index,
        plain_index,
    }
}

/// What a condition offers an index: only parts that every matching product must satisfy.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    statuses: usize,
    categories: Option<usize>,
    tokens: Option<usize>,
    words: Option<usize>,
    name: bool,
    range: bool,
    exists: bool,
    admin: Option<AdminPart>,
}

/// What an index of its own has for admins; the later ones match fewer products as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AdminPart {
    Since,
    Kinds(usize),
    Suppliers(usize),
    WithoutPrice,
    WithoutMedia,
}

impl AdminPart {
    const fn of(condition: &Condition) -> Option<Self> {
        Some(match condition {
            Condition::UpdatedSince(_) => Self::Since,
            Condition::Kind(kinds) => Self::Kinds(kinds.len()),
            Condition::Supplier(ids) => Self::Suppliers(ids.len()),
            Condition::HasPrice(false) => Self::WithoutPrice,
            Condition::HasMedia(false) => Self::WithoutMedia,
            _ => return None,
        })
    }
}

impl Shape {
    fn of(condition: &Condition) -> Self {
        let mut shape = Self::default();
        shape.take(condition);
        shape
    }

    fn take(&mut self, condition: &Condition) {
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| self.take(part)),
            Condition::Category(ids) => self.categories = Some(fewer(self.categories, ids.len())),
            Condition::Token(tokens) => self.tokens = Some(fewer(self.tokens, tokens.len())),
            Condition::Status(states) => self.statuses = self.statuses.max(states.len()),
            Condition::SpecRange { .. } => self.range = true,
            Condition::SpecExists { .. } => self.exists = true,
            Condition::Name(_) => self.name = true,
            Condition::Words(Words {
                access_path: AccessPath::OtherConditions,
                ..
            }) => {}
            Condition::Words(words) => {
                let first = words.each.first().map_or(1, Vec::len);
                self.words = Some(first.max(self.words.unwrap_or(1)));
            }
            part => self.admin = self.admin.max(AdminPart::of(part)),
        }
    }

    /// The number of index ranges that the condition needs.
    fn ranges(self) -> usize {
        self.statuses.max(1)
            * self.categories.unwrap_or(1)
            * self.tokens.unwrap_or(1)
            * self.words.unwrap_or(1)
            * self.admin_values()
    }

    /// Returns the number of kinds or suppliers.
    const fn admin_values(self) -> usize {
        match self.admin {
            Some(AdminPart::Kinds(values) | AdminPart::Suppliers(values)) => values,
            _ => 1,
        }
    }

    /// Returns the index for filters that only admins use, of which each has the order of changes.
    fn admin_index(self) -> Option<&'static str> {
        let by_category = self.categories.is_some() && self.merges();
        match self.admin? {
            AdminPart::WithoutMedia => Some("without_media"),
            AdminPart::WithoutPrice => Some("without_price"),
            AdminPart::Suppliers(_) => Some("supplier_updated"),
            AdminPart::Kinds(_) => (!by_category).then_some("kind_updated"),
            AdminPart::Since => Some(sort_index(self, ProductSortKey::Updated)),
        }
    }

    /// Returns whether a word, a value or a range limits the scan.
    const fn is_bounded_by_values(self) -> bool {
        self.words.is_some() || self.tokens.is_some() || self.range
    }

    /// Returns whether the server can merge these ranges and keep the order.
    fn merges(self) -> bool {
        self.ranges() <= MAX_MERGED_RANGES
    }
}

fn fewer(known: Option<usize>, found: usize) -> usize {
    known.map_or(found, |known| known.min(found))
}

/// Returns the index for a condition and a sort key: the first of these that the condition allows.
///
/// 1. A name uses the index by name, whatever the sort.
/// 2. Leading words of a search limit the scan to the products that have the first of them.
/// 3. A token limits the scan to the products that have it; for price and popularity the index also
///    has the order.
/// 4. A numeric range limits the scan, and the matching products are sorted.
/// 5. So do filters of admins, whose indexes have the order of changes.
/// 6. Otherwise the index of the sort key is scanned and filtered; `or`, `not`, `exists`, price and
///    rating are checked on the way.
fn index(shape: Shape, key: ProductSortKey) -> &'static str {
    if shape.name {
        return "name";
    }
    let by_category = shape.categories.is_some() && shape.merges();
    if shape.words.is_some() {
        return "keywords_popularity";
    }
    match (shape.tokens.is_some(), shape.range, by_category) {
        (true, _, true) if key == ProductSortKey::Price => "category_tokens_price",
        (true, _, true) => "category_tokens_popularity",
        (true, _, false) => "tokens_popularity",
        (false, true, true) => "category_spec_number",
        (false, true, false) => "spec_number",
        (false, false, _) => match shape.admin_index() {
            Some(index) => index,
            None => sort_index(shape, key),
        },
    }
}

/// Returns whether the result of [`index`] has to be sorted.
fn sorts(shape: Shape, key: ProductSortKey) -> bool {
    let is_bounded = shape.is_bounded_by_values() || shape.admin_index().is_some();
    let has_order = match index(shape, key) {
        "category_tokens_price" => key == ProductSortKey::Price,
        "category_tokens_popularity" | "tokens_popularity" | "keywords_popularity" => {
            matches!(key, ProductSortKey::Popularity | ProductSortKey::Relevance)
        }
        _ => !shape.is_bounded_by_values() && key == ProductSortKey::Updated,
    };
    is_bounded && !shape.name && !has_order
}

/// Returns the part of a condition that decides how many products a list reads and sorts, if that is a
/// filter of admins: of others, panels tell how many products match. [`count_index`] covers it.
pub(crate) fn sorted_part(condition: &Condition, sort: ProductSort) -> Option<Condition> {
    let shape = Shape::of(condition);
    if !sorts(shape, sort.key) || shape.is_bounded_by_values() {
        return None;
    }
    let bounds: fn(&Condition) -> bool = match shape.admin_index()? {
        "without_media" => |part| matches!(part, Condition::HasMedia(false)),
        "without_price" => |part| matches!(part, Condition::HasPrice(false)),
        "supplier_updated" => |part| matches!(part, Condition::Supplier(_)),
        "kind_updated" => |part| matches!(part, Condition::Kind(_)),
        "updated" => |part| matches!(part, Condition::UpdatedSince(_)),
        _ => |part| matches!(part, Condition::UpdatedSince(_) | Condition::Category(_)),
    };
    let mut parts = Vec::new();
    mandatory(condition, &mut |part| {
        if matches!(part, Condition::Status(_)) || bounds(part) {
            parts.push(part.clone());
        }
    });
    Some(Condition::All(parts))
}

/// Calls a function with each part that all matching products satisfy.
fn mandatory(condition: &Condition, each: &mut impl FnMut(&Condition)) {
    match condition {
        Condition::All(parts) => parts.iter().for_each(|part| mandatory(part, each)),
        part => each(part),
    }
}

/// Returns the index that has the sort order, for scanning it.
fn sort_index(shape: Shape, key: ProductSortKey) -> &'static str {
    if shape.categories.is_some() && shape.merges() {
        sorting(key).category_index
    } else {
        sorting(key).plain_index
    }
}

/// The parts of a condition that can be counted from indexes alone.
pub(crate) struct Covered {
    /// Conditions that all matching products satisfy, each counted without reading a product.
    pub(crate) parts: Vec<Part>,
    /// Whether any single part is equivalent to the whole condition.
    pub(crate) whole: bool,
    /// Whether the rarest part limits what is read.
    pub(crate) bounds: bool,
}

/// A part of a condition that can be counted from an index alone.
pub(crate) struct Part {
    pub(crate) condition: Condition,
    /// The position of its word in the search.
    pub(crate) word: Option<usize>,
}

/// The maximum number of parts that are counted for a bound, apart from words.
const MAX_BOUNDS: usize = 4;

/// Returns the parts that indexes cover: states and categories with one token or key each, and
/// states with one word each. They match the indexes `category_tokens_price`, `tokens_slot`,
/// `spec_number` and `keywords_popularity`.
pub(crate) fn covered(condition: &Condition) -> Covered {
    let parts = Parts::of(condition);
    if parts.words.is_empty() {
        let clauses = parts.clauses.len();
        let bounds = parts.tokens().next().is_some();
        let all = if clauses == 0 {
            vec![Condition::All(parts.frame)]
        } else {
            let clauses = parts.clauses.iter().take(MAX_BOUNDS);
            clauses.map(|clause| parts.with(clause)).collect()
        };
        let part = |condition| Part {
            condition,
            word: None,
        };
        return Covered {
            parts: all.into_iter().map(part).collect(),
            whole: parts.whole && clauses <= 1,
            bounds,
        };
    }
    let states = || parts.states().cloned();
    let word = |(at, either): (usize, &Vec<String>)| Part {
        condition: Condition::All(
            states()
                .chain([Condition::Words(Words::new(vec![either.clone()]))])
                .collect(),
        ),
        word: Some(at),
    };
    let mut all: Vec<Part> = parts.words.iter().enumerate().map(word).collect();
    let is_framed = parts
        .frame
        .iter()
        .any(|p| matches!(p, Condition::Category(_)));
    let whole = parts.whole && all.len() == 1 && parts.clauses.is_empty() && !is_framed;
    // Lists also use tokens, ranges and categories, unless there are too many for one index. Ranges
    // only help without tokens, because the index would be chosen by the tokens.
    if Shape::of(&Condition::All(parts.frame.clone())).merges() {
        let mut others: Vec<Condition> = parts.tokens().map(|token| parts.with(token)).collect();
        if others.is_empty() {
            let ranges = parts.ranges.iter().take(MAX_BOUNDS);
            others.extend(ranges.map(|range| parts.with(range)));
        }
        if others.is_empty() && is_framed {
            others.push(Condition::All(parts.frame.clone()));
        }
        let other = |condition| Part {
            condition,
            word: None,
        };
        all.splice(0..0, others.into_iter().map(other));
    }
    Covered {
        parts: all,
        whole,
        bounds: true,
    }
}

/// Returns the index of a sample by slots, and conditions of which one limits the scan.
pub(crate) fn slot_parts(condition: &Condition) -> (&'static str, Vec<Condition>) {
    let mut parts = Parts::of(condition);
    let index = slot_index(condition);
    if index == "category_slot" {
        return (index, vec![Condition::All(parts.frame)]);
    }
    parts
        .frame
        .retain(|part| matches!(part, Condition::Status(_)));
    (
        index,
        parts.tokens().map(|token| parts.with(token)).collect(),
    )
}

/// A condition split into its parts.
struct Parts {
    /// States and categories.
    frame: Vec<Condition>,
    /// Tokens and keys.
    clauses: Vec<Condition>,
    words: Vec<Vec<String>>,
    /// Numeric ranges; they cannot be counted without reading products.
    ranges: Vec<Condition>,
    /// Whether these parts, without ranges, are the whole condition.
    whole: bool,
}

impl Parts {
    fn of(condition: &Condition) -> Self {
        let mut parts = Self {
            frame: Vec::new(),
            clauses: Vec::new(),
            words: Vec::new(),
            ranges: Vec::new(),
            whole: true,
        };
        parts.take(condition);
        parts
    }

    fn take(&mut self, condition: &Condition) {
        match condition {
            Condition::All(parts) => parts.iter().for_each(|part| self.take(part)),
            Condition::Status(_) | Condition::Category(_) => self.frame.push(condition.clone()),
            Condition::Token(_)
            | Condition::SpecExists {
                qualifier: None, ..
            } => self.clauses.push(condition.clone()),
            Condition::Words(words) => self.words.extend(words.each.iter().cloned()),
            _ => {
                self.whole = false;
                if matches!(condition, Condition::SpecRange { .. }) {
                    self.ranges.push(condition.clone());
                }
            }
        }
    }

    fn states(&self) -> impl Iterator<Item = &Condition> {
        self.frame
            .iter()
            .filter(|part| matches!(part, Condition::Status(_)))
    }

    fn tokens(&self) -> impl Iterator<Item = &Condition> {
        let tokens = self
            .clauses
            .iter()
            .filter(|clause| matches!(clause, Condition::Token(_)));
        tokens.take(MAX_BOUNDS)
    }

    fn with(&self, clause: &Condition) -> Condition {
        Condition::All([&self.frame[..], std::slice::from_ref(clause)].concat())
    }
}

/// Returns the stages that select the most popular products with the first word of a search, for
/// conditions that look through only these. The planner cannot use the following stages to bound
/// the scan.
pub(crate) fn window(condition: &Condition) -> Option<Vec<Document>> {
    if Shape::of(condition).name {
        return None;
    }
    let words = words(condition)?;
    let AccessPath::Popular(max) = words.access_path else {
        return None;
    };
    let states = Parts::of(condition);
    let states = states.states().map(predicate);
    let first = words.each.first().map(|first| keywords(first));
    Some(vec![
        doc! { "$match": all_of(states.chain(first).collect()) },
        doc! { "$sort": { "rank.popularity": -1, "_id": -1 } },
        doc! { "$limit": i64::from(max) },
    ])
}

/// Returns the words that all products must have.
pub(crate) fn words(condition: &Condition) -> Option<&Words> {
    match condition {
        Condition::All(parts) => parts.iter().find_map(words),
        Condition::Words(words) => Some(words),
        _ => None,
    }
}

/// Returns the predicate for a condition.
pub(crate) fn predicate(condition: &Condition) -> Document {
    match condition {
        Condition::All(parts) => conjunction(parts),
        Condition::Any(parts) => any_of(parts.iter().map(predicate).collect()),
        Condition::Not(part) => doc! { "$nor": [predicate(part)] },
        Condition::Category(ids) => one_of("category", ids.iter().map(|id| stored_id(id.to_i64()))),
        Condition::Status(states) => one_of(
            "status",
            states.iter().map(|status| Bson::from(status.name())),
        ),
        Condition::Token(tokens) => one_of("tokens", tokens.iter().map(Bson::from)),
        Condition::Words(words) => {
            let word = |(at, either): (usize, &Vec<String>)| match words.access_path {
                AccessPath::FirstWord if at > 0 => keywords_unindexed(either),
                AccessPath::OtherConditions => keywords_unindexed(either),
                AccessPath::FirstWord | AccessPath::Popular(_) => keywords(either),
            };
            all_of(words.each.iter().enumerate().map(word).collect())
        }
        Condition::Name(key) => doc! { "name_key": key },
        Condition::Price(bounds) => price(*bounds),
        Condition::HalfStars(least) => doc! { "rank.stars": { "$gte": least } },
        Condition::Kind(kinds) => one_of("kind", kinds.iter().map(Bson::from)),
        Condition::Supplier(ids) => {
            one_of("supplier._id", ids.iter().map(|id| stored_id(id.to_i64())))
        }
        // The filters of the partial indexes are written like this.
        Condition::HasPrice(false) => doc! { "list_price": Bson::Null },
        Condition::HasPrice(true) => price(Bounds::default()),
        Condition::HasMedia(false) => doc! { "media": [] },
        Condition::HasMedia(true) => doc! { "media.0": { "$exists": true } },
        Condition::UpdatedSince(at) => doc! { "updated_at": { "$gte": date(*at) } },
        Condition::SpecRange {
            key,
            qualifier,
            range,
        } => {
            let mut spec = spec(key, qualifier.as_deref());
            spec.insert("n", comparison(*range));
            doc! { "specs": { "$elemMatch": spec } }
        }
        // One predicate on one path cannot mix up two specs, and can be counted from the index.
        Condition::SpecExists {
            key,
            qualifier: None,
        } => doc! { "specs.k": key },
        Condition::SpecExists { key, qualifier } => {
            doc! { "specs": { "$elemMatch": spec(key, qualifier.as_deref()) } }
        }
    }
}

/// Returns the predicate for several conditions. Single tokens are one `$all`: of these, the planner
/// bounds the index by the first one, so the order of the conditions decides what is examined.
fn conjunction(parts: &[Condition]) -> Document {
    let (mut tokens, mut predicates) = (Vec::new(), Vec::new());
    let mut left: Vec<&Condition> = parts.iter().rev().collect();
    while let Some(part) = left.pop() {
        match part {
            Condition::All(parts) => left.extend(parts.iter().rev()),
            Condition::Token(token) if token.len() == 1 => tokens.push(Bson::from(&token[0])),
            other => predicates.push(predicate(other)),
        }
    }
    match tokens.len() {
        0 => {}
        1 => predicates.push(doc! { "tokens": tokens.remove(0) }),
        _ => predicates.push(doc! { "tokens": { "$all": tokens } }),
    }
    merged(predicates)
}

/// Returns the conjunction as one flat document, if no field is named twice.
fn merged(predicates: Vec<Document>) -> Document {
    let mut names = predicates
        .iter()
        .flat_map(Document::keys)
        .collect::<Vec<_>>();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() < all {
        return all_of(predicates);
    }
    predicates.into_iter().flatten().collect()
}

fn keywords(either: &[String]) -> Document {
    one_of("keywords", either.iter().map(Bson::from))
}

/// A predicate that the planner cannot use as an index bound: it would choose by a trial run, which
/// a common word wins although it is the worse choice. The double negation rules the bound out.
fn keywords_unindexed(either: &[String]) -> Document {
    doc! { "$nor": [{ "keywords": { "$nin": either } }] }
}

fn one_of(field: &str, values: impl Iterator<Item = Bson>) -> Document {
    let mut values: Vec<Bson> = values.collect();
    if values.len() == 1 {
        return doc! { field: values.remove(0) };
    }
    doc! { field: { "$in": values } }
}

fn price(bounds: Bounds<i64>) -> Document {
    let least = bounds.gte.unwrap_or(0);
    let mut range = doc! { "$gte": least };
    if let Some(max) = bounds.lte {
        range.insert("$lte", max);
    }
    doc! { "list_price": range }
}

fn spec(key: &str, qualifier: Option<&str>) -> Document {
    let mut spec = doc! { "k": key };
    if let Some(qualifier) = qualifier {
        spec.insert("q", qualifier);
    }
    spec
}

/// Always a closed range within numbers: an open end would also match values of other types.
fn comparison(range: Range) -> Document {
    let mut comparison = Document::new();
    let low = range.min.map_or(("$gte", f64::NEG_INFINITY), |end| {
        (if end.included { "$gte" } else { "$gt" }, end.at)
    });
    comparison.insert(low.0, low.1);
    let high = range.max.map_or(("$lte", f64::INFINITY), |end| {
        (if end.included { "$lte" } else { "$lt" }, end.at)
    });
    comparison.insert(high.0, high.1);
    comparison
}

#[cfg(test)]
mod tests {
    use vitrine_model::clock::Timestamp;
    use vitrine_model::filter::End;
    use vitrine_model::id::{CategoryId, SupplierId};
    use vitrine_model::product::ProductStatus;

    use super::*;

    fn token(text: &str) -> Condition {
        Condition::Token(vec![text.to_owned()])
    }

    fn leaf() -> Condition {
        Condition::Category(vec![CategoryId::from_i64(1)])
    }

    fn range() -> Condition {
        let min = Some(End {
            at: 1.0,
            included: false,
        });
        Condition::SpecRange {
            key: "a".into(),
            qualifier: None,
            range: Range { min, max: None },
        }
    }

    #[test]
    fn only_prices_and_ratings_are_counted_by_scanning() {
        let scans = |parts: &[Condition]| counts_by_scanning(&Condition::All(parts.to_vec()));
        assert!(scans(&[Condition::HalfStars(4.0)]));
        assert!(scans(&[leaf(), Condition::HalfStars(4.0)]));
        assert!(!scans(&[Condition::HalfStars(4.0), range()]));
        assert!(!scans(&[Condition::HalfStars(4.0), token("a=b")]));
        let exists = Condition::SpecExists {
            key: "a".into(),
            qualifier: None,
        };
        assert!(!scans(&[Condition::HalfStars(4.0), exists]));
    }

    #[test]
    fn the_most_selective_part_chooses_the_index() {
        let all = |parts: &[Condition]| Condition::All(parts.to_vec());
        let price = |condition: &Condition| index(Shape::of(condition), ProductSortKey::Price);
        assert_eq!(
            price(&all(&[leaf(), token("a=b"), range()])),
            "category_tokens_price"
        );
        assert_eq!(
            index(
                Shape::of(&all(&[leaf(), token("a=b")])),
                ProductSortKey::Name
            ),
            "category_tokens_popularity"
        );
        assert_eq!(price(&token("a=b")), "tokens_popularity");
        assert_eq!(price(&all(&[leaf(), range()])), "category_spec_number");
        assert_eq!(
            price(&all(&[leaf(), Condition::Not(Box::new(token("a=b")))])),
            "category_price"
        );
        assert_eq!(price(&Condition::Any(vec![token("a=b"), range()])), "price");
        let many = Condition::Category((0..=200).map(CategoryId::from_i64).collect());
        assert_eq!(price(&many), "price");
        assert_eq!(price(&all(&[many, token("a=b")])), "tokens_popularity");
    }

    #[test]
    fn filters_of_admins_have_indexes_in_the_order_of_changes() {
        let all = |parts: &[Condition]| Condition::All(parts.to_vec());
        let kind = Condition::Kind(vec!["book".to_owned()]);
        let supplier = Condition::Supplier(vec![SupplierId::from_i64(3)]);
        let since = Condition::UpdatedSince(Timestamp::from_millis(0));
        let (no_price, no_media) = (Condition::HasPrice(false), Condition::HasMedia(false));
        let cases = [
            (kind.clone(), "kind_updated"),
            (all(&[kind.clone(), leaf()]), "category_updated"),
            (all(&[supplier.clone(), kind, leaf()]), "supplier_updated"),
            (all(&[supplier, no_price.clone()]), "without_price"),
            (all(&[no_price, no_media]), "without_media"),
            (since.clone(), "updated"),
            (all(&[since.clone(), leaf()]), "category_updated"),
            (all(&[since, token("a=b")]), "tokens_popularity"),
            (all(&[Condition::HasPrice(true)]), "updated"),
            (all(&[Condition::HasMedia(true)]), "updated"),
        ];
        for (condition, expected) in cases {
            let shape = Shape::of(&condition);
            assert_eq!(index(shape, ProductSortKey::Updated), expected);
            let is_bounded = expected == "tokens_popularity";
            assert_eq!(
                sorts(shape, ProductSortKey::Updated),
                is_bounded,
                "{condition:?}"
            );
        }
    }

    #[test]
    fn only_the_part_that_bounds_a_sorted_list_is_counted() {
        let status = Condition::Status(vec![ProductStatus::Active]);
        let kind = Condition::Kind(vec!["book".to_owned()]);
        let all = |parts: &[Condition]| Condition::All(parts.to_vec());
        let list = all(&[
            status.clone(),
            all(&[kind.clone(), Condition::HasPrice(true)]),
        ]);
        let by = |key| {
            let direction = Direction::Ascending;
            sorted_part(&list, ProductSort { key, direction })
        };
        assert_eq!(by(ProductSortKey::Name), Some(all(&[status, kind])));
        assert_eq!(by(ProductSortKey::Updated), None);
    }

    #[test]
    fn several_tokens_are_one_predicate_in_their_order() {
        let all = |parts: &[Condition]| Condition::All(parts.to_vec());
        let nested = all(&[leaf(), all(&[token("b=1"), range()]), token("a=1")]);
        let expected = doc! {
            "category": 1_i64,
            "specs": { "$elemMatch": { "k": "a", "n": { "$gt": 1.0, "$lte": f64::INFINITY } } },
            "tokens": { "$all": ["b=1", "a=1"] },
        };
        assert_eq!(predicate(&nested), expected);
        let either = Condition::Token(vec!["c=1".into(), "c=2".into()]);
        let expected = doc! { "$and": [
            { "tokens": { "$in": ["c=1", "c=2"] } },
            { "tokens": "a=1" },
        ] };
        assert_eq!(predicate(&all(&[token("a=1"), either])), expected);
        assert_eq!(predicate(&all(&[])), doc! {});
    }

    #[test]
    fn numbers_are_compared_within_one_spec_and_one_type() {
        let expected = doc! { "specs": { "$elemMatch": { "k": "a", "n": { "$gt": 1.0, "$lte": f64::INFINITY } } } };
        assert_eq!(predicate(&range()), expected);
    }

    /// Whether the validator requires a field, which may be nested.
    fn is_required(object: &Document, field: &str) -> bool {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let required = object.get_array("required");
        let is_there = required.is_ok_and(|all| all.contains(&first.into()));
        let properties = object.get_document("properties").unwrap();
        is_there && (rest.is_empty() || is_required(properties.get_document(first).unwrap(), rest))
    }

    #[test]
    fn a_sort_is_nullable_if_products_may_lack_its_column() {
        let files = crate::schema::desired();
        let products = files.iter().find(|file| file.collection == "products");
        let validator = products
            .unwrap()
            .validator
            .get_document("$jsonSchema")
            .unwrap();
        for key in ProductSortKey::ALL {
            let column = sorting(*key).column;
            let required = is_required(validator, column.field);
            assert_eq!(column.nullable, !required, "{key:?}");
        }
    }
}
