//! Pictures, films and documents of a product.

use serde_json::Value;
use vitrine_model::product::{Media, MediaKind};

use super::error::MappingError;
use super::field::Field;
use super::number::short;
use super::path::Path;
use super::problems::Problems;
use super::product::{optional, required, text};
use super::reading::{OnBad, Reading};
use super::section::Section;

/// Where media of one kind come from.
#[derive(Clone, Debug)]
pub(super) struct MediaFields {
    each: Path,
    url: Field,
    alt: Option<Field>,
    kind: MediaKind,
    on_bad: OnBad,
}

/// Reads the media of a product section.
pub(super) fn read(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Vec<MediaFields>, MappingError> {
    let entries = section.values("media").iter().enumerate();
    entries
        .map(|(at, value)| {
            let section = Section::of(section.at(&format!("media[{at}]")), value)?;
            let fields = medium(&section, defaults)?;
            section.finish()?;
            Ok(fields)
        })
        .collect()
}

fn medium(section: &Section<'_>, defaults: &Reading) -> Result<MediaFields, MappingError> {
    const KINDS: [(&str, MediaKind); 3] = [
        ("image", MediaKind::Image),
        ("video", MediaKind::Video),
        ("document", MediaKind::Document),
    ];
    let each = section.text("each")?.unwrap_or(".");
    let url = required(section, "url", defaults)?;
    Ok(MediaFields {
        each: Path::parse(each).map_err(|reason| section.refuse("each", reason))?,
        on_bad: url.on_bad(),
        url,
        alt: optional(section, "alt", defaults)?,
        kind: section.choice("kind", &KINDS)?.unwrap_or(MediaKind::Image),
    })
}

impl MediaFields {
    /// The list's items; the row itself where the path is `.`.
    pub(super) fn items<'v>(&self, row: &'v Value) -> Vec<&'v Value> {
        self.each.all(row)
    }

    /// The medium that an item is; a bad address is noted.
    pub(super) fn medium(&self, item: &Value, problems: &mut Problems) -> Option<Media> {
        let url = self.url.text(item, problems)?;
        let address = url.starts_with("https://") || url.starts_with("http://");
        if !address || url.contains(char::is_whitespace) {
            let reason = format!(
                "{:?} is no address; one begins with https:// or http:// and has no blanks",
                short(&url)
            );
            problems.bad(self.on_bad, &self.url.name, reason);
            return None;
        }
        Some(Media {
            url,
            alt: text(self.alt.as_ref(), item, problems),
            kind: self.kind,
        })
    }
}
