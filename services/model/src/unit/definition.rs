//! Validation of units defined by an admin.

use super::{Unit, UnitTable};
use crate::text::collapse;

/// The maximum length, in characters, of a symbol or alias of a defined unit.
pub const MAX_UNIT_CHARACTERS: usize = 16;
/// The maximum number of aliases of a defined unit.
pub const MAX_UNIT_ALIASES: usize = 10;
/// The maximum length of the name of a dimension, in bytes.
const MAX_DIMENSION_BYTES: usize = 32;

/// Why the definition of a unit is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnitDefinitionError {
    /// The symbol or an alias has the wrong form.
    #[error(
        "{field}: {spelling:?} is not a spelling of a unit: 1 to {MAX_UNIT_CHARACTERS} visible \
         characters with single blanks between words, not starting with 0 to 9, +, - or ."
    )]
    Spelling {
        /// `symbol`, `aliases` or `ucum`.
        field: &'static str,
        /// The spelling given.
        spelling: String,
    },
    /// The unit exists with another definition.
    #[error(
        "symbol: {symbol:?} is already defined as {factor} * value + {offset} of {dimension}; a \
         unit never changes, so choose another symbol"
    )]
    Defined {
        /// The symbol.
        symbol: String,
        /// The dimension it has.
        dimension: String,
        /// The factor it has.
        factor: f64,
        /// The offset it has.
        offset: f64,
    },
    /// The spelling refers to another unit.
    #[error(
        "{field}: {spelling:?} already refers to the unit {taken_by:?}; choose another spelling"
    )]
    Taken {
        /// `symbol`, `aliases` or `ucum`.
        field: &'static str,
        /// The spelling given.
        spelling: String,
        /// The symbol of the unit that has it.
        taken_by: String,
    },
    /// Too many aliases.
    #[error("aliases: {0} are too many; at most {MAX_UNIT_ALIASES} are allowed")]
    Aliases(usize),
    /// The name of the dimension has the wrong form.
    #[error(
        "dimension: {0:?} is not a name of a dimension: 1 to {MAX_DIMENSION_BYTES} characters, \
         lower-case letters a to z, digits and underscores, starting with a letter"
    )]
    Dimension(String),
    /// The factor is not positive or out of range.
    #[error("factor: {0} must be a number from 1e-30 to 1e30")]
    Factor(f64),
    /// The offset is not a finite number, or not zero in a dimension whose units have the same zero.
    #[error("offset: {0} must be a finite number, and 0 unless the dimension is {TEMPERATURE:?}")]
    Offset(f64),
    /// The dimension has no base unit yet.
    #[error(
        "factor: there is no dimension {0:?} yet; define its base unit first, with factor 1 and \
         offset 0"
    )]
    NoBase(String),
    /// The dimension already has a base unit.
    #[error(
        "factor: with factor 1 and offset 0 it is the same as {base:?}, the base unit of \
         {dimension}; define it as an alias of that unit"
    )]
    SecondBase {
        /// The dimension.
        dimension: String,
        /// The symbol of its base unit.
        base: String,
    },
}

impl UnitDefinitionError {
    /// The invalid field of the definition.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Spelling { field, .. } | Self::Taken { field, .. } => field,
            Self::Defined { .. } => "symbol",
            Self::Aliases(_) => "aliases",
            Self::Dimension(_) => "dimension",
            Self::Factor(_) | Self::NoBase(_) | Self::SecondBase { .. } => "factor",
            Self::Offset(_) => "offset",
        }
    }
}

type Checked = Result<(), UnitDefinitionError>;

/// The one dimension whose units have different zeros.
const TEMPERATURE: &str = "temperature";

pub(super) fn check(unit: &Unit, table: &UnitTable) -> Checked {
    check_symbol(unit, table)?;
    if unit.aliases.len() > MAX_UNIT_ALIASES {
        return Err(UnitDefinitionError::Aliases(unit.aliases.len()));
    }
    for alias in &unit.aliases {
        check_spelling("aliases", alias, table)?;
    }
    if let Some(ucum) = &unit.ucum {
        check_spelling("ucum", ucum, table)?;
    }
    check_numbers(unit)?;
    check_dimension(unit, table)
}

fn check_symbol(unit: &Unit, table: &UnitTable) -> Checked {
    let Some(known) = table.units().iter().find(|known| known.id == unit.id) else {
        return check_spelling("symbol", &unit.id, table);
    };
    Err(UnitDefinitionError::Defined {
        symbol: known.id.clone(),
        dimension: known.dimension.clone(),
        factor: known.factor,
        offset: known.offset,
    })
}

fn check_spelling(field: &'static str, spelling: &str, table: &UnitTable) -> Checked {
    let length = (1..=MAX_UNIT_CHARACTERS).contains(&spelling.chars().count());
    let visible = collapse(spelling) == spelling && !spelling.contains(is_invisible);
    let unlike_a_number = spelling.parse::<f64>().is_err()
        && !spelling.starts_with(|c: char| c.is_numeric() || "+-.".contains(c));
    if !(length && visible && unlike_a_number) {
        return Err(UnitDefinitionError::Spelling {
            field,
            spelling: crate::text::excerpt(spelling, 40).text,
        });
    }
    table.find(spelling).map_or(Ok(()), |other| {
        Err(UnitDefinitionError::Taken {
            field,
            spelling: spelling.to_owned(),
            taken_by: other.id.clone(),
        })
    })
}

