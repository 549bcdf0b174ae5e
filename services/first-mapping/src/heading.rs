//! What a heading says besides its name: a unit, a currency, a language.

use vitrine_model::money::Currency;
use vitrine_model::text::fold;
use vitrine_model::unit::UnitTable;

/// The last step of a path, as words and what else it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    /// Its words in small letters without accents, with `_` between: `imageURL` is `image_url`.
    pub(super) words: String,
    /// The unit of the values: `Weight (kg)`.
    pub(super) unit: Option<String>,
    /// The currency of the values: `price-EUR`.
    pub(super) currency: Option<String>,
    /// The language of the values: `name-de_DE`.
    pub(super) language: Option<String>,
}

/// The last words of headings that are units, where no bracket says so.
const UNITS: [(&str, &str); 42] = [
    ("kg", "kg"),
    ("kgs", "kg"),
    ("g", "g"),
    ("gr", "g"),
    ("mg", "mg"),
    ("lbs", "lb"),
    ("lb", "lb"),
    ("oz", "oz"),
    ("mm", "mm"),
    ("cm", "cm"),
    ("m", "m"),
    ("km", "km"),
    ("ml", "ml"),
    ("cl", "cl"),
    ("l", "l"),
    ("w", "W"),
    ("kw", "kW"),
    ("v", "V"),
    ("mah", "mAh"),
    ("wh", "Wh"),
    ("kwh", "kWh"),
    ("hz", "Hz"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
    ("gb", "GB"),
    ("mb", "MB"),
    ("tb", "TB"),
    ("db", "dB"),
    ("lm", "lm"),
    ("min", "min"),
    ("mins", "min"),
    ("minutes", "min"),
    ("minuten", "min"),
    ("seconds", "s"),
    ("hours", "h"),
    ("grams", "g"),
    ("gramm", "g"),
    ("kilograms", "kg"),
    ("meters", "m"),
    ("metres", "m"),
    ("inches", "in"),
    ("inch", "in"),
];

/// Signs of currencies that are those of one.
pub(super) const CURRENCY_SIGNS: [(&str, &str); 5] = [
    ("€", "EUR"),
    ("£", "GBP"),
    ("zł", "PLN"),
    ("US$", "USD"),
    ("$", "USD"),
];

/// Codes of currencies that stand in headings.
pub(super) const CURRENCIES: [&str; 32] = [
    "EUR", "USD", "GBP", "CHF", "PLN", "SEK", "NOK", "DKK", "CZK", "HUF", "RON", "BGN", "TRY",
    "JPY", "CNY", "CAD", "AUD", "NZD", "INR", "BRL", "MXN", "ZAR", "AED", "SAR", "ILS", "SGD",
    "HKD", "KRW", "THB", "UAH", "ISK", "KWD",
];

impl Heading {
    /// Reads the last step of a path that is a name.
    pub(super) fn of(path: &str) -> Self {
        let steps = steps(path);
        let mut steps = steps.iter().rev().filter(|step| *step != "#text");
        let mut heading = Self::read(steps.next().map_or("", String::as_str));
        // `dimensions_mm.width`; a single letter may be anything.
        let around = steps.next().map(|step| Self::read(step));
        let named = around.filter(|around| {
            let last = around.words.rsplit_once('_');
            last.is_some_and(|(_, last)| last.len() > 1)
        });
        if heading.unit.is_none() && heading.currency.is_none() {
            heading.unit = named.and_then(|around| around.unit);
        }
        heading
    }

    /// Reads a name.
    pub(super) fn read(name: &str) -> Self {
        let mut heading = Self::default();
        let name = without_prefix(name);
        let (name, bracket) = bracket(name);
        if let Some(bracket) = bracket {
            heading.unit = unit(bracket);
            heading.currency = currency(bracket);
            heading.language = is_language(bracket).then(|| bracket.to_owned());
        }
        let is_said =
            heading.unit.is_some() || heading.currency.is_some() || heading.language.is_some();
        let rest = match bracket {
            Some(bracket) if !is_said && !bracket.contains('.') => format!("{name} {bracket}"),
            _ => name.to_owned(),
        };
        let rest = heading.without_language(&rest);
        heading.words = match unit_at_end(&rest) {
            Some((before, unit)) => format!("{}_{unit}", words(before)),
            None => words(&rest),
        };
        if let Some((_, code)) = CURRENCY_SIGNS.iter().find(|(sign, _)| rest.contains(sign)) {
            heading.currency = Some((*code).to_owned());
        }
        heading.take_last_word();
        let first = heading.words.split_once('_');
        let first = first.map(|(code, rest)| (code.to_uppercase(), rest.to_owned()));
        if let Some((code, rest)) = first.filter(|(code, _)| CURRENCIES.contains(&code.as_str())) {
            heading.currency = Some(code);
            heading.words = rest;
        }
        heading
    }

    /// Cuts off the language, and what follows it: `description-en_US-mobile`.
    fn without_language(&mut self, name: &str) -> String {
        let pieces: Vec<&str> = name.split('-').collect();
        let at = pieces.iter().skip(1).position(|piece| is_locale(piece));
        let Some(at) = at else {
            return name.to_owned();
        };
        self.language = Some(pieces[at + 1].to_owned());
        pieces[..=at].join("-")
    }

    /// Cuts off a last word that is a currency or a unit.
    fn take_last_word(&mut self) {
        let Some((stem, last)) = self.words.rsplit_once('_') else {
            return;
        };
        let code = last.to_uppercase();
        if CURRENCIES.contains(&code.as_str()) {
            self.currency = Some(code);
            self.words = stem.strip_suffix("_in").unwrap_or(stem).to_owned();
        } else if LANGUAGES.contains(&last) {
            self.language = Some(last.to_owned());
            self.words = stem.to_owned();
        } else if let Some((_, unit)) = UNITS.iter().find(|(word, _)| *word == last) {
            // It stays a word, too: whether it is a unit depends on the values.
            self.unit = Some((*unit).to_owned());
        }
    }

    /// The words without a last one that is a unit, and without `value` there.
    pub(super) fn without_unit(&self) -> &str {
        let words = match self.words.rsplit_once('_') {
            Some((stem, last)) if UNITS.iter().any(|(word, _)| *word == last) => {
                stem.strip_suffix("_in").unwrap_or(stem)
            }
            _ => &self.words,
        };
        words.strip_suffix("_value").unwrap_or(words)
    }
}

/// The steps of a path without the signs for lists; keys in quotation marks are one step.
pub(super) fn steps(path: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for letter in path.chars() {
        match letter {
            '\\' if quoted && !escaped => {
                escaped = true;
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            '.' if !quoted => steps.push(String::new()),
            '[' | ']' if !quoted => {}
            letter => steps.last_mut().expect("there is one").push(letter),
        }
        escaped = false;
    }
    steps
}

/// A name without the sign of attributes and the prefix of a namespace.
fn without_prefix(name: &str) -> &str {
    let name = name.strip_prefix('@').unwrap_or(name);
    match name.split_once(':') {
        Some((prefix, rest))
            if !rest.trim().is_empty()
                && !rest.starts_with(' ')
                && prefix.chars().all(|c| c.is_alphanumeric() || c == '_') =>
        {
            rest
        }
        _ => name,
    }
}

/// A name and what stands in brackets at its end.
fn bracket(name: &str) -> (&str, Option<&str>) {
    let name = name.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        let inside = name.strip_suffix(close);
        if let Some((before, inside)) = inside.and_then(|inside| inside.rsplit_once(open))
            && (before.ends_with(' ') || (!before.is_empty() && is_language(inside)))
        {
            return (before.trim(), Some(inside.trim()));
        }
    }
    (name, None)
}

fn unit(text: &str) -> Option<String> {
    let words = fold(text);
    let word = UNITS.iter().find(|(word, _)| *word == words);
    let known = UnitTable::built_in();
    word.map(|(_, unit)| (*unit).to_owned())
        .or_else(|| Some(known.find(text)?.id.clone()))
}

fn currency(text: &str) -> Option<String> {
    let sign = CURRENCY_SIGNS.iter().find(|(sign, _)| *sign == text);
    let code = text.to_uppercase();
    sign.map(|(_, code)| (*code).to_owned()).or_else(|| {
        (Currency::parse(&code).is_ok() && CURRENCIES.contains(&code.as_str())).then_some(code)
    })
}

/// A name and the unit that is its last word, in small letters, as far as the sign before it tells the word
/// from its letters: `level in dB`.
fn unit_at_end(name: &str) -> Option<(&str, String)> {
    let (before, last) = name.trim().rsplit_once([' ', '_', '/', ','])?;
    let word = last.to_lowercase();
    let is_unit = UNITS.iter().any(|(known, _)| *known == word);
    (is_unit && !before.trim().is_empty()).then_some((before, word))
}

/// The languages of headings. Some that are words of other meanings are left out.
const LANGUAGES: [&str; 12] = [
    "en", "de", "fr", "es", "it", "nl", "pl", "sv", "da", "cs", "fi", "hu",
];

/// The names of languages in headings: `Name (English)`.
const LANGUAGE_NAMES: [&str; 10] = [
    "english", "german", "deutsch", "french", "francais", "spanish", "espanol", "italian",
    "italiano", "polski",
];

/// Returns true for a language, also with its country in any form: `en`, `en-gb`, `EN_US`.
fn is_language(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    if LANGUAGE_NAMES.contains(&text.as_str()) {
        return true;
    }
    let (language, country) = text.split_once(['-', '_']).unwrap_or((&text, "xx"));
    LANGUAGES.contains(&language) && country.len() == 2 && country.chars().all(char::is_alphabetic)
}

/// Returns true for a language with its country: `en_US`.
fn is_locale(text: &str) -> bool {
    let is =
        |text: &str, fits: fn(&char) -> bool| text.len() == 2 && text.chars().all(|c| fits(&c));
    text.split_once('_').is_some_and(|(language, country)| {
        is(language, char::is_ascii_lowercase) && is(country, char::is_ascii_uppercase)
    })
}

/// A name as words in small letters, whatever else it says.
pub(super) fn words(name: &str) -> String {
    let mut words = String::new();
    let mut small = false;
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            if letter.is_uppercase() && small {
                words.push('_');
            }
            words.extend(letter.to_lowercase());
        } else if !words.is_empty() && !words.ends_with('_') {
            words.push('_');
        }
        small = letter.is_lowercase();
    }
    fold(words.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(path: &str, words: &str, said: [Option<&str>; 3]) {
        let heading = Heading::of(path);
        let found = [
            heading.unit.as_deref(),
            heading.currency.as_deref(),
            heading.language.as_deref(),
        ];
        assert_eq!((heading.words.as_str(), found), (words, said), "{path}");
    }

    #[test]
    fn headings_are_words_a_unit_a_currency_and_a_language() {
        reads("offers[].imageURL", "image_url", [None; 3]);
        reads("\"g:price\"", "price", [None; 3]);
        reads("a.@Name", "name", [None; 3]);
        reads("NAMES[].#text", "names", [None; 3]);
        reads("Weight (kg)", "weight", [Some("kg"), None, None]);
        reads("\"Größe [mm]\"", "grosse", [Some("mm"), None, None]);
        reads(
            "altitude_mean_meters",
            "altitude_mean_meters",
            [Some("m"), None, None],
        );
        reads("price-EUR", "price", [None, Some("EUR"), None]);
        reads("Preis in CHF", "preis", [None, Some("CHF"), None]);
        reads("Preis (€)", "preis", [None, Some("EUR"), None]);
        reads("Body (HTML)", "body_html", [None; 3]);
        reads(
            "\"Material (product.metafields.custom.material)\"",
            "material",
            [None; 3],
        );
        reads(
            "description-de_DE-ecommerce",
            "description",
            [None, None, Some("de_DE")],
        );
        reads("Attribute 1 value(s)", "attribute_1_value_s", [None; 3]);
        reads("USD Unit Price", "unit_price", [None, Some("USD"), None]);
        reads("Name (English)", "name", [None, None, Some("English")]);
        reads("name(en-gb)", "name", [None, None, Some("en-gb")]);
        reads("Bezeichnung (DE)", "bezeichnung", [None, None, Some("DE")]);
        reads("name_de", "name", [None, None, Some("de")]);
        reads(
            "Noise level in dB",
            "noise_level_in_db",
            [Some("dB"), None, None],
        );
        reads("batteryMAh", "battery_mah", [Some("mAh"), None, None]);
        reads("dimensions_mm.width", "width", [Some("mm"), None, None]);
        reads("plan_b.width", "width", [None; 3]);
        assert_eq!(Heading::of("Länge in mm").without_unit(), "lange");
    }
}
