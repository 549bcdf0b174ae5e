//! Where feeds are: files, folders, addresses, and standard input.

use std::fs;
use std::path::{Path, PathBuf};

use super::address::Address;
use super::{FeedError, failed};

/// Where one feed, or an archive of feeds, is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    /// A file of a folder that is divided by the values of columns.
    Part(PathBuf, Vec<Partition>),
    Address(Address),
    StandardInput,
}

/// A column whose value is in the name of a folder, `maker=Tarn`; `None` if it is unknown.
pub(super) type Partition = (String, Option<String>);

impl Place {
    /// Its name in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Part(path, _) => path.display().to_string(),
            Self::Address(address) => address.to_string(),
            Self::StandardInput => "standard input".to_owned(),
        }
    }

    /// The name of the file, by which its format may be known.
    pub(super) fn file_name(&self) -> String {
        let path = match self {
            Self::File(path) | Self::Part(path, _) => path.as_path(),
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
    add_files(path, pattern, &[], &mut files)?;
    if files.is_empty() {
        let reason = match pattern {
            Some(pattern) => format!("the folder has no file {pattern}"),
            None => "the folder has no file".to_owned(),
        };
        let path = path.clone();
        return Err(FeedError::Form { path, reason });
    }
    files.sort();
    let files = files.into_iter().map(|(path, partitions)| {
        if partitions.is_empty() {
            Place::File(path)
        } else {
            Place::Part(path, partitions)
        }
    });
    Ok(files.collect())
}

/// The maximum number of columns in the names of folders.
const MAX_PARTITIONS: usize = 16;
/// What programs write beside the files of a folder that is divided.
const NOTES: [&str; 5] = [
    "_SUCCESS",
    "_metadata",
    "_common_metadata",
    "_started_",
    "_committed_",
];

/// Adds the files in a folder, and in its folders whose names have the value of a column.
fn add_files(
    folder: &Path,
    pattern: Option<&str>,
    partitions: &[Partition],
    files: &mut Vec<(PathBuf, Vec<Partition>)>,
) -> Result<(), FeedError> {
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Not the type of the entry, which is that of a link.
        let path = entry.path();
        if name.starts_with('.') || NOTES.iter().any(|note| name.starts_with(note)) {
            continue;
        }
        if path.is_file() {
            if pattern.is_none_or(|pattern| fits(pattern, &name)) {
                files.push((path, partitions.to_vec()));
            }
        } else if let Some(partition) = partition(&name)
            && partitions.len() < MAX_PARTITIONS
        {
            let inner = [partitions, &[partition]].concat();
            add_files(&path, pattern, &inner, files)?;
        }
    }
    Ok(())
}

/// The column and value that the name of a folder is.
fn partition(name: &str) -> Option<Partition> {
    let (column, value) = name
        .split_once('=')
        .filter(|(column, _)| !column.is_empty())?;
    let decoded = |text: &str| percent_decoded(text);
    let is_known = value != "__HIVE_DEFAULT_PARTITION__";
    Some((decoded(column), is_known.then(|| decoded(value))))
}

/// A text in which some signs are written as `%2F`.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
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
