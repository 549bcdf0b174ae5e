//! Units of measure.
//!
//! Each unit belongs to one dimension and is converted to the dimension's base unit by a linear
//! function: `base = value * factor + offset`. Two quantities compare through their base values.
//! The factors are the exact ones of the SI brochure and NIST Special Publication 811; the `ucum`
//! codes are those of the Unified Code for Units of Measure.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

mod built_in;
mod case;
mod codes;
mod definition;
mod readable;

pub use definition::{MAX_UNIT_ALIASES, MAX_UNIT_CHARACTERS, UnitDefinitionError};

/// One unit of measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// The symbol, which is shown and identifies the unit: `fl oz`, `kg`, `°C`.
    pub id: String,
    /// The dimension: `volume`, `mass`, `temperature`. Only units of one dimension compare.
    pub dimension: String,
    /// The number of base units in one of this unit. Positive.
    pub factor: f64,
    /// The number added after multiplying; zero except for temperatures.
    pub offset: f64,
    /// The code in the Unified Code for Units of Measure, if it differs from the symbol. Also absent
    /// for the few units without a code, such as `px`.
    pub ucum: Option<String>,
    /// Other accepted spellings.
    pub aliases: Vec<String>,
}

impl Unit {
    /// Converts a number of these units to base units.
    #[must_use]
    pub fn to_base(&self, value: f64) -> f64 {
        value.mul_add(self.factor, self.offset)
    }

    /// Converts a number of base units to these units.
    #[must_use]
    pub fn from_base(&self, base: f64) -> f64 {
        (base - self.offset) / self.factor
    }

    /// All accepted spellings.
    fn spellings(&self) -> impl Iterator<Item = &String> {
        self.aliases.iter().chain(&self.ucum).chain([&self.id])
    }

    /// Returns true if this is the base unit of its dimension.
    #[must_use]
    #[expect(
        clippy::float_cmp,
        reason = "base units are written as exactly 1 and 0"
    )]
    pub fn is_base(&self) -> bool {
        self.factor == 1.0 && self.offset == 0.0
    }
}

/// Why a unit cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no such unit.
    #[error("there is no unit {0}")]
    Unknown(UnknownSpelling),
    /// The unit measures another dimension.
    #[error("{unit:?} measures {found}, not {expected}")]
    Dimension {
        /// The unit given.
        unit: String,
        /// Its dimension.
        found: String,
        /// The dimension required.
        expected: String,
    },
}

/// A spelling of no unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSpelling {
    /// The spelling given, shortened.
    spelling: String,
    /// The symbols of units with a spelling that differs only in its case, which decides.
    by_case: Vec<String>,
}

impl fmt::Display for UnknownSpelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.spelling)?;
        if self.by_case.is_empty() {
            return Ok(());
        }
        let others: Vec<String> = self.by_case.iter().map(|id| format!("{id:?}")).collect();
        let others = others.join(" and ");
        write!(f, ", and case decides: it is not read as {others}")
    }
}

/// A spelling, shortened for messages.
fn shown(spelling: &str) -> String {
    crate::text::excerpt(spelling, 40).text
}

/// All known units, found by any of their spellings.
#[derive(Clone, Debug, Default)]
pub struct UnitTable {
    units: Vec<Unit>,
    overridden_units: Vec<Unit>,
    exact: HashMap<String, usize>,
    folded: HashMap<String, Vec<(usize, String)>>,
}

