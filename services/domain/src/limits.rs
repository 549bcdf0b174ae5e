//! Limits of the fields of products and related data. They apply to imports and mutations alike;
//! each reports the path in its own input.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use vitrine_model::address::web_address;
use vitrine_model::code::{check_article_number, check_id};
use vitrine_model::overrides::Override;
use vitrine_model::product::{Details, Kind, MAX_KIND_BYTES, MAX_NAME_CHARACTERS};
use vitrine_model::product::{MAX_MEDIA, Media, Product};
use vitrine_model::search::MAX_KEYWORD_TEXT_BYTES;
use vitrine_model::spec::{MAX_SPECS, Spec, SpecValue};
use vitrine_model::text::is_visible;
use vitrine_storage::products::Encoding;

/// The maximum length of a brand, supplier or category name, in characters.
pub(crate) const MAX_LABEL_CHARACTERS: usize = 200;
/// The maximum number of products in a bundle.
pub(crate) const MAX_ITEMS: usize = 100;
/// The maximum quantity of a product in a bundle.
const MAX_QUANTITY: i32 = 10_000;
/// The maximum size of a product's editable part with what is derived from it, in bytes, so that
/// computed data always fits in the document.
const MAX_CONTENT_BYTES: usize = 40_000;
/// The maximum length of a name, in bytes; other short fields are no longer.
const MAX_NAME_BYTES: usize = 4 * MAX_NAME_CHARACTERS;
/// How many of the largest parts of a product an error names.
const MAX_NAMED_PARTS: usize = 3;

/// `Err` says what is wrong and what would be right.
pub(crate) type Checked = Result<(), String>;

/// Checks the length of a text without surrounding blanks.
pub(crate) fn text(text: &str, characters: RangeInclusive<usize>) -> Checked {
    let found = text.trim().chars().count();
    if !characters.contains(&found) {
        let (min, max) = (characters.start(), characters.end());
        return Err(format!("{found} characters; {min} to {max} are possible"));
    }
    ensure(!text.contains('\0'), || "holds a NUL character".to_owned())
}

/// Like [`text`], and requires a visible character. For mutations only: a feed is not refused for an
/// invisible text.
pub(crate) fn visible(given: &str, characters: RangeInclusive<usize>) -> Checked {
    text(given, characters)?;
    ensure(is_visible(given), || {
        "none of its characters is visible".to_owned()
    })
}

/// Checks an id that another system has given.
pub(crate) fn code(code: &str) -> Checked {
    check_id(code).map_err(|wrong| wrong.to_string())
}

/// Checks a stock-keeping unit, or the id of a product in another system.
pub(crate) fn article_number(number: &str) -> Checked {
    check_article_number(number).map_err(|wrong| wrong.to_string())
}

/// Checks the name of a kind.
pub(crate) fn kind(kind: &str) -> Checked {
    let letters = kind
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let fits = letters && (1..=MAX_KIND_BYTES).contains(&kind.len());
    ensure(fits, || {
        format!("a kind is 1 to {MAX_KIND_BYTES} lower-case letters, digits and underscores")
    })
}

/// Checks a slug.
pub(crate) fn slug(slug: &str) -> Checked {
    let right = vitrine_model::text::slug(slug);
    ensure(right.as_deref() == Some(slug), || {
        let form =
            "a slug is 1 to 80 lower-case letters and digits, words joined by single hyphens";
        let example = right.map_or_else(String::new, |right| format!("; for example {right}"));
        format!("{form}{example}")
    })
}

/// Checks the URL of a medium.
pub(crate) fn address(url: &str) -> Checked {
    web_address(url)
        .map_err(|wrong| wrong.to_string())
        .map(drop)
}

/// The media with the form of their addresses that all programs understand. Those that are not valid
/// stay as they are.
pub(crate) fn plain_media(media: &[Media]) -> Vec<Media> {
    let plain = |one: &Media| Media {
        url: web_address(&one.url).map_or_else(|_| one.url.clone(), Cow::into_owned),
        ..one.clone()
    };
    media.iter().map(plain).collect()
}

/// Checks the number of media.
pub(crate) fn media_count(count: usize) -> Checked {
    ensure(count <= MAX_MEDIA, || {
        format!("{count} media; a product may have {MAX_MEDIA}")
    })
}

/// Checks the number of specs.
pub(crate) fn spec_count(count: usize) -> Checked {
    ensure(count <= MAX_SPECS, || {
        format!("{count} specs; a product may have {MAX_SPECS}")
    })
}

