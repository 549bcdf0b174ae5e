//! What the fields of products and of what belongs to them may hold. Imports and admins are held to
//! the same; each says where in its own input the field is.

use std::ops::RangeInclusive;

use vitrine_model::product::{Details, Kind, MAX_KIND_BYTES, MAX_NAME_CHARACTERS, MAX_SKU_BYTES};
use vitrine_model::product::{MAX_MEDIA, Media, Product};
use vitrine_model::search::MAX_KEYWORD_TEXT_BYTES;
use vitrine_model::spec::{MAX_SPECS, Spec, SpecValue};
use vitrine_storage::products::Encoding;

/// The longest brand, supplier or category name, in characters.
pub(crate) const MAX_LABEL_CHARACTERS: usize = 200;
/// The most products in a bundle.
pub(crate) const MAX_ITEMS: usize = 100;
/// The most of one product in a bundle.
const MAX_QUANTITY: i32 = 10_000;
/// The most bytes of a product's admin-written part, with what is derived from it, so that computed
/// data always fits beside it.
const MAX_CONTENT_BYTES: usize = 40_000;
/// The longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;
/// The longest name, in bytes; other short fields are no longer.
const MAX_NAME_BYTES: usize = 4 * MAX_NAME_CHARACTERS;
/// How many parts of a product that is too large are named.
const NAMED_PARTS: usize = 3;

/// `Err` says what is wrong and what would be right.
pub(crate) type Checked = Result<(), String>;

/// A text of so many characters, blanks at its ends not counted.
pub(crate) fn text(text: &str, characters: RangeInclusive<usize>) -> Checked {
    let found = text.trim().chars().count();
    if !characters.contains(&found) {
        let (least, most) = (characters.start(), characters.end());
        return Err(format!(
            "{found} characters; {least} to {most} are possible"
        ));
    }
    that(!text.contains('\0'), || "holds a NUL character".to_owned())
}

/// A stock-keeping unit, or the id of something in another system.
pub(crate) fn code(code: &str) -> Checked {
    let fits = (1..=MAX_SKU_BYTES).contains(&code.len())
        && !code.contains(char::is_control)
        && !code.trim().is_empty();
    that(fits, || {
        format!(
            "{} bytes; 1 to {MAX_SKU_BYTES} without control characters are possible",
            code.len()
        )
    })
}

/// The name of a kind.
pub(crate) fn kind(kind: &str) -> Checked {
    let letters = kind
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let fits = letters && (1..=MAX_KIND_BYTES).contains(&kind.len());
    that(fits, || {
        format!("a kind is 1 to {MAX_KIND_BYTES} lower-case letters, digits and underscores")
    })
}

/// A part of an address.
pub(crate) fn slug(slug: &str) -> Checked {
    let right = vitrine_model::text::slug(slug);
    that(right.as_deref() == Some(slug), || {
        let form =
            "a slug is 1 to 80 lower-case letters and digits, words joined by single hyphens";
        let example = right.map_or_else(String::new, |right| format!("; for example {right}"));
        format!("{form}{example}")
    })
}

/// The address of a medium.
pub(crate) fn address(url: &str) -> Checked {
    let web = url.starts_with("https://") || url.starts_with("http://");
    let plain = url.len() <= MAX_ADDRESS_BYTES
        && !url.contains(|c: char| c.is_whitespace() || c.is_control());
    that(web && plain, || {
        "an address begins with https:// or http:// and has at most 2,048 characters".to_owned()
    })
}

/// How many media a product has.
pub(crate) fn media_count(count: usize) -> Checked {
    that(count <= MAX_MEDIA, || {
        format!("{count} media; a product may have {MAX_MEDIA}")
    })
}

/// How many specs a product has.
pub(crate) fn spec_count(count: usize) -> Checked {
    that(count <= MAX_SPECS, || {
        format!("{count} specs; a product may have {MAX_SPECS}")
    })
}

/// How many products a bundle has, and how many of each.
pub(crate) fn items(count: usize, mut quantities: impl Iterator<Item = i32>) -> Checked {
    let quantities = quantities.all(|quantity| self::quantity(quantity).is_ok());
    that(quantities && count <= MAX_ITEMS, || {
        format!("a bundle has at most {MAX_ITEMS} items, each 1 to 10,000 times")
    })
}

/// How many of one product a bundle has.
pub(crate) fn quantity(quantity: i32) -> Checked {
    that((1..=MAX_QUANTITY).contains(&quantity), || {
        format!("{quantity} times; 1 to 10,000 are possible")
    })
}

/// Whether the admin-written part of a product, with what is derived from it, is small enough; if
/// not, what takes most of it.
pub(crate) fn content(product: &Product, encoding: Encoding<'_>) -> Checked {
    if is_plainly_small(product) {
        return Ok(());
    }
    let bytes = encoding.content_bytes(product);
    that(bytes <= MAX_CONTENT_BYTES, || {
        let parts = encoding.content_parts(product);
        let parts: Vec<String> = parts
            .iter()
            .take(NAMED_PARTS)
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

/// Whether a product is far from the cap, by a bound that is cheap to compute: each text counted
/// three times (value, two tokens), with room for field names and numbers, and for the keywords of
/// short texts, of which every character may be a word.
fn is_plainly_small(product: &Product) -> bool {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let spec = |spec: &Spec| {
        let (text, keywords) = match &spec.value {
            SpecValue::Text(text) if text.len() <= MAX_KEYWORD_TEXT_BYTES => {
                (text.len(), 10 * text.len())
            }
            SpecValue::Text(text) => (text.len(), 0),
            _ => (16, 0),
        };
        100 + 3 * (spec.key.len() + text + length(&spec.qualifier)) + keywords
    };
    let media = |media: &Media| 100 + media.url.len() + length(&media.alt);
    // Words of name and brand are kept twice, and their beginnings beside them.
    let keywords = 64 * (product.name.len() + length(&product.brand));
    let bytes = length(&product.description)
        + 10 * MAX_NAME_BYTES
        + keywords
        + product.specs.iter().map(spec).sum::<usize>()
        + product.media.iter().map(media).sum::<usize>()
        + product.sources.len() * 500;
    product.details == Details::empty(Kind::of(&product.kind)) && bytes < MAX_CONTENT_BYTES
}

/// A number for people: `41,230`.
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

fn that(holds: bool, reason: impl FnOnce() -> String) -> Checked {
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
    fn slugs_are_what_names_become() {
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
            "https://a\n",
            &long,
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
