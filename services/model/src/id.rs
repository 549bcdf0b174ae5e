//! Typed identifiers, and the opaque global ids that the API shows.
//!
//! Every id is a random 55-bit number, never a counter, so that a sharded database needs no central
//! sequence. An id ends every index key of a list, and 55 bits take 8 bytes there. The probability
//! that any two of ten million ids collide is 0.14 %; the unique index on `_id` refuses the second
//! insert, which is retried with another id or reported as retryable.
//!
//! A global id is the base64url form of a type tag and the id. A review's also contains its
//! product's id, so that a look-up by it is routed to one shard.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The number of bits of an id.
const ID_BITS: u32 = 55;
/// The number of bytes of an id in a global id.
const ID_BYTES: usize = 7;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(i64);

        impl $name {
            /// Returns a new random id.
            #[must_use]
            pub fn random() -> Self {
                Self(random_number())
            }

            /// Returns the id of this number.
            #[must_use]
            pub const fn from_i64(number: i64) -> Self {
                Self(number)
            }

            /// Returns the number.
            #[must_use]
            pub const fn to_i64(self) -> i64 {
                self.0
            }

            /// Returns the number in big-endian order.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 8] {
                self.0.to_be_bytes()
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
    /// Identifies a run of an import.
    ImportId
);
id_type!(
    /// Identifies a file that was uploaded.
    UploadId
);
id_type!(
    /// Identifies a picture that was uploaded.
    PictureId
);
id_type!(
    /// Identifies a bulk change.
    BulkChangeId
);
id_type!(
    /// Identifies a product.
    ProductId
);
id_type!(
    /// Identifies a review.
    ReviewId
);
id_type!(
    /// Identifies a category. It stays the same when the category is renamed or moved.
    CategoryId
);
id_type!(
    /// Identifies a supplier.
    SupplierId
);

/// Identifies the author of a review: the subject of the token that wrote it, or `system:author`
/// for imported reviews.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AuthorId(pub String);

/// The subject of a token: the caller, as opposed to the person whom a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a>(pub &'a str);

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one source of randomness"
)]
fn new_uuid() -> Uuid {
    Uuid::new_v4()
}

/// Returns a random number of 55 bits, for identifiers without a type of their own: marks, lease
/// owners, log entries.
#[must_use]
pub fn random_number() -> i64 {
    let mut bytes = [0; 8];
    bytes[8 - ID_BYTES..].copy_from_slice(&random_bytes::<ID_BYTES>());
    i64::from_be_bytes(bytes) & ((1 << ID_BITS) - 1)
}

/// Returns at most 14 random bytes, for everything that is not an id: seeds, shards, jitter.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    const { assert!(N <= 14, "a UUID has 14 bytes that are random throughout") };
    let bytes = new_uuid().into_bytes();
    let mut random = bytes.into_iter().enumerate();
    // Bytes 6 and 8 contain the version and the variant of a UUID.
    let mut random = random.by_ref().filter(|(at, _)| !matches!(at, 6 | 8));
    std::array::from_fn(|_| random.next().map_or(0, |(_, byte)| byte))
}

/// The object that a global id of the API refers to.
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
    /// The part of a review that is stored with its product.
    ReviewExcerpt(ProductId, ReviewId),
    /// The part of a supplier that is stored with a product.
    ProductSupplier(ProductId, SupplierId),
    /// A run of an import.
    Import(ImportId),
    /// A bulk change.
    BulkChange(BulkChangeId),
    /// A file that was uploaded.
    Upload(UploadId),
}

/// The text is not a global id of this service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this service")]
pub struct InvalidId;

fn push(id: [u8; 8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&id[8 - ID_BYTES..]);
}

