//! Specs as admins write them.

use async_graphql::{ID, InputObject};
use vitrine_domain::admin::SpecRef;
use vitrine_model::id::ProductId;
use vitrine_model::spec::{Spec, SpecValue};

use super::user_errors::{Asked, UserErrors, path};
use crate::graphql::scalars::DateTime;

/// One attribute of a product. Give exactly one of text, number, boolean and date. A key that
/// nobody has seen is learnt with the type of this value.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecInput {
    /// The key in the spec dictionary, or an alias of it: 1 to 64 lower-case letters, digits and
    /// underscores, beginning with a letter.
    key: String,
    /// What the value holds for, when it does not hold everywhere: a region, a size system.
    qualifier: Option<String>,
    /// A text of at most 8,192 bytes; over 256 bytes it is shown but cannot be filtered by.
    text: Option<String>,
    /// A number, or with a unit a quantity.
    number: Option<f64>,
    /// The unit of the number, by any spelling.
    unit: Option<String>,
    /// Yes or no.
    boolean: Option<bool>,
    /// An instant, or a calendar day.
    date: Option<DateTime>,
}

/// Names specs of a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecRefInput {
    /// The key, or an alias of it.
    key: String,
    /// Only the spec with this qualifier; all specs of the key when absent.
    qualifier: Option<String>,
}

/// Specs to be set on a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SetSpecsInput {
    /// The product.
    product_id: ID,
    /// These replace the specs that have the same key and qualifier; others stay.
    specs: Vec<SpecInput>,
    /// The revision that the caller has seen. The product stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Specs to be taken from a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RemoveSpecsInput {
    /// The product.
    product_id: ID,
    /// Which; what the product does not have is no error.
    specs: Vec<SpecRefInput>,
    /// The revision that the caller has seen. The product stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl SetSpecsInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ProductId, Vec<Spec>)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["productId"]), &self.product_id);
        let specs = specs(self.specs, &mut errors);
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(id.map(|id| (id, specs))),
        }
    }
}

impl RemoveSpecsInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(ProductId, Vec<SpecRef>)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["productId"]), &self.product_id);
        let named = |spec: SpecRefInput| SpecRef {
            key: spec.key,
            qualifier: spec.qualifier,
        };
        let specs = self.specs.into_iter().map(named).collect();
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(id.map(|id| (id, specs))),
        }
    }
}

/// Those of a field `specs` that can be read; what is wrong with the others is noted.
pub(super) fn specs(given: Vec<SpecInput>, errors: &mut UserErrors) -> Vec<Spec> {
    let numbered = given.into_iter().enumerate();
    numbered
        .filter_map(|(at, spec)| spec.read(&at.to_string(), errors))
        .collect()
}

impl SpecInput {
    fn read(self, at: &str, errors: &mut UserErrors) -> Option<Spec> {
        if self.unit.is_some() && self.number.is_none() {
            let told = "a unit goes with number and with nothing else";
            errors.add(path(["specs", at, "unit"]), told);
            return None;
        }
        let number = self.number.map(|value| match self.unit {
            Some(unit) => SpecValue::Quantity { value, unit },
            None => SpecValue::Number(value),
        });
        let values = [
            self.text.map(SpecValue::Text),
            number,
            self.boolean.map(SpecValue::Boolean),
            self.date.map(|date| SpecValue::Date(date.0)),
        ];
        let mut given = values.into_iter().flatten();
        if let (Some(value), None) = (given.next(), given.next()) {
            return Some(Spec {
                key: self.key,
                value,
                qualifier: self.qualifier,
            });
        }
        let told = format!(
            "give exactly one of text, number, boolean and date for the spec {:?}",
            self.key
        );
        errors.add(path(["specs", at]), told);
        None
    }
}
