//! Answers in the form in which they are kept, so that an order given again is answered the same.

use serde::{Deserialize, Serialize};
use vitrine_model::category::Category;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, SupplierId};
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::Supplier;
use vitrine_model::unit::Unit;
use vitrine_storage::views::ProductView;
use vitrine_storage::write::Answer;

use super::Merge;
use crate::reviewing::dimensions::ReviewDimensions;

/// What can be kept as an answer.
pub(crate) trait Answered: Send + Sync + Sized + 'static {
    /// The form in which it is kept.
    fn record(&self) -> Answer;
    /// What was kept; `None` when it is something else.
    fn recorded(answer: Answer) -> Option<Self>;
}

impl Answered for ProductView {
    fn record(&self) -> Answer {
        Answer::Product(Box::new(self.clone()))
    }

    fn recorded(answer: Answer) -> Option<Self> {
        match answer {
            Answer::Product(view) => Some(*view),
            Answer::Text(_) | Answer::Review(..) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Category")]
struct CategoryText {
    id: CategoryId,
    slug: String,
    name: String,
    parent: Option<CategoryId>,
    revision: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Supplier")]
struct SupplierText {
    id: SupplierId,
    name: String,
    country: Option<String>,
    version: i64,
    propagated_version: i64,
    #[serde(default)]
    changed_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct MergeText {
    key: SpecKey,
    remaining: u64,
}

/// Types that are kept as JSON, through a type that says how.
macro_rules! kept_as_json {
    ($($type:ty, $write:path, $read:path;)*) => {$(
        impl Answered for $type {
            fn record(&self) -> Answer {
                let mut text = Vec::new();
                let written = $write(self, &mut serde_json::Serializer::new(&mut text));
                written.expect("answers hold nothing that JSON cannot");
                Answer::Text(String::from_utf8(text).expect("JSON is UTF-8"))
            }

            fn recorded(answer: Answer) -> Option<Self> {
                match answer {
                    Answer::Text(text) => $read(&mut serde_json::Deserializer::from_str(&text)).ok(),
                    Answer::Product(_) | Answer::Review(..) => None,
                }
            }
        }
    )*};
}

kept_as_json! {
    Category, CategoryText::serialize, CategoryText::deserialize;
    Supplier, SupplierText::serialize, SupplierText::deserialize;
    SpecKey, SpecKey::serialize, SpecKey::deserialize;
    Unit, Unit::serialize, Unit::deserialize;
    ReviewDimensions, ReviewDimensions::serialize, ReviewDimensions::deserialize;
}

impl Answered for Merge {
    fn record(&self) -> Answer {
        let text = MergeText {
            key: self.key.clone(),
            remaining: self.remaining,
        };
        let text = serde_json::to_string(&text);
        Answer::Text(text.expect("answers hold nothing that JSON cannot"))
    }

    fn recorded(answer: Answer) -> Option<Self> {
        let Answer::Text(text) = answer else {
            return None;
        };
        let MergeText { key, remaining } = serde_json::from_str(&text).ok()?;
        Some(Self { key, remaining })
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::spec::ValueType;

    use super::*;

    #[test]
    fn answers_come_back_as_they_went() {
        let parent = Some(CategoryId::random());
        let category = Category {
            revision: 3,
            ..Category::new(CategoryId::random(), "screens", "Screens", parent)
        };
        assert_eq!(Category::recorded(category.record()), Some(category));
        let supplier = Supplier {
            id: SupplierId::random(),
            name: "Nørd \"A\"".to_owned(),
            country: None,
            version: 2,
            propagated_version: 1,
            changed_at: Some(Timestamp::from_millis(5)),
        };
        assert_eq!(
            Supplier::recorded(supplier.record()),
            Some(supplier.clone())
        );
        assert_eq!(Category::recorded(supplier.record()), None);
        let mut key = SpecKey::new("color", ValueType::Text);
        key.allowed_values = Some(vec!["red".to_owned()]);
        key.absorbing = vec!["colour".to_owned()];
        let merge = Merge {
            key: key.clone(),
            remaining: u64::MAX,
        };
        let merge = Merge::recorded(merge.record()).unwrap();
        assert_eq!((merge.key, merge.remaining), (key, u64::MAX));
    }
}
