//! Values with units.

use vitrine_model::spec::SpecValue;
use vitrine_model::unit::Unit;

use super::super::number::short;
use super::super::reading::{Reading, Scalar};
use super::spec_reading::SpecReading;

impl SpecReading {
    /// A quantity. The unit inside the text, where there is one, beats the one that is told.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn quantity(
        &self,
        scalar: &Scalar<'_>,
        unit: Option<&str>,
        reading: &Reading,
    ) -> Result<SpecValue, String> {
        let inside = match scalar {
            Scalar::Text(text) if reading.bare_number(text).is_none() => {
                Some(self.inside(text, reading)?)
            }
            _ => None,
        };
        let (number, unit) = match (inside, unit) {
            (Some((number, found)), Some(unit)) => {
                let dimension = &self.table.get(unit).map_err(|e| e.to_string())?.dimension;
                self.table
                    .get_in(&found.id, dimension)
                    .map_err(|e| e.to_string())?;
                (number, found.id.as_str())
            }
            (Some((number, found)), None) => (number, found.id.as_str()),
            (None, Some(unit)) => (reading.number(scalar)?, unit),
            (None, None) => return Err("has no unit, and the mapping names none".to_owned()),
        };
        Ok(SpecValue::Quantity {
            value: reading.within(number)?,
            unit: unit.to_owned(),
        })
    }

    /// A text with its unit inside: `14 nm`, `1.234,5 g`.
    fn inside(&self, text: &str, reading: &Reading) -> Result<(f64, &Unit), String> {
        let is_unit = |c: char| c.is_alphabetic() || "°%‰\"″′'µ".contains(c);
        let end = text.find(is_unit).unwrap_or(text.len());
        let number = reading.bare_number(&text[..end]);
        let unit = self.table.find(&text[end..]);
        number
            .zip(unit)
            .ok_or_else(|| format!("{:?} is no number of units such as 12 mm", short(text)))
    }
}
