//! Memory stays flat: a feed that is five times as long takes no more of it.
//!
//! A binary of its own, with one test: the allocator counts what the whole process has.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use peak_alloc::PeakAlloc;
use vitrine_formats::{FeedForm, Feeds, Row, RowsPath};
use vitrine_ingest::draft::{Drafter, LineStatus};
use vitrine_ingest::mapping::Mapping;
use zip::write::{SimpleFileOptions, ZipWriter};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const FEW: usize = 6_000;
const MANY: usize = 5 * FEW;
const GROUP: usize = FEW / 8;
/// How much more the longer feed may take: a third of a byte for each row that it is longer by.
const TOLERANCE: usize = 8 * 1024;
/// The same where a thread reads ahead, because how far it is ahead depends on chance, and for Parquet, whose files have a
/// list of row groups: eight bytes for each row.
const TOLERANCE_AHEAD: usize = 8 * (MANY - FEW);

/// The text of a row: they differ, so that nothing is shared or packed to nothing.
fn text(row: usize) -> String {
    let digest = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{row} {digest:016x}{digest:064b}")
}

type Write = fn(&mut dyn std::io::Write, usize);

fn json_lines(out: &mut dyn std::io::Write, rows: usize) {
    for row in 0..rows {
        writeln!(out, "{{\"a\":\"{}\"}}", text(row)).unwrap();
    }
}

fn json(out: &mut dyn std::io::Write, rows: usize) {
    write!(out, "{{\"r\":[{{}}").unwrap();
    for row in 1..rows {
        write!(out, ",{{\"a\":\"{}\"}}", text(row)).unwrap();
    }
    write!(out, "]}}").unwrap();
}

fn csv(out: &mut dyn std::io::Write, rows: usize) {
    writeln!(out, "a;b").unwrap();
    for row in 0..rows {
        writeln!(out, "{};", text(row)).unwrap();
    }
}

fn utf16(out: &mut dyn std::io::Write, rows: usize) {
    let mut text = Vec::new();
    csv(&mut text, rows);
    for byte in text {
        out.write_all(&[byte, 0]).unwrap();
    }
}

fn xml(out: &mut dyn std::io::Write, rows: usize) {
    write!(out, "<r>").unwrap();
    for row in 0..rows {
        write!(out, "<r><a>{}</a></r>", text(row)).unwrap();
    }
    write!(out, "</r>").unwrap();
}

fn gzip(out: &mut dyn std::io::Write, rows: usize) {
    let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
    json_lines(&mut gzip, rows);
    gzip.finish().unwrap();
}

fn zstd(out: &mut dyn std::io::Write, rows: usize) {
    let mut zstd = zstd::Encoder::new(out, 1).unwrap();
    json_lines(&mut zstd, rows);
    zstd.finish().unwrap();
}

/// An archive with files of so many rows in all.
fn zip(out: &mut dyn std::io::Write, rows: usize) {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["a.jsonl", "b.jsonl"] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        json_lines(&mut zip, rows / 2);
    }
    out.write_all(zip.finish().unwrap().get_ref()).unwrap();
}

fn xlsx(out: &mut dyn std::io::Write, rows: usize) {
    const TYPE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |id: &str, kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id=\"{id}\" Type=\"{TYPE}/{kind}\" Target=\"{target}\"/></Relationships>"
        )
    };
    let mut cells = "<worksheet><sheetData>".to_owned();
    for row in 1..=rows + 1 {
        let text = text(row);
        let _ = write!(
            cells,
            "<row r=\"{row}\"><c r=\"A{row}\" t=\"inlineStr\"><is><t>{text}</t></is></c></row>"
        );
    }
    cells += "</sheetData></worksheet>";
    let book = format!(
        "<workbook xmlns:r=\"{TYPE}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
    );
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [
        (
            "_rels/.rels",
            relation("r1", "officeDocument", "xl/workbook.xml"),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            relation("r1", "worksheet", "worksheets/s.xml"),
        ),
        ("xl/workbook.xml", book),
        ("xl/worksheets/s.xml", cells),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    out.write_all(zip.finish().unwrap().get_ref()).unwrap();
}

