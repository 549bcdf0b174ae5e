//! Guesses about specs: what is left of the columns, and how its values are read.

use std::collections::HashSet;

use vitrine_model::spec::check_key;

use super::finder::{covers, is_secret};
use super::lists::are_prices;
use super::pieces::yes_and_no;
use super::texts::{key_of, plain, quoted, rule, sure};
use super::{Finder, Guess, GuessedTable};
use crate::dates::Dates;
use crate::heading::{Heading, steps};
use crate::meanings;
use crate::paths::Facts;
use crate::values::{booleans, is_picture, number_of, quantities};

/// Texts that are longer on average are no specs.
const MAX_SPEC_CHARACTERS: usize = 120;
/// From so many rows on, texts that all differ tell rows apart and are no specs.
const MANY_ROWS: usize = 20;
/// The maximum number of characters of one of several values in a text.
const MAX_PIECE: usize = 40;
/// First words of headings that a spec key does without.
const NO_KEYS: [&str; 4] = ["variant", "product", "item", "value"];

/// Names of objects that only say that specs are in them.
const CONTAINERS: [&str; 16] = [
    "data",
    "node",
    "product",
    "item",
    "metadata",
    "attributes",
    "specs",
    "specifications",
    "properties",
    "details",
    "features",
    "characteristics",
    "fields",
    "custom_fields",
    "eigenschaften",
    "merkmale",
];

/// What becomes of a path that no field has.
enum Left {
    /// A spec that is read with these settings.
    Spec(Vec<Guess>),
    /// Nothing, for this reason. A person may decide otherwise.
    Out(String),
    /// Nothing: what the shop pays, or what belongs to people.
    Secret,
    /// It is a part of something else.
    Part,
}

