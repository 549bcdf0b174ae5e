//! Reading the settings of a [`Reading`].

use super::super::clean::{Clean, Html};
use super::super::date::DateFormat;
use super::super::error::MappingError;
use super::super::number::{Decimal, Factor, Round};
use super::super::section::Section;
use super::words::spelling_key;
use super::{OnBad, Reading};

const NO_NEXT: &str = "\"next_field\" has no effect here, because no field follows: it is for the fields of a list \
                       before the last, and for several paths in from";

impl OnBad {
    const WORDS: [(&'static str, Self); 4] = [
        ("reject_line", Self::RejectLine),
        ("drop_value", Self::DropValue),
        ("ignore", Self::Ignore),
        ("next_field", Self::NextField),
    ];
}

const ROUND: [(&str, Round); 3] = [
    ("nearest", Round::Nearest),
    ("up", Round::Up),
    ("down", Round::Down),
];

impl Reading {
    /// Returns this reading with the settings of a section applied.
    pub(in crate::mapping) fn with(&self, section: &Section<'_>) -> Result<Self, MappingError> {
        let mut reading = self.clone();
        reading.read_words(section)?;
        reading.read_formats(section)?;
        reading.min = section.number("min")?.or(reading.min);
        reading.max = section.number("max")?.or(reading.max);
        reading.round = section.choice("round", &ROUND)?.or(reading.round);
        reading.read_factor(section)?;
        if let Some(on_bad) = section.choice("on_bad", &OnBad::WORDS)? {
            if let Some(reason) = reading.no_on_bad {
                return Err(section.invalid("on_bad", reason));
            }
            let several = section.has_several("from");
            if on_bad == OnBad::NextField && !several && !reading.followed {
                return Err(section.invalid("on_bad", NO_NEXT));
            }
            reading.on_bad = on_bad;
            reading.on_bad_is_set = true;
        }
        Ok(reading)
    }

    fn read_factor(&mut self, section: &Section<'_>) -> Result<(), MappingError> {
        if let Some(reason) = self.no_factor {
            let set = ["multiply", "divide"]
                .into_iter()
                .find(|name| section.has(name));
            return set.map_or(Ok(()), |name| Err(section.invalid(name, reason)));
        }
        let mut factor = self.factor.unwrap_or_default();
        factor.multiply = number_above_0(section, "multiply")?.or(factor.multiply);
        factor.divide = number_above_0(section, "divide")?.or(factor.divide);
        self.factor = Some(factor).filter(|factor| *factor != Factor::default());
        Ok(())
    }

    fn read_words(&mut self, section: &Section<'_>) -> Result<(), MappingError> {
        let unknown = section.values("unknown");
        if !unknown.is_empty() {
            self.unknown = unknown.to_vec();
        }
        for (from, to) in section.text_map("values")? {
            self.words.insert(from.to_owned(), to.to_owned());
        }
        read_replacements(section, "replace", &mut self.replace)?;
        read_replacements(section, "replace_start", &mut self.replace_start)?;
        for spelling in section.texts("spellings")? {
            self.spellings
                .insert(spelling_key(spelling), spelling.to_owned());
        }
        if let Some(otherwise) = section.text("otherwise")? {
            self.otherwise = Some(otherwise.to_owned());
        }
        for (name, words) in [("yes", &mut self.yes), ("no", &mut self.no)] {
            let texts = section.texts(name)?;
            if !texts.is_empty() {
                *words = texts.iter().map(|word| word.to_lowercase()).collect();
            }
        }
        Ok(())
    }

    fn read_formats(&mut self, section: &Section<'_>) -> Result<(), MappingError> {
        self.clean = section
            .choice("clean", &Clean::WORDS)?
            .unwrap_or(self.clean);
        self.html = section.choice("html", &Html::WORDS)?.unwrap_or(self.html);
        if let Some(decimal) = character(section, "decimal")? {
            self.numbers.decimal = decimal;
        }
        self.numbers.thousands = character(section, "thousands")?.or(self.numbers.thousands);
        if self.numbers.thousands == Some(self.numbers.decimal) {
            return Err(section.invalid("thousands", "must differ from decimal"));
        }
        let dates = section.texts("date")?;
        if !dates.is_empty() {
            let formats: Result<_, _> = dates.into_iter().map(DateFormat::named).collect();
            self.dates = formats.map_err(|reason| section.invalid("date", reason))?;
        }
        Ok(())
    }
}

/// Adds texts and what stands for them to those that are known.
fn read_replacements(
    section: &Section<'_>,
    name: &'static str,
    known: &mut Vec<(String, String)>,
) -> Result<(), MappingError> {
    for (from, to) in section.text_map(name)? {
        if from.is_empty() {
            return Err(section.invalid(name, "an empty text cannot be replaced"));
        }
        known.retain(|(known, _)| known != from);
        known.push((from.to_owned(), to.to_owned()));
    }
    // Where several begin at one place, the longest is found first.
    known.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    Ok(())
}

/// Reads a number to calculate with.
fn number_above_0(
    section: &Section<'_>,
    name: &'static str,
) -> Result<Option<Decimal>, MappingError> {
    section.number(name)?;
    let Some(value) = section.value(name) else {
        return Ok(None);
    };
    match Decimal::of_setting(value) {
        Some(number) if number.is_one() => Err(section.invalid(name, "1 has no effect")),
        Some(number) => Ok(Some(number)),
        None => Err(section.invalid(name, "is not a number above 0")),
    }
}

/// Reads a setting that is one character.
fn character(section: &Section<'_>, name: &'static str) -> Result<Option<char>, MappingError> {
    let Some(text) = section.text(name)? else {
        return Ok(None);
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(character), None) if !character.is_ascii_digit() => Ok(Some(character)),
        _ => Err(section.invalid(name, "must be one character, not a digit")),
    }
}
