//! What only some kinds of products have.

use async_graphql::SimpleObject;
use vitrine_model::product;

/// The measures of one size.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct SizeChartRow {
    /// The size: `M`.
    size: String,
    /// What was measured.
    measurements: Vec<Measurement>,
}

/// One measure.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Measurement {
    /// What was measured: `chest`, `protein`.
    name: String,
    /// How many units.
    value: f64,
    /// Of which unit.
    unit: String,
}

/// Someone who had a part in a work.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Contributor {
    /// The name.
    name: String,
    /// The part: `author`, `translator`; in a film the character played.
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

/// Each of them as its type in the API.
pub(crate) fn all<A, B: From<A>>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(B::from).collect()
}