impl Finder<'_> {
    /// The table of the specs, and its rules.
    pub(super) fn specs(&mut self, pairs: Vec<GuessedTable>) -> Vec<GuessedTable> {
        let omitted = self.omitted();
        let beside = self.units_beside();
        let of_units: Vec<GuessedTable> = beside
            .iter()
            .map(|(path, unit)| self.rule_with_unit(path, unit, &omitted))
            .collect();
        self.taken
            .extend(beside.into_iter().flat_map(|(path, unit)| [path, unit]));
        let (mut include, mut rename) = (Vec::new(), Vec::new());
        let mut rules: Vec<(Vec<Guess>, Vec<String>)> = Vec::new();
        let mut whole = Vec::new();
        let shared = self.shared();
        for (path, facts) in self.paths.all() {
            let called = without_steps(path, &omitted);
            match self.left(path, &called, facts) {
                Left::Part => {}
                Left::Spec(_) if shared.iter().any(|column| column == path) => {
                    whole.push(path.to_owned());
                }
                Left::Spec(settings) if settings.is_empty() => match renamed(&called, &called) {
                    None => include.push(included(path)),
                    Some(key) => rename.push(sure(&key_of(plain(path)), quoted(&key))),
                },
                Left::Spec(settings) => {
                    match rules.iter_mut().find(|(known, _)| *known == settings) {
                        Some((_, paths)) => paths.push(quoted(plain(path))),
                        None => rules.push((settings, vec![quoted(plain(path))])),
                    }
                }
                Left::Out(why) => include.push(format!("# {}  # {why}", included(path))),
                Left::Secret => include.push(format!("# {path} is not for shoppers")),
            }
        }
        let mut tables = vec![heading(&omitted, &include)];
        if !rename.is_empty() {
            tables.push(GuessedTable {
                setting: "[product.specs.rename]".to_owned(),
                lines: rename,
            });
        }
        tables.extend(rules.into_iter().map(|(settings, paths)| {
            let path = sure("path", format!("[{}]", paths.join(", ")));
            rule(std::iter::once(path).chain(settings).collect())
        }));
        tables.extend(of_units);
        tables.extend(pairs);
        tables.extend(whole.iter().filter_map(|path| self.spec_of_product(path)));
        tables.extend(self.pieces());
        tables
    }

    /// The columns that only the first line of a product has, where each line is a product.
    fn shared(&self) -> Vec<String> {
        let variants = self.variants.as_ref().filter(|variants| variants.each);
        variants.map_or(Vec::new(), |variants| variants.gathered.first.clone())
    }

    /// The steps that only say that specs are in them, and without which the keys still differ.
    fn omitted(&self) -> Vec<String> {
        let all = self.paths.all();
        let specs =
            all.filter(|(path, facts)| matches!(self.left(path, path, facts), Left::Spec(_)));
        let specs: Vec<Vec<String>> = specs.map(|(path, _)| steps(path)).collect();
        let mut omitted: Vec<String> = Vec::new();
        for step in specs.iter().flat_map(|steps| &steps[..steps.len() - 1]) {
            let is_known = omitted.contains(step);
            if is_known || !CONTAINERS.contains(&Heading::read(step).words.as_str()) {
                continue;
            }
            omitted.push(step.clone());
            let mut keys = HashSet::new();
            let is_other = |steps: &Vec<String>| {
                let left = steps.iter().filter(|step| !omitted.contains(step));
                let left: Vec<&str> = left.map(String::as_str).collect();
                !left.is_empty() && keys.insert(left.join("_").to_lowercase())
            };
            if !specs.iter().all(is_other) {
                omitted.pop();
            }
        }
        omitted
    }

    /// What becomes of a path, which is called as another one.
    fn left(&self, path: &str, called: &str, facts: &Facts) -> Left {
        let words = &facts.heading.words;
        if self.is_taken(path) || self.is_in_taken_list(path) || self.pieces_of(path) {
            return Left::Part;
        }
        if facts.known == 0 {
            return Left::Out("empty".to_owned());
        }
        if is_secret(path, facts) && (facts.personal || !is_internal(words)) {
            return Left::Secret;
        }
        if self.is_other_language(path, facts) {
            return Left::Out(format!("in another language: {}", example(facts)));
        }
        if let Some(why) = no_spec(path, facts, words) {
            return Left::Out(format!("{why}: {}", example(facts)));
        }
        match self.reading(facts) {
            Some(settings) => Left::Spec(keyed(called, settings)),
            None if facts.length() > MAX_SPEC_CHARACTERS => {
                Left::Out(format!("long texts: {}", example(facts)))
            }
            None if self.tells_apart(facts) => {
                Left::Out(format!("differs in every row: {}", example(facts)))
            }
            None => Left::Spec(several(called, facts)),
        }
    }

    /// Whether a field has the text of a path in another language.
    fn is_other_language(&self, path: &str, facts: &Facts) -> bool {
        let mut taken = self.taken.iter().filter(|taken| *taken != path);
        let words = &facts.heading.words;
        let same = |other: &Facts| other.heading.words == *words;
        facts.heading.language.is_some() && taken.any(|taken| self.facts(taken).is_some_and(same))
    }

    /// Whether a path is the list itself of which items are taken.
    fn is_in_taken_list(&self, path: &str) -> bool {
        self.taken
            .iter()
            .any(|taken| covers(taken, &format!("{path}[]")) || covers(taken, path))
    }

    /// The settings by which numbers, quantities, words for yes and no, and dates are read; `None`
    /// for other texts.
    fn reading(&self, facts: &Facts) -> Option<Vec<Guess>> {
        let values = || self.values(facts);
        let number = facts
            .signs_of(values())
            .map(|signs| signs.form(&self.signs));
        let unit = facts.heading.unit.as_ref();
        if facts.texts == 0 {
            return Some(
                unit.filter(|_| facts.are_numbers())
                    .map_or(Vec::new(), |unit| with_unit(facts, unit)),
            );
        }
        if let Some(form) = number {
            let mut lines = match unit {
                Some(unit) => with_unit(facts, unit),
                None => vec![sure("type", "\"number\"".to_owned())],
            };
            lines.extend(sign_lines(&form, values().next().unwrap_or("")));
            return Some(lines);
        }
        if quantities(values(), &self.units) {
            let numbers = values().map(number_of);
            let signs = crate::values::Signs::of(numbers);
            let form = signs.map(|signs| signs.form(&self.signs));
            let mut lines = vec![sure("type", "\"quantity\"".to_owned())];
            lines.extend(form.map_or(Vec::new(), |form| {
                sign_lines(&form, values().next().unwrap_or(""))
            }));
            return Some(lines);
        }
        if let Some(words) = booleans(values()) {
            let mut lines = vec![sure("type", "\"boolean\"".to_owned())];
            lines.extend(yes_and_no(&words));
            return Some(lines);
        }
        let dates = Dates::of(values())?;
        let mut lines = vec![sure("type", "\"date\"".to_owned())];
        if !dates.patterns.is_empty() {
            let mut line = sure("date", super::texts::one_or_list(&dates.patterns));
            line.unsure = dates.remark().map(str::to_owned);
            lines.push(line);
        }
        Some(lines)
    }

    /// Whether the texts of a path tell rows apart, or name them.
    fn tells_apart(&self, facts: &Facts) -> bool {
        facts.known >= MANY_ROWS
            && facts.known * 10 >= self.paths.rows() * 9
            && facts.are_different()
            && !facts.listed
    }

    /// A spec of the whole product, as a second reading of the number of a variant.
    fn spec_of_product(&self, path: &str) -> Option<GuessedTable> {
        let facts = self.facts(path)?;
        let (_, number) = self.paths.all().find_map(|(other, facts)| {
            let own = !self.shared().iter().any(|column| column == other) && facts.known > 0;
            (own && self.taken.iter().any(|taken| taken == other) && facts.are_different())
                .then_some((0, other))
        })?;
        let mut lines = vec![
            sure("path", quoted(number)),
            sure("also", "true".to_owned()),
            sure("key", quoted(&spec_key(path)?)),
            sure(
                "template",
                quoted(&super::texts::placeholder(&format!("^.{path}"))?),
            ),
        ];
        lines.extend(
            self.reading(facts)
                .unwrap_or_default()
                .into_iter()
                .filter(|line| line.setting != "key"),
        );
        lines.extend(cut(facts));
        Some(rule(lines))
    }
}

