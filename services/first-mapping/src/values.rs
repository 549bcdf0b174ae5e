//! What the values of a column look like: numbers and how they are written, amounts of money,
//! quantities, yes and no, addresses.

use vitrine_model::text::fold;
use vitrine_model::unit::{Unit, UnitTable};

use super::heading::{CURRENCIES, CURRENCY_SIGNS};

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberForm {
    pub(super) decimal: char,
    pub(super) thousands: Option<char>,
    /// Whether the values could be read otherwise: is 1,800 more or less than 2?
    pub(super) unsure: bool,
}

impl NumberForm {
    /// How programs write numbers.
    pub(super) const PLAIN: Self = Self {
        decimal: '.',
        thousands: None,
        unsure: false,
    };
}

/// What the signs in numbers are for, as far as the values show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// The sign before decimals.
    decimal: Option<char>,
    /// The sign between groups of three digits.
    thousands: Option<char>,
    /// A sign that may be either.
    either: Option<char>,
}

impl Signs {
    /// What the numbers of a column show; `None` if they contradict one another, or are no numbers.
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v str>) -> Option<Self> {
        let mut signs = Self::default();
        let mut any = false;
        for value in values {
            let of_value = Self::of_number(value)?;
            signs = signs.with(of_value)?;
            any = true;
        }
        any.then_some(signs)
    }

    fn of_number(value: &str) -> Option<Self> {
        let digits = value.trim().trim_start_matches(['-', '+', '\u{2212}']);
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',')
            && digits.ends_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || is_sign(c));
        if !is_number {
            return None;
        }
        let found: Vec<(usize, char)> =
            digits.char_indices().filter(|(_, c)| is_sign(*c)).collect();
        let Some((at, last)) = found.last().copied() else {
            return Some(Self::default());
        };
        let others: Vec<char> = found[..found.len() - 1].iter().map(|(_, c)| *c).collect();
        let decimals = digits.len() - at - last.len_utf8();
        let signs = if others.iter().any(|other| *other != last) {
            let thousands = others.first().copied();
            (!others.contains(&last)).then_some(Self {
                decimal: Some(last),
                thousands,
                either: None,
            })?
        } else if !others.is_empty() || !matches!(last, '.' | ',') {
            Self {
                thousands: Some(last),
                ..Self::default()
            }
        } else if decimals == 3 && (1..=3).contains(&at) && !digits.starts_with('0') {
            Self {
                either: Some(last),
                ..Self::default()
            }
        } else {
            Self {
                decimal: Some(last),
                ..Self::default()
            }
        };
        signs.groups(digits).then_some(signs)
    }

    /// Whether the groups of a number have three digits.
    fn groups(&self, digits: &str) -> bool {
        let Some(thousands) = self.thousands else {
            return true;
        };
        let whole = match self.decimal {
            Some(decimal) => digits
                .rsplit_once(decimal)
                .map_or(digits, |(whole, _)| whole),
            None => digits,
        };
        whole.split(thousands).skip(1).all(|group| group.len() == 3)
    }

    /// These signs, and those of other values; `None` if they contradict each other.
    pub(super) fn with(self, other: Self) -> Option<Self> {
        let same = |one: Option<char>, two: Option<char>| match (one, two) {
            (Some(one), Some(two)) if one != two => None,
            (one, two) => Some(one.or(two)),
        };
        let decimal = same(self.decimal, other.decimal)?;
        let thousands = same(self.thousands, other.thousands)?;
        let either = same(self.either, other.either)?;
        let is_both = decimal.is_some() && decimal == thousands;
        (!is_both).then_some(Self {
            decimal,
            thousands,
            either,
        })
    }

    /// Returns true if they say which sign stands before decimals, or between groups.
    pub(super) fn are_sure(&self) -> bool {
        self.decimal.is_some() || self.thousands.is_some()
    }

    /// How the numbers are written; other columns of the file may show what these leave open.
    pub(super) fn form(&self, file: &Self) -> NumberForm {
        let own = self.decimal.or_else(|| self.thousands.map(other));
        let of_file = file.decimal.or_else(|| file.thousands.map(other));
        let unsure = self.either.is_some() && own.is_none() && of_file.is_none();
        // Programs write a point before decimals; people write 1,800 for a number above a thousand.
        let decimal = own
            .or(of_file.filter(|_| self.either.is_some()))
            .unwrap_or('.');
        let is_group = |sign: &char| *sign != decimal;
        NumberForm {
            decimal,
            thousands: self.thousands.or(self.either.filter(is_group)),
            unsure,
        }
    }
}

