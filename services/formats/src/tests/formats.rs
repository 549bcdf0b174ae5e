//! Each format gives the rows that JSON Lines give.

use super::*;

/// The rows of all formats.
fn expected() -> Vec<Row> {
    let rows = [
        json!({"id": "1", "name": "Tarn Lamp, \"old\"", "note": "Stra\u{df}e"}),
        json!({"id": "2", "name": "Clip\nred", "note": ""}),
    ];
    rows.into_iter().map(Row::Object).collect()
}

fn rows_of(bytes: &[u8], form: &FeedForm) -> (Vec<Row>, String) {
    let feed = opened(bytes, form, 1000).unwrap();
    let described = feed.described().to_owned();
    (feed.map(|line| line.row).collect(), described)
}

#[track_caller]
fn reads(bytes: &[u8], form: &FeedForm, described: &str) {
    assert_eq!(rows_of(bytes, form), (expected(), described.to_owned()));
}

const LINES: &str = "{\"id\":\"1\",\"name\":\"Tarn Lamp, \\\"old\\\"\",\"note\":\"Stra\u{df}e\"}\n\
                     {\"id\":\"2\",\"name\":\"Clip\\nred\",\"note\":\"\"}\n";

#[test]
fn json_lines_and_documents() {
    let form = FeedForm::default();
    reads(LINES.as_bytes(), &form, "JSON Lines");
    let list = LINES.trim().replace('\n', ",\n");
    reads(format!("[{list}]").as_bytes(), &form, "JSON, rows at .");
    let form = FeedForm {
        rows: Some(crate::tests::rows_path("data.products")),
        ..form
    };
    let document = format!("{{\"data\": {{\"count\": 2, \"products\": [{list}]}}}}");
    reads(document.as_bytes(), &form, "JSON, rows at data.products");
}

#[test]
fn a_key_that_an_object_has_twice_costs_the_row() {
    let lines = "{\"id\": 1, \"price\": 5, \"price\": 6}\n{\"id\": 2, \"a\": [{\"b\": 1, \"\\u0062\": 1}]}\n\
                 {\"id\": 3, \"a\": [{\"b\": 1}, {\"b\": 1, \"B\": -2.5}], \"c\": {\"id\": \"\\n\", \"d\": true, \"e\": null}}\n";
    let list = format!("[{}]", lines.trim().replace('\n', ",\n"));
    let rows = [
        Row::Unreadable("has the key \"price\" twice in one object".to_owned()),
        Row::Unreadable("has the key \"b\" twice in one object".to_owned()),
        object(json!({
            "id": 3, "a": [{"b": 1}, {"b": 1, "B": -2.5}], "c": {"id": "\n", "d": true, "e": null}
        })),
    ];
    for text in [lines, &list] {
        assert_eq!(rows_of(text.as_bytes(), &FeedForm::default()).0, rows);
    }
}

