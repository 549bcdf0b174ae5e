use std::io::Cursor;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Format;
use crate::fixtures::gzipped;

mod damage;
mod formats;
mod sources;

/// A row that is an object.
pub(crate) fn object(value: Value) -> Row {
    Row::Object(value)
}

/// Why a row cannot be read.
pub(crate) fn reason(row: &Row) -> &str {
    match row {
        Row::Unreadable(reason) | Row::Broken(reason) => reason,
        other => panic!("{other:?} is readable"),
    }
}

/// The place of rows: keys, with `[]` behind one whose value is a list of lists, or `*` for all.
pub(crate) fn rows_path(text: &str) -> RowsPath {
    let keys = text.split('.').filter(|key| !key.is_empty());
    let steps = keys.flat_map(|key| {
        let (name, each) = key.split_once("[]").map_or((key, 0), |(name, _)| (name, 1));
        let key = match name {
            "" => None,
            "*" => Some(RowsStep::Any),
            name => Some(RowsStep::Key(name.to_owned())),
        };
        key.into_iter()
            .chain(std::iter::repeat_n(RowsStep::Each, each))
    });
    steps.collect()
}

/// Opens bytes as a feed of one file.
pub(crate) fn opened(bytes: &[u8], form: &FeedForm, max_bytes: usize) -> Result<Feed, String> {
    let mut opening = Opening::new("feed", "feed", form, &Arc::default());
    opening.max_bytes = max_bytes;
    match opening.source(Box::new(Cursor::new(bytes.to_vec())))? {
        Opened::Feed(feed) => Ok(*feed),
        Opened::Archive(_) => Err("it is an archive".to_owned()),
    }
}

fn read_with(bytes: &[u8], format: Format, max_bytes: usize) -> Vec<(u64, Row)> {
    let form = FeedForm {
        format,
        ..FeedForm::default()
    };
    let feed = opened(bytes, &form, max_bytes).unwrap();
    feed.map(|line| (line.number, line.row)).collect()
}

fn read(bytes: &[u8]) -> Vec<(u64, Row)> {
    read_with(bytes, Format::Auto, 1000)
}

#[test]
fn json_lines_with_bom_crlf_blanks_and_no_last_line_end() {
    let found = read("\u{feff}{\"a\":1}\r\n\r\n  \n{\"a\":2}".as_bytes());
    assert_eq!(
        found,
        [
            (1, object(json!({"a": 1}))),
            (2, Row::Blank),
            (3, Row::Blank),
            (4, object(json!({"a": 2}))),
        ]
    );
}

#[test]
fn invalid_json_costs_one_line() {
    let found = read(b"{\"a\":1\n[1]\n{\"a\":1e400}\n{\"a\":NaN}\n{\"a\":\"\xff\"}\n{\"a\":1}\n");
    assert!(reason(&found[0].1).contains("byte 6"), "{found:?}");
    assert!(reason(&found[1].1).contains("not an object"));
    assert!(reason(&found[2].1).contains("out of range"));
    assert!(reason(&found[3].1).contains("is not JSON"));
    assert!(reason(&found[4].1).contains("not UTF-8, the first at byte 7"));
    assert_eq!(found[5], (6, object(json!({"a": 1}))));
}

