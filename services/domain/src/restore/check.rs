//! Validation of what an export has. A service has checked it before it was exported; these checks
//! keep a file that was changed since from damaging the database.

use vitrine_model::import::Rejection;
use vitrine_model::product::{Details, MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS, Product};
use vitrine_model::review::{
    MAX_BODY_CHARACTERS, MAX_TITLE_CHARACTERS, Review, ReviewStatus, Vote,
};
use vitrine_model::spec::{self, Dictionary, KeyUsage, SpecKey};
use vitrine_model::unit::UnitTable;
use vitrine_storage::export::StoredReview;

use super::RestoreSession;
use crate::export::ExportedProduct;
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::rejections::Rejections;

impl RestoreSession {
    /// All errors of a product.
    pub(super) fn check_product(
        &self,
        product: &Product,
        dictionary: &Dictionary,
    ) -> Vec<Rejection> {
        let mut found = Rejections::default();
        found.text("name", &product.name, 1, MAX_NAME_CHARACTERS);
        found.optional(
            "description",
            product.description.as_deref(),
            MAX_DESCRIPTION_CHARACTERS,
        );
        found.optional("brand", product.brand.as_deref(), MAX_LABEL_CHARACTERS);
        found.check("sku", limits::code(&product.sku));
        found.check("slug", limits::slug(&product.slug));
        found.check("kind", limits::kind(&product.kind));
        found.check("media", limits::media_count(product.media.len()));
        for media in &product.media {
            found.check("media.url", limits::address(&media.url));
        }
        for source in &product.sources {
            found.check("sources.external_id", limits::code(&source.external_id));
        }
        found.ensure(product.revision >= 1, "revision", || {
            "is below 1".to_owned()
        });
        let category = self.categories.contains_key(&product.category);
        found.ensure(category, "category", || {
            "there is no such category; its line comes before that of the product".to_owned()
        });
        self.check_supplier(product, &mut found);
        self.check_specs(product, dictionary, &mut found);
        check_bundle(product, &mut found);
        let encoding = self.catalog.encoding(&self.units);
        found.check("product", limits::content(product, encoding));
        found.into_all()
    }

    /// All errors of what the sources of a product say.
    pub(super) fn check_contributions(&self, exported: &ExportedProduct) -> Vec<Rejection> {
        let ExportedProduct { product, said } = exported;
        let mut found = Rejections::default();
        let sources = said.iter().map(|one| &one.source);
        let needed = product.has_contributions();
        found.ensure(
            if needed {
                sources.eq(&product.sources)
            } else {
                said.is_empty()
            },
            "sources",
            || {
                "each source has what it says if the product has several, a partial one, or fields \
                 that people have edited; otherwise none has"
                    .to_owned()
            },
        );
        for content in said.iter().map(|one| &one.content) {
            let category = content.category;
            let is_known = category.is_none_or(|id| self.categories.contains_key(&id));
            found.ensure(is_known, "sources.says.category", || {
                "there is no such category".to_owned()
            });
            let supplier = content.supplier;
            let is_known = supplier.is_none_or(|id| self.suppliers.contains_key(&id));
            found.ensure(is_known, "sources.says.supplier", || {
                "there is no such supplier".to_owned()
            });
            for one in &content.specs {
                if let Err(wrong) = spec::check(one, &self.units) {
                    found.add(
                        &format!("sources.says.specs.{}", one.key),
                        wrong.to_string(),
                    );
                }
            }
        }
        found.into_all()
    }

    fn check_supplier(&self, product: &Product, found: &mut Rejections) {
        let Some(copy) = &product.supplier else {
            return;
        };
        let fits = self.suppliers.get(&copy.id).is_some_and(|supplier| {
            let same = (&copy.name, &copy.country) == (&supplier.name, &supplier.country);
            copy.version < supplier.version || copy.version == supplier.version && same
        });
        found.ensure(fits, "supplier", || {
            "there is no such supplier, or it differs from its copy in the product".to_owned()
        });
    }

