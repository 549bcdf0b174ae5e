//! PNG (W3C, third edition).

use bytes::Bytes;
use img_parts::ImageEXIF as _;
use img_parts::png::Png;
use vitrine_model::picture::PictureFormat;

use super::orientation::Orientation;
use super::{CleanPicture, PictureRefusal, has_many_chunks};

const DAMAGED: PictureRefusal = PictureRefusal::Damaged("PNG");
/// The chunks that say how the picture looks.
const KEPT: [&[u8; 4]; 14] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB",
    b"cICP", b"mDCV", b"cLLI", b"pHYs",
];

pub(super) fn clean(bytes: Bytes) -> Result<CleanPicture, PictureRefusal> {
    let length = |chunk: &[u8]| {
        let length = u32::from_be_bytes(*chunk.first_chunk()?);
        usize::try_from(length).ok()?.checked_add(12)
    };
    if has_many_chunks(bytes.get(8..), length) {
        return Err(DAMAGED);
    }
    let mut png = Png::from_bytes(bytes).map_err(|_| DAMAGED)?;
    let (width, height) = png.dimensions().ok_or(DAMAGED)?;
    if png.chunk_by_type(*b"acTL").is_some() {
        return Err(PictureRefusal::Animated);
    }
    let orientation = png.exif().and_then(|exif| Orientation::of(&exif));
    let chunks = png.chunks_mut();
    let end = chunks.iter().position(|chunk| chunk.kind() == *b"IEND");
    chunks.truncate(end.ok_or(DAMAGED)? + 1);
    chunks.retain(|chunk| KEPT.contains(&&chunk.kind()));
    let is_first = chunks.first().is_some_and(|first| first.kind() == *b"IHDR");
    if !is_first || png.chunk_by_type(*b"IDAT").is_none() {
        return Err(DAMAGED);
    }
    png.set_exif(orientation.map(Orientation::to_exif));
    let (width, height) = Orientation::shown(orientation, (width, height));
    Ok(CleanPicture {
        format: PictureFormat::Png,
        width,
        height,
        bytes: png.encoder().bytes(),
    })
}
