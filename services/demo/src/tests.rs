//! What the demo catalogue promises.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use vitrine_model::import::{ExternalRef, digest};
use vitrine_model::product::{
    Details, Kind, MAX_DESCRIPTION_CHARACTERS, MAX_KIND_BYTES, MAX_MEDIA, MAX_NAME_CHARACTERS,
    MAX_SKU_BYTES, ProductStatus,
};
use vitrine_model::review::{MAX_BODY_CHARACTERS, MAX_EXCERPT_CHARACTERS, MAX_TITLE_CHARACTERS};
use vitrine_model::spec::{MAX_FILTERABLE_BYTES, MAX_SPECS, SpecKey, SpecValue, check};
use vitrine_model::supplier::country_code;
use vitrine_model::text::excerpt;

use super::*;

/// Changes with every word and every rule of the generator, as demo catalogues do.
const DIGEST_OF_SEED_7: &str = "977da39b761b00fffe35164600edc293";
/// The digest of the activity of the usual catalogue.
const DIGEST_OF_ACTIVITY: &str = "1d0485897d0a856798f9bed563fe45e8";
const FIVE_YEARS: i64 = 1_827 * DAY;

fn options(seed: u64) -> DemoOptions {
    DemoOptions {
        seed,
        ..DemoOptions::new(Timestamp::parse("2026-06-01T09:30:00Z").unwrap())
    }
}

/// The usual catalogue, generated once for all tests.
struct Catalogue {
    demo: Demo,
    products: Vec<ProductDraft>,
    reviews: Vec<ReviewDraft>,
}

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let demo = Demo::new(options(1));
        Catalogue {
            products: demo.products().collect(),
            reviews: demo.reviews().collect(),
            demo,
        }
    });
    &CATALOGUE
}

fn small(products: usize, reviews: usize) -> Demo {
    Demo::new(DemoOptions {
        products,
        reviews,
        ..options(1)
    })
}

fn digest_of(demo: &Demo) -> String {
    let products = demo.products().map(|draft| digest(&draft));
    let reviews = demo.reviews().map(|draft| digest(&draft));
    digest(&products.chain(reviews).collect::<Vec<String>>())
}

fn digest_of_activity(all: &[DemoActivity]) -> String {
    let parts = all.iter().map(|one| {
        let orders = one.orders.iter();
        let orders = orders.map(|order| (&order.number, &order.customer, order.units, order.at));
        let orders: Vec<_> = orders.collect();
        (&one.sku, &one.views, &one.carts, orders)
    });
    digest(&parts.collect::<Vec<_>>())
}

#[test]
fn a_seed_and_a_day_give_one_catalogue() {
    let later = Timestamp::parse("2026-06-01T23:59:59Z").unwrap();
    let demo = Demo::new(DemoOptions {
        now: later,
        ..options(7)
    });
    assert_eq!(digest_of(&demo), DIGEST_OF_SEED_7);
    assert_ne!(digest_of(&small(60, 200)), digest_of(&small(61, 200)));
}

#[test]
fn a_seed_and_a_moment_give_the_same_activity() {
    let Catalogue { demo, products, .. } = catalogue();
    let now = Timestamp::parse("2026-06-01T09:30:00Z").unwrap();
    let all: Vec<DemoActivity> = demo.activity(now).collect();
    assert_eq!(all, demo.activity(now).collect::<Vec<_>>());
    assert_eq!(digest_of_activity(&all), DIGEST_OF_ACTIVITY);
    let sold = |sku: &str| {
        let product = products
            .iter()
            .find(|product| product.sku.as_deref() == Some(sku))
            .unwrap();
        product.status == Some(ProductStatus::Active)
    };
    assert!(all.iter().all(|one| sold(&one.sku)));
    let sum = |of: fn(&DemoActivity) -> usize| all.iter().map(of).sum::<usize>();
    let (views, carts) = (sum(|one| one.views.len()), sum(|one| one.carts.len()));
    let orders = sum(|one| one.orders.len());
    assert!((5_000..50_000).contains(&views), "{views} views");
    assert!(carts * 4 < views && carts > 200, "{carts} carts");
    assert!((200..3_000).contains(&orders), "{orders} orders");
    let far = |at: &Timestamp, most: i64| (0..=most).contains(&(now.as_millis() - at.as_millis()));
    let mut numbers = HashSet::new();
    for one in &all {
        let seen = one.views.iter().chain(&one.carts);
        assert!(seen.clone().all(|at| far(at, DAY)), "{}", one.sku);
        for order in &one.orders {
            assert!(far(&order.at, 30 * DAY) && order.units >= 1);
            assert!(numbers.insert(&order.number), "{} twice", order.number);
        }
    }
}

