//! Why a MongoDB cannot be used: what the driver leaves out.
//!
//! The driver reports each failed server selection as the same error. [`find_obstacle`] asks the servers of a
//! connection string one by one, without a user, and [`refusal`] says what an error of the driver means.

use std::error::Error as StdError;

use mongodb::error::{CommandError, Error, ErrorKind, WriteFailure};
use mongodb::options::{ClientOptions, ConnectionString};

use self::look::look_for_obstacle;

mod look;

/// Server error codes (MongoDB manual, "Error Codes").
const USER_NOT_FOUND: i32 = 11;
const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;

/// Why no server of a connection string can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The name of a host is unknown.
    #[error("no machine is called {host}")]
    UnknownHost {
        /// The name.
        host: String,
    },
    /// A host refuses connections.
    #[error("nothing listens at {host}")]
    Closed {
        /// The host and its port.
        host: String,
    },
    /// A host does not answer.
    #[error("{host} does not answer")]
    Silent {
        /// The host and its port.
        host: String,
    },
    /// Something else than MongoDB answers.
    #[error("what listens at {host} does not answer as MongoDB does")]
    NotMongo {
        /// The host and its port.
        host: String,
    },
    /// The server speaks TLS, and the connection string says nothing of it.
    #[error("the server at {host} expects TLS")]
    ExpectsTls {
        /// The host and its port.
        host: String,
    },
    /// The server speaks no TLS, and the connection string asks for it.
    #[error("the server at {host} does not use TLS")]
    WithoutTls {
        /// The host and its port.
        host: String,
    },
    /// The certificate of the server is not trusted.
    #[error("the certificate of {host} is not trusted: {reason}")]
    Certificate {
        /// The host and its port.
        host: String,
        /// What is wrong with the certificate.
        reason: String,
    },
    /// The server refuses the TLS connection.
    #[error("{host} refuses the TLS connection: {reason}")]
    Handshake {
        /// The host and its port.
        host: String,
        /// What the server or the driver says.
        reason: String,
    },
    /// The server belongs to another replica set.
    #[error("the replica set at {host} is called {found}, not {wanted}")]
    OtherSet {
        /// The host and its port.
        host: String,
        /// The name of its replica set.
        found: String,
        /// The name in the connection string.
        wanted: String,
    },
    /// The server runs without replication.
    #[error("the MongoDB at this address is a standalone server, which has no transactions")]
    Standalone,
    /// The server is to be a member of a replica set that nobody has founded yet.
    #[error("the server was started with --replSet and its replica set does not exist yet")]
    NotInitiated,
    /// The connection string names one member only, and it is not the primary.
    #[error(
        "{host} is a secondary, and directConnection keeps this process from finding the primary"
    )]
    Secondary {
        /// The host and its port.
        host: String,
    },
    /// No member is primary.
    #[error("the replica set {set} has no primary{}", silent(.missing))]
    NoPrimary {
        /// The name of the replica set.
        set: String,
        /// The members that do not answer.
        missing: Vec<String>,
    },
    /// The members have addresses that cannot be reached from here.
    #[error(
        "the members of the replica set {set} have addresses that cannot be reached from here: {}",
        .members.join(", ")
    )]
    HiddenMembers {
        /// The name of the replica set.
        set: String,
        /// Their addresses.
        members: Vec<String>,
    },
}

fn silent(missing: &[String]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    format!("; these members do not answer: {}", missing.join(", "))
}

