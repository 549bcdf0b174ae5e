use serde_json::json;

use super::*;
use crate::FeedForm;
use crate::fixtures::{xlsx, zipped};
use crate::{Feed, FeedLine};

const ROWS: &str = "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"inlineStr\"><is><t>name</t></is></c>\
    <c r=\"D2\" t=\"inlineStr\"><is><t>since</t></is></c></row>\
    <row r=\"3\"><c r=\"A3\"><v>7</v></c><c r=\"B3\" t=\"s\"><v>1</v></c><c r=\"C3\" t=\"b\"><v>1</v></c>\
    <c r=\"D3\" s=\"1\"><v>46173</v></c></row>\
    <row r=\"6\"><c r=\"A6\"><v>0.1</v></c><c r=\"D6\" s=\"2\"><v>46173.5</v></c><c r=\"E6\" t=\"e\"><v>#N/A</v></c></row>";

fn form(sheet: &str) -> FeedForm {
    FeedForm {
        sheet: Some(sheet.to_owned()),
        ..FeedForm::default()
    }
}

fn read(bytes: &[u8], form: &FeedForm) -> (Vec<FeedLine>, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let feed = Feed::open(file.path(), form).unwrap();
    let described = feed.described().to_owned();
    (feed.collect(), described)
}

#[test]
fn the_rows_of_a_sheet_are_read_with_their_numbers_and_types() {
    let (lines, described) = read(&xlsx(ROWS), &form("Lamps"));
    assert_eq!(described, "Excel, sheet \"Lamps\"");
    let rows: Vec<(u64, Row)> = lines
        .into_iter()
        .map(|line| (line.number, line.row))
        .collect();
    let first = json!({"id": 7, "name": "Stra\u{df}e & co", "C": true, "since": "2026-05-31"});
    let last =
        json!({"id": 0.1, "name": null, "C": null, "since": "2026-05-31T12:00:00Z", "E": "#N/A"});
    assert_eq!(
        rows,
        [
            (3, Row::Object(first)),
            (4, Row::Blank),
            (5, Row::Blank),
            (6, Row::Object(last)),
        ]
    );
}

#[test]
fn the_mapping_names_the_sheet_and_the_columns() {
    let file = xlsx(ROWS);
    let columns = FeedForm {
        columns: Some(vec!["n".to_owned()]),
        ..FeedForm::default()
    };
    let (lines, described) = read(&file, &columns);
    assert_eq!(described, "Excel, sheet \"Notes\"");
    assert_eq!(lines[0].row, Row::Object(json!({"n": 1})));
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file).unwrap();
    let refused = Feed::open(path.path(), &form("Lmaps")).err().unwrap();
    assert!(
        refused
            .to_string()
            .ends_with("there are \"Notes\", \"Lamps\""),
        "{refused}"
    );
}

#[test]
fn a_damaged_sheet_is_read_up_to_the_damage() {
    let rows = format!("{ROWS}<row r=\"7\"><c r=\"A7\"><v>9</x></c></row>");
    let (lines, _) = read(&xlsx(&rows), &form("Lamps"));
    let last = lines.last().unwrap();
    // That a row is whole is known when the next one begins.
    assert_eq!(lines.len(), 2);
    assert!(
        matches!(&last.row, Row::Broken(reason) if reason.contains("up to line 3")),
        "{last:?}"
    );
    // Rows that go backwards, and a text that is not among the shared ones.
    for wrong in [
        "<row r=\"2\"><c r=\"A2\"><v>9</v></c></row>",
        "<row r=\"7\"><c r=\"A7\" t=\"s\"><v>99</v></c></row>",
    ] {
        let (lines, _) = read(&xlsx(&format!("{ROWS}{wrong}")), &form("Lamps"));
        let last = lines.last().unwrap();
        assert!(matches!(&last.row, Row::Broken(_)), "{last:?}");
    }
}

#[test]
fn an_open_document_is_read() {
    const NAMES: &str = "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
        xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" \
        xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"";
    let text = |text: &str| {
        format!(
            "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let number = "<table:table-cell office:value-type=\"float\" office:value=\"7\"><text:p>7</text:p></table:table-cell>";
    let rows = format!(
        "<table:table-row>{}{}</table:table-row><table:table-row>{number}{}</table:table-row>",
        text("id"),
        text("name"),
        text("Tarn")
    );
    let content = format!(
        "<office:document-content {NAMES}><office:body><office:spreadsheet><table:table table:name=\"T\">{rows}\
         </table:table></office:spreadsheet></office:body></office:document-content>"
    );
    let kind = "application/vnd.oasis.opendocument.spreadsheet";
    let manifest = "<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\"/>";
    let files = [
        ("mimetype", kind.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", manifest.as_bytes()),
    ];
    let file = zipped(&files, zip::CompressionMethod::Deflated);
    let (lines, described) = read(&file, &FeedForm::default());
    assert_eq!(described, "OpenDocument, sheet \"T\"");
    assert_eq!(lines[0].row, Row::Object(json!({"id": 7, "name": "Tarn"})));
}

#[test]
fn columns_have_letters() {
    for (column, expected) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")] {
        assert_eq!(letters(column), expected);
    }
}
