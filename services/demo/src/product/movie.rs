//! Who is in a film, and when it came out where.

use vitrine_model::product::{Contributor, Details, Movie};
use vitrine_model::spec::SpecValue;

use super::Bench;
use crate::template::{fill, fill_any};
use crate::words::details::MovieWords;
use crate::words::words;

/// Adds people, ages and dates, and returns the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let words = &words().details.movie;
    let cast = cast(bench);
    people(bench, &cast);
    let runtime = runtime(bench);
    ages(bench, words);
    releases(bench, words);
    if bench.random.percent(15) {
        synopsis(bench, words);
    }
    Details::Movie(Movie {
        cast,
        runtime_minutes: Some(runtime),
    })
}

fn synopsis(bench: &mut Bench<'_>, words: &MovieWords) {
    let descriptions = &bench.leaf.descriptions;
    if let Some(plot) = fill_any(descriptions, &bench.facts, &mut bench.random) {
        bench.facts.note("plot", plot);
    }
    if let Some(synopsis) = fill(&words.synopsis, &bench.facts) {
        bench.facts.text("synopsis", &synopsis);
    }
}

fn cast(bench: &mut Bench<'_>) -> Vec<Contributor> {
    let count = 2 + bench.random.below(4);
    let characters = &words().people.characters;
    let first = bench.random.below(characters.len());
    let roles = characters.iter().cycle().skip(first).take(count);
    let start = bench.random.below(240);
    roles
        .enumerate()
        .map(|(at, role)| Contributor {
            name: words().people.full_name((start + at * 37) % 240 * 61 + 5),
            role: role.clone(),
        })
        .collect()
}

fn people(bench: &mut Bench<'_>, cast: &[Contributor]) {
    let director = words().people.full_name(bench.random.below(70) * 131 + 11);
    bench.facts.text("director", &director);
    bench.facts.note("director", director);
    if let Some(lead) = cast.first() {
        bench.facts.note("lead", lead.name.clone());
    }
    let composer = words().people.full_name(bench.random.below(40) * 173 + 60);
    bench.facts.text("composer", &composer);
    bench.facts.note("composer", composer);
}

fn runtime(bench: &mut Bench<'_>) -> i32 {
    let minutes = i32::try_from(bench.random.between(74, 156)).unwrap_or(90);
    bench.facts.note("runtime", format!("{minutes} minutes"));
    if bench.habit.imperial() {
        let hours = (f64::from(minutes) / 0.6).round() / 100.0;
        bench.facts.quantity("runtime", hours, "h");
    } else {
        bench.facts.quantity("runtime", f64::from(minutes), "min");
    }
    minutes
}

fn ages(bench: &mut Bench<'_>, words: &MovieWords) {
    let genres = &mut words.mild_genres.iter();
    let mildest = usize::from(!genres.any(|genre| bench.facts.says("genre", genre)));
    let stricter = bench.random.below(2).max(bench.random.below(3));
    let ratings = &words.age_ratings[mildest + stricter];
    for (age, country) in ratings.iter().zip(&words.age_rating_countries) {
        let value = SpecValue::Text(age.clone());
        bench.facts.add_for("age_rating", value, country);
    }
}

/// First at home, in the weeks after that elsewhere.
fn releases(bench: &mut Bench<'_>, words: &MovieWords) {
    let mut days = bench.random.low(120, 6_000);
    let home = bench.facts.texts("country_of_production").next();
    let home = home.unwrap_or("DE").to_owned();
    let first = bench.days_before(days);
    bench
        .facts
        .add_for("release_date", SpecValue::Date(first), &home);
    for country in &words.release_countries {
        if *country != home && bench.random.percent(55) {
            days -= bench.random.between(3, 18);
            let at = bench.days_before(days);
            bench
                .facts
                .add_for("release_date", SpecValue::Date(at), country);
        }
    }
}
