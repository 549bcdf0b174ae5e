//! Cleaning text: white space, HTML entities and line breaks.

use std::borrow::Cow;

/// How white space is cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clean {
    /// Runs of blanks, tabs, no-break spaces and line breaks become one blank; ends are trimmed.
    #[default]
    Collapse,
    /// Each line is trimmed and collapsed; of several empty lines one is kept.
    Lines,
    /// Only the ends are trimmed.
    Trim,
    /// White space is kept.
    Keep,
}

impl Clean {
    /// The names in mapping files.
    pub(crate) const WORDS: [(&'static str, Self); 4] = [
        ("collapse", Self::Collapse),
        ("lines", Self::Lines),
        ("trim", Self::Trim),
        ("keep", Self::Keep),
    ];

    /// Returns the cleaned text, without control characters unless everything is kept.
    pub(crate) fn apply(self, text: &str) -> Cow<'_, str> {
        // What is collapsed already holds visible signs and blanks only.
        if self == Self::Collapse && is_collapsed(text) {
            return Cow::Borrowed(text);
        }
        let clean = self.spaced(text);
        match self {
            Self::Keep => clean,
            _ => without_controls(clean),
        }
    }

    /// Returns the text with clean white space.
    fn spaced(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Keep => Cow::Borrowed(text),
            Self::Trim => Cow::Borrowed(text.trim()),
            Self::Collapse => Cow::Owned(vitrine_model::text::collapse(text)),
            Self::Lines => Cow::Owned(lines(text)),
        }
    }
}

/// Removes control characters other than tabs and line ends, as they come from texts of a wrong
/// encoding; those that are white space become blanks. NUL is kept, so that it is refused.
fn without_controls(text: Cow<'_, str>) -> Cow<'_, str> {
    let unwanted = |c: char| c.is_control() && !matches!(c, '\0' | '\t' | '\n' | '\r');
    if !text.contains(unwanted) {
        return text;
    }
    let kept = text.chars().filter_map(|c| match c {
        c if !unwanted(c) => Some(c),
        c if c.is_whitespace() => Some(' '),
        _ => None,
    });
    Cow::Owned(kept.collect())
}

fn is_collapsed(text: &str) -> bool {
    let mut blank = true;
    for byte in text.bytes() {
        let plain = byte.is_ascii_graphic();
        if !plain && (byte != b' ' || blank) {
            return false;
        }
        blank = !plain;
    }
    !blank || text.is_empty()
}

fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(vitrine_model::text::collapse) {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        out.push_str(&line);
        empty = 0;
    }
    out
}

/// Whether text contains HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Html {
    /// It does not: all characters are kept.
    #[default]
    No,
    /// It does.
    Once,
    /// It does, and was escaped repeatedly: `&amp;amp;#39;`.
    Repeated,
    /// It is a page: tags of any name go, and scripts, styles and comments with their content.
    Page,
}

impl Html {
    /// The names in mapping files.
    pub(crate) const WORDS: [(&'static str, Self); 4] = [
        ("no", Self::No),
        ("once", Self::Once),
        ("repeated", Self::Repeated),
        ("page", Self::Page),
    ];
    /// The maximum number of times that text is unescaped.
    const MAX_TIMES: usize = 6;

    /// Returns the text without HTML.
    pub(crate) fn apply(self, text: &str) -> Cow<'_, str> {
        let mut plain = match self {
            Self::No => return Cow::Borrowed(text),
            Self::Once | Self::Repeated => without_html(text, tag),
            Self::Page => without_html(text, any_tag),
        };
        let times = if self == Self::Repeated {
            Self::MAX_TIMES
        } else {
            1
        };
        for _ in 1..times {
            match without_html(&plain, tag) {
                Cow::Owned(next) if next != *plain => plain = Cow::Owned(next),
                _ => break,
            }
        }
        plain
    }
}

/// Parses a tag at the start of a text; returns its length and its replacement.
type ParseTag = fn(&str, &mut TagEnds) -> Option<(usize, String)>;

/// Finds the ends of tags, from the start of a text on.
#[derive(Default)]
struct TagEnds {
    /// Whether there is no further one, so that the rest of the text is not searched again.
    none_left: bool,
}

impl TagEnds {
    /// The place of the next `>`.
    fn next(&mut self, text: &str) -> Option<usize> {
        if self.none_left {
            return None;
        }
        let end = text.find('>');
        self.none_left = end.is_none();
        end
    }
}

