use serde_json::json;

use super::*;
use crate::FeedForm;
use crate::fixtures::{workbook, xlsx, zipped};
use crate::{Feed, FeedLine};

const ROWS: &str = "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"inlineStr\"><is><t> name </t></is></c>\
    <c r=\"D2\" t=\"inlineStr\"><is><t>since</t></is></c></row>\
    <row r=\"3\"><c r=\"A3\"><v>7</v></c><c r=\"B3\" t=\"s\"><v>1</v></c><c r=\"C3\" t=\"b\"><v>1</v></c>\
    <c r=\"D3\" s=\"1\"><v>46173</v></c></row>\
    <row r=\"6\"><c r=\"A6\"><v>0.1</v></c><c r=\"D6\" s=\"2\"><v>46173.5</v></c><c r=\"E6\"><v>5</v></c></row>";

fn form(sheet: &str) -> FeedForm {
    FeedForm {
        sheet: Some(sheet.to_owned()),
        ..FeedForm::default()
    }
}

fn opened(bytes: &[u8], form: &FeedForm) -> Result<Feed, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Feed::open(file.path(), form).map_err(|error| error.to_string())
}

fn read(bytes: &[u8], form: &FeedForm) -> (Vec<FeedLine>, String) {
    let feed = opened(bytes, form).unwrap();
    let described = feed.described().to_owned();
    (feed.collect(), described)
}

/// The objects of the rows, with the places and reasons of bad cells.
fn rows(bytes: &[u8]) -> (Vec<Value>, Vec<String>) {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for line in read(bytes, &FeedForm::default()).0 {
        let cells = line.cells.iter();
        problems.extend(cells.map(|cell| format!("{} {} {}", cell.column, cell.cell, cell.reason)));
        match line.row {
            Row::Object(row) => rows.push(row),
            Row::Unreadable(reason) | Row::Broken(reason) => problems.push(reason),
            Row::Blank | Row::Gathered => {}
        }
    }
    (rows, problems)
}

/// A row of a sheet whose cells are inside of it.
fn row(cells: &[&str]) -> String {
    format!("<row>{}</row>", cells.concat())
}

