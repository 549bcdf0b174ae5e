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
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Adds other HTML.
    pub(crate) fn html(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Adds JSON for a script element that is not run: nothing in it can end the element.
    pub(crate) fn json(&mut self, value: &Value) -> &mut Self {
        self.0.push_str(&json_in_html(value));
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Returns JSON without characters that mean something to HTML, or that end a line of a script.
fn json_in_html(value: &Value) -> String {
    let json = value.to_string();
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    safe
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
