//! Mapping rows to reviews.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vitrine_model::import::{Droppable, ExternalRef, ReviewDraft};
use vitrine_model::rating::Stars;
use vitrine_model::review::MAX_REVIEW_MEDIA;

use super::error::MappingError;
use super::field::Field;
use super::media::{self, MediaFields};
use super::path::Row;
use super::problems::Problems;
use super::product::{all_drop, names, optional, required, text};
use super::reading::Reading;
use super::section::Section;
use super::specs::{PlanCache, Specs};

mod author;
mod rating;

use author::AuthorFields;
use rating::RatingField;

/// The mapping of a row to a review.
#[derive(Clone, Debug)]
pub(super) struct ReviewMapping {
    external_id: Field,
    product: Field,
    product_system: Option<String>,
    author: Option<AuthorFields>,
    rating: RatingField,
    recommended: Option<Field>,
    dimensions: Vec<(String, RatingField)>,
    title: Option<Field>,
    body: Option<Field>,
    language: Option<Field>,
    incentivized: Option<Field>,
    verified: Option<Field>,
    media: Vec<MediaFields>,
    attributes: Option<Specs>,
    helpful: Option<Field>,
    unhelpful: Option<Field>,
    votes: Option<Field>,
    created_at: Option<Field>,
    /// The values besides attributes that are left out if the catalogue refuses them.
    droppable: Arc<BTreeSet<String>>,
}

impl ReviewMapping {
    pub(super) fn read(
        section: &Section<'_>,
        defaults: &Reading,
        read_table: &mut super::ReadTable<'_>,
    ) -> Result<Self, MappingError> {
        let optional = |name| optional(section, name, defaults);
        let votes = |name| self::optional(section, name, &defaults.of_numbers());
        let mut review = Self {
            external_id: required(section, "external_id", defaults)?,
            product: required(section, "product", defaults)?,
            product_system: section.text("product_system")?.map(str::to_owned),
            author: author(section, defaults)?,
            rating: rating(section, defaults)?,
            recommended: optional("recommended")?,
            dimensions: dimensions(section, defaults)?,
            title: optional("title")?,
            body: self::optional(section, "body", &defaults.keeping_lines())?,
            language: optional("language")?,
            incentivized: optional("incentivized")?,
            verified: optional("verified")?,
            media: media::read_of_review(section, defaults)?,
            attributes: attributes(section, defaults, read_table)?,
            helpful: votes("helpful")?,
            unhelpful: votes("unhelpful")?,
            votes: votes("votes")?,
            created_at: optional("created_at")?,
            droppable: Arc::default(),
        };
        review.droppable = Arc::new(review.droppable());
        if review.votes.is_some() && (review.unhelpful.is_some() || review.helpful.is_none()) {
            return Err(section.invalid("votes", "requires helpful, and excludes unhelpful"));
        }
        Ok(review)
    }

    /// The names of the values, but attributes, of which `on_bad` says that a bad one is left out. Never what a review
    /// is known by, nor its rating.
    fn droppable(&self) -> BTreeSet<String> {
        let drops = |field: &Option<Field>| field.as_ref().is_some_and(Field::drops_bad);
        let author = self.author.as_ref();
        let urls = || self.media.iter().map(MediaFields::url);
        names([
            ("title", drops(&self.title)),
            ("body", drops(&self.body)),
            ("language", drops(&self.language)),
            ("created_at", drops(&self.created_at)),
            ("author.id", author.is_some_and(|author| drops(&author.id))),
            (
                "author.name",
                author.is_some_and(|author| drops(&author.name)),
            ),
            ("helpful", drops(&self.helpful)),
            ("unhelpful", drops(&self.unhelpful) || drops(&self.votes)),
            ("media", all_drop(urls())),
            ("media.url", all_drop(urls())),
        ])
    }

