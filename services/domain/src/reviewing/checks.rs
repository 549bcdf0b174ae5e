//! Validation of the content of reviews.

use std::collections::BTreeMap;

use vitrine_model::product::{Media, MediaKind};
use vitrine_model::rating::Stars;
use vitrine_model::review::{MAX_BODY_CHARACTERS, MAX_REVIEW_MEDIA, MAX_TITLE_CHARACTERS};
use vitrine_model::text::{collapse, excerpt, is_ignorable};

use super::ReviewContent;
use crate::limits;
use crate::outcome::{UserErrorCode, ValidationErrors};

/// The maximum length of a displayed name, in characters.
const MAX_NAME_CHARACTERS: usize = 50;
/// The displayed name of an author without one.
const ANONYMOUS: &str = "Anonymous";
/// Longer texts are refused by their byte length, without counting characters.
const MAX_BYTES: usize = 4 * MAX_BODY_CHARACTERS;

/// Validated content of a review.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checked {
    pub(super) rating: Stars,
    pub(super) recommended: Option<bool>,
    pub(super) dimensions: BTreeMap<String, Stars>,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) language: Option<String>,
    pub(super) media: Vec<Media>,
    pub(super) author_name: String,
}

/// Validates everything; returns `None` and adds to the errors if something is wrong. `known` are
/// the dimensions of the product.
pub(super) fn content(
    given: &ReviewContent,
    known: &[String],
    errors: &mut ValidationErrors,
) -> Option<Checked> {
    let rating = Stars::new(given.rating);
    if let Err(wrong) = &rating {
        errors.invalid(&[&"rating"], wrong.to_string());
    }
    let title = line(&given.title, "title", MAX_TITLE_CHARACTERS, errors);
    let body = given.body.replace("\r\n", "\n").trim().to_owned();
    if body.is_empty() {
        errors.invalid(&[&"body"], "a review must have a text");
    }
    check_length(&body, "body", MAX_BODY_CHARACTERS, errors);
    check_characters(&body, "body", true, errors);
    let language = given.language.as_deref().map(str::trim);
    if let Some(language) = language.filter(|language| !is_language(language)) {
        let shown = excerpt(language, 40).text;
        let message = format!("{shown:?} is no IETF language tag such as en or pt-BR");
        errors.invalid(&[&"language"], message);
    }
    media(&given.media, errors);
    let name = line(
        given.author_name.as_deref().unwrap_or(ANONYMOUS),
        "authorName",
        MAX_NAME_CHARACTERS,
        errors,
    );
    if name.is_empty() {
        errors.invalid(
            &[&"authorName"],
            "a name has at least one character; leave it out instead",
        );
    }
    let dimensions = dimensions(&given.dimensions, known, errors);
    if !errors.is_empty() {
        return None;
    }
    Some(Checked {
        rating: rating.ok()?,
        recommended: given.recommended,
        dimensions,
        title,
        body,
        language: language.map(str::to_owned),
        media: given.media.clone(),
        author_name: name,
    })
}

/// A text of several lines other than a review's body: a reply, a note.
pub(super) fn text(
    given: &str,
    field: &'static str,
    max: usize,
    errors: &mut ValidationErrors,
) -> String {
    let text = given.replace("\r\n", "\n").trim().to_owned();
    if text.is_empty() {
        errors.invalid(
            &[&field],
            "a text has at least one character that is not blank",
        );
    }
    check_length(&text, field, max, errors);
    check_characters(&text, field, true, errors);
    text
}

/// Whether a token may have this subject. Votes and reports of erased people remain under generated
/// names, which begin with a blank.
#[must_use]
pub fn is_subject(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && !name.contains(char::is_control)
        && !name.starts_with(char::is_whitespace)
}

/// Validates the subject of a token.
pub(super) fn subject(given: &str, field: &'static str, errors: &mut ValidationErrors) {
    if !is_subject(given) {
        let message = "the subject of a token has 1 to 200 bytes, no control characters, and does \
                       not begin with a blank";
        errors.invalid(&[&field], message);
    }
}

fn line(given: &str, field: &'static str, max: usize, errors: &mut ValidationErrors) -> String {
    check_length(given.trim(), field, max, errors);
    check_characters(given.trim(), field, false, errors);
    collapse(given)
}

