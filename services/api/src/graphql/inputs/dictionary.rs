//! Inputs for units and spec keys.

use async_graphql::{InputObject, MaybeUndefined};
use vitrine_domain::admin::{NewSpecKey, SpecKeyPatch};
use vitrine_model::unit::Unit;

use super::user_errors::{ParsedInput, UserErrors, clearable};
use crate::graphql::types::spec::Type;

/// The input of `defineUnit`. A unit is defined by `base = value * factor + offset`. It cannot be
/// changed later, because stored values are compared through it.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineUnitInput {
    /// The symbol that identifies the unit and is displayed: `fl oz`.
    symbol: String,
    /// The dimension it measures: `volume`. The first unit of a new dimension is its base unit and
    /// has factor 1.
    dimension: String,
    /// The number of base units in one unit; greater than zero.
    factor: f64,
    /// The number added after multiplying; zero except for temperatures.
    #[graphql(default_with = "Some(0.0)")]
    offset: Option<f64>,
    /// The UCUM code (Unified Code for Units of Measure), if it differs from the symbol.
    ucum: Option<String>,
    /// Other accepted spellings.
    aliases: Option<Vec<String>>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `defineSpecKey`.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineSpecKeyInput {
    /// The key: 1 to 64 lower-case letters, digits and underscores, beginning with a letter.
    key: String,
    /// The name for display; derived from the key when absent.
    label: Option<String>,
    /// The type of the key's values.
    #[graphql(name = "type")]
    value_type: Type,
    /// The dimension of the key's quantities: `length`. A quantity key needs the dimension or the
    /// base unit.
    dimension: Option<String>,
    /// The unit in which the key's quantities are compared: the base unit of the dimension.
    base_unit: Option<String>,
    /// Whether facets are offered for this key.
    #[graphql(default_with = "Some(true)")]
    facetable: Option<bool>,
    /// Whether products can be filtered by this key.
    #[graphql(default_with = "Some(true)")]
    filterable: Option<bool>,
    /// The only values allowed for a text key, ignoring case and accents; any text when absent.
    allowed_values: Option<Vec<String>>,
    /// Alternative names of this key in filters and feeds.
    aliases: Option<Vec<String>>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `updateSpecKey`. Fields left out stay unchanged. Null clears `allowedValues` and is
/// refused for other fields.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateSpecKeyInput {
    /// The spec key or an alias of it.
    key: String,
    /// The name for display.
    label: MaybeUndefined<String>,
    /// The type of the key's values. While products have the key, it can become `TEXT`, and from `TEXT`
    /// any type of which all stored values are values: `12.5`, `12.5 cm`, `yes`, `2026-05-31`. Products
    /// are rewritten in the background.
    #[graphql(name = "type")]
    value_type: MaybeUndefined<Type>,
    /// The dimension of the key's quantities. Can be changed only while no product has the key.
    dimension: MaybeUndefined<String>,
    /// The unit in which the key's quantities are compared. Can be changed only while no product
    /// has the key.
    base_unit: MaybeUndefined<String>,
    /// Whether facets are offered for this key.
    facetable: MaybeUndefined<bool>,
    /// Whether products can be filtered by this key.
    filterable: MaybeUndefined<bool>,
    /// The only values allowed for a text key. Must include all values that products have. Null
    /// allows any text.
    allowed_values: MaybeUndefined<Vec<String>>,
    /// Alternative names of this key. Replaces the current aliases, except keys that are being
    /// merged into this one.
    aliases: MaybeUndefined<Vec<String>>,
    /// The revision that the caller has seen. If the key has changed since, the mutation is refused
    /// with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// The input of `mergeSpecKeys`. After the merge both names refer to the remaining key. Products
/// are rewritten in the background.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MergeSpecKeysInput {
    /// The key to merge. It becomes an alias of the remaining key.
    from: String,
    /// The remaining key. It must have the same type and dimension.
    into: String,
    /// The revision of the remaining key that the caller has seen. If the key has changed since,
    /// the mutation is refused with `REVISION_CONFLICT`.
    expected_revision: Option<i32>,
    /// The idempotency key: sending the same key and input again returns the first result instead
    /// of repeating the mutation. 1 to 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl DefineUnitInput {
    pub(crate) fn parse(self) -> ParsedInput<Unit> {
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: Ok(Unit {
                id: self.symbol,
                dimension: self.dimension,
                factor: self.factor,
                offset: self.offset.unwrap_or(0.0),
                ucum: self.ucum,
                aliases: self.aliases.unwrap_or_default(),
            }),
        }
    }
}

impl DefineSpecKeyInput {
    pub(crate) fn parse(self) -> ParsedInput<NewSpecKey> {
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            value: Ok(NewSpecKey {
                key: self.key,
                label: self.label,
                value_type: self.value_type.into(),
                dimension: self.dimension,
                base_unit: self.base_unit,
                facetable: self.facetable.unwrap_or(true),
                filterable: self.filterable.unwrap_or(true),
                allowed_values: self.allowed_values,
                aliases: self.aliases.unwrap_or_default(),
            }),
        }
    }
}

impl UpdateSpecKeyInput {
    pub(crate) fn parse(self) -> ParsedInput<(String, SpecKeyPatch)> {
        let mut errors = UserErrors::default();
        let patch = SpecKeyPatch {
            label: errors.not_null("label", self.label),
            value_type: errors.not_null("type", self.value_type).map(Into::into),
            dimension: errors.not_null("dimension", self.dimension),
            base_unit: errors.not_null("baseUnit", self.base_unit),
            facetable: errors.not_null("facetable", self.facetable),
            filterable: errors.not_null("filterable", self.filterable),
            allowed_values: clearable(self.allowed_values),
            aliases: errors.not_null("aliases", self.aliases),
        };
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: errors.finish(Some((self.key, patch))),
        }
    }
}

impl MergeSpecKeysInput {
    /// Returns the key to merge and the remaining key.
    pub(crate) fn parse(self) -> ParsedInput<(String, String)> {
        ParsedInput {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            value: Ok((self.from, self.into)),
        }
    }
}
