//! Folders and archives: every file in them is read, in order, under its name.

use std::fs;

use super::*;
use crate::fixtures::zipped;

/// The rows of all feeds at a path, each with the name of its file, and how each file is read.
fn read_all(path: &Path, form: &FeedForm) -> Result<(Vec<String>, Vec<String>), FeedError> {
    let mut feeds = Feeds::open(&[path.to_owned()], form)?;
    let (mut rows, mut described) = (Vec::new(), Vec::new());
    for feed in feeds.by_ref() {
        let mut feed = feed?;
        let name = feed.name().replace(&path.display().to_string(), "");
        described.push(format!("{name} is {}", feed.described()));
        for line in feed.by_ref() {
            rows.push(match line.row {
                Row::Object(row) => format!("{name}:{} {}", line.number, row["id"]),
                other => format!("{name}:{} {other:?}", line.number),
            });
        }
    }
    let (read, total) = feeds.position();
    assert_eq!(read, total, "all bytes are read");
    Ok((rows, described))
}

fn refusal(path: &Path, form: &FeedForm) -> String {
    match read_all(path, form).err().unwrap() {
        FeedError::Form { reason, .. } => reason,
        FeedError::Read { source, .. } => source.to_string(),
    }
}

#[test]
fn the_files_of_a_folder_are_read_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("b.csv", b"id;x\n3;\n");
    write("a.jsonl", b"{\"id\":1}\n{\"id\":2}\n");
    write("c.jsonl.gz", &gzipped(b"{\"id\":4}\n"));
    write(".hidden", b"{\"id\":5}\n");
    fs::create_dir(folder.path().join("inner")).unwrap();
    let (rows, described) = read_all(folder.path(), &FeedForm::default()).unwrap();
    assert_eq!(
        rows,
        [
            "/a.jsonl:1 1",
            "/a.jsonl:2 2",
            "/b.csv:2 \"3\"",
            "/c.jsonl.gz:1 4"
        ]
    );
    assert_eq!(described[1], "/b.csv is CSV with ;");
    let form = |files: &str| FeedForm {
        files: Some(files.to_owned()),
        ..FeedForm::default()
    };
    let (rows, _) = read_all(folder.path(), &form("*.jsonl*")).unwrap();
    assert_eq!(rows, ["/a.jsonl:1 1", "/a.jsonl:2 2", "/c.jsonl.gz:1 4"]);
    let refused = refusal(folder.path(), &form("*.xml"));
    assert_eq!(refused, "the folder has no file *.xml");
}

#[test]
fn the_members_of_an_archive_are_read_under_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.zip");
    let packed = gzipped(b"{\"id\":3}\n");
    let files: [(&str, &[u8]); 4] = [
        ("x/b.csv", b"id,x\n2,\n"),
        ("a.jsonl", b"{\"id\":1}\n"),
        ("__MACOSX/._a.jsonl", b"x"),
        ("c.jsonl.gz", &packed),
    ];
    for method in [
        zip::CompressionMethod::Stored,
        zip::CompressionMethod::Deflated,
    ] {
        fs::write(&path, zipped(&files, method)).unwrap();
        let (rows, described) = read_all(&path, &FeedForm::default()).unwrap();
        assert_eq!(
            rows,
            ["/x/b.csv:2 \"2\"", "/a.jsonl:1 1", "/c.jsonl.gz:1 3"]
        );
        assert_eq!(described[2], "/c.jsonl.gz is JSON Lines, gzip");
        let form = FeedForm {
            files: Some("*.csv".to_owned()),
            ..FeedForm::default()
        };
        assert_eq!(read_all(&path, &form).unwrap().0, ["/x/b.csv:2 \"2\""]);
    }
}

#[test]
fn archives_are_read_from_any_bytes() {
    let files: [(&str, &[u8]); 2] = [("a.jsonl", b"{\"id\":1}\n"), ("b.jsonl", b"{\"id\":2}\n")];
    let zip = zipped(&files, zip::CompressionMethod::Deflated);
    let rows = crate::read(gzipped(&zip), "f", &FeedForm::default()).unwrap();
    assert_eq!(rows.count(), 2);
}

