//! Specs: values, the dictionary of their keys, and units.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject, Union};
use vitrine_domain::reference::Reference;
use vitrine_model::id::GlobalId;
use vitrine_model::spec::{self, ValueType, display_quantity};
use vitrine_model::unit::{self, UnitTable};

use super::common::count;
use super::coverage::SpecKeyCoverage;
use crate::execution::{Failure, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::inputs::DisplayUnitInput;
use crate::graphql::scalars::DateTime;

/// One attribute of a product.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Spec {
    /// The key in the spec dictionary: `screen_size`.
    pub(crate) key: String,
    /// What people read: `Screen size`.
    label: String,
    /// The value.
    value: SpecValue,
    /// The value for people, in the display unit where one was asked for: `31.5 in`.
    text: String,
    /// What the value holds for, when it does not hold everywhere: a region, a size system.
    qualifier: Option<String>,
}

/// The value of a spec.
#[derive(Clone, Debug, Union)]
pub(crate) enum SpecValue {
    /// Text.
    Text(TextValue),
    /// A plain number.
    Number(NumberValue),
    /// A number of units.
    Quantity(QuantityValue),
    /// Yes or no.
    Boolean(BooleanValue),
    /// A date.
    Date(DateValue),
}

/// A text.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct TextValue {
    /// The text as entered.
    text: String,
}

/// A plain number.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct NumberValue {
    /// The number.
    number: f64,
}

/// A number of units: as entered, in the unit asked for, and in the base unit of its dimension,
/// which all values of the key share.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct QuantityValue {
    /// How many, as entered.
    value: f64,
    /// Of which unit, as entered.
    unit: String,
    /// How many of the display unit.
    display_value: f64,
    /// The unit asked for; the one entered when none was.
    display_unit: String,
    /// How many of the base unit.
    canonical_value: f64,
    /// The base unit.
    canonical_unit: String,
    /// What the units measure: `length`.
    dimension: String,
}

/// Yes or no.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct BooleanValue {
    /// Whether it is so.
    boolean: bool,
}

/// A date.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct DateValue {
    /// The instant, or the beginning of the day in UTC.
    date: DateTime,
}

/// The units to show quantities in.
pub(crate) struct Display<'a> {
    reference: &'a Reference,
    wanted: Vec<(Option<String>, &'a unit::Unit)>,
}

impl<'a> Display<'a> {
    /// Looks up the units that were asked for.
    pub(crate) fn new(
        reference: &'a Reference,
        asked: &[DisplayUnitInput],
    ) -> Result<Self, Failure> {
        let wanted = asked
            .iter()
            .map(|asked| wanted(reference, asked))
            .collect::<Result<_, _>>()?;
        Ok(Self { reference, wanted })
    }

    /// A spec as it is shown.
    pub(crate) fn show(&self, spec: spec::Spec) -> Spec {
        let label = self
            .reference
            .dictionary
            .get(&spec.key)
            .map(|key| key.label.clone());
        let text = spec.value.display();
        let (value, text) = match spec.value {
            spec::SpecValue::Text(text) => {
                (SpecValue::Text(TextValue { text: text.clone() }), text)
            }
            spec::SpecValue::Number(number) => (SpecValue::Number(NumberValue { number }), text),
            spec::SpecValue::Boolean(boolean) => {
                (SpecValue::Boolean(BooleanValue { boolean }), text)
            }
            spec::SpecValue::Date(at) => (SpecValue::Date(DateValue { date: DateTime(at) }), text),
            spec::SpecValue::Quantity { value, unit } => self.quantity(&spec.key, value, unit),
        };
        Spec {
            label: label.unwrap_or_else(|| spec.key.clone()),
            key: spec.key,
            value,
            text,
            qualifier: spec.qualifier,
        }
    }

    fn quantity(&self, key: &str, value: f64, unit: String) -> (SpecValue, String) {
        let units = &self.reference.units;
        let entered = units.find(&unit);
        let dimension = entered
            .map(|unit| unit.dimension.as_str())
            .unwrap_or_default();
        let base = entered.map_or(value, |unit| unit.to_base(value));
        let canonical = units
            .base(dimension)
            .map_or(unit.as_str(), |base| base.id.as_str());
        // The value as entered stays to the last digit when it is shown in its own unit.
        let display = self
            .unit_for(key, dimension)
            .filter(|display| display.id != unit);
        let (display_value, display_unit) = match display {
            Some(display) => (display.from_base(base), display.id.clone()),
            None => (value, unit.clone()),
        };
        let text = display_quantity(display_value, &display_unit);
        let quantity = QuantityValue {
            display_value,
            display_unit,
            canonical_value: base,
            canonical_unit: canonical.to_owned(),
            dimension: dimension.to_owned(),
            value,
            unit,
        };
        (SpecValue::Quantity(quantity), text)
    }

