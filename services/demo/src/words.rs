//! The words everything is made of. All names are invented.
//!
//! They are in TOML files in `words/`, which are part of the binary.

pub(crate) mod bundles;
pub(crate) mod clothing;
pub(crate) mod computing;
pub(crate) mod devices;
pub(crate) mod food;
pub(crate) mod home;
pub(crate) mod lines;
pub(crate) mod opinions;
pub(crate) mod outdoor;
pub(crate) mod people;
pub(crate) mod print;
pub(crate) mod reviews;

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::leaf::Leaf;
use people::People;
use reviews::ReviewPhrases;

/// All leaves but those of bundles, in the order of the catalogue.
pub(crate) const LEAVES: &[&[Leaf]] = &[
    clothing::LEAVES,
    print::BOOKS,
    print::FILMS,
    devices::LEAVES,
    computing::LEAVES,
    food::LEAVES,
    home::LEAVES,
    outdoor::LEAVES,
];

const PEOPLE: &str = include_str!("../words/people.toml");
const REVIEWS: &str = include_str!("../words/reviews.toml");
const SUPPLIERS: &str = include_str!("../words/suppliers.toml");

static WORDS: LazyLock<Words> = LazyLock::new(Words::read);

/// The contents of all word files.
#[derive(Debug)]
pub(crate) struct Words {
    /// People.
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

/// The contents of all word files. The first call reads them.
pub(crate) fn words() -> &'static Words {
    &WORDS
}

impl Words {
    fn read() -> Self {
        Self {
            people: parsed(PEOPLE),
            reviews: parsed(REVIEWS),
            suppliers: parsed::<SupplierFile>(SUPPLIERS).suppliers,
        }
    }
}

/// The contents of one file.
fn parsed<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("the file is part of the binary, and tests read it")
}
