//! What the feeds in the folder `fixtures` become, compared with the texts beside them.

use std::fmt::Write as _;
use std::path::Path;

use vitrine_formats::Feed;
use vitrine_model::import::{ProductDraft, ReviewDraft};

use super::{Drafter, LineStatus, Mapping};

/// What a feed of the folder `fixtures` becomes, as text.
fn drafted(feed: &str, mapping: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mapping = Mapping::from_file(&folder.join(mapping)).unwrap();
    let mut feed = Feed::open(&folder.join(feed), mapping.form()).unwrap();
    let mut drafter = Drafter::new(&mapping);
    let mut text = String::new();
    while let Some(batch) = drafter.batch(&mut feed) {
        for line in &batch.lines {
            assert_eq!((&line.dropped[..], &line.ignored[..]), (&[][..], &[][..]));
            let is_rejected = matches!(line.status, LineStatus::Rejected(_));
            assert!(!is_rejected, "{line:?}");
        }
        for (product, line) in batch.products.iter().zip(&batch.product_lines) {
            show(product, *line, &mut text);
        }
        for review in &batch.reviews {
            show_review(review, &mut text);
        }
    }
    assert_eq!(drafter.unmatched(), []);
    text
}

fn show_review(review: &ReviewDraft, text: &mut String) {
    let (id, product) = (&review.origin.external_id, &review.product.external_id);
    let author = review.author.as_ref().map_or("-", |author| &author.name);
    let body = &review.body;
    let stars = review.rating.get();
    let _ = writeln!(
        text,
        "  review {id} of {product}: {stars} by {author}: {body}"
    );
}

fn show(product: &ProductDraft, line: u64, text: &mut String) {
    let id = &product.source.external_id;
    let name = product.name.as_deref().unwrap_or("-");
    let category = product.category.join(" > ");
    let _ = writeln!(text, "{line}: {id}: {name} in {category}");
    for (what, value) in [
        ("sku", &product.sku),
        ("brand", &product.brand),
        ("description", &product.description),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "  {what}: {}", value.replace('\n', "\\n"));
        }
    }
    if let Some(price) = product.price {
        let _ = writeln!(text, "  {} {}", price.amount(), price.currency.code());
    }
    for media in &product.media {
        let alt = media.alt.as_deref().unwrap_or("-");
        let _ = writeln!(text, "  {:?} {} {alt}", media.kind, media.url);
    }
    for spec in &product.specs {
        let (kind, value) = (spec.value.value_type(), spec.value.display());
        let _ = writeln!(text, "  {} = {value} ({kind})", spec.key);
    }
}

/// Compares what a feed becomes with the file of that name, or rewrites the file.
#[expect(
    clippy::disallowed_methods,
    reason = "whether generated files are rewritten is no setting of the service"
)]
pub(super) fn compare_file(file: &Path, made: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, made).unwrap();
    }
    let expected = std::fs::read_to_string(file).unwrap();
    assert_eq!(made, expected, "UPDATE_EXPECT=1 cargo test rewrites it");
}

pub(super) fn compare(feed: &str, mapping: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let file = folder.join(mapping).with_extension("txt");
    compare_file(&file, &drafted(feed, mapping));
}