/// Removes HTML: tags are replaced as `tag` says, entities by their characters. Unknown tags and
/// entities are kept.
fn without_html(text: &str, tag: ParseTag) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut ends = TagEnds::default();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let parsed = tag(rest, &mut ends).or_else(|| entity(rest));
        let (length, replacement) = parsed.unwrap_or((1, rest[..1].to_owned()));
        out.push_str(&replacement);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Parses a tag, comment, script or style of a page.
fn any_tag(text: &str, ends: &mut TagEnds) -> Option<(usize, String)> {
    const WITH_CONTENT: [(&str, &str); 3] = [
        ("<!--", "-->"),
        ("<script", "</script>"),
        ("<style", "</style>"),
    ];
    const CELLS: [&str; 2] = ["td", "th"];
    const BREAKS: [&str; 9] = [
        "article",
        "blockquote",
        "dd",
        "dt",
        "h4",
        "pre",
        "section",
        "table",
        "tr",
    ];
    for (start, end) in WITH_CONTENT {
        let head = text.get(..start.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(start)) {
            let length = find_ignoring_case(text, end);
            return Some((
                length.map_or(text.len(), |at| at + end.len()),
                String::new(),
            ));
        }
    }
    if let Some(known) = tag(text, ends) {
        return Some(known);
    }
    let inside = text.strip_prefix('<')?;
    let name = inside.strip_prefix('/').unwrap_or(inside);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!')
        .then_some(())?;
    let end = ends.next(inside)?;
    let name = name_at_start(name);
    let replacement = if BREAKS.contains(&name.as_str()) {
        "\n"
    } else if CELLS.contains(&name.as_str()) {
        " "
    } else {
        ""
    };
    Some((end + 2, replacement.to_owned()))
}

/// Parses a tag that shops use in texts: `<br>` and blocks become line breaks, others go.
fn tag(text: &str, ends: &mut TagEnds) -> Option<(usize, String)> {
    const KNOWN: [&str; 22] = [
        "a", "b", "br", "div", "em", "font", "h1", "h2", "h3", "hr", "i", "img", "li", "ol", "p",
        "small", "span", "strong", "sub", "sup", "u", "ul",
    ];
    const BREAKS: [&str; 8] = ["br", "div", "h1", "h2", "h3", "hr", "li", "p"];
    let inside = text.strip_prefix('<')?;
    let name = name_at_start(inside.trim_start_matches('/'));
    if !KNOWN.contains(&name.as_str()) {
        return None;
    }
    let end = ends.next(inside)?;
    let breaks = BREAKS.contains(&name.as_str());
    Some((end + 2, if breaks { "\n" } else { "" }.to_owned()))
}

/// The name of a tag, in lower case.
fn name_at_start(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    text[..end.unwrap_or(text.len())].to_ascii_lowercase()
}

