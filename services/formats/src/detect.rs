//! Finding out the format of text: by the settings, otherwise by the name and the first bytes.

use encoding_rs::Encoding;
use memchr::memmem;

use super::csv_rows::{self, Dialect};
use super::document;
use super::encoding::{self, Known};
use super::lines::after_lines;
use super::xml;
use crate::{FeedForm, Format, RowsPath, RowsStep};

/// The number of bytes that are looked at.
pub(super) const SAMPLE_BYTES: usize = 256 * 1024;

/// The delimiters of tables that are recognised.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How a text is read.
#[derive(Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) encoding: Known,
    pub(super) rows: ChosenRows,
}

/// The format of a text.
#[derive(Debug, PartialEq)]
pub(super) enum ChosenRows {
    JsonLines,
    Json(RowsPath),
    /// With the number of lines before the header.
    Table(Dialect, u64),
    Xml(RowsPath),
}

/// Looks at the beginning of a text. `whole` says whether it is all there is.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn choose(
    beginning: &[u8],
    whole: bool,
    name: &str,
    form: &FeedForm,
) -> Result<Chosen, String> {
    if beginning.starts_with(&[0xff, 0xfe, 0, 0]) || beginning.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err("the text is UTF-32; convert it to UTF-8 first".to_owned());
    }
    let mut known = encoding::of(beginning, form.encoding);
    let mut sample = known.sample(beginning);
    let format = match form.format {
        // Only tables have lines before their header.
        Format::Auto if form.skip_lines > 0 => Format::Csv,
        Format::Auto => guess(&sample, whole, name, form),
        format => format,
    };
    if known == Known::utf8() {
        let other = match format {
            Format::Csv | Format::Tsv => encoding::of_table(lines(beginning, whole)),
            Format::Xml => declared_in_xml(&sample).unwrap_or(known),
            _ => known,
        };
        if other != known {
            known = other;
            sample = known.sample(beginning);
        }
    }
    let rows = match format {
        Format::Csv | Format::Tsv => {
            let usual = (format == Format::Tsv || is_tsv(name)).then_some(b'\t');
            table(&sample, usual, form)
        }
        Format::Xml => ChosenRows::Xml(xml_rows(&sample, form)?),
        Format::Json => ChosenRows::Json(json_rows(&sample, form)?),
        _ => ChosenRows::JsonLines,
    };
    Ok(Chosen {
        encoding: known,
        rows,
    })
}

/// How a table is read. `usual` is the delimiter that its name tells.
fn table(sample: &[u8], usual: Option<u8>, form: &FeedForm) -> ChosenRows {
    let declared = declared_delimiter(sample);
    // The line that names the delimiter is one of the lines to skip.
    let skip = form.skip_lines.max(u64::from(declared.is_some()));
    let rows = &sample[after_lines(sample, skip)..];
    let delimiter = form.delimiter.or(declared).or(usual);
    let mut dialect = Dialect {
        delimiter: delimiter.unwrap_or_else(|| likely_delimiter(rows)),
        escape: form.escape,
    };
    if form.guess_rows && form.escape.is_none() && escapes(rows, dialect) {
        dialect.escape = Some(b'\\');
    }
    ChosenRows::Table(dialect, skip)
}

/// The delimiter that the first line names, as spreadsheets understand it: `sep=;`.
fn declared_delimiter(sample: &[u8]) -> Option<u8> {
    let mut lines = sample.split(|byte| b"\r\n".contains(byte));
    let line = lines.next()?;
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let line = line.strip_suffix(b"\"").unwrap_or(line);
    let (name, sign) = line.split_at_checked(4)?;
    match sign {
        [sign] if name.eq_ignore_ascii_case(b"sep=") && sign.is_ascii() => Some(*sign),
        _ => None,
    }
}

/// Whether fewer records of a sample are broken if backslashes escape quotation marks.
fn escapes(sample: &[u8], dialect: Dialect) -> bool {
    let broken = |escape| csv_rows::broken_records(sample, Dialect { escape, ..dialect });
    memmem::find(sample, b"\\\"").is_some() && broken(Some(b'\\')) < broken(None)
}

/// The whole lines of a beginning.
fn lines(beginning: &[u8], whole: bool) -> &[u8] {
    let end = beginning.iter().rposition(|byte| *byte == b'\n');
    match end {
        Some(end) if !whole => &beginning[..end],
        _ => beginning,
    }
}

