//! Small types that many others use.

use async_graphql::{Enum, SimpleObject};
use vitrine_domain::products::{Total, TotalRelation};
use vitrine_model::money;
use vitrine_model::product::{self, MediaKind};

use crate::graphql::scalars::{Decimal, Url};

/// An amount of money.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Money {
    /// The amount in units of the currency, with as many decimals as the currency has.
    amount: Decimal,
    /// The currency as an ISO 4217 code.
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

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "MediaKind", remote = "MediaKind")]
pub(crate) enum Kind {
    /// A picture.
    Image,
    /// A film.
    Video,
    /// Something to read, such as a manual.
    Document,
}

/// A picture, a film or a document.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Media {
    /// Where it is.
    url: Url,
    /// What it shows, for those who cannot see it.
    alt: Option<String>,
    /// What it is.
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

/// What a number of rows says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "TotalRelation", remote = "TotalRelation")]
pub(crate) enum Relation {
    /// There are exactly so many.
    Exact,
    /// There are at least so many: counting stopped there, or more wait to be counted.
    AtLeast,
    /// About so many: some were written or changed a moment ago and are not counted yet.
    Estimate,
}

/// How many rows a list has.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub(crate) struct TotalCount {
    /// The number.
    value: i32,
    /// What it says.
    relation: Relation,
}

impl From<Total> for TotalCount {
    fn from(total: Total) -> Self {
        Self {
            value: count(total.value),
            relation: total.relation.into(),
        }
    }
}

/// A count as GraphQL's Int, which ends at 2^31 - 1.
pub(crate) fn count(n: impl TryInto<i32>) -> i32 {
    n.try_into().unwrap_or(i32::MAX)
}
