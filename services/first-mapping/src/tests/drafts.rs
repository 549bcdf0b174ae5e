//! What feeds become by their first mappings, as text.

use std::fmt::Write as _;
use std::path::Path;

use vitrine_formats::Feed;
use vitrine_ingest::Mapping;
use vitrine_ingest::draft::{Drafter, LineStatus};
use vitrine_model::import::{ProductDraft, ReviewDraft};
use vitrine_model::product::{Details, Media};

/// What a feed becomes by a mapping: a line for each field, what is refused, and how many there are.
pub(super) fn drafted(feed: &Path, mapping: &Path) -> String {
    let mapping = Mapping::from_file(mapping).unwrap_or_else(|error| panic!("{error}"));
    let mapping = mapping.with_feed(&[feed.to_owned()]).unwrap();
    drafted_by(feed, &mapping)
}

/// As [`drafted`], by a mapping that is read already.
pub(super) fn drafted_by(feed: &Path, mapping: &Mapping) -> String {
    let mut rows = Feed::open(feed, mapping.form()).unwrap();
    let mut drafter = Drafter::new(mapping);
    let (mut out, mut products, mut reviews) = (String::new(), 0, 0);
    while let Some(batch) = drafter.batch(&mut rows) {
        for (product, line) in batch.products.iter().zip(&batch.product_lines) {
            products += 1;
            show_product(product, *line, &mut out);
        }
        for review in &batch.reviews {
            reviews += 1;
            show_review(review, &mut out);
        }
        for line in &batch.lines {
            if let LineStatus::Rejected(reasons) = &line.status {
                let _ = writeln!(out, "rejected: line {}: {reasons:?}", line.number);
            }
            for dropped in line.dropped.iter().chain(&line.ignored) {
                let _ = writeln!(out, "dropped: line {}: {dropped:?}", line.number);
            }
        }
    }
    let _ = writeln!(out, "products: {products}\nreviews: {reviews}");
    out
}

fn show_product(product: &ProductDraft, line: u64, out: &mut String) {
    let _ = writeln!(out, "product {} of line {line}", product.source.external_id);
    let category = product.category.join(" > ");
    let category = Some(category).filter(|names| !names.is_empty());
    let description = product
        .description
        .as_ref()
        .map(|text| text.replace('\n', "\\n"));
    for (what, value) in [
        ("name", &product.name),
        ("kind", &product.kind),
        ("category", &category),
        ("description", &description),
        ("brand", &product.brand),
        ("sku", &product.sku),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "  {what}: {value}");
        }
    }
    if let Some(status) = product.status {
        let _ = writeln!(out, "  status: {}", status.name());
    }
    if let Some(price) = product.price {
        let _ = writeln!(out, "  price: {} {}", price.amount(), price.currency.code());
    }
    show_media(&product.media, out);
    for spec in &product.specs {
        let (kind, value) = (spec.value.value_type(), spec.value.display());
        let _ = writeln!(out, "  spec: {} = {value} ({kind})", spec.key);
    }
    if let Details::Book(book) = &product.details {
        if let Some(isbn) = &book.isbn {
            let _ = writeln!(out, "  detail: isbn = {isbn}");
        }
        for contributor in &book.contributors {
            let _ = writeln!(out, "  detail: contributor = {}", contributor.name);
        }
    }
}

fn show_media(media: &[Media], out: &mut String) {
    for media in media {
        let alt = media
            .alt
            .as_ref()
            .map_or(String::new(), |alt| format!(" ({alt})"));
        let _ = writeln!(out, "  image: {}{alt}", media.url);
    }
}

fn show_review(review: &ReviewDraft, out: &mut String) {
    let _ = writeln!(out, "review {}", review.origin.external_id);
    let _ = writeln!(out, "  product: {}", review.product.external_id);
    let _ = writeln!(out, "  rating: {}", review.rating.get());
    for (what, value) in [("title", &review.title), ("body", &review.body)] {
        if !value.is_empty() {
            let _ = writeln!(out, "  {what}: {value}");
        }
    }
    if let Some(author) = &review.author {
        let _ = writeln!(out, "  author: {}", author.name);
    }
    if let Some(date) = review.created_at {
        let _ = writeln!(out, "  date: {date}");
    }
    let _ = writeln!(out, "  verified: {}", review.verified);
    let _ = writeln!(out, "  votes: {} and {}", review.helpful, review.unhelpful);
    show_media(&review.media, out);
}
