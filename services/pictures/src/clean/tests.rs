//! The pictures are in `fixtures`: 64 by 48 pixels, with everything in them that must not be shown to others: texts that
//! begin with "Secret", a place, and data behind the end.

use proptest::prelude::*;

use super::*;

const PHOTO: &[u8] = include_bytes!("fixtures/photo.jpg");
const PROGRESSIVE: &[u8] = include_bytes!("fixtures/progressive.jpg");
const DRAWING: &[u8] = include_bytes!("fixtures/drawing.png");
const WEBP: &[u8] = include_bytes!("fixtures/photo.webp");
const LOSSLESS: &[u8] = include_bytes!("fixtures/lossless.webp");

fn cleaned(bytes: &'static [u8]) -> Result<CleanPicture, PictureRefusal> {
    clean(Bytes::from_static(bytes))
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[test]
fn metadata_and_what_follows_the_image_are_removed() {
    for (picture, format) in [
        (PHOTO, PictureFormat::Jpeg),
        (PROGRESSIVE, PictureFormat::Jpeg),
        (DRAWING, PictureFormat::Png),
        (WEBP, PictureFormat::Webp),
        (LOSSLESS, PictureFormat::Webp),
    ] {
        assert!(contains(picture, b"Secret"), "the fixture has a secret");
        let clean = cleaned(picture).unwrap();
        assert_eq!(clean.format, format);
        assert!(!contains(&clean.bytes, b"Secret"));
        assert!(clean.bytes.len() < picture.len());
        let again = super::clean(clean.bytes.clone()).unwrap();
        assert_eq!(again, clean, "a clean picture stays as it is");
    }
}

#[test]
fn colour_profiles_and_the_orientation_stay() {
    for (picture, profile, size) in [
        (PHOTO, &b"ICC_PROFILE"[..], (48, 64)),
        (DRAWING, b"iCCP", (48, 64)),
        (WEBP, b"ICCP", (64, 48)),
    ] {
        let clean = cleaned(picture).unwrap();
        assert!(contains(&clean.bytes, profile));
        assert_eq!((clean.width, clean.height), size, "as browsers show it");
        assert!(contains(&clean.bytes, b"II*\0\x08\0\0\0\x01\0\x12\x01"));
    }
    for upright in [PROGRESSIVE, LOSSLESS] {
        let clean = cleaned(upright).unwrap();
        assert_eq!((clean.width, clean.height), (64, 48));
        assert!(!contains(&clean.bytes, b"II*\0"));
    }
}

#[test]
fn every_scan_of_a_progressive_picture_stays() {
    let scans = |bytes: &[u8]| bytes.windows(2).filter(|two| two == b"\xff\xda").count();
    let clean = cleaned(PROGRESSIVE).unwrap();
    assert!(scans(PROGRESSIVE) > 2);
    assert_eq!(scans(&clean.bytes), scans(PROGRESSIVE));
    assert!(clean.bytes.ends_with(b"\xff\xd9"));
}

#[test]
fn other_files_are_refused_by_name() {
    for (bytes, name) in [
        (&b"GIF89a.."[..], "a GIF"),
        (b"\0\0\0\x18ftypheic....", "a HEIC"),
        (b"\0\0\0\x18ftypavif....", "an AVIF"),
        (b"\0\0\0\x18ftypmp42....", "a video"),
        (b"<?xml version='1.0'?><SVG onload='x'>", "an SVG"),
        (b"<!doctype html><script>alert(1)</script>", "a page"),
        (b"%PDF-1.7", "a PDF"),
        (b"II*\0....", "a TIFF, or a raw picture of a camera"),
        (b"hello", "no picture"),
    ] {
        assert_eq!(cleaned(bytes), Err(PictureRefusal::Format(name)));
    }
    assert_eq!(cleaned(b""), Err(PictureRefusal::Empty));
    for animated in [
        &include_bytes!("fixtures/moving.png")[..],
        include_bytes!("fixtures/moving.webp"),
    ] {
        assert_eq!(cleaned(animated), Err(PictureRefusal::Animated));
    }
}

#[test]
fn a_file_that_ends_early_is_refused() {
    for picture in [PHOTO, PROGRESSIVE, DRAWING, WEBP, LOSSLESS] {
        let whole = cleaned(picture).unwrap().bytes;
        for length in 3..whole.len() {
            let cut = super::clean(whole.slice(..length));
            assert!(cut.is_err(), "{length} of {} bytes", whole.len());
        }
    }
}

#[test]
fn the_number_of_pixels_is_limited() {
    let header = |width: u32, height: u32| {
        let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
        header.extend_from_slice(&[8, 2, 0, 0, 0]);
        let chunk = |kind: &[u8; 4], contents: Vec<u8>| {
            img_parts::png::PngChunk::new(*kind, contents.into())
                .encoder()
                .bytes()
        };
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, contents) in [(b"IHDR", header), (b"IDAT", vec![0]), (b"IEND", Vec::new())] {
            png.extend_from_slice(&chunk(kind, contents));
        }
        clean(png.into()).map(|clean| (clean.width, clean.height))
    };
    for (width, height) in [(32, 32), (16_000, 3_125), (7_071, 7_071)] {
        assert_eq!(header(width, height), Ok((width, height)));
    }
    for (width, height) in [
        (31, 32),
        (32, 31),
        (16_001, 32),
        (7_072, 7_072),
        (u32::MAX, 40),
    ] {
        let refusal = header(width, height).unwrap_err();
        assert_eq!(refusal, PictureRefusal::Size(width, height));
    }
    let message = header(1, 2).unwrap_err().to_string();
    assert_eq!(
        message,
        "has 1 by 2 pixels; 32 to 16000 are possible for each side, and 50 million in all"
    );
}

