//! Writes HTML. What is not a literal of the program is escaped.

use serde_json::Value;

/// A piece of HTML.
#[derive(Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds markup of the program.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds a text, escaped for content and for quoted attributes.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0, |rest| match rest {
            [b'&', ..] => Some(("&amp;", 1)),
            [b'<', ..] => Some(("&lt;", 1)),
            [b'>', ..] => Some(("&gt;", 1)),
            [b'"', ..] => Some(("&quot;", 1)),
            [b'\'', ..] => Some(("&#39;", 1)),
            _ => None,
        });
        self
    }

    /// Adds other HTML.
    pub(crate) fn html(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Adds JSON for a script element that is not run: nothing in it can end the element, or a line of it.
    pub(crate) fn json(&mut self, value: &Value) -> &mut Self {
        self.json_text(&value.to_string())
    }

    /// Adds the text of a JSON value in the same way.
    pub(crate) fn json_text(&mut self, json: &str) -> &mut Self {
        escape(json, &mut self.0, |rest| match rest {
            [b'<', ..] => Some(("\\u003c", 1)),
            [b'>', ..] => Some(("\\u003e", 1)),
            [b'&', ..] => Some(("\\u0026", 1)),
            // The separators of lines and paragraphs, which end a line of a script.
            [0xe2, 0x80, 0xa8, ..] => Some(("\\u2028", 3)),
            [0xe2, 0x80, 0xa9, ..] => Some(("\\u2029", 3)),
            _ => None,
        });
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Adds a text with other texts in the place of some characters, which the function finds at the beginning of bytes;
/// it also says how many bytes they have. What is between them is copied at once.
fn escape(text: &str, to: &mut String, instead: impl Fn(&[u8]) -> Option<(&'static str, usize)>) {
    let (mut copied, mut at) = (0, 0);
    to.reserve(text.len());
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        if let Some((other, length)) = instead(rest) {
            to.push_str(&text[copied..at]);
            to.push_str(other);
            at += length;
            copied = at;
        } else {
            at += 1;
        }
    }
    to.push_str(&text[copied..]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOSTILE: &str = "</script><img src=x onerror='alert(\"1\")'>&\u{2028}\u{202e}";

    #[test]
    fn texts_are_escaped() {
        let mut html = Html::new();
        html.raw("<p>").text(HOSTILE).raw("</p>");
        let expected = "<p>&lt;/script&gt;&lt;img src=x onerror=&#39;alert(&quot;1&quot;)&#39;&gt;&amp;\u{2028}\u{202e}</p>";
        assert_eq!(html.finish(), expected);
    }

    #[test]
    fn json_cannot_end_its_element_and_is_read_back_unchanged() {
        let value = json!({ HOSTILE: [HOSTILE, 1.5, null] });
        let mut html = Html::new();
        html.json(&value);
        let text = html.finish();
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
