//! Mapping rows to media: images, videos and documents of a product, images and videos of a review.

use vitrine_model::address::web_address;
use vitrine_model::product::{Media, MediaKind};

use super::condition::Condition;
use super::error::MappingError;
use super::field::Field;
use super::number::shortened;
use super::path::Row;
use super::pieces::pieces;
use super::problems::{Problems, Traced};
use super::product::{optional, required, text};
use super::reading::Reading;
use super::section::Section;
use super::uses::UsedPath;

/// The source of media of one kind.
#[derive(Clone, Debug)]
pub(super) struct MediaFields {
    each: UsedPath,
    condition: Option<Condition>,
    url: Field,
    /// What separates several addresses in one text.
    cut_at: Option<String>,
    /// How many are taken.
    first: usize,
    alt: Option<Field>,
    kind: MediaKind,
}

/// The text with addresses, and the field that has it.
struct Addresses<'f> {
    text: String,
    field: &'f Field,
}

const KINDS: [(&str, MediaKind); 3] = [
    ("image", MediaKind::Image),
    ("video", MediaKind::Video),
    ("document", MediaKind::Document),
];

/// Reads the media settings of a product section.
pub(super) fn read(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Vec<MediaFields>, MappingError> {
    read_kinds(section, &KINDS, defaults)
}

/// Reads the media settings of a review section.
pub(super) fn read_of_review(
    section: &Section<'_>,
    defaults: &Reading,
) -> Result<Vec<MediaFields>, MappingError> {
    read_kinds(section, &KINDS[..2], defaults)
}

/// The media of a row, of which a product or a review may have `max`; records a problem for each URL that is invalid,
/// and one if there are too many.
pub(super) fn all(
    fields: &[MediaFields],
    max: usize,
    row: Row<'_>,
    problems: &mut Problems,
) -> Vec<Media> {
    let mut media = Vec::new();
    for fields in fields {
        let before = media.len();
        for item in fields.items(row) {
            media.extend(fields.media(item, problems));
        }
        media.truncate(before.saturating_add(fields.first));
        let found = media.len();
        if found > max && before <= max {
            let reason =
                format!("are {found}, and {max} are possible; first = {max} takes the first ones");
            problems.trace(|| Traced {
                setting: fields.url.setting().to_owned(),
                path: String::new(),
                raw: String::new(),
                value: Err(reason.clone()),
            });
            problems.bad(fields.url.on_bad().of_last(), "media", reason);
        }
    }
    media.truncate(max);
    media
}

fn read_kinds(
    section: &Section<'_>,
    kinds: &[(&str, MediaKind)],
    defaults: &Reading,
) -> Result<Vec<MediaFields>, MappingError> {
    let sections = section.tables("media")?.into_iter();
    sections
        .map(|section| {
            let fields = medium(&section, kinds, defaults)?;
            section.finish()?;
            Ok(fields)
        })
        .collect()
}

fn medium(
    section: &Section<'_>,
    kinds: &[(&str, MediaKind)],
    defaults: &Reading,
) -> Result<MediaFields, MappingError> {
    let each = section.text("each")?.unwrap_or(".");
    Ok(MediaFields {
        each: UsedPath::parse(each, &section.at("each"), &defaults.uses)
            .map_err(|reason| section.invalid("each", reason))?,
        condition: Condition::of_items(section, defaults)?,
        url: required(section, "url", &defaults.dropping_bad())?,
        first: section.count("first")?.unwrap_or(usize::MAX),
        cut_at: section
            .text("cut_at")?
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        alt: optional(section, "alt", defaults)?,
        kind: section.choice("kind", kinds)?.unwrap_or(MediaKind::Image),
    })
}

impl MediaFields {
    /// The field with addresses.
    pub(super) fn url(&self) -> &Field {
        &self.url
    }

    /// The items of the list; the row itself if the path is `.`.
    fn items<'v>(&self, row: Row<'v>) -> Vec<Row<'v>> {
        let items = self.each.all(row).into_iter().map(|item| row.at(item));
        let condition = self.condition.as_ref();
        let holds = |item: &Row<'_>| condition.is_none_or(|condition| condition.holds(*item));
        items.filter(holds).collect()
    }

    /// Maps an item to media; records a problem for each URL that is invalid.
    fn media(&self, item: Row<'_>, problems: &mut Problems) -> Vec<Media> {
        let found = self.url.known(
            item,
            problems,
            &mut |field| self.addresses(field, item),
            &|found| self.pieces(&found.text).join(" "),
        );
        let Some(Addresses { text, field }) = found else {
            return Vec::new();
        };
        let urls = self.pieces(&text).into_iter();
        urls.filter_map(|url| self.medium(url, field, item, problems))
            .collect()
    }

    /// The addresses in a text.
    fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        match &self.cut_at {
            // Line ends have become blanks, and there are none in addresses.
            Some(blank) if blank.trim().is_empty() => pieces(text, " "),
            Some(separator) => pieces(text, separator),
            None => vec![text],
        }
    }

    /// The text of a field with addresses. If it is a single one, it is valid.
    fn addresses<'f>(
        &self,
        field: &'f Field,
        item: Row<'_>,
    ) -> Result<Option<Addresses<'f>>, String> {
        let Some(text) = field.try_text(item)? else {
            return Ok(None);
        };
        if self.cut_at.is_none() {
            checked(&text)?;
        }
        Ok(Some(Addresses { text, field }))
    }

    fn medium(
        &self,
        url: &str,
        field: &Field,
        item: Row<'_>,
        problems: &mut Problems,
    ) -> Option<Media> {
        match checked(url) {
            Ok(url) => Some(Media {
                url,
                alt: text(self.alt.as_ref(), item, problems),
                kind: self.kind,
            }),
            Err(reason) => {
                // No field follows one of several addresses.
                problems.bad(field.on_bad().of_last(), &field.name, reason);
                None
            }
        }
    }
}

/// Returns an address as programs expect it.
fn checked(url: &str) -> Result<String, String> {
    let reason = if has_several(url) {
        "holds several addresses; cut_at says what separates them".to_owned()
    } else {
        match web_address(url) {
            Ok(address) => return Ok(address.into_owned()),
            Err(reason) => reason.to_string(),
        }
    };
    Err(format!("{:?} is not an address: {reason}", shortened(url)))
}

/// Returns true if another address begins behind a blank or a sign that separates values.
fn has_several(url: &str) -> bool {
    let mut starts = url.match_indices("://").map(|(at, _)| &url[..at]);
    starts.any(|before| {
        let scheme = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        scheme.ends_with(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|'))
    })
}
