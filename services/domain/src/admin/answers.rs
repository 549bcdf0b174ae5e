//! Answers in the form in which they are stored for repeated idempotency keys.

use serde::{Deserialize, Serialize};
use vitrine_model::category::{Category, FeedName};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{CategoryId, SupplierId};
use vitrine_model::import::ExternalRef;
use vitrine_model::spec::SpecKey;
use vitrine_model::supplier::{Supplier, SupplierFacts};
use vitrine_model::unit::Unit;
use vitrine_storage::views::ProductView;
use vitrine_storage::write::Answer;

use super::Merge;
use crate::reviewing::dimensions::ReviewDimensions;

/// A type that can be stored as an answer.
pub(crate) trait StorableAnswer: Send + Sync + Sized + 'static {
    /// Returns the stored form.
    fn to_stored(&self) -> Answer;
    /// Reads the stored form; `None` when it holds another type.
    fn from_stored(answer: Answer) -> Option<Self>;
}

impl StorableAnswer for ProductView {
    fn to_stored(&self) -> Answer {
        Answer::Product(Box::new(self.clone()))
    }

    fn from_stored(answer: Answer) -> Option<Self> {
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
    #[serde(default)]
    feed_names: Vec<FeedName>,
    #[serde(default)]
    merged_into: Option<CategoryId>,
    revision: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Supplier")]
struct SupplierText {
    id: SupplierId,
    name: String,
    country: Option<String>,
    #[serde(default)]
    origin: Option<ExternalRef>,
    #[serde(default)]
    said: Option<SupplierFacts>,
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

/// Implements the trait for types that are stored as JSON, through a serde definition.
macro_rules! stored_as_json {
    ($($type:ty, $write:path, $read:path;)*) => {$(
        impl StorableAnswer for $type {
            fn to_stored(&self) -> Answer {
                let mut text = Vec::new();
                let written = $write(self, &mut serde_json::Serializer::new(&mut text));
                written.expect("answers hold nothing that JSON cannot");
                Answer::Text(String::from_utf8(text).expect("JSON is UTF-8"))
            }

            fn from_stored(answer: Answer) -> Option<Self> {
                match answer {
                    Answer::Text(text) => $read(&mut serde_json::Deserializer::from_str(&text)).ok(),
                    Answer::Product(_) | Answer::Review(..) => None,
                }
            }
        }
    )*};
}

stored_as_json! {
    Category, CategoryText::serialize, CategoryText::deserialize;
    Supplier, SupplierText::serialize, SupplierText::deserialize;
    SpecKey, SpecKey::serialize, SpecKey::deserialize;
    Unit, Unit::serialize, Unit::deserialize;
    ReviewDimensions, ReviewDimensions::serialize, ReviewDimensions::deserialize;
}

impl StorableAnswer for Merge {
    fn to_stored(&self) -> Answer {
        let text = MergeText {
            key: self.key.clone(),
            remaining: self.remaining,
        };
        let text = serde_json::to_string(&text);
        Answer::Text(text.expect("answers hold nothing that JSON cannot"))
    }

    fn from_stored(answer: Answer) -> Option<Self> {
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
    fn answers_survive_a_round_trip() {
        let parent = Some(CategoryId::random());
        let category = Category {
            revision: 3,
            ..Category::new(CategoryId::random(), "screens", "Screens", parent)
        };
        assert_eq!(Category::from_stored(category.to_stored()), Some(category));
        let supplier = Supplier {
            id: SupplierId::random(),
            name: "Nørd \"A\"".to_owned(),
            country: None,
            origin: None,
            said: None,
            version: 2,
            propagated_version: 1,
            changed_at: Some(Timestamp::from_millis(5)),
        };
        assert_eq!(
            Supplier::from_stored(supplier.to_stored()),
            Some(supplier.clone())
        );
        assert_eq!(Category::from_stored(supplier.to_stored()), None);
        let mut key = SpecKey::new("color", ValueType::Text);
        key.allowed_values = Some(vec!["red".to_owned()]);
        key.absorbing = vec!["colour".to_owned()];
        let merge = Merge {
            key: key.clone(),
            remaining: u64::MAX,
        };
        let merge = Merge::from_stored(merge.to_stored()).unwrap();
        assert_eq!((merge.key, merge.remaining), (key, u64::MAX));
    }
}
