//! How a file is read: where its rows are, and what stands above the header of a table.

use std::path::Path;

use serde_json::Value;
use vitrine_formats::{Feed, FeedError, FeedForm, Format, Row, RowsPath};

use super::gathered::Lines;
use super::heading::Heading;
use super::meanings;
use super::paths::{Facts, Paths};
use super::{EACH, FURTHER_ROWS, ROWS};

/// The maximum number of lines above a header that are looked for.
const MAX_SKIPPED: u64 = 9;
/// The number of rows by which ways to read a file are compared.
const COMPARED_ROWS: usize = 50;
/// Headings with one of these meanings say that something is a product, or a review.
const TELLING: [&str; 15] = [
    "id",
    "name",
    "description",
    "brand",
    "category",
    "price",
    "sku",
    "gtin",
    "image",
    "rating",
    "body",
    "author_name",
    "review_date",
    "status",
    "tags",
];
/// Names of elements that are a product or a review.
const ROW_NAMES: [&str; 10] = [
    "product",
    "item",
    "article",
    "trade_item",
    "offer",
    "entry",
    "review",
    "produkt",
    "artikel",
    "release",
];
/// Places of rows in documents of formats whose root says nothing.
const KNOWN_ROWS: [&str; 2] = ["feed.reviews.review", "BMECAT.T_NEW_CATALOG.PRODUCT"];

/// The rows of a file, and how they are read.
pub(super) struct Opened {
    pub(super) form: FeedForm,
    pub(super) described: String,
    pub(super) paths: Paths,
    pub(super) lines: Lines,
    /// The column that is empty in lines which continue the one above.
    pub(super) continued: Option<String>,
    /// The sheets of a spreadsheet that are not hidden.
    sheets: Vec<String>,
}

impl Opened {
    /// Reads the first rows of a file, in the way in which they say the most: those of a sheet, if
    /// it is named. Prefixes in XML do not count where elements around the rows have them.
    pub(super) fn of(file: &Path, sheet: Option<&str>) -> Result<Self, FeedError> {
        let guess = FeedForm {
            guess_rows: true,
            sheet: sheet.map(str::to_owned),
            ..FeedForm::default()
        };
        let opened = Self::best(file, &guess)?;
        if !opened.has_prefixes() {
            return Ok(opened);
        }
        let guess = FeedForm {
            local_names: true,
            ..guess
        };
        Self::best(file, &guess)
    }

    /// Reads the first rows of a file, in the way in which they say the most.
    fn best(file: &Path, guess: &FeedForm) -> Result<Self, FeedError> {
        let first = Self::read(file, guess, ROWS);
        let score = first.as_ref().map_or(0, |first| {
            // What stands far inside of one line are its rows.
            if first.is_document() {
                0
            } else {
                first.score()
            }
        });
        if score >= 3 {
            return first;
        }
        let ways = match &first {
            Ok(opened) => opened.ways(file, guess),
            Err(_) => skipping(guess).collect(),
        };
        let mut best: Option<(usize, FeedForm)> = None;
        for way in ways {
            let Ok(read) = Self::read(file, &way, COMPARED_ROWS) else {
                continue;
            };
            let found = read.score();
            if found > score && best.as_ref().is_none_or(|(known, _)| found > *known) {
                best = Some((found, way));
            }
        }
        match best {
            Some((_, way)) => Self::read(file, &way, ROWS),
            None => first,
        }
    }

    /// The names of the sheets that are not read, if the one that is has been chosen.
    pub(super) fn other_sheets(&self) -> Vec<String> {
        let Some(chosen) = &self.form.sheet else {
            return Vec::new();
        };
        let others = self.sheets.iter().filter(|sheet| *sheet != chosen);
        others.map(|sheet| format!("{sheet:?}")).collect()
    }

    /// Other ways to read the file.
    fn ways(&self, file: &Path, guess: &FeedForm) -> Vec<FeedForm> {
        if self.form.rows.is_some() {
            return self.ways_of_document(file, guess);
        }
        if self.described.starts_with("JSON Lines") {
            return vec![FeedForm {
                format: Format::Json,
                ..guess.clone()
            }];
        }
        let others = self.sheets.iter().filter(|_| guess.sheet.is_none());
        let of_sheets = others.flat_map(|sheet| {
            let guess = FeedForm {
                sheet: Some(sheet.clone()),
                ..guess.clone()
            };
            let skipping: Vec<FeedForm> = skipping(&guess).collect();
            std::iter::once(guess).chain(skipping)
        });
        skipping(guess).chain(of_sheets).collect()
    }

