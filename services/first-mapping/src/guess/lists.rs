//! Guesses about lists in the rows: specs in pieces, prices, reviews, and names of pictures.

use vitrine_model::unit::UnitTable;

use super::{
    AUTHORS, BODIES, CURRENCIES, Finder, Guess, GuessedTable, PRICES, RATINGS, REVIEW_IDS, TITLES,
    quoted, sure, unsure,
};
use crate::paths::{Facts, last_word};

/// Names of what a spec in pieces consists of.
const KEYS: [&str; 7] = [
    "fname",
    "name",
    "key",
    "label",
    "attribute",
    "attribute_name",
    "property",
];
const VALUES: [&str; 4] = ["fvalue", "value", "values", "attribute_value"];
const UNITS: [&str; 4] = ["funit", "unit", "uom", "unit_code"];
/// Names of what tells prices in a list apart.
const PRICE_TYPES: [&str; 4] = ["price_type", "type", "kind", "seller"];
const DATES: [&str; 6] = [
    "date",
    "created_at",
    "created",
    "review_date",
    "time",
    "timestamp",
];

/// Codes of UN/ECE recommendation 20 for units.
const UNIT_CODES: [(&str, &str); 26] = [
    ("MMT", "mm"),
    ("CMT", "cm"),
    ("MTR", "m"),
    ("KMT", "km"),
    ("INH", "in"),
    ("MMK", "mm²"),
    ("CMK", "cm²"),
    ("MTK", "m²"),
    ("MTQ", "m³"),
    ("LTR", "l"),
    ("MLT", "ml"),
    ("GRM", "g"),
    ("KGM", "kg"),
    ("TNE", "t"),
    ("WTT", "W"),
    ("KWT", "kW"),
    ("VLT", "V"),
    ("AMP", "A"),
    ("HTZ", "Hz"),
    ("CEL", "°C"),
    ("LUM", "lm"),
    ("SEC", "s"),
    ("HUR", "h"),
    ("P1", "%"),
    ("C62", ""),
    ("PCE", ""),
];