fn ends_with(name: &str, endings: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

fn is_tsv(name: &str) -> bool {
    ends_with(unpacked(name), &[".tsv", ".tab"])
}

/// A name without the ending of what packed the file.
fn unpacked(name: &str) -> &str {
    let endings = [".gz", ".zst", ".zip", ".GZ", ".ZST", ".ZIP"];
    let stem = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(name)
}

/// The format of a text without a setting.
fn guess(sample: &[u8], whole: bool, name: &str, form: &FeedForm) -> Format {
    let start = sample.trim_ascii_start();
    let second = start.get(1).copied().unwrap_or_default();
    match start.first() {
        _ if ends_with(unpacked(name), &[".csv", ".tsv", ".tab"]) => Format::Csv,
        Some(b'<') if second.is_ascii_alphabetic() || b"?!_".contains(&second) => Format::Xml,
        Some(b'{' | b'[') if form.rows.is_some() => Format::Json,
        Some(b'{' | b'[') if ends_with(unpacked(name), &[".jsonl", ".ndjson"]) => Format::JsonLines,
        Some(b'{' | b'[') => json(start, whole, unpacked(name), form.guess_rows),
        None => Format::JsonLines,
        Some(_) => Format::Csv,
    }
}

/// Whether a text is an object whose values are rows.
fn has_values_alike(start: &[u8]) -> bool {
    document::likely_rows(start) == Some(RowsPath::default().values())
}

/// JSON Lines or one document.
fn json(start: &[u8], whole: bool, name: &str, guesses: bool) -> Format {
    if start[0] == b'[' {
        // A list of values is a row of JSON Lines, one of rows a document.
        let inside = start[1..].trim_ascii_start().first();
        return match inside {
            Some(b'{' | b'[') => Format::Json,
            _ => Format::JsonLines,
        };
    }
    let complete = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    let mut lines = start.split(|byte| b"\r\n".contains(byte));
    let mut lines = lines.by_ref().map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let Some(next) = lines.find(|line| !line.is_empty()) else {
        // One line is a row. If its end is not to be seen, the name decides.
        let is_cut_off = !whole && !complete(first) && ends_with(name, &[".json"]);
        return if is_cut_off || (guesses && has_values_alike(start)) {
            Format::Json
        } else {
            Format::JsonLines
        };
    };
    let goes_on = matches!(first.last(), Some(b'{' | b'[' | b',' | b':'));
    if goes_on && !complete(first) && !complete(next) {
        Format::Json
    } else {
        Format::JsonLines
    }
}

/// The delimiter that makes most fields of the first line.
fn likely_delimiter(sample: &[u8]) -> u8 {
    let fields = |delimiter: &u8| {
        let dialect = Dialect {
            delimiter: *delimiter,
            escape: None,
        };
        csv_rows::first_fields(sample, dialect)
    };
    // The first of those that make the same number.
    let best = DELIMITERS
        .iter()
        .rev()
        .max_by_key(|delimiter| fields(delimiter));
    best.copied().unwrap_or(b',')
}

fn declared_in_xml(sample: &[u8]) -> Option<Known> {
    let encoding = Encoding::for_label(xml::declared_encoding(sample)?.as_bytes())?;
    // A declaration that could be read is not UTF-16, whatever it says.
    let encoding = encoding.output_encoding();
    let by = encoding::By::Declared;
    (encoding != encoding_rs::UTF_8).then_some(Known { encoding, by })
}

fn xml_rows(sample: &[u8], form: &FeedForm) -> Result<RowsPath, String> {
    if let Some(rows) = &form.rows {
        let reason = if rows.steps().contains(&RowsStep::Any) {
            "this is XML, and * in `rows` in the mapping is every value of a JSON object"
        } else if rows.keys().is_empty() {
            "this is XML, and `rows` in the mapping names no element"
        } else {
            return Ok(rows.clone());
        };
        return Err(reason.to_owned());
    }
    let root = xml::root(sample);
    let name = root
        .as_deref()
        .map(|name| xml::name_of(name, form.local_names));
    match name {
        Some("rss") => return Ok(RowsPath::of_keys(["rss", "channel", "item"])),
        Some("feed") if is_atom(sample, form.local_names) => {
            return Ok(RowsPath::of_keys(["feed", "entry"]));
        }
        // What programs save under names of spreadsheets.
        Some("Workbook") => return Err(not_read("a workbook of Excel 2003 in XML")),
        Some("html" | "HTML") => return Err(not_read("a web page")),
        _ => {}
    }
    let likely = xml::likely_rows(sample, form.local_names);
    guessed(likely, form, "XML", "catalog.product")
}

/// Whether a document whose root is called `feed` is one of Atom, or says nothing else.
fn is_atom(sample: &[u8], local_names: bool) -> bool {
    let atom = RowsPath::of_keys(["feed", "entry"]);
    xml::likely_rows(sample, local_names).is_none_or(|likely| likely == atom)
}

fn not_read(what: &str) -> String {
    format!(
        "this is {what}; save it as xlsx or CSV, or name the elements that are rows as `rows` in the mapping"
    )
}

fn json_rows(sample: &[u8], form: &FeedForm) -> Result<RowsPath, String> {
    if let Some(rows) = &form.rows {
        return Ok(rows.clone());
    }
    if sample.trim_ascii_start().starts_with(b"[") {
        return Ok(RowsPath::default());
    }
    let likely = document::likely_rows(sample);
    guessed(likely, form, "one JSON document", "data.products")
}

fn guessed(
    likely: Option<RowsPath>,
    form: &FeedForm,
    what: &str,
    example: &str,
) -> Result<RowsPath, String> {
    if let Some(likely) = likely.clone().filter(|_| form.guess_rows) {
        return Ok(likely);
    }
    let example = likely.map_or_else(
        || format!("for instance rows = {example:?}"),
        |likely| format!("perhaps rows = {:?}", likely.to_string()),
    );
    Err(format!(
        "this is {what}; `rows` in the mapping says where its rows are, {example}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, name: &str) -> ChosenRows {
        let form = FeedForm {
            guess_rows: true,
            ..FeedForm::default()
        };
        choose(text.as_bytes(), true, name, &form).unwrap().rows
    }

    #[test]
    fn formats_are_recognised_by_name_and_first_bytes() {
        let table = |delimiter| {
            let escape = None;
            ChosenRows::Table(Dialect { delimiter, escape }, 0)
        };
        let json = |keys: &[&str]| ChosenRows::Json(RowsPath::of_keys(keys.iter().copied()));
        for (text, name, expected) in [
            ("", "x", ChosenRows::JsonLines),
            ("{\"a\":1}", "x", ChosenRows::JsonLines),
            ("{\"a\":1", "x", ChosenRows::JsonLines),
            ("{\"a\":1\n{\"a\":2}\n", "x", ChosenRows::JsonLines),
            ("{\"a\":\n{\"a\":2}\n", "x", ChosenRows::JsonLines),
            ("[1,2]\n[3,4]\n", "x", ChosenRows::JsonLines),
            (" [{\"a\":1}]", "x", json(&[])),
            ("[\n[1],[2]]", "x", json(&[])),
            ("{\n \"d\": {\"p\": [{\"a\": 1}]}}", "x", json(&["d", "p"])),
            ("{\"p\":[\n{\"a\":1},\n{\"a\":2}\n]}", "x", json(&["p"])),
            ("[{\"a\":1}, 2]\n", "x.ndjson", ChosenRows::JsonLines),
            (
                "{\"B1\":{\"a\":1,\"b\":2},\"B2\":{\"a\":1,\"b\":2}}",
                "x",
                ChosenRows::Json(RowsPath::default().values()),
            ),
            (
                "{\n\"d\":{\"p\":{\"x\":{\"a\":1,\"b\":2},\"y\":{\"a\":1,\"b\":2}}}}",
                "x",
                ChosenRows::Json(RowsPath::of_keys(["d", "p"]).values()),
            ),
            (
                "{\"p\":{\"x\":{\"a\":1,\"b\":2},\"y\":{\"a\":1,\"b\":2}}}",
                "x",
                ChosenRows::JsonLines,
            ),
            ("a,b;c,d\n", "x", table(b',')),
            ("\"a,b,c\";d;e\n", "x", table(b';')),
            ("a\tb\n", "x.txt", table(b'\t')),
            ("a,b,c\td\n", "x.TSV.gz", table(b'\t')),
            ("{a},b\n", "x.csv", table(b',')),
            ("a\n", "x", table(b',')),
            ("Size 27\",a;b;\"x;y\"\rc,d", "x", table(b';')),
        ] {
            assert_eq!(chosen(text, name), expected, "{text}");
        }
    }

    #[test]
    fn the_name_tells_one_long_line_from_a_document() {
        let long = format!("{{\"p\": [{{\"a\": \"{}", "x".repeat(100));
        for (name, is_lines) in [("x", true), ("x.jsonl", true), ("x.json.gz", false)] {
            let form = FeedForm {
                guess_rows: true,
                ..FeedForm::default()
            };
            let rows = choose(long.as_bytes(), false, name, &form).unwrap().rows;
            assert_eq!(rows == ChosenRows::JsonLines, is_lines, "{name}");
        }
    }

    #[test]
    fn xml_is_recognised_with_its_rows() {
        let xml = |keys: &[&str]| ChosenRows::Xml(RowsPath::of_keys(keys.iter().copied()));
        for (text, expected) in [
            (
                "<?xml version='1.0'?><rss/>",
                xml(&["rss", "channel", "item"]),
            ),
            ("<!-- x --><feed xmlns='a'>", xml(&["feed", "entry"])),
            (
                "<feed><title/><entry/><entry/></feed>",
                xml(&["feed", "entry"]),
            ),
            ("<feed><item/><item/></feed>", xml(&["feed", "item"])),
            // A wrong sign in the first row hides no other.
            (
                "<c><p><n>5 < 6</n></p><p><n>A</n></p><p/></c>",
                xml(&["c", "p"]),
            ),
            (
                "<c><h><l>1</l><l>2</l></h><p><i>1</i></p><p><i>2</i><i>3</i></p></c>",
                xml(&["c", "p"]),
            ),
        ] {
            assert_eq!(chosen(text, "x"), expected, "{text}");
        }
    }

    #[test]
    fn documents_without_a_place_of_rows_are_refused_with_a_proposal() {
        let refusal = |text: &str| {
            let form = FeedForm::default();
            choose(text.as_bytes(), true, "x", &form).unwrap_err()
        };
        assert_eq!(
            refusal("<c><p/><p/></c>"),
            "this is XML; `rows` in the mapping says where its rows are, perhaps rows = \"c.p\""
        );
        assert!(refusal("<html><table><tr/></table></html>").contains("save it as xlsx or CSV"));
        assert!(refusal("<?xml version='1.0'?><Workbook/>").contains("Excel 2003"));
        assert!(refusal("<c/>").ends_with("for instance rows = \"catalog.product\""));
        let form = FeedForm {
            rows: Some(RowsPath::default()),
            ..FeedForm::default()
        };
        let refused = choose(b"<c/>", true, "x", &form).unwrap_err();
        assert!(refused.ends_with("names no element"), "{refused}");
        let form = FeedForm {
            rows: Some(RowsPath::of_keys(["c"]).values()),
            ..FeedForm::default()
        };
        let refused = choose(b"<c/>", true, "x", &form).unwrap_err();
        assert!(
            refused.ends_with("every value of a JSON object"),
            "{refused}"
        );
        let json = refusal("{\n\"a\": [{}]}");
        assert!(json.ends_with("perhaps rows = \"a\""), "{json}");
    }

    #[test]
    fn encodings_are_declared_or_detected() {
        let name = |bytes: &[u8], declared: Option<&str>| {
            let declared = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
            let form = FeedForm {
                encoding: declared,
                rows: None,
                guess_rows: true,
                ..FeedForm::default()
            };
            let chosen = choose(bytes, true, "x", &form).unwrap();
            chosen.encoding.to_string()
        };
        let utf16: Vec<u8> = "id;name\n1;L\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for (bytes, declared, expected) in [
            (b"a;b\n1;x\n".as_slice(), None, "UTF-8"),
            ("a;b\n1;\u{e9}\n".as_bytes(), None, "UTF-8"),
            (
                b"a;b\n1;Stra\xdfe f\xfcr M\xfcnchen\n",
                None,
                "windows-1252 (detected)",
            ),
            (b"a;b\n1;\xdf\n", Some("l9"), "ISO-8859-15"),
            (&utf16, None, "UTF-16BE (detected)"),
            (b"\xff\xfea\0", None, "UTF-16LE"),
            (b"\xef\xbb\xbfa,b\n", Some("latin1"), "UTF-8"),
            (
                b"<?xml version='1.0' encoding='iso-8859-2'?><rss/>",
                None,
                "ISO-8859-2",
            ),
            (
                b"<?xml version='1.0' encoding='utf-16'?><rss/>",
                None,
                "UTF-8",
            ),
        ] {
            assert_eq!(name(bytes, declared), expected, "{bytes:?}");
        }
    }
}
