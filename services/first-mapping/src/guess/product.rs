//! Guesses about products.

use vitrine_formats::ROW_KEY;
use vitrine_model::product::Kind;

use super::finder::{has_first, is_secret};
use super::texts::{field, key_of, one_or_list, quoted, sure, unsure};
use super::{Finder, Guess, GuessedTable, Guesses};
use crate::dates::Dates;
use crate::meanings::rank;
use crate::paths::Facts;

/// What a list of prices is for.
const PRICES: &str = "no path may be a name; without name, kind and category the rows are for products that \
                      another feed describes, found by their sku";

impl Finder<'_> {
    pub(super) fn product(&mut self) -> Guesses {
        let gathered = self.lines.gathered();
        let mut fields = match gathered {
            Some(gathered) => self.variants(gathered),
            None => vec![self.id("id")],
        };
        let id = self.taken.last().cloned();
        let mut before = self.parents(&mut fields);
        let reviews = self.review_in_list(id.as_deref());
        let (lists, pairs) = self.pairs_of_columns();
        before.extend(lists);
        let price = self.price();
        let isbn = self.look_for("isbn", |facts| !facts.listed);
        if price.is_some() && self.is_without_names() {
            self.remarks.push(PRICES.to_owned());
        } else {
            fields.push(self.name(id.as_deref()));
            fields.push(kind(isbn.is_some()));
            fields.push(self.category());
        }
        fields.extend(self.description());
        fields.extend(self.brand());
        fields.extend(self.sku());
        fields.extend(self.status());
        fields.extend(price);
        let mut tables = self.pictures();
        if tables.is_empty() {
            let remark = self.names_of_pictures();
            self.remarks.extend(remark);
        }
        tables.extend(isbn.and_then(|isbn| self.book(isbn)));
        tables.extend(self.specs(pairs));
        tables.extend(reviews);
        Guesses {
            before,
            fields,
            tables,
            gathered: self.variants.take().map(|variants| variants.gathered),
            remarks: std::mem::take(&mut self.remarks),
            ..Guesses::default()
        }
    }

    /// Whether the rows have numbers of goods but no text that may be a name, as lists of prices.
    fn is_without_names(&self) -> bool {
        let number = |facts: &Facts| !facts.listed && facts.are_different();
        let has_number =
            self.look_for("gtin", number).is_some() || self.look_for("sku", number).is_some();
        let may_be_name = |(path, facts): (&str, &Facts)| {
            let is_text = facts.texts * 2 > facts.known && facts.addresses == 0;
            let is_plain = facts.signs().is_none() && !facts.all().all(is_article_number);
            let is_short = facts.values.len() < 3 && facts.known > 3;
            let is_code = facts.all().all(|text| text.len() <= 3) || is_short;
            facts.known > 0 && is_text && is_plain && !is_code && !self.is_taken(path)
        };
        has_number && !self.paths.all().any(may_be_name)
    }

    /// The details of a book.
    fn book(&mut self, isbn: String) -> Option<GuessedTable> {
        let mut lines = Vec::new();
        if !self.is_taken(&isbn) {
            lines.push(sure("isbn", self.at(&isbn)));
            self.taken.push(isbn);
        }
        if let Some(path) = self.find("authors", |facts| facts.texts > 0) {
            let several = self
                .facts(&path)
                .is_some_and(|facts| facts.all().any(|text| text.contains(',')));
            let cut = if several { ", cut_at = \",\"" } else { "" };
            let each = quoted(super::texts::plain(&path));
            let fields = "{ name = \".\", role = { value = \"author\" } }";
            let value = format!("{{ each = {each}{cut}, fields = {fields} }}");
            lines.push(sure("contributors", value));
        }
        (!lines.is_empty()).then(|| GuessedTable {
            setting: "[product.details]".to_owned(),
            lines,
        })
    }

    /// The id of the rows: by its name, otherwise a path, or several, with other values in each row.
    pub(super) fn id(&mut self, meaning: &str) -> Guess {
        let rows = self.paths.rows();
        let fits = |facts: &Facts| facts.known == rows && facts.are_different() && !facts.listed;
        if let Some(key) = self.key_of_rows() {
            return key;
        }
        let own = |facts: &Facts| fits(facts) && of_id(&facts.heading.words);
        let first = self.paths.all().next().filter(|(_, facts)| own(facts));
        let others = || {
            let mut own = self.paths.all().filter(|(path, facts)| {
                own(facts) && !is_secret(path, facts) && !path.contains('.')
            });
            own.next().map(|(path, _)| path.to_owned())
        };
        let named = self
            .look_for(meaning, fits)
            .or_else(|| first.map(|(path, _)| path.to_owned()));
        let nested = || {
            let is_own = |words: &str| {
                words.ends_with("_id")
                    && !["brand", "category"]
                        .iter()
                        .any(|other| words.starts_with(other))
            };
            let mut ids = self
                .paths
                .all()
                .filter(|(_, facts)| fits(facts) && is_own(&facts.heading.words));
            ids.next().map(|(path, _)| path.to_owned())
        };
        // Numbers of all goods are worse than the feed's own.
        let goods = || {
            self.look_for("gtin", fits)
                .or_else(|| self.look_for("isbn", fits))
        };
        if let Some(path) = named.or_else(others).or_else(goods).or_else(nested) {
            self.taken.push(path.clone());
            return sure("external_id", quoted(&path));
        }
        let short = |facts: &Facts| fits(facts) && facts.length() <= 64 && !facts.personal;
        let mut all = self
            .paths
            .all()
            .filter(|(_, facts)| short(facts) && facts.addresses == 0);
        let any = all.next();
        if let Some((path, _)) = any {
            let path = path.to_owned();
            let remark = format!("no path has the name of an id; {path} is different in every row");
            let named = self.ranked("name", fits);
            if !named.contains(&path) {
                self.taken.push(path.clone());
            }
            return unsure("external_id", quoted(&path), remark);
        }
        self.digest()
    }

    /// The keys of rows that are the values of an object, as their id.
    pub(super) fn key_of_rows(&mut self) -> Option<Guess> {
        let facts = self.facts(ROW_KEY)?;
        let is_id = facts.known == self.paths.rows() && facts.are_different();
        if !is_id || are_positions(facts) {
            return None;
        }
        self.taken.push(ROW_KEY.to_owned());
        Some(sure("external_id", quoted(ROW_KEY)))
    }

    /// An id of two columns that have other values together in each row; otherwise the number of the
    /// line.
    fn digest(&self) -> Guess {
        let rows = self.paths.rows();
        let plain =
            |facts: &Facts| !facts.listed && facts.known * 10 >= rows * 9 && !facts.personal;
        if let Some(name) = self.look_for("name", plain) {
            let others = self
                .paths
                .all()
                .filter(|(path, facts)| *path != name && plain(facts));
            let mut pairs = others.map(|(path, _)| [name.as_str(), path]);
            if let Some(pair) = pairs.find(|pair| self.lines.are_unique(pair)) {
                let remark = "no path is different in every row, but these are together; the id \
                              changes when one of them does";
                return unsure(
                    "external_id",
                    format!("{{ digest = {} }}", super::texts::list(&pair)),
                    remark,
                );
            }
        }
        let remark = "no path is different in every row; the number of the line is another one when \
                      lines are added before it";
        unsure("external_id", "\"^line\"".to_owned(), remark)
    }

    /// The path that means this best and has one value; otherwise a list, of which the first is
    /// taken.
    fn single(&self, meaning: &str, fits: impl Fn(&Facts) -> bool) -> Option<String> {
        let all = self.ranked(meaning, fits).into_iter();
        let (alone, listed): (Vec<String>, Vec<String>) =
            all.partition(|path| !path.contains("[]"));
        let mut both = alone.into_iter().chain(listed);
        both.find(|path| has_first(path))
    }

    fn name(&mut self, id: Option<&str>) -> Guess {
        let text = |facts: &Facts| facts.texts * 2 > facts.known && facts.addresses == 0;
        let found = self.single("name", text);
        if let Some(path) = found {
            self.taken.push(path.clone());
            return self.named(&path);
        }
        let like_name = |facts: &Facts| {
            !facts.listed
                && text(facts)
                && (4..=120).contains(&facts.length())
                && facts.known * 2 > self.paths.rows()
        };
        let others = self.paths.all().filter(|(path, facts)| {
            like_name(facts)
                && facts.signs().is_none()
                && !self.is_taken(path)
                && !is_secret(path, facts)
        });
        let longest = others.max_by_key(|(_, facts)| {
            let words = &facts.heading.words;
            let is_named = words.ends_with("_name") || rank("description", words).is_some();
            let spaced = facts.all().filter(|text| text.contains(' ')).count();
            let known = self.values(facts).count() == facts.values.len()
                && facts.known == self.paths.rows();
            (known, is_named, spaced, facts.values.len())
        });
        let path = longest.map(|(path, _)| path.to_owned());
        let remark = "no path has the name of a name; this is a guess";
        if let Some(path) = &path {
            self.taken.push(path.clone());
        }
        let path = path.or_else(|| id.map(str::to_owned));
        let value = path.map_or("\"^line\"".to_owned(), |path| self.at(&path));
        unsure("name", value, remark)
    }

    /// The name at a path, with the variant's where several rows have the same one.
    fn named(&mut self, path: &str) -> Guess {
        let options = self.options_of_variants();
        let repeats = self.facts(path).is_some_and(|facts| !facts.are_different());
        let own = if self.variants.is_none() && repeats {
            self.find("variant_title", |facts| !facts.listed)
        } else {
            None
        };
        let more: Vec<String> = options.into_iter().chain(own).collect();
        let placeholders: Vec<String> = more
            .iter()
            .filter_map(|path| super::texts::placeholder(path))
            .map(|value| format!("[ {value}]"))
            .collect();
        let whole = super::texts::placeholder(&self.bare(path));
        match whole.filter(|_| !placeholders.is_empty()) {
            Some(whole) => {
                let template = quoted(&(whole + &placeholders.concat()));
                sure("name", format!("{{ template = {template} }}"))
            }
            None => sure("name", self.at(path)),
        }
    }

    fn description(&mut self) -> Option<Guess> {
        let text = |facts: &Facts| {
            facts.length() > 0
                && facts.signs().is_none()
                && !facts.are_addresses()
                && facts.texts > 0
                && Dates::of(facts.all()).is_none()
        };
        let mut found: Vec<String> = Vec::new();
        for meaning in ["description", "short_description"] {
            let best = self.single(meaning, text);
            self.taken.extend(best.clone());
            found.extend(best);
        }
        if found.is_empty() {
            return None;
        }
        let facts: Vec<&Facts> = found.iter().filter_map(|path| self.facts(path)).collect();
        let mut settings = Vec::new();
        if facts.iter().any(|facts| facts.have_html()) {
            settings.push("html = \"page\"".to_owned());
        }
        let breaks = |facts: &&Facts| facts.all().any(|text| text.contains("\\n"));
        if facts.iter().any(breaks) {
            settings.push("replace = { '\\n' = \"\\n\" }".to_owned());
        }
        let paths: Vec<String> = found.iter().map(|path| self.bare(path)).collect();
        let value = field(&one_or_list(&paths), &settings);
        let value = self.with_parent("description", &paths, value);
        Some(sure("description", value))
    }

    fn brand(&mut self) -> Option<Guess> {
        let text = |facts: &Facts| {
            facts.texts > 0
                && !facts.are_addresses()
                && !facts.are_numbers()
                && facts.length() <= 60
        };
        let one = |path: &String| path.matches("[]").count() <= 1;
        let path = self.ranked("brand", text).into_iter().find(one)?;
        self.taken.push(path.clone());
        let value = self.with_parent("brand", &[self.bare(&path)], self.at(&path));
        Some(sure("brand", value))
    }

    fn sku(&mut self) -> Option<Guess> {
        let different = |facts: &Facts| facts.are_different() && !facts.listed;
        let path = self.find("sku", different).or_else(|| {
            let numbers = |facts: &Facts| different(facts) && facts.all().all(is_article_number);
            let path = self.ranked("gtin", |facts| facts.all().all(is_article_number));
            let path = path.into_iter().find(|path| {
                self.facts(path).is_some_and(|facts| {
                    numbers(facts) || (facts.are_different() && has_first(path))
                })
            })?;
            self.taken.push(path.clone());
            Some(path)
        })?;
        let facts = self.facts(&path)?;
        let quote = facts.all().any(|text| text.starts_with('\''));
        let settings: Vec<String> = quote
            .then(|| "replace = { \"'\" = \"\" }".to_owned())
            .into_iter()
            .collect();
        let remark = "products of other feeds with the same number become one product";
        if lacks_zeros(facts) {
            // The last of 14 digits: spreadsheets drop zeros, and feeds write them or not.
            let bare = self.bare(&path);
            let digits =
                super::texts::placeholder(&bare).map(|number| format!("00000000000000{number}"));
            let part = digits.map(|digits| format!("{{ template = {} }}", quoted(&digits)));
            if let Some(part) = part.filter(|_| !quote) {
                let value =
                    format!("{{ template = \"{{number:-14}}\", parts = {{ number = {part} }} }}");
                return Some(unsure(
                    "sku",
                    value,
                    format!("{remark}; all have 14 digits here, with zeros before them"),
                ));
            }
        }
        Some(unsure("sku", field(&self.at(&path), &settings), remark))
    }
}

