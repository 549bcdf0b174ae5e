//! Specs: their values, the dictionary of their keys, and units.

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject, Union};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::reference::Reference;
use vitrine_model::id::GlobalId;
use vitrine_model::spec::{self, ValueType, display_quantity};
use vitrine_model::unit::{self, UnitTable};

use super::common::count;
use super::coverage::SpecKeyCoverage;
use crate::execution::{Failure, List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::inputs::DisplayUnitInput;
use crate::graphql::scalars::DateTime;

pub(crate) struct Spec<'a> {
    spec: spec::Spec<&'a str>,
    display: Arc<Display>,
}

/// An attribute of a product.
#[direct]
#[Object]
impl Spec<'_> {
    /// The key in the spec dictionary: `screen_size`.
    fn key(&self) -> &str {
        self.current_key()
    }

    /// The name for display: `Screen size`.
    fn label(&self) -> &str {
        self.known().map_or(self.spec.key, |known| &known.label)
    }

    /// The typed value.
    fn value(&self) -> SpecValue {
        self.typed_value()
    }

    /// The value formatted for display, in the requested unit if there is one: `31.5 in`.
    fn text(&self) -> Cow<'_, str> {
        self.shown()
    }

    /// The scope of the value if it does not apply everywhere, such as a region or a size system.
    fn qualifier(&self) -> Option<&str> {
        self.spec.qualifier
    }
}

impl Spec<'_> {
    /// The key as stored, whether the dictionary has it or not.
    pub(super) fn own_key(&self) -> &str {
        self.spec.key
    }

    /// The value with what is computed of it.
    pub(super) fn typed_value(&self) -> SpecValue {
        match &self.spec.value {
            spec::SpecValue::Text(text) => SpecValue::Text(TextValue {
                text: (*text).to_owned(),
            }),
            spec::SpecValue::Number(number) => SpecValue::Number(NumberValue { number: *number }),
            spec::SpecValue::Boolean(boolean) => {
                SpecValue::Boolean(BooleanValue { boolean: *boolean })
            }
            spec::SpecValue::Date(at) => SpecValue::Date(DateValue {
                date: DateTime(*at),
            }),
            spec::SpecValue::Quantity { value, unit } => {
                let quantity = self.display.quantity(self.current_key(), *value, unit);
                SpecValue::Quantity(quantity)
            }
        }
    }

    /// The value as text, in the requested unit if there is one.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        match &self.spec.value {
            spec::SpecValue::Text(text) => Cow::Borrowed(text),
            spec::SpecValue::Quantity { value, unit } if self.display.converts() => {
                let shown = self.display.quantity(self.current_key(), *value, unit);
                display_quantity(shown.display_value, &shown.display_unit).into()
            }
            value => value.display().into(),
        }
    }

    /// While a key is being merged into another, products may still have the old key.
    fn current_key(&self) -> &str {
        self.known().map_or(self.spec.key, |known| &known.key)
    }

    fn known(&self) -> Option<&spec::SpecKey> {
        self.display.reference.dictionary.get(self.spec.key)
    }
}

/// The typed value of a spec.
#[derive(Clone, Debug, Union, Direct)]
pub(crate) enum SpecValue {
    /// A text.
    Text(TextValue),
    /// A plain number.
    Number(NumberValue),
    /// A number with a unit.
    Quantity(QuantityValue),
    /// Yes or no.
    Boolean(BooleanValue),
    /// A date.
    Date(DateValue),
}

/// A text value.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct TextValue {
    /// The text as entered.
    text: String,
}

/// A plain number.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct NumberValue {
    /// The number.
    number: f64,
}

/// A number with a unit: as entered, in the requested unit, and in the base unit of its dimension.
/// All values of a key can be compared in the base unit.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct QuantityValue {
    /// The number as entered.
    value: f64,
    /// The unit as entered.
    unit: String,
    /// The number in the display unit.
    display_value: f64,
    /// The requested unit; the unit as entered if none was requested.
    display_unit: String,
    /// The number in the base unit.
    canonical_value: f64,
    /// The base unit of the dimension.
    canonical_unit: String,
    /// The dimension that the unit measures: `length`.
    dimension: String,
}

