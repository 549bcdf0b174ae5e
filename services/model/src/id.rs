//! Typed identifiers, and the opaque global ids that the API shows.
//!
//! Every id is a random 128-bit number (UUID version 4), never a counter, so that a sharded
//! database needs no other ids. A global id is the base64url form of a type tag and the key; a
//! review's carries its product, so that a look-up by it goes to one shard.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// A new random id.
            #[must_use]
            pub fn random() -> Self {
                Self(new_uuid())
            }

            /// The id made of these sixteen bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes of the id.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 16] {
                *self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id_type!(
    /// Identifies a product.
    ProductId
);
id_type!(
    /// Identifies a review.
    ReviewId
);
id_type!(
    /// Identifies a category; it never changes, whatever the category is called or moved under.
    CategoryId
);
id_type!(
    /// Identifies a supplier.
    SupplierId
);

/// Identifies the author of a review: the subject of the token that wrote it, or for imported
/// reviews `system:author`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AuthorId(pub String);

/// The subject of a token: who acts, not of whom something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a>(pub &'a str);

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one source of new ids"
)]
fn new_uuid() -> Uuid {
    Uuid::new_v4()
}

/// Random bytes, for whatever is no id: seeds, marks, pauses of random length. At most 14.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= 14, "an id has 14 bytes that are random throughout") };
    let bytes = new_uuid().into_bytes();
    let mut random = bytes.into_iter().enumerate();
    // Bytes 6 and 8 hold the version and the variant.
    let mut random = random.by_ref().filter(|(at, _)| !matches!(at, 6 | 8));
    std::array::from_fn(|_| random.next().map_or(0, |(_, byte)| byte))
}

/// What a global id of the API refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GlobalId {
    /// A product.
    Product(ProductId),
    /// A review, with the product it belongs to.
    Review(ProductId, ReviewId),
    /// A category.
    Category(CategoryId),
    /// A supplier.
    Supplier(SupplierId),
    /// A key of the spec dictionary.
    SpecKey(String),
}

/// The text is not a global id of this service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this service")]
pub struct InvalidId;

impl GlobalId {
    /// The opaque text that the API shows.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(33);
        match self {
            Self::Product(id) => push(&mut bytes, b'p', &[&id.to_bytes()]),
            Self::Review(product, id) => {
                push(&mut bytes, b'r', &[&product.to_bytes(), &id.to_bytes()]);
            }
            Self::Category(id) => push(&mut bytes, b'c', &[&id.to_bytes()]),
            Self::Supplier(id) => push(&mut bytes, b's', &[&id.to_bytes()]),
            Self::SpecKey(key) => push(&mut bytes, b'k', &[key.as_bytes()]),
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads what [`GlobalId::encode`] wrote.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn decode(text: &str) -> Result<Self, InvalidId> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidId)?;
        let (tag, key) = bytes.split_first().ok_or(InvalidId)?;
        match tag {
            b'p' => Ok(Self::Product(ProductId::from_bytes(exact(key)?))),
            b'r' if key.len() == 32 => Ok(Self::Review(
                ProductId::from_bytes(exact(&key[..16])?),
                ReviewId::from_bytes(exact(&key[16..])?),
            )),
            b'c' => Ok(Self::Category(CategoryId::from_bytes(exact(key)?))),
            b's' => Ok(Self::Supplier(SupplierId::from_bytes(exact(key)?))),
            b'k' if !key.is_empty() => {
                let key = std::str::from_utf8(key).map_err(|_| InvalidId)?;
                Ok(Self::SpecKey(key.to_owned()))
            }
            _ => Err(InvalidId),
        }
    }
}

fn push(bytes: &mut Vec<u8>, tag: u8, parts: &[&[u8]]) {
    bytes.push(tag);
    for part in parts {
        bytes.extend_from_slice(part);
    }
}

fn exact(bytes: &[u8]) -> Result<[u8; 16], InvalidId> {
    bytes.try_into().map_err(|_| InvalidId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_ids_come_back_as_they_went() {
        let all = [
            GlobalId::Product(ProductId::random()),
            GlobalId::Review(ProductId::random(), ReviewId::random()),
            GlobalId::Category(CategoryId::random()),
            GlobalId::Supplier(SupplierId::random()),
            GlobalId::SpecKey("color".to_owned()),
        ];
        for id in all {
            assert_eq!(GlobalId::decode(&id.encode()), Ok(id));
        }
    }

    #[test]
    fn rubbish_is_refused() {
        for text in ["", "x", "!!", "cA", "cHh4", "a2", "aw", "cgAA"] {
            assert_eq!(GlobalId::decode(text), Err(InvalidId), "{text}");
        }
    }
}
