//! Finding out the format of text: by the settings, otherwise by the name and the first bytes.

use encoding_rs::Encoding;

use super::document;
use super::encoding::{self, Known};
use super::xml;
use crate::{FeedForm, Format, RowsPath};

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
    Table(u8),
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
            let known = form.delimiter.or(usual);
            ChosenRows::Table(known.unwrap_or_else(|| delimiter(without(&sample, form.skip_lines))))
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

/// A text without its first lines.
fn without(text: &[u8], lines: u64) -> &[u8] {
    (0..lines).fold(text, |text, _| {
        let end = text.iter().position(|byte| *byte == b'\n');
        end.map_or(&[], |end| &text[end + 1..])
    })
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
        Some(b'{' | b'[') => json(start, whole, unpacked(name)),
        None => Format::JsonLines,
        Some(_) => Format::Csv,
    }
}

/// JSON Lines or one document.
fn json(start: &[u8], whole: bool, name: &str) -> Format {
    if start[0] == b'[' {
        // A list of values is a row of JSON Lines, one of rows a document.
        let inside = start[1..].trim_ascii_start().first();
        return match inside {
            Some(b'{' | b'[') => Format::Json,
            _ => Format::JsonLines,
        };
    }
    let complete = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    let mut lines = start.split(|byte| *byte == b'\n');
    let mut lines = lines.by_ref().map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let Some(next) = lines.find(|line| !line.is_empty()) else {
        // One line is a row. If its end is not to be seen, the name decides.
        return if !whole && !complete(first) && ends_with(name, &[".json"]) {
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

/// The delimiter that the first line has most of, outside of quotation marks.
fn delimiter(sample: &[u8]) -> u8 {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut quoted = false;
    for byte in sample.trim_ascii_start() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            byte if !quoted => {
                let at = DELIMITERS.iter().position(|known| known == byte);
                if let Some(at) = at {
                    counts[at] += 1;
                }
            }
            _ => {}
        }
    }
    let most = counts.iter().max().copied().unwrap_or_default();
    let at = counts.iter().position(|count| *count == most);
    at.map_or(b',', |at| DELIMITERS[at])
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
        let names_none = rows.keys().is_empty();
        let reason = "this is XML, and `rows` in the mapping names no element";
        return if names_none {
            Err(reason.to_owned())
        } else {
            Ok(rows.clone())
        };
    }
    let root = xml::root(sample);
    match root.as_deref() {
        Some("rss") => return Ok(RowsPath::of_keys(["rss", "channel", "item"])),
        Some("feed") => return Ok(RowsPath::of_keys(["feed", "entry"])),
        _ => {}
    }
    guessed(xml::likely_rows(sample), form, "XML", "catalog.product")
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
            ("a,b;c,d\n", "x", ChosenRows::Table(b',')),
            ("\"a,b,c\";d;e\n", "x", ChosenRows::Table(b';')),
            ("a\tb\n", "x.txt", ChosenRows::Table(b'\t')),
            ("a,b,c\td\n", "x.TSV.gz", ChosenRows::Table(b'\t')),
            ("{a},b\n", "x.csv", ChosenRows::Table(b',')),
            ("a\n", "x", ChosenRows::Table(b',')),
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
        assert!(refusal("<c/>").ends_with("for instance rows = \"catalog.product\""));
        let form = FeedForm {
            rows: Some(RowsPath::default()),
            ..FeedForm::default()
        };
        let refused = choose(b"<c/>", true, "x", &form).unwrap_err();
        assert!(refused.ends_with("names no element"), "{refused}");
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
