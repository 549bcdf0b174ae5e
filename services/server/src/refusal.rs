//! Errors of the database in words: without what the driver writes for its developers.

use std::error::Error;

use anyhow::Chain;
use vitrine_mongod::refusal;

use crate::settings::Secret;

/// Returns the error with the words of the driver replaced by one sentence.
pub(crate) fn in_words(error: anyhow::Error, uri: Option<&Secret>) -> anyhow::Error {
    let uri = uri.map(Secret::reveal);
    if error.chain().all(|cause| refusal(cause, uri).is_none()) {
        return error;
    }
    anyhow::anyhow!(chain_in_words(error.as_ref(), uri))
}

/// Whether the database does not accept its user, or not for this operation.
pub(crate) fn is_forbidden(error: &(dyn Error + 'static)) -> bool {
    Chain::new(error).any(vitrine_mongod::is_forbidden)
}

/// Returns an error and its sources in one line, up to the sentence that says what the database has refused.
pub(crate) fn chain_in_words(error: &(dyn Error + 'static), uri: Option<&str>) -> String {
    let mut said = Vec::new();
    for cause in Chain::new(error) {
        if let Some(sentence) = refusal(cause, uri) {
            said.push(sentence);
            break;
        }
        said.push(cause.to_string());
    }
    said.join(": ")
}

#[cfg(test)]
mod tests {
    use vitrine_domain::DomainError;
    use vitrine_storage::StorageError;

    use super::*;

    #[test]
    fn a_document_that_cannot_be_read_is_no_refusal() {
        let corrupt = StorageError::Corrupt {
            collection: "categories",
            id: "5".to_owned(),
            field: "name".to_owned(),
        };
        let error = DomainError::Internal(Box::new(corrupt));
        assert!(!is_forbidden(&error));
        let said = "internal error: categories 5: field name cannot be read";
        assert_eq!(chain_in_words(&error, None), said);
    }
}