/// The place of an ASCII text in another one, in any case.
fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    let mut places = text.as_bytes().windows(wanted.len());
    places.position(|place| place.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Parses an entity at the start of the text; returns its length and its characters.
fn entity(text: &str) -> Option<(usize, String)> {
    const MAX_ENTITY_BYTES: usize = 33;
    let inside = text.strip_prefix('&')?;
    let mut bytes = inside.bytes().take(MAX_ENTITY_BYTES);
    let end = bytes.position(|b| !b.is_ascii_alphanumeric() && b != b'#')?;
    if inside.as_bytes()[end] != b';' {
        return None;
    }
    let letters = match inside[..end].strip_prefix('#') {
        Some(code) => numbered(code)?.to_string(),
        None => named(&text[..end + 2])?,
    };
    Some((end + 2, letters))
}

/// The characters of an entity by its name in HTML, `&auml;`.
fn named(entity: &str) -> Option<String> {
    let decoded = html_escape::decode_html_entities(entity);
    (decoded != entity).then(|| decoded.into_owned())
}

fn numbered(code: &str) -> Option<char> {
    let code = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    if (0x80..0xA0).contains(&code) {
        // Browsers read these as Windows does: `&#150;` is a dash.
        let byte = [u8::try_from(code).ok()?];
        let (letters, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte);
        return letters.chars().find(|letter| !letter.is_control());
    }
    char::from_u32(code).filter(|letter| !letter.is_control() || letter.is_whitespace())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_is_cleaned() {
        assert_eq!(Clean::Collapse.apply(" a \t\u{a0} b\n"), "a b");
        assert_eq!(Clean::Lines.apply(" a  b \r\n\n\n\n c\nd "), "a b\n\nc\nd");
        assert_eq!(Clean::Trim.apply(" a  b "), "a  b");
        assert_eq!(Clean::Keep.apply(" a "), " a ");
    }

    #[test]
    fn control_characters_do_not_stay() {
        let clean = |text: &'static str| without_controls(Cow::Borrowed(text)).into_owned();
        assert_eq!(clean("Lamp\u{99} one\u{7f}\u{1b}"), "Lamp one");
        assert_eq!(clean("a\u{85}b\u{b}c"), "a b c");
        assert_eq!(clean("a\tb\r\nc\0"), "a\tb\r\nc\0");
    }

    #[test]
    fn html_is_removed() {
        assert_eq!(
            without_html("I&#39;m &quot;in&quot;<br /><BR>5 &lt; 6", tag),
            "I'm \"in\"\n\n5 < 6"
        );
        assert_eq!(
            without_html("<a href=\"x\">jam</a> caf&eacute; &#8230;", tag),
            "jam café …"
        );
        assert_eq!(Html::Once.apply("5&amp;amp;#39;"), "5&amp;#39;");
        assert_eq!(Html::Repeated.apply("5&amp;amp;#39;"), "5'");
        assert_eq!(Html::No.apply("5&amp;"), "5&amp;");
        assert_eq!(
            without_html("1 < 2 & <3 <bogus> &bogus; &#0; &", tag),
            "1 < 2 & <3 <bogus> &bogus; &#0; &"
        );
    }

    #[test]
    fn every_named_entity_is_its_character() {
        let feeds = "&sup2; &sup3; &plusmn; &micro; &Omega; &le; &ge; &infin; &divide; &minus; &permil; &sect; &bdquo; \
                     &laquo; &Aring; &Oslash; &Ccedil; &AElig; &Aacute; &ouml; &yuml; &Yuml; &euro; &alpha; &thetasym; \
                     &CounterClockwiseContourIntegral; &#150; &#x2014; &apos;";
        assert_eq!(
            Html::Once.apply(feeds),
            "² ³ ± µ Ω ≤ ≥ ∞ ÷ − ‰ § „ « Å Ø Ç Æ Á ö ÿ Ÿ € α ϑ ∳ – — '"
        );
        let unknown = "&Bogus; &amp &#129; AT&T; &a b; Q&A";
        assert_eq!(Html::Once.apply(unknown), unknown);
    }

    #[test]
    fn a_page_becomes_text() {
        let page = "<style>p { color: red }</style><section><h4>Size</h4><!-- <b> --><table><tr><td>M\
                    <td>38</table></section><x-note a=\">1 < 2<SCRIPT>alert('<p>')</SCRIPT> &amp; 3";
        let text = Clean::Lines.apply(&Html::Page.apply(page)).into_owned();
        assert_eq!(text, "Size\n\nM 38\n\n1 < 2 & 3");
        assert_eq!(Html::Page.apply("<!-- open"), "");
    }

    #[test]
    fn large_texts_of_unclosed_and_empty_tags_are_read_once() {
        const LENGTH: usize = 1024 * 1024;
        for (unit, html, length) in [
            ("<!---->", Html::Page, 0),
            ("<script></script>", Html::Page, 0),
            ("<", Html::Page, LENGTH),
            ("<x", Html::Page, LENGTH),
            ("<", Html::Repeated, LENGTH),
            ("</", Html::Once, LENGTH),
            ("<a", Html::Once, LENGTH),
        ] {
            let text = unit.repeat(LENGTH / unit.len());
            assert_eq!(html.apply(&text).len(), length, "{unit}");
        }
        let picture = format!("a<img src=\"data:{}\">b", "x".repeat(LENGTH));
        assert_eq!(Html::Once.apply(&picture), "ab");
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent(text in "[a\u{e9} \t\u{a0}\n]{0,12}") {
            let once = Clean::Collapse.apply(&text).into_owned();
            prop_assert_eq!(&vitrine_model::text::collapse(&text), &once);
            prop_assert_eq!(Clean::Collapse.apply(&once), once.clone());
            let lines = Clean::Lines.apply(&text).into_owned();
            prop_assert_eq!(Clean::Lines.apply(&lines), lines.clone());
        }

        #[test]
        fn html_never_panics(text in "[<>&;#xa-c/ \u{e9}0-9]{0,40}") {
            without_html(&text, tag);
            without_html(&text, any_tag);
        }
    }
}
