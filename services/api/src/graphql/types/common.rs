//! Types shared by several others: money, media and counts.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;
use vitrine_domain::filter;
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_model::money;
use vitrine_model::product::{self, MediaKind};

use crate::execution::Hint;
use crate::graphql::scalars::{Decimal, Url};

impl From<filter::Hint> for Hint {
    fn from(hint: filter::Hint) -> Self {
        Self {
            path: hint.path,
            message: hint.message,
        }
    }
}

/// An amount of money.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Money {
    /// The amount in units of the currency, with the number of decimals that the currency uses.
    amount: Decimal,
    /// The ISO 4217 code of the currency.
    currency: String,
}

impl From<money::Money> for Money {
    fn from(money: money::Money) -> Self {
        Self {
            amount: Decimal(money.amount()),
            currency: money.currency.code().to_owned(),
        }
    }
}

/// The type of a media file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "MediaKind", remote = "MediaKind")]
pub(crate) enum Kind {
    /// An image.
    Image,
    /// A video.
    Video,
    /// A document, such as a manual.
    Document,
}

/// An image, a video or a document.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Media {
    /// The address of the file.
    url: Url,
    /// The alternative text, for people who cannot see the image or video.
    alt: Option<String>,
    /// The type of the file.
    kind: Kind,
}

impl From<product::Media> for Media {
    fn from(media: product::Media) -> Self {
        Self {
            url: Url(media.url),
            alt: media.alt,
            kind: media.kind.into(),
        }
    }
}

/// The accuracy of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "TotalRelation", remote = "TotalRelation")]
pub(crate) enum Relation {
    /// The count is exact.
    Exact,
    /// The count is a lower bound: counting stopped at this number, or some rows are still waiting
    /// to be counted.
    AtLeast,
    /// The count is approximate: rows that were written or changed a moment ago may not be counted
    /// yet, or the number is a sampled or rounded figure.
    Estimate,
}

/// The number of rows in a list, with its accuracy.
#[derive(Clone, Copy, Debug, SimpleObject, Direct)]
pub(crate) struct TotalCount {
    /// The number of rows.
    value: i32,
    /// The accuracy of the number.
    relation: Relation,
}

impl TotalCount {
    /// Returns an exact number.
    pub(super) fn exact(value: u64) -> Self {
        let relation = vitrine_domain::products::TotalRelation::Exact;
        Total { value, relation }.into()
    }
}

impl From<Total> for TotalCount {
    fn from(total: Total) -> Self {
        Self {
            value: count(total.value),
            relation: total.relation.into(),
        }
    }
}

/// Converts a count to a GraphQL `Int`, capped at 2^31 - 1.
pub(crate) fn count(n: impl TryInto<i32>) -> i32 {
    n.try_into().unwrap_or(i32::MAX)
}
