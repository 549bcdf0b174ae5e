//! Encoding of reviews.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::rating::Stars;
use vitrine_model::review::{
    Applied, Decision, DecisionReason, Origin, QueueReason, Queued, Reply, Review, ReviewStatus,
    Traits,
};
use vitrine_model::spec::Spec;

use super::product::{media, plain_spec, read_media, read_spec};
use super::stats::{author, read_author, read_stars};
use super::{REVIEW_VERSION, put};
use crate::raw::{Fields, Read, date, integer, stored_id};

/// Returns the whole document of a review. `digest` is that of its record in a feed, for imported
/// reviews.
pub(crate) fn document(review: &Review, digest: Option<&str>) -> Document {
    let mut doc = doc! {
        "_id": stored_id(review.id.to_i64()),
        "schema_version": REVIEW_VERSION,
        "product_id": stored_id(review.product_id.to_i64()),
    };
    doc.extend(content(review));
    put(
        &mut doc,
        "origin",
        review
            .origin
            .as_ref()
            .map(|origin| origin_document(origin, digest)),
    );
    doc.insert("verified", review.verified);
    doc.extend(traits(&review.traits()));
    doc.extend(state(review));
    put(&mut doc, "applied", review.applied.as_ref().map(applied));
    put(&mut doc, "dirty", review.dirty.then_some(true));
    doc
}

/// The fields that lists of reviews are filtered by.
pub(crate) fn traits(traits: &Traits) -> Document {
    let mut doc = Document::new();
    if let Some(name) = traits.name() {
        doc.insert("traits", name);
        doc.insert("marks", traits.marks());
    }
    doc
}

/// Expressions for the fields that lists are filtered by, for an update pipeline; whether the
/// author is a verified buyer is taken from the stored document.
pub(crate) fn traits_expressions(review: &Review) -> Document {
    let with = |verified: bool, field: &str| {
        let traits = Traits {
            verified,
            ..review.traits()
        };
        let value = self::traits(&traits).remove(field);
        value.unwrap_or_else(|| Bson::from("$$REMOVE"))
    };
    let stored =
        |field: &str| doc! { "$cond": ["$verified", with(true, field), with(false, field)] };
    doc! { "traits": stored("traits"), "marks": stored("marks") }
}

/// The status fields of a review, and what moderators and the shop add.
pub(crate) fn state(review: &Review) -> Document {
    let mut doc = doc! {
        "status": review.status.name(),
        "revision": review.revision,
        "reports": review.reports,
        "round": review.round,
        "moderation": review.decisions.iter().map(decision).collect::<Vec<_>>(),
    };
    put(&mut doc, "reply", review.reply.as_ref().map(reply));
    put(&mut doc, "queue", review.queued.map(queued));
    doc
}

fn decision(decision: &Decision) -> Document {
    let mut doc = doc! {
        "at": date(decision.at),
        "by": &decision.by,
        "from": decision.from.name(),
        "to": decision.to.name(),
        "reason": decision.reason.name(),
    };
    put(&mut doc, "note", decision.note.as_deref());
    doc
}

/// Decodes a decision of a moderator.
pub(crate) fn read_decision(fields: Fields<'_>) -> Read<Decision> {
    let status = |field: &str| {
        let status = ReviewStatus::named(fields.str(field)?);
        status.ok_or_else(|| fields.corrupt(field))
    };
    let reason = DecisionReason::named(fields.str("reason")?);
    Ok(Decision {
        at: fields.date("at")?,
        by: fields.string("by")?,
        from: status("from")?,
        to: status("to")?,
        reason: reason.ok_or_else(|| fields.corrupt("reason"))?,
        note: fields.opt_string("note")?,
    })
}

fn reply(reply: &Reply) -> Document {
    doc! { "at": date(reply.at), "by": &reply.by, "text": &reply.text }
}

fn read_reply(fields: Fields<'_>) -> Read<Reply> {
    Ok(Reply {
        at: fields.date("at")?,
        by: fields.string("by")?,
        text: fields.string("text")?,
    })
}

pub(crate) fn queued(queued: Queued) -> Document {
    doc! { "reason": queued.reason.name(), "since": date(queued.since) }
}

fn read_queued(fields: Fields<'_>) -> Read<Queued> {
    let reason = QueueReason::named(fields.str("reason")?);
    Ok(Queued {
        reason: reason.ok_or_else(|| fields.corrupt("queue.reason"))?,
        since: fields.date("since")?,
    })
}

/// The fields that a feed or an author writes.
pub(crate) fn content(review: &Review) -> Document {
    let mut doc = doc! {
        "rating": i32::from(review.rating.get()),
        "title": &review.title,
        "body": &review.body,
        "media": review.media.iter().map(media).collect::<Vec<_>>(),
        "incentivized": review.incentivized,
        "helpful": review.helpful,
        "unhelpful": review.unhelpful,
        "imported_helpful": review.imported_helpful,
        "imported_unhelpful": review.imported_unhelpful,
    };
    put(&mut doc, "author", review.author.as_ref().map(author));
    doc.insert("by", by(review));
    put(&mut doc, "recommended", review.recommended);
    put(&mut doc, "dimensions", dimensions(&review.dimensions));
    put(&mut doc, "language", review.language.as_deref());
    put(&mut doc, "vouched", review.vouched.then_some(true));
    put(&mut doc, "attributes", attributes(&review.attributes));
    put(&mut doc, "created_at", review.created_at.map(date));
    put(&mut doc, "edited_at", review.edited_at.map(date));
    doc
}