/// Checks the number of products in a bundle and their quantities.
pub(crate) fn items(count: usize, mut quantities: impl Iterator<Item = i32>) -> Checked {
    let quantities = quantities.all(|quantity| self::quantity(quantity).is_ok());
    ensure(quantities && count <= MAX_ITEMS, || {
        format!("a bundle has at most {MAX_ITEMS} items, each 1 to 10,000 times")
    })
}

/// Checks the quantity of a product in a bundle.
pub(crate) fn quantity(quantity: i32) -> Checked {
    ensure((1..=MAX_QUANTITY).contains(&quantity), || {
        format!("{quantity} times; 1 to 10,000 are possible")
    })
}

/// Checks the size of a product's editable part with what is derived from it; an error names the
/// largest parts.
pub(crate) fn content(product: &Product, encoding: Encoding<'_>) -> Checked {
    if is_clearly_small(product) {
        return Ok(());
    }
    let bytes = encoding.content_bytes(product);
    ensure(bytes <= MAX_CONTENT_BYTES, || {
        let parts = encoding.content_parts(product);
        let parts: Vec<String> = parts
            .iter()
            .take(MAX_NAMED_PARTS)
            .map(|(name, bytes)| format!("{name} {}", grouped(*bytes)))
            .collect();
        format!(
            "the product takes {} bytes; {} are possible; largest: {}",
            grouped(bytes),
            grouped(MAX_CONTENT_BYTES),
            parts.join(", ")
        )
    })
}

/// Whether a product is far below the limit, by a cheap upper bound: each text counts three times
/// (value, two tokens), plus room for field names, numbers, and the keywords of short texts, in
/// which every character may be a word.
fn is_clearly_small(product: &Product) -> bool {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let spec = |spec: &Spec| {
        let (text, keywords) = match &spec.value {
            SpecValue::Text(text) if text.len() <= MAX_KEYWORD_TEXT_BYTES => {
                (text.len(), 10 * text.len())
            }
            SpecValue::Text(text) => (text.len(), 0),
            SpecValue::Number(_)
            | SpecValue::Quantity { .. }
            | SpecValue::Boolean(_)
            | SpecValue::Date(_) => (16, 0),
        };
        100 + 3 * (spec.key.len() + text + length(&spec.qualifier)) + keywords
    };
    let media = |media: &Media| 100 + media.url.len() + length(&media.alt);
    let edited = |own: &Override| 150 + own.by.len();
    // Words of name and brand are stored twice, with their prefixes.
    let keywords = 64 * (product.name.len() + length(&product.brand));
    let bytes = length(&product.description)
        + 10 * MAX_NAME_BYTES
        + keywords
        + product.specs.iter().map(spec).sum::<usize>()
        + product.media.iter().map(media).sum::<usize>()
        + product.sources.len() * 500
        + product.overrides.all().iter().map(edited).sum::<usize>();
    product.details == Details::empty(Kind::of(&product.kind)) && bytes < MAX_CONTENT_BYTES
}

/// A number with thousands separators: `41,230`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(reason()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (41_230, "41,230"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn a_slug_is_valid_if_slugifying_keeps_it() {
        for good in ["a", "usb-c-cable", "42", "größe-gross"] {
            let expected = vitrine_model::text::slug(good).as_deref() == Some(good);
            assert_eq!(slug(good).is_ok(), expected, "{good}");
        }
        assert_eq!(slug("usb-c-cable"), Ok(()));
        for bad in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a b",
            "a/b",
            "..",
            &"a".repeat(81),
        ] {
            assert!(slug(bad).is_err(), "{bad}");
        }
        assert!(slug("USB C").unwrap_err().ends_with("for example usb-c"));
    }

    #[test]
    fn texts_are_measured_without_blanks_at_their_ends() {
        assert_eq!(text(" abc ", 1..=3), Ok(()));
        assert!(text("   ", 1..=3).is_err());
        assert!(text("abcd", 1..=3).is_err());
        assert!(text("a\0", 1..=3).is_err());
        assert!(visible("\u{200b}\u{ad}", 1..=3).is_err(), "nothing to see");
        assert_eq!(visible("\u{200b}a", 1..=3), Ok(()));
        assert!(code("\u{3164}").is_err() && code("a b").is_ok());
        assert_eq!(text("ééé", 1..=3), Ok(()), "characters, not bytes");
    }

    #[test]
    fn addresses_are_absolute() {
        for good in ["https://a.example/x", "http://a.example"] {
            assert_eq!(address(good), Ok(()));
        }
        let long = format!("https://{}", "a".repeat(2048));
        for bad in [
            "",
            "ftp://a",
            "//a.example",
            "javascript:1",
            "https://a b",
            "https://a\nb",
            &long,
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
