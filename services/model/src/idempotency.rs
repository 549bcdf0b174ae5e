//! Idempotency keys: they make it safe to send a request twice.

use std::fmt;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 128;

/// A name that the caller chose for a request: the same key with the same input returns the first
/// outcome, the same key with other input is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text is not a valid idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key is 1 to {MAX_KEY_BYTES} printable ASCII characters")]
pub struct InvalidIdempotencyKey;

impl IdempotencyKey {
    /// Checks and wraps a key.
    ///
    /// # Errors
    /// When it is not 1 to [`MAX_KEY_BYTES`] printable ASCII characters.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidIdempotencyKey> {
        let text = text.into();
        if is_printable(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidIdempotencyKey)
        }
    }

    /// The key qualified by the subject of the request, under which its outcome is stored.
    /// Qualified keys of different subjects never collide, since no key contains a line break.
    #[must_use]
    pub fn of(&self, subject: &str) -> String {
        format!("{subject}\n{}", self.0)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if the text is 1 to [`MAX_KEY_BYTES`] printable ASCII characters.
#[must_use]
pub fn is_printable(text: &str) -> bool {
    let printable = text.bytes().all(|b| (b' '..=b'~').contains(&b));
    printable && (1..=MAX_KEY_BYTES).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short_printable_and_qualified_by_their_subject() {
        let key = IdempotencyKey::parse("k 1").unwrap();
        assert_eq!(key.of("ann"), "ann\nk 1");
        let long = "k".repeat(MAX_KEY_BYTES + 1);
        for bad in ["", "a\nb", "a\u{7f}", "é", &long] {
            let refused = IdempotencyKey::parse(bad).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "an idempotency key is 1 to 128 printable ASCII characters",
                "{bad:?}"
            );
        }
        assert!(IdempotencyKey::parse(&long[1..]).is_ok());
    }
}
