//! Errors of the database in words: without what the driver writes for its developers.

use std::error::Error;

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

/// Returns an error and its sources in one line, up to the sentence that says what the database has refused.
pub(crate) fn chain_in_words(error: &(dyn Error + 'static), uri: Option<&str>) -> String {
    let mut said = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(sentence) = refusal(cause, uri) {
            said.push(sentence);
            break;
        }
        said.push(cause.to_string());
        next = cause.source();
    }
    said.join(": ")
}
