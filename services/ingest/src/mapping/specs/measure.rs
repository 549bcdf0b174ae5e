//! Reading quantities.

use std::borrow::Cow;

use vitrine_model::spec::SpecValue;
use vitrine_model::unit::Unit;

use super::super::number::shortened;
use super::super::reading::{Reading, Scalar};
use super::spec_reading::SpecReading;

impl SpecReading {
    /// Reads a quantity. A unit in the text takes precedence over the one of the settings.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn quantity(
        &self,
        scalar: &Scalar<'_>,
        unit: Option<&str>,
        reading: &Reading,
    ) -> Result<SpecValue, String> {
        let in_text = match scalar {
            Scalar::Text(text) if !reading.is_bare_number(text) => {
                Some(self.quantity_in_text(text, reading)?)
            }
            _ => None,
        };
        let (number, unit) = match (in_text, unit) {
            (Some((number, in_text)), Some(unit)) => {
                let dimension = &self.table.get(unit).map_err(|e| e.to_string())?.dimension;
                self.table
                    .get_in(&in_text.id, dimension)
                    .map_err(|e| e.to_string())?;
                (number, in_text.id.as_str())
            }
            (Some((number, in_text)), None) => (number, in_text.id.as_str()),
            (None, Some(unit)) => (reading.number(scalar)?, unit),
            (None, None) => return Err("has no unit, and the mapping specifies none".to_owned()),
        };
        Ok(SpecValue::Quantity {
            value: number,
            unit: unit.to_owned(),
        })
    }

    /// Reads a text that contains number and unit: `14 nm`, `1.234,5 g`.
    fn quantity_in_text(&self, text: &str, reading: &Reading) -> Result<(f64, &Unit), String> {
        let is_unit = |c: char| c.is_alphabetic() || "°%‰\"″′'µ".contains(c);
        let end = text.find(is_unit).unwrap_or(text.len());
        let is_number = reading.bare_number(&text[..end]);
        let unit = self.table.find_in_feed(&text[end..]);
        let number_is_wrong = text[..end].contains(|c: char| c.is_ascii_digit());
        match (is_number, unit) {
            (Ok(_), Some(unit)) => {
                let number = Scalar::Text(Cow::Borrowed(&text[..end]));
                Ok((reading.number(&number)?, unit))
            }
            (Err(wrong), Some(_)) if number_is_wrong => {
                Err(format!("{:?} is not a quantity: {wrong}", shortened(text)))
            }
            _ => Err(format!(
                "{:?} is not a quantity such as 12 mm",
                shortened(text)
            )),
        }
    }
}
