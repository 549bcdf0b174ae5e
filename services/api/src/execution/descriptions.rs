//! Descriptions of operations, fragments and variables (GraphQL, September 2025), which the parser does not know.
//!
//! They mean nothing to the service. They are replaced by blanks, so that errors have the positions of the text that the
//! client has sent.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{comment_length, string_length};

/// What begins a definition that may have a description.
const DEFINITIONS: [&str; 4] = ["query", "mutation", "subscription", "fragment"];

/// Returns a document with blanks in the place of its descriptions.
pub(super) fn blanked(text: &str) -> Cow<'_, str> {
    let found = if text.contains('"') {
        Scanner::new(text).descriptions()
    } else {
        Vec::new()
    };
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut blanked, mut at) = (String::with_capacity(text.len()), 0);
    for description in found {
        blanked.push_str(&text[at..description.start]);
        at = description.end;
        let blank = |char| match char {
            '\n' | '\r' => char,
            _ => ' ',
        };
        blanked.extend(text[description].chars().map(blank));
    }
    blanked.push_str(&text[at..]);
    Cow::Owned(blanked)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether the outermost bracket is round: the definitions of variables are in such.
    is_round: bool,
    /// A string that is a description if a definition follows.
    string: Option<Range<usize>>,
    /// Whether the last token was `=`: a string is a default value then.
    is_default: bool,
    found: Vec<Range<usize>>,
}

impl<'a> Scanner<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            is_round: false,
            string: None,
            is_default: false,
            found: Vec::new(),
        }
    }

    fn descriptions(mut self) -> Vec<Range<usize>> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            self.step(byte);
        }
        self.found
    }

    fn step(&mut self, byte: u8) {
        let rest = &self.text.as_bytes()[self.at..];
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => self.at += 1,
            b'#' => self.at += comment_length(rest),
            b'"' => self.string(string_length(rest)),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            _ => self.mark(byte),
        }
    }

    fn string(&mut self, length: usize) {
        let is_variable = self.depth == 1 && self.is_round && !self.is_default;
        let end = (self.at + length).min(self.text.len());
        self.string = (self.depth == 0 || is_variable).then_some(self.at..end);
        self.is_default = false;
        self.at = end;
    }

    fn word(&mut self) {
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        let length = rest.bytes().take_while(|byte| is_part(*byte)).count();
        let is_definition = self.depth == 0 && DEFINITIONS.contains(&&rest[..length]);
        self.end_string(is_definition);
        self.at += length;
    }

    fn mark(&mut self, byte: u8) {
        self.end_string(byte == b'$' && self.depth == 1);
        match byte {
            b'(' | b'[' | b'{' => {
                if self.depth == 0 {
                    self.is_round = byte == b'(';
                }
                self.depth += 1;
            }
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_default = byte == b'=';
        self.at += 1;
    }

    /// Ends the search for what a string describes.
    fn end_string(&mut self, is_description: bool) {
        let string = self.string.take();
        self.found.extend(string.filter(|_| is_description));
        self.is_default = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that these texts, and nothing else, are replaced by blanks.
    fn assert_blanked(text: &str, descriptions: &[&str]) {
        let mut expected = text.to_owned();
        for description in descriptions {
            let blank: String = description
                .chars()
                .map(|char| if char == '\n' { char } else { ' ' })
                .collect();
            expected = expected.replacen(description, &blank, 1);
        }
        assert_eq!(blanked(text), expected);
    }

    #[test]
    fn operations_fragments_and_variables_may_be_described() {
        assert_blanked(r#""What it is" query A { a }"#, &[r#""What it is""#]);
        let block = "\"\"\"\n Größe \\\"\"\" {\n\"\"\"";
        assert_blanked(&format!("{block}\nfragment F on T {{ a }}"), &[block]);
        let text = r#"query A("one" $a: Int = 1, """two""" # why
            $b: String) { a } "next" mutation B { b }"#;
        assert_blanked(text, &[r#""one""#, r#""""two""""#, r#""next""#]);
    }

    #[test]
    fn values_and_other_strings_stay() {
        for text in [
            r#"query A($a: String = "x" $b: Int) { a(b: "y", c: $b) }"#,
            r#"query A($a: [String] = ["x"] $b: Int) { a(b: ["y" $b]) }"#,
            r#"query A @d(a: "x") { a }"#,
            r#"{ query(a: "x") fragment }"#,
            r#""no operation" { a }"#,
            r#""not for requests" type T { a: Int }"#,
            r#"query A("unclosed) { a }"#,
            "\"",
        ] {
            assert_blanked(text, &[]);
        }
    }
}
