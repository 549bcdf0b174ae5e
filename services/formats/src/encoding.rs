//! Encodings of text: finding out which one it is, and decoding it to UTF-8.
//!
//! Nothing is replaced: bytes that have no meaning in an encoding are marked, and what has a mark is
//! rejected.

use std::io::{self, BufRead, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::source::{Peeked, Source};

/// What marks bytes that have no meaning in lines: a byte that is not UTF-8 either.
const LINE_MARK: &[u8] = b"\xff";
/// What marks them where text must be UTF-8: a character that is none.
pub(super) const MARK: char = '\u{ffff}';
const MARK_BYTES: &[u8] = "\u{ffff}".as_bytes();
/// The size of decoded pieces.
const PIECE_BYTES: usize = 32 * 1024;

/// The encoding of a text, and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) encoding: &'static Encoding,
    pub(super) by: By,
}

/// How an encoding is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The mapping, or the text itself, says so.
    Declared,
    /// The text begins with a byte order mark of this length.
    Mark(usize),
    /// It follows from the bytes.
    Detected,
    /// Nothing says otherwise.
    Default,
}

/// The encoding that the first bytes of a text show whatever its format is; otherwise the declared
/// one.
pub(super) fn of(beginning: &[u8], declared: Option<&'static Encoding>) -> Known {
    if let Some((encoding, length)) = Encoding::for_bom(beginning) {
        let by = By::Mark(length);
        return Known { encoding, by };
    }
    if let Some(encoding) = declared {
        let by = By::Declared;
        return Known { encoding, by };
    }
    let sample = &beginning[..beginning.len().min(1024)];
    let zeros = |first: usize| {
        let units = sample.iter().skip(first).step_by(2);
        units.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    // Text of most languages has blanks, digits and signs, whose upper byte is zero.
    let many = sample.len().div_ceil(2 * 4);
    let encoding = match (even, odd) {
        (even, odd) if odd > many && even * 8 <= odd => UTF_16LE,
        (even, odd) if even > many && odd * 8 <= even => UTF_16BE,
        _ => return Known::utf8(),
    };
    let by = By::Detected;
    Known { encoding, by }
}

/// The encoding of a table. If there are bytes that are not UTF-8, and no more that only UTF-8 has,
/// it is guessed. `sample` consists of whole lines.
pub(super) fn of_table(sample: &[u8]) -> Known {
    let (valid, invalid) = sequences(sample);
    if invalid == 0 || valid >= invalid {
        return Known::utf8();
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let by = By::Detected;
    Known { encoding, by }
}

/// The numbers of characters beyond ASCII that are UTF-8, and of interruptions.
fn sequences(sample: &[u8]) -> (usize, usize) {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in sample.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    (valid, invalid)
}

impl Known {
    pub(super) fn utf8() -> Self {
        Self {
            encoding: UTF_8,
            by: By::Default,
        }
    }

    /// Returns lines as UTF-8. Those with bytes that have no meaning are not UTF-8.
    pub(super) fn lines(self, mut source: Peeked) -> Source {
        if self.encoding != UTF_8 {
            return self.decoded(source, LINE_MARK);
        }
        if let By::Mark(length) = self.by {
            source.consume(length);
        }
        Box::new(source)
    }

    /// Returns text as UTF-8, with [`MARK`] for bytes that have no meaning.
    pub(super) fn text(self, source: Peeked) -> Source {
        self.decoded(source, MARK_BYTES)
    }

    fn decoded(self, mut source: Peeked, mark: &'static [u8]) -> Source {
        if let By::Mark(length) = self.by {
            source.consume(length);
        }
        Box::new(Decoded {
            source,
            decoder: self.encoding.new_decoder_without_bom_handling(),
            mark,
            has_controls: !self.encoding.is_single_byte(),
            piece: Vec::new(),
            at: 0,
            ended: false,
        })
    }

    /// The beginning of a text as UTF-8, for looking at it.
    pub(super) fn sample(self, beginning: &[u8]) -> Vec<u8> {
        let mark = match self.by {
            By::Mark(length) => length,
            _ => 0,
        };
        let beginning = &beginning[mark.min(beginning.len())..];
        if self.encoding == UTF_8 {
            return beginning.to_vec();
        }
        let (text, _) = self.encoding.decode_without_bom_handling(beginning);
        text.into_owned().into_bytes()
    }
}

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.encoding.name())?;
        if self.by == By::Detected {
            f.write_str(" (detected)")?;
        }
        Ok(())
    }
}

/// Text that is decoded while it is read.
struct Decoded {
    source: Peeked,
    decoder: Decoder,
    mark: &'static [u8],
    /// Whether control characters from U+0080 on are text.
    has_controls: bool,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Decoded {
    /// Decodes the next piece; it may be empty.
    fn decode(&mut self) -> io::Result<()> {
        self.at = 0;
        let input = self.source.fill_buf()?;
        let last = input.is_empty();
        self.piece.resize(PIECE_BYTES, 0);
        let piece = &mut self.piece[..PIECE_BYTES - MARK_BYTES.len()];
        let decoded = self
            .decoder
            .decode_to_utf8_without_replacement(input, piece, last);
        let (result, read, written) = decoded;
        self.source.consume(read);
        self.piece.truncate(written);
        match result {
            DecoderResult::InputEmpty => self.ended = last,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => self.piece.extend_from_slice(self.mark),
        }
        if !self.has_controls {
            mark_controls(&mut self.piece, self.mark);
        }
        Ok(())
    }
}

/// Marks the control characters from U+0080 to U+009F: encodings of one byte have them where they
/// have nothing.
fn mark_controls(piece: &mut Vec<u8>, mark: &[u8]) {
    let control = |pair: &[u8]| pair[0] == 0xc2 && (0x80..=0x9f).contains(&pair[1]);
    if !piece.windows(2).any(control) {
        return;
    }
    let mut marked = Vec::with_capacity(piece.len());
    let mut at = 0;
    while at < piece.len() {
        if piece.get(at..at + 2).is_some_and(control) {
            marked.extend_from_slice(mark);
            at += 2;
        } else {
            marked.push(piece[at]);
            at += 1;
        }
    }
    *piece = marked;
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Decoded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.len() && !self.ended {
            self.decode()?;
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }
}

/// Says where the first bytes of a line are that are not text.
///
/// # Errors
/// The reason for rejecting the line.
pub(super) fn check(line: &[u8], encoding: &'static Encoding) -> Result<(), String> {
    let Err(error) = std::str::from_utf8(line) else {
        return Ok(());
    };
    Err(wrong(error.valid_up_to() + 1, encoding))
}

/// Says where the first mark is in a text.
///
/// # Errors
/// The reason for rejecting what has the text.
pub(super) fn check_text(text: &str, encoding: &'static Encoding) -> Result<(), String> {
    text.find(MARK)
        .map_or(Ok(()), |at| Err(wrong(at + 1, encoding)))
}

fn wrong(at: usize, encoding: &'static Encoding) -> String {
    if encoding == UTF_8 {
        format!(
            "has bytes that are not UTF-8, the first at byte {at}; `encoding` in the mapping names \
             another encoding"
        )
    } else {
        let name = encoding.name();
        format!("has bytes that are not {name}, the first at byte {at} of the text as UTF-8")
    }
}