    /// Maps a row to a review, unless a required field is missing or invalid.
    pub(super) fn draft(
        &self,
        system: &str,
        plans: &mut PlanCache,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<ReviewDraft> {
        let external_id = self.external_id.required_text(row, problems);
        let product = self.product.required_text(row, problems);
        let rating = self.rating(row, problems);
        let (external_id, product, rating) = (external_id?, product?, rating?);
        let (helpful, unhelpful) = self.votes(row, problems);
        let boolean = |field: Option<&Field>, problems: &mut Problems| {
            field.and_then(|field| field.boolean(row, problems))
        };
        let origin = reference(system, external_id);
        let attributes = self.attributes.as_ref();
        let mut droppable = Vec::new();
        Some(ReviewDraft {
            product: reference(self.product_system.as_deref().unwrap_or(system), product),
            author: self
                .author
                .as_ref()
                .and_then(|author| author.author(&origin, row, problems)),
            rating,
            recommended: boolean(self.recommended.as_ref(), problems),
            dimensions: self.dimensions(row, problems),
            title: text(self.title.as_ref(), row, problems).unwrap_or_default(),
            body: text(self.body.as_ref(), row, problems).unwrap_or_default(),
            language: text(self.language.as_ref(), row, problems),
            incentivized: boolean(self.incentivized.as_ref(), problems).unwrap_or(false),
            verified: boolean(self.verified.as_ref(), problems).unwrap_or(false),
            media: media::all(&self.media, MAX_REVIEW_MEDIA, row, problems),
            attributes: attributes.map_or_else(Vec::new, |specs| {
                let collected = specs.of(plans, row, problems);
                droppable = collected.droppable;
                collected.specs
            }),
            helpful,
            unhelpful,
            created_at: self
                .created_at
                .as_ref()
                .and_then(|field| field.past_date(row, problems)),
            origin,
            droppable: Droppable {
                fields: Arc::clone(&self.droppable),
                specs: droppable,
            },
        })
    }

    fn rating(&self, row: Row<'_>, problems: &mut Problems) -> Option<Stars> {
        let stars = self.rating.stars(row, problems);
        if stars.is_none() && problems.fatal.is_empty() {
            problems.missing(self.rating.name());
        }
        stars
    }

    fn dimensions(&self, row: Row<'_>, problems: &mut Problems) -> BTreeMap<String, Stars> {
        let rated = self
            .dimensions
            .iter()
            .filter_map(|(name, field)| Some((name.clone(), field.stars(row, problems)?)));
        rated.collect()
    }

    /// The numbers of helpful and unhelpful votes.
    fn votes(&self, row: Row<'_>, problems: &mut Problems) -> (i64, i64) {
        let helpful = votes_of(self.helpful.as_ref(), row, problems);
        let Some(field) = &self.votes else {
            let unhelpful = votes_of(self.unhelpful.as_ref(), row, problems);
            return (helpful, unhelpful);
        };
        let mut read = |field: &Field| {
            let all = count(field, row)?;
            let too_few = all.filter(|all| *all < helpful);
            too_few.map_or(Ok(all), |all| {
                Err(format!("{all} votes are fewer than {helpful} helpful ones"))
            })
        };
        let all = field.known(row, problems, &mut read, &i64::to_string);
        (helpful, all.map_or(0, |all| all - helpful))
    }
}

fn reference(system: &str, external_id: String) -> ExternalRef {
    ExternalRef {
        system: system.to_owned(),
        external_id,
    }
}

fn votes_of(field: Option<&Field>, row: Row<'_>, problems: &mut Problems) -> i64 {
    let read = field.and_then(|field| {
        field.known(
            row,
            problems,
            &mut |field| count(field, row),
            &i64::to_string,
        )
    });
    read.unwrap_or(0)
}

fn count(field: &Field, row: Row<'_>) -> Result<Option<i64>, String> {
    let count = field.try_whole(row)?;
    let below = count.filter(|count| *count < 0);
    below.map_or(Ok(count), |below| Err(format!("{below} is below 0")))
}

fn author(section: &Section<'_>, defaults: &Reading) -> Result<Option<AuthorFields>, MappingError> {
    let Some(section) = section.section("author")? else {
        return Ok(None);
    };
    let fields = AuthorFields {
        id: optional(&section, "id", defaults)?,
        name: optional(&section, "name", defaults)?,
    };
    if fields.id.is_none() && fields.name.is_none() {
        return Err(MappingError::setting(
            section.path(),
            "needs id, name or both",
        ));
    }
    section.finish()?;
    Ok(Some(fields))
}

/// Reads the facts about reviewers, which have the settings of specs.
fn attributes(
    section: &Section<'_>,
    defaults: &Reading,
    read_table: &mut super::ReadTable<'_>,
) -> Result<Option<Specs>, MappingError> {
    let Some(attributes) = section.section("attributes")? else {
        return Ok(None);
    };
    Specs::read_attributes(attributes, defaults, read_table).map(Some)
}

fn rating(section: &Section<'_>, defaults: &Reading) -> Result<RatingField, MappingError> {
    let value = section.value("rating");
    let value = value.ok_or_else(|| section.invalid("rating", "is required"))?;
    RatingField::read(section.at("rating"), value, &defaults.of_numbers())
}

fn dimensions(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Vec<(String, RatingField)>, MappingError> {
    let entries = section.entries("dimensions")?;
    let numbers = defaults.of_numbers();
    entries
        .into_iter()
        .map(|(path, name, value)| Ok((name.clone(), RatingField::read(path, value, &numbers)?)))
        .collect()
}
