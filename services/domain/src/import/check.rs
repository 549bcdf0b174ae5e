//! Validation of drafts without the database.

use vitrine_model::category::MAX_CATEGORY_DEPTH;
use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ProductDraft, Rejection, ReviewDraft};
use vitrine_model::product::{Details, Kind, MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS};
use vitrine_model::review::{MAX_BODY_CHARACTERS, MAX_TITLE_CHARACTERS};
use vitrine_model::spec;
use vitrine_model::unit::UnitTable;

use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::rejections::Rejections;

/// All errors of a product draft.
pub(super) fn product(draft: &ProductDraft, units: &UnitTable, now: Timestamp) -> Vec<Rejection> {
    let mut errors = Rejections::default();
    errors.optional("name", draft.name.as_deref(), MAX_NAME_CHARACTERS);
    errors.optional(
        "description",
        draft.description.as_deref(),
        MAX_DESCRIPTION_CHARACTERS,
    );
    errors.optional("brand", draft.brand.as_deref(), MAX_LABEL_CHARACTERS);
    errors.optional(
        "supplier",
        draft.supplier.as_ref().map(|s| s.name.as_str()),
        MAX_LABEL_CHARACTERS,
    );
    let origin = draft.supplier.as_ref().and_then(|one| one.origin.as_ref());
    if let Some(origin) = origin {
        errors.check("supplier.id", limits::code(&origin.external_id));
    }
    errors.check(
        "external_id",
        limits::article_number(&draft.source.external_id),
    );
    if let Some(sku) = &draft.sku {
        errors.check("sku", limits::article_number(sku));
    }
    errors.past("created_at", draft.created_at, now);
    errors.kind(draft);
    errors.categories(&draft.category);
    errors.media(draft);
    errors.check("specs", limits::spec_count(draft.specs.len()));
    for spec in &draft.specs {
        if let Err(wrong) = spec::check(spec, units) {
            errors.add(&format!("specs.{}", spec.key), wrong.to_string());
        }
    }
    errors.into_all()
}

/// All errors of a review draft.
pub(super) fn review(draft: &ReviewDraft, units: &UnitTable, now: Timestamp) -> Vec<Rejection> {
    let mut errors = Rejections::default();
    errors.check("external_id", limits::code(&draft.origin.external_id));
    errors.text("title", &draft.title, 0, MAX_TITLE_CHARACTERS);
    errors.text("body", &draft.body, 0, MAX_BODY_CHARACTERS);
    if let Some(author) = &draft.author {
        errors.check("author.id", limits::code(&author.id.0));
        errors.text("author.name", &author.name, 1, MAX_LABEL_CHARACTERS);
    }
    for (field, votes) in [("helpful", draft.helpful), ("unhelpful", draft.unhelpful)] {
        errors.ensure((0..=1_000_000_000).contains(&votes), field, || {
            format!("{votes} votes; 0 to 1,000,000,000 are possible")
        });
    }
    for dimension in draft.dimensions.keys() {
        if let Err(wrong) = spec::check_key(dimension) {
            errors.add("dimensions", wrong.to_string());
        }
    }
    errors.past("created_at", draft.created_at, now);
    errors.review_media(&draft.media);
    errors.review_attributes(&draft.attributes, units);
    errors.into_all()
}

impl Rejections {
    /// Checks the date of something that has happened.
    fn past(&mut self, field: &str, at: Option<Timestamp>, now: Timestamp) {
        let checked = at.map_or(Ok(()), |at| at.check_past(now));
        self.check(field, checked.map_err(|wrong| wrong.to_string()));
    }

    fn kind(&mut self, draft: &ProductDraft) {
        let kind = draft.kind.as_deref();
        if let Some(kind) = kind {
            self.check("kind", limits::kind(kind));
        }
        let of = kind.map(Kind::of);
        let typed = draft.details.kind().is_none_or(|typed| Some(typed) == of);
        self.ensure(typed, "details", || {
            let details = draft.details.kind().map_or("generic", Kind::name);
            let kind = kind.map_or("no kind".to_owned(), |kind| format!("kind {kind}"));
            format!("details of a {details} in a product of {kind}")
        });
        let bundle = matches!(draft.details, Details::Bundle(_)) || of == Some(Kind::Bundle);
        self.ensure(bundle || draft.bundle.is_empty(), "bundle", || {
            "only products of kind bundle have items".to_owned()
        });
        let quantities = draft.bundle.iter().map(|item| item.quantity);
        self.check("bundle", limits::items(draft.bundle.len(), quantities));
    }

    fn categories(&mut self, path: &[String]) {
        self.ensure(path.len() <= MAX_CATEGORY_DEPTH, "category", || {
            format!("a category is a path of 1 to {MAX_CATEGORY_DEPTH} names")
        });
        for name in path {
            self.text("category", name, 1, MAX_LABEL_CHARACTERS);
        }
    }

    fn media(&mut self, draft: &ProductDraft) {
        self.check("media", limits::media_count(draft.media.len()));
        for media in &draft.media {
            self.check("media.url", limits::address(&media.url));
        }
    }
}
