//! Units of measure.
//!
//! Each unit belongs to one dimension and is a straight line away from the dimension's base unit:
//! `base = value * factor + offset`. Two quantities compare through their base values. The factors
//! are the exact ones of the SI brochure and NIST Special Publication 811; the `ucum` codes are
//! those of the Unified Code for Units of Measure.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

mod built_in;
mod definition;

pub use definition::{MAX_UNIT_ALIASES, MAX_UNIT_CHARACTERS, UnitDefinitionError};

/// One unit of measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The symbol that is shown and that identifies the unit: `fl oz`, `kg`, `°C`.
    pub id: String,
    /// What it measures: `volume`, `mass`, `temperature`. Only units of one dimension compare.
    pub dimension: String,
    /// How many base units one of these is. Positive.
    pub factor: f64,
    /// What is added after multiplying; zero except for temperatures.
    pub offset: f64,
    /// The code of the Unified Code for Units of Measure, where it has one.
    pub ucum: Option<String>,
    /// Other spellings that are understood.
    pub aliases: Vec<String>,
}

impl Unit {
    /// A number of these units in base units.
    #[must_use]
    pub fn to_base(&self, value: f64) -> f64 {
        value.mul_add(self.factor, self.offset)
    }

    /// A number of base units in these units.
    #[must_use]
    pub fn from_base(&self, base: f64) -> f64 {
        (base - self.offset) / self.factor
    }

    /// All spellings that are understood.
    fn spellings(&self) -> impl Iterator<Item = &String> {
        self.aliases.iter().chain(&self.ucum).chain([&self.id])
    }

    /// Whether this is the unit its dimension is counted in.
    #[must_use]
    #[expect(
        clippy::float_cmp,
        reason = "base units are written as exactly 1 and 0"
    )]
    pub fn is_base(&self) -> bool {
        self.factor == 1.0 && self.offset == 0.0
    }
}

/// Why units cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Nobody has defined such a unit.
    #[error("there is no unit {0:?}")]
    Unknown(String),
    /// The units measure different things.
    #[error("{unit:?} measures {found}, not {expected}")]
    Dimension {
        /// The unit given.
        unit: String,
        /// What it measures.
        found: String,
        /// What was to be measured.
        expected: String,
    },
}

/// A spelling as messages repeat it.
fn shown(spelling: &str) -> String {
    crate::text::excerpt(spelling, 40).text
}

/// All units known, found by any of their spellings.
#[derive(Clone, Debug, Default)]
pub struct UnitTable {
    units: Vec<Unit>,
    set_aside: Vec<Unit>,
    exact: HashMap<String, usize>,
    folded: HashMap<String, Option<usize>>,
}