#[test]
fn it_is_as_large_as_promised() {
    let Catalogue { demo, products, .. } = catalogue();
    assert_eq!((products.len(), demo.product_count()), (3_200, 3_200));
    let kinds: HashSet<&str> = products.iter().filter_map(|p| p.kind.as_deref()).collect();
    assert!(Kind::TYPED.iter().all(|kind| kinds.contains(kind.name())));
    assert!(kinds.contains("drone") && kinds.len() >= 9, "{kinds:?}");
    let suppliers: HashSet<_> = products
        .iter()
        .filter_map(|p| p.supplier.as_ref())
        .collect();
    assert!((30..=50).contains(&suppliers.len()), "{}", suppliers.len());
    let names: HashSet<&str> = products.iter().filter_map(|p| p.name.as_deref()).collect();
    assert!(names.len() > 3_150, "{} names", names.len());
    categories(products);
}

fn categories(products: &[ProductDraft]) {
    let mut leaves: BTreeMap<&[String], usize> = BTreeMap::new();
    for product in products {
        assert_eq!(product.category.len(), 3);
        *leaves.entry(&product.category).or_default() += 1;
    }
    let tops: BTreeSet<&String> = leaves.keys().map(|path| &path[0]).collect();
    assert!((12..=14).contains(&tops.len()), "{tops:?}");
    let sizes = || leaves.values().copied();
    assert!(sizes().max() > Some(350) && sizes().min() >= Some(10));
    assert!(sizes().filter(|size| *size <= 25).count() >= 20);
}

#[test]
fn every_key_has_one_type_and_every_spec_is_sound() {
    let units = UnitTable::built_in();
    let mut keys: HashMap<String, SpecKey> = HashMap::new();
    let mut unit_names: HashMap<String, HashSet<String>> = HashMap::new();
    let mut lengths = Vec::new();
    for product in &catalogue().products {
        assert!(product.specs.len() <= MAX_SPECS);
        for spec in &product.specs {
            check(spec, &units).unwrap();
            let learnt = SpecKey::learnt(spec, &units).unwrap();
            let known = keys.entry(spec.key.clone()).or_insert(learnt);
            known.accepts(spec, &units).unwrap();
            match &spec.value {
                SpecValue::Text(text) => lengths.push(text.len()),
                SpecValue::Quantity { unit, .. } => {
                    let names = unit_names.entry(spec.key.clone()).or_default();
                    names.insert(unit.clone());
                }
                _ => {}
            }
        }
    }
    assert!(keys.len() >= 250, "{} keys", keys.len());
    let mixed = unit_names.values().filter(|names| names.len() > 1).count();
    assert!(mixed >= 60, "{mixed} keys of mixed units");
    assert!(lengths.iter().any(|length| *length > MAX_FILTERABLE_BYTES));
    assert!(lengths.iter().filter(|length| **length > 64).count() > 20);
}

#[test]
fn products_are_sound() {
    let Catalogue { demo, products, .. } = catalogue();
    let (now, mut earlier) = (demo.options.now, HashMap::new());
    let mut skus = HashSet::new();
    for product in products {
        let created = product.created_at.unwrap();
        assert!(created <= now && created.plus_millis(FIVE_YEARS) >= now);
        let name = product.name.as_deref().unwrap();
        let kind = product.kind.as_deref().unwrap();
        assert!((1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()));
        let description = product.description.as_deref().unwrap_or_default();
        assert!(description.chars().count() <= MAX_DESCRIPTION_CHARACTERS);
        assert!(!description.contains(['{', '}']) && !name.contains(['{', '}']));
        assert!(kind.len() <= MAX_KIND_BYTES && product.media.len() <= MAX_MEDIA);
        let country = product.supplier.as_ref().and_then(|s| s.country.as_deref());
        assert!(country.is_none_or(|code| country_code(code).is_some()));
        if let Some(sku) = &product.sku {
            assert!(sku.len() <= MAX_SKU_BYTES && skus.insert(sku.clone()));
        }
        assert!(
            product
                .details
                .kind()
                .is_none_or(|typed| typed.name() == kind)
        );
        bundle(product, &earlier);
        book(&product.details);
        let sellable = product.status == Some(ProductStatus::Active) && product.price.is_some();
        let currency = product.price.map(|price| price.currency);
        let known = earlier.insert(product.source.clone(), currency.filter(|_| sellable));
        assert_eq!(known, None);
    }
}