    /// Whether a file of one line, which may be a row, has nothing outside of lists and objects.
    fn is_document(&self) -> bool {
        let outside = |(path, _): (&str, &Facts)| super::heading::steps(path).len() < 3;
        self.described.starts_with("JSON Lines")
            && self.paths.rows() == 1
            && !self.paths.all().any(outside)
    }

    /// Whether elements around the rows of XML have a prefix, which is the choice of the program
    /// that writes them. The prefixes of rows themselves belong to their names: `g:price`.
    fn has_prefixes(&self) -> bool {
        let place = self.form.rows.as_ref().map(RowsPath::to_string);
        let steps = place.map_or(Vec::new(), |place| super::heading::steps(&place));
        self.described.starts_with("XML") && steps.iter().any(|step| step.contains(':'))
    }

    fn read(file: &Path, form: &FeedForm, rows: usize) -> Result<Self, FeedError> {
        let mut feed = Feed::open(file, form)?;
        let mut paths = Paths::default();
        let mut lines = Lines::default();
        for line in feed.by_ref().take(rows) {
            if let Row::Object(row) = line.row {
                paths.add(&row);
                lines.add(&row, line.bytes);
            }
        }
        let is_gathered = lines.gathered().is_some();
        let continued = lines.continued().filter(|_| !is_gathered);
        if rows == ROWS && !is_gathered && continued.is_none() {
            for line in feed.by_ref().take(FURTHER_ROWS).step_by(EACH) {
                if let Row::Object(row) = line.row {
                    paths.add(&row);
                }
            }
        }
        paths.merge_lists();
        let sheets = feed.sheets().to_vec();
        if let Some(key) = &continued {
            paths = lines.fill(key);
        }
        let mut found = feed.form().clone();
        found.skip_lines = form.skip_lines;
        found.format = form.format;
        if found.rows.is_none() {
            found.rows.clone_from(&form.rows);
        }
        Ok(Self {
            form: found,
            described: feed.described().to_owned(),
            paths,
            lines,
            continued,
            sheets,
        })
    }

    /// How much the headings say of products or reviews.
    fn score(&self) -> usize {
        let alone = |path: &str| !path.contains("[]");
        let mut names: Vec<String> = Vec::new();
        for (path, _) in self
            .paths
            .all()
            .filter(|(path, facts)| alone(path) && facts.known > 0)
        {
            names.push(Heading::of(path).words);
        }
        let told = TELLING.iter().filter(|meaning| {
            let means = |name: &String| meanings::rank(meaning, name).is_some();
            names.iter().any(means)
        });
        let priced = self.paths.all().any(|(_, facts)| {
            facts.are_numbers() && meanings::rank("price", &facts.heading.words).is_some()
        });
        if self.paths.rows() == 0 {
            0
        } else {
            told.count() + 2 * usize::from(priced)
        }
    }

    /// Other places where a document may have its rows.
    fn ways_of_document(&self, file: &Path, guess: &FeedForm) -> Vec<FeedForm> {
        let Some(rows) = self.form.rows.as_ref().map(RowsPath::to_string) else {
            return Vec::new();
        };
        let root = super::heading::steps(&rows)
            .into_iter()
            .next()
            .unwrap_or_default();
        let mut places: Vec<Vec<String>> = Vec::new();
        let whole = FeedForm {
            rows: Some(RowsPath::of_keys([root.as_str()])),
            ..guess.clone()
        };
        if let Ok(feed) = Feed::open(file, &whole) {
            let rows = feed.take(1).filter_map(|line| match line.row {
                Row::Object(row) => Some(row),
                _ => None,
            });
            rows.for_each(|row| walk(&row, &mut vec![root.clone()], &mut places));
        }
        places.extend(KNOWN_ROWS.map(|known| known.split('.').map(str::to_owned).collect()));
        let forms = places.iter().map(|place| FeedForm {
            rows: Some(RowsPath::of_keys(place.iter().map(String::as_str))),
            ..guess.clone()
        });
        forms.collect()
    }
}

/// The ways to read a table with lines above its header.
fn skipping(guess: &FeedForm) -> impl Iterator<Item = FeedForm> {
    (1..=MAX_SKIPPED).map(|skip_lines| FeedForm {
        skip_lines,
        ..guess.clone()
    })
}

/// Collects the places of objects with the name of a product or a review; those first that are
/// farther out.
fn walk(value: &Value, place: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    let Value::Object(object) = value else {
        return;
    };
    let last = place
        .last()
        .map_or(String::new(), |name| Heading::read(name).words);
    if ROW_NAMES.contains(&last.as_str()) && !places.contains(place) {
        places.push(place.clone());
    }
    for (key, value) in object {
        place.push(key.clone());
        match value {
            Value::Array(items) => items
                .iter()
                .take(1)
                .for_each(|item| walk(item, place, places)),
            value => walk(value, place, places),
        }
        place.pop();
    }
}