impl Finder<'_> {
    /// The items of lists whose keys have the first of these names: the list with `[]`, and the
    /// path.
    fn in_lists(&self, names: &[&str], fits: impl Fn(&Facts) -> bool) -> Vec<(String, String)> {
        let found = self.paths.all().filter_map(|(path, facts)| {
            let path = path.strip_suffix("[]").unwrap_or(path);
            let (list, inside) = path.rsplit_once("[].")?;
            let is_named = !inside.contains('.') && names.contains(&last_word(inside).as_str());
            let list = format!("{list}[]");
            let taken = self.taken.iter().any(|taken| super::covers(taken, path));
            (is_named && fits(facts) && !taken).then(|| (list, path.to_owned()))
        });
        found.collect()
    }

    /// The path of an item of a list, with the first of these names.
    pub(super) fn inside(&self, list: &str, names: &[&str]) -> Option<String> {
        let inside = |path: &str| Some(path.strip_prefix(list)?.strip_prefix('.')?.to_owned());
        let paths: Vec<String> = self
            .paths
            .all()
            .filter_map(|(path, _)| inside(path))
            .collect();
        let ending = |name: &&str| paths.iter().find(|path| last_word(path) == **name);
        let through = |name: &&str| {
            let goes = |path: &&String| path.split('.').any(|step| last_word(step) == **name);
            let id = |path: &&String| last_word(path) == "id";
            paths.iter().filter(goes).find(|path| !id(path))
        };
        let found = names
            .iter()
            .find_map(ending)
            .or(names.iter().find_map(through))?;
        Some(found.strip_suffix("[]").unwrap_or(found).to_owned())
    }

    fn values(&self, list: &str, inside: &str) -> Vec<&str> {
        let (one, several) = (format!("{list}.{inside}"), format!("{list}.{inside}[]"));
        let mut values = Vec::new();
        for facts in [one, several].iter().filter_map(|path| self.facts(path)) {
            values.extend(facts.values.iter().map(String::as_str));
        }
        values
    }

    /// Returns true if a path is a list whose items are specs in pieces.
    pub(super) fn pieces_of(&self, path: &str) -> bool {
        let list = path.find("[]").map_or(path, |at| &path[..at + 2]);
        self.inside(list, &KEYS).is_some() && self.inside(list, &VALUES).is_some()
    }

    /// Rules for the lists whose items are specs in pieces.
    pub(super) fn pieces(&mut self) -> Vec<GuessedTable> {
        let lists = self.in_lists(&VALUES, |_| true).into_iter();
        let rules = lists.filter_map(|(list, _)| self.rule_of_pieces(&list));
        rules.collect()
    }

    fn rule_of_pieces(&self, list: &str) -> Option<GuessedTable> {
        let (key, value) = (self.inside(list, &KEYS)?, self.inside(list, &VALUES)?);
        let mut lines = vec![
            sure("path", quoted(list.strip_suffix("[]").unwrap_or(list))),
            sure("key_from", quoted(&key)),
            sure("value_from", quoted(&value)),
        ];
        if let Some(unit) = self.inside(list, &UNITS) {
            lines.push(sure("unit_from", quoted(&unit)));
            lines.extend(unit_values(&self.values(list, &unit)));
        }
        let values = self.values(list, &value);
        let numbers = |sign: char| {
            values
                .iter()
                .filter(move |text| is_decimal(text, sign))
                .count()
        };
        if numbers(',') > numbers('.') {
            lines.push(sure("decimal", "\",\"".to_owned()));
        }
        Some(GuessedTable {
            setting: "[[product.specs.rules]]".to_owned(),
            lines,
        })
    }

    /// The price in a list of offers: that of the first.
    pub(super) fn price_in_list(&mut self) -> Option<Guess> {
        let numbers = |facts: &Facts| facts.numbers * 2 > facts.known;
        let (list, path) = self.in_lists(&PRICES, numbers).into_iter().next()?;
        let name = list.strip_suffix("[]").unwrap_or(&list).to_owned();
        let first = |inside: &str| quoted(&format!("{name}[0].{inside}"));
        let amount = path.strip_prefix(&format!("{list}.")).unwrap_or(&path);
        let amount = format!("{{ from = {}, on_bad = \"drop_value\" }}", first(amount));
        let remark = format!("a product has one price; this is that of the first of {name}");
        let mut remarks = vec![remark];
        if let Some(kind) = self.inside(&list, &PRICE_TYPES) {
            let kinds = self.values(&list, &kind);
            if let Some(one) = kinds.first().filter(|_| kinds.len() <= 10) {
                let kinds = kinds.join(", ");
                remarks.push(format!(
                    "{name}[{kind}={one}] instead of {name}[0] takes it by {kind}: {kinds}"
                ));
            }
        }
        let currency = if let Some(currency) = self.inside(&list, &CURRENCIES) {
            first(&currency)
        } else {
            remarks.push("no path has a currency, and EUR is a guess".to_owned());
            "{ value = \"EUR\" }".to_owned()
        };
        // Nothing else of an offer is a spec.
        self.taken.push(list);
        let value = format!("{{ amount = {amount}, currency = {currency} }}");
        Some(unsure("price", value, remarks.join("; ")))
    }

    /// The reviews in a list of the product, which has its id at this path.
    pub(super) fn review_in_list(&mut self, id: Option<&str>) -> Option<GuessedTable> {
        let rated = self.in_lists(&RATINGS, Facts::are_numbers).into_iter();
        let mut rated = rated.filter(|(list, _)| self.inside(list, &BODIES).is_some());
        let (list, path) = rated.next()?;
        let name = list.strip_suffix("[]").unwrap_or(&list);
        let product = id.map_or("^line".to_owned(), |id| format!("^.{id}"));
        let mut lines = vec![sure("each", quoted(name))];
        let own = self.inside(&list, &REVIEW_IDS);
        let own = own.filter(|own| {
            self.facts(&format!("{list}.{own}"))
                .is_some_and(Facts::are_different)
        });
        lines.push(match own {
            Some(own) => sure("external_id", quoted(&own)),
            None => unsure(
                "external_id",
                format!("{{ template = \"{{{product}}}-{{^item}}\" }}"),
                "reviews have no id; this one changes when reviews are added before others",
            ),
        });
        lines.push(sure("product", quoted(&product)));
        let inside = path
            .strip_prefix(&format!("{list}."))
            .unwrap_or(&path)
            .to_owned();
        let highest = self
            .facts(&path)
            .and_then(|facts| facts.range)
            .map_or(5.0, |range| range.1);
        lines.push(super::rating(&inside, highest));
        for (setting, names) in [("title", &TITLES[..]), ("body", &BODIES[..])] {
            if let Some(found) = self.inside(&list, names) {
                lines.push(sure(setting, quoted(&found)));
            }
        }
        if let Some(author) = self.inside(&list, &AUTHORS) {
            let setting = if author.ends_with("id") { "id" } else { "name" };
            lines.push(sure(
                "author",
                format!("{{ {setting} = {} }}", quoted(&author)),
            ));
        }
        let date = self.inside(&list, &DATES);
        let date = date.filter(|date| self.values(&list, date).iter().all(|text| is_date(text)));
        lines.extend(date.map(|date| sure("created_at", quoted(&date))));
        self.taken.push(list);
        Some(GuessedTable {
            setting: "[review]".to_owned(),
            lines,
        })
    }

    /// What is to be done about pictures of which the feed has names of files only.
    pub(super) fn names_of_pictures(&mut self) -> Option<String> {
        let picture = |text: &String| {
            let text = text.to_lowercase();
            [".jpg", ".jpeg", ".png", ".webp"]
                .iter()
                .any(|end| text.ends_with(end))
        };
        let mut paths = self.paths.all();
        let (path, _) = paths.find(|(_, facts)| facts.first.iter().any(picture))?;
        let path = path.to_owned();
        let list = path.rsplit_once("[].").map(|(list, _)| format!("{list}[]"));
        self.taken.push(list.unwrap_or_else(|| path.clone()));
        let inside = path
            .rsplit_once("[].")
            .map_or(path.as_str(), |(_, inside)| inside);
        Some(format!(
            "{path} has names of pictures without their address; in [[product.media]] a template such as \
             url = {{ template = \"https://YOUR.HOST/{{{inside}}}\" }} makes addresses of them"
        ))
    }
}