/// A boolean value.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct BooleanValue {
    /// True for yes, false for no.
    boolean: bool,
}

/// A date value.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct DateValue {
    /// The date and time. A calendar day is the start of the day in UTC.
    date: DateTime,
}

/// How specs are shown: with the names of the dictionary, and quantities in the requested units.
pub(crate) struct Display {
    reference: Arc<Reference>,
    units: Vec<(Option<String>, unit::Unit)>,
}

impl Display {
    /// Looks up the requested units. Fails if a unit is unknown or does not suit its key.
    pub(crate) fn new(
        reference: Arc<Reference>,
        requested: &[DisplayUnitInput],
    ) -> Result<Arc<Self>, Failure> {
        let units = requested
            .iter()
            .map(|requested| display_unit(&reference, requested))
            .collect::<Result<_, _>>()?;
        Ok(Arc::new(Self { reference, units }))
    }

    /// Shows a spec.
    pub(crate) fn show<'a>(self: &Arc<Self>, spec: spec::Spec<&'a str>) -> Spec<'a> {
        Spec {
            spec,
            display: Arc::clone(self),
        }
    }

    /// Whether some quantities are shown in other units than they were entered in.
    fn converts(&self) -> bool {
        !self.units.is_empty()
    }

    fn quantity(&self, key: &str, value: f64, unit: &str) -> QuantityValue {
        let units = &self.reference.units;
        let entered = units.find(unit);
        let dimension = entered
            .map(|unit| unit.dimension.as_str())
            .unwrap_or_default();
        let base = entered.map_or(value, |unit| unit.to_base(value));
        let canonical = units.base(dimension).map_or(unit, |base| base.id.as_str());
        // A value shown in its own unit is not converted, so that no digit changes. One that is too large for another unit is
        // shown in its own, too.
        let display = self
            .unit_for(key, dimension)
            .filter(|display| display.id != unit)
            .map(|display| (display.from_base(base), display.id.clone()))
            .filter(|(converted, _)| converted.is_finite());
        let (display_value, display_unit) = display.unwrap_or_else(|| (value, unit.to_owned()));
        QuantityValue {
            display_value,
            display_unit,
            canonical_value: base,
            canonical_unit: canonical.to_owned(),
            dimension: dimension.to_owned(),
            value,
            unit: unit.to_owned(),
        }
    }

    /// Returns the unit requested for this key, otherwise the one requested for its dimension.
    fn unit_for(&self, key: &str, dimension: &str) -> Option<&unit::Unit> {
        let find = |key: Option<&str>| {
            let mut units = self.units.iter().filter(|(of, _)| of.as_deref() == key);
            units
                .find(|(_, unit)| unit.dimension == dimension)
                .map(|(_, unit)| unit)
        };
        find(Some(key)).or_else(|| find(None))
    }
}

fn display_unit(
    reference: &Reference,
    requested: &DisplayUnitInput,
) -> Result<(Option<String>, unit::Unit), Failure> {
    let refuse = |error: unit::UnitError| Failure::bad_input(format!("displayUnits.unit: {error}"));
    let known = |unit: Result<&unit::Unit, unit::UnitError>| unit.cloned().map_err(refuse);
    let key = requested
        .key
        .as_ref()
        .map(|key| (key, reference.dictionary.get(key)));
    match key {
        None => Ok((None, known(reference.units.get(&requested.unit))?)),
        Some((name, None)) => Ok((
            Some(name.clone()),
            known(reference.units.get(&requested.unit))?,
        )),
        Some((name, Some(key))) => match &key.dimension {
            Some(dimension) => {
                let unit = known(reference.units.get_in(&requested.unit, dimension))?;
                Ok((Some(key.key.clone()), unit))
            }
            None => Err(Failure::bad_input(format!(
                "displayUnits.key: {name} holds no quantities"
            ))),
        },
    }
}

