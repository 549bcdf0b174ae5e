//! Servers for tests that make the server fail. One that is as it was when it started serves the next
//! such test: starting one takes longer than most tests.

use std::sync::{Mutex, PoisonError};

use mongodb::bson::{Bson, Document, doc};
use mongodb::{Client, Database};

use crate::left_databases::LeftDatabases;
use crate::mongod::Server;

/// Fail points are parameters whose names begin so.
const FAIL_POINT: &str = "failpoint.";

/// Servers that earlier tests have left.
static IDLE: Mutex<Vec<OwnServer>> = Mutex::new(Vec::new());

/// A server that one test at a time uses.
#[derive(Debug)]
pub struct OwnServer {
    /// The server.
    pub server: Server,
    /// The databases that tests have left on it.
    pub left: LeftDatabases,
    /// The parameters of the server after its start.
    parameters: Document,
}

impl OwnServer {
    /// Returns a server that an earlier test has left, or starts one.
    ///
    /// # Errors
    /// No mongod is found, or it does not start.
    pub async fn take() -> anyhow::Result<Self> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(server) = idle {
            return Ok(server);
        }
        let server = Server::start("own").await?;
        let parameters = parameters(&admin(&server).await?).await?;
        Ok(Self {
            server,
            // None is spared: [`OwnServer::leave`] ends all sessions.
            left: LeftDatabases::new(0),
            parameters,
        })
    }

    /// Leaves the server to the next test if it can be reset; stops it otherwise.
    ///
    /// # Errors
    /// The server does not answer, or does not shut down cleanly.
    pub async fn leave(self) -> anyhow::Result<()> {
        if !self.reset().await? {
            return self.server.stop().await;
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self);
        Ok(())
    }

    /// Aborts all transactions, ends all fail points, and sets all parameters to their first values. Returns whether they
    /// have them then: some cannot be set.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn reset(&self) -> anyhow::Result<bool> {
        let admin = admin(&self.server).await?;
        // A killed process leaves transactions, which hold what the next test may write.
        admin.run_command(doc! { "killAllSessions": [] }).await?;
        for (name, value) in parameters(&admin).await? {
            let first = self.parameters.get(&name);
            if first == Some(&value) {
                continue;
            }
            let command = if let Some(point) = name.strip_prefix(FAIL_POINT) {
                doc! { "configureFailPoint": point, "mode": "off" }
            } else {
                doc! { "setParameter": 1, name: first }
            };
            let _ = admin.run_command(command).await;
        }
        Ok(parameters(&admin).await? == self.parameters)
    }
}

async fn admin(server: &Server) -> anyhow::Result<Database> {
    Ok(Client::with_uri_str(server.uri()).await?.database("admin"))
}

/// Returns all parameters, and the mode of each fail point.
async fn parameters(admin: &Database) -> anyhow::Result<Document> {
    let mut all = admin.run_command(doc! { "getParameter": "*" }).await?;
    // Of the answer, not of the server.
    for field in ["$clusterTime", "operationTime", "ok"] {
        all.remove(field);
    }
    for (name, value) in all.iter_mut() {
        if name.starts_with(FAIL_POINT) {
            let mode = value.as_document().and_then(|point| point.get("mode"));
            *value = mode.cloned().unwrap_or(Bson::Null);
        }
    }
    Ok(all)
}