impl UnitTable {
    /// A table of these units. Of two units with one spelling the first has it.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Self {
        let mut table = Self::default();
        for unit in units {
            table.add(unit);
        }
        table
    }

    /// The table every new database starts with: the built-in units.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new(built_in::units())
    }

    /// The built-in units and those that a shop has defined.
    ///
    /// A release may bring a unit that a shop has defined otherwise before. Values are stored in
    /// terms of the shop's, so that one is kept and the built-in one is set aside; with the base
    /// unit of a dimension all built-in units of it are, since they are counted in it.
    #[must_use]
    pub fn with_defined(defined: Vec<Unit>) -> Self {
        Self::joined(Self::built_in(), defined)
    }

    fn joined(built_in: Self, mut defined: Vec<Unit>) -> Self {
        defined.retain(|unit| !built_in.units.contains(unit));
        let set_aside = built_in.displaced_by(&defined);
        let (set_aside, kept): (Vec<Unit>, Vec<Unit>) = built_in
            .units
            .into_iter()
            .partition(|unit| set_aside.contains(&unit.id));
        let mut table = Self::new(kept);
        table.set_aside = set_aside;
        for unit in defined {
            table.add(unit);
        }
        table
    }

    /// All units, in the order they were given.
    #[must_use]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The built-in units that are not known, because the shop has defined others with their
    /// spellings.
    #[must_use]
    pub fn set_aside(&self) -> &[Unit] {
        &self.set_aside
    }

    /// The unit with this spelling: exactly, or in another case where that leaves no doubt (`mb`
    /// could be many things and finds nothing). `²`, `³` and `µ` may be written `2`, `3`, `u`.
    #[must_use]
    pub fn find(&self, spelling: &str) -> Option<&Unit> {
        let spelling = crate::text::collapse(spelling);
        let index = self.exact.get(spelling.as_str()).copied();
        let index = index.or_else(|| self.folded.get(&key(&spelling)).copied().flatten());
        index.map(|index| &self.units[index])
    }

    /// Like [`UnitTable::find`], with a reason when there is none.
    ///
    /// # Errors
    /// [`UnitError::Unknown`].
    pub fn get(&self, spelling: &str) -> Result<&Unit, UnitError> {
        self.find(spelling)
            .ok_or_else(|| UnitError::Unknown(shown(spelling)))
    }

    /// The unit of this spelling, if it measures the dimension.
    ///
    /// # Errors
    /// [`UnitError`] when there is no such unit or it measures something else.
    pub fn get_in(&self, spelling: &str, dimension: &str) -> Result<&Unit, UnitError> {
        let unit = self.get(spelling)?;
        if unit.dimension == dimension {
            return Ok(unit);
        }
        Err(UnitError::Dimension {
            unit: shown(spelling),
            found: unit.dimension.clone(),
            expected: dimension.to_owned(),
        })
    }

    /// The unit that a dimension is counted in.
    #[must_use]
    pub fn base(&self, dimension: &str) -> Option<&Unit> {
        self.units
            .iter()
            .find(|unit| unit.dimension == dimension && unit.is_base())
    }

    /// Adds a unit that an admin defines. The same definition again changes nothing.
    ///
    /// # Errors
    /// [`UnitDefinitionError`] names the field that is wrong and what would be right: a spelling
    /// that another unit has, a dimension without a base unit or with a second one, a factor that
    /// is no positive number.
    pub fn define(&mut self, unit: Unit) -> Result<(), UnitDefinitionError> {
        if self.units.contains(&unit) {
            return Ok(());
        }
        definition::check(&unit, self)?;
        self.add(unit);
        Ok(())
    }

    /// Splits a text such as `500 ml`, `14nm` or `12 fl oz` into its number and its unit.
    #[must_use]
    pub fn parse_quantity(&self, text: &str) -> Option<(f64, &Unit)> {
        let text = text.trim();
        let end = text
            .char_indices()
            .find(|(index, c)| {
                !(c.is_ascii_digit() || *c == '.' || (*index == 0 && "+-".contains(*c)))
            })
            .map_or(text.len(), |(index, _)| index);
        let number: f64 = text[..end].parse().ok()?;
        Some((number, self.find(&text[end..])?))
    }

    /// The ids of those units that cannot stay beside these: they have a spelling in common, or
    /// their dimension has another base unit.
    fn displaced_by(&self, defined: &[Unit]) -> HashSet<String> {
        let clashes = |unit: &Unit, other: &Unit| {
            other.spellings().any(|spelling| {
                let found = self.find(spelling).map(|found| &found.id);
                found == Some(&unit.id) || unit.spellings().any(|own| own == spelling)
            })
        };
        let clashing = |unit: &&Unit| defined.iter().any(|other| clashes(unit, other));
        let displaced: HashSet<&str> = self
            .units
            .iter()
            .filter(clashing)
            .map(|unit| unit.id.as_str())
            .collect();
        let keeps_base = |dimension: &str| {
            let ours = self.base(dimension);
            let theirs = defined
                .iter()
                .find(|unit| unit.dimension == dimension && unit.is_base());
            match (ours, theirs) {
                (Some(ours), None) => !displaced.contains(ours.id.as_str()),
                (Some(ours), Some(theirs)) => clashes(ours, theirs),
                (None, _) => false,
            }
        };
        let is_displaced =
            |unit: &&Unit| displaced.contains(unit.id.as_str()) || !keeps_base(&unit.dimension);
        let ids = self.units.iter().filter(is_displaced);
        ids.map(|unit| unit.id.clone()).collect()
    }

    fn add(&mut self, unit: Unit) {
        let index = self.units.len();
        for spelling in unit.spellings() {
            self.exact.entry(spelling.clone()).or_insert(index);
            self.folded
                .entry(key(spelling))
                .and_modify(|known| *known = known.filter(|known| *known == index))
                .or_insert(Some(index));
        }
        self.units.push(unit);
    }
}

fn key(spelling: &str) -> String {
    crate::text::fold(spelling).replace('μ', "u")
}

