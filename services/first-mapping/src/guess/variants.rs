//! Guesses about tables with several lines for a product, and about variants that name their parent.

use super::product::known;
use super::texts::{key_of, list, placeholder, quoted, sure, unsure};
use super::{Finder, Guess, GuessedTable, Variants};
use crate::gathered::Gathered;
use crate::paths::Facts;

/// What the types of products with variations are called.
const PARENTS: [&str; 4] = ["variable", "configurable", "parent", "master"];
/// The maximum number of words by which parents are told apart.
const MAX_TYPES: usize = 12;

impl Finder<'_> {
    /// The first settings of a table with several lines for a product.
    pub(super) fn variants(&mut self, gathered: Gathered) -> Vec<Guess> {
        let (key, groups) = (gathered.key.clone(), gathered.groups);
        self.taken.push(key.clone());
        let own = |path: &String| !gathered.first.contains(path) && *path != key;
        let prices = self.ranked("price", |facts| facts.known > groups);
        let price = prices.into_iter().find(own);
        // A line that has a price and no number is a variant, too.
        let sold = price.as_deref().and_then(|path| self.facts(path));
        let lines = sold.map_or(groups, |facts| facts.known);
        let different = |facts: &Facts| facts.are_different() && facts.known >= lines;
        let mut numbers = self.ranked("sku", different);
        numbers.extend(self.ranked("gtin", different));
        let number = numbers.into_iter().find(own);
        let options = self.option_values();
        let each = number.is_some() || (price.is_some() && !options.is_empty());
        self.variants = Some(Variants { gathered, each });
        let mut fields = Vec::new();
        let Some(line) = number.clone().or(price).filter(|_| each) else {
            return vec![sure("external_id", quoted(&key))];
        };
        let remark = format!(
            "each line with a {line} is a product; for one product of all lines of a {key}, make that \
             the external_id, and remove each, where_item and the ^. of paths"
        );
        fields.push(unsure("each", "\"lines\"".to_owned(), remark));
        fields.push(sure("where_item", known(&line)));
        fields.push(match number {
            Some(number) => {
                self.taken.push(number.clone());
                sure("external_id", quoted(&number))
            }
            None => sure("external_id", id_of_options(&key, &options)),
        });
        fields
    }

    /// The options that the names of variants have.
    pub(super) fn options_of_variants(&self) -> Vec<String> {
        match &self.variants {
            Some(variants) if variants.each => self.option_values(),
            _ => Vec::new(),
        }
    }

    /// The columns with the values of options.
    fn option_values(&self) -> Vec<String> {
        let groups = self.column_groups().into_iter();
        let options = groups.filter(|group| group.stem == "option");
        options.map(|group| group.value).collect()
    }

    /// Joins variations to the product that they name as their parent, in the same file.
    pub(super) fn parents(&mut self, fields: &mut Vec<Guess>) -> Vec<GuessedTable> {
        let some = |facts: &Facts| facts.known < self.paths.rows() && !facts.listed;
        let Some(parent) = self.look_for("parent", some) else {
            return Vec::new();
        };
        let Some(facts) = self.facts(&parent) else {
            return Vec::new();
        };
        let keys = self
            .paths
            .all()
            .filter(|(path, facts)| *path != parent && facts.are_different());
        let has = |facts: &Facts, text: &str| facts.values.contains(text);
        let by_name = keys
            .clone()
            .find(|(_, key)| facts.all().any(|text| has(key, text)));
        let by_id = keys.clone().find(|(_, key)| {
            let mut ids = facts.all().filter_map(|text| text.strip_prefix("id:"));
            ids.any(|id| has(key, id))
        });
        let mut tables = Vec::new();
        if let Some((key, _)) = by_name {
            tables.push(join("parent", key, quoted(&parent)));
            self.parents.push("parent");
        }
        if let Some((key, _)) = by_id {
            let from = format!(
                "{{ from = {}, cut_at = \"|\", split = \"id:{{.}}\" }}",
                quoted(&parent)
            );
            tables.push(join("parent_by_id", key, from));
            self.parents.push("parent_by_id");
        }
        if !tables.is_empty() {
            self.taken.push(parent.clone());
            fields.splice(0..0, self.without_parents(&parent));
        }
        tables
    }

    /// A condition that leaves out the products that others name as their parent.
    fn without_parents(&self, parent: &str) -> Option<Guess> {
        let types = self
            .paths
            .all()
            .filter(|(_, facts)| (2..=MAX_TYPES).contains(&facts.values.len()));
        let names = types.filter(|(_, facts)| facts.heading.words.ends_with("type"));
        for (path, facts) in names {
            let is_parent = |word: &&str| {
                let named = PARENTS
                    .iter()
                    .any(|parent| word.to_lowercase().contains(parent));
                named && self.lines.lack(path, word, parent)
            };
            let words: Vec<&str> = facts.all().filter(is_parent).collect();
            if !words.is_empty() {
                let value = format!("{{ {} = {{ not = {} }} }}", key_of(path), list(&words));
                let remark = "the products that the variations are of are left out: a variation has their fields";
                return Some(unsure("where", value, remark));
            }
        }
        None
    }

    /// A field of a row, otherwise that of its parent.
    pub(super) fn with_parent(&self, setting: &str, paths: &[String], value: String) -> String {
        if self.parents.is_empty() {
            return value;
        }
        let mut all = vec![value];
        for parent in &self.parents {
            let of_parent = |value: String, path: &String| {
                value.replace(&quoted(path), &quoted(&format!("{parent}.{path}")))
            };
            let own = all[0].clone();
            all.push(paths.iter().fold(own, of_parent));
        }
        if let Some(last) = all.last_mut().filter(|_| setting == "category") {
            *last = super::category::with_default(last);
        }
        format!("[{}]", all.join(", "))
    }
}

/// A join of the feed with itself.
fn join(name: &str, key: &str, from: String) -> GuessedTable {
    GuessedTable {
        setting: format!("[join.{name}]"),
        lines: vec![
            sure("feed", "true".to_owned()),
            sure("key", quoted(key)),
            sure("from", from),
        ],
    }
}

/// The id of a variant that has no number: the key of its product with its options.
fn id_of_options(key: &str, options: &[String]) -> String {
    let options = options.iter().filter_map(|option| placeholder(option));
    let options: Vec<String> = options.map(|option| format!("[-{option}]")).collect();
    let key = placeholder(key).unwrap_or_default();
    format!("{{ template = {} }}", quoted(&(key + &options.concat())))
}