/// Row groups of [`GROUP`] rows: writers make them of a bounded size.
fn parquet(out: &mut dyn std::io::Write, rows: usize) {
    let schema = parse_message_type("message r { required binary a (STRING); }").unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .build();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in 0..rows / GROUP {
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let first = group * GROUP;
        let texts: Vec<ByteArray> = (first..first + GROUP)
            .map(|row| ByteArray::from(text(row).into_bytes()))
            .collect();
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&texts, None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
    out.write_all(&file).unwrap();
}

/// The most memory that reading a file takes, and the number of its rows.
fn read(path: &Path, rows: Option<&str>) -> (usize, usize) {
    let form = FeedForm {
        rows: rows.map(|rows| RowsPath::of_keys(rows.split('.'))),
        ..FeedForm::default()
    };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut count = 0;
    for feed in Feeds::open(&[path.to_owned()], &form).unwrap() {
        for line in feed.unwrap() {
            assert!(matches!(line.row, Row::Object(_)), "{line:?}");
            count += 1;
        }
    }
    (MEMORY.peak_usage().saturating_sub(before), count)
}

/// The most memory that reading a feed from a server takes, and the number of its rows.
fn fetch(rows: usize) -> (usize, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/feed.jsonl", listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let request = BufReader::new(&stream).lines();
            let head = request
                .map(Result::unwrap)
                .take_while(|line| !line.is_empty());
            assert!(head.count() > 1);
            let mut out = BufWriter::new(&stream);
            out.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
                .unwrap();
            json_lines(&mut out, rows);
            out.flush().unwrap();
        });
        read(Path::new(&address), None)
    })
}

const MAPPING: &str = r#"
    version = 1
    system = "shop"
    [product]
    external_id = "id"
    name = "a"
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    specs = { include = ["a", "b.*"] }
    [review]
    external_id = { template = "{id}-{stars}" }
    product = "id"
    rating = "stars"
    body = "a"
    "#;

/// Rows that are products and reviews, with ids that repeat: of each id a few bytes are kept.
fn reviews(out: &mut dyn std::io::Write, rows: usize) {
    for row in 0..rows {
        let (id, stars, text) = (row % 50, row % 6, text(row));
        writeln!(
            out,
            "{{\"id\":{id},\"stars\":{stars},\"a\":\"{text}\",\"b\":{{\"c\":{row}}}}}"
        )
        .unwrap();
    }
}

/// The most memory that mapping a feed takes, and the number of its rows.
fn draft(path: &Path, derived: bool) -> (usize, usize) {
    let text = MAPPING.replace("[product]", &format!("[product]\n    derived = {derived}"));
    let mapping = Mapping::parse(&text, &mut |_| unreachable!("no tables")).unwrap();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut drafter = Drafter::new(&mapping);
    let mut count = 0;
    for feed in Feeds::open(&[PathBuf::from(path)], mapping.form()).unwrap() {
        let mut feed = feed.unwrap();
        while let Some(batch) = drafter.batch(&mut feed) {
            let is_rejected = |status: &LineStatus| matches!(status, LineStatus::Rejected(_));
            assert!(!batch.lines.iter().all(|line| is_rejected(&line.status)));
            count += batch.lines.len();
        }
        drafter.end_of_file();
    }
    drop(drafter.unmatched());
    (MEMORY.peak_usage().saturating_sub(before), count)
}

fn is_flat(name: &str, few: usize, many: usize) {
    let reads_ahead = matches!(name, "xlsx" | "parquet" | "http");
    let tolerance = if reads_ahead {
        TOLERANCE_AHEAD
    } else {
        TOLERANCE
    };
    assert!(
        many < few + tolerance,
        "{name}: {few} bytes for {FEW} rows, {many} for {MANY}"
    );
}

#[test]
fn longer_feeds_take_no_more_memory() {
    let formats: [(&str, Write, Option<&str>); 10] = [
        ("jsonl", json_lines, None),
        ("json", json, Some("r")),
        ("csv", csv, None),
        ("utf16.csv", utf16, None),
        ("xml", xml, Some("r.r")),
        ("jsonl.gz", gzip, None),
        ("jsonl.zst", zstd, None),
        ("zip", zip, None),
        ("xlsx", xlsx, None),
        ("parquet", parquet, None),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, write, rows) in formats {
        let measured = |count: usize| {
            let path = folder.path().join(format!("{count}.{name}"));
            let mut file = BufWriter::new(File::create(&path).unwrap());
            write(&mut file, count);
            file.flush().unwrap();
            drop(file);
            let (memory, read) = read(&path, rows);
            assert_eq!(read, count, "{name}");
            memory
        };
        is_flat(name, measured(FEW), measured(MANY));
    }
    let fetched = |count: usize| {
        let (memory, read) = fetch(count);
        assert_eq!(read, count);
        memory
    };
    is_flat("http", fetched(FEW), fetched(MANY));
    for derived in [false, true] {
        let drafted = |count: usize| {
            let path = folder.path().join(format!("{count}.mapped"));
            let mut file = BufWriter::new(File::create(&path).unwrap());
            reviews(&mut file, count);
            file.flush().unwrap();
            drop(file);
            let (memory, read) = draft(&path, derived);
            assert_eq!(read, count);
            memory
        };
        is_flat("drafts", drafted(FEW), drafted(MANY));
    }
}
