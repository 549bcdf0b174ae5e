//! Identifiers of products that are the same everywhere: GTINs, and part numbers of manufacturers.

use vitrine_model::product::{Details, Product};
use vitrine_model::spec::{Dictionary, SpecValue};

/// The spec keys that hold GTINs, or their aliases.
pub const GTIN_KEYS: [&str; 4] = ["gtin", "ean", "upc", "isbn"];
/// The spec key that holds the manufacturer's part number, or its alias.
pub const MPN_KEY: &str = "mpn";
/// The maximum length of a part number, in characters.
const MAX_MPN_CHARACTERS: usize = 70;

/// The identifiers of a product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identifiers {
    /// Valid GTINs, without repetition.
    pub(crate) gtins: Vec<String>,
    /// Part numbers.
    pub(crate) mpns: Vec<String>,
    /// Whether a GTIN was not valid, and is left out.
    pub(crate) invalid: bool,
}

impl Identifiers {
    /// Reads the identifiers of a product.
    pub(crate) fn of(product: &Product, dictionary: &Dictionary) -> Self {
        let mut found = Self::default();
        for key in GTIN_KEYS {
            for code in values(product, dictionary, key) {
                found.add_gtin(&code);
            }
        }
        if let Details::Book(book) = &product.details
            && let Some(isbn) = &book.isbn
        {
            found.add_gtin(isbn);
        }
        let mpns = values(product, dictionary, MPN_KEY).into_iter();
        found.mpns = mpns
            .filter(|mpn| mpn.chars().count() <= MAX_MPN_CHARACTERS)
            .collect();
        found
    }

    fn add_gtin(&mut self, code: &str) {
        match gtin(code) {
            None => self.invalid = true,
            Some(gtin) if !self.gtins.contains(&gtin) => self.gtins.push(gtin),
            Some(_) => {}
        }
    }
}

/// The values of a key, under any of its names.
fn values(product: &Product, dictionary: &Dictionary, key: &str) -> Vec<String> {
    let Some(entry) = dictionary.get(key) else {
        return Vec::new();
    };
    let specs = product.specs.iter();
    let own = specs.filter(|spec| entry.names().any(|name| name == spec.key));
    let text = own.filter_map(|spec| match &spec.value {
        SpecValue::Text(text) => Some(text.trim().to_owned()),
        SpecValue::Number(_) => Some(spec.value.display()),
        _ => None,
    });
    text.filter(|text| !text.is_empty()).collect()
}

/// Reads a GTIN of 8, 12, 13 or 14 digits, or an ISBN of 10 characters, which becomes one of 13.
/// Blanks and hyphens are ignored. Returns `None` if the check digit is wrong.
#[must_use]
pub fn gtin(text: &str) -> Option<String> {
    let code: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    match (code.len(), digits) {
        (8 | 12 | 13 | 14, digits) if digits == code.len() => {
            (check_digit(&code[..code.len() - 1]) == code[code.len() - 1..]).then_some(code)
        }
        (10, 9 | 10) if is_isbn_10(&code) => {
            let body = format!("978{}", &code[..9]);
            let check = check_digit(&body);
            Some(body + &check)
        }
        _ => None,
    }
}

/// The check digit after these digits.
fn check_digit(digits: &str) -> String {
    // Counted from the right, digits have the weights 3, 1, 3, 1 …
    let weighted = digits.bytes().rev().zip([3_u32, 1].into_iter().cycle());
    let sum: u32 = weighted
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    ((10 - sum % 10) % 10).to_string()
}

fn is_isbn_10(code: &str) -> bool {
    let value = |(at, byte): (usize, u8)| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'X' | b'x' if at == 9 => Some(10),
        _ => None,
    };
    let values: Option<Vec<u32>> = code.bytes().enumerate().map(value).collect();
    values.is_some_and(|values| {
        let weighted = values.iter().zip((1..=10).rev());
        weighted.map(|(value, weight)| value * weight).sum::<u32>() % 11 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::gtin;

    #[test]
    fn valid_codes_are_read() {
        for (text, code) in [
            ("4006381333931", "4006381333931"),
            ("400-6381 333931", "4006381333931"),
            ("96385074", "96385074"),
            ("036000291452", "036000291452"),
            ("10614141543219", "10614141543219"),
            ("0-306-40615-2", "9780306406157"),
            ("080442957X", "9780804429573"),
        ] {
            assert_eq!(gtin(text).as_deref(), Some(code), "{text}");
        }
    }

    #[test]
    fn other_codes_are_none() {
        for text in [
            "",
            "4006381333932",
            "123",
            "4006381x33931",
            "0-306-40615-3",
            "X806442957",
            "ééééé",
        ] {
            assert_eq!(gtin(text), None, "{text}");
        }
    }
}
