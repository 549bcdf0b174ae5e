//! Values that the catalogue refuses, and that a mapping allows to leave out (`droppable`).

use std::borrow::Cow;

use vitrine_model::clock::Timestamp;
use vitrine_model::import::{ProductDraft, Rejection, ReviewDraft};
use vitrine_model::product::MAX_MEDIA;
use vitrine_model::review::MAX_REVIEW_MEDIA;
use vitrine_model::spec;
use vitrine_model::unit::UnitTable;

use super::check;
use crate::limits;
use crate::rejections::wrong_attribute;

/// The fields of a product that can be left out, besides specs.
const OPTIONAL: [&str; 7] = [
    "description",
    "brand",
    "supplier",
    "supplier.id",
    "media",
    "media.url",
    "created_at",
];

/// The fields of a review that can be left out, besides facts about its author.
const OPTIONAL_OF_REVIEW: [&str; 9] = [
    "author.id",
    "author.name",
    "helpful",
    "unhelpful",
    "title",
    "body",
    "media",
    "media.url",
    "created_at",
];

/// A draft without the values that were left out.
pub(super) struct Checked<'a, D: Clone> {
    pub(super) draft: Cow<'a, D>,
    /// Why values were left out.
    pub(super) dropped: Vec<Rejection>,
}

/// Checks a draft without the database; refused values are left out if they may be.
///
/// # Errors
/// The reasons why the draft is refused.
pub(super) fn product<'a>(
    draft: &'a ProductDraft,
    units: &UnitTable,
    now: Timestamp,
) -> Result<Checked<'a, ProductDraft>, Vec<Rejection>> {
    let refused = check::product(draft, units, now);
    let mut checked = Checked {
        draft: Cow::Borrowed(draft),
        dropped: Vec::new(),
    };
    if refused.is_empty() {
        return Ok(checked);
    }
    let may_drop = |one: &Rejection| {
        let known = OPTIONAL.contains(&&*one.field) || one.field.starts_with("specs.");
        known && draft.droppable.has(&one.field, &draft.specs)
    };
    if !refused.iter().all(may_drop) {
        return Err(refused);
    }
    let less = checked.draft.to_mut();
    for one in &refused {
        match &*one.field {
            "description" => less.description = None,
            "brand" => less.brand = None,
            "supplier" | "supplier.id" => less.supplier = None,
            "created_at" => less.created_at = None,
            "media" => less.media.truncate(MAX_MEDIA),
            "media.url" => less.media.retain(|one| limits::address(&one.url).is_ok()),
            _ => {
                let ProductDraft {
                    specs, droppable, ..
                } = &mut *less;
                droppable.retain(specs, |_, spec| spec::check(spec, units).is_ok());
            }
        }
    }
    checked.dropped = refused;
    Ok(checked)
}

/// Leaves out specs that contradict the dictionary, if they may be; each with its index.
///
/// # Errors
/// The reasons why the draft is refused.
pub(super) fn specs(
    draft: &mut Cow<'_, ProductDraft>,
    refused: Vec<(usize, Rejection)>,
) -> Result<Vec<Rejection>, Vec<Rejection>> {
    let may_drop = |(at, _): &(usize, Rejection)| draft.droppable.specs.contains(at);
    let all = refused.iter().all(may_drop);
    let (places, refused): (Vec<usize>, Vec<Rejection>) = refused.into_iter().unzip();
    if !all {
        return Err(refused);
    }
    let ProductDraft {
        specs, droppable, ..
    } = draft.to_mut();
    droppable.retain(specs, |at, _| !places.contains(&at));
    Ok(refused)
}

/// Checks a review without the database; refused values are left out if they may be.
///
/// # Errors
/// The reasons why the review is refused.
pub(super) fn review<'a>(
    draft: &'a ReviewDraft,
    units: &UnitTable,
    now: Timestamp,
) -> Result<Checked<'a, ReviewDraft>, Vec<Rejection>> {
    let refused = check::review(draft, units, now);
    let mut checked = Checked {
        draft: Cow::Borrowed(draft),
        dropped: Vec::new(),
    };
    if refused.is_empty() {
        return Ok(checked);
    }
    let may_drop = |one: &Rejection| {
        let known = OPTIONAL_OF_REVIEW.contains(&&*one.field);
        let known = known || one.field.starts_with("attributes.");
        known && draft.droppable.has(&one.field, &draft.attributes)
    };
    if !refused.iter().all(may_drop) {
        return Err(refused);
    }
    let less = checked.draft.to_mut();
    for one in &refused {
        match &*one.field {
            "author.id" | "author.name" => less.author = None,
            "helpful" => less.helpful = 0,
            "unhelpful" => less.unhelpful = 0,
            "title" => less.title.clear(),
            "body" => less.body.clear(),
            "created_at" => less.created_at = None,
            "media" => less.media.truncate(MAX_REVIEW_MEDIA),
            "media.url" => less.media.retain(|one| limits::address(&one.url).is_ok()),
            _ => less
                .attributes
                .retain(|one| wrong_attribute(one, units).is_empty()),
        }
    }
    checked.dropped = refused;
    Ok(checked)
}
