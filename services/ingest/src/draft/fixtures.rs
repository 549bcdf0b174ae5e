//! Feeds in the style of common formats, with mappings as the guide has them.

use super::compared::compare;

#[test]
fn a_catalogue_in_bmecat() {
    compare("bmecat.xml", "bmecat.toml");
}

#[test]
fn a_matrix_of_prices() {
    compare("price-matrix.csv", "price-matrix.toml");
}

#[test]
fn a_table_with_an_attribute_a_line() {
    compare("attributes.tsv", "attributes.toml");
}

#[test]
fn lines_of_variants_and_pictures() {
    compare("variants.csv", "variants.toml");
}
