//! Measures the raw text of a document before it is parsed.
//!
//! Parsers of nested languages are recursive, and a few kilobytes of brackets can crash a process
//! by overflowing its stack. This scan is a loop and cannot overflow.

/// The size of a text, outside strings and comments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextSize {
    /// The number of lexical tokens, including strings.
    pub(super) tokens: usize,
    /// The maximum nesting of `(`, `[` and `{` together.
    pub(super) nesting: usize,
}

/// Measures `text`, which need not be GraphQL.
pub(super) fn measure(text: &str) -> TextSize {
    let mut scanner = Scanner::new(text.as_bytes());
    while scanner.step() {}
    scanner.size
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Gap,
    Word,
    Dots,
    Mark,
}

struct Scanner<'a> {
    rest: &'a [u8],
    depth: usize,
    previous: Class,
    size: TextSize,
}

impl<'a> Scanner<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self {
            rest,
            depth: 0,
            previous: Class::Gap,
            size: TextSize::default(),
        }
    }

    fn step(&mut self) -> bool {
        let Some(&byte) = self.rest.first() else {
            return false;
        };
        match byte {
            b'#' => self.skip(comment_length(self.rest), Class::Gap),
            b'"' => self.skip(string_length(self.rest), Class::Mark),
            _ => self.plain(byte),
        }
        true
    }

    fn plain(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.size.nesting = self.size.nesting.max(self.depth);
        self.skip(1, class(byte));
    }

    fn skip(&mut self, length: usize, class: Class) {
        let joins = class == self.previous && class != Class::Mark;
        if class != Class::Gap && !joins {
            self.size.tokens += 1;
        }
        self.previous = class;
        self.rest = &self.rest[length..];
    }
}

fn class(byte: u8) -> Class {
    match byte {
        b' ' | b'\t' | b'\r' | b'\n' | b',' | 0xEF | 0xBB | 0xBF => Class::Gap,
        b'.' => Class::Dots,
        b'_' | b'-' | b'+' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => Class::Word,
        _ => Class::Mark,
    }
}

/// Returns the length of a comment, without the end of its line.
pub(super) fn comment_length(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .unwrap_or(text.len())
}

/// Returns the length of a string of either kind, with its quotes.
pub(super) fn string_length(text: &[u8]) -> usize {
    if text.starts_with(b"\"\"\"") {
        return 3 + block_length(&text[3..]);
    }
    1 + line_length(&text[1..])
}

/// Returns the length of the rest of a block string: only `"""` ends it, only `\"""` is an escape.
fn block_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(b"\\\"\"\"") {
            at += 4;
        } else if text[at..].starts_with(b"\"\"\"") {
            return at + 3;
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Returns the length of the rest of a single-line string. An unclosed string ends with its line,
/// so that brackets after it are counted: the safe side.
fn line_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            b'\n' | b'\r' => return at,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{TextSize, measure};

    fn measured(text: &str) -> (usize, usize) {
        let TextSize { tokens, nesting } = measure(text);
        (tokens, nesting)
    }

    #[test]
    fn counts_tokens_and_nesting() {
        assert_eq!(measured(""), (0, 0));
        assert_eq!(measured("{a}"), (3, 1));
        assert_eq!(
            measured("query Q($x:[Int!]=[1,-2]){a(x:$x){...F}}"),
            (29, 2)
        );
        assert_eq!(measured("... on T"), (3, 0));
        assert_eq!(measured("}}}{"), (4, 1));
    }

    #[test]
    fn brackets_inside_strings_and_comments_do_not_count() {
        assert_eq!(measured(r#"{a(b:"[[[[")}"#), (8, 2));
        assert_eq!(measured(r#"{a(b:"\"[[[[")}"#), (8, 2));
        assert_eq!(measured("{a(b:\"\"\"[[\\\"\"\"[[\"\"\")}"), (8, 2));
        assert_eq!(measured("{a # [[[[\n b}"), (4, 1));
        assert_eq!(measured("{a(b:\"\"[1])}"), (11, 3));
    }

    #[test]
    fn unclosed_strings_are_accepted() {
        assert_eq!(measured("\""), (1, 0));
        assert_eq!(measured("\"\\"), (1, 0));
        assert_eq!(measured("\"\"\""), (1, 0));
        assert_eq!(measured("\"[[\n[["), (3, 2));
        assert_eq!(measured("\"[[\r[["), (3, 2));
    }
}
