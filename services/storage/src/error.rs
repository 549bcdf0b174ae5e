//! Storage errors, grouped by what a caller can do about them. Absence is not an error; it is
//! `None`.

use mongodb::error::{Error, ErrorKind, WriteFailure};

/// A duplicate key in a unique index (server error `DuplicateKey`).
pub(crate) const DUPLICATE_KEY: i32 = 11_000;
/// The operation exceeded its time limit (`MaxTimeMSExpired`).
const MAX_TIME_EXPIRED: i32 = 50;
/// A majority did not acknowledge a write in time; the write may still succeed
/// (`WriteConcernFailed`).
const WRITE_CONCERN_FAILED: i32 = 64;
/// No index has this name (`IndexNotFound`).
pub(crate) const INDEX_NOT_FOUND: i32 = 27;

/// A change stream cannot be resumed: `ChangeStreamHistoryLost`, `ChangeStreamFatalError`,
/// `InvalidResumeToken`, `CappedPositionLost`, and the error for a token that is not a key string.
const TOO_FAR_BACK: [i32; 5] = [286, 280, 260, 136, 50_811];

/// The server steps down, shuts down or is not primary: `InterruptedAtShutdown`,
/// `InterruptedDueToReplStateChange`, `NotWritablePrimary`, `NotPrimaryNoSecondaryOk`,
/// `NotPrimaryOrSecondary`, `PrimarySteppedDown`, `ShutdownInProgress`.
const STATE_CHANGES: [i32; 7] = [11_600, 11_602, 10_107, 13_435, 13_436, 189, 91];

/// Why an operation on the database failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// A unique index already contains the key; nothing was written.
    #[error("a unique index already has this key: {key}")]
    Conflict {
        /// The fields of the index, separated by commas.
        key: String,
    },
    /// A stored document cannot be decoded.
    #[error("{collection} {id}: field {field} cannot be read")]
    Corrupt {
        /// The collection.
        collection: &'static str,
        /// The id of the document.
        id: String,
        /// The field that cannot be decoded.
        field: String,
    },
    /// A newer release wrote the document. This release can read it, but must not write it.
    #[error(
        "{collection} {id} was written by a newer release, and only that release may change it"
    )]
    Newer {
        /// The collection.
        collection: &'static str,
        /// The id of the document.
        id: String,
    },
    /// The database cannot be reached, or has no primary at the moment. A retry may succeed.
    /// The driver's error is not a source: it describes every server that it knows.
    #[error("the database cannot be reached: {}", unavailability(.0))]
    Unavailable(Error),
    /// The connection broke during a transaction. Nothing was written.
    #[error("the connection to the database broke")]
    Interrupted(#[source] Error),
    /// Too many write conflicts with other writers. A retry may succeed.
    #[error("too many write conflicts with other operations")]
    Contended(#[source] Error),
    /// The requested position is so old that the database no longer has it, or that finding it
    /// takes too long.
    #[error("the requested position is no longer in the oplog, or takes too long to find")]
    HistoryLost,
    /// The server did not confirm the operation in time. It may still take effect.
    #[error("the database has not answered in time")]
    NoAnswer,
    /// Another primary was elected before the server answered. The operation may have taken effect.
    #[error("another primary was elected before the database answered")]
    LostPrimary,
    /// Another process has taken over the work. Nothing was written.
    #[error("another process has taken over this work")]
    TakenOver,
    /// The server ended the operation because it exceeded its time limit.
    #[error("the operation exceeded its time limit")]
    Timeout(#[source] Error),
    /// Any other error of the driver or the server.
    #[error("the database refused an operation")]
    Driver(#[source] Error),
}

impl StorageError {
    /// Returns whether the error concerns the database as a whole, not one operation.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_)
                | Self::Interrupted(_)
                | Self::LostPrimary
                | Self::NoAnswer
                | Self::Timeout(_)
        )
    }

    /// Maps a write error that is not the caller's fault by its server code.
    pub(crate) fn of_write(code: i32, error: Error) -> Self {
        match code {
            MAX_TIME_EXPIRED => Self::Timeout(error),
            code if STATE_CHANGES.contains(&code) => Self::Unavailable(error),
            _ => Self::Driver(error),
        }
    }
}

impl From<Error> for StorageError {
    fn from(error: Error) -> Self {
        if is_unavailable(&error) {
            return Self::Unavailable(error);
        }
        match code(&error) {
            Some(MAX_TIME_EXPIRED) => Self::Timeout(error),
            Some(WRITE_CONCERN_FAILED) => Self::NoAnswer,
            Some(code) if TOO_FAR_BACK.contains(&code) => Self::HistoryLost,
            Some(DUPLICATE_KEY) => Self::Conflict {
                key: duplicate_key(&error),
            },
            _ => Self::Driver(error),
        }
    }
}

/// Returns the fields of the unique index that refused a write: the `keyPattern` in the server's
/// reply, or in the first write error of the reply.
fn duplicate_key(error: &Error) -> String {
    let pattern = error.server_response().and_then(|reply| {
        let of_write = || {
            let errors = reply.get_array("writeErrors").ok()?;
            let first = errors.into_iter().next()?.ok()?.as_document()?;
            first.get_document("keyPattern").ok()
        };
        reply.get_document("keyPattern").ok().or_else(of_write)
    });
    let fields = pattern.into_iter().flat_map(|pattern| {
        let fields = pattern.into_iter().filter_map(Result::ok);
        fields.map(|(field, _)| field.to_owned().to_string())
    });
    fields.collect::<Vec<_>>().join(",")
}

/// Describes in a few words why the database cannot be reached.
fn unavailability(error: &Error) -> String {
    match error.kind.as_ref() {
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::ServerSelection { .. } => "no primary answers".to_owned(),
        ErrorKind::ConnectionPoolCleared { .. } => "its connections were closed".to_owned(),
        ErrorKind::DnsResolve { .. } => "the name of a server is unknown".to_owned(),
        ErrorKind::Shutdown => "this process is shutting down".to_owned(),
        _ => code(error).map_or_else(
            || "the server cannot answer now".to_owned(),
            |code| format!("the server refused with code {code}"),
        ),
    }
}

/// Returns the server's error code, if the server sent one.
pub(crate) fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) => Some(concern.code),
        _ => None,
    }
}

pub(crate) fn is_unavailable(error: &Error) -> bool {
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

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_unreachable_database_is_described_in_one_short_sentence() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = StorageError::from(Error::from(refused));
        assert_eq!(
            error.to_string(),
            "the database cannot be reached: connection refused"
        );
        assert!(error.source().is_none());
    }

    #[tokio::test]
    async fn a_failed_server_selection_hides_the_drivers_description() {
        // Nothing may listen on port 1, and the driver gets no time.
        let uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1";
        let client = mongodb::Client::with_uri_str(uri).await.unwrap();
        let error = StorageError::from(client.list_database_names().await.unwrap_err());
        assert_eq!(
            error.to_string(),
            "the database cannot be reached: no primary answers"
        );
        assert!(error.source().is_none());
    }
}