#[test]
fn archives_that_cannot_be_trusted_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.zip");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refusal(&path, &FeedForm::default())
    };
    let method = zip::CompressionMethod::Stored;
    let inner = zipped(&[("a.jsonl", b"{}")], method);
    let nested = zipped(&[("inner.zip", &inner)], method);
    assert_eq!(refused(&nested), "an archive in an archive is not read");
    assert!(refused(&inner[..inner.len() - 5]).contains("directory at the end"));
    assert!(refused(&zipped(&[], method)).contains("no file that is read"));
    // Two entries of the directory that are the same bytes.
    let long = [b'x'; 500];
    let twice = zipped(&[("aa", &long), ("bb", &long)], method);
    let second = twice
        .windows(4)
        .rposition(|at| at == b"PK\x01\x02")
        .unwrap();
    let mut overlapping = twice.clone();
    overlapping[second + 42..second + 46].copy_from_slice(&[0; 4]);
    assert!(refused(&overlapping).contains("share bytes"));
}

#[test]
fn what_unpacks_to_far_more_than_its_size_is_not_read_on() {
    let zeros = vec![b' '; 96 * 1024 * 1024];
    let bomb = zstd::encode_all(zeros.as_slice(), 19).unwrap();
    drop(zeros);
    let mut lines = opened(&bomb, &FeedForm::default(), 1000).unwrap();
    let last = lines.by_ref().last().unwrap();
    assert!(
        reason(&last.row).contains("more than 1000 times its size"),
        "{last:?}"
    );
}

#[test]
fn standard_input_can_be_read_once() {
    let twice = [PathBuf::from("-"), PathBuf::from("-")];
    let refused = Feeds::open(&twice, &FeedForm::default()).err().unwrap();
    assert_eq!(refused.to_string(), "-: standard input can be read once");
}

#[test]
fn a_named_pipe_is_read_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feed.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success(), "mkfifo makes a named pipe");
    let writer = std::thread::spawn({
        let path = path.clone();
        move || fs::write(path, "{\"id\":1}\n{\"id\":2}\n").unwrap()
    });
    let feed = Feed::open(&path, &FeedForm::default()).unwrap();
    let rows: Vec<u64> = feed.map(|line| line.number).collect();
    writer.join().unwrap();
    assert_eq!(rows, [1, 2]);
}

#[test]
fn folders_whose_names_have_values_give_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("maker=Tarn/kind=a%2Fb/1.csv", "id\n1\n"),
        (
            "maker=Tarn/kind=__HIVE_DEFAULT_PARTITION__/2.csv",
            "id,kind\n2,own\n3,\n",
        ),
        ("maker=100%/4.csv", "id\n4\n"),
        ("maker=Tarn/.hidden/9.csv", "id\n9\n"),
        ("other/9.csv", "id\n9\n"),
        ("_SUCCESS", ""),
        ("5.csv", "id\n5\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let feeds = Feeds::open(&[folder.path().to_owned()], &FeedForm::default()).unwrap();
    let rows: Vec<Row> = feeds
        .flat_map(Result::unwrap)
        .map(|line| line.row)
        .collect();
    assert_eq!(
        rows,
        [
            object(json!({"id": "5"})),
            object(json!({"id": "4", "maker": "100%"})),
            object(json!({"id": "2", "kind": "own", "maker": "Tarn"})),
            object(json!({"id": "3", "kind": null, "maker": "Tarn"})),
            object(json!({"id": "1", "maker": "Tarn", "kind": "a/b"})),
        ]
    );
}

#[test]
fn a_directory_of_an_archive_with_too_many_entries_is_not_read() {
    let mut file = b"PK\x03\x04".to_vec();
    let place = file.len() as u64;
    file.extend(b"PK\x06\x06");
    file.extend(44_u64.to_le_bytes());
    file.extend([0; 12]);
    file.extend([1_000_000_000_u64.to_le_bytes(); 2].concat());
    file.extend([0; 16]);
    file.extend(b"PK\x06\x07\0\0\0\0");
    file.extend(place.to_le_bytes());
    file.extend([0; 4]);
    file.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff");
    file.extend([0; 10]);
    let error = opened(&file, &FeedForm::default(), 1000).err().unwrap();
    assert_eq!(
        error,
        "the zip archive has 1000000000 entries; at most 100000 are read"
    );
    let error = opened(b"PK\x03\x04 and no end", &FeedForm::default(), 1000)
        .err()
        .unwrap();
    assert!(error.contains("the file may be cut off"), "{error}");
}
