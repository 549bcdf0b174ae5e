//! Damaged files: what is before the damage is read, and the damage is reported.

use super::*;
use crate::fixtures::zipped;

fn lines(count: usize) -> String {
    let lines = (0..count).map(|n| {
        format!(
            "{{\"id\":{n},\"text\":\"text {}\"}}
",
            n * 7919
        )
    });
    lines.collect::<Vec<String>>().concat()
}

/// The ids of the rows before the damage, which must be the first ones, and the reason.
#[track_caller]
fn before_damage(bytes: &[u8], form: &FeedForm) -> (usize, String) {
    let mut feed = opened(bytes, form, 1000).unwrap();
    let mut count = 0;
    for line in feed.by_ref() {
        match line.row {
            Row::Object(row) => {
                let id = row["id"]
                    .as_u64()
                    .or_else(|| row["id"].as_str()?.parse().ok());
                assert_eq!(id, Some(count as u64));
                count += 1;
            }
            Row::Broken(reason) => {
                assert_eq!(feed.next(), None, "the damage is the end");
                return (count, reason);
            }
            Row::Unreadable(_) | Row::Blank | Row::Gathered => {}
        }
    }
    (count, "nothing is reported".to_owned())
}

#[test]
fn packed_streams_that_are_cut_off() {
    let text = lines(20_000);
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for packed in [gzipped(text.as_bytes()), zstd] {
        for at in [packed.len() / 3, packed.len() / 2, packed.len() - 1] {
            let (count, reason) = before_damage(&packed[..at], &FeedForm::default());
            assert!(reason.contains("cannot be read"), "{reason}");
            assert!(
                count > 0 && reason.ends_with(&format!("up to line {count}")),
                "{reason}"
            );
        }
    }
}

#[test]
fn a_member_of_an_archive_whose_bytes_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.zip");
    let text = lines(100);
    let files: [(&str, &[u8]); 1] = [("a.jsonl", text.as_bytes())];
    let mut zip = zipped(&files, zip::CompressionMethod::Stored);
    let at = zip.iter().position(|byte| *byte == b'7').unwrap();
    zip[at] = b'8';
    std::fs::write(&path, zip).unwrap();
    let rows: Vec<FeedLine> = Feed::open(&path, &FeedForm::default()).unwrap().collect();
    assert_eq!(rows.len(), 101);
    assert!(
        reason(&rows[100].row).contains("checksum"),
        "{:?}",
        rows[100]
    );
}

#[test]
fn documents_that_are_cut_off() {
    let items: Vec<String> = lines(200).lines().map(str::to_owned).collect();
    let json = format!("{{\"rows\":[{}]}}", items.join(",\n"));
    let elements: Vec<String> = (0..200)
        .map(|n| {
            format!(
                "<p><id>{n}</id><t a=\"&amp;\">x</t></p>
"
            )
        })
        .collect();
    let xml = format!("<c>{}</c>", elements.concat());
    for (text, rows) in [(json, "rows"), (xml, "c.p")] {
        let form = FeedForm {
            rows: Some(crate::tests::rows_path(rows)),
            ..FeedForm::default()
        };
        for at in (20..text.len() - 1).step_by(97) {
            let (count, reason) = before_damage(&text.as_bytes()[..at], &form);
            assert!(reason.contains("cannot be read"), "{at}: {reason}");
            let ends = text[..at].matches('\n').count();
            assert!(count >= ends.saturating_sub(1), "{at}: {count} of {ends}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_end_in_rows_or_reasons(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        start in proptest::sample::select(vec![
            "", "{", "[{\"a\":", "<a>", "<?xml version='1.0' encoding='utf-16'?>", "\u{feff}", "\x1f\u{8b}",
            "PAR1", "PK\x03\x04", "a;b\n", "(\u{b5}/\u{fd}",
        ]),
        format in proptest::sample::select(vec![Format::Auto, Format::Json, Format::Xml, Format::Tsv]),
    ) {
        // The start as bytes, not as UTF-8.
        let start: Vec<u8> = start.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(0xef)).collect();
        let bytes = [start, bytes].concat();
        let form = FeedForm { format, guess_rows: true, ..FeedForm::default() };
        if let Ok(feed) = opened(&bytes, &form, 100) {
            let mut last = 0;
            for line in feed { prop_assert!(line.number > last); last = line.number; }
        }
    }
}
