use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use super::*;
use crate::FeedForm;
use crate::fixtures::parquet_file;
use crate::{Feed, FeedLine};

fn read(bytes: &[u8]) -> (Vec<FeedLine>, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let feed = Feed::open(file.path(), &FeedForm::default()).unwrap();
    let described = feed.described().to_owned();
    (feed.collect(), described)
}

/// The values of a column.
enum Column {
    Bools(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Int96s(Vec<Int96>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

/// A file with columns of this schema, each without nulls.
fn written(schema: &str, columns: &[Column], properties: WriterProperties) -> Vec<u8> {
    let schema = parse_message_type(&format!("message rows {{ {schema} }}")).unwrap();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in columns {
        let mut next = group.next_column().unwrap().unwrap();
        let bytes = |values: &[Vec<u8>]| -> Vec<ByteArray> {
            values
                .iter()
                .map(|value| ByteArray::from(value.clone()))
                .collect()
        };
        match (next.untyped(), column) {
            (ColumnWriter::BoolColumnWriter(writer), Column::Bools(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::Int32ColumnWriter(writer), Column::Ints(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::Int64ColumnWriter(writer), Column::Longs(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::Int96ColumnWriter(writer), Column::Int96s(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::FloatColumnWriter(writer), Column::Floats(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::DoubleColumnWriter(writer), Column::Doubles(values)) => {
                writer.write_batch(values, None, None)
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Column::Bytes(values)) => {
                writer.write_batch(&bytes(values), None, None)
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(writer), Column::Fixed(values)) => {
                let values: Vec<FixedLenByteArray> = bytes(values)
                    .into_iter()
                    .map(FixedLenByteArray::from)
                    .collect();
                writer.write_batch(&values, None, None)
            }
            _ => panic!("the column is of another type"),
        }
        .unwrap();
        next.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    file
}

/// What the values of a column of this type become, and why they become nothing.
fn values(kind: &str, column: Column) -> (Vec<Value>, Vec<String>) {
    let (name, annotation) = kind.split_once(' ').unwrap_or((kind, ""));
    let schema = format!("required {name} a {annotation};");
    let (lines, _) = read(&written(&schema, &[column], WriterProperties::default()));
    let problems = lines.iter().flat_map(|line| &line.cells);
    let problems = problems.map(|cell| format!("{} {} {}", cell.column, cell.cell, cell.reason));
    let problems = problems.collect();
    let values = lines.into_iter().map(|line| match line.row {
        Row::Object(mut row) => row["a"].take(),
        other => panic!("{kind}: {other:?}"),
    });
    (values.collect(), problems)
}

#[test]
fn rows_of_all_types_are_read() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
        Compression::GZIP(parquet::basic::GzipLevel::default()),
    ] {
        let (lines, described) = read(&parquet_file(compression));
        assert_eq!(
            (lines.len(), described.as_str()),
            (4, "Parquet"),
            "{compression}"
        );
        let first = json!({
            "id": 0, "name": "Tarn", "weight": 0.1, "since": "2026-05-31", "seen": "2026-05-31T12:00:00.5Z",
            "price": "19.99", "tags": ["Tarn", "Clip"],
        });
        assert_eq!(
            (lines[0].number, &lines[0].row),
            (1, &Row::Object(first)),
            "{compression}"
        );
        let last = json!({
            "id": 3, "name": null, "weight": 2.0, "since": "1970-01-01", "seen": "1970-01-01T00:00:00Z",
            "price": "-0.05", "tags": null,
        });
        assert_eq!(
            (lines[3].number, &lines[3].row),
            (4, &Row::Object(last)),
            "{compression}"
        );
    }
}

/// Checks what the values of columns become.
fn become_values(columns: Vec<(&str, Column, Value)>) {
    for (kind, column, expected) in columns {
        let expected = expected.as_array().unwrap().clone();
        assert_eq!(values(kind, column), (expected, vec![]), "{kind}");
    }
}

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn numbers_are_read_by_their_logical_type() {
    become_values(vec![
        (
            "boolean",
            Column::Bools(vec![true, false]),
            json!([true, false]),
        ),
        ("int32", Column::Ints(vec![-1]), json!([-1])),
        (
            "int32 (INTEGER(8,true))",
            Column::Ints(vec![-5]),
            json!([-5]),
        ),
        (
            "int32 (INTEGER(32,false))",
            Column::Ints(vec![-1]),
            json!([4_294_967_295_u32]),
        ),
        (
            "int32 (UINT_16)",
            Column::Ints(vec![65_535]),
            json!([65_535]),
        ),
        (
            "int64",
            Column::Longs(vec![9_007_199_254_740_993]),
            json!([9_007_199_254_740_993_i64]),
        ),
        (
            "int64 (INTEGER(64,false))",
            Column::Longs(vec![-1]),
            json!([u64::MAX]),
        ),
    ]);
}

#[test]
fn fractions_are_read_by_their_logical_type() {
    become_values(vec![
        ("float", Column::Floats(vec![0.1, 2.0]), json!([0.1, 2.0])),
        (
            "double",
            Column::Doubles(vec![
                5.170_000_000_000_001,
                0.1,
                2.0,
                1_234_567_890_123_456.0,
                1e300,
            ]),
            json!([5.17, 0.1, 2.0, 1_234_567_890_123_456.0, 1e300]),
        ),
        (
            "fixed_len_byte_array(2) (FLOAT16)",
            Column::Fixed(vec![vec![0x66, 0x2e], vec![0, 0xc0]]),
            json!([0.1, -2.0]),
        ),
        (
            "int32 (DECIMAL(9,2))",
            Column::Ints(vec![1999, -5]),
            json!(["19.99", "-0.05"]),
        ),
        (
            "int64 (DECIMAL(18,0))",
            Column::Longs(vec![1999, 0]),
            json!(["1999", "0"]),
        ),
        (
            "binary (DECIMAL(9,2))",
            Column::Bytes(vec![vec![0x07, 0xcf], vec![0xfb]]),
            json!(["19.99", "-0.05"]),
        ),
        (
            "fixed_len_byte_array(16) (DECIMAL(38,10))",
            Column::Fixed(vec![
                i128::MAX.to_be_bytes().to_vec(),
                (-1_i128).to_be_bytes().to_vec(),
            ]),
            json!(["17014118346046923173168730371.5884105727", "-0.0000000001"]),
        ),
    ]);
}

#[test]
fn dates_and_times_are_read_by_their_logical_type() {
    const DAY: i64 = 1_780_185_600;
    const NOON: u64 = 43_200_000_000_000;
    let mut since = Int96::new();
    let [low, high] = [NOON & 0xffff_ffff, NOON >> 32].map(|part| u32::try_from(part).unwrap());
    // The Julian day that is 2026-05-31.
    since.set_data(low, high, 2_461_192);
    become_values(vec![
        (
            "int32 (DATE)",
            Column::Ints(vec![20_604, -1]),
            json!(["2026-05-31", "1969-12-31"]),
        ),
        (
            "int32 (TIME(MILLIS,true))",
            Column::Ints(vec![52_200_500]),
            json!(["14:30:00.5"]),
        ),
        (
            "int64 (TIME(MICROS,false))",
            Column::Longs(vec![52_200_000_001]),
            json!(["14:30:00.000001"]),
        ),
        (
            "int64 (TIME(NANOS,false))",
            Column::Longs(vec![52_200_000_000_000]),
            json!(["14:30:00"]),
        ),
        (
            "int64 (TIME_MICROS)",
            Column::Longs(vec![0, 86_400_000_000]),
            json!(["00:00:00", "24:00:00"]),
        ),
        (
            "int64 (TIMESTAMP(NANOS,false))",
            Column::Longs(vec![DAY * 1_000_000_000]),
            json!(["2026-05-31"]),
        ),
        (
            "int64 (TIMESTAMP(NANOS,true))",
            Column::Longs(vec![DAY * 1_000_000_000 + 1]),
            json!(["2026-05-31T00:00:00.000000001Z"]),
        ),
        (
            "int64 (TIMESTAMP(MICROS,false))",
            Column::Longs(vec![(DAY + 43_200) * 1_000_000, -1]),
            json!(["2026-05-31T12:00:00", "1969-12-31T23:59:59.999999"]),
        ),
        (
            "int64 (TIMESTAMP_MILLIS)",
            Column::Longs(vec![DAY * 1000]),
            json!(["2026-05-31T00:00:00Z"]),
        ),
        (
            "int96",
            Column::Int96s(vec![since]),
            json!(["2026-05-31T12:00:00Z"]),
        ),
    ]);
}

#[test]
fn durations_are_those_of_iso_8601() {
    let interval = |parts: [u32; 3]| parts.map(u32::to_le_bytes).concat();
    become_values(vec![(
        "fixed_len_byte_array(12) (INTERVAL)",
        Column::Fixed(vec![
            interval([1, 2, 3500]),
            interval([0, 0, 0]),
            interval([0, 3, 0]),
        ]),
        json!(["P1M2DT3.500S", "PT0S", "P3D"]),
    )]);
}

#[test]
fn texts_and_bytes_are_read_by_their_logical_type() {
    let uuid = 0xf81d_4fae_7dec_11d0_a765_00a0_c91e_6bf6_u128
        .to_be_bytes()
        .to_vec();
    become_values(vec![
        (
            "binary (STRING)",
            Column::Bytes(vec![text("Stra\u{df}e")]),
            json!(["Stra\u{df}e"]),
        ),
        (
            "binary (ENUM)",
            Column::Bytes(vec![text("RED")]),
            json!(["RED"]),
        ),
        (
            "binary (JSON)",
            Column::Bytes(vec![text("{\"a\": [1]}")]),
            json!([{"a": [1]}]),
        ),
        (
            "binary",
            Column::Bytes(vec![text("Tarn"), vec![0xff, 0]]),
            json!(["Tarn", "ff00"]),
        ),
        (
            "fixed_len_byte_array(2)",
            Column::Fixed(vec![text("ab")]),
            json!(["6162"]),
        ),
        (
            "fixed_len_byte_array(16) (UUID)",
            Column::Fixed(vec![uuid, text("abcdefghijklmnop")]),
            json!([
                "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
                "61626364-6566-6768-696a-6b6c6d6e6f70"
            ]),
        ),
    ]);
}

#[test]
fn values_that_mean_nothing_are_null_and_reported() {
    for (kind, column, reason) in [
        (
            "int32 (DATE)",
            Column::Ints(vec![i32::MAX]),
            "is the date 2147483647 days after 1970, which there is not",
        ),
        (
            "int64 (TIMESTAMP(MICROS,true))",
            Column::Longs(vec![i64::MAX]),
            "which there is not",
        ),
        (
            "int64 (TIME(MICROS,true))",
            Column::Longs(vec![-1]),
            "is no time of day",
        ),
        (
            "double",
            Column::Doubles(vec![f64::NAN]),
            "is NaN, which is no number",
        ),
        (
            "float",
            Column::Floats(vec![f32::INFINITY]),
            "is inf, which is no number",
        ),
        (
            "fixed_len_byte_array(2) (FLOAT16)",
            Column::Fixed(vec![vec![0, 0x7e]]),
            "is NaN, which is no number",
        ),
        (
            "binary (STRING)",
            Column::Bytes(vec![vec![0xff]]),
            "not UTF-8",
        ),
        (
            "binary (JSON)",
            Column::Bytes(vec![vec![b'{']]),
            "is not the JSON",
        ),
    ] {
        let (found, problems) = values(kind, column);
        assert_eq!(found, [Value::Null], "{kind}");
        assert!(
            problems[0].starts_with("a 1 ") && problems[0].contains(reason),
            "{problems:?}"
        );
    }
}

#[test]
fn columns_without_a_meaning_are_left_out_by_name() {
    let schema = "required int32 id; required binary doc (BSON);
        required group v (VARIANT) { required binary metadata; required binary value; }
        required group in { required int32 b; required binary c (BSON); }
        optional group old { repeated int32 a; required int32 x; }";
    let bytes = || Column::Bytes(vec![vec![1]]);
    let ints = || Column::Ints(vec![7]);
    let columns = [ints(), bytes(), bytes(), bytes(), ints(), bytes()];
    let schema = schema.split("optional group old").next().unwrap();
    let (lines, described) = read(&written(schema, &columns, WriterProperties::default()));
    assert_eq!(
        described,
        "Parquet, without doc (of type BSON), v (of type VARIANT), in.c (of type BSON)"
    );
    assert_eq!(lines[0].row, Row::Object(json!({"id": 7, "in": {"b": 7}})));
    let (lines, described) = read(&written(
        "required binary a (BSON);",
        &[bytes()],
        WriterProperties::default(),
    ));
    assert_eq!(described, "Parquet");
    assert!(
        matches!(&lines[0].row, Row::Broken(reason) if reason.contains("no column of it can be read: a (of type BSON)"))
    );
}

#[test]
fn rows_that_are_too_long_cost_themselves() {
    let column = Column::Bytes(vec![vec![b'x'; 5 * 1024 * 1024], vec![b'y']]);
    let (lines, _) = read(&written(
        "required binary a (STRING);",
        &[column],
        WriterProperties::default(),
    ));
    assert!(
        matches!(&lines[0].row, Row::Unreadable(reason) if reason == "is longer than 4194304 bytes")
    );
    assert_eq!(lines[1].row, Row::Object(json!({"a": "y"})));
}

#[test]
fn what_a_file_says_of_its_sizes_is_bounded() {
    let column = || Column::Bytes(vec![vec![b'x'; 1000]; 1000]);
    let file = written(
        "required binary a (STRING);",
        &[column()],
        WriterProperties::default(),
    );
    let footer = file.len() - 8;
    let mut long = file.clone();
    long[footer..footer + 4].copy_from_slice(&(40_u32 << 20).to_le_bytes());
    let (lines, _) = read(&long);
    assert!(
        matches!(&lines[0].row, Row::Broken(reason) if reason.contains("at most 33554432 are read"))
    );
    let (lines, _) = read(&file[..footer]);
    assert!(matches!(&lines[0].row, Row::Broken(reason) if reason.contains("its end is missing")));
    // Three pages of 20 MiB that say that they unpack to 128 MiB each.
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .build();
    let schema = "required binary a; required binary b; required binary c;";
    let columns = || [(); 3].map(|()| Column::Bytes(vec![vec![b'x'; 20 * 1024 * 1024]]));
    let mut file = written(schema, &columns(), properties);
    let said = [0x88, 0x80, 0x80, 0x14];
    let places: Vec<usize> = file
        .windows(4)
        .enumerate()
        .filter(|(_, bytes)| *bytes == said)
        .map(|(at, _)| at)
        .collect();
    assert!(places.len() >= 3, "{places:?}");
    for at in places {
        file[at..at + 4].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
    }
    let reason = reason_of(&read(&file).0);
    assert!(
        reason.contains("take more than 512 MiB at once"),
        "{reason}"
    );
}

fn reason_of(lines: &[FeedLine]) -> String {
    match &lines[0].row {
        Row::Broken(reason) | Row::Unreadable(reason) => reason.clone(),
        other => format!("{other:?}"),
    }
}

type Levels<'l> = Option<&'l [i16]>;

#[test]
fn lists_and_maps_of_older_writers_are_read() {
    let schema = "optional group a (LIST) { repeated int32 element; }
        optional group b (LIST) { repeated group array { required int32 x; } }
        repeated int32 c;
        required group d { required int32 x; required group e { required int32 y; } }";
    let schema = parse_message_type(&format!("message rows {{ {schema} }}")).unwrap();
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let levels: [(Levels<'_>, Levels<'_>); 5] = [
        (Some(&[2, 2]), Some(&[0, 1])),
        (Some(&[2, 2]), Some(&[0, 1])),
        (Some(&[1, 1]), Some(&[0, 1])),
        (None, None),
        (None, None),
    ];
    for (definitions, repetitions) in levels {
        let mut column = group.next_column().unwrap().unwrap();
        let values = if definitions.is_some() {
            &[1, 2][..]
        } else {
            &[3]
        };
        let typed = column.typed::<parquet::data_type::Int32Type>();
        typed.write_batch(values, definitions, repetitions).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let (lines, _) = read(&file);
    let expected = json!({
        "a": [1, 2], "b": [{"x": 1}, {"x": 2}], "c": [1, 2], "d": {"x": 3, "e": {"y": 3}},
    });
    assert_eq!(lines[0].row, Row::Object(expected));
}

#[test]
fn damaged_files_end_in_a_reason() {
    let whole = parquet_file(Compression::SNAPPY);
    let mut reported = 0;
    for at in (4..whole.len()).step_by(13) {
        let (lines, _) = read(&whole[..at]);
        assert!(
            matches!(lines.last().unwrap().row, Row::Broken(_)),
            "cut at {at}"
        );
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        let (lines, described) = read(&changed);
        let is_broken = lines.iter().any(|line| matches!(line.row, Row::Broken(_)));
        reported += usize::from(is_broken || described.contains("without"));
    }
    assert!(reported > 0);
}
