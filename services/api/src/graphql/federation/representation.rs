//! Representations: how other subgraphs refer to objects of this one.

use async_graphql::{InputValueResult, Scalar, ScalarType, Value};
use vitrine_model::id::{CategoryId, GlobalId, ProductId, ReviewId, SupplierId};
use vitrine_model::product::Kind;

use crate::execution::Failure;

pub(super) struct Representation(Value);

/// A reference to an object of this service: an object with its type in `__typename` and the fields
/// of one of its keys. Other fields are ignored.
#[Scalar(name = "_Any")]
impl ScalarType for Representation {
    fn parse(value: Value) -> InputValueResult<Self> {
        Ok(Self(value))
    }

    fn to_value(&self) -> Value {
        self.0.clone()
    }
}

/// What a representation refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A product. If the second value is set, only a product of this type is meant.
    Product(ProductReference, Option<String>),
    Review(ProductId, ReviewId),
    Category(CategoryId),
    Supplier(SupplierId),
}

/// The key of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProductReference {
    Id(ProductId),
    Sku(String),
}

/// What is wrong with a representation: the field, empty for the whole, and the problem.
type Problem = (&'static str, String);

impl Representation {
    /// Returns what the representation refers to. An error names its index and field.
    pub(super) fn reference(&self, at: usize) -> Result<Reference, Failure> {
        self.read().map_err(|(field, problem)| {
            let dot = if field.is_empty() { "" } else { "." };
            Failure::bad_input(format!("representations[{at}]{dot}{field}: {problem}"))
        })
    }

    fn read(&self) -> Result<Reference, Problem> {
        if !matches!(self.0, Value::Object(_)) {
            return Err(("", "must be an object".to_owned()));
        }
        let name = self.text("__typename")?;
        let name = name.ok_or(("__typename", "is missing".to_owned()))?;
        match name {
            "Review" => match self.id()? {
                GlobalId::Review(product, id) => Ok(Reference::Review(product, id)),
                _ => Err(other_type("review")),
            },
            "Category" => match self.id()? {
                GlobalId::Category(id) => Ok(Reference::Category(id)),
                _ => Err(other_type("category")),
            },
            "Supplier" => match self.id()? {
                GlobalId::Supplier(id) => Ok(Reference::Supplier(id)),
                _ => Err(other_type("supplier")),
            },
            "Product" => Ok(Reference::Product(self.product()?, None)),
            kind if is_kind(kind) => Ok(Reference::Product(self.product()?, Some(kind.to_owned()))),
            _ => Err((
                "__typename",
                "not a type that this service has keys for".to_owned(),
            )),
        }
    }

    fn product(&self) -> Result<ProductReference, Problem> {
        match (self.text("id")?, self.text("sku")?) {
            (None, None) => return Err(("", "must have id or sku".to_owned())),
            (None, Some(sku)) => return Ok(ProductReference::Sku(sku.to_owned())),
            (Some(_), _) => {}
        }
        match self.id()? {
            GlobalId::Product(id) => Ok(ProductReference::Id(id)),
            _ => Err(other_type("product")),
        }
    }

    fn id(&self) -> Result<GlobalId, Problem> {
        let text = self.text("id")?;
        let text = text.ok_or_else(|| ("id", "is missing".to_owned()))?;
        GlobalId::decode(text).map_err(|error| ("id", error.to_string()))
    }

    /// Returns the text in a field; `None` without one.
    fn text(&self, field: &'static str) -> Result<Option<&str>, Problem> {
        let Value::Object(fields) = &self.0 else {
            return Ok(None);
        };
        match fields.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err((field, "must be a string".to_owned())),
        }
    }
}

fn other_type(expected: &str) -> Problem {
    ("id", format!("not the id of a {expected}"))
}

/// Whether a type is that of a product kind.
fn is_kind(name: &str) -> bool {
    let typed = Kind::TYPED.iter().map(|kind| format!("{kind:?}"));
    name == "GenericProduct" || typed.into_iter().any(|typed| typed == name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(representation: Json) -> Result<Reference, String> {
        let value = Value::from_json(representation).unwrap();
        let read = Representation(value).reference(3);
        read.map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn products_have_two_keys_and_two_types() {
        let product = ProductId::from_i64(7);
        let id = GlobalId::Product(product).encode();
        let by_id = ProductReference::Id(product);
        let by_sku = ProductReference::Sku("a-1".to_owned());
        for (name, of) in [("Product", None), ("Book", Some("Book".to_owned()))] {
            assert_eq!(
                read(json!({ "__typename": name, "id": id })),
                Ok(Reference::Product(by_id.clone(), of.clone()))
            );
            assert_eq!(
                read(json!({ "__typename": name, "sku": "a-1", "weight": 3 })),
                Ok(Reference::Product(by_sku.clone(), of))
            );
        }
        let generic = read(json!({ "__typename": "GenericProduct", "id": id, "sku": "a-1" }));
        let named = Some("GenericProduct".to_owned());
        assert_eq!(generic, Ok(Reference::Product(by_id, named)));
    }

    #[test]
    fn a_refusal_names_index_and_field() {
        let category = GlobalId::Category(CategoryId::from_i64(7)).encode();
        for (representation, message) in [
            (json!(null), "representations[3]: must be an object"),
            (json!(["a"]), "representations[3]: must be an object"),
            (json!({}), "representations[3].__typename: is missing"),
            (
                json!({ "__typename": 1 }),
                "representations[3].__typename: must be a string",
            ),
            (
                json!({ "__typename": "Money", "id": "x" }),
                "representations[3].__typename: not a type that this service has keys for",
            ),
            (
                json!({ "__typename": "Product" }),
                "representations[3]: must have id or sku",
            ),
            (
                json!({ "__typename": "Review" }),
                "representations[3].id: is missing",
            ),
            (
                json!({ "__typename": "Product", "sku": null }),
                "representations[3].sku: must be a string",
            ),
            (
                json!({ "__typename": "Review", "id": 12 }),
                "representations[3].id: must be a string",
            ),
            (
                json!({ "__typename": "Supplier", "id": "x" }),
                "representations[3].id: not an id of this service",
            ),
            (
                json!({ "__typename": "Book", "id": category }),
                "representations[3].id: not the id of a product",
            ),
        ] {
            assert_eq!(read(representation), Err(message.to_owned()));
        }
    }
}
