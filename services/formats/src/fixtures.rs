//! Files of the tests, of this crate and of `vitrine-ingest`.

use std::io::{Cursor, Write as _};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A gzip of bytes.
pub(crate) fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A zip archive of files, packed or not.
pub(crate) fn zipped(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in files {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A workbook with two sheets, of which the second has these rows.
pub(crate) fn xlsx(rows: &str) -> Vec<u8> {
    let notes = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>";
    let formats =
        "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"22\"/></cellXfs>";
    workbook(&[("Notes", "", notes), ("Lamps", "", rows)], formats, "")
}

/// A workbook with sheets: their names, attributes and rows. `styles` and `settings` are XML.
pub(crate) fn workbook(sheets: &[(&str, &str, &str)], styles: &str, settings: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let related = |id: usize, kind: &str, target: &str| {
        format!("<Relationship Id=\"r{id}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"/>")
    };
    let relationships =
        |relations: &str| format!("<Relationships xmlns=\"{PACKAGE}\">{relations}</Relationships>");
    let (mut listed, mut relations, mut parts) = (String::new(), String::new(), Vec::new());
    for ((name, attributes, rows), id) in sheets.iter().zip(1..) {
        let sheet =
            format!("<sheet name=\"{name}\" sheetId=\"{id}\" {attributes} r:id=\"r{id}\"/>");
        listed.push_str(&sheet);
        relations += &related(id, "worksheet", &format!("worksheets/sheet{id}.xml"));
        let sheet =
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/worksheets/sheet{id}.xml"), sheet));
    }
    relations += &related(98, "sharedStrings", "sharedStrings.xml");
    relations += &related(99, "styles", "/xl/styles.xml");
    let strings = "<si><t>id</t></si><si><r><t>Stra\u{df}e</t></r><r><t> &amp; co</t></r><rPh><t>x</t></rPh></si>";
    for (name, text) in [
        ("[Content_Types].xml", "<Types/>".to_owned()),
        (
            "_rels/.rels",
            relationships(&related(1, "officeDocument", "xl/workbook.xml")),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets>{listed}</sheets>{settings}</workbook>"
            ),
        ),
        ("xl/_rels/workbook.xml.rels", relationships(&relations)),
        (
            "xl/sharedStrings.xml",
            format!("<sst xmlns=\"{MAIN}\" uniqueCount=\"99999999999\">{strings}</sst>"),
        ),
        (
            "xl/styles.xml",
            format!("<styleSheet xmlns=\"{MAIN}\">{styles}</styleSheet>"),
        ),
    ] {
        parts.push((name.to_owned(), text));
    }
    let files: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    zipped(&files, CompressionMethod::Deflated)
}

const SCHEMA: &str = "message rows {
    required int64 id;
    optional binary name (STRING);
    required double weight;
    required int32 since (DATE);
    required int64 seen (TIMESTAMP(MILLIS,true));
    required int32 price (DECIMAL(9,2));
    optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
}";

/// A file with rows of two row groups.
pub(crate) fn parquet_file(compression: Compression) -> Vec<u8> {
    let mut file = Vec::new();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    for first in [0, 2] {
        let mut group = writer.next_row_group().unwrap();
        let mut column = 0;
        while let Some(mut next) = group.next_column().unwrap() {
            let names = [ByteArray::from("Tarn"), ByteArray::from("Clip")];
            match column {
                0 => next
                    .typed::<Int64Type>()
                    .write_batch(&[first, first + 1], None, None),
                1 => next
                    .typed::<ByteArrayType>()
                    .write_batch(&names[..1], Some(&[1, 0]), None),
                2 => next
                    .typed::<DoubleType>()
                    .write_batch(&[0.1, 2.0], None, None),
                3 => next
                    .typed::<Int32Type>()
                    .write_batch(&[20_604, 0], None, None),
                4 => next
                    .typed::<Int64Type>()
                    .write_batch(&[1_780_228_800_500, 0], None, None),
                5 => next
                    .typed::<Int32Type>()
                    .write_batch(&[1999, -5], None, None),
                _ => next.typed::<ByteArrayType>().write_batch(
                    &names,
                    Some(&[3, 3, 0]),
                    Some(&[0, 1, 0]),
                ),
            }
            .unwrap();
            next.close().unwrap();
            column += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    file
}
