//! Fields of a product document that are derived from its other fields: tokens, keywords, name key,
//! list price and slot. Every write of a product writes them with it; audits derive them again and
//! compare.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::id::ProductId;
use crate::money::{Currency, Money};
use crate::product::{Details, Product};
use crate::search::{KeywordSource, keywords};
use crate::spec::{MAX_FILTERABLE_BYTES, Spec, SpecValue};
use crate::text::fold;

/// Folded text of up to this many bytes is part of a token as it is; longer text is replaced by a
/// digest.
pub const MAX_TOKEN_TEXT_BYTES: usize = 64;
/// The number of slots that products are distributed over ([`slot`]).
pub const SLOTS: u8 = 100;
/// The maximum number of characters of the folded name that products are sorted by.
pub const MAX_NAME_KEY_CHARACTERS: usize = 100;

/// The token of a text value of a key: `color=red`, `size@eu=m`. `None` for text longer than
/// [`MAX_FILTERABLE_BYTES`], which cannot be filtered by.
#[must_use]
pub fn text_token(key: &str, qualifier: Option<&str>, text: &str) -> Option<String> {
    let folded = (text.len() <= MAX_FILTERABLE_BYTES).then(|| fold(text))?;
    Some(token(key, qualifier, &folded))
}

/// The token of a boolean value of a key.
#[must_use]
pub fn boolean_token(key: &str, qualifier: Option<&str>, value: bool) -> String {
    token(key, qualifier, if value { "true" } else { "false" })
}

/// The token of a brand.
#[must_use]
pub fn brand_token(brand: &str) -> String {
    token("@brand", None, &fold(brand))
}

/// The prefix of [`country_token`].
pub const COUNTRY: &str = "@country=";

/// The token of a supplier's country.
#[must_use]
pub fn country_token(country: &str) -> String {
    token("@country", None, &fold(country))
}

/// All tokens of a product, sorted and unique. A spec with a qualifier has one token with it and
/// one without, so that a filter need not name it.
#[must_use]
pub fn tokens(specs: &[Spec], brand: Option<&str>, country: Option<&str>) -> Vec<String> {
    let mut tokens: BTreeSet<String> = BTreeSet::new();
    tokens.extend(brand.map(brand_token));
    tokens.extend(country.map(country_token));
    for spec in specs {
        tokens.extend(spec_token(spec, None));
        if let Some(qualifier) = &spec.qualifier {
            tokens.extend(spec_token(spec, Some(qualifier)));
        }
    }
    tokens.into_iter().collect()
}

/// The keywords that a product is searched by; for a book they include its ISBN.
#[must_use]
pub fn product_keywords(product: &Product) -> Vec<String> {
    let isbn = match &product.details {
        Details::Book(book) => book.isbn.as_deref(),
        _ => None,
    };
    keywords(&KeywordSource {
        name: &product.name,
        brand: product.brand.as_deref(),
        sku: &product.sku,
        specs: &product.specs,
        codes: isbn.as_slice(),
    })
}

/// The sort value of a product's name: folded, at most [`MAX_NAME_KEY_CHARACTERS`] characters.
#[must_use]
pub fn name_key(name: &str) -> String {
    fold(name).chars().take(MAX_NAME_KEY_CHARACTERS).collect()
}

/// The price that products are filtered and sorted by: minor units of the shop's currency, or
/// `None` if the price is in another currency.
#[must_use]
pub fn list_price(price: Option<Money>, shop: Currency) -> Option<i64> {
    price
        .filter(|price| price.currency == shop)
        .map(|price| price.minor)
}

/// The slot of a product, 0 to 99: a hash of its id, so the products of any few slots are an
/// unbiased sample of all.
#[must_use]
pub fn slot(id: ProductId) -> u8 {
    let digest = Sha256::digest(id.to_bytes());
    let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    u8::try_from(number % u32::from(SLOTS)).expect("below a hundred")
}

fn spec_token(spec: &Spec, qualifier: Option<&str>) -> Option<String> {
    match &spec.value {
        SpecValue::Text(text) => text_token(&spec.key, qualifier, text),
        SpecValue::Boolean(value) => Some(boolean_token(&spec.key, qualifier, *value)),
        SpecValue::Number(_) | SpecValue::Quantity { .. } | SpecValue::Date(_) => None,
    }
}

