//! Where feeds are: files, folders, addresses, and standard input.

use std::fs;
use std::path::{Path, PathBuf};

use super::address::Address;
use super::{FeedError, failed};

/// Where one feed, or an archive of feeds, is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    Address(Address),
    StandardInput,
}

impl Place {
    /// Its name in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Address(address) => address.to_string(),
            Self::StandardInput => "standard input".to_owned(),
        }
    }

    /// The name of the file, by which its format may be known.
    pub(super) fn file_name(&self) -> String {
        let path = match self {
            Self::File(path) => path.as_path(),
            Self::Address(address) => Path::new(address.path()),
            Self::StandardInput => Path::new("feed"),
        };
        let name = path.file_name();
        name.map_or_else(
            || "feed".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

/// The last part of the name of a place, without anything that is secret.
#[must_use]
pub fn file_name(place: &Path) -> String {
    let is_plain = |text: &str| text != "-" && !text.contains("://");
    let place = match place.to_str() {
        Some(text) if !is_plain(text) => one(place),
        _ => Ok(Place::File(place.to_owned())),
    };
    place.map_or_else(|_| "feed".to_owned(), |place| place.file_name())
}

/// The place that a word of a command line means.
fn one(path: &Path) -> Result<Place, FeedError> {
    match path.to_str() {
        Some("-") => Ok(Place::StandardInput),
        Some(text) if text.contains("://") => {
            let address = Address::parse(text).map_err(|reason| FeedError::Form {
                path: PathBuf::from(text.split(['?', '#']).next().unwrap_or_default()),
                reason,
            })?;
            Ok(Place::Address(address))
        }
        _ => Ok(Place::File(path.to_owned())),
    }
}

/// The places that a word of a command line means: of a folder its files, in the order of their
/// names.
///
/// # Errors
/// [`FeedError`] if there is no such file, or nothing in the folder.
pub(super) fn places(path: &Path, pattern: Option<&str>) -> Result<Vec<Place>, FeedError> {
    let place = one(path)?;
    let Place::File(path) = &place else {
        return Ok(vec![place]);
    };
    if !fs::metadata(path).map_err(failed(path))?.is_dir() {
        return Ok(vec![place]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        let entry = entry.map_err(failed(path))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_wanted =
            !name.starts_with('.') && pattern.is_none_or(|pattern| fits(pattern, &name));
        // Not the type of the entry, which is that of a link.
        if is_wanted && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    if files.is_empty() {
        let reason = match pattern {
            Some(pattern) => format!("the folder has no file {pattern}"),
            None => "the folder has no file".to_owned(),
        };
        let path = path.clone();
        return Err(FeedError::Form { path, reason });
    }
    files.sort();
    Ok(files.into_iter().map(Place::File).collect())
}

/// Whether a name fits a pattern, in which `*` is any text and `?` any character.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut in_pattern, mut in_name) = (0, 0);
    // Where the last `*` is, and where what follows it was tried.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, in_name));
                in_pattern += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[in_name] => {
                in_pattern += 1;
                in_name += 1;
            }
            _ => {
                let Some((at, tried)) = star else {
                    return false;
                };
                star = Some((at, tried + 1));
                (in_pattern, in_name) = (at + 1, tried + 1);
            }
        }
    }
    pattern[in_pattern..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("*.csv*", "a.csv.gz", true),
            ("p?.x", "p1.x", true),
            ("p?.x", "p12.x", false),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("*", "", true),
            ("", "a", false),
            ("\u{e9}?", "\u{e9}\u{e9}", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_of_places_are_without_secrets() {
        for (place, expected) in [
            ("a/b.csv", "b.csv"),
            ("a/b/", "b"),
            ("-", "feed"),
            ("https://e.org/x/b.csv?token=1", "b.csv"),
            ("https://e.org", "feed"),
            ("ftp://e.org/x", "feed"),
        ] {
            assert_eq!(file_name(Path::new(place)), expected);
        }
    }
}
