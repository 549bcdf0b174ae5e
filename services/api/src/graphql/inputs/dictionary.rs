//! Units and spec keys as admins write them.

use async_graphql::{InputObject, MaybeUndefined};
use vitrine_domain::admin::{NewSpecKey, SpecKeyPatch};
use vitrine_model::unit::Unit;

use super::user_errors::{Asked, UserErrors, clearable};
use crate::graphql::types::spec::Type;

/// A unit of measure to be defined: `base = value * factor + offset`. It cannot be changed
/// afterwards, because values are compared by it.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineUnitInput {
    /// The symbol that is shown and that identifies the unit: `fl oz`.
    symbol: String,
    /// What it measures: `volume`. A dimension that is new begins with its base unit, of factor 1.
    dimension: String,
    /// How many base units one of these is; more than zero.
    factor: f64,
    /// What is added after multiplying; zero except for temperatures.
    #[graphql(default_with = "Some(0.0)")]
    offset: Option<f64>,
    /// The code of the Unified Code for Units of Measure, where it differs from the symbol.
    ucum: Option<String>,
    /// Other spellings that are understood.
    aliases: Option<Vec<String>>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// A spec key to be defined before products have it.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct DefineSpecKeyInput {
    /// The key: 1 to 64 lower-case letters, digits and underscores, beginning with a letter.
    key: String,
    /// What people read; made of the key when absent.
    label: Option<String>,
    /// The type of its values.
    #[graphql(name = "type")]
    value_type: Type,
    /// What its quantities measure: `length`. Quantities need this or the base unit.
    dimension: Option<String>,
    /// The unit that its values are compared in: the base unit of the dimension.
    base_unit: Option<String>,
    /// Whether facets are offered for it.
    #[graphql(default_with = "Some(true)")]
    facetable: Option<bool>,
    /// Whether it may be filtered by.
    #[graphql(default_with = "Some(true)")]
    filterable: Option<bool>,
    /// The only texts it may hold, without regard to case and accents; any when absent.
    allowed_values: Option<Vec<String>>,
    /// Other keys that mean this one in filters and feeds.
    aliases: Option<Vec<String>>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Changes to a spec key. What is left out stays as it is; null clears allowedValues, and is
/// refused elsewhere.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct UpdateSpecKeyInput {
    /// The key, or an alias of it.
    key: String,
    /// What people read.
    label: MaybeUndefined<String>,
    /// The type of its values; only while no product has the key.
    #[graphql(name = "type")]
    value_type: MaybeUndefined<Type>,
    /// What its quantities measure; only while no product has the key.
    dimension: MaybeUndefined<String>,
    /// The unit that its values are compared in; only while no product has the key.
    base_unit: MaybeUndefined<String>,
    /// Whether facets are offered for it.
    facetable: MaybeUndefined<bool>,
    /// Whether it may be filtered by.
    filterable: MaybeUndefined<bool>,
    /// The only texts it may hold, those that products have among them; null allows any.
    allowed_values: MaybeUndefined<Vec<String>>,
    /// Other keys that mean this one; replaces all except those that are being merged into it.
    aliases: MaybeUndefined<Vec<String>>,
    /// The revision that the caller has seen. The key stays as it is when it has another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

/// Two spec keys to be made one. From then on both names mean the key that stays; products are
/// rewritten in the background.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MergeSpecKeysInput {
    /// The key that goes and becomes an alias.
    from: String,
    /// The key that stays; of the same type and dimension.
    into: String,
    /// The revision of the key that stays, as the caller has seen it. Nothing is merged when it has
    /// another one.
    expected_revision: Option<i32>,
    /// Makes it safe to send the mutation twice: the same key and input give the same answer. 1 to
    /// 128 printable ASCII characters.
    idempotency_key: Option<String>,
}

impl DefineUnitInput {
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<Unit> {
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: Ok(Unit {
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
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<NewSpecKey> {
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: None,
            wanted: Ok(NewSpecKey {
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
    /// What the domain takes.
    pub(crate) fn asked(self) -> Asked<(String, SpecKeyPatch)> {
        let mut errors = UserErrors::default();
        let patch = SpecKeyPatch {
            label: errors.kept("label", self.label),
            value_type: errors.kept("type", self.value_type).map(Into::into),
            dimension: errors.kept("dimension", self.dimension),
            base_unit: errors.kept("baseUnit", self.base_unit),
            facetable: errors.kept("facetable", self.facetable),
            filterable: errors.kept("filterable", self.filterable),
            allowed_values: clearable(self.allowed_values),
            aliases: errors.kept("aliases", self.aliases),
        };
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: errors.unless_any(Some((self.key, patch))),
        }
    }
}

impl MergeSpecKeysInput {
    /// What the domain takes: the key that goes and the key that stays.
    pub(crate) fn asked(self) -> Asked<(String, String)> {
        Asked {
            idempotency_key: self.idempotency_key,
            expected_revision: self.expected_revision,
            wanted: Ok((self.from, self.into)),
        }
    }
}