#[test]
fn long_lines_are_measured_and_discarded() {
    let long = format!("{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(100_000));
    let found = read(long.as_bytes());
    assert_eq!(
        reason(&found[0].1),
        "is 100008 bytes long; at most 1000 are allowed"
    );
    assert_eq!(found[1], (2, object(json!({}))));
    let last = read_with(&[b'x'; 5000], Format::JsonLines, 1000);
    assert!(reason(&last[0].1).starts_with("is 5000 bytes long"));
}

#[test]
fn gzip_is_recognised_by_its_bytes_and_may_have_several_members() {
    let mut bytes = gzipped(b"{\"a\":1}\n");
    bytes.extend(gzipped(b"{\"a\":2}\n"));
    assert_eq!(read(&bytes).len(), 2);
}

#[test]
fn a_truncated_gzip_is_read_up_to_the_damage_and_reported() {
    let lines: Vec<String> = (0..5000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let lines = lines.concat();
    let bytes = gzipped(lines.as_bytes());
    let found = read(&bytes[..bytes.len() / 2]);
    let (last, whole) = found.split_last().unwrap();
    assert!(!whole.is_empty() && whole.iter().all(|(_, row)| matches!(row, Row::Object(_))));
    assert!(matches!(&last.1, Row::Broken(reason) if reason.contains("cannot be read")));
}

#[test]
fn the_mapping_may_name_the_columns() {
    let form = FeedForm {
        columns: Some(vec!["id".to_owned(), "name".to_owned()]),
        ..FeedForm::default()
    };
    let read = |text: &str| -> Vec<Row> {
        let feed = opened(text.as_bytes(), &form, 1000).unwrap();
        feed.map(|line| line.row).collect()
    };
    let lists = read("[1, \"Lamp\"]\n[2]\n{\"id\": 3}\n");
    assert_eq!(lists[0], object(json!({"id": 1, "name": "Lamp"})));
    assert_eq!(reason(&lists[1]), "has 1 fields where the header has 2");
    assert_eq!(lists[2], object(json!({"id": 3})));
    assert_eq!(
        read("1,Lamp\n2,Desk\n"),
        [
            object(json!({"id": "1", "name": "Lamp"})),
            object(json!({"id": "2", "name": "Desk"})),
        ]
    );
}

#[test]
fn invalid_headers_and_encodings_are_refused() {
    let error = |bytes: &[u8]| {
        let form = FeedForm {
            format: Format::Csv,
            ..FeedForm::default()
        };
        opened(bytes, &form, 1000).err().unwrap()
    };
    assert!(error(b"a,\"b\nc").starts_with("the header has a quotation mark"));
    assert!(error(b"\xff\xfe\0\0a\0\0\0").contains("UTF-32"));
    assert!(read(b"").is_empty());
}

#[test]
fn a_file_without_a_row_is_broken_unless_it_is_empty() {
    for text in ["a,b\n", "\n\n", "[]", "nothing"] {
        let found = read(text.as_bytes());
        let last = &found.last().unwrap().1;
        assert!(matches!(last, Row::Broken(_)), "{text}: {found:?}");
        assert!(reason(last).contains("has no row"), "{text}: {last:?}");
    }
    assert!(read(b"").is_empty());
}

#[test]
fn json_lines_end_as_lines_of_any_system_and_may_be_cut_off() {
    let found = read(b"{\"a\":1}\r{\"a\":2}\r\n{\"a\":3");
    assert_eq!(found[0], (1, object(json!({"a": 1}))));
    assert_eq!(found[1], (2, object(json!({"a": 2}))));
    assert!(
        matches!(&found[2].1, Row::Broken(reason) if reason.contains("ends within its last line"))
    );
    assert_eq!(found.len(), 3);
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_line_numbers_rise(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::JsonLines, Format::Csv] {
            let form = FeedForm { format, encoding: Some(UTF_8), ..FeedForm::default() };
            let Ok(feed) = opened(&bytes, &form, 40) else { continue };
            let mut last = 0;
            for line in feed {
                if !matches!(line.row, Row::Broken(_)) { prop_assert!(line.number > last); last = line.number; }
            }
            if format == Format::JsonLines && !matches!(bytes.as_slice(), [0xfe | 0xff | 0x1f | 0x28 | b'P', ..]) {
                let text = String::from_utf8_lossy(&bytes).replace("\r\r\n", "\n").replace("\r\n", "\n");
                let ends = text.split(['\r', '\n']).count() as u64;
                prop_assert!(last == ends || last + 1 == ends, "{} of {}", last, ends);
            }
        }
    }
}