fn token(key: &str, qualifier: Option<&str>, folded: &str) -> String {
    let value = shortened(folded);
    match qualifier {
        Some(qualifier) => format!("{key}@{}={value}", fold(qualifier)),
        None => format!("{key}={value}"),
    }
}

/// The text itself, or `#` and half of its SHA-256 digest when it is long. A text that starts with
/// `#` is always replaced by its digest, so that it cannot equal the digest of another text.
fn shortened(folded: &str) -> String {
    if folded.len() <= MAX_TOKEN_TEXT_BYTES && !folded.starts_with('#') {
        return folded.to_owned();
    }
    let digest = Sha256::digest(folded.as_bytes());
    digest[..16]
        .iter()
        .fold("#".to_owned(), |hex, byte| format!("{hex}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::ActivitySummary;
    use crate::clock::Timestamp;
    use crate::fold::Computed;
    use crate::id::CategoryId;
    use crate::product::{Book, Outlier, ProductStatus, Sold};

    fn text(key: &str, value: &str, qualifier: Option<&str>) -> Spec {
        let value = SpecValue::Text(value.to_owned());
        Spec {
            key: key.to_owned(),
            value,
            qualifier: qualifier.map(str::to_owned),
        }
    }

    #[test]
    fn tokens_are_folded_and_unique() {
        let specs = [
            text("color", "Red", None),
            text("color", "RED ", None),
            text("size", "M", Some("EU")),
        ];
        let expected = [
            "@brand=in win",
            "@country=de",
            "color=red",
            "size=m",
            "size@eu=m",
        ];
        assert_eq!(tokens(&specs, Some("In Win"), Some("DE")), expected);
    }

    #[test]
    fn long_text_is_filtered_by_its_digest_and_overlong_text_not_at_all() {
        let long = "x".repeat(65);
        let by_digest = text_token("a", None, &long).unwrap();
        assert_eq!(by_digest.len(), "a=#".len() + 32);
        assert_eq!(
            text_token("a", None, &long.to_uppercase()),
            Some(by_digest.clone())
        );
        let forged = by_digest.strip_prefix("a=").unwrap();
        assert_ne!(text_token("a", None, forged), Some(by_digest));
        assert_eq!(text_token("a", None, &"x".repeat(257)), None);
    }

    #[test]
    fn books_are_found_by_their_isbn() {
        let at = Timestamp::from_millis(0);
        let book = Book {
            isbn: Some("978-3-16-148410-0".to_owned()),
            ..Book::default()
        };
        let product = Product {
            id: ProductId::from_i64(1),
            kind: "book".to_owned(),
            sku: "BK-7".to_owned(),
            slug: "dune".to_owned(),
            name: "Dune".to_owned(),
            description: Some("Sand".to_owned()),
            brand: Some("Ace".to_owned()),
            status: ProductStatus::Active,
            category: CategoryId::from_i64(2),
            price: None,
            media: Vec::new(),
            specs: vec![text("binding", "Hardcover", None)],
            details: Details::Book(book),
            supplier: None,
            computed: Computed::default(),
            outlier: Outlier::default(),
            activity: ActivitySummary::default(),
            sold: Sold::default(),
            sources: Vec::new(),
            overrides: crate::overrides::Overrides::default(),
            revision: 1,
            created_at: at,
            listed_at: None,
            updated_at: at,
        };
        let keywords = product_keywords(&product);
        for keyword in ["s:9783161484100", "n:dune", "p:ac", "s:bk7", "s:hardcover"] {
            assert!(
                keywords.iter().any(|k| k == keyword),
                "{keyword}: {keywords:?}"
            );
        }
        assert!(
            !keywords.iter().any(|k| k.ends_with(":sand")),
            "not the description"
        );
    }

    #[test]
    fn slots_are_evenly_filled() {
        let mut counts = [0_u32; SLOTS as usize];
        for n in 0_u32..20_000 {
            counts[usize::from(slot(ProductId::from_i64(n.into())))] += 1;
        }
        assert!(counts.iter().all(|n| (130..=270).contains(n)), "{counts:?}");
    }
}
