//! Inputs for specs.

use async_graphql::{ID, InputObject};
use vitrine_domain::admin::SpecRef;
use vitrine_model::id::ProductId;
use vitrine_model::spec::{Spec, SpecValue};

use super::user_errors::{ParsedInput, UserErrors, path};
use crate::graphql::scalars::DateTime;

/// An attribute of a product. Give exactly one of `text`, `number`, `boolean` and `date`. An
/// unknown key is added to the spec dictionary with the type of this value.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecInput {
    /// The spec key or an alias of it: 1 to 64 lower-case letters, digits and underscores,
    /// beginning with a letter.
    key: String,
    /// The scope of the value if it does not apply everywhere, such as a region or a size system.
    qualifier: Option<String>,
    /// A text of at most 8,192 bytes, with a visible character; blanks at its ends are removed.
    /// Products cannot be filtered by a text of more than 256 bytes.
    text: Option<String>,
    /// A plain number, or a quantity if a unit is given.
    number: Option<f64>,
    /// The unit of the number, in any accepted spelling.
    unit: Option<String>,
    /// Yes or no.
    boolean: Option<bool>,
    /// A date and time, or a calendar day.
    date: Option<DateTime>,
}

/// A reference to specs of a product.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SpecRefInput {
    /// The spec key or an alias of it.
    pub(super) key: String,
    /// Only the spec with this qualifier; all specs of the key when absent.
    pub(super) qualifier: Option<String>,
}

/// The input of `setSpecs`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SetSpecsInput {
    /// The global id of the product.
    product_id: ID,
    /// The specs to set. They replace specs with the same key and qualifier; other specs stay
    /// unchanged.
    specs: Vec<SpecInput>,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `removeSpecs`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct RemoveSpecsInput {
    /// The global id of the product.
    product_id: ID,
    /// The specs to remove. Specs that the product does not have are ignored.
    specs: Vec<SpecRefInput>,
    /// The revision that the caller has seen. If the product has changed since, the mutation is
    /// refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl SetSpecsInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, Vec<Spec>)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["productId"]), &self.product_id);
        let specs = specs(self.specs, &mut errors);
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, specs))),
        }
    }
}

impl RemoveSpecsInput {
    pub(crate) fn parse(self) -> ParsedInput<(ProductId, Vec<SpecRef>)> {
        let mut errors = UserErrors::default();
        let id = errors.product(path(["productId"]), &self.product_id);
        let named = |spec: SpecRefInput| SpecRef {
            key: spec.key,
            qualifier: spec.qualifier,
        };
        let specs = self.specs.into_iter().map(named).collect();
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(id.map(|id| (id, specs))),
        }
    }
}

/// Converts the specs of an input field `specs`. Invalid ones are left out and their errors added
/// to `errors`.
pub(super) fn specs(inputs: Vec<SpecInput>, errors: &mut UserErrors) -> Vec<Spec> {
    let numbered = inputs.into_iter().enumerate();
    numbered
        .filter_map(|(at, spec)| spec.read(&at.to_string(), errors))
        .collect()
}

impl SpecInput {
    fn read(self, at: &str, errors: &mut UserErrors) -> Option<Spec> {
        if self.unit.is_some() && self.number.is_none() {
            let message = "unit is allowed only together with number";
            errors.add(path(["specs", at, "unit"]), message);
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
        let mut values = values.into_iter().flatten();
        if let (Some(value), None) = (values.next(), values.next()) {
            return Some(Spec {
                key: self.key,
                value,
                qualifier: self.qualifier,
            });
        }
        let message = format!(
            "give exactly one of text, number, boolean and date for the spec {:?}",
            self.key
        );
        errors.add(path(["specs", at]), message);
        None
    }
}
