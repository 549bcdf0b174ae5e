//! Configuring a running mongod as the primary of a replica set of one, or several of them as
//! members of one set.

use std::net::Ipv4Addr;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind, Result};
use mongodb::options::{ClientOptions, ServerAddress};
use mongodb::{Client, Database};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// The name of the replica set.
pub(crate) const NAME: &str = "vitrine";

const POLL: Duration = Duration::from_millis(10);

/// Server error codes (MongoDB manual, "Error Codes").
const ALREADY_INITIALIZED: i32 = 23;
const SHUTDOWN_IN_PROGRESS: i32 = 91;
const NOT_YET_INITIALIZED: i32 = 94;
const CONFIGURATION_IN_PROGRESS: i32 = 109;
const INTERRUPTED_AT_SHUTDOWN: i32 = 11_600;
const INTERRUPTED_BY_STATE_CHANGE: i32 = 11_602;

/// Waits until the mongod with this process id is the writable primary at this port. Configures the
/// replica set if it is new or was at another port before.
///
/// Has no time limit: the caller sets one and watches the process.
///
/// # Errors
/// Errors of the server or the driver that do not occur in a normal start.
pub(crate) async fn wait_until_primary(port: u16, pid: u32) -> Result<()> {
    wait_until_listening(port).await;
    let member = DirectConnection::connect(port)?;
    while !false_if_transient(member.advance(pid).await)? {
        sleep(POLL).await;
    }
    member.close().await;
    Ok(())
}

/// Waits until the mongod with this process id answers at this port. Has no time limit: the caller
/// sets one and watches the process.
pub(crate) async fn wait_until_answering(port: u16, pid: u32) {
    wait_until_listening(port).await;
    while let Ok(member) = DirectConnection::connect(port) {
        let is_process = member.is_process(pid).await;
        member.close().await;
        if matches!(is_process, Ok(true)) {
            break;
        }
        sleep(POLL).await;
    }
}

/// Configures the servers at these ports, which are not members of a set yet, as one replica set.
///
/// # Errors
/// Any error of the server or the driver.
pub(crate) async fn initiate(ports: &[u16], election_timeout: Duration) -> Result<()> {
    let member = DirectConnection::connect(ports[0])?;
    let hosts = ports
        .iter()
        .map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    let members: Vec<Document> = (0_i32..)
        .zip(hosts)
        .map(|(id, host)| doc! { "_id": id, "host": host })
        .collect();
    let millis = i64::try_from(election_timeout.as_millis()).unwrap_or(i64::MAX);
    let settings = doc! {
        "electionTimeoutMillis": millis,
        "heartbeatIntervalMillis": millis / 4,
        "heartbeatTimeoutSecs": i32::try_from(election_timeout.as_secs()).unwrap_or(i32::MAX).max(1),
        // A newly elected primary does not wait for members that are down.
        "catchUpTimeoutMillis": millis,
    };
    let config = doc! { "_id": NAME, "members": members, "settings": settings };
    let initiated = member.run(doc! { "replSetInitiate": config }).await;
    member.close().await;
    initiated.map(|_| ())
}

/// Waits until a server listens at this port.
async fn wait_until_listening(port: u16) {
    // The driver would check a missing server only every 500 ms.
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .is_err()
    {
        sleep(POLL).await;
    }
}

/// Returns `false` for errors that mean "not yet": the server is still loading its configuration,
/// or closed connections because its state changed.
fn false_if_transient(step: Result<bool>) -> Result<bool> {
    match step {
        Err(error) if is_transient(&error) => Ok(false),
        other => other,
    }
}

fn is_transient(error: &Error) -> bool {
    let network = matches!(
        *error.kind,
        ErrorKind::Io(_)
            | ErrorKind::ConnectionPoolCleared { .. }
            | ErrorKind::ServerSelection { .. }
    );
    let expected = [
        ALREADY_INITIALIZED,
        SHUTDOWN_IN_PROGRESS,
        NOT_YET_INITIALIZED,
        CONFIGURATION_IN_PROGRESS,
        INTERRUPTED_AT_SHUTDOWN,
        INTERRUPTED_BY_STATE_CHANGE,
    ];
    network || code(error).is_some_and(|code| expected.contains(&code))
}

fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// A direct connection to a member.
pub(crate) struct DirectConnection {
    client: Client,
    admin: Database,
    host: String,
}

impl DirectConnection {
    pub(crate) fn connect(port: u16) -> Result<Self> {
        let host = Ipv4Addr::LOCALHOST.to_string();
        let address = ServerAddress::Tcp {
            host: host.clone(),
            port: Some(port),
        };
        let options = ClientOptions::builder()
            .hosts(vec![address])
            .direct_connection(true)
            .app_name("vitrine-mongod".to_owned())
            .server_selection_timeout(Duration::from_secs(5))
            .build();
        let client = Client::with_options(options)?;
        Ok(Self {
            admin: client.database("admin"),
            client,
            host: format!("{host}:{port}"),
        })
    }

    pub(crate) async fn close(self) {
        self.client.shutdown().immediate(true).await;
    }

    /// Takes the next step towards a writable primary; returns `true` when it is reached.
    async fn advance(&self, pid: u32) -> Result<bool> {
        if !self.is_process(pid).await? {
            // Another program has the port; our mongod will notice and exit.
            return Ok(false);
        }
        match self.config().await? {
            None => self.initiate().await,
            Some(config) if host_of(&config) == Some(&self.host) => self.is_primary().await,
            Some(config) => self.reconfigure(config).await,
        }
    }

    async fn run(&self, command: Document) -> Result<Document> {
        self.admin.run_command(command).await
    }

    async fn is_process(&self, pid: u32) -> Result<bool> {
        // `none` excludes all sections but the basic ones.
        let status = self.run(doc! { "serverStatus": 1, "none": true }).await?;
        Ok(status.get_i64("pid").ok() == Some(i64::from(pid)))
    }

    pub(crate) async fn is_primary(&self) -> Result<bool> {
        let hello = self.run(doc! { "hello": 1 }).await?;
        Ok(hello.get_bool("isWritablePrimary").unwrap_or(false))
    }

    /// Returns the stored configuration; `None` before `replSetInitiate`.
    async fn config(&self) -> Result<Option<Document>> {
        match self.run(doc! { "replSetGetConfig": 1 }).await {
            Ok(mut answer) => Ok(answer
                .remove("config")
                .and_then(|c| c.as_document().cloned())),
            Err(error) if code(&error) == Some(NOT_YET_INITIALIZED) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn initiate(&self) -> Result<bool> {
        let member = doc! { "_id": 0, "host": &self.host };
        let config = doc! { "_id": NAME, "members": [member] };
        self.run(doc! { "replSetInitiate": config }).await?;
        self.is_primary().await
    }

    /// Replaces the host in the configuration. The member was at another port in an earlier run, so
    /// it does not find itself in its configuration and would wait for the others. Only `force` is
    /// accepted in that state. mongod first asks the program at the old port whether it is itself:
    /// if that program accepts connections and sends nothing, mongod takes 30 s to reach this
    /// state.
    async fn reconfigure(&self, mut config: Document) -> Result<bool> {
        let version = config.get_i32("version").unwrap_or(1);
        config.insert("version", version + 1);
        config.insert("members", [doc! { "_id": 0, "host": &self.host }].to_vec());
        config.remove("term");
        self.run(doc! { "replSetReconfig": config, "force": true })
            .await?;
        self.is_primary().await
    }
}

fn host_of(config: &Document) -> Option<&str> {
    let first = config.get_array("members").ok()?.first()?;
    first.as_document()?.get_str("host").ok()
}
