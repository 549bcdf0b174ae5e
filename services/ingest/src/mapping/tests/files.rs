//! Which files can be read, by example: each file is read here, and is a row of a table in the
//! guide.

use std::fmt::Write as _;

use parquet::basic::Compression;
use vitrine_formats::{Feed, Row};

use super::*;

#[path = "../../../../formats/src/fixtures.rs"]
mod fixtures;

use fixtures::{gzipped, parquet_file, xlsx, zipped};

const START: &str = "<!-- files: generated from services/ingest/src/mapping/tests/files.rs -->\n";
const END: &str = "<!-- end of files -->";

/// What, the name of the file, its content as it is shown, its bytes, settings, how it is read, and
/// its first row.
type Example = (
    &'static str,
    &'static str,
    &'static str,
    fn(&str) -> Vec<u8>,
    &'static str,
    &'static str,
    &'static str,
);

fn plain(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn latin(text: &str) -> Vec<u8> {
    encoding_rs::WINDOWS_1252.encode(text).0.into_owned()
}

fn utf16(text: &str) -> Vec<u8> {
    let units = format!("\u{feff}{text}");
    units.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    gzipped(text.as_bytes())
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

fn zip(text: &str) -> Vec<u8> {
    let files: [(&str, &[u8]); 2] = [("about.txt", b"?"), ("lamps.csv", text.as_bytes())];
    zipped(&files, ::zip::CompressionMethod::Deflated)
}

fn sheet(_: &str) -> Vec<u8> {
    let cell =
        |at: &str, text: &str| format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let header = [cell("A1", "id"), cell("B1", "since")].concat();
    xlsx(&format!(
        "<row r=\"1\">{header}</row>\
         <row r=\"2\"><c r=\"A2\"><v>1</v></c><c r=\"B2\" s=\"1\"><v>46173</v></c></row>"
    ))
}

fn parquet(_: &str) -> Vec<u8> {
    parquet_file(Compression::SNAPPY)
}

const EXAMPLES: &[Example] = &[
    (
        "a list",
        "feed.json",
        r#"[{"id": 1}, {"id": 2}]"#,
        plain,
        "",
        "JSON, rows at .",
        r#"{"id":1}"#,
    ),
    (
        "a list in a document",
        "feed.json",
        r#"{"data": {"products": [{"id": 1}]}}"#,
        plain,
        r#"rows = "data.products""#,
        "JSON, rows at data.products",
        r#"{"id":1}"#,
    ),
    (
        "lists in the items of a list",
        "feed.json",
        r#"{"pages": [{"items": [{"id": 1}]}]}"#,
        plain,
        r#"rows = "pages[].items""#,
        "JSON, rows at pages[].items",
        r#"{"id":1}"#,
    ),
    (
        "the values of an object",
        "feed.json",
        r#"{"products": {"B001": {"name": "Lamp"}, "B002": {"name": "Shelf"}}}"#,
        plain,
        r#"rows = "products.*""#,
        "JSON, rows at products.*",
        r#"{"name":"Lamp","@key":"B001"}"#,
    ),
    (
        "a document that is an object of rows",
        "feed.json",
        r#"{"B001": {"name": "Lamp"}, "B002": {"name": "Shelf"}}"#,
        plain,
        r#"rows = "*""#,
        "JSON, rows at *",
        r#"{"name":"Lamp","@key":"B001"}"#,
    ),
    (
        "a table whose delimiter is found out",
        "feed.csv",
        "id;name\\n1;\"Lamp; red\"",
        plain,
        "",
        "CSV with ;",
        r#"{"id":"1","name":"Lamp; red"}"#,
    ),
    (
        "a table without a header",
        "feed.tsv",
        "1\\tLamp",
        plain,
        r#"columns = ["id", "name"]"#,
        "TSV",
        r#"{"id":"1","name":"Lamp"}"#,
    ),
    (
        "an encoding that the mapping names",
        "feed.csv",
        "id,name\\n1,Stra\u{df}enlampe",
        latin,
        r#"encoding = "windows-1252""#,
        "CSV in windows-1252",
        "{\"id\":\"1\",\"name\":\"Stra\u{df}enlampe\"}",
    ),
    (
        "an encoding that is found out",
        "feed.csv",
        "id,name\\n1,Stra\u{df}enlampe f\u{fc}r M\u{fc}nchen",
        latin,
        "",
        "CSV in windows-1252 (detected)",
        "{\"id\":\"1\",\"name\":\"Stra\u{df}enlampe f\u{fc}r M\u{fc}nchen\"}",
    ),
    (
        "UTF-16 with its byte order mark, as spreadsheets write it",
        "feed.txt",
        "id\\tname\\n1\\tLamp",
        utf16,
        "",
        "TSV in UTF-16LE",
        r#"{"id":"1","name":"Lamp"}"#,
    ),
    (
        "RSS",
        "feed.xml",
        "<rss><channel><item><g:id>1</g:id><g:price>5 EUR</g:price></item></channel></rss>",
        plain,
        "",
        "XML, rows at rss.channel.item",
        r#"{"g:id":"1","g:price":"5 EUR"}"#,
    ),
    (
        "other XML: attributes, repeated elements, text beside attributes",
        "feed.xml",
        "<BMECAT><T_NEW_CATALOG><ARTICLE mode=\"new\"><ID>1</ID><KEYWORD>a</KEYWORD><KEYWORD>b</KEYWORD>\
         <PRICE type=\"net\">5</PRICE></ARTICLE></T_NEW_CATALOG></BMECAT>",
        plain,
        r#"rows = "BMECAT.T_NEW_CATALOG.ARTICLE""#,
        "XML, rows at BMECAT.T_NEW_CATALOG.ARTICLE",
        r##"{"@mode":"new","ID":"1","KEYWORD":["a","b"],"PRICE":{"@type":"net","#text":"5"}}"##,
    ),
    (
        "XML whose prefixes mean nothing",
        "feed.xml",
        "<gdsn:message><gdsn:item><gdsn:gtin>1</gdsn:gtin><name xml:lang=\"en\">Lamp</name></gdsn:item></gdsn:message>",
        plain,
        "rows = \"message.item\"\nlocal_names = true",
        "XML, rows at message.item",
        r##"{"gtin":"1","name":{"@lang":"en","#text":"Lamp"}}"##,
    ),
    (
        "a table below a title",
        "feed.csv",
        "Price list, May\\n\\nid;name\\n1;Lamp",
        plain,
        "skip_lines = 2",
        "CSV with ;",
        r#"{"id":"1","name":"Lamp"}"#,
    ),
    (
        "columns that become a list",
        "feed.csv",
        "id,S,M,L\\n1,9,,12",
        plain,
        r#"unpivot = { columns = ["S", "M", "L"], as = "sizes", name = "size", value = "price" }"#,
        "CSV",
        r#"{"id":"1","sizes":[{"size":"S","price":"9"},{"size":"L","price":"12"}]}"#,
    ),
    (
        "lines that become one row",
        "feed.csv",
        "id,name,size\\n1,Shirt,S\\n1,,M",
        plain,
        r#"gather = { key = "id", as = "lines" }"#,
        "CSV",
        r#"{"id":"1","name":"Shirt","size":"S","lines":[{"id":"1","name":"Shirt","size":"S"},{"id":"1","name":"","size":"M"}]}"#,
    ),
    (
        "a sheet of a workbook",
        "feed.xlsx",
        "A1: id, B1: since, A2: 1, B2: a date",
        sheet,
        r#"sheet = "Lamps""#,
        "Excel, sheet \"Lamps\"",
        r#"{"id":1,"since":"2026-05-31"}"#,
    ),
    (
        "Parquet",
        "feed.parquet",
        "columns of seven types",
        parquet,
        "",
        "Parquet",
        r#"{"id":0,"name":"Tarn","weight":0.1,"since":"2026-05-31","seen":"2026-05-31T12:00:00.5Z","price":"19.99","tags":["Tarn","Clip"]}"#,
    ),
    (
        "gzip",
        "feed.jsonl.gz",
        r#"{"id": 1}"#,
        gzip,
        "",
        "JSON Lines, gzip",
        r#"{"id":1}"#,
    ),
    (
        "Zstandard",
        "feed.jsonl.zst",
        r#"{"id": 1}"#,
        zstd,
        "",
        "JSON Lines, zstd",
        r#"{"id":1}"#,
    ),
    (
        "some files of an archive",
        "feed.zip",
        "about.txt, lamps.csv",
        |_| zip("id,name\n1,Lamp\n"),
        r#"files = "*.csv""#,
        "CSV",
        r#"{"id":"1","name":"Lamp"}"#,
    ),
];

/// How a file is read, and its first row.
fn read(example: &Example) -> (String, String) {
    let (_, name, shown, bytes, settings, ..) = example;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let text = shown.replace("\\n", "\n").replace("\\t", "\t");
    std::fs::write(&path, bytes(&text)).unwrap();
    let mapping = parse(&with(settings)).unwrap();
    let mut feed = Feed::open(&path, mapping.form()).unwrap();
    let described = feed.described().to_owned();
    match feed.next().unwrap().row {
        Row::Object(row) => (described, row.to_string()),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn settings_that_mean_nothing_for_a_format_are_refused() {
    for (settings, expected) in [
        (
            "rows = \"a.**\"",
            "* for every value of an object lead to the rows",
        ),
        ("rows = \"a[0]\"", "only keys, [] for every item of a list"),
        (
            "format = \"csv\"\nlocal_names = true",
            "local_names: has no effect with format = \"csv\"",
        ),
    ] {
        let error = parse(&with(settings)).unwrap_err().to_string();
        assert!(error.contains(expected), "{settings}: {error}");
    }
}

#[test]
fn the_guide_shows_how_files_are_read() {
    let mut table =
        "| what | file | settings | is read as | its first row |\n|---|---|---|---|---|\n"
            .to_owned();
    for example in EXAMPLES {
        let (what, name, shown, _, settings, described, row) = example;
        let expected = ((*described).to_owned(), (*row).to_owned());
        assert_eq!(read(example), expected, "{what}");
        let settings: Vec<String> = settings.lines().map(|line| format!("`{line}`")).collect();
        let settings = settings.join("<br>");
        let _ = writeln!(
            table,
            "| {what} | `{name}`: `{shown}` | {settings} | {described} | `{row}` |"
        );
    }
    super::guide::compare(START, END, &table);
}