fn check_length(text: &str, field: &'static str, max: usize, errors: &mut ValidationErrors) {
    let characters = if text.len() > MAX_BYTES {
        text.len()
    } else {
        text.chars().count()
    };
    if characters > max {
        let unit = if text.len() > MAX_BYTES {
            "bytes"
        } else {
            "characters"
        };
        let message = format!("{characters} {unit}; at most {max} characters are possible");
        errors.add(UserErrorCode::TooLarge, &[&field], message);
    }
}

const INVISIBLE: &str = "an invisible character";
/// The maximum number of tag characters after a black flag; existing regional flags have six.
const MAX_TAGS: u32 = 8;

/// Refuses invisible characters and those that change the direction of text.
fn check_characters(text: &str, field: &'static str, lines: bool, errors: &mut ValidationErrors) {
    let (mut before, mut tags) = (None, 0);
    for (at, c) in text.chars().enumerate() {
        let wrong = match c {
            '\n' | '\t' if lines => None,
            _ if c.is_control() => Some("a control character"),
            // Joiners belong to words of some scripts and to emoji, after a character they can
            // join.
            '\u{200c}' | '\u{200d}' => (!before.is_some_and(may_join)).then_some(INVISIBLE),
            // Flags of regions are a black flag followed by tags.
            '\u{e0020}'..='\u{e007f}' if tags > 0 => None,
            _ if is_ignorable(c) => Some(INVISIBLE),
            '\u{200e}'
            | '\u{200f}'
            | '\u{61c}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => Some("a mark that changes the direction of text"),
            '\u{2028}' | '\u{2029}' if !lines => Some("a line break"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let code = u32::from(c);
            let message = format!("{wrong} (U+{code:04X}) as character {}; remove it", at + 1);
            errors.invalid(&[&field], message);
            return;
        }
        tags = match c {
            '\u{1f3f4}' => MAX_TAGS,
            '\u{e0020}'..='\u{e007e}' => tags - 1,
            _ => 0,
        };
        before = Some(c);
    }
}

/// Whether a joiner may follow the character.
fn may_join(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a tag has the form of a language tag: subtags of letters and digits, the first one of two
/// or three letters, because no language has a longer one. Subtags are not looked up.
fn is_language(tag: &str) -> bool {
    let mut subtags = tag.split('-');
    let first = subtags.next().is_some_and(|first| {
        (2..=3).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_alphabetic())
    });
    let rest = subtags.all(|subtag| {
        (1..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    first && rest && tag.len() <= 35
}

fn media(media: &[Media], errors: &mut ValidationErrors) {
    if media.len() > MAX_REVIEW_MEDIA {
        let message = format!(
            "{} images and videos; at most {MAX_REVIEW_MEDIA} are possible",
            media.len()
        );
        errors.add(UserErrorCode::TooLarge, &[&"media"], message);
        return;
    }
    for (at, one) in media.iter().enumerate() {
        errors.check(&[&"media", &at, &"url"], limits::address(&one.url));
        if one.kind == MediaKind::Document {
            let message = "a review shows images and videos only";
            errors.invalid(&[&"media", &at, &"kind"], message);
        }
        if let Some(alt) = &one.alt {
            errors.check(&[&"media", &at, &"alt"], limits::text(alt, 1..=500));
        }
    }
}

fn dimensions(
    given: &[(String, i64)],
    known: &[String],
    errors: &mut ValidationErrors,
) -> BTreeMap<String, Stars> {
    let mut dimensions = BTreeMap::new();
    for (at, (name, stars)) in given.iter().enumerate() {
        if !known.contains(name) {
            let shown = excerpt(name, 40).text;
            let message = match known {
                [] => format!("{shown:?}: products of this kind are not rated by aspects"),
                _ => format!(
                    "products of this kind are not rated by {shown:?}, but by {}",
                    known.join(", ")
                ),
            };
            errors.invalid(&[&"dimensions", &at, &"name"], message);
            continue;
        }
        match Stars::new(*stars) {
            Ok(stars) => {
                if dimensions.insert(name.clone(), stars).is_some() {
                    let message = format!("{name} is rated twice");
                    errors.invalid(&[&"dimensions", &at, &"name"], message);
                }
            }
            Err(wrong) => errors.invalid(&[&"dimensions", &at, &"rating"], wrong.to_string()),
        }
    }
    dimensions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> ReviewContent {
        ReviewContent {
            rating: 4,
            recommended: Some(true),
            dimensions: vec![("fit".to_owned(), 5)],
            title: " Warm  and soft ".to_owned(),
            body: " I wear it\r\nevery day. ".to_owned(),
            language: Some("en-GB".to_owned()),
            media: Vec::new(),
            author_name: None,
        }
    }

    fn paths(given: &ReviewContent) -> Vec<String> {
        let mut errors = ValidationErrors::default();
        let checked = content(given, &["fit".to_owned()], &mut errors);
        assert_eq!(checked.is_none(), !errors.is_empty());
        errors
            .codes_and_paths()
            .into_iter()
            .map(|(_, at)| at)
            .collect()
    }

    #[test]
    fn valid_content_is_normalized() {
        let mut errors = ValidationErrors::default();
        let checked = content(&given(), &["fit".to_owned()], &mut errors).unwrap();
        assert_eq!(checked.title, "Warm and soft");
        assert_eq!(checked.body, "I wear it\nevery day.");
        assert_eq!(checked.author_name, "Anonymous");
        assert_eq!(checked.dimensions["fit"].get(), 5);
    }

    #[test]
    fn a_wrong_rating_or_body_is_named() {
        for rating in [0, 6, -1, i64::MAX] {
            assert_eq!(paths(&ReviewContent { rating, ..given() }), ["rating"]);
        }
        let body = |body: &str| {
            let body = body.to_owned();
            paths(&ReviewContent { body, ..given() })
        };
        assert_eq!(body(" \n "), ["body"]);
        assert_eq!(body(&"x".repeat(100_000)), ["body"]);
        assert_eq!(body("a\u{8}b"), ["body"]);
        assert_eq!(body("<script>alert(1)</script> **bold**"), [""; 0]);
        assert_eq!(body("🇩🇪 👩‍👩‍👧 हिन्दी क्‍ष نامه‌ای അവന്‍ ❤️‍🔥"), [""; 0]);
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        assert_eq!(body(england), [""; 0]);
        assert_eq!(body("\u{3164} \u{2800}"), ["body"]);
    }

    #[test]
    fn a_title_with_invisible_or_control_characters_is_named() {
        let title = |title: &str| {
            let title = title.to_owned();
            paths(&ReviewContent { title, ..given() })
        };
        assert_eq!(title(""), [""; 0]);
        for tricky in [
            "a\nb",
            "\u{202e}evil",
            "zero\u{200b}width",
            "a\u{200d}b",
            "\u{feff}x",
            "nul\0",
            "flagged 😀\u{e0041}\u{e0042}",
            "é\u{200d}\u{200c}\u{200d}",
            "\u{1f3f4}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}",
            "\u{3164}",
            "\u{2800}",
        ] {
            assert_eq!(title(tricky), ["title"], "{tricky:?}");
        }
        assert_eq!(title(&"t".repeat(201)), ["title"]);
    }

    #[test]
    fn a_wrong_language_or_dimension_is_named() {
        let language = |tag: &str| {
            let language = Some(tag.to_owned());
            paths(&ReviewContent {
                language,
                ..given()
            })
        };
        assert_eq!(language("pt-BR"), [""; 0]);
        for wrong in ["", "e", "english", "english language", "en_GB", "1n"] {
            assert_eq!(language(wrong), ["language"], "{wrong}");
        }
        let dimensions = |all: &[(&str, i64)]| {
            let dimensions = all
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect();
            paths(&ReviewContent {
                dimensions,
                ..given()
            })
        };
        assert_eq!(dimensions(&[("taste", 3)]), ["dimensions.0.name"]);
        assert_eq!(dimensions(&[("fit", 0)]), ["dimensions.0.rating"]);
        assert_eq!(dimensions(&[("fit", 3), ("fit", 3)]), ["dimensions.1.name"]);
    }
}