    /// What was asked for this key, else for its dimension.
    fn unit_for(&self, key: &str, dimension: &str) -> Option<&unit::Unit> {
        let fits = |wanted: &Option<String>, of: Option<&str>| wanted.as_deref() == of;
        let find = |of: Option<&str>| {
            let mut units = self.wanted.iter().filter(|(wanted, _)| fits(wanted, of));
            units
                .find(|(_, unit)| unit.dimension == dimension)
                .map(|(_, unit)| *unit)
        };
        find(Some(key)).or_else(|| find(None))
    }
}

fn wanted<'a>(
    reference: &'a Reference,
    asked: &DisplayUnitInput,
) -> Result<(Option<String>, &'a unit::Unit), Failure> {
    let refuse = |wrong: unit::UnitError| Failure::bad_input(format!("displayUnits.unit: {wrong}"));
    let key = asked
        .key
        .as_ref()
        .map(|key| (key, reference.dictionary.get(key)));
    match key {
        None => Ok((None, reference.units.get(&asked.unit).map_err(refuse)?)),
        Some((name, None)) => Ok((
            Some(name.clone()),
            reference.units.get(&asked.unit).map_err(refuse)?,
        )),
        Some((name, Some(key))) => match &key.dimension {
            Some(dimension) => {
                let unit = reference
                    .units
                    .get_in(&asked.unit, dimension)
                    .map_err(refuse)?;
                Ok((Some(key.key.clone()), unit))
            }
            None => Err(Failure::bad_input(format!(
                "displayUnits.key: {name} holds no quantities"
            ))),
        },
    }
}

/// The types that spec keys have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(name = "SpecValueType", remote = "ValueType")]
pub(crate) enum Type {
    /// Text.
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

/// A key of the spec dictionary. Keys are data: a key that nobody has seen is learnt with its first
/// value, and can be filtered by in the next request.
#[derive(Clone)]
pub(crate) struct SpecKey(pub(crate) Arc<spec::SpecKey>);

/// A key of the spec dictionary. Keys are data: a key that nobody has seen is learnt with its first
/// value, and can be filtered by in the next request.
#[Object]
impl SpecKey {
    /// Identifies the key.
    pub(crate) async fn id(&self) -> ID {
        GlobalId::SpecKey(self.0.key.clone()).encode().into()
    }

    /// The key: `screen_size`.
    async fn key(&self) -> &str {
        &self.0.key
    }

    /// What people read: `Screen size`.
    async fn label(&self) -> &str {
        &self.0.label
    }

    /// The type of its values.
    #[graphql(name = "type")]
    async fn value_type(&self) -> Type {
        self.0.value_type.into()
    }

    /// What its quantities measure: `length`; null for other types.
    async fn dimension(&self) -> Option<&str> {
        self.0.dimension.as_deref()
    }

    /// The unit that its values are compared in; null for other types.
    async fn base_unit(&self) -> Option<&str> {
        self.0.base_unit.as_deref()
    }

    /// Whether facets are offered for it.
    async fn facetable(&self) -> bool {
        self.0.facetable
    }

    /// Whether it may be filtered by.
    async fn filterable(&self) -> bool {
        self.0.filterable
    }

    /// Other keys that mean this one in filters and feeds.
    async fn aliases(&self) -> Vec<String> {
        let names = self.0.aliases.iter().chain(&self.0.absorbing);
        let mut names: Vec<String> = names.cloned().collect();
        names.sort_unstable();
        names
    }

    /// The only texts it may hold, without regard to case and accents; null when any text will do,
    /// and for other types.
    async fn allowed_values(&self) -> Option<&[String]> {
        self.0.allowed_values.as_deref()
    }

    /// Rises with every change of the entry.
    async fn revision(&self) -> i32 {
        count(self.0.revision)
    }

    /// How far the products on sale have it; null when none has. Of more than 60,000 products as of
    /// `asOf`; null, with the error `UNAVAILABLE`, while so many are counted for the first time. One
    /// look-up for all keys of a page.
    async fn coverage(&self, ctx: &Context<'_>) -> Option<R<SpecKeyCoverage>> {
        let found = ctx.session().loaders.coverage(self.0.key.clone()).await;
        found
            .map(|coverage| coverage.map(|coverage| SpecKeyCoverage::from(coverage.as_ref())))
            .nullable_at(ctx)
    }
}

/// A unit of measure: `base = value * factor + offset`.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Unit {
    /// The symbol: `fl oz`.
    symbol: String,
    /// What it measures: `volume`. Units of one dimension convert into each other.
    dimension: String,
    /// How many base units one of these is.
    factor: f64,
    /// What is added after multiplying; zero except for temperatures.
    offset: f64,
    /// The code of the Unified Code for Units of Measure, where it differs from the symbol.
    ucum: Option<String>,
    /// Other spellings that are understood.
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

/// All units.
pub(crate) fn units(table: &UnitTable) -> Vec<Unit> {
    table.units().iter().cloned().map(Unit::from).collect()
}
