//! Who is in a film, and when it comes out where.

use vitrine_model::product::{Contributor, Details, Movie};
use vitrine_model::spec::SpecValue;

use super::ProductWriter;
use crate::template::{fill, fill_any};
use crate::words::details::MovieWords;
use crate::words::words;

/// How many people act in films.
const ACTOR_COUNT: usize = 240;

/// Adds people, ages and dates, and returns the details.
pub(super) fn details(writer: &mut ProductWriter<'_>) -> Details {
    let words = &words().details.movie;
    let cast = cast(writer);
    let director = writer.random.below(70) * 131 + 11;
    add_person(writer, "director", director);
    let composer = writer.random.below(40) * 173 + 60;
    add_person(writer, "composer", composer);
    let runtime_minutes = Some(runtime(writer));
    age_ratings(writer, words);
    release_dates(writer, words);
    if writer.random.percent(15) {
        synopsis(writer, words);
    }
    Details::Movie(Movie {
        cast,
        runtime_minutes,
    })
}

fn cast(writer: &mut ProductWriter<'_>) -> Vec<Contributor> {
    let people = &words().people;
    let count = 2 + writer.random.below(4);
    let first_role = writer.random.below(people.characters.len());
    let roles = people.characters.iter().cycle().skip(first_role);
    let first_actor = writer.random.below(ACTOR_COUNT);
    let actors = (0..count).map(|index| (first_actor + index * 37) % ACTOR_COUNT);
    let cast: Vec<Contributor> = actors
        .zip(roles)
        .map(|(actor, role)| Contributor {
            name: people.full_name(actor * 61 + 5),
            role: role.clone(),
        })
        .collect();
    if let Some(lead) = cast.first() {
        writer.facts.set_note("lead", lead.name.clone());
    }
    cast
}

/// Adds the person of this number as a spec and as a note.
fn add_person(writer: &mut ProductWriter<'_>, role: &'static str, number: usize) {
    let name = words().people.full_name(number);
    writer.facts.add_text(role, &name);
    writer.facts.set_note(role, name);
}

fn runtime(writer: &mut ProductWriter<'_>) -> i32 {
    let minutes = i32::try_from(writer.random.between(74, 156)).unwrap_or(90);
    let facts = &mut writer.facts;
    facts.set_note("runtime", format!("{minutes} minutes"));
    if writer.preference.is_imperial() {
        let hours = (f64::from(minutes) / 0.6).round() / 100.0;
        facts.add_quantity("runtime", hours, "h");
    } else {
        facts.add_quantity("runtime", f64::from(minutes), "min");
    }
    minutes
}

fn age_ratings(writer: &mut ProductWriter<'_>, words: &MovieWords) {
    let mut genres = words.mild_genres.iter();
    let is_mild = genres.any(|genre| writer.facts.has_text("genre", genre));
    let stricter = writer.random.below(2).max(writer.random.below(3));
    let ratings = &words.age_ratings[usize::from(!is_mild) + stricter];
    for (rating, country) in ratings.iter().zip(&words.age_rating_countries) {
        let value = SpecValue::Text(rating.clone());
        writer.facts.add_qualified("age_rating", value, country);
    }
}

/// Adds the release at home, and in the weeks after it those elsewhere.
fn release_dates(writer: &mut ProductWriter<'_>, words: &MovieWords) {
    let mut days = writer.random.skewed_low(120, 6_000);
    let home = writer.facts.texts("country_of_production").next();
    let home = home.unwrap_or("DE").to_owned();
    add_release(writer, days, &home);
    for country in &words.release_countries {
        if *country != home && writer.random.percent(55) {
            days -= writer.random.between(3, 18);
            add_release(writer, days, country);
        }
    }
}

fn add_release(writer: &mut ProductWriter<'_>, days: i64, country: &str) {
    let date = SpecValue::Date(writer.days_before_creation(days));
    writer.facts.add_qualified("release_date", date, country);
}

fn synopsis(writer: &mut ProductWriter<'_>, words: &MovieWords) {
    let descriptions = &writer.leaf.descriptions;
    if let Some(plot) = fill_any(descriptions, &writer.facts, &mut writer.random) {
        writer.facts.set_note("plot", plot);
    }
    if let Some(synopsis) = fill(&words.synopsis, &writer.facts) {
        writer.facts.add_text("synopsis", &synopsis);
    }
}
