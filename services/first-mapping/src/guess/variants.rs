//! Guesses about tables with several lines for a product: its variants, and further pictures.

use vitrine_model::spec::check_key;

use super::{
    BRANDS, CATEGORIES, DESCRIPTIONS, Finder, Guess, GuessedTable, Guesses, IMAGES,
    MAX_SPEC_CHARACTERS, NAMES, PRICES, description, kind, quoted, sure, unsure,
};
use crate::gathered::Gathered;
use crate::paths::{Facts, last_word};

/// Names of the number that a variant has.
const NUMBERS: [&str; 5] = ["sku", "variant_id", "ean", "gtin", "barcode"];
/// The maximum number of names of options that get rules of their own.
const MAX_OPTIONS: usize = 10;

impl Finder<'_> {
    /// The guesses about a table with several lines for a product.
    pub(super) fn gathered(&mut self, gathered: Gathered) -> Guesses {
        let different = |facts: &Facts| facts.are_different() && facts.known >= gathered.groups;
        self.taken.push(gathered.key.clone());
        let number = self.find_similar(&NUMBERS, different);
        let each = number.is_some();
        let whole = |path: &str| {
            let is_whole = each && gathered.first.iter().any(|first| first == path);
            format!("{}{path}", if is_whole { "^." } else { "" })
        };
        let mut fields = Vec::new();
        if let Some(number) = &number {
            fields.push(unsure(
                "each",
                "\"lines\"".to_owned(),
                format!(
                    "each line with a {number} is a product; for one product of all lines of a {}, \
                     make that the external_id, and remove each, where_item and the ^. of paths",
                    gathered.key
                ),
            ));
            let condition = format!("{{ {} = {{ known = true }} }}", key_of(number));
            fields.push(sure("where_item", condition));
        }
        let id = number.as_deref().unwrap_or(&gathered.key);
        fields.push(sure("external_id", quoted(id)));
        let options = self.options();
        let name = self.find(&NAMES, |facts| facts.texts > 0);
        fields.push(named(
            &whole(name.as_deref().unwrap_or("name")),
            each,
            &options,
        ));
        fields.push(kind());
        fields.push(match self.find(&CATEGORIES, |facts| facts.texts > 0) {
            Some(path) => sure("category", quoted(&whole(&path))),
            None => self.category(),
        });
        if let Some(path) = self.find(&DESCRIPTIONS, |facts| facts.length() > 20) {
            let html = self.facts(&path).is_some_and(Facts::have_html);
            fields.push(description(&whole(&path), html));
        }
        if let Some(path) = self.find(&BRANDS, |facts| facts.texts > 0) {
            fields.push(sure("brand", quoted(&whole(&path))));
        }
        if let Some(path) = self.find_similar(&PRICES, |facts| facts.numbers * 2 > facts.known) {
            let path = quoted(&whole(&path));
            fields.push(self.price_with(&path, ""));
        }
        let mut tables: Vec<GuessedTable> = self.pictures(each).into_iter().collect();
        tables.extend(self.specs_of_variants(&gathered, number.as_deref(), &options));
        Guesses {
            fields,
            tables,
            gathered: Some(gathered),
            ..Guesses::default()
        }
    }

    /// The columns with the values of options, `Option1 Value`, and those with their names.
    fn options(&mut self) -> Vec<(String, Option<String>)> {
        let numbered = |path: &str, end: &str| {
            let word = last_word(path);
            let rest = word
                .strip_prefix("option")
                .and_then(|rest| rest.strip_suffix(end));
            rest.map(|number| number.trim_matches('_').to_owned())
        };
        let paths: Vec<&str> = self
            .paths
            .all()
            .filter(|(_, facts)| facts.known > 0)
            .map(|(path, _)| path)
            .collect();
        let values = paths
            .iter()
            .filter_map(|path| Some((*path, numbered(path, "value")?)));
        let options: Vec<(String, Option<String>)> = values
            .map(|(value, number)| {
                let name = paths
                    .iter()
                    .find(|path| numbered(path, "name").as_ref() == Some(&number));
                (value.to_owned(), name.map(|name| (*name).to_owned()))
            })
            .collect();
        for (value, name) in &options {
            self.taken.push(value.clone());
            self.taken.extend(name.clone());
        }
        options
    }

    fn pictures(&mut self, each: bool) -> Option<GuessedTable> {
        let addresses = |facts: &Facts| facts.addresses * 2 > facts.known;
        let url = self.find_similar(&IMAGES, addresses).or_else(|| {
            let mut paths = self.paths.all();
            paths
                .find(|(_, facts)| facts.known > 0 && addresses(facts))
                .map(|(path, _)| path.to_owned())
        })?;
        self.taken.push(url.clone());
        let alt = self.find(&["image_alt_text", "image_alt", "alt_text", "alt"], |_| {
            true
        });
        let lines = if each { "^.lines" } else { "lines" };
        let mut settings = vec![
            sure("each", quoted(lines)),
            sure(
                "url",
                format!("{{ from = {}, on_bad = \"drop_value\" }}", quoted(&url)),
            ),
        ];
        settings.extend(alt.map(|alt| sure("alt", quoted(&alt))));
        Some(GuessedTable {
            setting: "[[product.media]]".to_owned(),
            lines: settings,
        })
    }

    /// The specs of a line, and those of its product as second readings of its number.
    fn specs_of_variants(
        &self,
        gathered: &Gathered,
        number: Option<&str>,
        options: &[(String, Option<String>)],
    ) -> Vec<GuessedTable> {
        let is_whole = |path: &str| gathered.first.iter().any(|first| first == path);
        let left: Vec<&str> = self
            .paths
            .all()
            .filter(|(path, facts)| {
                let taken = self.taken.iter().any(|taken| taken == path);
                let of_picture = last_word(path).starts_with("image");
                let unlike = facts.addresses > 0 || facts.length() > MAX_SPEC_CHARACTERS;
                facts.known > 0 && !taken && !of_picture && !unlike
            })
            .map(|(path, _)| path)
            .collect();
        let own = left
            .iter()
            .filter(|path| number.is_none() || !is_whole(path));
        let own: Vec<String> = own.map(|path| quoted(path)).collect();
        let mut lines = vec![sure("on_bad", "\"drop_value\"".to_owned())];
        lines.push(if own.is_empty() {
            sure("auto", "false".to_owned())
        } else {
            let remark = "units, and columns that are none, are yours to say";
            unsure("include", format!("[{}]", own.join(", ")), remark)
        });
        let mut tables = vec![GuessedTable {
            setting: "[product.specs]".to_owned(),
            lines,
        }];
        let plain = |_: &Self, path: &str, _: &Facts| {
            left.contains(&path) && !(number.is_some() && is_whole(path))
        };
        tables.extend(self.numbers_in_text(plain));
        for (value, name) in options {
            tables.extend(self.option(value, name.as_deref(), number.is_some()));
        }
        if let Some(number) = number {
            let whole = left.iter().filter(|path| is_whole(path));
            tables.extend(whole.filter_map(|path| spec_of_product(path, number)));
        }
        tables
    }

    /// The rules for the values of an option: one for each name that it has.
    fn option(&self, value: &str, name: Option<&str>, each: bool) -> Vec<GuessedTable> {
        let names = name.and_then(|name| self.facts(name));
        let names = names
            .map(|facts| &facts.values)
            .filter(|names| names.len() <= MAX_OPTIONS);
        let (Some(name), Some(names)) = (name, names) else {
            return vec![rule(vec![sure("path", quoted(value))])];
        };
        let prefix = if each { "^." } else { "" };
        let rules = names
            .iter()
            .filter(|word| word.as_str() != "Title")
            .map(|word| {
                let condition = format!(
                    "{{ {} = {} }}",
                    key_of(&format!("{prefix}{name}")),
                    quoted(word)
                );
                let mut lines = vec![sure("path", quoted(value)), sure("where", condition)];
                lines.extend(spec_key(word).map(|key| sure("key", quoted(&key))));
                rule(lines)
            });
        rules.collect()
    }
}

