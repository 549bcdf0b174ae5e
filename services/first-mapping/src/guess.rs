//! Guesses: which path is the id, the name, the price.

use vitrine_model::unit::UnitTable;

use super::gathered::{Gathered, Lines};
use super::paths::Paths;
use super::values::Signs;

mod amounts;
mod category;
mod finder;
mod groups;
mod lists;
mod pictures;
mod pieces;
mod product;
mod review;
mod specs;
mod status;
mod texts;
mod variants;

pub(super) use texts::quoted;

/// A setting that is guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) setting: String,
    pub(super) value: String,
    /// What is unsure about it.
    pub(super) unsure: Option<String>,
}

/// A table of settings that are guessed.
#[derive(Clone, Debug)]
pub(super) struct GuessedTable {
    /// Its heading.
    pub(super) setting: String,
    pub(super) lines: Vec<Guess>,
}

/// All guesses about a feed.
#[derive(Clone, Debug, Default)]
pub(super) struct Guesses {
    /// Whether the rows are reviews; otherwise products.
    pub(super) reviews: bool,
    /// Words that mean "unknown".
    pub(super) unknown: Vec<String>,
    /// What programs put before texts that a spreadsheet would compute, as a setting.
    pub(super) replace_start: Option<String>,
    /// Tables before the product or the review.
    pub(super) before: Vec<GuessedTable>,
    pub(super) fields: Vec<Guess>,
    pub(super) tables: Vec<GuessedTable>,
    /// Which lines are one product.
    pub(super) gathered: Option<Gathered>,
    /// What the mapping lacks.
    pub(super) remarks: Vec<String>,
}

/// Texts that mean "unknown", in small letters.
const UNKNOWN: [&str; 24] = [
    "default title",
    "-",
    "--",
    "?",
    "n/a",
    "n.a.",
    "na",
    "#n/a",
    "nan",
    "null",
    "none",
    "nil",
    "unknown",
    "tbd",
    "tba",
    "k. a.",
    "k.a.",
    "keine angabe",
    "unbekannt",
    "inconnu",
    "desconocido",
    "sconosciuto",
    "onbekend",
    "brak",
];

impl Guesses {
    /// Guesses what rows with these paths are.
    pub(super) fn of(paths: &Paths, lines: &Lines) -> Self {
        let unknown = unknown(paths);
        let mut finder = Finder::new(paths, lines, &unknown);
        let mut guesses = match finder.review() {
            Some(review) => review,
            None => finder.product(),
        };
        guesses.replace_start = replace_start(paths);
        guesses.unknown = unknown;
        guesses
    }
}

/// What programs put an apostrophe before, because a spreadsheet would compute it.
const FORMULAS: [&str; 4] = ["'-", "'+", "'=", "'@"];

/// The setting that removes the apostrophes before such texts, if there are any.
fn replace_start(paths: &Paths) -> Option<String> {
    let starts = |sign: &&&str| {
        let mut all = paths.all();
        all.any(|(_, facts)| facts.all().any(|text| text.starts_with(**sign)))
    };
    let found = FORMULAS.iter().filter(starts);
    let found: Vec<(&str, &str)> = found.map(|sign| (*sign, &sign[1..])).collect();
    (!found.is_empty()).then(|| texts::table(&found))
}

/// Words among the values that mean "unknown", as they are written.
fn unknown(paths: &Paths) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, facts) in paths.all().filter(|(_, facts)| facts.texts > 0) {
        let values = facts.values.iter();
        for value in values.filter(|value| UNKNOWN.contains(&value.to_lowercase().as_str())) {
            // "None" and "NA" alone may be the title of a review, or a country.
            if !found.contains(value) && (facts.values.len() > 1 || facts.known == 1) {
                found.push(value.clone());
            }
        }
    }
    found
}

/// Finds paths by what their headings mean.
struct Finder<'p> {
    paths: &'p Paths,
    lines: &'p Lines,
    unknown: &'p [String],
    units: UnitTable,
    /// What the numbers of all columns show.
    signs: Signs,
    /// Paths that a field has, and lists of which nothing is a spec.
    taken: Vec<String>,
    /// The names of the joins that lead to the parents of variations.
    parents: Vec<&'static str>,
    /// What is to be said at the end.
    remarks: Vec<String>,
    /// Whether columns of persons may be found: the rows are reviews.
    of_reviews: bool,
    /// How the lines of a product are one row, and whether each of them is a product.
    variants: Option<Variants>,
}

/// Lines that are variants of a product.
struct Variants {
    gathered: Gathered,
    /// Whether each line is a product, of which the other lines have the picture, say.
    each: bool,
}