/// The value that is unique among the reviews of a product: the author, or the id of the review if
/// the author is unknown.
pub(crate) fn by(review: &Review) -> Bson {
    let author = review.author.as_ref();
    author.map_or_else(
        || stored_id(review.id.to_i64()),
        |author| Bson::from(author.id.0.as_str()),
    )
}

/// The content fields that a review may lack.
pub(crate) const OPTIONAL_CONTENT: [&str; 8] = [
    "author",
    "recommended",
    "dimensions",
    "language",
    "vouched",
    "attributes",
    "created_at",
    "edited_at",
];

pub(crate) fn origin_document(origin: &Origin, digest: Option<&str>) -> Document {
    doc! {
        "system": &origin.system,
        "external_id": &origin.external_id,
        "digest": digest.unwrap_or_default(),
    }
}

fn attributes(attributes: &[Spec]) -> Option<Vec<Document>> {
    (!attributes.is_empty()).then(|| attributes.iter().map(plain_spec).collect())
}

fn dimensions(dimensions: &BTreeMap<String, Stars>) -> Option<Document> {
    let entry =
        |(name, stars): (&String, &Stars)| (name.clone(), Bson::Int32(i32::from(stars.get())));
    (!dimensions.is_empty()).then(|| dimensions.iter().map(entry).collect())
}

fn applied(applied: &Applied) -> Document {
    let mut doc = doc! { "rating": i32::from(applied.rating.get()) };
    put(&mut doc, "month", applied.month);
    put(&mut doc, "recommended", applied.recommended);
    put(&mut doc, "dimensions", dimensions(&applied.dimensions));
    put(&mut doc, "traits", applied.traits.name());
    doc
}

/// Reads the traits from their name; the default without the field.
pub(crate) fn read_traits(fields: &Fields<'_>) -> Read<Traits> {
    let Some(name) = fields.opt_str("traits")? else {
        return Ok(Traits::default());
    };
    Traits::named(name).ok_or_else(|| fields.corrupt("traits"))
}

pub(crate) fn read(fields: &Fields<'_>) -> Read<Review> {
    let index = fields.index();
    let fields = &fields.indexed(&index);
    let status = ReviewStatus::named(fields.str("status")?);
    Ok(Review {
        id: ReviewId::from_i64(fields.id("_id")?),
        product_id: ProductId::from_i64(fields.id("product_id")?),
        author: read_author(fields)?,
        rating: read_stars(fields, "rating")?,
        recommended: fields.opt_bool("recommended")?,
        dimensions: read_dimensions(fields)?,
        title: fields.string("title")?,
        body: fields.string("body")?,
        language: fields.opt_string("language")?,
        media: fields.docs("media", read_media)?,
        verified: fields.bool("verified")?,
        vouched: fields.opt_bool("vouched")?.unwrap_or(false),
        attributes: fields.docs("attributes", read_spec)?,
        incentivized: fields.bool("incentivized")?,
        origin: fields.opt_doc("origin")?.map(read_origin).transpose()?,
        status: status.ok_or_else(|| fields.corrupt("status"))?,
        helpful: fields.i64("helpful")?,
        unhelpful: fields.i64("unhelpful")?,
        imported_helpful: fields.i64("imported_helpful")?,
        imported_unhelpful: fields.i64("imported_unhelpful")?,
        created_at: fields.opt_date("created_at")?,
        edited_at: fields.opt_date("edited_at")?,
        revision: fields.i64("revision")?,
        decisions: fields.docs("moderation", read_decision)?,
        reply: fields.opt_doc("reply")?.map(read_reply).transpose()?,
        reports: fields.i64("reports")?,
        queued: fields.opt_doc("queue")?.map(read_queued).transpose()?,
        round: i32::try_from(fields.i64("round")?).map_err(|_| fields.corrupt("round"))?,
        applied: fields.opt_doc("applied")?.map(read_applied).transpose()?,
        dirty: fields.opt_bool("dirty")?.unwrap_or(false),
    })
}

fn read_origin(fields: Fields<'_>) -> Read<Origin> {
    Ok(Origin {
        system: fields.string("system")?,
        external_id: fields.string("external_id")?,
    })
}

fn read_applied(fields: Fields<'_>) -> Read<Applied> {
    let month = fields.opt_i64("month")?.map(i32::try_from).transpose();
    Ok(Applied {
        rating: read_stars(&fields, "rating")?,
        month: month.map_err(|_| fields.corrupt("applied.month"))?,
        recommended: fields.opt_bool("recommended")?,
        dimensions: read_dimensions(&fields)?,
        traits: read_traits(&fields)?,
    })
}

fn read_dimensions(fields: &Fields<'_>) -> Read<BTreeMap<String, Stars>> {
    let Some(dimensions) = fields.opt_doc("dimensions")? else {
        return Ok(BTreeMap::new());
    };
    let read = |entry: Read<(&str, _)>| {
        let (name, value) = entry?;
        let stars = integer(value).and_then(|stars| Stars::new(stars).ok());
        Ok((
            name.to_owned(),
            stars.ok_or_else(|| fields.corrupt("dimensions"))?,
        ))
    };
    dimensions.entries().map(read).collect()
}
