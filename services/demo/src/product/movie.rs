//! Who is in a film, and when it came out where.

use vitrine_model::product::{Contributor, Details, Movie};
use vitrine_model::spec::SpecValue;

use super::Bench;
use crate::template::fill_any;
use crate::words::words;

/// Ratings by age in Germany, Britain and the United States, the mildest first.
const AGES: [[&str; 3]; 5] = [
    ["0", "U", "G"],
    ["6", "PG", "PG"],
    ["12", "12", "PG-13"],
    ["16", "15", "R"],
    ["18", "18", "NC-17"],
];
const LATER: [&str; 6] = ["DE", "FR", "GB", "US", "JP", "IT"];

/// Adds people, ages and dates, and gives the details.
pub(super) fn details(bench: &mut Bench<'_>) -> Details {
    let cast = cast(bench);
    people(bench, &cast);
    let runtime = runtime(bench);
    ages(bench);
    releases(bench);
    if bench.random.percent(15) {
        let plot = fill_any(&bench.leaf.descriptions, &bench.facts, &mut bench.random);
        if let (Some(plot), Some(director)) = (plot, bench.facts.noted("director")) {
            let text = format!("{plot} A film by {director} about what is said too late.");
            bench.facts.text("synopsis", &text);
        }
    }
    Details::Movie(Movie {
        cast,
        runtime_minutes: Some(runtime),
    })
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

fn ages(bench: &mut Bench<'_>) {
    let mild = bench.facts.says("genre", "Animation") || bench.facts.says("genre", "Documentary");
    let from = usize::from(!mild);
    let row = AGES[from
        + bench
            .random
            .below(2)
            .max(bench.random.below(3))
            .min(3 - from)];
    for (age, country) in row.into_iter().zip(["DE", "GB", "US"]) {
        let value = SpecValue::Text(age.to_owned());
        bench.facts.add_for("age_rating", value, country);
    }
}

/// First at home, in the weeks after that elsewhere.
fn releases(bench: &mut Bench<'_>) {
    let mut days = bench.random.low(120, 6_000);
    let home = bench.facts.texts("country_of_production").next();
    let home = home.unwrap_or("DE").to_owned();
    let first = bench.days_before(days);
    bench
        .facts
        .add_for("release_date", SpecValue::Date(first), &home);
    for country in LATER {
        if country != home && bench.random.percent(55) {
            days -= bench.random.between(3, 18);
            let at = bench.days_before(days);
            bench
                .facts
                .add_for("release_date", SpecValue::Date(at), country);
        }
    }
}