impl Obstacle {
    /// Returns what to do about it. The connection string is called by the name of its variable.
    #[must_use]
    pub fn advice(&self) -> String {
        let advice = match self {
            Self::UnknownHost { .. }
            | Self::Closed { .. }
            | Self::Silent { .. }
            | Self::NotMongo { .. } => {
                "check VITRINE_MONGODB_URI, and that the server is running and reachable from here"
            }
            Self::ExpectsTls { .. } => "add tls=true to VITRINE_MONGODB_URI",
            Self::WithoutTls { .. } => "remove tls=true from VITRINE_MONGODB_URI",
            Self::Certificate { .. } => {
                "name the host as its certificate does, and the authority in VITRINE_MONGODB_URI: tlsCAFile=/path/ca.pem"
            }
            Self::Handshake { .. } => {
                "if it expects a certificate of its clients, name one in VITRINE_MONGODB_URI: tlsCertificateKeyFile=/path/client.pem"
            }
            Self::OtherSet { found, .. } => {
                return format!("set replicaSet={found} in VITRINE_MONGODB_URI");
            }
            Self::Standalone => {
                "run it as a replica set (one member will do: start it with --replSet and call rs.initiate())"
            }
            Self::NotInitiated => "call rs.initiate() once on it",
            Self::Secondary { .. } => {
                "name all members in VITRINE_MONGODB_URI, with replicaSet and without directConnection"
            }
            Self::NoPrimary { .. } => "start its members: a majority of them elects the primary",
            Self::HiddenMembers { .. } => {
                "make these addresses reachable, or give the members others with rs.reconfig()"
            }
        };
        advice.to_owned()
    }

    /// Whether waiting does not help: somebody has to change a setting.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::ExpectsTls { .. }
                | Self::WithoutTls { .. }
                | Self::Certificate { .. }
                | Self::Handshake { .. }
                | Self::OtherSet { .. }
                | Self::Standalone
                | Self::Secondary { .. }
        )
    }
}

/// Asks the servers of a connection string, without a user, why they cannot be used. Returns `None` if they can, or if
/// nothing is found out. Takes some seconds at most.
pub async fn find_obstacle(uri: &str) -> Option<Obstacle> {
    look_for_obstacle(ClientOptions::parse(uri).await.ok()?).await
}

/// As [`find_obstacle`], only for a connection string with `directConnection`: a secondary that it names answers, and
/// then refuses writes.
pub async fn find_direct_obstacle(uri: &str) -> Option<Obstacle> {
    let options = ClientOptions::parse(uri).await.ok()?;
    if options.direct_connection != Some(true) {
        return None;
    }
    look_for_obstacle(options).await
}

/// Says in one sentence what an error of the driver means, and what to do if that is known. The connection string, if it
/// is known, tells whose error it is. Returns `None` if the error is not one of the driver; its sources are not looked at.
#[must_use]
pub fn refusal(error: &(dyn StdError + 'static), uri: Option<&str>) -> Option<String> {
    let error = error.downcast_ref::<Error>()?;
    Some(match error.kind.as_ref() {
        ErrorKind::Authentication { .. } => wrong_user(uri),
        ErrorKind::Command(command) => refused_command(command, uri),
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            format!("{} (code {})", write.message, write.code)
        }
        ErrorKind::InvalidArgument { message, .. } => {
            format!("VITRINE_MONGODB_URI is not a connection string: {message}")
        }
        ErrorKind::InvalidTlsConfig { message, .. } => {
            format!("the TLS files in VITRINE_MONGODB_URI cannot be used: {message}")
        }
        kind => kind.to_string(),
    })
}

