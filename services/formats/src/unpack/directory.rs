//! The directory at the end of a zip archive, of which each entry is held in memory.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use memchr::memmem;

/// The maximum number of entries, folders included.
const MAX_ENTRIES: u64 = 100_000;
/// The length of the record at the end without its comment, and that of the longest comment.
const END_BYTES: usize = 22;
const MAX_COMMENT_BYTES: usize = 65_535;
/// The length of what leads to the record of archives with many entries.
const LOCATOR_BYTES: usize = 20;

/// Checks that the directory has few enough entries, before it is read.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(file: &File) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the zip archive cannot be read: {error}");
    let size = file.metadata().map_err(failed)?.len();
    let length = size.min((END_BYTES + MAX_COMMENT_BYTES + LOCATOR_BYTES) as u64);
    let mut end = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut end, size - length)
        .map_err(failed)?;
    let mut found = false;
    for at in memmem::find_iter(&end, b"PK\x05\x06") {
        let Some(entries) = entries(file, &end, at) else {
            continue;
        };
        found = true;
        if entries > MAX_ENTRIES {
            return Err(format!(
                "the zip archive has {entries} entries; at most {MAX_ENTRIES} are read"
            ));
        }
    }
    if found {
        return Ok(());
    }
    Err(
        "the directory at the end of the zip archive is missing: the file may be cut off"
            .to_owned(),
    )
}

/// The number of entries that a record says.
fn entries(file: &File, end: &[u8], at: usize) -> Option<u64> {
    let record = end.get(at..at + END_BYTES)?;
    let entries = u16::from_le_bytes([record[10], record[11]]);
    let locator = at
        .checked_sub(LOCATOR_BYTES)
        .and_then(|start| end.get(start..at));
    let locator = locator.filter(|locator| locator.starts_with(b"PK\x06\x07"));
    let Some(locator) = locator else {
        return Some(u64::from(entries));
    };
    let place = u64::from_le_bytes(locator[8..16].try_into().ok()?);
    let mut record = [0; 40];
    file.read_exact_at(&mut record, place).ok()?;
    let many = u64::from_le_bytes(record[32..40].try_into().ok()?);
    Some(many.max(u64::from(entries)))
}