/// The settings of a number whose unit is in its heading.
fn with_unit(facts: &Facts, unit: &str) -> Vec<Guess> {
    let words = facts.heading.without_unit();
    let bare = NO_KEYS.iter().fold(words, |words, start| {
        words.strip_prefix(&format!("{start}_")).unwrap_or(words)
    });
    let key = if NO_KEYS.contains(&bare) {
        measured(unit)
    } else {
        bare
    };
    let mut lines: Vec<Guess> = spec_key(key)
        .map(|key| sure("key", quoted(&key)))
        .into_iter()
        .collect();
    lines.push(sure("unit", quoted(unit)));
    lines
}

/// The settings of a text with several values, or with several specs.
fn several(path: &str, facts: &Facts) -> Vec<Guess> {
    match pairs_in_text(facts) {
        Some(settings) => settings,
        None => keyed(path, cut(facts).into_iter().collect()),
    }
}

/// The settings of texts such as `material=Wool|Fleece,fit=slim`.
fn pairs_in_text(facts: &Facts) -> Option<Vec<Guess>> {
    let is_pair = |text: &str, sign: char| {
        let pair = text.split_once(sign);
        pair.is_some_and(|(key, value)| {
            let named =
                key.trim().starts_with(char::is_alphabetic) && key.trim().len() <= MAX_PIECE;
            named && !value.trim().is_empty() && !value.contains(sign) && !value.starts_with("//")
        })
    };
    let signs = ['=', ':']
        .into_iter()
        .flat_map(|sign| [",", ";", "|", "\n"].map(|cut| (sign, cut)));
    let (sign, cut) = signs.into_iter().find(|(sign, cut)| {
        let pairs = facts
            .all()
            .all(|text| text.split(cut).all(|piece| is_pair(piece, *sign)));
        pairs && facts.all().any(|text| text.contains(cut))
    })?;
    let mut lines = vec![
        sure("cut_at", quoted(cut)),
        sure("split", quoted(&format!("{{.key}}{sign}{{.}}"))),
    ];
    if cut != "|" && facts.all().any(|text| text.contains('|')) {
        lines.push(sure("then_cut_at", "\"|\"".to_owned()));
    }
    Some(lines)
}

/// The settings of a path with the key that it gets by them.
fn keyed(path: &str, settings: Vec<Guess>) -> Vec<Guess> {
    let has_key = settings.iter().any(|line| line.setting == "key");
    let key = renamed(path, path).filter(|_| !has_key && !settings.is_empty());
    let key = key.map(|key| sure("key", quoted(&key)));
    key.into_iter().chain(settings).collect()
}