/// Whether an error of the driver says that the server does not accept the user, or not for this operation. Its sources
/// are not looked at.
#[must_use]
pub fn is_forbidden(error: &(dyn StdError + 'static)) -> bool {
    let Some(error) = error.downcast_ref::<Error>() else {
        return false;
    };
    match error.kind.as_ref() {
        ErrorKind::Authentication { .. } => true,
        ErrorKind::Command(command) => {
            [USER_NOT_FOUND, UNAUTHORIZED, AUTHENTICATION_FAILED].contains(&command.code)
        }
        _ => false,
    }
}

fn refused_command(command: &CommandError, uri: Option<&str>) -> String {
    match command.code {
        USER_NOT_FOUND | AUTHENTICATION_FAILED => wrong_user(uri),
        UNAUTHORIZED => unauthorized(&command.message, uri),
        code => format!("{} (code {code}, {})", command.message, command.code_name),
    }
}

/// The user of a connection string and the database that knows the user. `None` without a user.
fn user(uri: &str) -> Option<String> {
    let parsed = ConnectionString::parse(uri).ok()?;
    let credential = parsed.credential?;
    let source = credential.source.or(parsed.default_database);
    let source = source.as_deref().unwrap_or("admin");
    Some(format!("{} of the database {source}", credential.username?))
}

/// The user of a connection string that has one.
fn known_user(uri: Option<&str>) -> String {
    let user = uri.and_then(user);
    user.unwrap_or_else(|| "of the database".to_owned())
}

fn wrong_user(uri: Option<&str>) -> String {
    format!(
        "the server does not accept the user {}: correct the name, the password or the authSource in VITRINE_MONGODB_URI",
        known_user(uri)
    )
}

fn unauthorized(message: &str, uri: Option<&str>) -> String {
    if uri.is_some_and(|uri| user(uri).is_none()) {
        return "the server expects a user: set VITRINE_MONGODB_URI to \
                mongodb://USER:PASSWORD@HOST/?authSource=admin"
            .to_owned();
    }
    let user = known_user(uri);
    match privilege(message) {
        Some((database, command)) => format!(
            "the user {user} may not run {command} in the database {database}: grant the privileges of its role"
        ),
        None => format!(
            "the user {user} is not signed in any more: it was removed, or its password or roles have changed"
        ),
    }
}

/// Returns the database and the command of `not authorized on shop to execute command { find: "products", … }`.
fn privilege(message: &str) -> Option<(&str, &str)> {
    let (database, command) = message
        .strip_prefix("not authorized on ")?
        .split_once(" to execute command { ")?;
    Some((database, command.split(':').next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "mongodb://ada:secret@db.example/?authSource=shop";

    #[test]
    fn a_missing_privilege_names_user_command_and_database() {
        let message = "not authorized on vitrine to execute command { find: \"products\", filter: { name: \"x\" } }";
        for (uri, user) in [
            (Some(URI), "ada of the database shop"),
            (None, "of the database"),
        ] {
            assert_eq!(
                unauthorized(message, uri),
                format!(
                    "the user {user} may not run find in the database vitrine: grant the privileges of its role"
                )
            );
            let gone = unauthorized("Command find requires authentication", uri);
            assert!(
                gone.starts_with(&format!("the user {user} is not signed in any more")),
                "{gone}"
            );
        }
        let none = unauthorized("Command find requires authentication", Some("mongodb://db"));
        assert!(none.starts_with("the server expects a user"), "{none}");
    }

    #[test]
    fn the_database_of_a_user_is_that_of_the_connection_string() {
        for (uri, source) in [
            (URI, "shop"),
            ("mongodb://ada:secret@db.example/", "admin"),
            ("mongodb://ada:secret@db.example/other", "other"),
        ] {
            let said = wrong_user(Some(uri));
            assert!(
                said.contains(&format!("the user ada of the database {source}:")),
                "{said}"
            );
            assert!(!said.contains("secret"), "{said}");
        }
    }

    #[tokio::test]
    async fn a_wrong_connection_string_is_explained_without_its_password() {
        for (uri, part) in [
            ("db.example:27017", "no scheme"),
            ("mongodb://ada:top-secret@db.example/?tls=perhaps", "tls"),
            ("mongodb://ada:top-secret@db.example:port/", "port"),
        ] {
            let error = ClientOptions::parse(uri).await.unwrap_err();
            let said = refusal(&error, Some(uri)).unwrap();
            assert!(said.starts_with("VITRINE_MONGODB_URI is not"), "{said}");
            assert!(
                said.contains(part) && !said.contains("top-secret"),
                "{said}"
            );
        }
        assert_eq!(refusal(&std::fmt::Error, Some(URI)), None);
    }
}
