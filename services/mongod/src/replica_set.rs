//! Makes a running mongod the writable primary of a replica set of one, or several of them members
//! of one set.

use std::net::Ipv4Addr;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::error::{Error, ErrorKind, Result};
use mongodb::options::{ClientOptions, ServerAddress};
use mongodb::{Client, Database};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// The name of the replica set, as given to `--replSet`.
pub(crate) const NAME: &str = "vitrine";

const POLL: Duration = Duration::from_millis(10);

/// Server error codes, by the names that the manual's list of error codes gives them.
const ALREADY_INITIALIZED: i32 = 23;
const SHUTDOWN_IN_PROGRESS: i32 = 91;
const NOT_YET_INITIALIZED: i32 = 94;
const CONFIGURATION_IN_PROGRESS: i32 = 109;
const INTERRUPTED_AT_SHUTDOWN: i32 = 11_600;
const INTERRUPTED_BY_STATE_CHANGE: i32 = 11_602;

/// Waits until the mongod with this process id is the writable primary at this port,
/// configuring the replica set when it is new or was at another port before.
///
/// This never gives up: the caller limits the time and watches the process.
///
/// # Errors
/// What the server or the driver said, if it does not belong to a normal start.
pub(crate) async fn ready(port: u16, pid: u32) -> Result<()> {
    listens(port).await;
    let member = Direct::connect(port)?;
    while !settled(member.advance(pid).await)? {
        sleep(POLL).await;
    }
    member.close().await;
    Ok(())
}

/// Waits until the mongod with this process id answers at this port. This never gives up: the
/// caller limits the time and watches the process.
pub(crate) async fn answers(port: u16, pid: u32) {
    listens(port).await;
    while let Ok(member) = Direct::connect(port) {
        let found = member.is_process(pid).await;
        member.close().await;
        if matches!(found, Ok(true)) {
            break;
        }
        sleep(POLL).await;
    }
}

/// Makes the servers at these ports, which are members of no set yet, one replica set.
///
/// # Errors
/// What the server or the driver said.
pub(crate) async fn initiate(ports: &[u16], election: Duration) -> Result<()> {
    let member = Direct::connect(ports[0])?;
    let hosts = ports
        .iter()
        .map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    let members: Vec<Document> = (0_i32..)
        .zip(hosts)
        .map(|(id, host)| doc! { "_id": id, "host": host })
        .collect();
    let millis = i64::try_from(election.as_millis()).unwrap_or(i64::MAX);
    let settings = doc! {
        "electionTimeoutMillis": millis,
        "heartbeatIntervalMillis": millis / 4,
        "heartbeatTimeoutSecs": i32::try_from(election.as_secs()).unwrap_or(i32::MAX).max(1),
        // A primary that was elected does not wait for members that are gone.
        "catchUpTimeoutMillis": millis,
    };
    let config = doc! { "_id": NAME, "members": members, "settings": settings };
    let initiated = member.run(doc! { "replSetInitiate": config }).await;
    member.close().await;
    initiated.map(|_| ())
}

/// Waits until somebody listens at this port.
async fn listens(port: u16) {
    // The driver looks again for a server that was not there only every 500 ms.
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .is_err()
    {
        sleep(POLL).await;
    }
}

/// Answers that mean "ask again": the server is still loading its configuration, or closed
/// connections because it changed its state.
fn settled(step: Result<bool>) -> Result<bool> {
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

/// A direct connection to one member.
pub(crate) struct Direct {
    client: Client,
    admin: Database,
    host: String,
}

impl Direct {
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

    /// One step towards a writable primary, whatever the state: `true` when it is reached.
    async fn advance(&self, pid: u32) -> Result<bool> {
        if !self.is_process(pid).await? {
            // Somebody else has the port; our mongod will notice and end.
            return Ok(false);
        }
        match self.config().await? {
            None => self.initiate().await,
            Some(config) if host_of(&config) == Some(&self.host) => self.is_primary().await,
            Some(config) => self.move_here(config).await,
        }
    }

    async fn run(&self, command: Document) -> Result<Document> {
        self.admin.run_command(command).await
    }

    async fn is_process(&self, pid: u32) -> Result<bool> {
        // `none` leaves out every section but the basic facts.
        let status = self.run(doc! { "serverStatus": 1, "none": true }).await?;
        Ok(status.get_i64("pid").ok() == Some(i64::from(pid)))
    }

    pub(crate) async fn is_primary(&self) -> Result<bool> {
        let hello = self.run(doc! { "hello": 1 }).await?;
        Ok(hello.get_bool("isWritablePrimary").unwrap_or(false))
    }

    /// The configuration in the data directory; `None` before the first `replSetInitiate`.
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

    /// The member was at another port in an earlier run, so it does not find itself in its
    /// configuration and would wait for the others. Only `force` is accepted in that state.
    /// mongod first asks whoever has the old port whether that is itself: if that program
    /// accepts connections and says nothing, it waits for 30 s before it comes to this state.
    async fn move_here(&self, mut config: Document) -> Result<bool> {
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
