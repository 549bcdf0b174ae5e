//! Samples: the first rows of a feed beside what becomes of them, value by value, without a
//! database.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use vitrine_formats::{Feed, FeedError, Feeds, Row};

use crate::draft::{Continued, Drafter};
use crate::mapping::{self, Mapping, Traced, Unmatched};

/// The maximum number of characters of a row that are shown.
const MAX_ROW_CHARACTERS: usize = 600;

/// The first rows of a feed, and what becomes of them.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// How the feed is read.
    pub read_as: String,
    /// The rows.
    pub rows: Vec<SampleRow>,
    /// The paths of the mapping that none of these rows has.
    pub unmatched: Vec<Unmatched>,
}

/// A row, and what becomes of it.
#[derive(Clone, Debug)]
pub struct SampleRow {
    /// The number of its line.
    pub line: u64,
    /// The row as JSON, shortened.
    pub row: String,
    /// Why cells have no value although they are not empty.
    pub cells: Vec<String>,
    /// The products and reviews.
    pub records: Vec<SampleRecord>,
}

/// A product or a review of a row.
#[derive(Clone, Debug)]
pub struct SampleRecord {
    /// `product` or `review`.
    pub of: &'static str,
    /// What became of each value.
    pub values: Vec<Traced>,
    /// Why it is rejected, if it is.
    pub rejected: Vec<String>,
}

/// Reads the first rows of each feed and maps them.
///
/// # Errors
/// [`FeedError`] if a file cannot be opened.
pub fn samples(
    files: &[PathBuf],
    mapping: &Mapping,
    rows: usize,
) -> Result<Vec<Sample>, FeedError> {
    let feeds = Feeds::open(files, mapping.form())?;
    let mapping = mapping.with_feed(files)?;
    feeds
        .map(|feed| Ok(sample(feed?, &mapping, rows)))
        .collect()
}

/// Reads the first rows of a feed and maps them.
fn sample(feed: Feed, mapping: &Mapping, rows: usize) -> Sample {
    let mut drafter = Drafter::new(mapping);
    let mut sample = Sample {
        read_as: format!("{} is {}", feed.name(), feed.described()),
        ..Sample::default()
    };
    let mut feed = feed;
    let mut continued = Continued::new(mapping);
    let lines = continued
        .of(&mut feed)
        .filter(|line| !matches!(line.row, Row::Blank | Row::Gathered))
        .take(rows);
    for line in lines {
        let number = line.number;
        let cells = line.cells.iter();
        let cells = cells.map(|cell| format!("{} ({}) {}", cell.cell, cell.column, cell.reason));
        let mut row = match line.row {
            Row::Object(row) => drafter.sample(number, row),
            Row::Unreadable(reason) | Row::Broken(reason) => SampleRow {
                line: number,
                row: format!("the line {reason}"),
                cells: Vec::new(),
                records: Vec::new(),
            },
            Row::Blank | Row::Gathered => continue,
        };
        row.cells.extend(cells);
        sample.rows.push(row);
    }
    sample.unmatched = drafter.unmatched();
    sample
}

impl Drafter<'_> {
    fn sample(&mut self, line: u64, mut row: Value) -> SampleRow {
        let number = Value::from(line);
        let records = match self.prepare(&mut row, &number) {
            Ok(()) => self.records(self.mapper.start(&row, &number).traced()),
            Err(rejection) => vec![SampleRecord {
                of: "row",
                values: Vec::new(),
                rejected: vec![format!("{}: {}", rejection.field, rejection.reason)],
            }],
        };
        SampleRow {
            line,
            row: vitrine_model::text::excerpt(&row.to_string(), MAX_ROW_CHARACTERS).text,
            cells: Vec::new(),
            records,
        }
    }

    fn records(&mut self, row: mapping::Row<'_>) -> Vec<SampleRecord> {
        let (mapping, cache) = (self.mapper.mapping, &mut self.mapper.cache);
        let products = mapping.products(cache, row).into_iter();
        let reviews = mapping.reviews(cache, row).into_iter();
        products
            .map(|mapped| SampleRecord::of("product", mapped))
            .chain(reviews.map(|mapped| SampleRecord::of("review", mapped)))
            .collect()
    }
}

impl SampleRecord {
    fn of<D>(of: &'static str, mapped: mapping::Mapped<D>) -> Self {
        let reasons = mapped.problems.fatal.iter();
        Self {
            of,
            values: mapped.problems.trace.unwrap_or_default(),
            rejected: reasons
                .map(|reason| format!("{}: {}", reason.field, reason.reason))
                .collect(),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.read_as)?;
        for row in &self.rows {
            writeln!(f, "line {}: {}", row.line, row.row)?;
            for cell in &row.cells {
                writeln!(f, "  {cell}")?;
            }
            if row.records.is_empty() {
                writeln!(f, "  nothing")?;
            }
            for record in &row.records {
                write!(f, "{record}")?;
            }
        }
        crate::report::write_unmatched(&self.unmatched, f)
    }
}