/// A number for people: at most six significant digits, no trailing zeros, no exponent for
/// ordinary sizes.
#[must_use]
pub fn format_number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if !(-6.0..15.0).contains(&magnitude) {
        return format!("{value:e}");
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -6 and 15")]
    let decimals = usize::try_from(5 - magnitude as i64).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uom::si::f64::{Length, Mass, Pressure, ThermodynamicTemperature, Volume};

    use super::*;

    fn convert(value: f64, from: &str, to: &str) -> f64 {
        let table = UnitTable::built_in();
        let from = table.get(from).unwrap();
        table
            .get_in(to, &from.dimension)
            .unwrap()
            .from_base(from.to_base(value))
    }

    #[test]
    fn spellings() {
        let table = UnitTable::built_in();
        let id = |spelling: &str| table.find(spelling).map(|unit| unit.id.clone());
        assert_eq!(id("Fl. Oz.").as_deref(), Some("fl oz"));
        assert_eq!(id("mL").as_deref(), Some("ml"));
        assert_eq!(id("MHZ").as_deref(), Some("MHz"));
        assert_eq!(id("[foz_us]").as_deref(), Some("fl oz"));
        assert_eq!(id("cd/m2").as_deref(), Some("nit"));
        assert_eq!(id("MB").as_deref(), Some("MB"));
        assert_eq!(id("Mbit").as_deref(), Some("Mbit"));
        assert_eq!(id("°c").as_deref(), Some("°C"));
        assert_eq!(id("furlong"), None);
        assert_eq!(id(""), None);
    }

    #[test]
    fn every_dimension_has_one_base_and_every_unit_is_found_by_its_id() {
        let table = UnitTable::built_in();
        for unit in table.units() {
            let bases = table
                .units()
                .iter()
                .filter(|u| u.dimension == unit.dimension && u.is_base());
            assert_eq!(bases.count(), 1, "{}", unit.dimension);
            assert_eq!(table.find(&unit.id).map(|u| &u.id), Some(&unit.id));
            assert!(unit.factor > 0.0);
        }
    }

    #[test]
    fn quantities_in_text() {
        let table = UnitTable::built_in();
        let parse = |text| {
            table
                .parse_quantity(text)
                .map(|(n, unit)| (n, unit.id.clone()))
        };
        assert_eq!(parse("500ml"), Some((500.0, "ml".to_owned())));
        assert_eq!(parse(" 12 fl oz "), Some((12.0, "fl oz".to_owned())));
        assert_eq!(parse("14 nm"), Some((14.0, "nm".to_owned())));
        assert_eq!(parse("-3.5 °C"), Some((-3.5, "°C".to_owned())));
        assert_eq!(parse("75%"), Some((75.0, "%".to_owned())));
        assert_eq!(parse("TSMC 4nm"), None);
        assert_eq!(parse("12"), None);
        assert_eq!(parse("1.2.3 mm"), None);
    }

    #[test]
    fn numbers_for_people() {
        let shown = [
            (68.58, "68.58"),
            (0.1 + 0.2, "0.3"),
            (1e6, "1000000"),
            (7_516.025_57, "7516.03"),
        ];
        for (number, text) in shown {
            assert_eq!(format_number(number), text);
        }
        assert_eq!(format_number(-0.0), "0");
    }

    fn of_dimension<'a>(table: &'a UnitTable, dimension: &str) -> Vec<&'a Unit> {
        let units = table.units().iter();
        units.filter(|unit| unit.dimension == dimension).collect()
    }

    fn defined(id: &str, dimension: &str, factor: f64) -> Unit {
        Unit {
            id: id.to_owned(),
            dimension: dimension.to_owned(),
            factor,
            offset: 0.0,
            ucum: None,
            aliases: Vec::new(),
        }
    }

    fn ids(units: &[Unit]) -> Vec<&str> {
        units.iter().map(|unit| unit.id.as_str()).collect()
    }

    /// What a release knows that has just got a dimension: `lx`, also written `lux`, and `fc`.
    fn release() -> UnitTable {
        let lux = Unit {
            aliases: vec!["lux".to_owned()],
            ..defined("lx", "illuminance", 1.0)
        };
        let candle = defined("fc", "illuminance", 10.764);
        let kilogram = defined("kg", "mass", 1.0);
        let pound = defined("lb", "mass", 0.4536);
        UnitTable::new(vec![kilogram, pound, lux, candle])
    }

    #[test]
    fn the_units_of_a_shop_keep_their_meaning() {
        // The same name, another factor: of a dimension with a base of its own.
        let own = vec![defined("klx", "light", 1.0), defined("lx", "light", 0.001)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.units()), ["kg", "lb", "klx", "lx"]);
        assert_eq!(ids(table.set_aside()), ["lx", "fc"]);
        let found = table.get_in("lx", "light").unwrap();
        assert!((found.to_base(500.0) - 0.5).abs() < 1e-12);
        assert_eq!(table.find("lux"), None);
        // Found by another spelling of the built-in one, and in another case.
        for spelling in ["lux", "LX", "Lux"] {
            let table = UnitTable::joined(release(), vec![defined(spelling, "illuminance", 1.0)]);
            assert_eq!(ids(table.set_aside()), ["lx"], "{spelling}");
            assert_eq!(table.find(spelling).unwrap().id, spelling);
            assert_eq!(table.base("illuminance").unwrap().id, spelling);
            assert!(table.find("fc").is_some(), "counted in the same unit");
        }
        // A dimension of the same name that is counted in something else.
        let own = vec![defined("footcandle", "illuminance", 1.0)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.set_aside()), ["lx", "fc"]);
        assert_eq!(table.base("illuminance").unwrap().id, "footcandle");
        // One that is not the base: the others stay.
        let own = vec![defined("fc", "illuminance", 10.0)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.set_aside()), ["fc"]);
        assert!((table.find("fc").unwrap().factor - 10.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_clash_stays_beside_the_built_in_units() {
        let own = || vec![defined("st", "mass", 6.35), defined("rub", "wear", 1.0)];
        let table = UnitTable::joined(release(), own());
        assert_eq!(ids(table.units()), ["kg", "lb", "lx", "fc", "st", "rub"]);
        assert_eq!(table.set_aside(), []);
        // Nor does a built-in unit that a shop has defined in the same way.
        let same = defined("fc", "illuminance", 10.764);
        let table = UnitTable::joined(release(), vec![same]);
        assert_eq!(ids(table.units()), ["kg", "lb", "lx", "fc"]);
        assert_eq!(table.set_aside(), []);
        // Whatever can be defined clashes with nothing.
        let mut table = UnitTable::built_in();
        for unit in own() {
            table.define(unit).unwrap();
        }
        assert_eq!(UnitTable::with_defined(own()).units(), table.units());
    }

    /// Equal to seven digits, which is how many `uom` keeps of the pound.
    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 2e-7 * (1e-3 + a.abs().max(b.abs()))
    }

    proptest! {
        #[test]
        fn agrees_with_uom(value in -1e6_f64..1e6) {
            use uom::si::{length, mass, pressure, thermodynamic_temperature as temperature, volume};
            let inches = Length::new::<length::inch>(value);
            prop_assert!(close(convert(value, "in", "cm"), inches.get::<length::centimeter>()));
            let pounds = Mass::new::<mass::pound>(value);
            prop_assert!(close(convert(value, "lb", "g"), pounds.get::<mass::gram>()));
            let ounces = Volume::new::<volume::fluid_ounce>(value);
            prop_assert!(close(convert(value, "fl oz", "ml"), ounces.get::<volume::milliliter>()));
            let psi = Pressure::new::<pressure::psi>(value);
            prop_assert!(close(convert(value, "psi", "kPa"), psi.get::<pressure::kilopascal>()));
            let hot = ThermodynamicTemperature::new::<temperature::degree_fahrenheit>(value);
            prop_assert!(close(convert(value, "°F", "°C"), hot.get::<temperature::degree_celsius>()));
        }

        #[test]
        fn there_and_back(
            value in -1e9_f64..1e9,
            from in any::<proptest::sample::Index>(),
            to in any::<proptest::sample::Index>(),
        ) {
            let table = UnitTable::built_in();
            let from = from.get(table.units());
            let dimension: Vec<&Unit> = of_dimension(&table, &from.dimension);
            let to = to.get(&dimension);
            let there = to.from_base(from.to_base(value));
            let back = from.from_base(to.to_base(there));
            // What is lost is lost in the larger unit, and beside the offset.
            let lost = (1.0 + value.abs()) * (1.0 + from.offset.abs().max(to.offset.abs()));
            prop_assert!((back - value).abs() <= 1e-9 * lost, "{} to {}", from.id, to.id);
        }
    }
}