/// What a unit measures of most goods.
fn measured(unit: &str) -> &'static str {
    match unit {
        "g" | "kg" | "mg" | "lb" | "oz" => "weight",
        "min" | "s" | "h" => "duration",
        "ml" | "cl" | "l" => "volume",
        _ => "size",
    }
}

/// The settings of the signs in numbers.
fn sign_lines(form: &crate::values::NumberForm, example: &str) -> Vec<Guess> {
    let settings = super::amounts::number_settings(form);
    let mut lines: Vec<Guess> = settings
        .iter()
        .filter_map(|setting| setting.split_once(" = "))
        .map(|(name, value)| sure(name, value.to_owned()))
        .collect();
    if form.unsure {
        let remark = format!("whether numbers such as {example} are above a thousand");
        match lines.last_mut() {
            Some(line) => line.unsure = Some(remark),
            None => lines.push(super::texts::unsure("decimal", "\".\"".to_owned(), remark)),
        }
    }
    lines
}

fn example(facts: &Facts) -> String {
    let first = facts.first.first().map_or("", String::as_str);
    vitrine_ingest::mapping::shortened(&vitrine_model::text::collapse(first))
}

fn is_internal(words: &str) -> bool {
    let plain = NO_KEYS
        .iter()
        .find_map(|start| words.strip_prefix(&format!("{start}_")));
    meanings::rank("internal", words).is_some()
        || plain.is_some_and(|plain| meanings::rank("internal", plain).is_some())
        || (words.starts_with("attribute_")
            && words.ends_with(|c: char| c.is_alphabetic())
            && words.contains(|c: char| c.is_ascii_digit()))
        || (words.starts_with("option") && words.ends_with("_linked_to"))
        || words.starts_with("included_")
        // When somebody has changed something of it.
        || words.ends_with("_at")
}

fn in_pictures(path: &str) -> bool {
    let steps = steps(path);
    let before = steps.iter().take(steps.len().saturating_sub(1));
    before
        .into_iter()
        .any(|step| meanings::rank("image", &Heading::read(step).words).is_some())
}

/// Why a path is no spec, whatever its values.
fn no_spec(path: &str, facts: &Facts, words: &str) -> Option<&'static str> {
    let last = steps(path).pop().unwrap_or_default();
    let is_id = words == "id"
        || words.starts_with("id_")
        || ["_id", "_sku", "_asin"]
            .iter()
            .any(|end| words.ends_with(end))
        || words.starts_with("meta_");
    let is_category = meanings::rank("category", words).is_some() && facts.are_numbers();
    if facts.addresses > 0 {
        Some("addresses")
    } else if last.starts_with("@id")
        || last.starts_with("@type")
        || last.starts_with("@context")
        || last.starts_with("@lang")
        || last.starts_with("@xmlns")
    {
        Some("of the document")
    } else if is_internal(words) || is_id || is_category {
        Some("of the shop")
    } else if path.to_lowercase().contains("allergen") {
        Some("beside it stands whether they are in the product")
    } else if is_elsewhere(path) {
        Some("of something else")
    } else if are_prices(path)
        || is_of_price(path)
        || meanings::rank("price", words).is_some()
        || meanings::rank("sale_price", words).is_some()
    {
        Some("another price")
    } else if meanings::rank("rating", words).is_some() && facts.are_mostly_numbers() {
        Some("of ratings")
    } else if ["image_", "bild_"]
        .iter()
        .any(|start| words.starts_with(start))
        || in_pictures(path)
        || facts.all().all(is_picture)
    {
        Some("of pictures")
    } else {
        None
    }
}

/// The setting that cuts a text with several values.
fn cut(facts: &Facts) -> Option<Guess> {
    let is_list = meanings::rank("tags", &facts.heading.words).is_some();
    let signs = [", ", ",", ";", "|", "\n", " / "];
    signs.into_iter().find_map(|sign| {
        let several: Vec<Vec<&str>> = facts
            .all()
            .map(|text| text.split(sign).map(str::trim).collect())
            .filter(|pieces: &Vec<&str>| pieces.len() > 1)
            .collect();
        let short = several
            .iter()
            .flatten()
            .all(|piece| piece.len() <= MAX_PIECE);
        let single = |piece: &&str| facts.values.contains(*piece);
        let again = several.iter().flatten().any(single) && !several.is_empty();
        let is = !several.is_empty() && short && (is_list || again);
        let sign = if sign == ", " { "," } else { sign };
        is.then(|| sure("cut_at", quoted(sign)))
    })
}

