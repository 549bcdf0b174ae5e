//! Checks of the shipped mappings against the feeds they are for, if these are available.
//!
//! The feeds are not part of the project: they are expected in a directory beside the workspace,
//! and each test says whether it found its feed. The expected numbers were counted in the feeds by
//! other programs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use vitrine_formats::Row;
use vitrine_model::spec::{Spec, SpecKey, SpecValue, check};
use vitrine_model::unit::UnitTable;

use super::*;

/// A feed beside the workspace.
fn find(name: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let path = PathBuf::from(root).join(name);
    if path.is_file() {
        return Some(path);
    }
    tell(&format!(
        "real feed {name}: not at hand; its checks did not run"
    ));
    None
}

/// Prints a line that is shown although the test passes.
fn tell(line: &str) {
    // The output of macros is captured in a test that passes.
    let line = format!("{line}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The drafts of a feed, with its rejected lines and dropped values.
#[derive(Default)]
struct Drafted {
    lines: usize,
    rejected: Vec<(u64, Vec<Rejection>)>,
    dropped: BTreeMap<String, usize>,
    products: Vec<ProductDraft>,
    reviews: Vec<ReviewDraft>,
    unmatched: usize,
}

fn open(mapping: &Mapping, path: &Path) -> Feed {
    Feed::open(path, mapping.form()).unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn draft(mapping: &str, path: &Path) -> Drafted {
    let mapping = Mapping::load(mapping).unwrap();
    let start = Instant::now();
    let mut feed = open(&mapping, path);
    let mut drafter = Drafter::new(&mapping);
    let mut all = Drafted::default();
    while let Some(batch) = drafter.batch(&mut feed) {
        all.add(batch);
    }
    let unmatched = drafter.unmatched();
    for one in &unmatched {
        println!(
            "  no row has {}: {} ({:?})",
            one.setting, one.path, one.similar
        );
    }
    all.unmatched = unmatched.len();
    let rate = all.lines as f64 / start.elapsed().as_secs_f64();
    let name = path.file_name().unwrap_or_default().display();
    tell(&format!(
        "real feed {name}: {} lines checked, {rate:.0} lines/s",
        all.lines
    ));
    for (reason, count) in &all.dropped {
        println!("  dropped {count:6} {reason}");
    }
    all
}

impl Drafted {
    fn add(&mut self, batch: Batch) {
        assert_eq!(batch.broken, None);
        self.lines += batch.lines.len();
        for line in batch.lines {
            if let LineStatus::Rejected(reasons) = line.status {
                self.rejected.push((line.number, reasons));
            }
            for dropped in line.dropped {
                *self.dropped.entry(dropped.field).or_default() += 1;
            }
        }
        self.products.extend(batch.products);
        self.reviews.extend(batch.reviews);
    }
}

/// The OpenDB catalogue, drafted once for all checks.
static OPENDB: LazyLock<Option<Drafted>> =
    LazyLock::new(|| Some(draft("opendb", &find("catalog-opendb.jsonl.gz")?)));

fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

#[test]
fn every_opendb_product_is_accepted_in_its_category() {
    let Some(all) = OPENDB.as_ref() else { return };
    assert_eq!((all.lines, all.products.len()), (47_551, 47_551));
    assert_eq!(all.rejected, []);
    let leaves = counted(
        all.products
            .iter()
            .map(|product| product.category.last().unwrap().as_str()),
    );
    let expected = [
        ("Accessories", 321),
        ("CPU coolers", 2398),
        ("Capture cards", 32),
        ("Case fans", 3366),
        ("Cases", 3749),
        ("Chairs", 223),
        ("Desks", 295),
        ("Desktop computers", 96),
        ("Drives", 3495),
        ("Graphics cards", 3835),
        ("Headphones", 3033),
        ("Keyboards", 4143),
        ("Laptops", 118),
        ("Lighting", 6),
        ("Memory", 4828),
        ("Mice", 4444),
        ("Microphones", 115),
        ("Monitors", 3849),
        ("Motherboards", 3699),
        ("Mouse pads", 84),
        ("Network cards", 178),
        ("Operating systems", 11),
        ("Power supplies", 3295),
        ("Processors", 789),
        ("Sound cards", 84),
        ("Speakers", 539),
        ("Stands", 1),
        ("Thermal compounds", 227),
        ("VR headsets", 4),
        ("Webcams", 294),
    ];
    assert_eq!(leaves, BTreeMap::from(expected));
    assert_eq!(all.dropped.values().sum::<usize>(), 52);
    no_key_mixes_types(&all.products);
}

/// Every spec is valid, and has the type of the first value of its key.
fn no_key_mixes_types(products: &[ProductDraft]) {
    let units = UnitTable::built_in();
    let mut learnt: HashMap<&str, SpecKey> = HashMap::new();
    for spec in products.iter().flat_map(|product| &product.specs) {
        check(spec, &units).unwrap();
        let key = learnt.entry(&spec.key);
        let key = key.or_insert_with(|| SpecKey::learnt(spec, &units).unwrap());
        key.accepts(spec, &units).unwrap();
    }
    println!("  {} spec keys, each of one type", learnt.len());
    assert_eq!(learnt.len(), 232);
}

/// The unit table, read independently of the mapping.
fn unit_table() -> Vec<(String, Vec<String>, String)> {
    let text = include_str!("../../mappings/opendb-units.csv");
    let rows = text.lines().skip(1).map(|row| {
        let [category, path, unit] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        (
            category.to_owned(),
            path.split('.').map(str::to_owned).collect(),
            unit.to_owned(),
        )
    });
    rows.collect()
}

fn quantity(spec: &Spec) -> Option<(f64, &str)> {
    match &spec.value {
        SpecValue::Quantity { value, unit } => Some((*value, unit)),
        _ => None,
    }
}

#[test]
fn every_number_of_the_unit_table_comes_with_its_unit() {
    let Some((all, path)) = OPENDB.as_ref().zip(find("catalog-opendb.jsonl.gz")) else {
        return;
    };
    let (units, table) = (UnitTable::built_in(), unit_table());
    let rows = open(&Mapping::load("opendb").unwrap(), &path);
    let (mut found, mut left_out) = (0, 0);
    for (line, product) in rows.zip(&all.products) {
        let Row::Object(row) = line.row else {
            panic!("line {}", line.number)
        };
        for (_, path, unit) in table
            .iter()
            .filter(|(category, ..)| row["category"] == **category)
        {
            let value = path
                .iter()
                .try_fold(&row["product"], |value, step| value.get(step));
            let Some(value) = value.and_then(Value::as_f64).filter(|value| *value != 0.0) else {
                continue;
            };
            let unit = units.find(unit).map(|unit| unit.id.as_str());
            let here = product.specs.iter().filter_map(quantity);
            if unit.is_some_and(|unit| here.clone().any(|spec| spec == (value, unit))) {
                found += 1;
            } else {
                left_out += 1;
            }
        }
    }
    // The exceptions: sixteen ranges in feet or metres; one clock, one height, one frequency, one
    // voltage and two fan speeds that are impossible.
    assert_eq!((found, left_out), (115_750, 22));
}

#[test]
fn monitors_and_cases_are_found_by_size_and_weight() {
    let Some(all) = OPENDB.as_ref() else { return };
    let within = |leaf: &str, key: &str, unit: &str, low: f64, high: f64| {
        let here = all
            .products
            .iter()
            .filter(|product| product.category.last().unwrap() == leaf);
        let of_key = |product: &&ProductDraft| {
            let mut specs = product
                .specs
                .iter()
                .filter(|spec| spec.key == key)
                .filter_map(quantity);
            specs.any(|(value, of)| of == unit && (low..=high).contains(&value))
        };
        here.filter(of_key).count()
    };
    assert_eq!(within("Monitors", "screen_size", "in", 23.5, 27.5), 2154);
    assert_eq!(within("Cases", "weight", "lb", 10.0, 20.0), 572);
}

#[test]
fn clothing_reviews() {
    let Some(path) = find("reviews-clothing.jsonl.gz") else {
        return;
    };
    let all = draft("clothing-reviews", &path);
    assert_eq!(
        (all.lines, all.reviews.len(), all.products.len()),
        (23_486, 23_486, 1_206)
    );
    assert!(all.rejected.is_empty() && all.dropped.is_empty());
    let stars = counted(all.reviews.iter().map(|review| review.rating.get()));
    assert_eq!(
        stars,
        BTreeMap::from([(1, 842), (2, 1565), (3, 2871), (4, 5077), (5, 13_131)])
    );
    let dress = all
        .reviews
        .iter()
        .filter(|review| review.product.external_id == "1078");
    let stars = counted(dress.map(|review| review.rating.get()));
    assert_eq!(
        stars,
        BTreeMap::from([(1, 33), (2, 59), (3, 136), (4, 234), (5, 562)])
    );
    let text = |review: &ReviewDraft| review.title.clone() + &review.body;
    assert!(
        !all.reviews
            .iter()
            .any(|review| text(review).contains("#39;"))
    );
    assert!(
        all.reviews
            .iter()
            .all(|review| review.author.is_none() && review.created_at.is_none())
    );
    let yes = all
        .reviews
        .iter()
        .filter(|review| review.recommended == Some(true));
    assert_eq!(yes.count(), 19_314);
    let unsorted = all
        .products
        .iter()
        .filter(|product| product.category == ["Clothing"]);
    assert_eq!(unsorted.count(), 7);
    let name = |id: &str| {
        all.products
            .iter()
            .find(|p| p.source.external_id == id)
            .unwrap()
            .name
            .clone()
    };
    assert_eq!(
        (name("1078"), name("72")),
        (Some("Dress 1078".to_owned()), Some("Garment 72".to_owned()))
    );
}

#[test]
fn fine_food_reviews() {
    let Some(path) = find("reviews-fine-foods.jsonl.gz") else {
        return;
    };
    let all = draft("fine-food-reviews", &path);
    assert_eq!(
        (all.lines, all.reviews.len(), all.products.len()),
        (9_066, 9_066, 1_348)
    );
    assert!(all.rejected.is_empty() && all.dropped.is_empty());
    let stars = counted(all.reviews.iter().map(|review| review.rating.get()));
    assert_eq!(
        stars,
        BTreeMap::from([(1, 870), (2, 544), (3, 756), (4, 1255), (5, 5641)])
    );
    let pairs: HashSet<_> = all
        .reviews
        .iter()
        .map(|r| (&r.product, r.author.as_ref().map(|a| &a.id)))
        .collect();
    assert_eq!(all.reviews.len() - pairs.len(), 113);
    let dates = all.reviews.iter().filter_map(|review| review.created_at);
    let (first, last) = (dates.clone().min().unwrap(), dates.max().unwrap());
    assert_eq!(first.to_string(), "2000-06-23T00:00:00.000Z");
    assert_eq!(last.to_string(), "2012-10-26T00:00:00.000Z");
    assert!(!all.reviews.iter().any(|review| review.body.contains("<br")));
}

/// A digest of all drafts of a feed, in the order of the feed.
fn feed_digest(all: &Drafted) -> String {
    let products = all.products.iter().map(vitrine_model::import::digest);
    let reviews = all.reviews.iter().map(vitrine_model::import::digest);
    vitrine_model::import::digest(&products.chain(reviews).collect::<Vec<String>>())
}

#[test]
fn the_drafts_of_the_real_feeds_stay_as_they_are() {
    for (mapping, file, digest) in [
        (
            "opendb",
            "catalog-opendb.jsonl.gz",
            "b458f10829bb3d92dc29e0d7fa879a82",
        ),
        (
            "clothing-reviews",
            "reviews-clothing.jsonl.gz",
            "709f315844fd600c044996194010dae7",
        ),
        (
            "fine-food-reviews",
            "reviews-fine-foods.jsonl.gz",
            "c933375f0662c103ec649ffae0eb786c",
        ),
    ] {
        let Some(path) = find(file) else { continue };
        let drafted = feed_digest(&draft(mapping, &path));
        assert_eq!(drafted, digest, "{mapping}");
    }
}
