//! Keys and labels of the names that feeds have for specs.

use super::{MAX_KEY_BYTES, check_key, label};
use crate::import::digest;
use crate::text::{collapse, fold, is_ignorable, is_zero_width};

/// What a key begins with that would begin with a digit, or have no letter.
const PREFIX: &str = "spec";
/// The length of the number that tells apart names whose letters a key cannot have.
const DIGEST_CHARACTERS: usize = 8;
/// The maximum length of a label, in characters.
const MAX_LABEL_CHARACTERS: usize = 200;

/// Derives a key from the name of a spec in a feed: `Form Factor` and `formFactor` are `form_factor`,
/// `C++` is `c_plus_plus`, `C#` is `c_sharp`, `4G` is `spec_4g`.
///
/// Letters of other scripts cannot be in a key. Names that have some get a number that follows from
/// the name: `Цвет` is `spec_` and eight letters and digits, the same in each feed. Names without a
/// letter or digit have no key.
#[must_use]
pub fn key_of_name(name: &str) -> Option<String> {
    let spoken = with_signs_spoken(&separated(name));
    let folded = fold(&spoken);
    let folded = folded.as_str();
    let latin = latin(folded);
    let words = latin.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_incomplete = latin.contains(|c: char| !c.is_ascii() && c.is_alphanumeric());
    if words.is_empty() && !is_incomplete {
        return None;
    }
    let begins_with_letter = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    if !words.first().is_some_and(begins_with_letter) {
        words.insert(0, PREFIX);
    }
    let mut key = words.join("_");
    if is_incomplete || key.len() > MAX_KEY_BYTES {
        key = numbered(&key, folded);
    }
    check_key(&key).is_ok().then_some(key)
}

/// The key, shortened if necessary, with a number that follows from the name.
fn numbered(key: &str, name: &str) -> String {
    let digest = digest(&name);
    let number = &digest[..DIGEST_CHARACTERS];
    let kept = &key[..key.len().min(MAX_KEY_BYTES - DIGEST_CHARACTERS - 1)];
    format!("{}_{number}", kept.trim_end_matches('_'))
}

/// Separates the words of `formFactor` and `isOEM`.
fn separated(name: &str) -> String {
    let letters: Vec<char> = name.chars().filter(|c| !is_zero_width(*c)).collect();
    let mut out = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        if at > 0 && starts_word(letters[at - 1], *letter, letters.get(at + 1)) {
            out.push(' ');
        }
        out.push(*letter);
    }
    out
}

fn starts_word(before: char, letter: char, after: Option<&char>) -> bool {
    let follows_small = before.is_lowercase() && letter.is_uppercase();
    let ends_capitals = before.is_uppercase()
        && letter.is_uppercase()
        && after.is_some_and(|after| after.is_lowercase());
    follows_small || ends_capitals
}

/// Replaces signs that tell names apart by words: those at the end of a word, as in `C++`, `A+` and
/// `C#`, and `№`. A sign between two words, as in `HDMI+USB`, only separates them.
fn with_signs_spoken(name: &str) -> String {
    let is_sign = |c: char| matches!(c, '+' | '#');
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(is_sign) {
        let (before, from) = rest.split_at(at);
        let (signs, after) = from.split_at(from.find(|c| !is_sign(c)).unwrap_or(from.len()));
        out.push_str(before);
        let ends_word =
            out.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        let spoken = signs.chars().filter(|_| ends_word);
        out.extend(spoken.map(|sign| if sign == '+' { " plus" } else { " sharp" }));
        out.push(' ');
        rest = after;
    }
    out.push_str(rest);
    out.replace('№', " number ")
}

/// Folded text with the Latin letters that have no accent to remove, and the signs of micro and ohm,
/// in ASCII.
fn latin(folded: &str) -> String {
    let mut out = String::with_capacity(folded.len());
    for c in folded.chars() {
        match c {
            'ø' => out.push('o'),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'ł' => out.push('l'),
            'đ' | 'ð' => out.push('d'),
            'ħ' => out.push('h'),
            'ı' => out.push('i'),
            'þ' => out.push_str("th"),
            'ŧ' => out.push('t'),
            'μ' => out.push('u'),
            'ω' => out.push_str("ohm"),
            other => out.push(other),
        }
    }
    out
}

/// The label of a new key: its name in the feed, if that is written for people, such as `Couleur (FR)`
/// and `Höhe`; otherwise what follows from the key, as for `screen_size` and `screenSize`.
#[must_use]
pub fn label_of_name(name: &str, key: &str) -> String {
    // Joiners stay: they are part of words in some scripts.
    let visible: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    let name = collapse(&visible);
    let fits = (1..=MAX_LABEL_CHARACTERS).contains(&name.chars().count());
    if !fits || is_of_a_program(&name) {
        return label(key);
    }
    let mut letters = name.chars();
    let first = letters
        .next()
        .filter(|_| name.chars().all(|c| !c.is_uppercase()));
    match first {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => name,
    }
}

