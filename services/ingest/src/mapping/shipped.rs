//! The mappings that are part of the program, so that they can be used by name wherever it is
//! installed.

use super::error::MappingError;

const MAPPINGS: [(&str, &str); 12] = [
    ("opendb", include_str!("../../mappings/opendb.toml")),
    (
        "clothing-reviews",
        include_str!("../../mappings/clothing-reviews.toml"),
    ),
    (
        "fine-food-reviews",
        include_str!("../../mappings/fine-food-reviews.toml"),
    ),
    ("shopify", include_str!("../../mappings/shopify.toml")),
    (
        "woocommerce",
        include_str!("../../mappings/woocommerce.toml"),
    ),
    ("bmecat", include_str!("../../mappings/bmecat.toml")),
    (
        "google-products",
        include_str!("../../mappings/google-products.toml"),
    ),
    (
        "google-reviews",
        include_str!("../../mappings/google-reviews.toml"),
    ),
    ("judgeme", include_str!("../../mappings/judgeme.toml")),
    ("loox", include_str!("../../mappings/loox.toml")),
    ("yotpo", include_str!("../../mappings/yotpo.toml")),
    ("trustpilot", include_str!("../../mappings/trustpilot.toml")),
];

const TABLES: [(&str, &str); 1] = [(
    "opendb-units.csv",
    include_str!("../../mappings/opendb-units.csv"),
)];

/// The names and texts of the shipped mappings.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &MAPPINGS
}

/// The names of the shipped mappings, for messages.
pub(super) fn names() -> String {
    MAPPINGS.map(|(name, _)| name).join(", ")
}

/// The text of a shipped mapping, by its name with or without `.toml`.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let found = MAPPINGS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// The text of a table file of a shipped mapping.
pub(super) fn table(name: &str) -> Result<Vec<u8>, MappingError> {
    let found = TABLES.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, text)| text.as_bytes().to_vec())
        .ok_or_else(|| {
            MappingError::setting(name, "no table of this name is shipped with the program")
        })
}
