//! Patterns that split composite text: `{depth} mm x {width} mm` reads `385 mm x 275 mm`.
//!
//! Case is ignored. A blank in the pattern, and the ends of any literal, match any white space or
//! none. A placeholder matches the shortest text that lets the rest match, and is never empty;
//! `{_}` discards the text it matches, which may be empty. `{.}` is the value of the field or rule.
//! `{depth:cm}` says the unit of a spec.

use std::collections::HashSet;

use super::number::shortened;

/// A pattern with literals and placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Named(Placeholder),
}

/// A placeholder of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) name: String,
    /// The unit of its value.
    pub(crate) unit: Option<String>,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a { is not closed")?;
            push_literal(&mut parts, literal);
            if matches!(parts.last(), Some(Part::Named(_))) {
                return Err(format!(
                    "there must be text between {{{name}}} and the placeholder before it"
                ));
            }
            let (name, unit) = match name.split_once(':') {
                Some((name, unit)) => (name, Some(unit.trim().to_owned())),
                None => (name, None),
            };
            let name = name.trim().to_owned();
            parts.push(Part::Named(Placeholder { name, unit }));
            rest = after;
        }
        push_literal(&mut parts, rest);
        let pattern = Self { parts };
        let named = |part: &Part| matches!(part, Part::Named(_));
        if !pattern.parts.iter().any(named) {
            return Err(format!("{text:?} has no {{placeholder}}"));
        }
        Ok(pattern)
    }

    /// Returns this pattern with the units of its placeholders as they are returned for these.
    ///
    /// # Errors
    /// What is wrong with a unit.
    pub(crate) fn with_units(
        mut self,
        unit: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        for part in &mut self.parts {
            match part {
                Part::Named(Placeholder {
                    name,
                    unit: Some(_),
                }) if name == "_" => {
                    return Err("{_} is thrown away and has no unit".to_owned());
                }
                Part::Named(Placeholder {
                    unit: Some(spelling),
                    ..
                }) => *spelling = unit(spelling)?,
                _ => {}
            }
        }
        Ok(self)
    }

    /// The placeholders whose texts are kept.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Named(placeholder) if placeholder.name != "_" => Some(placeholder),
            _ => None,
        })
    }

    /// The names of these.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.placeholders()
            .map(|placeholder| placeholder.name.as_str())
    }

    /// The words between the placeholders.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| match part {
            Part::Literal(literal) => literal.split_whitespace(),
            Part::Named(_) => "".split_whitespace(),
        })
    }

    /// The parts of a text that matches the pattern, in the order of the names; `None` if it does not.
    ///
    /// # Errors
    /// If the text could match in too many ways.
    pub(crate) fn split<'t>(&self, text: &'t str) -> Result<Option<Vec<&'t str>>, TooLong> {
        let mut split = Split::default();
        let matches = split.parts(&self.parts, text.trim());
        if split.tried > MAX_TRIED {
            return Err(TooLong);
        }
        Ok(matches.then_some(split.matched))
    }
}

/// A text that could match a pattern in too many ways.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The maximum number of parts of a text that are tried for the placeholders of a pattern.
const MAX_TRIED: usize = 2_000_000;

/// Finds the first of the patterns that a text matches, and its parts.
///
/// # Errors
/// If there is none.
pub(crate) fn matching<'p, 't>(
    patterns: &'p [Pattern],
    text: &'t str,
) -> Result<(&'p Pattern, Vec<&'t str>), String> {
    for pattern in patterns {
        match pattern.split(text) {
            Ok(Some(parts)) => return Ok((pattern, parts)),
            Ok(None) => {}
            Err(TooLong) => {
                return Err(format!(
                    "{:?} is too long for the pattern of the mapping: its {} bytes could match in too many ways",
                    shortened(text),
                    text.len()
                ));
            }
        }
    }
    Err(format!(
        "{:?} does not match the pattern of the mapping",
        shortened(text)
    ))
}

fn push_literal(parts: &mut Vec<Part>, literal: &str) {
    let words: Vec<&str> = literal.split_whitespace().collect();
    if !words.is_empty() {
        parts.push(Part::Literal(words.join(" ")));
    } else if !literal.is_empty() && !parts.is_empty() {
        parts.push(Part::Literal(" ".to_owned()));
    }
}

/// The splitting of a text by a pattern.
#[derive(Default)]
struct Split<'t> {
    /// The parts of the text that placeholders have matched so far.
    matched: Vec<&'t str>,
    /// How many parts of the pattern and bytes of the text were left where no placeholder led to a
    /// match. What is left decides, so that none of these is tried again.
    failed: HashSet<(usize, usize)>,
    /// How many parts of the text have been tried for placeholders.
    tried: usize,
}

