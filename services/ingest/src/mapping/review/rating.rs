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
pub(super) struct RatingField(Vec<(Field, Option<Bounds>)>);

/// A scale of ratings; the best may be the smaller number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    worst: f64,
    best: f64,
}

/// The worst and the best rating of a scale.
#[derive(Clone, Debug)]
struct Bounds([Bound; 2]);

#[derive(Clone, Debug)]
enum Bound {
    Number(f64),
    /// A path of the row.
    At(Box<Field>),
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
        problems.first_of(&self.0, true, |(field, bounds), problems| {
            field.known(
                row,
                problems,
                &mut |field| stars(field, bounds.as_ref(), row),
                &|stars| stars.get().to_string(),
            )
        })
    }
}

fn one(
    path: String,
    value: &toml::Value,
    defaults: &Reading,
) -> Result<(Field, Option<Bounds>), MappingError> {
    let toml::Value::Table(table) = value else {
        return Ok((Field::read(path, value, defaults)?, None));
    };
    let section = Section::new(path, table);
    let scale = scale(&section, defaults)?;
    let field = Field::of(&section, defaults)?;
    section.finish()?;
    Ok((field, scale))
}

fn scale(section: &Section<'_>, defaults: &Reading) -> Result<Option<Bounds>, MappingError> {
    let bound = |at: usize, value: &toml::Value| match value {
        toml::Value::String(path) => {
            let setting = format!("{}[{at}]", section.at("scale"));
            let path = toml::Value::String(path.clone());
            let field = Field::read(setting, &path, &defaults.refusing_on_bad(ON_BAD))?;
            Ok(Bound::At(Box::new(field)))
        }
        value => {
            let number = super::super::field::json(value).as_f64();
            let number = number.ok_or_else(|| section.invalid("scale", SCALE))?;
            Ok(Bound::Number(number))
        }
    };
    match section.values("scale") {
        [] if section.value("scale").is_none() => Ok(None),
        [worst, best] => {
            let bounds = Bounds([bound(0, worst)?, bound(1, best)?]);
            match &bounds.0 {
                [Bound::Number(worst), Bound::Number(best)]
                    if (worst - best).abs() <= f64::EPSILON =>
                {
                    Err(section.invalid("scale", SCALE))
                }
                _ => Ok(Some(bounds)),
            }
        }
        _ => Err(section.invalid("scale", SCALE)),
    }
}

const SCALE: &str =
    "must be the worst and the best rating of the feed, such as [0, 100], or their paths";

const ON_BAD: &str = "has no effect: a bad scale makes the rating bad";

impl Bounds {
    /// The scale of a row.
    fn scale(&self, row: Row<'_>) -> Result<Scale, String> {
        let [worst, best] = &self.0;
        let scale = Scale {
            worst: worst.number(row)?,
            best: best.number(row)?,
        };
        if (scale.worst - scale.best).abs() <= f64::EPSILON {
            let Scale { worst, best } = scale;
            return Err(format!(
                "has the scale {worst} to {best}, which says nothing"
            ));
        }
        Ok(scale)
    }
}

impl Bound {
    fn number(&self, row: Row<'_>) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::At(field) => {
                let number = field.try_unrounded(row);
                let number = number.map_err(|reason| format!("has a bad scale: {reason}"))?;
                number.ok_or_else(|| format!("has no scale: {} is unknown", field.name))
            }
        }
    }
}

fn stars(field: &Field, bounds: Option<&Bounds>, row: Row<'_>) -> Result<Option<Stars>, String> {
    let rating = match bounds {
        Some(bounds) => field
            .try_unrounded(row)?
            .map(|rating| bounds.scale(row)?.stars(rating))
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
