//! Mapping rows to reviews.

use std::collections::BTreeMap;

use vitrine_model::import::{ExternalRef, ReviewDraft};
use vitrine_model::rating::Stars;

use super::error::MappingError;
use super::field::Field;
use super::path::Row;
use super::problems::Problems;
use super::product::{optional, required, text};
use super::reading::Reading;
use super::section::Section;

mod author;
mod rated;

use author::AuthorFields;
use rated::Rated;

/// The mapping of a row to a review.
#[derive(Clone, Debug)]
pub(super) struct ReviewMapping {
    external_id: Field,
    product: Field,
    product_system: Option<String>,
    author: Option<AuthorFields>,
    rating: Rated,
    recommended: Option<Field>,
    dimensions: Vec<(String, Rated)>,
    title: Option<Field>,
    body: Option<Field>,
    language: Option<Field>,
    incentivized: Option<Field>,
    helpful: Option<Field>,
    unhelpful: Option<Field>,
    votes: Option<Field>,
    created_at: Option<Field>,
}

impl ReviewMapping {
    pub(super) fn read(section: &Section<'_>, defaults: &Reading) -> Result<Self, MappingError> {
        let optional = |name| optional(section, name, defaults);
        let review = Self {
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
            helpful: optional("helpful")?,
            unhelpful: optional("unhelpful")?,
            votes: optional("votes")?,
            created_at: optional("created_at")?,
        };
        if review.votes.is_some() && (review.unhelpful.is_some() || review.helpful.is_none()) {
            return Err(section.invalid("votes", "requires helpful, and excludes unhelpful"));
        }
        Ok(review)
    }

    /// Maps a row to a review, unless a required field is missing or invalid.
    pub(super) fn draft(
        &self,
        system: &str,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<ReviewDraft> {
        let external_id = required_text(&self.external_id, row, problems);
        let product = required_text(&self.product, row, problems);
        let rating = self.rating(row, problems);
        let (external_id, product, rating) = (external_id?, product?, rating?);
        let (helpful, unhelpful) = self.votes(row, problems);
        let boolean = |field: Option<&Field>, problems: &mut Problems| {
            field.and_then(|field| field.boolean(row, problems))
        };
        let origin = reference(system, external_id);
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
            helpful,
            unhelpful,
            created_at: self
                .created_at
                .as_ref()
                .and_then(|field| field.date(row, problems)),
            origin,
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
        let helpful = count(self.helpful.as_ref(), row, problems);
        let Some(field) = &self.votes else {
            return (helpful, count(self.unhelpful.as_ref(), row, problems));
        };
        let all = count(Some(field), row, problems);
        if all < helpful {
            let reason = format!("{all} votes are fewer than {helpful} helpful ones");
            problems.bad(field.on_bad(), &field.name, reason);
        }
        (helpful, (all - helpful).max(0))
    }
}

fn required_text(field: &Field, row: Row<'_>, problems: &mut Problems) -> Option<String> {
    let text = field.text(row, problems);
    if text.is_none() {
        problems.missing(&field.name);
    }
    text
}

fn reference(system: &str, external_id: String) -> ExternalRef {
    ExternalRef {
        system: system.to_owned(),
        external_id,
    }
}

fn count(field: Option<&Field>, row: Row<'_>, problems: &mut Problems) -> i64 {
    let Some(field) = field else {
        return 0;
    };
    let count = field.whole(row, problems).unwrap_or(0);
    if count < 0 {
        problems.bad(field.on_bad(), &field.name, format!("{count} is below 0"));
    }
    count.max(0)
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

fn rating(section: &Section<'_>, defaults: &Reading) -> Result<Rated, MappingError> {
    let value = section.value("rating");
    let value = value.ok_or_else(|| section.invalid("rating", "is required"))?;
    Rated::read(section.at("rating"), value, defaults)
}

fn dimensions(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Vec<(String, Rated)>, MappingError> {
    let entries = section.entries("dimensions")?;
    entries
        .into_iter()
        .map(|(path, name, value)| Ok((name.clone(), Rated::read(path, value, defaults)?)))
        .collect()
}