fn bundle(
    product: &ProductDraft,
    earlier: &HashMap<ExternalRef, Option<vitrine_model::money::Currency>>,
) {
    if product.kind.as_deref() != Some("bundle") {
        assert!(product.bundle.is_empty());
        return;
    }
    assert!(
        (2..=5).contains(&product.bundle.len()),
        "{:?}",
        product.name
    );
    let currencies: HashSet<_> = product
        .bundle
        .iter()
        .map(|item| earlier[&item.product].unwrap())
        .collect();
    assert_eq!(currencies.len(), 1);
    let items: HashSet<_> = product.bundle.iter().map(|item| &item.product).collect();
    assert_eq!(items.len(), product.bundle.len());
}

fn book(details: &Details) {
    let Details::Book(book) = details else { return };
    let isbn = book.isbn.as_deref().unwrap();
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = isbn
        .chars()
        .zip(weights)
        .map(|(c, w)| c.to_digit(10).unwrap() * w)
        .sum();
    assert!(isbn.len() == 13 && sum.is_multiple_of(10), "{isbn}");
    assert_eq!(book.contributors[0].role, "author");
}

#[test]
fn reviews_are_sound() {
    let Catalogue {
        demo,
        products,
        reviews,
    } = catalogue();
    let created: HashMap<&ExternalRef, Timestamp> = products
        .iter()
        .map(|product| (&product.source, product.created_at.unwrap()))
        .collect();
    let (mut ids, mut pairs, mut authors) = (HashSet::new(), HashSet::new(), HashSet::new());
    let (mut cut, mut endless, mut languages) = (0, 0, HashSet::new());
    for review in reviews {
        let at = review.created_at.unwrap();
        assert!(at >= created[&review.product] && at <= demo.options.now);
        assert!(review.title.chars().count() <= MAX_TITLE_CHARACTERS);
        assert!(review.body.chars().count() <= MAX_BODY_CHARACTERS);
        assert!(!review.body.contains(['{', '}']) && !review.title.contains(['{', '}']));
        assert!(review.helpful >= 0 && review.unhelpful >= 0);
        if let Some(author) = &review.author {
            authors.insert(&author.id);
            assert!(pairs.insert((&review.product, &author.id)));
        }
        assert!(ids.insert(&review.origin.external_id));
        cut += usize::from(excerpt(&review.body, MAX_EXCERPT_CHARACTERS).truncated);
        endless += usize::from(review.body.len() > 2_500);
        languages.insert(&review.language);
    }
    assert_eq!((ids.len(), demo.review_count()), (60_500, 60_500));
    assert!(authors.len() > 12_000, "{}", authors.len());
    assert!(cut > 500 && endless == 2, "{cut} {endless}");
    assert_eq!(languages.len(), 4);
}

#[test]
fn few_products_have_most_reviews() {
    let plan = &catalogue().demo.plan;
    let mut counts: Vec<usize> = plan.products.iter().map(|p| p.reviews).collect();
    counts.sort_unstable();
    let top = counts.pop().unwrap();
    assert!((5_001..6_000).contains(&top));
    let large = counts.iter().filter(|count| **count >= 500).count();
    assert!(counts.last() <= Some(&2_000) && (3..20).contains(&large));
    let median = counts[counts.len() / 2];
    assert!((4..=8).contains(&median), "median {median}");
    assert!(counts.iter().filter(|count| **count == 0).count() >= 100);
}

#[test]
fn stars_depend_on_the_product() {
    let mut histograms: HashMap<&ExternalRef, [u32; 5]> = HashMap::new();
    for review in &catalogue().reviews {
        histograms.entry(&review.product).or_default()[review.rating.index()] += 1;
        let stars = review.rating.get();
        assert!(review.recommended != Some(true) || stars > 1);
        assert!(review.recommended != Some(false) || stars < 5);
    }
    let popular = histograms.values().filter(|h| h.iter().sum::<u32>() >= 100);
    let means = popular.map(|h| {
        let sum: u32 = h.iter().zip(1..).map(|(n, stars)| n * stars).sum();
        f64::from(sum) / f64::from(h.iter().sum::<u32>())
    });
    let means: Vec<f64> = means.collect();
    assert!(
        means.iter().all(|mean| (2.8..4.9).contains(mean)),
        "{means:?}"
    );
    assert!(means.iter().any(|mean| *mean < 3.7) && means.iter().any(|mean| *mean > 4.5));
}

#[test]
fn small_catalogues_work() {
    for products in [0, 1, 9, 40, 300] {
        let demo = small(products, products * 20);
        assert_eq!(demo.products().count(), products);
        assert_eq!(demo.reviews().count(), demo.review_count());
        let bundles = demo
            .products()
            .filter(|p| p.kind.as_deref() == Some("bundle"));
        assert!(bundles.into_iter().all(|p| p.bundle.len() >= 2));
    }
}