/// A spec of the whole product, as a second reading of the number of a variant.
fn spec_of_product(path: &str, number: &str) -> Option<GuessedTable> {
    let mut lines = vec![
        sure("path", quoted(number)),
        sure("also", "true".to_owned()),
        sure("key", quoted(&spec_key(path)?)),
        sure("template", quoted(&placeholder(&format!("^.{path}"))?)),
    ];
    if last_word(path).ends_with("tags") {
        lines.push(sure("cut_at", "\",\"".to_owned()));
    }
    Some(rule(lines))
}

/// The spec key that some words make, if they make one.
fn spec_key(words: &str) -> Option<String> {
    let folded = vitrine_model::text::fold(&last_word(words));
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let key = words.join("_");
    check_key(&key).is_ok().then_some(key)
}

/// A path as a placeholder of a template, unless it has signs that mean something there.
fn placeholder(path: &str) -> Option<String> {
    let plain = !path.contains(['{', '}', '[', ']', ':', '"']);
    plain.then(|| format!("{{{path}}}"))
}

/// A path as a key of TOML.
fn key_of(path: &str) -> String {
    serde_json::Value::from(path).to_string()
}

/// The name of a product, or of its variants.
fn named(path: &str, each: bool, options: &[(String, Option<String>)]) -> Guess {
    let placeholders = options.iter().filter_map(|(value, _)| placeholder(value));
    let options: Vec<String> = placeholders.map(|value| format!("[ {value}]")).collect();
    match placeholder(path) {
        Some(path) if each && !options.is_empty() => {
            let template = quoted(&(path + &options.concat()));
            sure("name", format!("{{ template = {template} }}"))
        }
        _ => sure("name", quoted(path)),
    }
}

fn rule(lines: Vec<Guess>) -> GuessedTable {
    GuessedTable {
        setting: "[[product.specs.rules]]".to_owned(),
        lines,
    }
}
