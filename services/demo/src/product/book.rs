//! Who wrote a book, and what it is printed on.

use vitrine_model::product::{Book, Contributor, Details};
use vitrine_model::spec::SpecValue;

use super::{Bench, with_check_digit};
use crate::template::capitalised;
use crate::words::details::{BookFormat, BookWords};
use crate::words::words;

/// How many people write books.
const AUTHORS: usize = 170;

/// Adds people, pages and dates, and returns the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let words = &words().details.book;
    let contributors = contributors(bench, words);
    let pages = pages(bench);
    let shares: Vec<u32> = words.formats.iter().map(|format| format.percent).collect();
    let format = &words.formats[bench.random.weighted(&shares)];
    add_format(bench, words, format);
    let published = bench.random.low(0, 2_900);
    let published = bench.days_before(published);
    bench.facts.date("publication_date", published);
    if bench.facts.has("series") {
        let number = bench.random.low(1, 9);
        bench
            .facts
            .add("series_number", SpecValue::Number(number_of(number)));
    }
    Details::Book(Book {
        contributors,
        isbn: Some(isbn(bench)),
        format: Some(format.name.clone()),
        pages: i32::try_from(pages).ok(),
    })
}

fn contributors(bench: &mut Bench<'_>, words: &BookWords) -> Vec<Contributor> {
    let author = bench.random.below(AUTHORS).min(bench.random.below(AUTHORS));
    let mut all = Vec::new();
    contribute(bench, &mut all, "author", author * 89 + 7);
    let original = bench.random.pick(&words.original_languages);
    if bench.random.percent(35) && !bench.facts.says("language", original) {
        bench.facts.text("original_language", original);
        let translator = bench.random.below(60) * 211 + 40;
        contribute(bench, &mut all, "translator", translator);
    }
    if bench.facts.has("illustration_style") {
        let illustrator = bench.random.below(40) * 307 + 90;
        contribute(bench, &mut all, "illustrator", illustrator);
    }
    all
}

/// Adds the person of this number in this role.
fn contribute(
    bench: &mut Bench<'_>,
    all: &mut Vec<Contributor>,
    role: &'static str,
    number: usize,
) {
    let name = words().people.full_name(number);
    bench.facts.note(role, name.clone());
    let role = role.to_owned();
    all.push(Contributor { name, role });
}

fn pages(bench: &mut Bench<'_>) -> i64 {
    let sheets = if bench.facts.has("illustration_style") {
        bench.random.between(6, 12)
    } else {
        bench.random.between(20, 80)
    };
    let pages = sheets * 8;
    bench.facts.note("pages", pages.to_string());
    bench
        .facts
        .add("page_count", SpecValue::Number(number_of(pages)));
    pages
}

fn add_format(bench: &mut Bench<'_>, words: &BookWords, format: &BookFormat) {
    bench
        .facts
        .text("binding", &capitalised(format.name.clone()));
    if !format.digital {
        return;
    }
    let facts = &mut bench.facts;
    for key in &words.paper_keys {
        facts.remove(key);
    }
    let kilobytes = bench.random.low(6, 120) * 100;
    let (size, unit) = if bench.habit.imperial() {
        (number_of(kilobytes) / 1_000.0, "MB")
    } else {
        (number_of(kilobytes), "kB")
    };
    facts.quantity("file_size", size, unit);
    let free = bench.random.percent(60);
    facts.add("drm_free", SpecValue::Boolean(free));
}

/// A valid number in a group that no publisher has: 979-9 is not assigned.
fn isbn(bench: &mut Bench<'_>) -> String {
    let digits = format!("9799{:08}", bench.random.between(0, 99_999_999));
    with_check_digit(&digits)
}

fn number_of(small: i64) -> f64 {
    f64::from(i32::try_from(small).unwrap_or(i32::MAX))
}
