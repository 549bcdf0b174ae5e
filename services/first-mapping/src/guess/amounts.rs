//! Guesses about prices.

use super::texts::{field, quoted, remarked};
use super::{Finder, Guess};
use crate::paths::Facts;
use crate::values::{Amount, NumberForm, Signs};

/// What a bad amount costs.
const ON_BAD: &str = "on_bad = \"drop_value\"";

/// What a price consists of: its settings, and what is unsure about them.
struct Price {
    amount: String,
    currency: String,
    remarks: Vec<String>,
}

impl Finder<'_> {
    pub(super) fn price(&mut self) -> Option<Guess> {
        let numbers = |facts: &Facts| facts.are_mostly_numbers() && !facts.listed;
        if let Some(cents) = self.find("cents", numbers) {
            let settings = ["divide = 100", ON_BAD].map(str::to_owned);
            let amount = field(&self.at(&cents), &settings);
            let remark = "divide = 100, because the name says cents".to_owned();
            let (currency, more) = self.currency(&cents, &[]);
            let remarks = std::iter::once(remark).chain(more).collect();
            return Some(
                Price {
                    amount,
                    currency,
                    remarks,
                }
                .guess(),
            );
        }
        let prices = |facts: &Facts| is_price(facts) && !facts.listed;
        let Some(path) = self.find("price", prices) else {
            return self.price_in_list();
        };
        // Behind a price of some time only stands the usual one.
        let sale = self.facts(&path).is_some_and(|facts| {
            crate::meanings::rank("sale_price", &facts.heading.words).is_some()
        });
        let rows = self.paths.rows();
        let gaps = self.facts(&path).is_some_and(|facts| facts.known < rows);
        let next = if sale {
            "regular_price"
        } else {
            "lowest_price"
        };
        let regular = if sale || gaps {
            self.find(next, prices)
        } else {
            None
        };
        let paths: Vec<String> = std::iter::once(path).chain(regular).collect();
        Some(self.price_at(&paths).guess())
    }

    /// The price at the first of these paths that is known.
    fn price_at(&mut self, paths: &[String]) -> Price {
        let facts: Vec<&Facts> = paths.iter().filter_map(|path| self.facts(path)).collect();
        let values: Vec<&str> = facts.iter().flat_map(|facts| self.values(facts)).collect();
        let amounts: Vec<Amount> = values
            .iter()
            .filter_map(|value| Amount::read(value))
            .collect();
        let mut remarks = Vec::new();
        let mut settings = Vec::new();
        if !amounts.is_empty() {
            settings.push(split(&amounts, values.len() > amounts.len()));
        }
        let texts = values
            .iter()
            .map(|value| Amount::read(value).map_or(*value, |amount| amount.number));
        let is_text = facts.iter().any(|facts| facts.texts > 0);
        if let Some(signs) = Signs::of(texts.clone()) {
            let form = if is_text {
                signs.form(&self.signs)
            } else {
                NumberForm::PLAIN
            };
            settings.extend(number_settings(&form));
            if form.unsure {
                remarks.push(format!(
                    "whether {} is above a thousand",
                    texts.clone().next().unwrap_or("a number")
                ));
            }
            if texts.clone().any(|text| decimals(text, &form) > 2) {
                settings.push("round = \"nearest\"".to_owned());
                remarks.push("some amounts have more decimals than the currency".to_owned());
            }
        }
        if let Some(shown) = self.shown_with_decimals(&paths[0]) {
            settings.push("divide = 100".to_owned());
            remarks.push(format!(
                "divide = 100, because {shown} has the same digits with decimals"
            ));
        }
        settings.push(ON_BAD.to_owned());
        let names: Vec<String> = paths.iter().map(|path| self.bare(path)).collect();
        let amount = field(&super::texts::one_or_list(&names), &settings);
        let (currency, more) = self.currency(&paths[0], &amounts);
        remarks.extend(more);
        remarks.extend(self.other_currencies(&paths[0]));
        Price {
            amount,
            currency,
            remarks,
        }
    }

    /// The path beside a price in cents that shows it with its decimals: 3990 and 39,90 €.
    fn shown_with_decimals(&self, path: &str) -> Option<&str> {
        let facts = self.facts(path)?;
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if facts.known == 0 || !facts.all().all(is_digits) {
            return None;
        }
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let (parent, _) = path.rsplit_once('.').unwrap_or(("", path));
        let beside =
            |other: &str| other.rsplit_once('.').map_or("", |(parent, _)| parent) == parent;
        let mut others = self.paths.all();
        let (found, _) = others.find(|(other, shown)| {
            let is_amount = |text: &str| {
                Amount::read(text).is_some_and(|amount| amount.number.contains([',', '.']))
            };
            let same = |text: &str| facts.values.contains(&digits(text));
            beside(other)
                && shown.known > 0
                && shown.all().all(|text| is_amount(text) && same(text))
        })?;
        Some(found)
    }

    /// The currency of the price at a path.
    fn currency(&mut self, path: &str, amounts: &[Amount<'_>]) -> (String, Option<String>) {
        let constant = |code: &str| format!("{{ value = {} }}", quoted(code));
        let facts = self.facts(path);
        if let Some(code) = facts.and_then(|facts| facts.heading.currency.as_deref()) {
            return (constant(code), None);
        }
        if let Some(first) = amounts.first() {
            if amounts
                .iter()
                .all(|amount| amount.currency == first.currency)
            {
                let guess = (first.sign == "$")
                    .then(|| "the currency: $ is that of several countries".to_owned());
                return (constant(first.currency), guess);
            }
            let part = format!(
                "{{ template = \"{{code:-3}}\", parts = {{ code = {} }} }}",
                self.at(path)
            );
            return (part, None);
        }
        let code = |facts: &Facts| facts.length() == 3 && !facts.listed && facts.numbers == 0;
        // Beside the price first, as the currency of an offer is.
        let (parent, _) = path.rsplit_once('.').unwrap_or(("", path));
        let found = self.ranked("currency", code);
        let beside = found
            .iter()
            .find(|found| found.rsplit_once('.').map_or("", |(parent, _)| parent) == parent);
        match beside.or(found.first()).cloned() {
            Some(found) => {
                self.taken.push(found.clone());
                (self.at(&found), None)
            }
            None => (
                constant("EUR"),
                Some("no path has a currency; EUR is a guess".to_owned()),
            ),
        }
    }

    /// What to say of prices in other currencies, which stand in columns of their own.
    fn other_currencies(&mut self, path: &str) -> Option<String> {
        let words = &self.facts(path)?.heading.words;
        let others = self.paths.all().filter(|(other, facts)| {
            *other != path && facts.heading.currency.is_some() && &facts.heading.words == words
        });
        let others: Vec<String> = others.map(|(path, _)| path.to_owned()).collect();
        self.taken.extend(others.iter().cloned());
        let said = format!(
            "a product has one price; {} have it in other currencies",
            others.join(", ")
        );
        (!others.is_empty()).then_some(said)
    }
}