    fn check_specs(&self, product: &Product, dictionary: &Dictionary, found: &mut Rejections) {
        found.check("specs", limits::spec_count(product.specs.len()));
        let usage = KeyUsage::by(product.status);
        for one in &product.specs {
            let field = format!("specs.{}", one.key);
            if let Err(wrong) = spec::check(one, &self.units) {
                found.add(&field, wrong.to_string());
                continue;
            }
            let key = dictionary.get(&one.key);
            let Some(key) = key.filter(|key| is_stored_name(key, &one.key)) else {
                let reason = "there is no such spec key; its line comes before that of the product";
                found.add(&field, reason.to_owned());
                continue;
            };
            let is_rewritten_later = key.earlier_type == Some(one.value.value_type());
            if let Err(wrong) = key.accepts(one, &self.units)
                && !is_rewritten_later
            {
                found.add(&field, wrong.to_string());
            }
            found.ensure(key.usage >= usage, &field, || {
                "the usage of the spec key does not allow a product of this status".to_owned()
            });
        }
    }
}

/// Whether products may have the key under this name: aliases are for people.
fn is_stored_name(key: &SpecKey, name: &str) -> bool {
    key.key == name || key.absorbing.iter().any(|absorbed| absorbed == name)
}

fn check_bundle(product: &Product, found: &mut Rejections) {
    let Details::Bundle(bundle) = &product.details else {
        return;
    };
    let quantities = bundle.items.iter().map(|item| item.quantity);
    found.check("bundle", limits::items(bundle.items.len(), quantities));
    found.ensure(bundle.price() == product.price, "price", || {
        "is not the sum of the items of the bundle".to_owned()
    });
}

/// All errors of a spec key that do not depend on others.
pub(super) fn spec_key(key: &SpecKey) -> Vec<Rejection> {
    let mut found = Rejections::default();
    if let Err(wrong) = spec::check_key(&key.key) {
        found.add("key", wrong.to_string());
    }
    found.text("label", &key.label, 1, MAX_LABEL_CHARACTERS);
    found.into_all()
}

/// All errors of a review.
pub(super) fn review(stored: &StoredReview, units: &UnitTable) -> Vec<Rejection> {
    let mut found = Rejections::default();
    let review = &stored.review;
    found.text("title", &review.title, 0, MAX_TITLE_CHARACTERS);
    found.text("body", &review.body, 0, MAX_BODY_CHARACTERS);
    if let Some(author) = &review.author {
        found.check("author.id", limits::code(&author.id.0));
        found.text("author.name", &author.name, 1, MAX_LABEL_CHARACTERS);
    }
    for dimension in review.dimensions.keys() {
        if let Err(wrong) = spec::check_key(dimension) {
            found.add("dimensions", wrong.to_string());
        }
    }
    found.review_media(&review.media);
    found.review_attributes(&review.attributes, units);
    found.ensure(review.verified || !review.vouched, "vouched", || {
        "a review whose source vouches for the purchase is verified".to_owned()
    });
    if let Some(origin) = &review.origin {
        found.check("origin.external_id", limits::code(&origin.external_id));
    }
    found.ensure(review.revision >= 1, "revision", || "is below 1".to_owned());
    counters(stored, &mut found);
    found.into_all()
}

/// The counters of a review are the sums of what happened to it.
fn counters(stored: &StoredReview, found: &mut Rejections) {
    let (review, history) = (&stored.review, &stored.history);
    let votes = |vote: Vote| {
        let all = history.votes.iter();
        let counted = all.filter(|one| one.vote == vote && one.round == review.round);
        i64::try_from(counted.count()).unwrap_or(i64::MAX)
    };
    let open = history.reports.iter().filter(|report| report.open).count();
    let open = i64::try_from(open).unwrap_or(i64::MAX);
    let helpful = review.imported_helpful.saturating_add(votes(Vote::Helpful));
    let unhelpful = review
        .imported_unhelpful
        .saturating_add(votes(Vote::Unhelpful));
    found.equals("helpful", review.helpful, helpful);
    found.equals("unhelpful", review.unhelpful, unhelpful);
    if review.author.is_some() || open != 0 {
        found.equals("reports", review.reports, open);
    }
    let waits = is_waiting(review);
    found.ensure(review.queued.is_some() == waits, "queued", || {
        format!(
            "a review in this state {} in the queue",
            if waits { "is" } else { "is not" }
        )
    });
}

/// Whether a moderator has to look at a review.
fn is_waiting(review: &Review) -> bool {
    review.status == ReviewStatus::Pending
        || (review.reports > 0 && review.status != ReviewStatus::Deleted)
}

impl Rejections {
    /// Checks a number that follows from what happened to the review.
    fn equals(&mut self, field: &str, given: i64, expected: i64) {
        self.ensure(given == expected, field, || {
            format!("is {given}, and what happened to the review makes it {expected}")
        });
    }
}
