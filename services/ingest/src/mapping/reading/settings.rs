//! The settings of a reading.

use super::super::clean::{Clean, Html};
use super::super::date::DateFormat;
use super::super::error::MappingError;
use super::super::section::Section;
use super::words::bare;
use super::{OnBad, Reading};

impl OnBad {
    const WORDS: [(&'static str, Self); 3] = [
        ("reject_line", Self::RejectLine),
        ("drop_value", Self::DropValue),
        ("ignore", Self::Ignore),
    ];
}

impl Reading {
    /// This reading with what a section says otherwise.
    pub(in crate::mapping) fn with(&self, section: &Section<'_>) -> Result<Self, MappingError> {
        let mut reading = self.clone();
        reading.read_words(section)?;
        reading.read_forms(section)?;
        reading.min = section.number("min")?.or(reading.min);
        reading.max = section.number("max")?.or(reading.max);
        let on_bad = section.choice("on_bad", &OnBad::WORDS)?;
        reading.on_bad = on_bad.unwrap_or(reading.on_bad);
        Ok(reading)
    }

    fn read_words(&mut self, section: &Section<'_>) -> Result<(), MappingError> {
        let unknown = section.values("unknown");
        if !unknown.is_empty() {
            self.unknown = unknown.to_vec();
        }
        for (from, to) in section.text_map("values")? {
            self.words.insert(from.to_owned(), to.to_owned());
        }
        for spelling in section.texts("spellings")? {
            self.spellings.insert(bare(spelling), spelling.to_owned());
        }
        if let Some(otherwise) = section.text("otherwise")? {
            self.otherwise = Some(otherwise.to_owned());
        }
        for (name, words) in [("yes", &mut self.yes), ("no", &mut self.no)] {
            let given = section.texts(name)?;
            if !given.is_empty() {
                *words = given.iter().map(|word| word.to_lowercase()).collect();
            }
        }
        Ok(())
    }

    fn read_forms(&mut self, section: &Section<'_>) -> Result<(), MappingError> {
        self.clean = section
            .choice("clean", &Clean::WORDS)?
            .unwrap_or(self.clean);
        self.html = section.choice("html", &Html::WORDS)?.unwrap_or(self.html);
        if let Some(decimal) = sign(section, "decimal")? {
            self.numbers.decimal = decimal;
        }
        self.numbers.thousands = sign(section, "thousands")?.or(self.numbers.thousands);
        if self.numbers.thousands == Some(self.numbers.decimal) {
            return Err(section.refuse("thousands", "must be another sign than decimal"));
        }
        let dates = section.texts("date")?;
        if !dates.is_empty() {
            let formats: Result<_, _> = dates.into_iter().map(DateFormat::named).collect();
            self.dates = formats.map_err(|reason| section.refuse("date", reason))?;
        }
        Ok(())
    }
}

/// A setting that is one character.
fn sign(section: &Section<'_>, name: &'static str) -> Result<Option<char>, MappingError> {
    let Some(text) = section.text(name)? else {
        return Ok(None);
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(sign), None) if !sign.is_ascii_digit() => Ok(Some(sign)),
        _ => Err(section.refuse(name, "must be one sign, no digit")),
    }
}