fn text(text: &str) -> String {
    format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

/// A workbook of one sheet with the columns a and b.
fn sheet(rows: &[String], styles: &str, settings: &str) -> Vec<u8> {
    let rows = row(&[&text("a"), &text("b")]) + &rows.concat();
    workbook(&[("S", "", &rows)], styles, settings)
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
    let last = json!({"id": 0.1, "name": null, "since": "2026-05-31T12:00:00Z", "E": 5});
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
    assert_eq!(described, "Excel, sheet \"Notes\", not read: \"Lamps\"");
    assert_eq!(lines[0].row, Row::Object(json!({"n": 1})));
    let refused = opened(&file, &form("Lmaps")).err().unwrap();
    assert!(
        refused.ends_with("there are \"Notes\", \"Lamps\""),
        "{refused}"
    );
}

#[test]
fn the_first_sheet_that_is_not_hidden_is_read() {
    let rows = row(&[&text("a")]) + &row(&[&text("x")]);
    let sheets = [
        ("Lists", "state=\"hidden\"", "<row><c><v>1</v></c></row>"),
        ("Products", "", rows.as_str()),
        ("More", "state=\"visible\"", ""),
        ("Old", "state=\"veryHidden\"", ""),
    ];
    let (lines, described) = read(&workbook(&sheets, "", ""), &FeedForm::default());
    assert_eq!(lines[0].row, Row::Object(json!({"a": "x"})));
    let expected = "Excel, sheet \"Products\", not read: \"More\", hidden: \"Lists\", \"Old\"";
    assert_eq!(described, expected);
    let (lines, _) = read(&workbook(&sheets, "", ""), &form("Lists"));
    assert!(matches!(lines[0].row, Row::Broken(_)));
}

#[test]
fn percentages_are_what_a_person_sees() {
    let styles = "<numFmts><numFmt numFmtId=\"170\" formatCode=\"0.0%\"/></numFmts>\
        <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"9\"/><xf numFmtId=\"170\"/></cellXfs>";
    let line = row(&["<c s=\"1\"><v>0.19</v></c>", "<c s=\"2\"><v>0.125</v></c>"]);
    let (found, _) = rows(&sheet(&[line], styles, ""));
    assert_eq!(found, [json!({"a": "19%", "b": "12.5%"})]);
}

#[test]
fn a_cell_without_a_value_is_null_and_reported() {
    let bad = [
        "<c t=\"e\"><f>1/0</f><v>#DIV/0!</v></c>",
        "<c t=\"e\"><v>#SPILL!</v></c>",
        "<c><f>A1*2</f></c>",
        "<c><f>A1*2</f><v></v></c>",
        "<c t=\"s\"><v>99</v></c>",
        "<c t=\"n\"><v>abc</v></c>",
    ];
    let lines: Vec<String> = bad.iter().map(|cell| row(&[&text("x"), cell])).collect();
    let (found, problems) = rows(&sheet(&lines, "", ""));
    assert_eq!(found, vec![json!({"a": "x", "b": null}); bad.len()]);
    assert_eq!(problems[0], "b B2 is the error #DIV/0!");
    assert_eq!(problems[1], "b B3 is the error #SPILL!");
    assert!(problems[2].starts_with("b B4 is a formula without a computed result; open"));
    assert_eq!(problems[2][5..], problems[3][5..]);
    assert!(problems[4].contains("shared text 99"));
    assert_eq!(problems[5], "b B7 is \"abc\", which is no number");
}

#[test]
fn formulas_that_are_to_be_computed_when_opened_have_no_result() {
    let lines = [
        row(&["<c><v>1</v></c>", "<c><f>A2</f><v>0</v></c>"]),
        row(&["<c><v>2</v></c>", "<c t=\"str\"><f>A2</f><v>in</v></c>"]),
    ];
    let settings = "<calcPr calcId=\"1\" fullCalcOnLoad=\"1\"/>";
    let (found, problems) = rows(&sheet(&lines, "", settings));
    assert_eq!(
        found,
        [json!({"a": 1, "b": null}), json!({"a": 2, "b": null})]
    );
    assert_eq!(problems.len(), 2);
    let (found, problems) = rows(&sheet(&lines, "", "<calcPr calcId=\"1\"/>"));
    assert_eq!(found, [json!({"a": 1, "b": 0}), json!({"a": 2, "b": "in"})]);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn numbers_times_and_padded_codes_are_what_a_person_sees() {
    let styles = "<numFmts><numFmt numFmtId=\"164\" formatCode=\"00000000000000\"/>\
        <numFmt numFmtId=\"165\" formatCode=\"hh:mm\"/><numFmt numFmtId=\"166\" formatCode=\"[h]:mm\"/></numFmts>\
        <cellStyleXfs><xf numFmtId=\"14\"/></cellStyleXfs>\
        <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/><xf numFmtId=\"165\"/><xf numFmtId=\"166\"/></cellXfs>";
    let lines = [
        row(&[
            "<c s=\"1\"><v>12345670</v></c>",
            "<c s=\"0\"><f>1</f><v>5.170000000000001</v></c>",
        ]),
        row(&[
            "<c s=\"2\"><v>0.6041666666666666</v></c>",
            "<c s=\"3\"><v>1.5</v></c>",
        ]),
    ];
    for settings in ["", "<workbookPr date1904=\"1\"/>"] {
        let (found, problems) = rows(&sheet(&lines, styles, settings));
        assert_eq!(
            found,
            [
                json!({"a": "00000012345670", "b": 5.17}),
                json!({"a": "14:30:00", "b": "36:00:00"})
            ]
        );
        assert_eq!(problems, Vec::<String>::new());
    }
}

#[test]
fn columns_have_the_names_that_csv_gives_them() {
    let header = row(&[&text(" id "), "<c/>", &text("size"), &text("size"), "<c/>"]);
    let first = row(&["<c><v>1</v></c>", "<c/>", &text("S"), "<c/>", "<c/>"]);
    let second = row(&[
        "<c><v>2</v></c>",
        &text("x"),
        &text("S"),
        &text("M"),
        "<c/>",
        &text("y"),
    ]);
    let (found, _) = rows(&workbook(
        &[("S", "", &(header + &first + &second))],
        "",
        "",
    ));
    assert_eq!(
        found,
        [
            json!({"id": 1, "size": ["S", null]}),
            json!({"id": 2, "B": "x", "size": ["S", "M"], "F": "y"}),
        ]
    );
}

#[test]
fn a_damaged_sheet_is_read_up_to_the_damage() {
    for wrong in [
        "<row r=\"7\"><c r=\"A7\"><v>9</x></c></row>",
        "<row r=\"2\"><c r=\"A2\"><v>9</v></c></row>",
        "<row r=\"seven\"/>",
        "<row r=\"1048577\"><c><v>1</v></c></row>",
        "<row r=\"99999999999\"><c><v>1</v></c></row>",
    ] {
        let (lines, _) = read(&xlsx(&format!("{ROWS}{wrong}")), &form("Lamps"));
        let last = lines.last().unwrap();
        assert!(matches!(&last.row, Row::Broken(_)), "{wrong}: {last:?}");
        assert!(lines.len() <= 5, "{wrong}: {} lines", lines.len());
    }
}

#[test]
fn rows_that_are_too_wide_or_too_long_cost_themselves() {
    let long = text(&"x".repeat(3 * 1024 * 1024));
    let lines = [
        "<row><c r=\"XFE2\"><v>1</v></c></row>".to_owned(),
        "<row><c r=\"ZZZZZZZZZZZZZZZZZZZZ3\"><v>1</v></c></row>".to_owned(),
        row(&[&long, &long]),
        row(&[&text("x"), &text("y")]),
    ];
    let (found, problems) = rows(&sheet(&lines, "", ""));
    assert_eq!(found, [json!({"a": "x", "b": "y"})]);
    assert_eq!(
        problems[..2],
        ["has more than 16384 columns", "has more than 16384 columns"]
    );
    assert!(
        problems[2].contains("at most 4194304 are allowed"),
        "{}",
        problems[2]
    );
}

const TEXTS: &str = "<table:table-row><table:table-cell office:value-type=\"string\"><text:p>a</text:p></table:table-cell>\n\
     <table:table-cell office:value-type=\"string\"><text:p>b</text:p></table:table-cell></table:table-row>\n";

/// A spreadsheet of `OpenDocument` with this body.
fn ods(styles: &str, tables: &str) -> Vec<u8> {
    const NAMES: &str = "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
        xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" \
        xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" \
        xmlns:calcext=\"urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0\" \
        xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"";
    let content = format!(
        "<office:document-content {NAMES}><office:automatic-styles>{styles}</office:automatic-styles>\
         <office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    );
    let kind = "application/vnd.oasis.opendocument.spreadsheet";
    let manifest = "<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\"/>";
    let files = [
        ("mimetype", kind.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", manifest.as_bytes()),
    ];
    zipped(&files, zip::CompressionMethod::Deflated)
}

/// A spreadsheet of one sheet with the columns a and b and these rows, each with the text x in a.
fn open_document(cells: &[&str]) -> Vec<u8> {
    let x = "<table:table-cell office:value-type=\"string\"><text:p>x</text:p></table:table-cell>";
    let rows = cells
        .iter()
        .map(|cell| format!("<table:table-row>\n{x}\n{cell}\n</table:table-row>"));
    ods(
        "",
        &format!(
            "<table:table table:name=\"T\">{TEXTS}{}</table:table>",
            rows.collect::<Vec<_>>().concat()
        ),
    )
}

#[test]
fn the_values_of_an_open_document_are_those_of_excel() {
    let cell = |attributes: &str, text: &str| {
        format!("<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>")
    };
    let cells = [
        (cell("office:value-type=\"float\" office:value=\"5.170000000000001\"", "5.17"), json!(5.17)),
        (
            cell("office:value-type=\"float\" office:value=\"12345670\"", "00012345670"),
            json!("00012345670"),
        ),
        (cell("office:value-type=\"float\" office:value=\"0\"", "0"), json!(0)),
        (cell("office:value-type=\"percentage\" office:value=\"0.125\"", "13%"), json!("12.5%")),
        (cell("office:value-type=\"currency\" office:value=\"7\"", "7,00 \u{20ac}"), json!(7)),
        (cell("office:value-type=\"date\" office:date-value=\"2026-05-31\"", "31.05."), json!("2026-05-31")),
        (
            cell("office:value-type=\"date\" office:date-value=\"2026-05-31T12:00:00\"", "31.05."),
            json!("2026-05-31T12:00:00Z"),
        ),
        (cell("office:value-type=\"time\" office:time-value=\"PT14H30M00S\"", "14:30"), json!("14:30:00")),
        (cell("office:value-type=\"time\" office:time-value=\"PT36H00M00S\"", "36:00"), json!("36:00:00")),
        (cell("office:value-type=\"boolean\" office:boolean-value=\"true\"", "WAHR"), json!(true)),
        (cell("office:value-type=\"string\"", "a<text:s text:c=\"2\"/>b &amp; <text:span>c</text:span>"), json!("a  b & c")),
        (
            "<table:table-cell office:value-type=\"string\"><office:annotation><text:p>note</text:p></office:annotation>\n\
             <text:p>one</text:p>\n<text:p>two<text:line-break/>three</text:p></table:table-cell>".to_owned(),
            json!("one\ntwo\nthree"),
        ),
        ("<table:table-cell/>".to_owned(), json!(null)),
    ];
    let written: Vec<&str> = cells.iter().map(|(cell, _)| cell.as_str()).collect();
    let (found, problems) = rows(&open_document(&written));
    let expected: Vec<Value> = cells
        .iter()
        .map(|(_, value)| json!({"a": "x", "b": value}))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn errors_and_formulas_of_an_open_document_are_reported() {
    let (found, problems) = rows(&open_document(&[
        "<table:table-cell table:formula=\"of:=1/0\" office:value-type=\"string\" office:string-value=\"\" \
         calcext:value-type=\"error\"><text:p>#DIV/0!</text:p></table:table-cell>",
        "<table:table-cell table:formula=\"of:=1/0\" office:value-type=\"float\" office:value=\"0\">\
         <text:p>Err:502</text:p></table:table-cell>",
        "<table:table-cell table:formula=\"of:=A1\"/>",
    ]));
    assert_eq!(found, vec![json!({"a": "x", "b": null}); 3]);
    assert_eq!(
        problems[..2],
        ["b B2 is the error #DIV/0!", "b B3 is the error Err:502"]
    );
    assert!(problems[2].starts_with("b B4 is a formula without"));
}

#[test]
fn hidden_sheets_and_repeated_cells_of_an_open_document() {
    let styles = "<style:style style:name=\"ta1\" style:family=\"table\"><style:table-properties table:display=\"false\"/></style:style>\
        <style:style style:name=\"ta2\" style:family=\"table\"><style:table-properties table:display=\"true\"/></style:style>";
    let repeated = "<table:table-row table:number-rows-repeated=\"2\"><table:table-cell office:value-type=\"float\" \
        office:value=\"1\" table:number-columns-repeated=\"2\"/><table:table-cell table:number-columns-repeated=\"16382\"/>\
        </table:table-row><table:table-row table:number-rows-repeated=\"1048573\"><table:table-cell/></table:table-row>";
    let tables = format!(
        "<table:table table:name=\"H\" table:style-name=\"ta1\">{TEXTS}</table:table>\n\
         <table:table table:name=\"P\" table:style-name=\"ta2\">{TEXTS}{repeated}</table:table>"
    );
    let (lines, described) = read(&ods(styles, &tables), &FeedForm::default());
    assert_eq!(described, "OpenDocument, sheet \"P\", hidden: \"H\"");
    let rows: Vec<_> = lines.iter().map(|line| (line.number, &line.row)).collect();
    let expected = Row::Object(json!({"a": 1, "b": 1}));
    assert_eq!(rows, [(2, &expected), (3, &expected)]);
}

#[test]
fn what_is_only_said_to_be_repeated_is_bounded() {
    let cell = "<table:table-cell office:value-type=\"float\" office:value=\"1\"/>";
    for row in [
        format!("<table:table-row table:number-rows-repeated=\"99999999999\">{cell}</table:table-row>"),
        "<table:table-row table:number-rows-repeated=\"100\"><table:table-cell office:value-type=\"float\" \
         office:value=\"1\" table:number-columns-repeated=\"16384\"/></table:table-row>".to_owned(),
    ] {
        let table = format!("<table:table table:name=\"T\">{TEXTS}{row}</table:table>");
        let (_, problems) = rows(&ods("", &table));
        let last = problems.last().unwrap();
        assert!(last.contains("more than 1000000 cells of the sheet"), "{last}");
    }
}

#[test]
fn parts_beyond_their_limits_are_refused() {
    let style = "<xf numFmtId=\"0\"/>".repeat(70_000);
    let (_, problems) = rows(&sheet(
        &[row(&[&text("x")])],
        &format!("<cellXfs>{style}</cellXfs>"),
        "",
    ));
    assert!(
        problems[0].contains("more than 65536 styles"),
        "{problems:?}"
    );
    let deep = "<a>".repeat(300);
    let (_, problems) = rows(&sheet(&[deep], "", ""));
    assert!(problems[0].contains("more than 256 levels"), "{problems:?}");
    let long = text(&"x".repeat(5 * 1024 * 1024));
    let (_, problems) = rows(&sheet(&[row(&[&long])], "", ""));
    assert!(
        problems[0].contains("text or tag of more than 4194304 bytes"),
        "{problems:?}"
    );
    let large = " ".repeat(3 * 1024 * 1024);
    let settings = format!("<a/>{large}").repeat(6);
    let refused = opened(&sheet(&[], "", &settings), &FeedForm::default())
        .err()
        .unwrap();
    assert!(
        refused.contains("is larger than 16 MiB, and would be held in memory"),
        "{refused}"
    );
}

#[test]
fn other_spreadsheets_are_refused_with_advice() {
    let binary = zipped(&[("xl/workbook.bin", b"x")], zip::CompressionMethod::Stored);
    let refused = opened(&binary, &FeedForm::default()).err().unwrap();
    assert!(refused.ends_with("(xlsb); save it as xlsx"), "{refused}");
    let files = [
        ("content.xml", b"x".as_slice()),
        ("META-INF/manifest.xml", b"<m:encryption-data/>"),
    ];
    let locked = zipped(&files, zip::CompressionMethod::Stored);
    let refused = opened(&locked, &FeedForm::default()).err().unwrap();
    assert!(refused.contains("it has a password"), "{refused}");
}

proptest::proptest! {
    #[test]
    fn a_damaged_sheet_ends_in_rows_or_reasons(at in 0..2000_usize, sign in 0x20..0x7f_u8) {
        let mut rows = ROWS.to_owned();
        let at = at % rows.len();
        rows.replace_range(at..=at, &char::from(sign).to_string());
        let cell = "<table:table-cell office:value-type=\"float\" office:value=\"1\" table:number-columns-repeated=\"2\"/>";
        let mut table = format!("<table:table table:name=\"T\">{TEXTS}<table:table-row>{cell}</table:table-row></table:table>");
        let place = at % table.len();
        table.replace_range(place..=place, &char::from(sign).to_string());
        for bytes in [xlsx(&rows), ods("", &table)] {
            let Ok(feed) = opened(&bytes, &FeedForm::default()) else { continue };
            let mut last = 0;
            for line in feed {
                proptest::prop_assert!(line.number > last);
                last = line.number;
            }
        }
        let Ok(feed) = opened(&xlsx(&rows), &form("Lamps")) else { return Ok(()) };
        let is_damaged = |line: FeedLine| matches!(line.row, Row::Broken(reason) if reason.contains("damaged"));
        proptest::prop_assert!(!feed.into_iter().any(is_damaged), "a panic: {}", rows);
    }
}

#[test]
fn columns_have_letters() {
    for (column, expected) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")] {
        assert_eq!(letters(column), expected);
    }
}
