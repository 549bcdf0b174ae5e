//! Guesses about lists in the rows: prices and reviews.

use super::finder::{NO_VALUES, covers};
use super::texts::{field, quoted, sure, unsure};
use super::{Finder, Guess, GuessedTable};
use crate::dates::Dates;
use crate::heading::{Heading, steps};
use crate::meanings;
use crate::paths::Facts;
use crate::values::Signs;

impl Finder<'_> {
    /// The paths in the items of lists whose headings mean this, with their list.
    pub(super) fn in_lists(
        &self,
        meaning: &str,
        fits: impl Fn(&Facts) -> bool,
    ) -> Vec<(String, String)> {
        let found = self.paths.all().filter_map(|(path, facts)| {
            let path = super::texts::plain(path);
            let (list, _) = path.rsplit_once("[].")?;
            let means = meanings::rank(meaning, &facts.heading.words).is_some();
            let list = format!("{list}[]");
            let taken = self.taken.iter().any(|taken| covers(taken, path));
            (means && facts.known > 0 && fits(facts) && !taken).then(|| (list, path.to_owned()))
        });
        found.collect()
    }

    /// The path of an item of a list, with the best word of a meaning.
    pub(super) fn inside(&self, list: &str, meaning: &str) -> Option<String> {
        let inside = |path: &str| Some(path.strip_prefix(list)?.strip_prefix('.')?.to_owned());
        let paths: Vec<String> = self
            .paths
            .all()
            .filter(|(_, facts)| facts.known > 0)
            .filter_map(|(path, _)| inside(path))
            .collect();
        let ending = |path: &&String| meanings::rank(meaning, &Heading::of(path).words);
        let whole = paths.iter().filter(|path| ending(path).is_some());
        let best = whole.min_by_key(|path| (ending(path), steps(path).len()));
        let through = |path: &&String| {
            let steps = steps(path);
            let (last, before) = steps.split_last()?;
            let is_no_value = NO_VALUES.contains(&Heading::read(last).words.as_str());
            let owner = before.last().filter(|_| !is_no_value)?;
            meanings::rank(meaning, &Heading::read(owner).words)
        };
        let others = paths.iter().filter(|path| through(path).is_some());
        let found =
            best.or_else(|| others.min_by_key(|path| (through(path), path.contains('@'))))?;
        Some(super::texts::plain(found).to_owned())
    }

    /// All paths of an item of a list whose last step has a word of a meaning, the best first.
    pub(super) fn all_inside(&self, list: &str, meaning: &str) -> Vec<String> {
        let best = self.inside(list, meaning);
        let others = self
            .paths
            .all()
            .filter(|(_, facts)| facts.known > 0)
            .filter_map(|(path, facts)| {
                let inside = path.strip_prefix(list)?.strip_prefix('.')?;
                let means = meanings::rank(meaning, &facts.heading.words).is_some();
                (means && Some(inside) != best.as_deref()).then(|| inside.to_owned())
            });
        let others: Vec<String> = others.collect();
        best.into_iter().chain(others).collect()
    }

    pub(super) fn values_in(&self, list: &str, inside: &str) -> Vec<&str> {
        let (one, several) = (format!("{list}.{inside}"), format!("{list}.{inside}[]"));
        let facts = [one, several];
        facts
            .iter()
            .filter_map(|path| self.facts(path))
            .flat_map(Facts::all)
            .collect()
    }

    /// The price in a list of offers: the one that shoppers see, otherwise that of the first.
    pub(super) fn price_in_list(&mut self) -> Option<Guess> {
        let (list, path) = self.list_of_prices()?;
        let name = list.strip_suffix("[]").unwrap_or(&list).to_owned();
        let amount = path.strip_prefix(&format!("{list}.")).unwrap_or(&path);
        let (from, remark) = self.price_of(&list, &name, amount)?;
        let values = self.values_in(&list, amount);
        let signs = Signs::of(values.into_iter()).map(|signs| signs.form(&self.signs));
        let mut settings = signs.map_or(Vec::new(), |form| super::amounts::number_settings(&form));
        settings.push("on_bad = \"drop_value\"".to_owned());
        let amount = field(&from, &settings);
        let (currency, guess) = match self.inside(&list, "currency") {
            Some(currency) => (quoted(&format!("{name}[0].{currency}")), ""),
            None => (
                "{ value = \"EUR\" }".to_owned(),
                "; no path has a currency, and EUR is a guess",
            ),
        };
        // Nothing else of an offer is a spec.
        self.taken.push(list);
        let value = format!("{{ amount = {amount}, currency = {currency} }}");
        Some(unsure("price", value, remark + guess))
    }

    /// A list with prices, and the path of their amounts.
    fn list_of_prices(&self) -> Option<(String, String)> {
        let mut lists = self.in_lists("price", Facts::are_mostly_numbers);
        let values = self.in_lists("piece_value", Facts::are_mostly_numbers);
        lists.extend(values.into_iter().filter(|(list, _)| are_prices(list)));
        let elsewhere =
            |step: &String| meanings::rank("elsewhere", &Heading::read(step).words).is_some();
        let mut lists = lists.into_iter();
        lists.find(|(list, _)| !steps(list).iter().any(elsewhere))
    }

    /// The path, or the paths, of the price in a list, and what is unsure about it; `None` if the
    /// list has what the shop pays only.
    fn price_of(&mut self, list: &str, name: &str, amount: &str) -> Option<(String, String)> {
        let first = quoted(&format!("{name}[0].{amount}"));
        let remark = format!("a product has one price; this is that of the first of {name}");
        let Some(kind) = self.inside(list, "price_type") else {
            return Some((first, remark));
        };
        let kinds = self.values_in(list, &kind);
        let all = kinds.join(", ");
        if !kinds.is_empty() && kinds.iter().all(|kind| is_cost(kind)) {
            self.remarks.push(format!(
                "{name} has what the shop pays only, which is no price: {all}"
            ));
            self.taken.push(list.to_owned());
            return None;
        }
        let chosen = recommended(&kinds).into_iter();
        let paths: Vec<String> = chosen
            .map(|word| format!("{name}[{kind}={word}].{amount}"))
            .collect();
        if !paths.is_empty() {
            let remark = format!("the price that shoppers see, by {kind}: {all}");
            return Some((super::texts::one_or_list(&paths), remark));
        }
        let one = kinds.first().filter(|_| (2..=10).contains(&kinds.len()));
        let other = one.map_or(String::new(), |one| {
            format!("; {name}[{kind}={one}] instead of {name}[0] takes it by {kind}: {all}")
        });
        Some((first, remark + &other))
    }

    /// The reviews in a list of the product, which has its id at this path.
    pub(super) fn review_in_list(&mut self, id: Option<&str>) -> Option<GuessedTable> {
        let rated = self
            .in_lists("rating", Facts::are_mostly_numbers)
            .into_iter();
        let rated = rated.map(|(list, path)| (outermost(&list), path));
        let mut rated = rated.filter(|(list, _)| self.inside(list, "body").is_some());
        let (list, path) = rated.next()?;
        let name = list.strip_suffix("[]").unwrap_or(&list).to_owned();
        let product = id.map_or("^line".to_owned(), |id| format!("^.{id}"));
        let mut lines = vec![sure("each", quoted(&name))];
        lines.push(self.id_in_list(&list, &product));
        lines.push(sure("product", quoted(&product)));
        let inside = path
            .strip_prefix(&format!("{list}."))
            .unwrap_or(&path)
            .to_owned();
        let highest = self.facts(&path).and_then(|facts| facts.range);
        lines.push(super::review::rating(
            &quoted(&inside),
            highest.map_or(5.0, |range| range.1),
        ));
        for (setting, meaning) in [("title", "review_title"), ("body", "body")] {
            if let Some(found) = self.inside(&list, meaning) {
                lines.push(sure(setting, quoted(&found)));
            }
        }
        lines.extend(self.author_in_list(&list));
        lines.extend(self.date_in_list(&list));
        self.taken.push(list);
        Some(GuessedTable {
            setting: "[review]".to_owned(),
            lines,
        })
    }

    fn id_in_list(&self, list: &str, product: &str) -> Guess {
        let own = self.inside(list, "review_id").filter(|own| {
            let facts = self.facts(&format!("{list}.{own}"));
            facts.is_some_and(Facts::are_different)
        });
        match own {
            Some(own) => sure("external_id", quoted(&own)),
            None => unsure(
                "external_id",
                format!("{{ template = \"{{{product}}}-{{^item}}\" }}"),
                "reviews have no id; this one changes when reviews are added before others",
            ),
        }
    }

    fn author_in_list(&self, list: &str) -> Option<Guess> {
        let id = self
            .inside(list, "author_id")
            .map(|id| format!("id = {}", quoted(&id)));
        let name = self
            .inside(list, "author_name")
            .map(|name| format!("name = {}", quoted(&name)));
        let author: Vec<String> = id.into_iter().chain(name).collect();
        (!author.is_empty()).then(|| sure("author", format!("{{ {} }}", author.join(", "))))
    }

    fn date_in_list(&self, list: &str) -> Option<Guess> {
        let date = self.inside(list, "review_date")?;
        let dates = Dates::of(self.values_in(list, &date).into_iter())?;
        Some(super::review::date("created_at", &quoted(&date), &dates))
    }
}

/// The words of prices that shoppers may see, the likeliest first; none if no word says so. What
/// the shop pays is none of them.
fn recommended(kinds: &[&str]) -> Vec<String> {
    let place = |kind: &str| meanings::rank("recommended_price", &Heading::read(kind).words);
    // A kind that is not known may be what the shop pays.
    let mut ranked: Vec<(usize, &str)> = kinds
        .iter()
        .filter(|kind| !is_cost(kind))
        .filter_map(|kind| Some((place(kind)?, *kind)))
        .collect();
    ranked.sort_unstable();
    ranked
        .into_iter()
        .map(|(_, kind)| kind.to_owned())
        .collect()
}

/// Returns true for a path in a list of prices, or in something else with several.
pub(super) fn are_prices(path: &str) -> bool {
    let mut steps = steps(path).into_iter();
    steps.any(|step| meanings::rank("prices", &Heading::read(&step).words).is_some())
}

/// Returns true for the word of a price that the shop pays.
fn is_cost(kind: &str) -> bool {
    meanings::mentions("cost", &Heading::read(kind).words)
}

/// The outermost list of one in another.
fn outermost(list: &str) -> String {
    list.find("[]")
        .map_or(list, |at| &list[..at + 2])
        .to_owned()
}