fn is_sign(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | '\'' | '\u{2019}' | ' ' | '\u{a0}' | '\u{202f}'
    )
}

/// The sign before decimals where this one stands between groups.
fn other(thousands: char) -> char {
    if thousands == '.' { ',' } else { '.' }
}

/// An amount of money with its currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Amount<'v> {
    pub(super) number: &'v str,
    /// The code, or the sign, as it is written.
    pub(super) sign: &'v str,
    pub(super) currency: &'static str,
    /// Whether the currency stands before the number.
    pub(super) before: bool,
}

impl<'v> Amount<'v> {
    /// Reads a text such as `39.90 EUR` or `€ 39,90`.
    pub(super) fn read(text: &'v str) -> Option<Self> {
        let text = text.trim();
        let codes = CURRENCIES.iter().map(|code| (*code, *code));
        let mut signs = codes.chain(CURRENCY_SIGNS.iter().copied().rev_by_length());
        signs.find_map(|(sign, currency)| {
            let after = text.strip_suffix(sign).map(|number| (number, false));
            let (number, before) = after.or_else(|| Some((text.strip_prefix(sign)?, true)))?;
            let at = if before { 0 } else { text.len() - sign.len() };
            let number = number.trim();
            Signs::of_number(number)?;
            Some(Self {
                number,
                sign: &text[at..at + sign.len()],
                currency,
                before,
            })
        })
    }
}

/// Orders signs so that none hides a longer one.
trait ByLength: Iterator<Item = (&'static str, &'static str)> + Sized {
    fn rev_by_length(self) -> std::vec::IntoIter<(&'static str, &'static str)> {
        let mut all: Vec<_> = self.collect();
        all.sort_by_key(|(sign, _)| std::cmp::Reverse(sign.len()));
        all.into_iter()
    }
}

impl<I: Iterator<Item = (&'static str, &'static str)>> ByLength for I {}

/// Words for yes and no.
const BOOLEANS: [(&str, &str); 16] = [
    ("true", "false"),
    ("yes", "no"),
    ("ja", "nein"),
    ("oui", "non"),
    ("si", "no"),
    ("ja", "nee"),
    ("tak", "nie"),
    ("wahr", "falsch"),
    ("vrai", "faux"),
    ("verdadero", "falso"),
    ("vero", "falso"),
    ("y", "n"),
    ("x", "-"),
    ("\u{2713}", "\u{2717}"),
    ("\u{2714}", "\u{2718}"),
    ("\u{2611}", "\u{2610}"),
];

/// The words for yes and no that the values are, in small letters.
pub(super) fn booleans<'v>(values: impl Iterator<Item = &'v str>) -> Option<[Vec<String>; 2]> {
    let values: Vec<&str> = values.collect();
    let of_pair = |(yes, no): &&(&str, &str)| {
        let mut folded = values.iter().map(|value| fold(value));
        folded.all(|value| value == *yes || value == *no)
    };
    let (yes, no) = BOOLEANS
        .iter()
        .find(of_pair)
        .filter(|_| !values.is_empty())?;
    // The words of the pair are known, whichever of them the rows have.
    let mut words = [vec![(*yes).to_owned()], vec![(*no).to_owned()]];
    for value in values.iter().map(|value| value.to_lowercase()) {
        let side = usize::from(fold(&value) == *no);
        if !words[side].contains(&value) {
            words[side].push(value);
        }
    }
    Some(words)
}

/// Returns true if all values are numbers with units that measure the same; some may have a comma.
pub(super) fn quantities<'v>(values: impl Iterator<Item = &'v str>, units: &UnitTable) -> bool {
    let mut dimension: Option<String> = None;
    let mut any = false;
    for value in values {
        any = true;
        let plain = without_groups(value);
        let Some(unit) = unit_of(&plain, units) else {
            return false;
        };
        if dimension.get_or_insert_with(|| unit.dimension.clone()) != &unit.dimension {
            return false;
        }
    }
    any
}

/// The unit of a quantity: what follows its number.
fn unit_of<'t>(quantity: &str, units: &'t UnitTable) -> Option<&'t Unit> {
    let number = number_of(quantity);
    number.parse::<f64>().ok()?;
    let (_, unit) = quantity.split_once(number)?;
    units.find_in_feed(unit.trim())
}

