//! Files that were uploaded for an import. They are kept for a day.

use crate::clock::Timestamp;
use crate::id::UploadId;

/// The maximum size of an upload in bytes.
pub const MAX_UPLOAD_BYTES: u64 = 512 * 1_024 * 1_024;
/// The maximum size of a file that a mapping names, in bytes.
pub const MAX_TABLE_BYTES: u64 = 64 * 1_024 * 1_024;
/// The size of the parts in which an upload is stored, in bytes. The last one is smaller.
pub const UPLOAD_PART_BYTES: usize = 1_024 * 1_024;
/// How long an upload is kept, in milliseconds.
pub const UPLOAD_KEPT_MILLIS: i64 = 86_400_000;
/// The maximum length of the name of an upload, in characters.
pub const MAX_UPLOAD_NAME: usize = 128;

/// A file that was uploaded completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its id.
    pub id: UploadId,
    /// Its file name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of its parts.
    pub parts: u32,
    /// The subject of the admin who sent it.
    pub by: String,
    /// When it was complete.
    pub created_at: Timestamp,
    /// When it is deleted.
    pub expires_at: Timestamp,
}

/// Returns the file name that a path ends with, if it can be one: 1 to 128 characters, none of them a control
/// character, and not only dots.
#[must_use]
pub fn upload_name(given: &str) -> Option<String> {
    let name = given.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let fits = (1..=MAX_UPLOAD_NAME).contains(&name.chars().count());
    let is_name = fits && !name.chars().any(char::is_control) && name.chars().any(|c| c != '.');
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_folder() {
        let name = |given: &str| upload_name(given).unwrap_or_default();
        assert_eq!(name("feed.csv.gz"), "feed.csv.gz");
        assert_eq!(name("../../etc/passwd"), "passwd");
        assert_eq!(name("C:\\feeds\\Öl.xlsx"), "Öl.xlsx");
        for none in ["", "..", ".", "a/", "a\nb", "/", &"x".repeat(129)] {
            assert_eq!(upload_name(none), None, "{none:?}");
        }
        assert_eq!(name(&"x".repeat(128)).len(), 128);
    }
}