/// A segment of a JPEG.
fn segment(marker: u8, contents: &[u8]) -> Vec<u8> {
    let length = u16::try_from(contents.len() + 2).unwrap().to_be_bytes();
    [&[0xff, marker], &length[..], contents].concat()
}

#[test]
fn a_jpeg_has_one_frame_that_browsers_show() {
    let whole = cleaned(PROGRESSIVE).unwrap().bytes;
    // A lossless frame, which browsers do not show, and a second one that is much larger.
    for marker in [0xc0, 0xc3, 0xc9] {
        let frame = segment(marker, &[8, 0xff, 0xff, 0xff, 0xff, 3]);
        let two = [&whole[..2], &frame, &whole[2..]].concat();
        let refusal = clean(two.into()).unwrap_err();
        assert_eq!(refusal, PictureRefusal::Damaged("JPEG"), "{marker:x}");
    }
}

#[test]
fn what_adobe_says_about_colours_is_all_that_stays_of_its_segment() {
    let whole = cleaned(PROGRESSIVE).unwrap().bytes;
    let adobe = segment(0xee, b"Adobe\0\x64\0\0\0\0\x01SecretAdobe");
    let with = clean([&whole[..2], &adobe, &whole[2..]].concat().into()).unwrap();
    assert!(contains(&with.bytes, b"Adobe\0\x64"));
    assert!(!contains(&with.bytes, b"Secret"));
}

#[test]
fn a_file_of_very_many_chunks_is_refused() {
    let png = cleaned(DRAWING).unwrap().bytes;
    let empty = img_parts::png::PngChunk::new(*b"IDAT", Bytes::new());
    let empty = empty.encoder().bytes().repeat(MAX_CHUNKS);
    let end = png.len() - 12;
    let many = [&png[..end], &empty, &png[end..]].concat();
    assert_eq!(clean(many.into()), Err(PictureRefusal::Damaged("PNG")));
    let webp = cleaned(LOSSLESS).unwrap().bytes;
    let mut many = [&webp[..], &b"ALPH\0\0\0\0".repeat(MAX_CHUNKS)].concat();
    let length = u32::try_from(many.len() - 8).unwrap();
    many[4..8].copy_from_slice(&length.to_le_bytes());
    assert_eq!(clean(many.into()), Err(PictureRefusal::Damaged("WebP")));
}

#[test]
fn a_webp_that_is_larger_than_it_says_is_refused() {
    let mut webp = cleaned(WEBP).unwrap().bytes.to_vec();
    // The width of the canvas, less one.
    assert_eq!(webp[24], 63);
    webp[24] = 62;
    assert_eq!(clean(webp.into()), Err(PictureRefusal::Damaged("WebP")));
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let mut large = PHOTO.to_vec();
    large.resize(MAX_PICTURE_BYTES + 1, 0);
    assert_eq!(clean(large.into()), Err(PictureRefusal::TooLarge));
}

proptest! {
    /// Whatever is sent, there is an answer, and what is accepted is accepted again unchanged.
    #[test]
    fn damaged_pictures_are_refused_or_clean(
        which in 0_usize..5,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = [PHOTO, PROGRESSIVE, DRAWING, WEBP, LOSSLESS][which].to_vec();
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(accepted) = clean(bytes.into()) {
            prop_assert!(!contains(&accepted.bytes, b"SecretTail"));
            prop_assert_eq!(clean(accepted.bytes.clone()), Ok(accepted));
        }
    }
}
