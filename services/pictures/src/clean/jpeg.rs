//! JPEG (ITU-T T.81). Segments are copied one by one, so a file with very many of them needs no more memory.

use vitrine_model::picture::PictureFormat;

use super::orientation::Orientation;
use super::{CleanPicture, PictureRefusal};

const DAMAGED: PictureRefusal = PictureRefusal::Damaged("JPEG");

const MARKER: u8 = 0xff;
const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;
/// Tables: Huffman, quantization, restart interval.
const TABLES: [u8; 3] = [0xc4, 0xdb, 0xdd];
const APP0: u8 = 0xe0;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP14: u8 = 0xee;
/// The length of the JFIF header without its thumbnail.
const JFIF_BYTES: usize = 14;
/// The length of what Adobe says about colours.
const ADOBE_BYTES: usize = 12;

/// What was copied so far.
struct Copy {
    clean: Vec<u8>,
    /// Width and height of the one frame.
    size: Option<(u32, u32)>,
    orientation: Option<Orientation>,
    /// Whether image data has begun.
    in_image: bool,
}

pub(super) fn clean(bytes: &[u8]) -> Result<CleanPicture, PictureRefusal> {
    let start = [MARKER, START_OF_IMAGE];
    let mut rest = bytes.strip_prefix(&start).ok_or(DAMAGED)?;
    let mut copy = Copy {
        clean: Vec::with_capacity(bytes.len()),
        size: None,
        orientation: None,
        in_image: false,
    };
    copy.clean.extend_from_slice(&start);
    loop {
        let at = rest.iter().position(|byte| *byte == MARKER);
        let (data, from_marker) = rest.split_at(at.ok_or(DAMAGED)?);
        copy.data(data);
        let length = match *from_marker.get(1).ok_or(DAMAGED)? {
            END_OF_IMAGE => {
                copy.data(&from_marker[..2]);
                return copy.ended();
            }
            START_OF_IMAGE => return Err(DAMAGED),
            // A byte of the data, or the beginning of a part that can be read on its own.
            0 | 0xd0..=0xd7 => 2,
            // Fills the space before a marker.
            MARKER => 1,
            marker => {
                let length = from_marker.get(2..4).ok_or(DAMAGED)?;
                let length = 2 + usize::from(u16::from_be_bytes([length[0], length[1]]));
                let contents = from_marker.get(4..length).ok_or(DAMAGED)?;
                copy.segment(marker, contents)?;
                rest = &from_marker[length..];
                continue;
            }
        };
        copy.data(&from_marker[..length]);
        rest = &from_marker[length..];
    }
}

impl Copy {
    /// Copies image data. What stands between segments before it is no part of the image.
    fn data(&mut self, data: &[u8]) {
        if self.in_image {
            self.clean.extend_from_slice(data);
        }
    }

    /// Copies what is part of the image, or says how it looks.
    fn segment(&mut self, marker: u8, contents: &[u8]) -> Result<(), PictureRefusal> {
        match marker {
            // Browsers show these: baseline, extended and progressive.
            0xc0..=0xc2 if self.size.is_none() && !self.in_image => {
                let [_, sides @ ..] = contents.first_chunk::<5>().ok_or(DAMAGED)?;
                let height = u16::from_be_bytes([sides[0], sides[1]]);
                let width = u16::from_be_bytes([sides[2], sides[3]]);
                self.size = Some((width.into(), height.into()));
                self.push(marker, contents);
            }
            // A second frame, or one of another kind.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => return Err(DAMAGED),
            START_OF_SCAN => {
                self.in_image = true;
                self.push(marker, contents);
            }
            // Without the thumbnail, which may show what the picture does not.
            APP0 if contents.starts_with(b"JFIF\0") && contents.len() >= JFIF_BYTES => {
                let mut header = contents[..JFIF_BYTES].to_vec();
                header[JFIF_BYTES - 2..].fill(0);
                self.push(marker, &header);
            }
            APP1 if self.orientation.is_none() => {
                let exif = contents.strip_prefix(b"Exif\0\0");
                self.orientation = exif.and_then(Orientation::of);
                if let Some(orientation) = self.orientation {
                    self.push(marker, &[b"Exif\0\0", &*orientation.to_exif()].concat());
                }
            }
            APP2 if contents.starts_with(b"ICC_PROFILE\0") => self.push(marker, contents),
            APP14 if contents.starts_with(b"Adobe") && contents.len() >= ADOBE_BYTES => {
                self.push(marker, &contents[..ADOBE_BYTES]);
            }
            _ if TABLES.contains(&marker) => self.push(marker, contents),
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, marker: u8, contents: &[u8]) {
        let length = u16::try_from(contents.len() + 2).unwrap_or(u16::MAX);
        self.clean.extend_from_slice(&[MARKER, marker]);
        self.clean.extend_from_slice(&length.to_be_bytes());
        self.clean.extend_from_slice(contents);
    }

    fn ended(self) -> Result<CleanPicture, PictureRefusal> {
        let (width, height) = self.size.filter(|_| self.in_image).ok_or(DAMAGED)?;
        let (width, height) = Orientation::shown(self.orientation, (width, height));
        Ok(CleanPicture {
            format: PictureFormat::Jpeg,
            width,
            height,
            bytes: self.clean.into(),
        })
    }
}
