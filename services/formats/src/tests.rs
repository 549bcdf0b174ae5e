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

/// The place of rows: keys, with `[]` behind one whose value is a list of lists.
pub(crate) fn rows_path(text: &str) -> RowsPath {
    let keys = text.split('.').filter(|key| !key.is_empty());
    let steps = keys.flat_map(|key| {
        let (name, each) = key.split_once("[]").map_or((key, 0), |(name, _)| (name, 1));
        let key = (!name.is_empty()).then(|| RowsStep::Key(name.to_owned()));
        key.into_iter()
            .chain(std::iter::repeat_n(RowsStep::Each, each))
    });
    steps.collect()
}

/// Opens bytes as a feed of one file.
fn opened(bytes: &[u8], form: &FeedForm, max_bytes: usize) -> Result<Feed, String> {
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
    assert_eq!(last.len(), 1);
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
fn csv_with_line_ends_inside_fields() {
    let found = read(b"a,\"b b\",\r\n1,\"x\r\ny, \"\"z\"\"\",\r\n\r\n2,5\" disk,\xc3\xa9\n");
    assert_eq!(
        found,
        [
            (2, object(json!({"a": "1", "b b": "x\ny, \"z\"", "": ""}))),
            (4, Row::Blank),
            (5, object(json!({"a": "2", "b b": "5\" disk", "": "é"}))),
        ]
    );
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
fn invalid_csv_costs_one_record() {
    let found = read("a,b\n1\n1,2,3\n\u{e9},2\n3,4\n5,\"6\n7,8\n".as_bytes());
    assert_eq!(reason(&found[0].1), "has 1 fields where the header has 2");
    assert_eq!(reason(&found[1].1), "has 3 fields where the header has 2");
    assert_eq!(found[2].1, object(json!({"a": "\u{e9}", "b": "2"})));
    assert_eq!(found[3], (5, object(json!({"a": "3", "b": "4"}))));
    assert_eq!(reason(&found[4].1), "has an unclosed quotation mark");
    assert_eq!(found.len(), 5);
}

#[test]
fn an_unclosed_quotation_mark_costs_no_more_than_the_limit() {
    let lines = format!("a,b\n1,\"2\n{}3,4\n", "5,6\n".repeat(500));
    let found = read(lines.as_bytes());
    assert!(reason(&found[0].1).contains("at most 1000"));
    assert_eq!(found.last().unwrap().1, object(json!({"a": "3", "b": "4"})));
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
    assert!(error(b"a,b,a\n").contains("two columns"));
    assert!(error(b"\xff\xfe\0\0a\0\0\0").contains("UTF-32"));
    assert!(read(b"").is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_line_numbers_rise(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::JsonLines, Format::Csv] {
            let form = FeedForm { format, encoding: Some(UTF_8), ..FeedForm::default() };
            let Ok(feed) = opened(&bytes, &form, 40) else { continue };
            let mut last = 0;
            for line in feed { prop_assert!(line.number > last); last = line.number; }
            if format == Format::JsonLines && !matches!(bytes.as_slice(), [0xfe | 0xff | 0x1f | 0x28 | b'P', ..]) {
                let ends = bytes.split(|byte| *byte == b'\n').count() as u64;
                prop_assert!(last == ends || last + 1 == ends);
            }
        }
    }

    #[test]
    fn csv_survives_a_round_trip(table in proptest::collection::vec(proptest::array::uniform2("[a\",\n\u{e9} ]{0,6}"), 1..6)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["x", "y"]).unwrap();
        for row in &table { writer.write_record(row).unwrap(); }
        let bytes = writer.into_inner().unwrap();
        let found: Vec<Row> = read(&bytes).into_iter().map(|(_, row)| row).collect();
        let expected: Vec<Row> = table.iter().map(|[x, y]| object(json!({"x": x, "y": y}))).collect();
        prop_assert_eq!(found, expected);
    }
}
