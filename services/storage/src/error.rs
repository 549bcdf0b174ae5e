//! What can go wrong in storage, sorted by what a caller can do about it. That something is not
//! there is no error; it is `None`.

use mongodb::error::{Error, ErrorKind, WriteFailure};

/// A unique index already has the key (server error `DuplicateKey`).
pub(crate) const DUPLICATE_KEY: i32 = 11_000;
/// The operation took longer than it may (`MaxTimeMSExpired`).
const MAX_TIME_EXPIRED: i32 = 50;
/// A majority has not acknowledged a write in time; it may still take place (`WriteConcernFailed`).
const WRITE_CONCERN_FAILED: i32 = 64;
/// There is no index of this name (`IndexNotFound`).
pub(crate) const INDEX_NOT_FOUND: i32 = 27;

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
    // The driver's error is no source: it describes every server that it knows of.
    #[error("the database cannot be reached: {}", unavailability(.0))]
    Unavailable(Error),
    /// The connection broke in the middle of a transaction. Nothing was written.
    #[error("the connection to the database broke")]
    Interrupted(#[source] Error),
    /// Other writers of the same documents were met too often. Trying again may help.
    #[error("other writers were met too often")]
    Contended(#[source] Error),
    /// What is asked for lies so far back that the database does not know it any more, or that
    /// finding it takes too long.
    #[error("what is asked for lies too far back")]
    TooFarBack,
    /// The server has not answered in time. What was asked for may still take place.
    #[error("the database has not answered in time")]
    NoAnswer,
    /// Another primary was elected before the one that was asked answered. What was asked for may
    /// have taken place.
    #[error("another primary was elected before the database answered")]
    LostPrimary,
    /// Another process has taken over what was to be done. Nothing was written.
    #[error("another process has taken this over")]
    TakenOver,
    /// The operation took longer than it may and was ended by the server.
    #[error("the operation took longer than it may")]
    Timeout(#[source] Error),
    /// Anything else that the driver or the server refuse.
    #[error("the database refused an operation")]
    Driver(#[source] Error),
}

impl StorageError {
    /// Whether the database itself is in trouble, and not one operation.
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

    /// What a write error means that is not the caller's fault, by the server's code.
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
            Some(code) if TOO_FAR_BACK.contains(&code) => Self::TooFarBack,
            Some(DUPLICATE_KEY) => Self::Conflict {
                key: duplicate_key(&error),
            },
            _ => Self::Driver(error),
        }
    }
}

/// The fields of the unique index that refused a write, from the `keyPattern` that the server's
/// answer has, of the command or of its first write error.
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

/// Why a database cannot be reached, in a few words.
fn unavailability(error: &Error) -> String {
    match error.kind.as_ref() {
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::ServerSelection { .. } => "no server answers as the primary".to_owned(),
        ErrorKind::ConnectionPoolCleared { .. } => "its connections were closed".to_owned(),
        ErrorKind::DnsResolve { .. } => "the name of a server is unknown".to_owned(),
        ErrorKind::Shutdown => "this process is about to end".to_owned(),
        _ => code(error).map_or_else(
            || "the server cannot answer now".to_owned(),
            |code| format!("the server refused with code {code}"),
        ),
    }
}

/// The server's code, when the server sent one.
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
    fn an_unreachable_database_is_told_in_one_short_sentence() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = StorageError::from(Error::from(refused));
        assert_eq!(
            error.to_string(),
            "the database cannot be reached: connection refused"
        );
        assert!(error.source().is_none());
    }

    #[tokio::test]
    async fn the_driver_does_not_describe_its_servers() {
        // Nobody may listen at port 1, and the driver is given no time.
        let uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1";
        let client = mongodb::Client::with_uri_str(uri).await.unwrap();
        let error = StorageError::from(client.list_database_names().await.unwrap_err());
        assert_eq!(
            error.to_string(),
            "the database cannot be reached: no server answers as the primary"
        );
        assert!(error.source().is_none());
    }
}