impl fmt::Display for SampleRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.of)?;
        let width = |of: fn(&Traced) -> &str| {
            let widths = self.values.iter().map(|traced| of(traced).chars().count());
            widths.max().unwrap_or(0)
        };
        let settings = width(|traced| &traced.setting);
        let paths = width(|traced| &traced.path);
        for traced in &self.values {
            let becomes = match &traced.value {
                Ok(Some(value)) => value.replace('\n', "\\n"),
                Ok(None) => "(unknown)".to_owned(),
                Err(reason) => format!("WRONG: {reason}"),
            };
            let (setting, path, raw) = (&traced.setting, &traced.path, &traced.raw);
            let from = if raw.is_empty() {
                "=".to_owned()
            } else {
                format!("{raw} →")
            };
            writeln!(
                f,
                "    {setting:<settings$}  {path:<paths$}  {from} {becomes}"
            )?;
        }
        for reason in &self.rejected {
            writeln!(f, "    REJECTED {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_sample_shows_what_becomes_of_each_value_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("feed.jsonl");
        let rows = "{\"id\":1,\"name\":\"Lamp\",\"specs\":{\"w\":\"5 cm\",\"c\":\"a,b\"}}\n\n\
                    {\"id\":2,\"specs\":{\"w\":\"wide\"}}\n[]\n{\"id\":4}\n";
        fs::write(&file, rows).unwrap();
        let text = "version = 1\nsystem = \"shop\"\n[product]\nexternal_id = \"id\"\nname = \"name\"\n\
                    kind = { value = \"lamp\" }\ncategory = { value = \"Lamps\" }\nbrand = \"nmae\"\n\
                    [product.specs]\nfrom = \"specs\"\n[[product.specs.rules]]\npath = \"w\"\n\
                    key = \"width\"\nunit = \"mm\"\n";
        let mapping = Mapping::parse(text, &mut |_| unreachable!("no tables")).unwrap();
        let shown = samples(&[file], &mapping, 3).unwrap()[0].to_string();
        for line in [
            "line 1: {\"id\":1,\"name\":\"Lamp\",\"specs\":{\"w\":\"5 cm\",\"c\":\"a,b\"}}",
            "    product.name            name     \"Lamp\" → Lamp",
            "    product.kind            (value)  = lamp",
            "    product.brand           nmae     = (unknown)",
            "    product.specs.rules[0]  specs.w  \"5 cm\" → width = 5 cm",
            "    product.specs           specs.c  \"a,b\" → c = a,b",
            "line 3: {\"id\":2,\"specs\":{\"w\":\"wide\"}}",
            "    REJECTED name: is missing",
            "line 4: the line is JSON, but not an object; for lists `columns` in the mapping names the items",
            "    product.brand: nmae; did you mean name?",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
        assert!(!shown.contains("line 5"), "{shown}");
    }

    /// The sample of rows by a mapping, as text.
    fn shown(mapping: &str, rows: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("feed.jsonl");
        fs::write(&file, rows).unwrap();
        let mapping = Mapping::parse(mapping, &mut |_| Ok(b"code,name\n1,Tarn\n".to_vec()));
        let samples = samples(&[file], &mapping.unwrap(), 9).unwrap();
        let shown = samples[0].to_string();
        shown.split_once('\n').unwrap().1.to_owned()
    }

    #[test]
    fn votes_and_each_field_of_a_list_are_shown() {
        let text = "version = 1\nsystem = \"shop\"\n[review]\nexternal_id = \"id\"\nproduct = \"id\"\n\
                    rating = \"stars\"\nhelpful = \"up\"\nvotes = \"all\"\n\
                    title = [\"a\", { from = \"b\" }]\n";
        let row = "{\"id\":1,\"stars\":5,\"up\":3,\"all\":4,\"a\":null,\"b\":\"Good\"}\n";
        let shown = shown(text, row);
        for line in [
            "    review.helpful      up     3 → 3",
            "    review.votes        all    4 → 4",
            "    review.title[0]     a      null → (unknown)",
            "    review.title[1]     b      \"Good\" → Good",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
    }

    #[test]
    fn pictures_are_shown_as_they_are_cut_numbers_with_all_digits_and_nothing_of_what_is_left_out()
    {
        let text = "version = 1\nsystem = \"shop\"\n[product]\nexternal_id = \"id\"\nname = \"name\"\n\
                    kind = { value = \"lamp\" }\ncategory = { value = \"Lamps\" }\n\
                    media = { url = \"images\", cut_at = \",\" }\n[product.specs]\ninclude = [\"w\"]\n\
                    [[product.specs.rules]]\npath = \"facts\"\nkey_from = \"k\"\nvalue_from = \"v\"\n\
                    where_item = { k = \"a\" }\n";
        let row = "{\"id\":1,\"name\":\"Lamp\",\"images\":\"https://e.org/a.jpg, https://e.org/b.jpg\",\
                   \"w\":32.990959,\"facts\":[{\"k\":\"b\",\"v\":1},{\"k\":\"a\",\"v\":2}]}\n";
        let shown = shown(text, row);
        assert!(
            shown.contains("→ https://e.org/a.jpg https://e.org/b.jpg\n"),
            "{shown}"
        );
        assert!(shown.contains("32.990959 → w = 32.990959\n"), "{shown}");
        assert!(shown.contains("→ a = 2\n"), "{shown}");
        assert!(!shown.contains("(unknown)"), "{shown}");
    }

    #[test]
    fn a_row_that_cannot_be_joined_is_nothing_else() {
        let text = "version = 1\nsystem = \"shop\"\n[join.maker]\nfile = \"makers.csv\"\nkey = \"code\"\n\
                    from = \"id\"\n[product]\nexternal_id = \"id\"\nname = \"name\"\n\
                    kind = { value = \"lamp\" }\ncategory = { value = \"Lamps\" }\n";
        let shown = shown(text, "{\"id\":1,\"name\":\"Lamp\",\"maker\":1}\n");
        let (_, record) = shown.split_once('\n').unwrap();
        assert_eq!(
            record,
            "  row\n    REJECTED join.maker: the row has a key of this name itself; give the join \
             another name\n"
        );
    }
}
