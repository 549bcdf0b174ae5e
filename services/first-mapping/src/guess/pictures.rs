//! Guesses about pictures.

use super::texts::{plain, quoted, sure};
use super::{Finder, GuessedTable};
use crate::meanings;
use crate::paths::Facts;
use crate::values::{is_picture, separator_of_addresses};

/// The maximum number of numbered columns with a picture each.
const MAX_NUMBERED: usize = 12;

impl Finder<'_> {
    /// The pictures: the main one, the further ones, and those of numbered columns.
    pub(super) fn pictures(&mut self) -> Vec<GuessedTable> {
        let addresses = |facts: &Facts| facts.are_addresses();
        let Some(first) = self.find("image", addresses).or_else(|| self.any_picture()) else {
            return Vec::new();
        };
        let words = self
            .facts(&first)
            .map(|facts| facts.heading.words.clone())
            .unwrap_or_default();
        let mut paths = vec![first.clone()];
        paths.extend(self.find("more_images", addresses));
        paths.extend(self.numbered(&words));
        let alt = self.alt_of(&first);
        let tables: Vec<GuessedTable> = paths
            .iter()
            .map(|path| self.media(path, alt.as_deref(), "product"))
            .collect();
        self.taken.extend(paths);
        self.take_other_pictures();
        tables
    }

    /// A table for the pictures at a path.
    pub(super) fn media(&mut self, path: &str, alt: Option<&str>, of: &str) -> GuessedTable {
        let mut lines = Vec::new();
        let mut own = alt.map(str::to_owned);
        let url = match path.rsplit_once("[]") {
            Some((list, inside)) => {
                lines.push(sure("each", quoted(list)));
                let listed = format!("{list}[]");
                own = self.inside(&listed, "alt");
                self.taken.push(listed);
                inside.strip_prefix('.').unwrap_or(".").to_owned()
            }
            None => self.picture_of_line(path, &mut lines),
        };
        let bad = "on_bad = \"drop_value\"";
        lines.push(sure("url", format!("{{ from = {}, {bad} }}", quoted(&url))));
        let cut = self
            .facts(path)
            .and_then(|facts| facts.all().find_map(separator_of_addresses));
        lines.extend(cut.map(|sign| sure("cut_at", quoted(sign))));
        lines.extend(own.map(|alt| sure("alt", quoted(&alt))));
        GuessedTable {
            setting: format!("[[{of}.media]]"),
            lines,
        }
    }

    /// The path of a picture in a row; the other lines of a product have further ones.
    fn picture_of_line(&self, path: &str, lines: &mut Vec<super::Guess>) -> String {
        let Some(variants) = &self.variants else {
            return path.to_owned();
        };
        let each = if variants.each { "^.lines" } else { "lines" };
        lines.push(sure("each", quoted(each)));
        path.to_owned()
    }

    fn alt_of(&mut self, path: &str) -> Option<String> {
        if path.contains("[]") {
            return None;
        }
        self.find("alt", |facts| facts.texts > 0 && !facts.listed)
    }

    /// The first path with addresses of pictures, whatever its heading.
    fn any_picture(&mut self) -> Option<String> {
        let mut paths = self.paths.all().filter(|(path, facts)| {
            facts.are_addresses() && facts.all().any(is_picture) && !self.is_taken(path)
        });
        let path = paths.next()?.0.to_owned();
        self.taken.push(path.clone());
        Some(path)
    }

    /// Columns that are called as the first picture is, with a number of their own.
    fn numbered(&self, words: &str) -> Vec<String> {
        let digits = |text: &str| text.chars().any(|c| c.is_ascii_digit());
        let stem = |text: &str| -> String { text.chars().filter(|c| c.is_alphabetic()).collect() };
        let like = self.paths.all().filter(|(path, facts)| {
            let is = digits(&facts.heading.words) && stem(&facts.heading.words) == stem(words);
            is && (facts.known == 0 || facts.are_addresses())
                && !facts.listed
                && !self.is_taken(path)
        });
        like.map(|(path, _)| path.to_owned())
            .take(MAX_NUMBERED)
            .collect()
    }

    /// Other sizes of the pictures are no specs.
    fn take_other_pictures(&mut self) {
        let others = self.paths.all().filter(|(_, facts)| {
            facts.known > 0
                && facts.are_addresses()
                && meanings::rank("image", &facts.heading.words).is_some()
        });
        let others: Vec<String> = others.map(|(path, _)| path.to_owned()).collect();
        self.taken.extend(others);
    }

    /// What is to be done about pictures of which the feed has names of files only.
    pub(super) fn names_of_pictures(&mut self) -> Option<String> {
        let mut paths = self.paths.all().filter(|(path, _)| !self.is_taken(path));
        let (path, _) = paths.find(|(_, facts)| facts.all().any(is_picture))?;
        let path = path.to_owned();
        let list = path.rsplit_once("[].").map(|(list, _)| format!("{list}[]"));
        let inside = path
            .rsplit_once("[].")
            .map_or(plain(&path), |(_, inside)| inside);
        let remark = format!(
            "{path} has names of pictures without their address; in [[product.media]] a template such as \
             url = {{ template = \"https://YOUR.HOST/{{{inside}}}\" }} makes addresses of them"
        );
        self.taken.push(list.unwrap_or(path));
        Some(remark)
    }
}
