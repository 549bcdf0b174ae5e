//! The cached result of validating a document.

use std::fmt;

use super::{ResponseError, plan::DocumentPlan};

/// The result of validating a document: its plan, or the errors.
pub struct ValidatedDocument {
    /// The SHA-256 hash of the text.
    pub(super) key: [u8; 32],
    pub(super) outcome: Result<DocumentPlan, Vec<ResponseError>>,
    /// The estimated size in the cache, in bytes.
    pub(super) weight: u32,
}

impl ValidatedDocument {
    /// Returns the errors of a refused document; empty for a valid one.
    #[must_use]
    pub fn errors(&self) -> &[ResponseError] {
        match &self.outcome {
            Ok(_) => &[],
            Err(errors) => errors,
        }
    }

    /// The weight is a safe estimate: a syntax tree takes some tens of bytes per character.
    pub(super) fn accepted(key: [u8; 32], plan: DocumentPlan, length: usize) -> Self {
        Self {
            key,
            outcome: Ok(plan),
            weight: u32::try_from(length * 64 + 1024).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn refused(key: [u8; 32], errors: Vec<ResponseError>) -> Self {
        let text: usize = errors.iter().map(|error| error.message.len() + 256).sum();
        Self {
            key,
            outcome: Err(errors),
            weight: u32::try_from(text + 256).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Debug for ValidatedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidatedDocument")
            .field("errors", &self.errors())
            .finish_non_exhaustive()
    }
}
