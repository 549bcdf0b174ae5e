//! WebP (RFC 9649).

use bytes::Bytes;
use img_parts::ImageEXIF as _;
use img_parts::riff::{RiffChunk, RiffContent};
use img_parts::webp::{
    CHUNK_ALPH, CHUNK_ANIM, CHUNK_ANMF, CHUNK_ICCP, CHUNK_VP8, CHUNK_VP8L, CHUNK_VP8X, WebP,
};
use vitrine_model::picture::PictureFormat;

use super::orientation::Orientation;
use super::{CleanPicture, PictureRefusal, has_many_chunks};

const DAMAGED: PictureRefusal = PictureRefusal::Damaged("WebP");
/// The flags of chunks that are never kept: XMP, and the frames of an animation.
const REMOVED: u8 = 0b110;
/// The chunks that say how the picture looks.
const KEPT: [[u8; 4]; 5] = [CHUNK_VP8X, CHUNK_VP8, CHUNK_VP8L, CHUNK_ALPH, CHUNK_ICCP];

pub(super) fn clean(bytes: Bytes) -> Result<CleanPicture, PictureRefusal> {
    let length = |chunk: &[u8]| {
        let length = u32::from_le_bytes(*chunk.get(4..)?.first_chunk()?);
        let length = usize::try_from(length).ok()?;
        length.checked_add(8 + length % 2)
    };
    if has_many_chunks(bytes.get(12..), length) {
        return Err(DAMAGED);
    }
    let mut webp = WebP::from_bytes(bytes).map_err(|_| DAMAGED)?;
    let (width, height) = webp.dimensions().ok_or(DAMAGED)?;
    if webp.has_chunk(CHUNK_ANIM) || webp.has_chunk(CHUNK_ANMF) {
        return Err(PictureRefusal::Animated);
    }
    let orientation = webp.exif().and_then(|exif| Orientation::of(&exif));
    let chunks = webp.chunks_mut();
    chunks.retain(|chunk| KEPT.contains(&chunk.id()));
    let is_image = |id: [u8; 4]| id == CHUNK_VP8 || id == CHUNK_VP8L;
    let images = chunks.iter().filter(|chunk| is_image(chunk.id())).count();
    if images != 1 {
        return Err(DAMAGED);
    }
    let mut image = webp.clone();
    image.remove_chunks_by_id(CHUNK_VP8X);
    if image.dimensions() != Some((width, height)) {
        return Err(DAMAGED);
    }
    webp.set_exif(orientation.map(Orientation::to_exif));
    clear_flags(&mut webp);
    // Browsers do not turn WebP (Chromium 148): people see it as it is stored.
    Ok(CleanPicture {
        format: PictureFormat::Webp,
        width,
        height,
        bytes: webp.encoder().bytes(),
    })
}

/// Says that the chunks are not there that are never kept.
fn clear_flags(webp: &mut WebP) {
    let mut chunks = webp.chunks_mut().iter_mut();
    let header = chunks.find(|chunk| chunk.id() == CHUNK_VP8X);
    if let Some(RiffContent::Data(data)) = header.map(RiffChunk::content_mut) {
        let mut flags = data.to_vec();
        if let Some(first) = flags.first_mut() {
            *first &= !REMOVED;
        }
        *data = flags.into();
    }
}
