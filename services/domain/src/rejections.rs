//! Collects the errors of a record of a file.

use vitrine_model::import::Rejection;
use vitrine_model::product::{Media, MediaKind};
use vitrine_model::review::{MAX_ATTRIBUTE_BYTES, MAX_REVIEW_ATTRIBUTES, MAX_REVIEW_MEDIA};
use vitrine_model::spec::{self, Spec, SpecValue};
use vitrine_model::unit::UnitTable;

use crate::limits::{self, Checked};

/// The reasons why a record is rejected.
#[derive(Debug, Default)]
pub(crate) struct Rejections(Vec<Rejection>);

impl Rejections {
    /// Returns all reasons; none for a valid record.
    pub(crate) fn into_all(self) -> Vec<Rejection> {
        self.0
    }

    /// Adds a reason.
    pub(crate) fn add(&mut self, field: &str, reason: impl Into<String>) {
        self.0.push(Rejection::new(field, reason));
    }

    /// Adds a reason unless a condition holds.
    pub(crate) fn ensure(&mut self, holds: bool, field: &str, reason: impl FnOnce() -> String) {
        if !holds {
            self.add(field, reason());
        }
    }

    /// Adds the error of a check.
    pub(crate) fn check(&mut self, field: &str, checked: Checked) {
        if let Err(reason) = checked {
            self.add(field, reason);
        }
    }

    /// Checks a text and its length in characters.
    pub(crate) fn text(&mut self, field: &str, text: &str, min: usize, max: usize) {
        self.check(field, limits::text(text, min..=max));
    }

    /// Checks the images and videos of a review.
    pub(crate) fn review_media(&mut self, media: &[Media]) {
        self.ensure(media.len() <= MAX_REVIEW_MEDIA, "media", || {
            let found = media.len();
            format!("{found} images and videos; a review may have {MAX_REVIEW_MEDIA}")
        });
        for one in media {
            self.check("media.url", limits::address(&one.url));
            self.ensure(one.kind != MediaKind::Document, "media.kind", || {
                "a review has images and videos, no documents".to_owned()
            });
        }
    }

    /// Checks the facts about the author of a review.
    pub(crate) fn review_attributes(&mut self, attributes: &[Spec], units: &UnitTable) {
        self.ensure(
            attributes.len() <= MAX_REVIEW_ATTRIBUTES,
            "attributes",
            || {
                let found = attributes.len();
                format!("{found} attributes; a review may have {MAX_REVIEW_ATTRIBUTES}")
            },
        );
        for one in attributes {
            for reason in wrong_attribute(one, units) {
                self.add(&format!("attributes.{}", one.key), reason);
            }
        }
    }

    /// Checks a text of at least one character, if there is one.
    pub(crate) fn optional(&mut self, field: &str, text: Option<&str>, max: usize) {
        if let Some(text) = text {
            self.text(field, text, 1, max);
        }
    }
}

/// What is wrong with a fact about the author of a review.
pub(crate) fn wrong_attribute(attribute: &Spec, units: &UnitTable) -> Vec<String> {
    let form = spec::check(attribute, units).map_err(|wrong| wrong.to_string());
    let length = match &attribute.value {
        SpecValue::Text(text) => text.len(),
        _ => 0,
    };
    let fits = limits::ensure(length <= MAX_ATTRIBUTE_BYTES, || {
        format!("{length} bytes; {MAX_ATTRIBUTE_BYTES} are possible")
    });
    [form.err(), fits.err()].into_iter().flatten().collect()
}
