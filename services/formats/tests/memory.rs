//! Whatever a file says about itself, reading it takes bounded memory.
//!
//! A binary of its own, with one test: the allocator counts what the whole process has.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::path::Path;

use parquet::basic::Compression;
use peak_alloc::PeakAlloc;
use vitrine_formats::{FeedForm, Feeds, Row, RowsPath, RowsStep};
use zip::CompressionMethod;

#[path = "../src/fixtures.rs"]
mod fixtures;

use fixtures::{gzipped, parquet_file, workbook, xlsx, zipped};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading each of these files may take. It is far less than what they say about themselves.
const MAX_BYTES: usize = 96 * 1024 * 1024;
/// A line that is much longer than one may be.
const UNPACKED_BYTES: usize = 65 * 1024 * 1024;

/// A file that says or unpacks to more than is read.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    rows: Option<&'static str>,
    /// A part of the reason why it is not read on.
    reason: &'static str,
}

fn case(name: &'static str, bytes: Vec<u8>, reason: &'static str) -> Case {
    let rows = None;
    Case {
        name,
        bytes,
        rows,
        reason,
    }
}

fn at(rows: &'static str, case: Case) -> Case {
    Case {
        rows: Some(rows),
        ..case
    }
}

/// A workbook with a header and these rows.
fn sheet(rows: &str) -> Vec<u8> {
    let header = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>";
    workbook(&[("S", "", &format!("{header}{rows}"))], "", "")
}

fn spreadsheets() -> Vec<Case> {
    let long = "x".repeat(5 * 1024 * 1024);
    let long = format!("<row r=\"2\"><c t=\"inlineStr\"><is><t>{long}</t></is></c></row>");
    let styles = format!(
        "<cellXfs>{}</cellXfs>",
        "<xf numFmtId=\"0\"/>".repeat(70_000)
    );
    vec![
        // It says that it has 99,999,999,999 shared texts.
        case(
            "texts.xlsx",
            xlsx("<row r=\"1\"><c t=\"s\"><v>0</v></c></row>"),
            "has no row that can be read",
        ),
        case(
            "row.xlsx",
            sheet("<row r=\"4000000000\"><c><v>1</v></c></row>"),
            "at most 1048576 rows",
        ),
        case(
            "column.xlsx",
            sheet("<row r=\"2\"><c r=\"ZZZZZZ2\"><v>1</v></c></row>"),
            "more than 16384 columns",
        ),
        case(
            "text.xlsx",
            sheet(&long),
            "a text or tag of more than 4194304 bytes",
        ),
        case(
            "deep.xlsx",
            sheet(&"<a>".repeat(1_000_000)),
            "more than 256 levels",
        ),
        case(
            "styles.xlsx",
            workbook(
                &[("S", "", "<row/>")],
                &styles,
                "<dimension ref=\"A1:XFD1048576\"/>",
            ),
            "more than 65536 styles",
        ),
    ]
}

fn packed() -> Vec<Case> {
    let zeros = vec![b' '; UNPACKED_BYTES];
    let files: [(&str, &[u8]); 1] = [("a.jsonl", &zeros)];
    let mut footer = parquet_file(Compression::UNCOMPRESSED);
    let end = footer.len() - 8;
    footer[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    vec![
        case("zeros.gz", gzipped(&zeros), "at most 4194304 are allowed"),
        case(
            "zeros.zip",
            zipped(&files, CompressionMethod::Deflated),
            "more than 1000 times its size",
        ),
        case("footer.parquet", footer, "at most 33554432 are read"),
    ]
}

/// An object of 120 MB with many values, of which one is damaged.
fn values_of_an_object() -> String {
    let name = "x".repeat(1000);
    let values = (0..120_000).map(|n| match n {
        60_000 => format!("\"{n}\": {{\"name\": {name}}}"),
        n => format!("\"{n}\": {{\"name\": \"{name}\"}}"),
    });
    format!("{{{}}}", values.collect::<Vec<_>>().join(",\n"))
}

fn texts() -> Vec<Case> {
    let open = format!(
        "a,b\n1,\"{}\n",
        format!("{}\n", "x".repeat(99)).repeat(200_000)
    );
    let wide = format!("a,b\n1{}\n", ",1".repeat(2_000_000));
    vec![
        case(
            "open.csv",
            open.into_bytes(),
            "has a quotation mark that is not closed",
        ),
        case(
            "wide.csv",
            wide.into_bytes(),
            "has 16385 fields where the header has 2",
        ),
        case(
            "deep.json",
            "[".repeat(2_000_000).into_bytes(),
            "deeper than 1000 levels",
        ),
        at(
            "*",
            case(
                "values.json",
                values_of_an_object().into_bytes(),
                "is not JSON",
            ),
        ),
        at(
            "a.b",
            case(
                "deep.xml",
                "<a>".repeat(1_000_000).into_bytes(),
                "deeper than 1000 levels",
            ),
        ),
        at(
            "a.b",
            case(
                "text.xml",
                format!("<a><b>{}", "x".repeat(20_000_000)).into_bytes(),
                "longer than 16777216 bytes",
            ),
        ),
    ]
}

/// The place of rows: keys, or `*` for every value of an object.
fn place(text: &str) -> RowsPath {
    let steps = text.split('.').map(|step| match step {
        "*" => RowsStep::Any,
        key => RowsStep::Key(key.to_owned()),
    });
    steps.collect()
}

/// The most memory that reading a file takes, and why lines of it are not read.
fn read(path: &Path, rows: Option<&str>) -> (usize, Vec<String>) {
    let form = FeedForm {
        rows: rows.map(place),
        ..FeedForm::default()
    };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut reasons = Vec::new();
    for feed in Feeds::open(&[path.to_owned()], &form).unwrap() {
        for line in feed.unwrap() {
            match line.row {
                Row::Unreadable(reason) | Row::Broken(reason) if reasons.len() < 100 => {
                    reasons.push(reason);
                }
                _ => {}
            }
        }
    }
    (MEMORY.peak_usage().saturating_sub(before), reasons)
}

#[test]
fn files_that_say_too_much_take_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    for make in [spreadsheets, packed, texts] {
        for case in make() {
            let path = folder.path().join(case.name);
            std::fs::write(&path, &case.bytes).unwrap();
            let (memory, reasons) = read(&path, case.rows);
            let found = reasons.iter().any(|reason| reason.contains(case.reason));
            assert!(found, "{}: {reasons:?}", case.name);
            assert!(memory < MAX_BYTES, "{}: {memory} bytes", case.name);
        }
    }
}
