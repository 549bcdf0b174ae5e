//! Encoding of the data that is computed from reviews and activity.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc};
use vitrine_model::activity::ActivitySummary;
use vitrine_model::fold::Computed;
use vitrine_model::id::{AuthorId, ReviewId};
use vitrine_model::product::{HotReason, Outlier, Sold};
use vitrine_model::rating::{DimensionStats, Histogram, RatingStats, Recommended, Stars};
use vitrine_model::review::{Author, TopReview, Traits};

use super::put;
use crate::raw::{Fields, Read, date, integer, stored_id};

pub(crate) fn histogram(histogram: &Histogram) -> Bson {
    Bson::Array(histogram.0.iter().map(|n| Bson::Int64(*n)).collect())
}

pub(crate) fn read_histogram(fields: &Fields<'_>, field: &str) -> Read<Histogram> {
    let counts = fields.items(field, integer)?;
    let counts: [i64; 5] = counts.try_into().map_err(|_| fields.corrupt(field))?;
    Ok(Histogram(counts))
}

pub(crate) fn stats(stats: &RatingStats) -> Document {
    let mut doc = doc! {
        "count": stats.count(),
        "sum": stats.histogram.sum(),
        "histogram": histogram(&stats.histogram),
        "recommended": { "yes": stats.recommended.yes, "no": stats.recommended.no },
        "dimensions": dimensions(&stats.dimensions),
        "fold_seq": stats.fold_seq,
    };
    let latest_month =
        |(month, counted): (i32, Histogram)| doc! { "m": month, "histogram": histogram(&counted) };
    put(&mut doc, "traits", traits(&stats.traits));
    put(
        &mut doc,
        "latest_month",
        stats.latest_month.map(latest_month),
    );
    put(&mut doc, "as_of", stats.as_of.map(date));
    doc
}

fn dimensions(dimensions: &BTreeMap<String, DimensionStats>) -> Document {
    let entry = |(name, d): (&String, &DimensionStats)| {
        (
            name.clone(),
            Bson::Document(doc! { "count": d.count, "sum": d.sum }),
        )
    };
    dimensions.iter().map(entry).collect()
}

fn traits(traits: &BTreeMap<Traits, Histogram>) -> Option<Vec<Document>> {
    let trait_stats = |(traits, counted): (&Traits, &Histogram)| {
        let mut doc = doc! { "histogram": histogram(counted) };
        put(&mut doc, "traits", traits.name());
        doc
    };
    (!traits.is_empty()).then(|| traits.iter().map(trait_stats).collect())
}

pub(crate) fn read_stats(fields: &Fields<'_>) -> Read<RatingStats> {
    let recommended = fields.doc("recommended")?;
    let mut dimensions = BTreeMap::new();
    for entry in fields.doc("dimensions")?.entries() {
        let (name, value) = entry?;
        let doc = value
            .as_document()
            .ok_or_else(|| fields.corrupt("dimensions"))?;
        let doc = fields.within(doc);
        dimensions.insert(
            name.to_owned(),
            DimensionStats {
                count: doc.i64("count")?,
                sum: doc.i64("sum")?,
            },
        );
    }
    Ok(RatingStats {
        histogram: read_histogram(fields, "histogram")?,
        recommended: Recommended {
            yes: recommended.i64("yes")?,
            no: recommended.i64("no")?,
        },
        dimensions,
        traits: fields
            .docs("traits", read_trait_stats)?
            .into_iter()
            .collect(),
        latest_month: fields
            .opt_doc("latest_month")?
            .map(|month| read_latest_month(&month))
            .transpose()?,
        fold_seq: fields.i64("fold_seq")?,
        as_of: fields.opt_date("as_of")?,
    })
}

fn read_latest_month(fields: &Fields<'_>) -> Read<(i32, Histogram)> {
    let month = i32::try_from(fields.i64("m")?).map_err(|_| fields.corrupt("m"))?;
    Ok((month, read_histogram(fields, "histogram")?))
}

fn read_trait_stats(fields: Fields<'_>) -> Read<(Traits, Histogram)> {
    let traits = super::review::read_traits(&fields)?;
    Ok((traits, read_histogram(&fields, "histogram")?))
}

/// Computes a field of `rank` from the rating numbers and the interest of shoppers.
pub(crate) type ComputeRank = fn(&RatingStats, i64) -> i32;

/// The fields of `rank` that follow from reviews, each with the function that computes it from the
/// rating numbers and the interest of shoppers. A fold marks them as stale, and the worker `ranks`
/// updates them. Inserts, folds, the worker and the audits take them from here.
pub(crate) const REVIEW_RANKS: &[(&str, ComputeRank)] = &[
    ("rating", |stats, _| stats.rank()),
    ("popularity", RatingStats::popularity),
];

/// Computes the fields of [`REVIEW_RANKS`].
pub(crate) fn review_ranks(
    stats: &RatingStats,
    interest: i64,
) -> impl Iterator<Item = (&'static str, i32)> {
    let ranks = REVIEW_RANKS.iter();
    ranks.map(move |(field, rank)| (*field, rank(stats, interest)))
}

/// The fields of `rank` that follow from reviews, and the stars that lists are filtered by.
pub(crate) fn rank(stats: &RatingStats, interest: i64) -> Document {
    let mut doc = Document::new();
    for (field, rank) in review_ranks(stats, interest) {
        doc.insert(field, rank);
    }
    put(&mut doc, "stars", stats.half_stars());
    doc
}