impl UnitTable {
    /// Returns a table of these units. A spelling of two units refers to the first.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Self {
        let mut table = Self::default();
        for unit in units {
            table.add(unit);
        }
        table
    }

    /// Returns the table of a new database: the built-in units.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new(built_in::units())
    }

    /// Returns the built-in units and those that the shop has defined.
    ///
    /// A release may add a built-in unit that a shop has already defined differently. Stored values
    /// refer to the shop's unit, so the built-in one is overridden. If the shop's unit replaces the
    /// base unit of a dimension, all built-in units of the dimension are overridden, since their
    /// factors refer to that base.
    #[must_use]
    pub fn with_defined(defined: Vec<Unit>) -> Self {
        Self::joined(Self::built_in(), defined)
    }

    fn joined(built_in: Self, mut defined: Vec<Unit>) -> Self {
        defined.retain(|unit| !built_in.units.contains(unit));
        let overridden_units = built_in.overridden_by(&defined);
        let (overridden_units, kept): (Vec<Unit>, Vec<Unit>) = built_in
            .units
            .into_iter()
            .partition(|unit| overridden_units.contains(&unit.id));
        let mut table = Self::new(kept);
        table.overridden_units = overridden_units;
        for unit in defined {
            table.add(unit);
        }
        table
    }

    /// All units, in the order in which they were added.
    #[must_use]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The built-in units that are unavailable because the shop has defined others with their
    /// spellings.
    #[must_use]
    pub fn overridden_units(&self) -> &[Unit] {
        &self.overridden_units
    }

    /// The unit with this spelling. `²`, `³` and `µ` may be written `2`, `3`, `u`.
    ///
    /// A text in another case finds a unit only if no other unit can be meant: `KG` and `Inches` do;
    /// `MV` (megavolt) and `Nm` do not find `mV` and `nm`, and `mb` finds none of `MB` and `Mbit`.
    #[must_use]
    pub fn find(&self, spelling: &str) -> Option<&Unit> {
        let spelling = crate::text::collapsed(spelling);
        let index = self.exact.get(spelling.as_ref()).copied();
        let index = index.or_else(|| self.in_another_form(&spelling));
        index.map(|index| &self.units[index])
    }

    fn in_another_form(&self, spelling: &str) -> Option<usize> {
        let written = case::unified(spelling);
        let as_written = |text: &str| self.exact.get(text).copied();
        let small_kilo = || as_written(&case::with_small_kilo(&written)?);
        if let Some(index) = as_written(&written).or_else(small_kilo) {
            return Some(index);
        }
        if case::is_symbol(&written) {
            return None;
        }
        let candidates = self.folded.get(&key(spelling))?.iter();
        let mut agreeing = candidates.filter(|(_, known)| !case::contradicts(&written, known));
        let (index, _) = agreeing.next()?;
        agreeing.all(|(other, _)| other == index).then_some(*index)
    }

    /// The unit with this spelling or this code of UN/ECE Recommendation 20, as units are written in
    /// feeds: `mm` and `MMT`. A spelling takes precedence over a code.
    #[must_use]
    pub fn find_in_feed(&self, spelling: &str) -> Option<&Unit> {
        self.find(spelling).or_else(|| {
            let id = codes::symbol(spelling.trim())?;
            let overridden = self.overridden_units.iter().any(|unit| unit.id == id);
            self.find(id).filter(|_| !overridden)
        })
    }

    /// The unit with this spelling, as [`UnitTable::find`], or an error.
    ///
    /// # Errors
    /// [`UnitError::Unknown`] if there is none.
    pub fn get(&self, spelling: &str) -> Result<&Unit, UnitError> {
        self.find(spelling).ok_or_else(|| self.unknown(spelling))
    }

    /// The unit that a feed writes so, as [`UnitTable::find_in_feed`], or an error.
    ///
    /// # Errors
    /// [`UnitError::Unknown`] if there is none.
    pub fn get_in_feed(&self, spelling: &str) -> Result<&Unit, UnitError> {
        let found = self.find_in_feed(spelling);
        found.ok_or_else(|| self.unknown(spelling))
    }

    fn unknown(&self, spelling: &str) -> UnitError {
        let candidates = self.folded.get(&key(spelling)).into_iter().flatten();
        let mut by_case: Vec<String> = candidates
            .map(|(index, _)| self.units[*index].id.clone())
            .collect();
        by_case.dedup();
        UnitError::Unknown(UnknownSpelling {
            spelling: shown(spelling),
            by_case,
        })
    }

    /// The unit with this spelling, if it measures the dimension.
    ///
    /// # Errors
    /// [`UnitError`] if there is no such unit or it measures something else.
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

    /// The base unit of a dimension.
    #[must_use]
    pub fn base(&self, dimension: &str) -> Option<&Unit> {
        self.units
            .iter()
            .find(|unit| unit.dimension == dimension && unit.is_base())
    }

    /// Adds a unit defined by an admin. Repeating a definition has no effect.
    ///
    /// # Errors
    /// [`UnitDefinitionError`] names the invalid field and what would be valid. It reports a
    /// spelling of another unit, a dimension without a base unit or with a second one, and a factor
    /// that is not a positive number.
    pub fn define(&mut self, unit: Unit) -> Result<(), UnitDefinitionError> {
        if self.units.contains(&unit) {
            return Ok(());
        }
        definition::check(&unit, self)?;
        self.add(unit);
        Ok(())
    }

    /// The ids of the units that conflict with these: those with a spelling in common, or of a
    /// dimension with another base unit.
    fn overridden_by(&self, defined: &[Unit]) -> HashSet<String> {
        let clashes = |unit: &Unit, other: &Unit| {
            other.spellings().any(|spelling| {
                let found = self.find(spelling).map(|found| &found.id);
                found == Some(&unit.id) || unit.spellings().any(|own| own == spelling)
            })
        };
        let clashing = |unit: &&Unit| defined.iter().any(|other| clashes(unit, other));
        let overridden: HashSet<&str> = self
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
                (Some(ours), None) => !overridden.contains(ours.id.as_str()),
                (Some(ours), Some(theirs)) => clashes(ours, theirs),
                (None, _) => false,
            }
        };
        let is_overridden =
            |unit: &&Unit| overridden.contains(unit.id.as_str()) || !keeps_base(&unit.dimension);
        let ids = self.units.iter().filter(is_overridden);
        ids.map(|unit| unit.id.clone()).collect()
    }

    fn add(&mut self, unit: Unit) {
        let index = self.units.len();
        for spelling in unit.spellings() {
            self.exact.entry(spelling.clone()).or_insert(index);
            let unified = case::unified(spelling);
            let folded = self.folded.entry(key(spelling)).or_default();
            folded.push((index, unified.clone()));
            self.exact.entry(unified).or_insert(index);
        }
        self.units.push(unit);
    }
}