/// Returns true for a path in a price: how it is shown, or what it was.
fn is_of_price(path: &str) -> bool {
    let steps = steps(path);
    let before = steps.iter().take(steps.len().saturating_sub(1));
    before
        .into_iter()
        .any(|step| meanings::rank("price", &Heading::read(step).words).is_some())
}

/// Returns true for a path in something that has values of its own, as shipping has a price.
fn is_elsewhere(path: &str) -> bool {
    let steps = steps(path);
    let before = steps.iter().take(steps.len().saturating_sub(1));
    before
        .into_iter()
        .any(|step| meanings::rank("elsewhere", &Heading::read(step).words).is_some())
}

/// The key of a path, which is called as another one, if the steps of the path do not make it.
pub(super) fn renamed(path: &str, called: &str) -> Option<String> {
    let headings: Vec<Heading> = steps(called)
        .iter()
        .filter(|step| *step != "#text")
        .map(|step| Heading::read(step))
        .collect();
    let last = headings.last()?;
    let alone = headings.len() == 1;
    let is_gtin = alone && meanings::rank("gtin", &without_what(last.words.clone())).is_some();
    let words: Vec<&str> = headings
        .iter()
        .map(|heading| heading.words.as_str())
        .collect();
    let joined = words.join("_");
    let joined = if alone { without_what(joined) } else { joined };
    let key = if is_gtin {
        "gtin".to_owned()
    } else {
        // Of a long path the last step says what it is.
        spec_key(&joined).or_else(|| spec_key(words.last()?))?
    };
    // The key that the steps make by themselves.
    let raw = steps(path).join("_").replace(['@', '#', ':'], "_");
    (crate::heading::words(&raw) != key).then_some(key)
}

/// Words without first ones that say what the value is of: `product_weight`, `product_attribute_color`.
fn without_what(words: String) -> String {
    let rest = [
        "product_attribute_",
        "product_",
        "variant_",
        "item_",
        "attribute_",
    ]
    .iter()
    .find_map(|start| words.strip_prefix(start));
    let says_nothing = |rest: &str| {
        let first = rest.split('_').next().unwrap_or_default();
        let alone = ["id", "type", "name", "code", "number", "group", "condition"];
        alone.contains(&first) || first.starts_with(|c: char| c.is_ascii_digit())
    };
    match rest {
        Some(rest) if !says_nothing(rest) => rest.to_owned(),
        _ => words,
    }
}

/// The spec key that some words make, if they make one.
pub(super) fn spec_key(words: &str) -> Option<String> {
    let folded = vitrine_model::text::fold(&Heading::of(words).words);
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let key = words.join("_");
    check_key(&key).is_ok().then_some(key)
}

/// A path without some of its steps.
pub(super) fn without_steps(path: &str, omitted: &[String]) -> String {
    let mut left = String::new();
    for step in steps(path) {
        if !omitted.contains(&step) {
            vitrine_formats::push_key(&mut left, &step);
        }
    }
    left
}

/// A path in the list of those that are specs.
fn included(path: &str) -> String {
    format!("{},", quoted(plain(path)))
}

/// The table of the specs with a list of their paths.
fn heading(omitted: &[String], include: &[String]) -> GuessedTable {
    let on_bad = sure("on_bad", "\"drop_value\"".to_owned());
    let auto = sure("auto", "false".to_owned());
    let lines: Vec<String> = include.iter().map(|line| format!("  {line}\n")).collect();
    let value = format!("[\n{}]", lines.concat());
    let remark = "these columns become specs, and those of the rules below; without its first # a line does, too";
    let mut lines = vec![on_bad, auto];
    if !omitted.is_empty() {
        lines.push(sure("omit", super::texts::list(omitted)));
    }
    lines.push(super::texts::unsure("include", value, remark));
    GuessedTable {
        setting: "[product.specs]".to_owned(),
        lines,
    }
}
