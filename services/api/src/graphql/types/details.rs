//! Output types for details that only some product kinds have.

use crate::execution::List;
use async_graphql::SimpleObject;
use vitrine_api_derive::Direct;
use vitrine_model::product;

/// The measurements of one size.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct SizeChartRow {
    /// The size: `M`.
    size: String,
    /// The measurements of this size.
    measurements: List<Measurement>,
}

/// A measured value with its unit.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Measurement {
    /// The name of the measurement: `chest`, `protein`.
    name: String,
    /// The number of units.
    value: f64,
    /// The unit.
    unit: String,
}

/// A person who contributed to a book or film.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Contributor {
    /// The name of the person.
    name: String,
    /// The role: `author`, `translator`; for a film, the character played.
    role: String,
}

impl From<product::SizeChartRow> for SizeChartRow {
    fn from(row: product::SizeChartRow) -> Self {
        Self {
            size: row.size,
            measurements: all(row.measurements),
        }
    }
}

impl From<product::Measurement> for Measurement {
    fn from(measurement: product::Measurement) -> Self {
        Self {
            name: measurement.name,
            value: measurement.value,
            unit: measurement.unit,
        }
    }
}

impl From<product::Contributor> for Contributor {
    fn from(contributor: product::Contributor) -> Self {
        Self {
            name: contributor.name,
            role: contributor.role,
        }
    }
}

/// Converts each item to its output type.
pub(crate) fn all<A, B: From<A>>(items: Vec<A>) -> List<B> {
    items.into_iter().map(B::from).collect()
}
