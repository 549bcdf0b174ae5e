//! JPEG (ITU-T T.81). Segments before the image data are read by the library; the image data, which may have further
//! segments between its scans, is read here.

use bytes::Bytes;
use img_parts::ImageEXIF as _;
use img_parts::jpeg::{Jpeg, JpegSegment, markers};
use vitrine_model::picture::PictureFormat;

use super::orientation::Orientation;
use super::{CleanPicture, PictureRefusal};

const DAMAGED: PictureRefusal = PictureRefusal::Damaged("JPEG");
/// The length of the JFIF header without its thumbnail.
const JFIF_BYTES: usize = 14;

pub(super) fn clean(bytes: Bytes) -> Result<CleanPicture, PictureRefusal> {
    let mut jpeg = Jpeg::from_bytes(bytes).map_err(|_| DAMAGED)?;
    let (width, height) = jpeg.dimensions().ok_or(DAMAGED)?;
    let (width, height) = (u32::from(width), u32::from(height));
    let orientation = jpeg.exif().and_then(|exif| Orientation::of(&exif));
    // Browsers show these: baseline, extended and progressive.
    let is_shown =
        |segment: &&JpegSegment| matches!(segment.marker(), markers::SOF0..=markers::SOF2);
    let frames = jpeg.segments().iter().filter(is_shown).count();
    let scan = jpeg.segments().last().filter(|last| last.has_entropy());
    let image_bytes = scan.map(|scan| scan.len_with_entropy() - scan.len());
    let (1, Some(image_bytes)) = (frames, image_bytes) else {
        return Err(DAMAGED);
    };
    let kept = jpeg.segments().iter().filter_map(kept).collect();
    *jpeg.segments_mut() = kept;
    jpeg.set_exif(orientation.map(Orientation::to_exif));
    let whole = jpeg.encoder().bytes();
    let (header, image) = whole.split_at(whole.len() - image_bytes);
    let mut clean = Vec::with_capacity(whole.len());
    clean.extend_from_slice(header);
    copy_image(image, &mut clean)?;
    let turned = orientation.is_some_and(Orientation::is_turned);
    let (width, height) = if turned {
        (height, width)
    } else {
        (width, height)
    };
    Ok(CleanPicture {
        format: PictureFormat::Jpeg,
        width,
        height,
        bytes: clean.into(),
    })
}

/// Returns what remains of a segment before the image data.
fn kept(segment: &JpegSegment) -> Option<JpegSegment> {
    let contents = segment.contents();
    match segment.marker() {
        // Without the thumbnail, which may show what the picture does not.
        markers::APP0 if contents.starts_with(b"JFIF\0") && contents.len() >= JFIF_BYTES => {
            let mut header = contents[..JFIF_BYTES].to_vec();
            header[JFIF_BYTES - 2..].fill(0);
            let header = JpegSegment::new_with_contents(markers::APP0, header.into());
            Some(header)
        }
        markers::APP2 if contents.starts_with(b"ICC_PROFILE\0") => Some(segment.clone()),
        // How colours are stored.
        markers::APP14 if contents.starts_with(b"Adobe") => Some(segment.clone()),
        markers::SOF0..=markers::SOF2 => Some(segment.clone()),
        marker if is_part_of_scan(marker) => Some(segment.clone()),
        _ => None,
    }
}

const fn is_part_of_scan(marker: u8) -> bool {
    matches!(
        marker,
        markers::DHT | markers::DQT | markers::DRI | markers::SOS
    )
}

/// Copies image data to its end, without the segments between scans that are no part of the image, and without what
/// follows: another picture, or a video.
fn copy_image(image: &[u8], clean: &mut Vec<u8>) -> Result<(), PictureRefusal> {
    let mut rest = image;
    loop {
        let at = rest.iter().position(|byte| *byte == markers::P);
        let (data, from_marker) = rest.split_at(at.ok_or(DAMAGED)?);
        clean.extend_from_slice(data);
        let marker = *from_marker.get(1).ok_or(DAMAGED)?;
        let length = match marker {
            markers::EOI => {
                clean.extend_from_slice(&from_marker[..2]);
                return Ok(());
            }
            // A byte of the data, or the beginning of a part that can be read on its own.
            0 | markers::RST0..=markers::RST7 => 2,
            // Fills the space before a marker.
            markers::P => 1,
            markers::SOI | markers::SOF0..=markers::SOF2 => return Err(DAMAGED),
            _ => {
                let length = from_marker.get(2..4).ok_or(DAMAGED)?;
                2 + usize::from(u16::from_be_bytes([length[0], length[1]]))
            }
        };
        let segment = from_marker.get(..length).ok_or(DAMAGED)?;
        if length <= 2 || is_part_of_scan(marker) {
            clean.extend_from_slice(segment);
        }
        rest = &from_marker[length..];
    }
}
