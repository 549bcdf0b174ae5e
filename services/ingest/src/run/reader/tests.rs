//! Batches are the same with any number of mappers.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use super::*;

/// What the threads of a reader send, by a digest of each batch, and what they return.
fn all_read(files: &[PathBuf], mapping: &Mapping, mappers: usize) -> (Vec<(u64, String)>, String) {
    let (sender, mut receiver) = mpsc::channel(1);
    let mappers = NonZero::new(mappers).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            read(
                files,
                mapping,
                mappers,
                Timestamp::from_millis(i64::MAX),
                &sender,
            )
        });
        let mut all = Vec::new();
        while let Some(read) = receiver.blocking_recv() {
            let text = format!("{read:?}");
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            all.push((hasher.finish(), text.chars().take(200).collect()));
        }
        let unmatched = ended(reader);
        (all, format!("{unmatched:?} {:?}", mapping.unpaired()))
    })
}

/// Compares what one mapper and several make of files. Returns the number of batches and ends of files.
fn compare(files: &[PathBuf], mapping: &Mapping, mappers: &[usize]) -> usize {
    let one = all_read(files, mapping, 1);
    for mappers in mappers {
        let several = all_read(files, mapping, *mappers);
        assert_eq!(several, one, "{mappers} mappers of {files:?}");
    }
    one.0.len()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

#[test]
fn fixtures_are_read_alike_by_any_number_of_mappers() {
    for feed in [
        "attributes.tsv",
        "bmecat.xml",
        "price-matrix.csv",
        "variants.csv",
        "../../first-mapping/fixtures/fell-products.csv",
        "../../first-mapping/fixtures/lumico-erp.xml",
        "../../first-mapping/fixtures/lumico-shop.json",
    ] {
        let feed = fixtures().join(feed);
        let mapping = Mapping::from_file(&feed.with_extension("toml")).unwrap();
        assert!(compare(&[feed], &mapping, &[2, 3, 7]) >= 2, "{mapping:?}");
    }
}

#[test]
fn the_real_feeds_are_read_alike_by_any_number_of_mappers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for (feed, mapping) in [
        ("catalog-opendb.jsonl.gz", "opendb"),
        ("reviews-clothing.jsonl.gz", "clothing-reviews"),
        ("reviews-fine-foods.jsonl.gz", "fine-food-reviews"),
    ] {
        let feed = root.join(feed);
        if feed.is_file() {
            assert!(compare(&[feed], &Mapping::load(mapping).unwrap(), &[3]) > 9);
        }
    }
}

/// The number of the lines of a file in batches, and of those that were read.
fn counted(feed: &Path, mapping: &Mapping) -> (u64, u64) {
    let (sender, mut receiver) = mpsc::channel(1);
    let now = Timestamp::from_millis(i64::MAX);
    let mappers = NonZero::new(2).unwrap();
    thread::scope(|scope| {
        let files = [feed.to_owned()];
        scope.spawn(move || read(&files, mapping, mappers, now, &sender).unwrap());
        let mut counted = 0;
        loop {
            match receiver.blocking_recv().expect("the file has an end") {
                Read::Batch(read) => counted += read.batch.lines.len() as u64,
                Read::End(end) => return (counted, end.lines),
            }
        }
    })
}

#[test]
fn every_line_of_every_format_has_an_outcome() {
    for (feed, lines) in [
        ("attributes.tsv", 10),
        ("bmecat.xml", 2),
        ("price-matrix.csv", 2),
        ("variants.csv", 5),
        ("../../first-mapping/fixtures/lumico-shop.json", 2),
    ] {
        let feed = fixtures().join(feed);
        let mapping = Mapping::from_file(&feed.with_extension("toml")).unwrap();
        let (counted, read) = counted(&feed, &mapping);
        assert_eq!((counted, read), (lines, lines), "{feed:?}");
    }
}

const MAPPING: &str = r#"
    version = 1
    system = "shop"
    [defaults]
    on_bad = "drop_value"
    [join.stock]
    file = "stock.jsonl"
    from = "sku"
    key = "sku"
    [product]
    external_id = { from = "id", on_bad = "reject_line" }
    name = { from = "name", on_bad = "reject_line" }
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    brand = "maker"
    [product.specs]
    rules = [{ path = "watts", max = 4000 }]
    [review]
    external_id = "row"
    product = "id"
    rating = "stars"
    repeated_id = "first"
    "#;

/// Lines whose outcome depends on lines far before them: ids that repeat, and products that are derived from the
/// first review whose row describes them.
fn lines(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let (id, row) = (n % 700, n - n % 11 / 10 * 5);
        let name = if n % 7 == 0 { "" } else { "Lamp" };
        let rare = if n > 1500 { "rare" } else { "usual" };
        let _ = match n % 97 {
            0 => writeln!(text, "{{\"broken"),
            1 => writeln!(text),
            _ => writeln!(
                text,
                "{{\"id\":{id},\"row\":{row},\"name\":\"{name}\",\"stars\":{},\"watts\":{n},\"{rare}_maker\":1,\
                 \"sku\":\"{}\"}}",
                n % 6,
                n % 50
            ),
        };
    }
    text
}

#[test]
fn what_depends_on_earlier_lines_is_the_same_with_any_number_of_mappers() {
    let folder = tempfile::tempdir().unwrap();
    let mut read_table = |_: &str| Ok(b"{\"sku\":\"3\",\"left\":7}".to_vec());
    let derived = Mapping::parse(MAPPING, &mut read_table).unwrap();
    let several = MAPPING.replace(
        "[product]",
        "[product]\n    repeated_id = \"first\"\n    derived = false",
    );
    let several = Mapping::parse(&several, &mut read_table).unwrap();
    let feed = |name: &str, count: usize| {
        let path = folder.path().join(name);
        fs::write(&path, lines(count)).unwrap();
        path
    };
    let files = [
        feed("long.jsonl", 4500),
        feed("short.jsonl", 3),
        feed("again.jsonl", 1200),
    ];
    for mapping in [derived, several] {
        assert_eq!(compare(&files, &mapping, &[2, 3, 7]), 5 + 1 + 1 + 1 + 2 + 1);
    }
}

#[test]
fn the_threads_end_when_nobody_wants_more() {
    let folder = tempfile::tempdir().unwrap();
    let feed = folder.path().join("feed.jsonl");
    fs::write(&feed, lines(20_000)).unwrap();
    let mapping = Mapping::parse(MAPPING, &mut |_| Ok(Vec::new())).unwrap();
    let (sender, receiver) = mpsc::channel(1);
    drop(receiver);
    let read = read(
        &[feed],
        &mapping,
        NonZero::new(3).unwrap(),
        Timestamp::from_millis(i64::MAX),
        &sender,
    );
    assert_eq!(read.unwrap(), AllRead::default());
}
