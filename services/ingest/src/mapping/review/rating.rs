//! Ratings, of any scale.

use vitrine_model::rating::Stars;

use super::super::error::MappingError;
use super::super::field::Field;
use super::super::path::Row;
use super::super::problems::Problems;
use super::super::reading::Reading;
use super::super::section::{Section, numbered};

/// A rating: the first of these that is known.
#[derive(Clone, Debug)]
pub(super) struct RatingField(Vec<(Field, Option<Scale>)>);

/// A scale of ratings; the best may be the smaller number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    worst: f64,
    best: f64,
}

impl RatingField {
    pub(super) fn read(
        path: String,
        value: &toml::Value,
        defaults: &Reading,
    ) -> Result<Self, MappingError> {
        match value {
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
                let readings = defaults.of_list(items.len());
                let items = numbered(&path, items).into_iter().zip(readings);
                let fields: Result<Vec<_>, MappingError> = items
                    .map(|((path, item), defaults)| one(path, item, &defaults))
                    .collect();
                fields.map(Self)
            }
            value => Ok(Self(vec![one(path, value, defaults)?])),
        }
    }

    /// The name in messages.
    pub(super) fn name(&self) -> &str {
        self.0.first().map_or("rating", |(field, _)| &field.name)
    }

    /// The stars, if the rating is known.
    pub(super) fn stars(&self, row: Row<'_>, problems: &mut Problems) -> Option<Stars> {
        problems.first_of(&self.0, true, |(field, scale), problems| {
            field.known(
                row,
                problems,
                &mut |field| stars(field, *scale, row),
                &|stars| stars.get().to_string(),
            )
        })
    }
}

fn one(
    path: String,
    value: &toml::Value,
    defaults: &Reading,
) -> Result<(Field, Option<Scale>), MappingError> {
    let toml::Value::Table(table) = value else {
        return Ok((Field::read(path, value, defaults)?, None));
    };
    let section = Section::new(path, table);
    let scale = scale(&section)?;
    let field = Field::of(&section, defaults)?;
    section.finish()?;
    Ok((field, scale))
}

fn scale(section: &Section<'_>) -> Result<Option<Scale>, MappingError> {
    let number = |value: &toml::Value| super::super::field::json(value).as_f64();
    match section.values("scale") {
        [] if section.value("scale").is_none() => Ok(None),
        [worst, best] => match (number(worst), number(best)) {
            (Some(worst), Some(best)) if (worst - best).abs() > f64::EPSILON => {
                Ok(Some(Scale { worst, best }))
            }
            _ => Err(section.invalid("scale", SCALE)),
        },
        _ => Err(section.invalid("scale", SCALE)),
    }
}

const SCALE: &str = "must be the worst and the best rating of the feed, such as [0, 100]";

fn stars(field: &Field, scale: Option<Scale>, row: Row<'_>) -> Result<Option<Stars>, String> {
    let rating = match scale {
        Some(scale) => field
            .try_unrounded(row)?
            .map(|rating| scale.stars(rating))
            .transpose()?,
        None => field.try_rounded(row)?,
    };
    let Some(rating) = rating else {
        return Ok(None);
    };
    if rating.fract() != 0.0 {
        return Err(format!(
            "{rating} is not a whole number; round = \"nearest\" makes it one"
        ));
    }
    #[expect(clippy::cast_possible_truncation, reason = "readings stay below 2^53")]
    let stars = Stars::new(rating as i64).map_err(|error| error.to_string())?;
    Ok(Some(stars))
}

impl Scale {
    /// The nearest whole stars.
    fn stars(self, rating: f64) -> Result<f64, String> {
        let part = (rating - self.worst) / (self.best - self.worst);
        if !(0.0..=1.0).contains(&part) {
            let Self { worst, best } = self;
            return Err(format!(
                "{rating} is not within the scale {worst} to {best}"
            ));
        }
        Ok((part * 4.0).round() + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_of_other_scales_become_whole_stars() {
        let stars = |worst, best, rating| Scale { worst, best }.stars(rating).ok();
        assert_eq!(stars(0.0, 5.0, 4.8), Some(5.0));
        assert_eq!(stars(0.0, 100.0, 87.0), Some(4.0));
        assert_eq!(stars(1.0, 5.0, 3.0), Some(3.0));
        assert_eq!(
            stars(6.0, 1.0, 1.0),
            Some(5.0),
            "the best grade is the smallest"
        );
        assert_eq!(
            (stars(0.0, 10.0, 0.0), stars(0.0, 10.0, 11.0)),
            (Some(1.0), None)
        );
    }
}