/// The number at the beginning of a quantity.
pub(super) fn number_of(quantity: &str) -> &str {
    let end = quantity
        .rfind(|c: char| c.is_ascii_digit())
        .map_or(0, |at| at + 1);
    let first = quantity.find(|c: char| c.is_alphabetic()).unwrap_or(end);
    quantity[..end.min(first)].trim()
}

/// A quantity with a point before its decimals.
fn without_groups(value: &str) -> String {
    let number = number_of(value);
    let Some(signs) = Signs::of_number(number) else {
        return value.to_owned();
    };
    let form = signs.form(&Signs::default());
    let plain: String = number
        .chars()
        .filter(|c| Some(*c) != form.thousands)
        .map(|c| if c == form.decimal { '.' } else { c })
        .collect();
    value.replacen(number, &plain, 1)
}

/// What separates several addresses in a text.
pub(super) fn separator_of_addresses(text: &str) -> Option<&'static str> {
    let second = text.match_indices("http").nth(1)?.0;
    let before = text[..second].trim_end();
    let signs = [",", ";", "|", "\n"];
    let sign = signs.into_iter().find(|sign| before.ends_with(sign));
    sign.or((before.len() < second).then_some(" "))
}

/// Returns true for an address of e-mail.
pub(super) fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        let plain = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        plain(name) && plain(host) && host.contains('.') && !host.contains('/')
    })
}

/// Returns true for an IP address.
pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// Returns true for a text that ends with the name of a picture.
pub(super) fn is_picture(text: &str) -> bool {
    let text = text.to_lowercase();
    let ends = [".jpg", ".jpeg", ".png", ".webp", ".gif"];
    ends.iter().any(|end| text.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(values: &[&str], file: &[&str]) -> Option<(char, Option<char>, bool)> {
        let file = Signs::of(file.iter().copied()).unwrap_or_default();
        let signs = Signs::of(values.iter().copied())?;
        let form = signs.form(&file);
        Some((form.decimal, form.thousands, form.unsure))
    }

    #[test]
    fn numbers_show_what_their_signs_are_for() {
        assert_eq!(
            form(&["1,299.00", "89.90"], &[]),
            Some(('.', Some(','), false))
        );
        assert_eq!(
            form(&["1.299,00", "89,90"], &[]),
            Some((',', Some('.'), false))
        );
        assert_eq!(
            form(&["1,800", "750"], &["12.50"]),
            Some(('.', Some(','), false))
        );
        assert_eq!(
            form(&["1.800", "750"], &["12,50"]),
            Some((',', Some('.'), false))
        );
        assert_eq!(form(&["1,800", "750"], &[]), Some(('.', Some(','), true)));
        assert_eq!(form(&["1.800", "750"], &[]), Some(('.', None, true)));
        assert_eq!(form(&["1,800", "0,75"], &[]), Some((',', None, false)));
        assert_eq!(form(&["1 234 567"], &[]), Some(('.', Some(' '), false)));
        assert_eq!(form(&["1.2.3"], &[]), None, "groups have three digits");
        assert_eq!(form(&["1,5", "1.5"], &[]), None);
        assert_eq!(form(&["a"], &[]), None);
    }

    #[test]
    fn amounts_have_a_currency_before_or_after_them() {
        let read =
            |text| Amount::read(text).map(|amount| (amount.number, amount.currency, amount.before));
        assert_eq!(read("39.90 EUR"), Some(("39.90", "EUR", false)));
        assert_eq!(read("€ 1.299,00"), Some(("1.299,00", "EUR", true)));
        assert_eq!(read("US$5"), Some(("5", "USD", true)));
        assert_eq!(read("39.90"), None);
        assert_eq!(read("EUR"), None);
    }

    #[test]
    fn quantities_measure_the_same() {
        let units = UnitTable::built_in();
        assert!(quantities(["1.00 kg", "300 g"].into_iter(), &units));
        assert!(quantities(["1,5 kg"].into_iter(), &units));
        assert!(!quantities(["1 kg", "5 W"].into_iter(), &units));
        assert!(!quantities(["1", "5 W"].into_iter(), &units));
        assert!(!quantities([].into_iter(), &units));
    }

    #[test]
    fn several_addresses_have_a_separator() {
        let two = |sign: &str| format!("https://e.org/1.jpg{sign}https://e.org/2.jpg");
        for (sign, found) in [(", ", ","), ("|", "|"), (" ", " "), (";", ";")] {
            assert_eq!(separator_of_addresses(&two(sign)), Some(found));
        }
        assert_eq!(separator_of_addresses("https://e.org/1,2.jpg"), None);
    }
}
