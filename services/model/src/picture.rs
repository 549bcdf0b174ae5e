//! Pictures that were uploaded for products and reviews.

use std::fmt;

use crate::clock::Timestamp;
use crate::id::{PictureId, ProductId, ReviewId};

/// The maximum size of a picture in bytes.
pub const MAX_PICTURE_BYTES: usize = 8 * 1_024 * 1_024;
/// The minimum width and height of a picture in pixels.
pub const MIN_PICTURE_SIDE: u32 = 32;
/// The maximum width and height of a picture in pixels.
pub const MAX_PICTURE_SIDE: u32 = 16_000;
/// The maximum number of pixels of a picture: browsers need four bytes for each.
pub const MAX_PICTURE_PIXELS: u64 = 50_000_000;
/// How long a new picture is kept that nothing shows, and how often others are looked at, in milliseconds.
pub const UNUSED_PICTURE_MILLIS: i64 = 86_400_000;
/// The maximum number of pictures that a shopper sends within a day.
pub const MAX_PICTURES_A_DAY: u64 = 30;
/// The maximum number of pictures that an admin sends within a day.
pub const MAX_PICTURES_OF_ADMINS_A_DAY: u64 = 5_000;

/// How a picture is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// WebP.
    Webp,
}

impl PictureFormat {
    const ALL: [Self; 3] = [Self::Jpeg, Self::Png, Self::Webp];

    /// How names of files end.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }

    /// The media type (IANA).
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}

/// The name of a picture's file: 14 hexadecimal digits of its random id, and the format. The content under a name
/// never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureName {
    /// The picture.
    pub id: PictureId,
    /// How it is encoded.
    pub format: PictureFormat,
}

impl PictureName {
    /// Returns the name that a text is, if it is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, extension) = text.split_once('.')?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() != 14 || !digits.bytes().all(is_digit) {
            return None;
        }
        let mut formats = PictureFormat::ALL.into_iter();
        Some(Self {
            id: PictureId::from_i64(i64::from_str_radix(digits, 16).ok()?),
            format: formats.find(|format| format.extension() == extension)?,
        })
    }
}

impl fmt::Display for PictureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:014x}.{}", self.id.to_i64(), self.format.extension())
    }
}

/// A picture that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The name of its file.
    pub name: PictureName,
    /// Its width in pixels, as it is shown.
    pub width: u32,
    /// Its height in pixels, as it is shown.
    pub height: u32,
    /// The size of its file in bytes, without metadata.
    pub bytes: u64,
    /// The subject of the token that it was sent with; `None` once that person was erased.
    pub by: Option<String>,
    /// When it was received.
    pub created_at: Timestamp,
}

/// What may show a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureUse {
    /// A product.
    Product(ProductId),
    /// A review of a product.
    Review(ProductId, ReviewId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for format in PictureFormat::ALL {
            for id in [0, 1, 0x7f_ffff_ffff_ffff] {
                let id = PictureId::from_i64(id);
                let name = PictureName { id, format };
                assert_eq!(PictureName::parse(&name.to_string()), Some(name));
            }
        }
        for wrong in [
            "",
            "00000000000001",
            "00000000000001.",
            "00000000000001.gif",
            "0000000000000A.jpg",
            "+0000000000001.jpg",
            "000000000000001.jpg",
            "../00000000001.jpg",
            "00000000000001.jpg.jpg",
        ] {
            assert_eq!(PictureName::parse(wrong), None, "{wrong:?}");
        }
    }
}