impl<'t> Split<'t> {
    /// Returns true if these parts of the pattern match the rest of the text.
    fn parts(&mut self, parts: &[Part], text: &'t str) -> bool {
        match parts {
            [] => text.is_empty(),
            [Part::Literal(literal), rest @ ..] => {
                after_literal(literal, text).is_some_and(|text| self.parts(rest, text))
            }
            [Part::Named(Placeholder { name, .. }), rest @ ..] => {
                let left = (parts.len(), text.len());
                let matches = !self.failed.contains(&left) && self.named(name, rest, text);
                if !matches {
                    self.failed.insert(left);
                }
                matches
            }
        }
    }

    fn named(&mut self, name: &str, rest: &[Part], text: &'t str) -> bool {
        if rest.is_empty() {
            return self.placeholder(name, text);
        }
        let before = self.matched.len();
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for end in ends {
            self.tried += 1;
            if self.tried > MAX_TRIED {
                return false;
            }
            if self.placeholder(name, &text[..end]) && self.parts(rest, &text[end..]) {
                return true;
            }
            self.matched.truncate(before);
        }
        false
    }

    fn placeholder(&mut self, name: &str, text: &'t str) -> bool {
        if name == "_" {
            return true;
        }
        self.matched.push(text.trim());
        !text.trim().is_empty()
    }
}

/// Returns the rest of the text after a literal at its start, skipping white space around it.
fn after_literal<'t>(literal: &str, text: &'t str) -> Option<&'t str> {
    if literal == " " {
        let rest = text.trim_start();
        return (rest.len() < text.len()).then_some(rest);
    }
    let mut rest = text.trim_start();
    for word in literal.split(' ') {
        rest = after_word(word, rest.trim_start())?;
    }
    Some(rest.trim_start())
}

fn after_word<'t>(word: &str, text: &'t str) -> Option<&'t str> {
    let mut rest = text.chars();
    let same = word.chars().all(|c| {
        rest.next()
            .is_some_and(|matched| matched.to_lowercase().eq(c.to_lowercase()))
    });
    same.then_some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
        Pattern::parse(pattern).unwrap().split(text).unwrap()
    }

    #[test]
    fn composite_text_is_split() {
        let sizes = "{depth} x {width} x {height}";
        assert_eq!(
            split(sizes, "385 mm x 275mm X 365 mm"),
            Some(vec!["385 mm", "275mm", "365 mm"])
        );
        assert_eq!(
            split(sizes, "20.5\"x9\" x\t20\""),
            Some(vec!["20.5\"", "9\"", "20\""])
        );
        assert_eq!(split(sizes, "385 x 275"), None);
        assert_eq!(split(sizes, "385 x  x 275"), None);
        assert_eq!(
            split("{h}° H x {v}° V", "178° H x 178° V"),
            Some(vec!["178", "178"])
        );
        assert_eq!(split("TSMC {n} nm {_}", "TSMC 7nm FinFET"), Some(vec!["7"]));
        assert_eq!(split("{n} nm {_}", "14 nm"), Some(vec!["14"]));
        assert_eq!(split("skipped={_}", "skipped=x"), Some(vec![]));
        assert_eq!(split("[{_}, {.}]", "[13, 14]"), Some(vec!["14"]));
        assert_eq!(
            split("{first} {second}", "one two"),
            Some(vec!["one", "two"])
        );
    }

    #[test]
    fn text_that_matches_in_no_way_is_given_up() {
        let text = "x ".repeat(249) + "q";
        for placeholders in [3, 9] {
            let pattern = "{_} x ".repeat(placeholders) + "{.} mm";
            assert_eq!(split(&pattern, &text), None);
        }
    }

    #[test]
    fn long_texts_match_where_they_can_in_few_ways_only() {
        let long = "word ".repeat(4000);
        assert_eq!(split("{.}", &long), Some(vec![long.trim()]));
        assert_eq!(split("{first} {_}", &long), Some(vec!["word"]));
        assert_eq!(split("{.} mm", &long), None);
        let patterns = [Pattern::parse("{a} x {b} x {c} x {d} mm").unwrap()];
        let reason = matching(&patterns, &"x ".repeat(4000)).unwrap_err();
        assert!(reason.contains("is too long for the pattern"), "{reason}");
        assert!(reason.contains("its 8000 bytes"), "{reason}");
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for pattern in ["", "plain", "{a}{b}", "{a"] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn joined_parts_are_split(parts in proptest::array::uniform3("[a-wyz0-9]{1,5}( [a-wyz0-9]{1,5})?")) {
            let text = parts.join(" x ");
            prop_assert_eq!(split("{a} x {b} x {c}", &text), Some(parts.iter().map(String::as_str).collect()));
        }
    }
}
