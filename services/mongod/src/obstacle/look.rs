//! Asking the servers of a connection string one by one.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::event::EventHandler;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::{ClientOptions, ServerAddress, Tls, TlsOptions};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Obstacle;

/// How long to wait for a connection, and for an answer.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How many of the servers are asked.
const MAX_ASKED: usize = 8;

/// As [`find_obstacle`](super::find_obstacle), for parsed options.
pub(super) async fn look_for_obstacle(options: ClientOptions) -> Option<Obstacle> {
    let options = Arc::new(options);
    let mut asked = JoinSet::new();
    for host in options.hosts.iter().take(MAX_ASKED).cloned() {
        let options = Arc::clone(&options);
        asked.spawn(async move {
            let answer = ask(&options, &host).await;
            (host, answer)
        });
    }
    let answers = asked.join_all().await;
    let answered = answers
        .iter()
        .find_map(|(host, answer)| Some((host, answer.as_ref().ok()?)));
    if let Some((host, hello)) = answered {
        return judge(&options, host, hello).await;
    }
    answers.into_iter().find_map(|(_, answer)| answer.err())
}

/// Returns what a server says of itself.
async fn ask(options: &ClientOptions, host: &ServerAddress) -> Result<Document, Obstacle> {
    connect(host).await?;
    let failure = match hello(options, host, options.tls.clone()).await {
        Ok(hello) => return Ok(hello),
        Err(failure) => failure,
    };
    let host_name = host.to_string();
    let unverified = TlsOptions::builder()
        .allow_invalid_certificates(true)
        .build();
    if !matches!(options.tls, Some(Tls::Enabled(_))) {
        let speaks = hello(options, host, Some(Tls::Enabled(unverified))).await;
        return Err(match speaks {
            Ok(_) => Obstacle::ExpectsTls { host: host_name },
            Err(Some(error)) if is_alert(&error) => Obstacle::ExpectsTls { host: host_name },
            Err(_) => Obstacle::NotMongo { host: host_name },
        });
    }
    if hello(options, host, Some(Tls::Disabled)).await.is_ok() {
        return Err(Obstacle::WithoutTls { host: host_name });
    }
    let reason = failure.map_or_else(|| "no answer".to_owned(), |error| reason(&error));
    let mut trusting = options.tls.clone();
    if let Some(Tls::Enabled(tls)) = &mut trusting {
        tls.allow_invalid_certificates = Some(true);
    }
    Err(if hello(options, host, trusting).await.is_ok() {
        Obstacle::Certificate {
            host: host_name,
            reason,
        }
    } else {
        Obstacle::Handshake {
            host: host_name,
            reason,
        }
    })
}

/// Connects to a server and says nothing.
async fn connect(host: &ServerAddress) -> Result<(), Obstacle> {
    let name = host.to_string();
    let ServerAddress::Tcp { host, port } = host else {
        return Ok(());
    };
    let target = (host.as_str(), port.unwrap_or(27_017));
    let found = timeout(PATIENCE, tokio::net::lookup_host(target)).await;
    if !matches!(found, Ok(Ok(_))) {
        return Err(Obstacle::UnknownHost { host: host.clone() });
    }
    match timeout(PATIENCE, TcpStream::connect(target)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err(Obstacle::Closed { host: name })
        }
        _ => Err(Obstacle::Silent { host: name }),
    }
}