/// The fields of `rank` that follow from activity; those without a value are not stored.
pub(crate) fn activity_rank(activity: &ActivitySummary) -> [(&'static str, Option<Bson>); 2] {
    [
        ("sold", (activity.units > 0).then(|| activity.units.into())),
        ("trend", (activity.trend > 0).then(|| activity.trend.into())),
    ]
}

pub(crate) fn activity(activity: &ActivitySummary) -> Option<Document> {
    let as_of = activity.as_of?;
    Some(doc! {
        "views": activity.views,
        "carts": activity.carts,
        "units": activity.units,
        "trend": activity.trend,
        "as_of": date(as_of),
    })
}

/// Reads the activity summary of a product; the default without one.
pub(crate) fn read_activity(fields: &Fields<'_>) -> Read<ActivitySummary> {
    let Some(fields) = fields.opt_doc("activity")? else {
        return Ok(ActivitySummary::default());
    };
    let trend = i32::try_from(fields.i64("trend")?).map_err(|_| fields.corrupt("trend"))?;
    Ok(ActivitySummary {
        views: fields.i64("views")?,
        carts: fields.i64("carts")?,
        units: fields.i64("units")?,
        trend,
        as_of: Some(fields.date("as_of")?),
    })
}

pub(crate) fn sold(sold: &Sold) -> Option<Document> {
    let as_of = sold.as_of?;
    Some(doc! { "units": sold.units, "as_of": date(as_of) })
}

pub(crate) fn read_sold(fields: &Fields<'_>) -> Read<Sold> {
    read_units(fields, "sales")
}

/// Reads counted units from the field of this name; none without it.
fn read_units(fields: &Fields<'_>, name: &str) -> Read<Sold> {
    let Some(fields) = fields.opt_doc(name)? else {
        return Ok(Sold::default());
    };
    Ok(Sold {
        units: fields.i64("units")?,
        as_of: Some(fields.date("as_of")?),
    })
}

/// Sets the ranks of a product to the correct values, so that a comparison ignores that they are
/// marked as stale.
pub(crate) fn ignore_stale_ranks(product: &mut Document, stats: &RatingStats, interest: i64) {
    if let Ok(doc) = product.get_document_mut("rank") {
        for (field, rank) in review_ranks(stats, interest) {
            doc.insert(field, rank);
        }
        match stats.half_stars() {
            Some(stars) => drop(doc.insert("stars", stars)),
            None => drop(doc.remove("stars")),
        }
    }
}

/// The stored fields that are derived from the numbers.
pub(crate) fn derived(computed: &Computed, interest: i64) -> Document {
    doc! {
        "stats": { "count": computed.stats.count(), "sum": computed.stats.histogram.sum() },
        "rank": rank(&computed.stats, interest),
    }
}

pub(crate) fn top_reviews(computed: &Computed) -> Bson {
    Bson::Array(
        computed
            .top_reviews
            .iter()
            .map(|top| Bson::Document(top_review(top)))
            .collect(),
    )
}

fn top_review(top: &TopReview) -> Document {
    let mut doc = doc! {
        "_id": stored_id(top.id.to_i64()),
        "rating": i32::from(top.rating.get()),
        "title": &top.title,
        "excerpt": &top.excerpt,
        "truncated": top.truncated,
        "helpful": top.helpful,
        "verified": top.verified,
    };
    put(&mut doc, "author", top.author.as_ref().map(author));
    put(&mut doc, "created_at", top.created_at.map(date));
    doc
}

pub(crate) fn read_top_review(fields: Fields<'_>) -> Read<TopReview> {
    Ok(TopReview {
        id: ReviewId::from_i64(fields.id("_id")?),
        rating: read_stars(&fields, "rating")?,
        title: fields.string("title")?,
        excerpt: fields.string("excerpt")?,
        truncated: fields.bool("truncated")?,
        author: read_author(&fields)?,
        helpful: fields.i64("helpful")?,
        verified: fields.bool("verified")?,
        created_at: fields.opt_date("created_at")?,
    })
}

pub(crate) fn author(author: &Author) -> Document {
    doc! { "_id": &author.id.0, "name": &author.name }
}

pub(crate) fn read_author(fields: &Fields<'_>) -> Read<Option<Author>> {
    let Some(author) = fields.opt_doc("author")? else {
        return Ok(None);
    };
    let id = AuthorId(author.string("_id")?);
    Ok(Some(Author {
        id,
        name: author.string("name")?,
    }))
}

pub(crate) fn read_stars(fields: &Fields<'_>, field: &str) -> Read<Stars> {
    Stars::new(fields.i64(field)?).map_err(|_| fields.corrupt(field))
}

pub(crate) fn outlier(outlier: &Outlier) -> Document {
    let mut doc = doc! { "large": outlier.large };
    put(&mut doc, "many", outlier.many.then_some(true));
    put(&mut doc, "hot_until", outlier.hot_until.map(date));
    put(&mut doc, "large_since", outlier.large_since.map(date));
    put(&mut doc, "hot_since", outlier.hot_since.map(date));
    put(
        &mut doc,
        "hot_reason",
        outlier.hot_reason.map(HotReason::name),
    );
    doc
}

pub(crate) fn read_outlier(fields: &Fields<'_>) -> Read<Outlier> {
    let reason = fields.opt_str("hot_reason")?.map(HotReason::named);
    Ok(Outlier {
        many: fields.opt_bool("many")?.unwrap_or(false),
        large: fields.bool("large")?,
        large_since: fields.opt_date("large_since")?,
        hot_until: fields.opt_date("hot_until")?,
        hot_since: fields.opt_date("hot_since")?,
        // A reason of a newer release is unknown here.
        hot_reason: reason.flatten(),
    })
}
