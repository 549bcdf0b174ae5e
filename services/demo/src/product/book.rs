//! Generates the details of books: contributors, format and pages.

use vitrine_model::product::{Book, Contributor, Details};
use vitrine_model::spec::SpecValue;

use super::{ProductWriter, with_check_digit};
use crate::facts::float;
use crate::template::capitalised;
use crate::words::details::{BookFormat, BookWords};
use crate::words::words;

/// How many people write books.
const AUTHOR_COUNT: usize = 170;

/// Adds people, pages and dates, and returns the details.
pub(super) fn details(writer: &mut ProductWriter<'_>) -> Details {
    let words = &words().details.book;
    let contributors = contributors(writer, words);
    let pages = pages(writer);
    let format = format(writer, words);
    let days = writer.random.skewed_low(0, 2_900);
    let published = writer.days_before_creation(days);
    writer.facts.add_date("publication_date", published);
    if writer.facts.has("series") {
        let number = writer.random.skewed_low(1, 9);
        writer.facts.add_number("series_number", number);
    }
    Details::Book(Book {
        contributors,
        isbn: Some(isbn(writer)),
        format: Some(format.name.clone()),
        pages: i32::try_from(pages).ok(),
    })
}

fn contributors(writer: &mut ProductWriter<'_>, words: &BookWords) -> Vec<Contributor> {
    let random = &mut writer.random;
    let author = random.below(AUTHOR_COUNT).min(random.below(AUTHOR_COUNT));
    let mut all = vec![contributor(writer, "author", author * 89 + 7)];
    let original = writer.random.pick(&words.original_languages);
    if writer.random.percent(35) && !writer.facts.has_text("language", original) {
        writer.facts.add_text("original_language", original);
        let translator = writer.random.below(60) * 211 + 40;
        all.push(contributor(writer, "translator", translator));
    }
    if writer.facts.has("illustration_style") {
        let illustrator = writer.random.below(40) * 307 + 90;
        all.push(contributor(writer, "illustrator", illustrator));
    }
    all
}

/// Notes the name of the person of this number, and returns the contributor.
fn contributor(writer: &mut ProductWriter<'_>, role: &'static str, number: usize) -> Contributor {
    let name = words().people.full_name(number);
    writer.facts.set_note(role, name.clone());
    let role = role.to_owned();
    Contributor { name, role }
}

fn pages(writer: &mut ProductWriter<'_>) -> i64 {
    let sheets = if writer.facts.has("illustration_style") {
        writer.random.between(6, 12)
    } else {
        writer.random.between(20, 80)
    };
    let pages = sheets * 8;
    writer.facts.set_note("pages", pages.to_string());
    writer.facts.add_number("page_count", pages);
    pages
}

/// Draws the format and adds its specs.
fn format<'w>(writer: &mut ProductWriter<'_>, words: &'w BookWords) -> &'w BookFormat {
    let weights: Vec<u32> = words.formats.iter().map(|format| format.percent).collect();
    let format = &words.formats[writer.random.weighted(&weights)];
    let binding = capitalised(format.name.clone());
    writer.facts.add_text("binding", &binding);
    if format.digital {
        for key in &words.paper_keys {
            writer.facts.remove(key);
        }
        digital_specs(writer);
    }
    format
}

fn digital_specs(writer: &mut ProductWriter<'_>) {
    let kilobytes = float(writer.random.skewed_low(6, 120) * 100);
    let (size, unit) = if writer.preference.is_imperial() {
        (kilobytes / 1_000.0, "MB")
    } else {
        (kilobytes, "kB")
    };
    writer.facts.add_quantity("file_size", size, unit);
    let drm_free = writer.random.percent(60);
    writer.facts.add("drm_free", SpecValue::Boolean(drm_free));
}

/// Draws a valid number of a group that no publisher has: 979-9 is not assigned.
fn isbn(writer: &mut ProductWriter<'_>) -> String {
    let digits = format!("9799{:08}", writer.random.between(0, 99_999_999));
    with_check_digit(&digits)
}