impl GlobalId {
    /// Returns the opaque id shown by the API.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = vec![self.tag()];
        match self {
            Self::Product(id) => push(id.to_bytes(), &mut bytes),
            Self::Review(product, id) | Self::ReviewExcerpt(product, id) => {
                push(product.to_bytes(), &mut bytes);
                push(id.to_bytes(), &mut bytes);
            }
            Self::Category(id) => push(id.to_bytes(), &mut bytes),
            Self::Supplier(id) => push(id.to_bytes(), &mut bytes),
            Self::Import(id) => push(id.to_bytes(), &mut bytes),
            Self::BulkChange(id) => push(id.to_bytes(), &mut bytes),
            Self::Upload(id) => push(id.to_bytes(), &mut bytes),
            Self::ProductSupplier(product, id) => {
                push(product.to_bytes(), &mut bytes);
                push(id.to_bytes(), &mut bytes);
            }
            Self::SpecKey(key) => bytes.extend_from_slice(key.as_bytes()),
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    const fn tag(&self) -> u8 {
        match self {
            Self::Product(_) => b'p',
            Self::Review(..) => b'r',
            Self::Category(_) => b'c',
            Self::Supplier(_) => b's',
            Self::SpecKey(_) => b'k',
            Self::ReviewExcerpt(..) => b'x',
            Self::ProductSupplier(..) => b'u',
            Self::Import(_) => b'i',
            Self::BulkChange(_) => b'b',
            Self::Upload(_) => b'f',
        }
    }

    /// Reads an id written by [`GlobalId::encode`].
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn decode(text: &str) -> Result<Self, InvalidId> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidId)?;
        let (tag, key) = bytes.split_first().ok_or(InvalidId)?;
        match tag {
            b'p' => Ok(Self::Product(ProductId(number(key)?))),
            b'r' => pair(key).map(|(product, id)| Self::Review(product, ReviewId(id))),
            b'x' => pair(key).map(|(product, id)| Self::ReviewExcerpt(product, ReviewId(id))),
            b'u' => pair(key).map(|(product, id)| Self::ProductSupplier(product, SupplierId(id))),
            b'c' => Ok(Self::Category(CategoryId(number(key)?))),
            b's' => Ok(Self::Supplier(SupplierId(number(key)?))),
            b'i' => Ok(Self::Import(ImportId(number(key)?))),
            b'b' => Ok(Self::BulkChange(BulkChangeId(number(key)?))),
            b'f' => Ok(Self::Upload(UploadId(number(key)?))),
            b'k' if !key.is_empty() => {
                let key = std::str::from_utf8(key).map_err(|_| InvalidId)?;
                Ok(Self::SpecKey(key.to_owned()))
            }
            _ => Err(InvalidId),
        }
    }
}

/// Reads the id of a product and another id.
fn pair(key: &[u8]) -> Result<(ProductId, i64), InvalidId> {
    let (product, id) = key.split_at_checked(ID_BYTES).ok_or(InvalidId)?;
    Ok((ProductId(number(product)?), number(id)?))
}

fn number(bytes: &[u8]) -> Result<i64, InvalidId> {
    let bytes: [u8; ID_BYTES] = bytes.try_into().map_err(|_| InvalidId)?;
    let mut number = [0; 8];
    number[8 - ID_BYTES..].copy_from_slice(&bytes);
    let number = i64::from_be_bytes(number);
    // An id has 55 bits: the highest of the 7 bytes' 56 bits is 0.
    (number >> ID_BITS == 0).then_some(number).ok_or(InvalidId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_ids_survive_a_round_trip() {
        let all = [
            GlobalId::Product(ProductId::random()),
            GlobalId::Review(ProductId::random(), ReviewId::random()),
            GlobalId::Category(CategoryId::random()),
            GlobalId::Supplier(SupplierId::random()),
            GlobalId::Import(ImportId::random()),
            GlobalId::BulkChange(BulkChangeId::random()),
            GlobalId::Upload(UploadId::random()),
            GlobalId::SpecKey("color".to_owned()),
        ];
        for id in all {
            assert_eq!(GlobalId::decode(&id.encode()), Ok(id));
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "x",
            "!!",
            "cA",
            "cHh4",
            "a2",
            "aw",
            "cgAA",
            "cP________8",
        ] {
            assert_eq!(GlobalId::decode(text), Err(InvalidId), "{text}");
        }
    }
}
