//! Writing XML: texts are escaped, and characters that XML forbids are removed.

use std::borrow::Cow;
use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::output::Output;

/// Writes a document.
pub(crate) struct Xml {
    writer: Writer<Output>,
}

impl Xml {
    pub(crate) fn begin(output: Output) -> io::Result<Self> {
        let mut writer = Writer::new(output);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let mut xml = Self { writer };
        xml.line()?;
        Ok(xml)
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        let element = BytesStart::new(name).with_attributes(attributes.iter().copied());
        self.writer.write_event(Event::Start(element))
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, name: &str) -> io::Result<()> {
        self.writer.write_event(Event::End(BytesEnd::new(name)))
    }

    /// Writes an element with a text.
    pub(crate) fn leaf(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.leaf_with(name, &[], text)
    }

    /// Writes an element with attributes and a text.
    pub(crate) fn leaf_with(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        text: &str,
    ) -> io::Result<()> {
        self.open(name, attributes)?;
        let text = allowed(text);
        self.writer
            .write_event(Event::Text(BytesText::new(&text)))?;
        self.close(name)
    }

    /// Begins a new line.
    pub(crate) fn line(&mut self) -> io::Result<()> {
        self.writer
            .write_event(Event::Text(BytesText::from_escaped("\n")))
    }

    /// Closes the outermost element; returns the size of the document in bytes.
    pub(crate) fn end(&mut self, name: &str) -> io::Result<u64> {
        self.close(name)?;
        self.line()?;
        Ok(self.bytes())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.writer.get_ref().bytes()
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.writer.into_inner().finish()
    }
}

/// The text without characters that XML 1.0 forbids.
pub(crate) fn allowed(text: &str) -> Cow<'_, str> {
    let is_forbidden = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(is_forbidden) {
        Cow::Owned(text.replace(is_forbidden, ""))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn forbidden_characters_are_removed() {
        assert_eq!(allowed("a\u{0}b\u{b}\u{1f}c\u{ffff}"), "abc");
        assert_eq!(
            allowed("a\tb\r\n\u{85}\u{10ffff}"),
            "a\tb\r\n\u{85}\u{10ffff}"
        );
    }
}
