//! Why a mapping file cannot be used.

use std::path::PathBuf;

/// Why a mapping file cannot be used. The message names the setting and says what would be valid.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// There is neither a file nor a shipped mapping of this name.
    #[error(
        "there is no mapping {name:?}: use the path of a mapping file, or the name of a shipped one: \
         {shipped}"
    )]
    Unknown {
        /// The name or path.
        name: String,
        /// The names of the shipped mappings.
        shipped: String,
    },
    /// The mapping file, or a table it names, cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the mapping is not valid TOML: {0}")]
    Syntax(toml::de::Error),
    /// A setting is unknown, missing or invalid.
    #[error("{path}: {reason}")]
    Setting {
        /// The path of the setting in the file: `product.brand.from`.
        path: String,
        /// What is wrong, and what would be valid.
        reason: String,
    },
}

impl MappingError {
    /// The error of a setting that names a file.
    pub(super) fn file(path: String, error: &Self) -> Self {
        let reason = match error {
            Self::Read { path, source } => format!("cannot read {}: {source}", path.display()),
            other => other.to_string(),
        };
        Self::setting(path, reason)
    }

    pub(super) fn setting(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Setting {
            path: path.into(),
            reason: reason.into(),
        }
    }
}