impl Price {
    fn guess(self) -> Guess {
        let value = format!(
            "{{ amount = {}, currency = {} }}",
            self.amount, self.currency
        );
        remarked("price", value, &self.remarks)
    }
}

/// The settings of a number's signs, as far as they are not usual.
pub(super) fn number_settings(form: &NumberForm) -> Vec<String> {
    let decimal = (form.decimal != '.').then(|| format!("decimal = \"{}\"", form.decimal));
    let thousands = form.thousands.map(|sign| {
        let sign = if sign.is_whitespace() { ' ' } else { sign };
        format!("thousands = \"{sign}\"")
    });
    decimal.into_iter().chain(thousands).collect()
}

/// The patterns that read the amounts of texts such as `39.90 EUR`.
fn split(amounts: &[Amount<'_>], plain: bool) -> String {
    let mut patterns: Vec<String> = Vec::new();
    for amount in amounts {
        let pattern = if amount.before {
            format!("{} {{.}}", amount.sign)
        } else {
            format!("{{.}} {}", amount.sign)
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    if plain {
        patterns.push("{.}".to_owned());
    }
    format!("split = {}", super::texts::one_or_list(&patterns))
}

/// Whether most values are numbers, or amounts with a currency.
fn is_price(facts: &Facts) -> bool {
    let amounts = facts.all().filter(|value| Amount::read(value).is_some());
    facts.are_mostly_numbers() || amounts.count() * 2 > facts.values.len()
}

/// The number of decimals but zeros.
fn decimals(text: &str, form: &NumberForm) -> usize {
    let decimals = text.rsplit_once(form.decimal);
    decimals.map_or(0, |(_, decimals)| decimals.trim_end_matches('0').len())
}
