//! How a picture is turned: the one part of Exif that changes how it is shown.

use bytes::Bytes;

/// The tag of the orientation (Exif 2.3, section 4.6.4).
const ORIENTATION: u16 = 0x0112;
/// Its type: a number of 16 bits.
const SHORT: u16 = 3;

/// How a picture is turned and mirrored, 2 to 8; upright pictures have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orientation(u8);

impl Orientation {
    /// Reads it from the first directory of Exif data. Upright if it is damaged.
    pub(super) fn of(exif: &[u8]) -> Option<Self> {
        let is_little = match exif.get(..4)? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        let short = |at: usize| {
            let bytes: [u8; 2] = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
            Some(if is_little {
                u16::from_le_bytes(bytes)
            } else {
                u16::from_be_bytes(bytes)
            })
        };
        let bytes: [u8; 4] = exif.get(4..8)?.try_into().ok()?;
        let directory = if is_little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        };
        let directory = usize::try_from(directory).ok()?;
        let entries = usize::from(short(directory)?);
        let places = (0..entries).map(|entry| directory + 2 + entry * 12);
        let mut found = places.take_while(|at| at + 12 <= exif.len());
        let at =
            found.find(|at| short(*at) == Some(ORIENTATION) && short(at + 2) == Some(SHORT))?;
        let value = u8::try_from(short(at + 8)?).ok()?;
        (2..=8).contains(&value).then_some(Self(value))
    }

    /// Returns the width and height of a picture as it is shown.
    pub(super) fn shown(orientation: Option<Self>, (width, height): (u32, u32)) -> (u32, u32) {
        match orientation {
            Some(Self(5..=8)) => (height, width),
            _ => (width, height),
        }
    }

    /// Exif data with nothing else.
    pub(super) fn to_exif(self) -> Bytes {
        let mut exif = b"II*\0\x08\0\0\0\x01\0".to_vec();
        exif.extend_from_slice(&ORIENTATION.to_le_bytes());
        exif.extend_from_slice(&SHORT.to_le_bytes());
        exif.extend_from_slice(&[1, 0, 0, 0, self.0, 0, 0, 0]);
        exif.extend_from_slice(&[0; 4]);
        exif.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orientation_is_read_as_it_is_written() {
        for value in 2..=8 {
            let written = Orientation(value).to_exif();
            assert_eq!(Orientation::of(&written), Some(Orientation(value)));
            for length in 0..18 {
                assert_eq!(Orientation::of(&written[..length]), None);
            }
        }
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        assert_eq!(Orientation::of(big), Some(Orientation(6)));
    }

    #[test]
    fn damaged_exif_is_upright() {
        for wrong in [
            &b"II*\0\xff\xff\xff\xff\x01\0"[..],
            b"II*\0\x08\0\0\0\xff\xff\x12\x01\x03\0\x01\0\0\0\x09\0\0\0",
            b"II*\0\x08\0\0\0\0\0",
            b"no exif at all",
        ] {
            assert_eq!(Orientation::of(wrong), None);
        }
    }
}
