//! Runs mongod so that it cannot outlive this process, however this process ends.
//!
//! A shell starts mongod and reads from a pipe whose only write end is held here. When the
//! pipe closes, because it was released or because the kernel closed it with this process,
//! the shell ends mongod. Destructors alone would not do: they do not run for statics or
//! after SIGKILL, and the kernel's parent-exit signal cannot be asked for in safe code.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// `$@` is the command line of mongod. Two shells watch, one for the end of mongod and one for
/// the end of the pipe, and neither starts a program that could be left behind. Descriptor 3
/// is the pipe; a background command would otherwise get an empty standard input. The process
/// id is the only thing said on standard output, and it is said when the watch is complete.
/// mongod has 20 s to end by itself.
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

/// Longer than what the script gives mongod, so that only a stopped shell exceeds it.
const END_LIMIT: Duration = Duration::from_secs(25);

/// A loopback server's start and stop take tenths of a second; this adds little to it.
const POLL: Duration = Duration::from_millis(10);

/// A mongod that ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Supervised {
    // Not tokio's child: that one is bound to the runtime that made it, and tests share one
    // instance between runtimes.
    shell: Child,
    lifeline: Option<ChildStdin>,
    pid: u32,
}

impl Supervised {
    /// Starts `program`; what it prints, and what the shell says about it, goes to `log`.
    pub(crate) fn spawn(program: &Path, arguments: &[OsString], log: File) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "vitrine-mongod"]);
        shell.arg(program).args(arguments);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        // A group of its own: Ctrl-C in the terminal reaches this process only, which then
        // stops mongod after its last work, not before.
        let mut shell = shell.process_group(0).spawn()?;
        let lifeline = shell.stdin.take();
        let pid = first_line(&mut shell)?.trim().parse();
        let pid = pid.map_err(|_| io::Error::other("the shell did not name the process"))?;
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

    /// How mongod ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        // An error would mean that this is no child of ours, which it always is.
        self.shell.try_wait().ok().flatten()
    }

    /// Waits until mongod ends by itself.
    pub(crate) async fn end(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            sleep(POLL).await;
        }
    }

    /// Ends mongod and waits for it; `None` if it is still there after the time limit.
    pub(crate) async fn stop(&mut self) -> Option<ExitStatus> {
        self.lifeline = None;
        timeout(END_LIMIT, self.end()).await.ok()
    }
}

/// The shell says the process id right after it has started, so this does not block for long.
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

    async fn gone(pid: u32) -> bool {
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_running(pid) && Instant::now() < deadline {
            sleep(POLL).await;
        }
        !is_running(pid)
    }

    #[tokio::test]
    async fn the_exit_code_comes_through() {
        assert_eq!(supervise("exit 48").end().await.code(), Some(48));
    }

    #[tokio::test]
    async fn a_death_by_signal_becomes_the_code_of_the_shell() {
        assert_eq!(supervise("kill -9 $$").end().await.code(), Some(137));
    }

    #[tokio::test]
    async fn stop_lets_the_program_end_by_itself() {
        let mut program = supervise("trap 'exit 7' TERM; while :; do sleep 0.01; done");
        let pid = program.pid();
        assert!(is_running(pid));
        assert!(program.ended().is_none());
        let code = program.stop().await.and_then(|status| status.code());
        // TERM may come before the trap is set.
        assert!(matches!(code, Some(7 | 143)), "{code:?}");
        assert!(!is_running(pid));
    }

    #[tokio::test]
    async fn dropping_ends_the_program() {
        let program = supervise("exec sleep 600");
        let pid = program.pid();
        drop(program);
        assert!(gone(pid).await);
    }

    #[tokio::test]
    async fn a_killed_shell_still_ends_the_program() {
        let mut program = supervise("exec sleep 600");
        let pid = program.pid();
        program.shell.kill().unwrap();
        program.shell.wait().unwrap();
        assert!(is_running(pid));
        program.lifeline = None;
        assert!(gone(pid).await);
    }
}
