//! Checks a picture by its content, and removes metadata: where it was taken, with what, earlier versions, texts, and
//! whatever follows the image. Colour profiles stay, and how the picture is turned.

mod jpeg;
mod orientation;
mod png;
mod webp;

use bytes::Bytes;
use vitrine_model::picture::{
    MAX_PICTURE_BYTES, MAX_PICTURE_PIXELS, MAX_PICTURE_SIDE, MIN_PICTURE_SIDE, PictureFormat,
};

/// The maximum number of chunks of a PNG or WebP.
const MAX_CHUNKS: usize = 20_000;

/// A picture without metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanPicture {
    /// How it is encoded.
    pub format: PictureFormat,
    /// Its width in pixels, as it is shown.
    pub width: u32,
    /// Its height in pixels, as it is shown.
    pub height: u32,
    /// Its file.
    pub bytes: Bytes,
}

/// Why a picture is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureRefusal {
    /// There is no content.
    #[error("is empty; send the picture")]
    Empty,
    /// Another format, by its name.
    #[error("is {0}; send JPEG, PNG or WebP")]
    Format(&'static str),
    /// A format that is allowed, but not to its end or not in order.
    #[error("is damaged or incomplete {0}; send the whole file")]
    Damaged(&'static str),
    /// An animated picture.
    #[error("is an animated picture; send a still one")]
    Animated,
    /// A file that is too large.
    #[error("has more than {} MiB; send a smaller picture", MAX_PICTURE_BYTES / 1_024 / 1_024)]
    TooLarge,
    /// Too few or too many pixels.
    #[error(
        "has {0} by {1} pixels; {MIN_PICTURE_SIDE} to {MAX_PICTURE_SIDE} are possible for each side, and {millions} million in all",
        millions = MAX_PICTURE_PIXELS / 1_000_000
    )]
    Size(u32, u32),
}

/// Returns a picture without its metadata.
///
/// # Errors
/// If it is no picture that browsers show, or breaks a limit.
pub fn clean(bytes: Bytes) -> Result<CleanPicture, PictureRefusal> {
    if bytes.is_empty() {
        return Err(PictureRefusal::Empty);
    }
    if bytes.len() > MAX_PICTURE_BYTES {
        return Err(PictureRefusal::TooLarge);
    }
    let cleaned = match format_of(&bytes)? {
        PictureFormat::Jpeg => jpeg::clean(&bytes),
        PictureFormat::Png => png::clean(bytes),
        PictureFormat::Webp => webp::clean(bytes),
    }?;
    let (width, height) = (cleaned.width, cleaned.height);
    let sides = MIN_PICTURE_SIDE..=MAX_PICTURE_SIDE;
    let pixels = u64::from(width) * u64::from(height);
    if !sides.contains(&width) || !sides.contains(&height) || pixels > MAX_PICTURE_PIXELS {
        return Err(PictureRefusal::Size(width, height));
    }
    Ok(cleaned)
}

/// Whether a file has more chunks than any picture needs: each takes memory, however small it is.
fn has_many_chunks(chunks: Option<&[u8]>, length: impl Fn(&[u8]) -> Option<usize>) -> bool {
    let mut rest = chunks;
    for _ in 0..MAX_CHUNKS {
        let next = rest.and_then(|chunk| chunk.get(length(chunk)?..));
        if next.is_none_or(<[u8]>::is_empty) {
            return false;
        }
        rest = next;
    }
    true
}

/// Returns the format by the first bytes.
fn format_of(bytes: &[u8]) -> Result<PictureFormat, PictureRefusal> {
    let brand = bytes.get(8..12).unwrap_or_default();
    let text = || String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_lowercase();
    let other = match bytes {
        [0xff, 0xd8, 0xff, ..] => return Ok(PictureFormat::Jpeg),
        [0x89, b'P', b'N', b'G', ..] => return Ok(PictureFormat::Png),
        [b'R', b'I', b'F', b'F', ..] if brand == b"WEBP" => return Ok(PictureFormat::Webp),
        [b'G', b'I', b'F', b'8', ..] => "a GIF",
        [b'B', b'M', ..] => "a BMP",
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => {
            "a TIFF, or a raw picture of a camera"
        }
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => match brand {
            b"avif" | b"avis" => "an AVIF",
            b"heic" | b"heix" | b"hevc" | b"heim" | b"heis" | b"mif1" | b"msf1" => "a HEIC",
            _ => "a video",
        },
        [b'<', ..] if text().contains("<svg") => "an SVG",
        [b'<', ..] => "a page",
        _ => "no picture",
    };
    Err(PictureRefusal::Format(other))
}

#[cfg(test)]
mod tests;
