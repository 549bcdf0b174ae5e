//! What the files promise.

use super::*;

#[test]
fn every_file_can_be_read() {
    for (name, text) in CATALOGUE {
        if let Err(error) = toml::from_str::<Catalogue>(text) {
            panic!("{name}: {error}");
        }
    }
}
