//! What of a condition an index serves. The index entries of these parts are all that a list or a count examines; what else
//! the condition says is checked on the way, and if little matches, everything is examined.

use vitrine_model::filter::{Condition, ProductSort, ProductSortKey};
use vitrine_model::id::CategoryId;

use super::{AdminPart, Shape, count_index, index, mandatory, sort_index, sorts};

/// The parts of a condition that the index of a list or a count serves.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something else of the index"
)]
pub(crate) struct Served {
    pub(crate) condition: Condition,
    /// Whether they are the whole condition.
    pub(crate) is_whole: bool,
    /// Whether the index has the order of the list.
    pub(crate) is_sorted: bool,
    /// Whether they are more than states, categories and prices.
    pub(crate) has_values: bool,
    /// Whether counting them reads products, because the index cannot tell which numbers belong to which key.
    pub(crate) reads: bool,
    /// Whether the index has everything that the rest of the condition names.
    pub(crate) is_covering: bool,
}

impl Served {
    /// Returns what the index of a list serves.
    pub(crate) fn by_list(condition: &Condition, sort: ProductSort, scan_sort_index: bool) -> Self {
        let shape = Shape::of(condition);
        let scans = scan_sort_index && sorts(shape, sort.key);
        let is_sorted = scans || !sorts(shape, sort.key);
        let index = if scans {
            sort_index(shape, sort.key)
        } else {
            index(shape, sort.key)
        };
        let by_price = sort.key == ProductSortKey::Price
            && matches!(index, "price" | "category_price" | "category_tokens_price");
        let mut served = Self::by_index(condition, index, by_price, is_sorted);
        if asks_what_admins_ask(condition) {
            // `Store::sorts_more_than` limits what is sorted; of what is scanned, much matches then.
            (served.is_whole, served.is_sorted) = (true, true);
        }
        served
    }

    /// Returns what the index of a count serves.
    pub(crate) fn by_count(condition: &Condition) -> Self {
        let index = count_index(condition);
        let by_price = index == "category_tokens_price";
        let mut served = Self::by_index(condition, index, by_price, true);
        let mut is_covering = index.ends_with("newest");
        mandatory(condition, &mut |part| {
            is_covering &= matches!(
                part,
                Condition::Status(_)
                    | Condition::Category(_)
                    | Condition::Price(_)
                    | Condition::HasPrice(true)
                    | Condition::HalfStars(_)
            );
        });
        served.is_covering = is_covering;
        served
    }

    fn by_index(condition: &Condition, index: &str, by_price: bool, is_sorted: bool) -> Self {
        let mut served = Self {
            condition: Condition::All(Vec::new()),
            is_whole: true,
            is_sorted,
            has_values: false,
            reads: false,
            is_covering: false,
        };
        let (mut has_category, mut parts) = (false, Vec::new());
        mandatory(condition, &mut |part| {
            let is_value = is_value_of(index, part);
            let is_served = match part {
                Condition::Status(_) => true,
                Condition::Category(_) => {
                    index.starts_with("category") && !std::mem::replace(&mut has_category, true)
                }
                Condition::Price(_) | Condition::HasPrice(true) => by_price,
                _ => is_value && !served.has_values,
            };
            served.has_values |= is_value;
            served.is_whole &= is_served;
            if is_served {
                served.reads |= matches!(part, Condition::SpecRange { .. });
                parts.push(part.clone());
            }
        });
        served.condition = Condition::All(parts);
        served
    }

    /// Whether as many rows are examined as match, and no more.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.is_whole && self.is_sorted
    }

    /// The categories among whose products everything is that is examined; `None` for all.
    pub(crate) fn categories(&self) -> Option<&[CategoryId]> {
        let Condition::All(parts) = &self.condition else {
            return None;
        };
        parts.iter().find_map(|part| match part {
            Condition::Category(ids) => Some(ids.as_slice()),
            _ => None,
        })
    }
}

/// Whether a condition names nothing but states, categories, and what only admins may ask for.
fn asks_what_admins_ask(condition: &Condition) -> bool {
    let mut all = true;
    let mut asks = false;
    mandatory(condition, &mut |part| {
        let is_for_admins = AdminPart::of(part).is_some();
        asks |= is_for_admins;
        all &= is_for_admins || matches!(part, Condition::Status(_) | Condition::Category(_));
    });
    asks && all
}

/// Whether this index has the values of a part.
fn is_value_of(index: &str, part: &Condition) -> bool {
    match part {
        Condition::Token(_) => index.contains("tokens"),
        Condition::SpecRange { .. }
        | Condition::SpecExists {
            qualifier: None, ..
        } => index.ends_with("spec_number"),
        Condition::Name(_) => index == "name",
        Condition::Supplier(_) => index == "supplier_updated",
        Condition::Kind(_) => index == "kind_updated",
        Condition::HasPrice(false) => index == "without_price",
        Condition::HasMedia(false) => index == "without_media",
        Condition::UpdatedSince(_) => index.ends_with("updated"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::filter::{Bounds, Direction};
    use vitrine_model::product::ProductStatus;

    use super::*;

    fn sort(key: ProductSortKey) -> ProductSort {
        ProductSort {
            key,
            direction: Direction::Descending,
        }
    }

    fn of(part: Condition) -> Condition {
        Condition::All(vec![
            Condition::Status(vec![ProductStatus::Active]),
            Condition::Category(vec![CategoryId::from_i64(1)]),
            part,
        ])
    }

    fn token(text: &str) -> Condition {
        Condition::Token(vec![text.to_owned()])
    }

    #[test]
    fn what_no_index_has_is_not_bounded() {
        use ProductSortKey::{Name, Popularity, Price, Rating};
        let price = || Condition::Price(Bounds::default());
        let cases = [
            (Condition::All(Vec::new()), Name, true),
            (price(), Price, true),
            (price(), Name, false),
            (Condition::HalfStars(8.0), Rating, false),
            (
                Condition::Any(vec![token("a"), token("b")]),
                Popularity,
                false,
            ),
            (Condition::Not(Box::new(token("a"))), Price, false),
            (token("a"), Popularity, true),
            (token("a"), Price, true),
            (token("a"), Name, false),
            (Condition::All(vec![token("a"), price()]), Price, true),
            (
                Condition::All(vec![token("a"), token("b")]),
                Popularity,
                false,
            ),
        ];
        for (part, key, expected) in cases {
            let served = Served::by_list(&of(part.clone()), sort(key), false);
            assert_eq!(served.is_bounded(), expected, "{part:?} by {key:?}");
            assert_eq!(served.categories().map(<[_]>::len), Some(1));
        }
    }

    #[test]
    fn counts_of_one_value_are_bounded() {
        let whole = |part: Condition| Served::by_count(&of(part)).is_whole;
        assert!(whole(token("a")));
        assert!(whole(Condition::SpecExists {
            key: "a".to_owned(),
            qualifier: None
        }));
        assert!(!whole(Condition::Any(vec![token("a"), token("b")])));
        let stars = Served::by_count(&of(Condition::HalfStars(8.0)));
        assert!(!stars.is_whole && stars.is_covering);
    }
}