/// What the words of a feed for units stand for, unless all are units themselves.
fn unit_values(words: &[&str]) -> Option<Guess> {
    let table = UnitTable::built_in();
    let others: Vec<&&str> = words
        .iter()
        .filter(|word| table.find(word).is_none())
        .collect();
    if others.is_empty() {
        return None;
    }
    let code = |word: &str| UNIT_CODES.iter().find(|(code, _)| *code == word);
    let known = others.iter().filter_map(|word| code(word));
    let known: Vec<String> = known
        .map(|(code, unit)| format!("{code} = {unit:?}"))
        .collect();
    let unknown: Vec<&str> = others
        .iter()
        .filter(|word| code(word).is_none())
        .map(|word| **word)
        .collect();
    let value = format!("{{ {} }}", known.join(", "));
    Some(if unknown.is_empty() {
        sure("unit_values", value)
    } else {
        let remark = format!(
            "values with these units are bad until unit_values says what they stand for: {}",
            unknown.join(", ")
        );
        unsure("unit_values", value, remark)
    })
}

/// Returns true for a number with this sign before its decimals.
fn is_decimal(text: &str, sign: char) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once(sign);
    parts.is_some_and(|(whole, decimals)| digits(whole) && digits(decimals))
}

/// Returns true for a day, or an instant that begins with one.
fn is_date(text: &str) -> bool {
    let day = text.as_bytes();
    let digit = |at: usize| day.get(at).is_some_and(u8::is_ascii_digit);
    (0..4).all(digit) && day.get(4) == Some(&b'-') && day.get(7) == Some(&b'-') && (5..7).all(digit)
}
