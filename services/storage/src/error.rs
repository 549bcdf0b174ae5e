//! What can go wrong in storage, sorted by what a caller can do about it. That something is not
//! there is no error; it is `None`.

use mongodb::error::{Error, ErrorKind, WriteFailure};

/// A unique index already has the key (server error `DuplicateKey`).
pub(crate) const DUPLICATE_KEY: i32 = 11_000;
/// The operation took longer than it may (`MaxTimeMSExpired`).
const MAX_TIME_EXPIRED: i32 = 50;
/// The collection is there already (`NamespaceExists`).
pub(crate) const NAMESPACE_EXISTS: i32 = 48;

/// A stream of changes cannot be resumed: `ChangeStreamHistoryLost`, `ChangeStreamFatalError`,
/// `InvalidResumeToken`, `CappedPositionLost`, and the one for a token that is no key string.
const TOO_FAR_BACK: [i32; 5] = [286, 280, 260, 136, 50_811];

/// The server steps down, shuts down or is no primary: `InterruptedAtShutdown`,
/// `InterruptedDueToReplStateChange`, `NotWritablePrimary`, `NotPrimaryNoSecondaryOk`,
/// `NotPrimaryOrSecondary`, `PrimarySteppedDown`, `ShutdownInProgress`.
const STATE_CHANGES: [i32; 7] = [11_600, 11_602, 10_107, 13_435, 13_436, 189, 91];

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// A unique index already has the key; nothing was written.
    #[error("a unique index already has this key: {key}")]
    Conflict {
        /// The fields of the index.
        key: String,
    },
    /// A stored document cannot be read.
    #[error("{collection} {id}: field {field} cannot be read")]
    Corrupt {
        /// Where it is stored.
        collection: &'static str,
        /// Which document.
        id: String,
        /// Which field.
        field: String,
    },
    /// A document was written by a newer release, which knows more of it than this one: it is read,
    /// and never written.
    #[error("{collection} {id} was written by a newer release, which alone may change it")]
    Newer {
        /// Where it is stored.
        collection: &'static str,
        /// Which document.
        id: String,
    },
    /// The database cannot be reached, or is between two primaries. Trying again may help.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Error),
    /// Other writers of the same documents were met too often. Trying again may help.
    #[error("other writers were met too often")]
    Contended(#[source] Error),
    /// What is asked for lies so far back that the database does not know it any more, or that
    /// finding it takes too long.
    #[error("what is asked for lies too far back")]
    TooFarBack,
    /// The operation took longer than it may and was ended by the server.
    #[error("the operation took longer than it may")]
    Timeout(#[source] Error),
    /// Anything else that the driver or the server refuse.
    #[error("the database refused an operation")]
    Driver(#[source] Error),
}

impl From<Error> for StorageError {
    fn from(error: Error) -> Self {
        if is_unavailable(&error) {
            return Self::Unavailable(error);
        }
        match code(&error) {
            Some(MAX_TIME_EXPIRED) => Self::Timeout(error),
            Some(code) if TOO_FAR_BACK.contains(&code) => Self::TooFarBack,
            Some(DUPLICATE_KEY) => Self::Conflict {
                key: "unique".to_owned(),
            },
            _ => Self::Driver(error),
        }
    }
}

/// The server's code, when the server sent one.
pub(crate) fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        _ => None,
    }
}

fn is_unavailable(error: &Error) -> bool {
    let kind = matches!(
        error.kind.as_ref(),
        ErrorKind::Io(_)
            | ErrorKind::ConnectionPoolCleared { .. }
            | ErrorKind::ServerSelection { .. }
            | ErrorKind::DnsResolve { .. }
            | ErrorKind::Shutdown
    );
    kind || error.contains_label(mongodb::error::RETRYABLE_WRITE_ERROR)
        || code(error).is_some_and(|code| STATE_CHANGES.contains(&code))
}
