//! The words everything is made of, from the TOML files in `words/`. All names are invented.
//!
//! The files are part of the binary and are read once. Their format is that of the types here.

pub(crate) mod catalogue;
pub(crate) mod details;
pub(crate) mod people;
pub(crate) mod reviews;
pub(crate) mod shared;
pub(crate) mod spec;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use catalogue::Catalogue;
use details::DetailWords;
use people::People;
use reviews::ReviewPhrases;

/// The name and the text of a file.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../words/", $name)))
    };
}

/// A file's name, for errors, and its text.
type File = (&'static str, &'static str);

const DETAILS: File = file!("details.toml");
const PEOPLE: File = file!("people.toml");
const REVIEWS: File = file!("reviews.toml");
const SUPPLIERS: File = file!("suppliers.toml");
/// The files of products, in the order of the catalogue. Bundles come last.
const CATALOGUE: [File; 19] = [
    file!("shared.toml"),
    file!("clothes.toml"),
    file!("shoes.toml"),
    file!("books.toml"),
    file!("films.toml"),
    file!("audio.toml"),
    file!("screens.toml"),
    file!("cameras.toml"),
    file!("phones.toml"),
    file!("computers.toml"),
    file!("appliances.toml"),
    file!("groceries.toml"),
    file!("furniture.toml"),
    file!("plants.toml"),
    file!("instruments.toml"),
    file!("drones.toml"),
    file!("camping.toml"),
    file!("bicycles.toml"),
    file!("bundles.toml"),
];

static WORDS: LazyLock<Words> = LazyLock::new(Words::read);

/// The contents of all files.
#[derive(Debug)]
pub(crate) struct Words {
    /// What is sold.
    pub(crate) catalogue: Catalogue,
    /// What products have apart from specs.
    pub(crate) details: DetailWords,
    /// Names of people.
    pub(crate) people: People,
    /// What reviewers say about anything.
    pub(crate) reviews: ReviewPhrases,
    /// The suppliers of products, the largest first.
    pub(crate) suppliers: Vec<Supplier>,
}

/// The file `suppliers.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SupplierFile {
    suppliers: Vec<Supplier>,
}

/// A supplier of products.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Supplier {
    /// The name.
    pub(crate) name: String,
    /// The country as an ISO 3166 code of two letters.
    pub(crate) country: String,
}

/// Returns the contents of all files. The first call reads them.
pub(crate) fn words() -> &'static Words {
    &WORDS
}

impl Words {
    fn read() -> Self {
        let mut catalogue = Catalogue::default();
        for file in CATALOGUE {
            catalogue.add(parsed(file));
        }
        Self {
            catalogue,
            details: parsed(DETAILS),
            people: parsed(PEOPLE),
            reviews: parsed(REVIEWS),
            suppliers: parsed::<SupplierFile>(SUPPLIERS).suppliers,
        }
    }
}

/// Returns the contents of a file.
fn parsed<T: DeserializeOwned>((_, text): File) -> T {
    toml::from_str(text).expect("the file is part of the binary, and a test reads it")
}
