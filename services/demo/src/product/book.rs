//! Who wrote a book, and what it is printed on.

use vitrine_model::product::{Book, Contributor, Details};
use vitrine_model::spec::SpecValue;

use super::{Bench, with_check_digit};
use crate::words::words;

const AUTHORS: usize = 170;
const FORMATS: [&str; 3] = ["paperback", "hardcover", "e-book"];
const ORIGINALS: [&str; 6] = [
    "English", "French", "German", "Danish", "Spanish", "Japanese",
];
/// What only a thing of paper has.
const PAPER: [&str; 8] = [
    "height",
    "width",
    "weight",
    "paper",
    "ribbon_marker",
    "signed_copy",
    "washable",
    "large_print",
];

/// Adds people, pages and dates, and gives the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let contributors = contributors(bench);
    let pages = pages(bench);
    let format = FORMATS[bench.random.weighted(&[50, 32, 18])];
    printed(bench, format);
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
        format: Some(format.to_owned()),
        pages: i32::try_from(pages).ok(),
    })
}

fn contributors(bench: &mut Bench<'_>) -> Vec<Contributor> {
    let author = bench.random.below(AUTHORS).min(bench.random.below(AUTHORS));
    let mut all = vec![contributor(
        "author",
        &words().people.full_name(author * 89 + 7),
    )];
    bench.facts.note("author", all[0].name.clone());
    let original = bench.random.pick(&ORIGINALS);
    if bench.random.percent(35) && !bench.facts.says("language", original) {
        bench.facts.text("original_language", original);
        let number = bench.random.below(60) * 211 + 40;
        all.push(contributor("translator", &words().people.full_name(number)));
        bench
            .facts
            .note("translator", words().people.full_name(number));
    }
    if bench.facts.has("illustration_style") {
        let number = bench.random.below(40) * 307 + 90;
        all.push(contributor(
            "illustrator",
            &words().people.full_name(number),
        ));
        bench
            .facts
            .note("illustrator", words().people.full_name(number));
    }
    all
}

fn contributor(role: &str, name: &str) -> Contributor {
    Contributor {
        name: name.to_owned(),
        role: role.to_owned(),
    }
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

fn printed(bench: &mut Bench<'_>, format: &str) {
    let mut label = format.to_owned();
    label[..1].make_ascii_uppercase();
    bench.facts.text("binding", &label);
    if format != "e-book" {
        return;
    }
    let facts = &mut bench.facts;
    facts
        .specs
        .retain(|spec| !PAPER.contains(&spec.key.as_str()));
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
