//! What can be said of a draft without the database.

use vitrine_model::import::{ProductDraft, Rejection, ReviewDraft};
use vitrine_model::product::{
    Details, MOST_DESCRIPTION_CHARACTERS, MOST_KIND_BYTES, MOST_MEDIA, MOST_NAME_CHARACTERS,
    MOST_SKU_BYTES,
};
use vitrine_model::review::{MOST_BODY_CHARACTERS, MOST_TITLE_CHARACTERS};
use vitrine_model::spec::{self, MOST_SPECS};
use vitrine_model::unit::UnitTable;

/// The longest brand, supplier or category name, in characters.
const MOST_LABEL_CHARACTERS: usize = 200;
/// How deep the category tree may be.
const MOST_CATEGORY_DEPTH: usize = 8;

/// Everything that is wrong with a product draft.
pub(super) fn product(draft: &ProductDraft, units: &UnitTable) -> Vec<Rejection> {
    let mut found = Found::default();
    found.length("name", &draft.name, 1, MOST_NAME_CHARACTERS);
    found.optional(
        "description",
        draft.description.as_deref(),
        MOST_DESCRIPTION_CHARACTERS,
    );
    found.optional("brand", draft.brand.as_deref(), MOST_LABEL_CHARACTERS);
    found.optional(
        "supplier",
        draft.supplier.as_ref().map(|s| s.name.as_str()),
        MOST_LABEL_CHARACTERS,
    );
    found.external("external_id", &draft.source.external_id);
    if let Some(sku) = &draft.sku {
        found.external("sku", sku);
    }
    found.kind(draft);
    found.categories(&draft.category);
    found.media(draft);
    found.that(draft.specs.len() <= MOST_SPECS, "specs", || {
        format!(
            "{} specs; a product may have {MOST_SPECS}",
            draft.specs.len()
        )
    });
    for spec in &draft.specs {
        if let Err(wrong) = spec::check(spec, units) {
            found.add(&format!("specs.{}", spec.key), wrong.to_string());
        }
    }
    found.0
}

/// Everything that is wrong with a review draft.
pub(super) fn review(draft: &ReviewDraft) -> Vec<Rejection> {
    let mut found = Found::default();
    found.external("external_id", &draft.origin.external_id);
    found.length("title", &draft.title, 0, MOST_TITLE_CHARACTERS);
    found.length("body", &draft.body, 0, MOST_BODY_CHARACTERS);
    if let Some(author) = &draft.author {
        found.external("author.id", &author.id.0);
        found.length("author.name", &author.name, 1, MOST_LABEL_CHARACTERS);
    }
    for (field, votes) in [("helpful", draft.helpful), ("unhelpful", draft.unhelpful)] {
        found.that((0..=1_000_000_000).contains(&votes), field, || {
            format!("{votes} votes; 0 to 1,000,000,000 are possible")
        });
    }
    for dimension in draft.dimensions.keys() {
        if let Err(wrong) = spec::check_key(dimension) {
            found.add("dimensions", wrong.to_string());
        }
    }
    found.0
}

#[derive(Default)]
struct Found(Vec<Rejection>);

impl Found {
    fn add(&mut self, field: &str, reason: impl Into<String>) {
        self.0.push(Rejection::new(field, reason));
    }

    fn that(&mut self, holds: bool, field: &str, reason: impl FnOnce() -> String) {
        if !holds {
            self.add(field, reason());
        }
    }

    fn length(&mut self, field: &str, text: &str, least: usize, most: usize) {
        let characters = text.trim().chars().count();
        self.that((least..=most).contains(&characters), field, || {
            format!("{characters} characters; {least} to {most} are possible")
        });
        self.that(!text.contains('\0'), field, || {
            "holds a NUL character".to_owned()
        });
    }

    fn optional(&mut self, field: &str, text: Option<&str>, most: usize) {
        if let Some(text) = text {
            self.length(field, text, 1, most);
        }
    }

    fn external(&mut self, field: &str, id: &str) {
        let fits = (1..=MOST_SKU_BYTES).contains(&id.len()) && !id.contains(char::is_control);
        self.that(fits, field, || {
            format!(
                "{} bytes; 1 to {MOST_SKU_BYTES} without control characters are possible",
                id.len()
            )
        });
    }

    fn kind(&mut self, draft: &ProductDraft) {
        let kind = &draft.kind;
        let letters = kind
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        self.that(
            letters && (1..=MOST_KIND_BYTES).contains(&kind.len()),
            "kind",
            || {
                format!(
                    "a kind is 1 to {MOST_KIND_BYTES} lower-case letters, digits and underscores"
                )
            },
        );
        let typed = draft.details.kind().is_none_or(|of| of == kind);
        self.that(typed, "details", || {
            format!(
                "details of a {} in a product of kind {kind}",
                draft.details.kind().unwrap_or("generic")
            )
        });
        let bundle = matches!(draft.details, Details::Bundle(_)) || kind == "bundle";
        self.that(bundle || draft.bundle.is_empty(), "bundle", || {
            "only products of kind bundle have items".to_owned()
        });
        let quantities = draft
            .bundle
            .iter()
            .all(|item| (1..=10_000).contains(&item.quantity));
        self.that(quantities && draft.bundle.len() <= 100, "bundle", || {
            "a bundle has at most 100 items, each 1 to 10,000 times".to_owned()
        });
    }

    fn categories(&mut self, path: &[String]) {
        self.that(
            (1..=MOST_CATEGORY_DEPTH).contains(&path.len()),
            "category",
            || format!("a category is a path of 1 to {MOST_CATEGORY_DEPTH} names"),
        );
        for name in path {
            self.length("category", name, 1, MOST_LABEL_CHARACTERS);
        }
    }

    fn media(&mut self, draft: &ProductDraft) {
        self.that(draft.media.len() <= MOST_MEDIA, "media", || {
            format!(
                "{} media; a product may have {MOST_MEDIA}",
                draft.media.len()
            )
        });
        for media in &draft.media {
            let web = media.url.starts_with("https://") || media.url.starts_with("http://");
            let plain = media.url.len() <= 2048
                && !media
                    .url
                    .contains(|c: char| c.is_whitespace() || c.is_control());
            self.that(web && plain, "media.url", || {
                "an address begins with https:// or http:// and has at most 2,048 characters"
                    .to_owned()
            });
        }
    }
}