/// Sends `hello`, which needs no user. Fails with the last error of the connection, if there was one.
async fn hello(
    options: &ClientOptions,
    host: &ServerAddress,
    tls: Option<Tls>,
) -> Result<Document, Option<Error>> {
    let last = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&last);
    let mut options = options.clone();
    options.hosts = vec![host.clone()];
    options.direct_connection = Some(true);
    options.repl_set_name = None;
    options.credential = None;
    options.tls = tls;
    options.connect_timeout = Some(PATIENCE);
    options.server_selection_timeout = Some(PATIENCE);
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        if let SdamEvent::ServerHeartbeatFailed(event) = event {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.failure);
        }
    }));
    let client = Client::with_options(options).map_err(Some)?;
    let answer = client
        .database("admin")
        .run_command(doc! { "hello": 1 })
        .await;
    client.shutdown().immediate(true).await;
    answer.map_err(|_| last.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Whether the other side speaks TLS and refuses this connection.
fn is_alert(error: &Error) -> bool {
    reason(error).contains("alert")
}

/// What the connection failed with, in few words.
fn reason(error: &Error) -> String {
    match error.kind.as_ref() {
        ErrorKind::Io(error) => error.to_string(),
        kind => kind.to_string(),
    }
}

/// Returns why a server that answers is of no use.
async fn judge(
    options: &ClientOptions,
    host: &ServerAddress,
    hello: &Document,
) -> Option<Obstacle> {
    if hello.get_str("msg").ok() == Some("isdbgrid") {
        return None;
    }
    let Ok(set) = hello.get_str("setName") else {
        let waits = hello.contains_key("isreplicaset");
        return Some(if waits {
            Obstacle::NotInitiated
        } else {
            Obstacle::Standalone
        });
    };
    let host = host.to_string();
    if let Some(wanted) = options
        .repl_set_name
        .as_ref()
        .filter(|wanted| *wanted != set)
    {
        let (found, wanted) = (set.to_owned(), wanted.clone());
        return Some(Obstacle::OtherSet {
            host,
            found,
            wanted,
        });
    }
    let is_primary = hello.get_bool("isWritablePrimary").unwrap_or(false);
    if options.direct_connection == Some(true) {
        return (!is_primary).then_some(Obstacle::Secondary { host });
    }
    judge_members(options, set, hello).await
}

/// Returns why no primary of a replica set is found.
async fn judge_members(options: &ClientOptions, set: &str, hello: &Document) -> Option<Obstacle> {
    let set = set.to_owned();
    if let Ok(primary) = hello.get_str("primary") {
        let members = vec![primary.to_owned()];
        return match ask(options, &ServerAddress::parse(primary).ok()?)
            .await
            .err()?
        {
            Obstacle::UnknownHost { .. } | Obstacle::Closed { .. } | Obstacle::Silent { .. } => {
                Some(Obstacle::HiddenMembers { set, members })
            }
            other => Some(other),
        };
    }
    let mut missing = Vec::new();
    for member in hello
        .get_array("hosts")
        .into_iter()
        .flatten()
        .take(MAX_ASKED)
    {
        let member = member.as_str()?;
        if connect(&ServerAddress::parse(member).ok()?).await.is_err() {
            missing.push(member.to_owned());
        }
    }
    // The server that has answered is reached, but not at its own address.
    let is_hidden = hello
        .get_str("me")
        .is_ok_and(|me| missing.iter().any(|one| one == me));
    Some(if is_hidden {
        Obstacle::HiddenMembers {
            set,
            members: missing,
        }
    } else {
        Obstacle::NoPrimary { set, missing }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a set whose members have these addresses, by the one at the first of them.
    async fn judged(hello: Document) -> Option<Obstacle> {
        let options = ClientOptions::parse("mongodb://127.0.0.1/?replicaSet=shop")
            .await
            .unwrap();
        judge(&options, &options.hosts[0], &hello).await
    }

    #[tokio::test]
    async fn members_whose_addresses_are_unknown_here_are_named() {
        let members = ["a.invalid:1", "b.invalid:2"];
        let hidden = |members: &[&str]| Obstacle::HiddenMembers {
            set: "shop".to_owned(),
            members: members.iter().map(|one| (*one).to_owned()).collect(),
        };
        let told = doc! { "setName": "shop", "hosts": &members[..], "me": members[0] };
        assert_eq!(judged(told.clone()).await, Some(hidden(&members)));
        let mut with_primary = told;
        with_primary.insert("primary", members[1]);
        assert_eq!(judged(with_primary).await, Some(hidden(&members[1..])));
    }

    #[tokio::test]
    async fn a_server_without_a_set_is_standalone_or_waits_for_one() {
        assert_eq!(judged(doc! {}).await, Some(Obstacle::Standalone));
        let waits = doc! { "isreplicaset": true };
        assert_eq!(judged(waits).await, Some(Obstacle::NotInitiated));
        assert_eq!(judged(doc! { "msg": "isdbgrid" }).await, None);
    }
}
