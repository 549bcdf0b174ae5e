//! Supervising mongod, so that it cannot outlive this process, however this process ends.
//!
//! A shell starts mongod and reads from a pipe whose only write end is in this process. When the
//! pipe closes, either explicitly or because the process ended, the shell stops mongod. Destructors
//! would not suffice: they do not run for statics or after SIGKILL, and the kernel's parent-death
//! signal cannot be requested in safe code.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// `$@` is the command line of mongod. Two shells wait, one for the exit of mongod and one for the
/// end of the pipe, and neither starts a program that could be left behind. Descriptor 3 is the
/// pipe, because a background command would get an empty standard input. Standard output receives
/// only the process id, once both shells are waiting. mongod has 20 s to shut down.
const SCRIPT: &str = r#"
exec 3<&0 </dev/null
"$@" >&2 3<&- &
mongod=$!
(
    while read -r _; do :; done <&3
    kill -TERM "$mongod"
    turns=0
    while kill -0 "$mongod" && [ "$turns" -lt 200 ]; do
        sleep 0.1
        turns=$((turns + 1))
    done
    kill -KILL "$mongod"
) >/dev/null 2>&1 &
guard=$!
exec 3<&-
echo "$mongod"
exec >&2
wait "$mongod"
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"#;

/// Longer than the time limit in the script, so that only a stopped shell exceeds it.
const STOP_TIMEOUT: Duration = Duration::from_secs(25);

/// Short compared with the tenths of a second that starting and stopping take.
const POLL: Duration = Duration::from_millis(10);

/// A mongod that is stopped when this value is dropped.
#[derive(Debug)]
pub(crate) struct Supervised {
    // Not tokio's `Child`, which is bound to the runtime that created it: tests share an instance
    // between runtimes.
    shell: Child,
    lifeline: Option<ChildStdin>,
    pid: u32,
}

impl Supervised {
    /// Starts `program`. Its output, and that of the shell, goes to `log`.
    pub(crate) fn spawn(program: &Path, arguments: &[OsString], log: File) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "vitrine-mongod"]);
        shell.arg(program).args(arguments);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        // A separate process group: Ctrl-C in the terminal reaches only this process, which stops
        // mongod after its own last work.
        let mut shell = shell.process_group(0).spawn()?;
        let lifeline = shell.stdin.take();
        let pid = first_line(&mut shell)?.trim().parse();
        let pid = pid.map_err(|_| io::Error::other("the shell did not print the process id"))?;
        Ok(Self {
            shell,
            lifeline,
            pid,
        })
    }

    /// The process id of mongod itself.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns how mongod exited, if it has.
    pub(crate) fn try_wait(&mut self) -> Option<ExitStatus> {
        // An error would mean that the shell is not a child of this process.
        self.shell.try_wait().ok().flatten()
    }

    /// Waits until mongod exits.
    pub(crate) async fn wait(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.try_wait() {
                return status;
            }
            sleep(POLL).await;
        }
    }

    /// Stops mongod and waits until it has exited; `None` if the time limit is exceeded.
    pub(crate) async fn stop(&mut self) -> Option<ExitStatus> {
        self.lifeline = None;
        timeout(STOP_TIMEOUT, self.wait()).await.ok()
    }
}

/// The shell prints the process id right after its start, so this blocks only briefly.
fn first_line(shell: &mut Child) -> io::Result<String> {
    let mut line = String::new();
    if let Some(output) = shell.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// Supervises a shell script instead of mongod; its log is thrown away.
    fn supervise(script: &str) -> Supervised {
        let arguments = ["-c", script].map(OsString::from);
        let log = tempfile::tempfile().unwrap();
        Supervised::spawn(Path::new("/bin/sh"), &arguments, log).unwrap()
    }

    fn is_running(pid: u32) -> bool {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state
            .rsplit(") ")
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    }

    async fn exits(pid: u32) -> bool {
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_running(pid) && Instant::now() < deadline {
            sleep(POLL).await;
        }
        !is_running(pid)
    }

    #[tokio::test]
    async fn the_exit_code_is_passed_on() {
        assert_eq!(supervise("exit 48").wait().await.code(), Some(48));
    }

    #[tokio::test]
    async fn a_signal_becomes_an_exit_code_above_128() {
        assert_eq!(supervise("kill -9 $$").wait().await.code(), Some(137));
    }

    #[tokio::test]
    async fn stop_lets_the_program_shut_down() {
        let mut program = supervise("trap 'exit 7' TERM; while :; do sleep 0.01; done");
        let pid = program.pid();
        assert!(is_running(pid));
        assert!(program.try_wait().is_none());
        let code = program.stop().await.and_then(|status| status.code());
        // TERM may come before the trap is set.
        assert!(matches!(code, Some(7 | 143)), "{code:?}");
        assert!(!is_running(pid));
    }

    #[tokio::test]
    async fn dropping_stops_the_program() {
        let program = supervise("exec sleep 600");
        let pid = program.pid();
        drop(program);
        assert!(exits(pid).await);
    }

    #[tokio::test]
    async fn the_program_is_stopped_even_if_its_shell_was_killed() {
        let mut program = supervise("exec sleep 600");
        let pid = program.pid();
        program.shell.kill().unwrap();
        program.shell.wait().unwrap();
        assert!(is_running(pid));
        program.lifeline = None;
        assert!(exits(pid).await);
    }
}
