//! Deriving spec keys from paths: `dimensions_mm.width` becomes `width`, `clocks.base` becomes
//! `clocks_base`.

use std::sync::Arc;

use vitrine_model::spec::{check_key, key_of_name};
use vitrine_model::unit::UnitTable;

use super::super::error::MappingError;
use super::super::path::PathStep;
use super::super::section::{Section, text};
use super::super::uses::{Use, Uses};
use super::unit_id;

/// How keys are derived from paths.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyStyle {
    /// Whether only the last step is used; otherwise all are joined.
    last: bool,
    /// Steps that are omitted.
    omit: Vec<(String, Arc<Use>)>,
    /// Suffixes of steps that name a unit, with the unit.
    suffixes: Vec<(String, String, Arc<Use>)>,
}

/// The words of a key that is derived from a path, and the unit named by a suffix of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DerivedKey {
    pub(super) words: Vec<String>,
    pub(super) unit: Option<String>,
}

impl KeyStyle {
    pub(super) fn read(
        section: &Section<'_>,
        table: &UnitTable,
        uses: &Uses,
    ) -> Result<Self, MappingError> {
        let used = |setting: &str, text: &str| {
            let used = uses.add(section.at(setting), text);
            used.asked(false);
            used
        };
        let last = section.choice("keys", &[("joined", false), ("last", true)])?;
        let omit = section.texts("omit")?;
        let suffixes: Result<_, MappingError> = section
            .entries("unit_suffixes")?
            .into_iter()
            .map(|(path, suffix, value)| {
                let unit = unit_id(&path, text(path.clone(), value)?, table)?;
                Ok((suffix.clone(), unit, used("unit_suffixes", suffix)))
            })
            .collect();
        Ok(Self {
            last: last.unwrap_or(false),
            omit: omit
                .into_iter()
                .map(|step| (step.to_owned(), used("omit", step)))
                .collect(),
            suffixes: suffixes?,
        })
    }

    /// Derives the words of the key of a path.
    pub(super) fn derive(&self, path: &[PathStep]) -> DerivedKey {
        let mut unit = None;
        let steps = path.iter().filter_map(|step| match step {
            PathStep::Key(key) if !self.omits(key) => Some(key.as_str()),
            _ => None,
        });
        let mut words: Vec<&str> = Vec::new();
        for step in steps {
            let (word, suffix_unit) = self.without_suffix(step);
            words.push(word);
            unit = suffix_unit.or(unit);
        }
        if self.last {
            words.drain(..words.len().saturating_sub(1));
        }
        DerivedKey {
            words: words.into_iter().map(str::to_owned).collect(),
            unit: unit.map(str::to_owned),
        }
    }

    fn omits(&self, key: &str) -> bool {
        let omitted = self.omit.iter().find(|(step, _)| step == key);
        omitted.inspect(|(_, used)| used.asked(true)).is_some()
    }

    fn without_suffix<'k>(&self, step: &'k str) -> (&'k str, Option<&str>) {
        let mut endings = self.suffixes.iter().filter_map(|(suffix, unit, used)| {
            let word = step.strip_suffix(suffix.as_str())?;
            (!word.is_empty()).then_some((word, unit.as_str(), used))
        });
        let ending = endings.next();
        ending.map_or((step, None), |(word, unit, used)| {
            used.asked(true);
            (word, Some(unit))
        })
    }
}

/// Derives a key from the words that a feed has for it, which begins with the prefix if there is one.
///
/// # Errors
/// If they have no letter or digit.
pub(super) fn key_with_prefix(prefix: Option<&str>, words: &str) -> Result<String, String> {
    let key = match prefix {
        Some(prefix) => key_of_name(words).and_then(|_| key_of_name(&format!("{prefix}{words}"))),
        None => key_of_name(words),
    };
    key.ok_or_else(|| {
        format!(
            "no spec key can be derived from {:?}; set one by rename, or in a rule by key or key_values",
            super::super::number::shortened(words)
        )
    })
}

/// Checks a key that the mapping specifies.
pub(super) fn checked(key: &str) -> Result<(), String> {
    check_key(key).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::super::path::Path;
    use super::*;

    fn style(toml: &str) -> KeyStyle {
        let table = toml.parse().unwrap();
        let uses = Uses::default();
        KeyStyle::read(
            &Section::new("specs", &table),
            &UnitTable::built_in(),
            &uses,
        )
        .unwrap()
    }

    fn make(style: &KeyStyle, path: &str) -> (Option<String>, Option<String>) {
        let derived = style.derive(Path::parse(path).unwrap().steps());
        let key = key_with_prefix(None, &derived.words.join("_"));
        (key.ok(), derived.unit)
    }

    #[test]
    fn keys_are_derived_from_paths() {
        let joined =
            style("omit = \"specifications\"\nunit_suffixes = { _mm = \"mm\", _gb = \"GB\" }");
        let some = |key: &str| Some(key.to_owned());
        assert_eq!(
            make(&joined, "specifications.eccSupport"),
            (some("ecc_support"), None)
        );
        assert_eq!(
            make(&joined, "dimensions_mm.width"),
            (some("dimensions_width"), some("mm"))
        );
        assert_eq!(
            make(&joined, "modules[].capacity_gb"),
            (some("modules_capacity"), some("GB"))
        );
        assert_eq!(make(&joined, "isOEM"), (some("is_oem"), None));
        assert_eq!(
            make(&joined, "USBPorts.Größe (cm)"),
            (some("usb_ports_grosse_cm"), None)
        );
        let last = style("keys = \"last\"\nunit_suffixes = { _mm = \"mm\" }");
        assert_eq!(
            make(&last, "dimensions_mm.width"),
            (some("width"), some("mm"))
        );
    }

    #[test]
    fn some_paths_have_no_key() {
        for path in ["\"\"", "\"$\"", "\"🙂\""] {
            assert_eq!(make(&KeyStyle::default(), path).0, None, "{path}");
        }
    }

    #[test]
    fn names_that_no_key_is_written_like_have_one() {
        let key = |words: &str| key_with_prefix(None, words).unwrap();
        assert_eq!(
            [key("C"), key("C++"), key("C#")],
            ["c", "c_plus_plus", "c_sharp"]
        );
        assert_eq!(key("4G"), "spec_4g");
        assert_eq!(key_with_prefix(Some("net_"), "4G").unwrap(), "net_4g");
        assert_ne!(key("Цвет"), key("颜色"));
        assert!(key_with_prefix(Some("net_"), "$").is_err());
    }
}
