//! Programs of operators: started by a test, ended with it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vitrine_harness::environment::search_path;
use vitrine_harness::eventually;
use vitrine_harness::http::Reply;
use vitrine_harness::tools::needed;

use crate::WITHIN;

/// Returns a program. `None` if the test is left out; `package` is what Debian calls the package that has it.
pub(crate) fn program(name: &str, package: &str) -> Option<PathBuf> {
    let path = search_path();
    // Servers are not on the path of every user.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = directories
        .map(|directory| directory.join(name))
        .find(|file| file.is_file());
    let reason = || format!("there is no {name} (Debian, Ubuntu: `apt-get install {package}`)");
    needed(found.ok_or_else(reason))
}

/// A running program with a directory of its own.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    directory: TempDir,
}

impl Program {
    /// Starts a program that listens at an address, once its files are in a directory of its own.
    pub(crate) async fn start(
        binary: &Path,
        prepare: impl FnOnce(&Path, &str) -> Vec<String>,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let arguments = prepare(directory.path(), &address);
        let log = File::create(directory.path().join("log")).unwrap();
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(directory.path());
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let child = command.spawn().unwrap();
        let program = Self {
            child,
            address,
            directory,
        };
        let look = async || TcpStream::connect(&program.address).await.ok().map(drop);
        eventually("a program that listens", WITHIN, look).await;
        program
    }

    /// What it has printed.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the output of the program:\n{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request in HTTP/1.0, whose answers have one piece.
pub(crate) async fn ask(
    address: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let headers = headers.iter();
    let headers: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let headers = headers.concat();
    let length = body.len();
    let sent = format!(
        "{request} HTTP/1.0\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// A port at which nothing listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