fn key(spelling: &str) -> String {
    crate::text::fold(spelling).replace('μ', "u")
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
    fn units_are_found_by_any_spelling() {
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
    fn every_dimension_has_one_base_and_every_spelling_finds_its_own_unit() {
        let table = UnitTable::built_in();
        for unit in table.units() {
            let bases = table
                .units()
                .iter()
                .filter(|u| u.dimension == unit.dimension && u.is_base());
            assert_eq!(bases.count(), 1, "{}", unit.dimension);
            for spelling in unit.spellings() {
                let found = table.find(spelling).map(|found| &found.id);
                assert_eq!(found, Some(&unit.id), "{spelling}");
            }
            assert!(unit.factor > 0.0);
        }
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

    /// The units of a release that adds a dimension: `lx`, also written `lux`, and `fc`.
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
        // The same symbol with another factor, in a dimension with a base unit of its own.
        let own = vec![defined("klx", "light", 1.0), defined("lx", "light", 0.001)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.units()), ["kg", "lb", "klx", "lx"]);
        assert_eq!(ids(table.overridden_units()), ["lx", "fc"]);
        let found = table.get_in("lx", "light").unwrap();
        assert!((found.to_base(500.0) - 0.5).abs() < 1e-12);
        assert_eq!(table.find("lux"), None);
        // Another spelling of the built-in unit, or another case.
        for spelling in ["lux", "LX", "Lux"] {
            let table = UnitTable::joined(release(), vec![defined(spelling, "illuminance", 1.0)]);
            assert_eq!(ids(table.overridden_units()), ["lx"], "{spelling}");
            assert_eq!(table.find(spelling).unwrap().id, spelling);
            assert_eq!(table.base("illuminance").unwrap().id, spelling);
            assert!(table.find("fc").is_some(), "the base unit is the same");
        }
        // A dimension of the same name with another base unit.
        let own = vec![defined("footcandle", "illuminance", 1.0)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.overridden_units()), ["lx", "fc"]);
        assert_eq!(table.base("illuminance").unwrap().id, "footcandle");
        // A unit that is not the base unit: the others stay.
        let own = vec![defined("fc", "illuminance", 10.0)];
        let table = UnitTable::joined(release(), own);
        assert_eq!(ids(table.overridden_units()), ["fc"]);
        assert!((table.find("fc").unwrap().factor - 10.0).abs() < 1e-12);
    }

    #[test]
    fn units_without_conflicts_are_added_to_the_built_in_ones() {
        let own = || vec![defined("st", "mass", 6.35), defined("rub", "wear", 1.0)];
        let table = UnitTable::joined(release(), own());
        assert_eq!(ids(table.units()), ["kg", "lb", "lx", "fc", "st", "rub"]);
        assert_eq!(table.overridden_units(), []);
        // A shop's definition equal to the built-in one does not conflict.
        let same = defined("fc", "illuminance", 10.764);
        let table = UnitTable::joined(release(), vec![same]);
        assert_eq!(ids(table.units()), ["kg", "lb", "lx", "fc"]);
        assert_eq!(table.overridden_units(), []);
        // Units that can be defined do not conflict.
        let mut table = UnitTable::built_in();
        for unit in own() {
            table.define(unit).unwrap();
        }
        assert_eq!(UnitTable::with_defined(own()).units(), table.units());
    }

    /// Equal to seven digits, which is the precision of the pound in `uom`.
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
        fn conversions_are_reversible(
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
            // Precision is lost in the larger unit, and next to the offset.
            let lost = (1.0 + value.abs()) * (1.0 + from.offset.abs().max(to.offset.abs()));
            prop_assert!((back - value).abs() <= 1e-9 * lost, "{} to {}", from.id, to.id);
        }
    }
}