/// Returns true if the keys of rows only count them, as a program does that writes lists as objects.
fn are_positions(facts: &Facts) -> bool {
    let numbers: Option<Vec<usize>> = facts.all().map(|key| key.parse().ok()).collect();
    numbers.is_some_and(|mut numbers| {
        numbers.sort_unstable();
        let first = numbers.first().copied().unwrap_or_default();
        first <= 1 && numbers.iter().zip(first..).all(|(key, at)| *key == at)
    })
}

/// Returns true for a heading that ends as those of ids do.
fn of_id(words: &str) -> bool {
    let ends = ["_id", "_nr", "_no", "_number", "_code", "nummer", "_sku"];
    ends.iter().any(|end| words.ends_with(end))
}

/// Returns true if some numbers of goods have lost their zeros, or have other ones than others.
fn lacks_zeros(facts: &Facts) -> bool {
    let first = facts.all().next().map_or(0, str::len);
    let same = facts.all().all(|number| number.len() == first);
    let numbers = facts.all().all(is_article_number);
    numbers && facts.known > 0 && (facts.texts < facts.known || !same)
}

/// Returns true for a number that goods have worldwide, perhaps with an apostrophe before it.
fn is_article_number(text: &str) -> bool {
    let digits = text.trim_start_matches('\'');
    (6..=14).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn kind(is_book: bool) -> Guess {
    if is_book {
        let remark = "a book, because the rows have an ISBN";
        return unsure("kind", "{ value = \"book\" }".to_owned(), remark);
    }
    // Bundles consist of products, which a mapping cannot name.
    let typed = Kind::TYPED.iter().filter(|kind| **kind != Kind::Bundle);
    let typed: Vec<&str> = typed.map(|kind| kind.name()).collect();
    let remark = format!(
        "\"product\"; a word of your own, or one of {}",
        typed.join(", ")
    );
    unsure("kind", "{ value = \"product\" }".to_owned(), remark)
}

/// A condition that a path has a value.
pub(super) fn known(path: &str) -> String {
    format!("{{ {} = {{ known = true }} }}", key_of(path))
}