/// Control characters, and invisible characters that control direction and joining of text.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn check_numbers(unit: &Unit) -> Checked {
    // Other factors would turn ordinary values into infinity or zero.
    if !(1e-30..=1e30).contains(&unit.factor) {
        return Err(UnitDefinitionError::Factor(unit.factor));
    }
    let may_have_offset = unit.dimension == TEMPERATURE && unit.offset.is_finite();
    if !may_have_offset && unit.offset != 0.0 {
        return Err(UnitDefinitionError::Offset(unit.offset));
    }
    Ok(())
}

fn check_dimension(unit: &Unit, table: &UnitTable) -> Checked {
    let named = crate::spec::check_key(&unit.dimension).is_ok();
    if !named || unit.dimension.len() > MAX_DIMENSION_BYTES {
        let shown = crate::text::excerpt(&unit.dimension, 40).text;
        return Err(UnitDefinitionError::Dimension(shown));
    }
    match (table.base(&unit.dimension), unit.is_base()) {
        (None, false) => Err(UnitDefinitionError::NoBase(unit.dimension.clone())),
        (Some(base), true) => Err(UnitDefinitionError::SecondBase {
            dimension: unit.dimension.clone(),
            base: base.id.clone(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(symbol: &str, dimension: &str, factor: f64) -> Unit {
        Unit {
            id: symbol.to_owned(),
            dimension: dimension.to_owned(),
            factor,
            offset: 0.0,
            ucum: None,
            aliases: Vec::new(),
        }
    }

    fn refusal(unit: Unit) -> UnitDefinitionError {
        let mut table = UnitTable::built_in();
        let before = table.units().len();
        let error = table.define(unit).unwrap_err();
        assert_eq!(table.units().len(), before, "what is refused is not added");
        error
    }

    #[test]
    fn a_new_dimension_starts_with_its_base_unit() {
        let mut table = UnitTable::built_in();
        let wear = unit("wear", "abrasion", 2.0);
        let no_base = UnitDefinitionError::NoBase("abrasion".to_owned());
        assert_eq!(table.define(wear.clone()), Err(no_base));
        assert_eq!(table.define(unit("rub", "abrasion", 1.0)), Ok(()));
        assert_eq!(table.define(wear.clone()), Ok(()));
        let count = table.units().len();
        assert_eq!(table.define(wear), Ok(()), "again");
        assert_eq!(table.units().len(), count);
        assert_eq!(table.base("abrasion").unwrap().id, "rub");
        let second = table.define(unit("rubb", "abrasion", 1.0)).unwrap_err();
        assert_eq!(second.field(), "factor");
        assert!(second.to_string().contains("\"rub\""), "{second}");
    }

    #[test]
    fn a_unit_is_found_by_every_spelling_and_never_changes() {
        let mut table = UnitTable::built_in();
        let furlong = Unit {
            aliases: vec!["furlongs".to_owned(), "fur long".to_owned()],
            ucum: Some("[fur_us]".to_owned()),
            ..unit("fur", "length", 20_116.8)
        };
        table.define(furlong).unwrap();
        for spelling in ["fur", "Furlongs", "fur  long", "[fur_us]"] {
            let id = table.find(spelling).map(|unit| unit.id.as_str());
            assert_eq!(id, Some("fur"), "{spelling}");
        }
        let other = table.define(unit("fur", "length", 201.0)).unwrap_err();
        assert_eq!(other.field(), "symbol");
        assert!(other.to_string().contains("20116.8"), "{other}");
    }

    #[test]
    fn spellings_of_other_units_are_refused() {
        for taken in ["kg", "KG", "kilograms", "cm2", "pounds"] {
            let error = refusal(unit(taken, "mass", 3.0));
            assert_eq!(error.field(), "symbol", "{taken}: {error}");
        }
        let by_alias = Unit {
            aliases: vec!["inch".to_owned()],
            ..unit("barleycorn", "length", 0.847)
        };
        let error = refusal(by_alias);
        assert_eq!(error.field(), "aliases");
        assert!(error.to_string().contains("\"in\""), "{error}");
    }

    #[test]
    fn invalid_definitions_are_refused() {
        let long = "x".repeat(17);
        for symbol in [
            "",
            " ",
            " a",
            "a  b",
            "1a",
            "12",
            "-x",
            ".5",
            "inf",
            "NaN",
            "a\u{7}",
            "a\u{202e}b",
            "²",
            &long,
        ] {
            let error = refusal(unit(symbol, "length", 2.0));
            assert!(
                matches!(
                    error,
                    UnitDefinitionError::Spelling {
                        field: "symbol",
                        ..
                    }
                ),
                "{symbol:?}: {error}"
            );
        }
        for dimension in ["", "Length", "a b", "1a", "$a", &"x".repeat(33)] {
            assert_eq!(refusal(unit("zz", dimension, 1.0)).field(), "dimension");
        }
        for factor in [0.0, -1.0, 5e-324, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(refusal(unit("zz", "length", factor)).field(), "factor");
        }
        for (dimension, offset) in [
            ("temperature", f64::NAN),
            ("temperature", f64::INFINITY),
            ("length", 5.0),
        ] {
            let unit = Unit {
                offset,
                ..unit("zz", dimension, 2.0)
            };
            assert_eq!(refusal(unit).field(), "offset", "{dimension} {offset}");
        }
        let aliases = Unit {
            aliases: (b'a'..=b'k')
                .map(|c| format!("zz{}", char::from(c)))
                .collect(),
            ..unit("zz", "length", 2.0)
        };
        assert_eq!(refusal(aliases), UnitDefinitionError::Aliases(11));
    }
}