/// The rows as a table with this delimiter.
fn table(delimiter: u8) -> String {
    let mut writer = csv::WriterBuilder::new();
    let mut writer = writer.delimiter(delimiter).from_writer(Vec::new());
    writer.write_record(["id", "name", "note"]).unwrap();
    for row in expected() {
        let Row::Object(row) = row else { continue };
        let fields = ["id", "name", "note"].map(|key| row[key].as_str().unwrap().to_owned());
        writer.write_record(fields).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

#[test]
fn tables_with_any_delimiter() {
    let form = FeedForm::default();
    reads(table(b',').as_bytes(), &form, "CSV");
    reads(table(b';').as_bytes(), &form, "CSV with ;");
    reads(table(b'|').as_bytes(), &form, "CSV with |");
    reads(table(b'\t').as_bytes(), &form, "TSV");
    let form = FeedForm {
        delimiter: Some(b'#'),
        ..form
    };
    reads(table(b'#').as_bytes(), &form, "CSV with #");
}

#[test]
fn text_in_any_encoding() {
    let (table, form) = (table(b';'), FeedForm::default());
    let utf16 =
        |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> { table.encode_utf16().flat_map(bytes).collect() };
    let (little, big) = (utf16(u16::to_le_bytes), utf16(u16::to_be_bytes));
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(&table);
    reads(&little, &form, "CSV with ; in UTF-16LE (detected)");
    reads(&big, &form, "CSV with ; in UTF-16BE (detected)");
    let marked = [&[0xff, 0xfe], little.as_slice()].concat();
    reads(&marked, &form, "CSV with ; in UTF-16LE");
    reads(&latin, &form, "CSV with ; in windows-1252 (detected)");
    let declared = FeedForm {
        encoding: Encoding::for_label(b"iso-8859-15"),
        ..form
    };
    reads(&latin, &declared, "CSV with ; in ISO-8859-15");
    let lines: Vec<u8> = LINES.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let form = FeedForm::default();
    reads(&lines, &form, "JSON Lines in UTF-16LE (detected)");
}

#[test]
fn xml_in_any_encoding() {
    let items = expected().into_iter().map(|row| {
        let Row::Object(row) = row else {
            panic!("{row:?}")
        };
        let fields = row.as_object().unwrap().iter().map(|(key, value)| {
            let text = quick_xml::escape::escape(value.as_str().unwrap());
            format!("<{key}>{text}</{key}>")
        });
        format!("<item>{}</item>\n", fields.collect::<String>())
    });
    let items: String = items.collect();
    let document = format!("<rss><channel><title>x</title>{items}</channel></rss>");
    let form = FeedForm::default();
    let described = "XML, rows at rss.channel.item";
    reads(document.as_bytes(), &form, described);
    let declared = format!("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>{document}");
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(&declared);
    reads(&latin, &form, &format!("{described} in windows-1252"));
}

#[test]
fn bytes_without_a_meaning_reject_their_line_and_replace_nothing() {
    let form = FeedForm {
        encoding: Some(encoding_rs::WINDOWS_1252),
        ..FeedForm::default()
    };
    let (rows, _) = rows_of(b"id,name\n1,\xdf\n2,\x81\n3,c\n", &form);
    assert_eq!(rows[0], object(json!({"id": "1", "name": "\u{df}"})));
    assert!(reason(&rows[1]).starts_with("has bytes that are not windows-1252"));
    assert_eq!(rows[2], object(json!({"id": "3", "name": "c"})));
    let mut utf16: Vec<u8> = "a;b\n1;x\n2;y\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let at = utf16.iter().position(|byte| *byte == b'x').unwrap();
    utf16.splice(at..at + 2, [0x00, 0xd8]);
    let (rows, _) = rows_of(&utf16, &FeedForm::default());
    assert!(reason(&rows[0]).contains("not UTF-16LE"), "{rows:?}");
    assert_eq!(rows[1], object(json!({"a": "2", "b": "y"})));
    let text = "a;b\n1;\u{e9}\u{e8}\n2;X\n".as_bytes();
    let mut damaged = text.to_vec();
    let at = damaged.iter().position(|byte| *byte == b'X').unwrap();
    damaged[at] = 0xe9;
    let (rows, described) = rows_of(&damaged, &FeedForm::default());
    assert_eq!(described, "CSV with ;");
    assert!(reason(&rows[1]).contains("not UTF-8"), "{rows:?}");
}

#[test]
fn what_is_packed_is_unpacked_by_its_bytes() {
    let form = FeedForm::default();
    let zstd = zstd::encode_all(LINES.as_bytes(), 1).unwrap();
    reads(&gzipped(LINES.as_bytes()), &form, "JSON Lines, gzip");
    reads(&zstd, &form, "JSON Lines, zstd");
    reads(&gzipped(&zstd), &form, "JSON Lines, gzip, zstd");
    let two = [zstd.as_slice(), zstd.as_slice()].concat();
    assert_eq!(rows_of(&two, &form).0.len(), 4);
    let mut deep = LINES.as_bytes().to_vec();
    for _ in 0..4 {
        deep = gzipped(&deep);
    }
    let error = opened(&deep, &form, 1000).err().unwrap();
    assert_eq!(error, "it is packed more than 3 times");
}

#[test]
fn a_setting_that_the_file_contradicts_is_refused() {
    let form = |format| FeedForm {
        format,
        ..FeedForm::default()
    };
    let error = |bytes: &[u8], format| opened(bytes, &form(format), 1000).err().unwrap();
    assert!(error(b"a,b\n", Format::Excel).starts_with("it is text"));
    assert!(error(b"a,b\n", Format::Parquet).starts_with("it is text"));
    assert!(error(b"PAR1xxxxPAR1", Format::Csv).starts_with("it is Parquet"));
    assert!(error(&[0xd0, 0xcf, 0x11, 0xe0], Format::Auto).contains("save it as xlsx"));
}
