//! A replica set of one member with access control, and TLS if a test wants it: as operators run their own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::{Client, Database};
use tempfile::TempDir;
use vitrine_harness::eventually;
use vitrine_harness::mongod::find_mongod;
use vitrine_mongod::{Instance, StartOptions};

const WITHIN: Duration = Duration::from_mins(1);
/// The password of all users.
pub(crate) const PASSWORD: &str = "correct-horse";

/// A running server whose users have passwords.
pub(crate) struct Secured {
    child: Child,
    pub(crate) host: String,
    data: TempDir,
}

/// A user of the database `admin`, with what it may do.
pub(crate) struct User<'a> {
    pub(crate) name: &'a str,
    /// Built-in roles, each with its database.
    pub(crate) roles: &'a [(&'a str, &'a str)],
    /// What it may do in all collections of the database `shop` beside its roles.
    pub(crate) actions: &'a [&'a str],
}

/// The user that creates others.
const ROOT: User<'_> = User {
    name: "root",
    roles: &[("root", "admin")],
    actions: &[],
};

impl Secured {
    /// Starts a server with these users, and further arguments for `mongod`.
    pub(crate) async fn start(users: &[User<'_>], further: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut options = StartOptions::new(data.path());
        options.cache_mib = 256;
        options.ephemeral = true;
        let mongod = find_mongod().await.unwrap();
        // Without access control, which would forbid what follows.
        let instance = Instance::start(&mongod, &options).await.unwrap();
        let host = instance.uri().trim_start_matches("mongodb://");
        let host = host.split('/').next().unwrap().to_owned();
        let client = Client::with_uri_str(instance.uri()).await.unwrap();
        for user in users.iter().chain([&ROOT]) {
            create(&client.database("admin"), user).await;
        }
        client.shutdown().await;
        instance.stop().await.unwrap();
        let child = spawn(mongod.path(), &data, &host, further);
        let server = Self { child, host, data };
        server.answers().await;
        server
    }

    /// Where files for it may be kept.
    pub(crate) fn directory(&self) -> &Path {
        self.data.path()
    }

    /// The connection string of a user.
    pub(crate) fn uri(&self, user: &str) -> String {
        self.uri_with(user, PASSWORD, "")
    }

    /// The connection string of a user with a password and further options, which begin with `&`.
    pub(crate) fn uri_with(&self, user: &str, password: &str, options: &str) -> String {
        let host = &self.host;
        format!("mongodb://{user}:{password}@{host}/?authSource=admin&replicaSet=vitrine{options}")
    }

    /// The database `admin`, for the user that may do everything.
    pub(crate) async fn admin(&self) -> Database {
        let client = Client::with_uri_str(self.uri(ROOT.name)).await;
        client.unwrap().database("admin")
    }

    /// Waits until the port is open.
    async fn answers(&self) {
        let look = async || {
            tokio::net::TcpStream::connect(&self.host)
                .await
                .ok()
                .map(drop)
        };
        eventually("a server with access control", WITHIN, look).await;
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn create(admin: &Database, user: &User<'_>) {
    let roles = user
        .roles
        .iter()
        .map(|(role, db)| doc! { "role": role, "db": db });
    let mut roles: Vec<Document> = roles.collect();
    if !user.actions.is_empty() {
        let name = format!("{}-actions", user.name);
        let privilege = doc! {
            "resource": { "db": "shop", "collection": "" },
            "actions": user.actions,
        };
        let role = doc! { "createRole": &name, "privileges": [privilege], "roles": [] };
        admin.run_command(role).await.unwrap();
        roles.push(doc! { "role": name, "db": "admin" });
    }
    let user = doc! { "createUser": user.name, "pwd": PASSWORD, "roles": roles };
    admin.run_command(user).await.unwrap();
}

/// Starts `mongod` with access control on data that has a replica set at this address.
fn spawn(mongod: &Path, data: &TempDir, host: &str, further: &[&str]) -> Child {
    let key = key_file(data.path());
    let (_, port) = host.split_once(':').unwrap();
    let mut server = Command::new(mongod);
    server.args([
        "--replSet",
        "vitrine",
        "--bind_ip",
        "127.0.0.1",
        "--nounixsocket",
        "--auth",
    ]);
    server.args(["--wiredTigerCacheSizeGB", "0.25", "--port", port]);
    server.arg("--keyFile").arg(key);
    server.arg("--dbpath").arg(data.path().join("db"));
    server.args(further);
    let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    server.unwrap()
}

/// What the members of a replica set know each other by. Nobody else may read it.
fn key_file(directory: &Path) -> PathBuf {
    let path = directory.join("key-file");
    fs::write(&path, "a2V5IG9mIHRoZSBtZW1iZXJz").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    path
}