/// The value type of a spec key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(name = "SpecValueType", remote = "ValueType")]
pub(crate) enum Type {
    /// A text.
    Text,
    /// A plain number.
    Number,
    /// A number with a unit.
    Quantity,
    /// Yes or no.
    Boolean,
    /// A date.
    Date,
}

#[derive(Clone)]
pub(crate) struct SpecKey(pub(crate) Arc<spec::SpecKey>);

/// A key of the spec dictionary. Keys are data: an unknown key is added to the dictionary with its
/// first value and can be used in filters from the next request on.
#[direct]
#[Object]
impl SpecKey {
    /// The global id of the key.
    pub(crate) fn id(&self) -> ID {
        GlobalId::SpecKey(self.0.key.clone()).encode().into()
    }

    /// The key: `screen_size`.
    fn key(&self) -> &str {
        &self.0.key
    }

    /// The name for display: `Screen size`.
    fn label(&self) -> &str {
        &self.0.label
    }

    /// The type of the key's values.
    #[graphql(name = "type")]
    fn value_type(&self) -> Type {
        self.0.value_type.into()
    }

    /// The dimension of the key's quantities: `length`; null for other types.
    fn dimension(&self) -> Option<&str> {
        self.0.dimension.as_deref()
    }

    /// The unit in which the key's quantities are compared; null for other types.
    fn base_unit(&self) -> Option<&str> {
        self.0.base_unit.as_deref()
    }

    /// Whether facets are offered for this key.
    fn facetable(&self) -> bool {
        self.0.facetable
    }

    /// Whether products can be filtered by this key.
    fn filterable(&self) -> bool {
        self.0.filterable
    }

    /// Alternative names of this key in filters and feeds.
    fn aliases(&self) -> Vec<String> {
        let names = self.0.aliases.iter().chain(&self.0.absorbing);
        let mut names: Vec<String> = names.cloned().collect();
        names.sort_unstable();
        names
    }

    /// The only values allowed for a text key, ignoring case and accents; null if any text is
    /// allowed, and for other types.
    fn allowed_values(&self) -> Option<&[String]> {
        self.0.allowed_values.as_deref()
    }

    /// The revision. Increases with every change of the dictionary entry.
    fn revision(&self) -> i32 {
        count(self.0.revision)
    }

    /// How many products on sale have this key; null if none has. In a catalogue of more than
    /// 60,000 products the figures are as of `asOf`; until the first count has finished, the field
    /// is null with the error `UNAVAILABLE`. One database query for all keys of a page.
    async fn coverage(&self, ctx: &Context<'_>) -> Option<R<SpecKeyCoverage>> {
        let found = ctx.session().loaders.coverage(self.0.key.clone()).await;
        found
            .map(|coverage| coverage.map(|coverage| SpecKeyCoverage::from(coverage.as_ref())))
            .nullable_at(ctx)
    }
}

/// A unit of measure: `base = value * factor + offset`.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Unit {
    /// The symbol: `fl oz`.
    symbol: String,
    /// The dimension it measures: `volume`. Units of the same dimension can be converted.
    dimension: String,
    /// The number of base units in one unit.
    factor: f64,
    /// The number added after multiplying; zero except for temperatures.
    offset: f64,
    /// The UCUM code (Unified Code for Units of Measure), if it differs from the symbol.
    ucum: Option<String>,
    /// Other accepted spellings.
    aliases: Vec<String>,
}

impl From<unit::Unit> for Unit {
    fn from(unit: unit::Unit) -> Self {
        Self {
            symbol: unit.id,
            dimension: unit.dimension,
            factor: unit.factor,
            offset: unit.offset,
            ucum: unit.ucum,
            aliases: unit.aliases,
        }
    }
}

pub(crate) fn units(table: &UnitTable) -> List<Unit> {
    table.units().iter().cloned().map(Unit::from).collect()
}