/// Whether a name is written for programs: without blanks, with `_` or a dot, or with a capital after
/// small letters.
fn is_of_a_program(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let has_hump = letters
        .windows(3)
        .any(|part| part[0].is_lowercase() && part[1].is_lowercase() && part[2].is_uppercase());
    !name.contains(' ') && (name.contains(['_', '.', '/', '[', ':', '@']) || has_hump)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn key(name: &str) -> Option<String> {
        key_of_name(name)
    }

    #[test]
    fn names_become_keys() {
        for (name, expected) in [
            ("Form Factor", "form_factor"),
            ("horizontalRes", "horizontal_res"),
            ("isOEM", "is_oem"),
            ("USBPorts", "usb_ports"),
            ("Größe (cm)", "grosse_cm"),
            ("Höhe", "hohe"),
            ("Højde", "hojde"),
            ("Size (µm)", "size_um"),
            ("Impedance, Ω", "impedance_ohm"),
            ("C", "c"),
            ("C++", "c_plus_plus"),
            ("C#", "c_sharp"),
            ("F#/Gb", "f_sharp_gb"),
            ("A+", "a_plus"),
            ("A++ (2010)", "a_plus_plus_2010"),
            ("HDMI+USB", "hdmi_usb"),
            ("Wi-Fi + Bluetooth", "wi_fi_bluetooth"),
            ("#1", "spec_1"),
            ("№", "number"),
            ("4G", "spec_4g"),
            ("9 volt", "spec_9_volt"),
            ("64-bit computing", "spec_64_bit_computing"),
            ("__proto__", "proto"),
            ("$set", "set"),
            ("a.b", "a_b"),
            ("Color\u{200b}", "color"),
        ] {
            assert_eq!(key(name).as_deref(), Some(expected), "{name}");
        }
        for name in ["", " ", "$", "🙂", "---", "++", "\u{200b}"] {
            assert_eq!(key(name), None, "{name:?}");
        }
    }

    #[test]
    fn names_in_other_scripts_have_numbered_keys() {
        let names = [
            "Цвет",
            "Вес",
            "颜色",
            "重量",
            "Χρώμα",
            "اللون",
            "Размер EU",
            "Вес EU",
            "EU",
            "Ø Цвет",
        ];
        let keys: HashSet<String> = names.iter().map(|name| key(name).unwrap()).collect();
        assert_eq!(keys.len(), names.len(), "{keys:?}");
        assert_eq!(
            key("Цвет"),
            key(" ЦВЕТ"),
            "as other names, whatever the case"
        );
        // The number follows from the name, so that all feeds and releases have the same.
        assert_eq!(key("Цвет").as_deref(), Some("spec_6a12f732"));
        assert_eq!(key("Размер EU").as_deref(), Some("eu_2dde4aa6"));
    }

    #[test]
    fn long_names_are_told_apart_by_a_number() {
        let long = "a very long name of a spec that goes on and on until it does not fit any more";
        let (one, other) = (
            key(&format!("{long} (1)")).unwrap(),
            key(&format!("{long} (2)")).unwrap(),
        );
        assert!(one != other && one.len() <= MAX_KEY_BYTES, "{one} {other}");
        assert!(
            one.starts_with("a_very_long_name_of_a_spec_that_goes_on_and_on_until_i"),
            "{one}"
        );
    }

    #[test]
    fn labels_are_the_names_that_people_wrote() {
        let label = |name: &str| label_of_name(name, &key(name).unwrap_or_default());
        for name in [
            "Höhe",
            "Fläche",
            "Größe",
            "Couleur (FR)",
            "Цвет",
            "颜色",
            "C++",
            "USB-C",
            "pH-Wert",
            "9 volt AC",
        ] {
            assert_eq!(label(name), name);
        }
        for (name, expected) in [
            ("weight", "Weight"),
            ("höhe", "Höhe"),
            ("net weight", "Net weight"),
            ("screen_size", "Screen size"),
            ("screenSize", "Screen size"),
            ("isOEM", "Is oem"),
            ("dimensions.width", "Dimensions width"),
            (" Net\u{a0} weight\u{200b} ", "Net weight"),
        ] {
            assert_eq!(label(name), expected, "{name}");
        }
        assert_eq!(label_of_name(&"x ".repeat(150), "x"), "X");
        assert_eq!(label_of_name("\u{200b}", "color"), "Color");
    }

    proptest! {
        #[test]
        fn every_name_with_a_letter_or_digit_has_a_valid_key(name in ".{0,90}") {
            let has_letter = fold(&name).contains(char::is_alphanumeric);
            match key_of_name(&name) {
                Some(key) => prop_assert!(check_key(&key).is_ok(), "{}", key),
                None => prop_assert!(!has_letter, "{:?}", name),
            }
            let label = label_of_name(&name, "color");
            prop_assert!(!label.is_empty() && label.chars().count() <= MAX_LABEL_CHARACTERS);
        }

        #[test]
        fn names_that_differ_by_more_than_case_have_different_keys(
            one in "[A-Ca-c0-2Цв漢]{1,4}[+#]{0,3}", other in "[A-Ca-c0-2Цв漢]{1,4}[+#]{0,3}"
        ) {
            let words = |name: &str| separated(name).to_lowercase();
            let same = words(&one) == words(&other);
            prop_assert_eq!(key_of_name(&one) == key_of_name(&other), same, "{} {}", one, other);
        }
    }
}
