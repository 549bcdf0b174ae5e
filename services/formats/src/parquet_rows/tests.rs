use parquet::basic::Compression;
use serde_json::json;

use super::*;
use crate::FeedForm;
use crate::fixtures::parquet_file;
use crate::{Feed, FeedLine};

fn read(path: &std::path::Path) -> Vec<FeedLine> {
    Feed::open(path, &FeedForm::default()).unwrap().collect()
}

#[test]
fn rows_of_all_types_are_read() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
        Compression::GZIP(parquet::basic::GzipLevel::default()),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), parquet_file(compression)).unwrap();
        let lines = read(file.path());
        assert_eq!(lines.len(), 4, "{compression}");
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

#[test]
fn damaged_files_end_in_a_reason() {
    let whole = parquet_file(Compression::SNAPPY);
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut reported = 0;
    for at in (4..whole.len()).step_by(13) {
        std::fs::write(file.path(), &whole[..at]).unwrap();
        let lines = read(file.path());
        assert!(
            matches!(lines.last().unwrap().row, Row::Broken(_)),
            "cut at {at}"
        );
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        std::fs::write(file.path(), &changed).unwrap();
        reported += usize::from(
            read(file.path())
                .iter()
                .any(|line| matches!(line.row, Row::Broken(_))),
        );
    }
    assert!(reported > 0);
}
