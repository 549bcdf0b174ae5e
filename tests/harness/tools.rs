//! What some tests need besides Rust, a C compiler and Python 3: a browser, or Node.js with packages.
//!
//! | the tool is | `CI` is | a test that needs it |
//! |---|---|---|
//! | found | set or not | runs |
//! | missing | not set | is left out; the end of the run says which tests were left out, and why |
//! | missing | set | fails |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use shutdown_hooks::add_shutdown_hook;

use crate::environment::is_ci;

/// What becomes of a test that needs a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<T> {
    /// It runs with the tool.
    Run(T),
    /// It is left out for this reason.
    LeaveOut(String),
    /// It fails for this reason.
    Fail(String),
}

/// Decides about a test that needs a tool, which is found or missing for a reason.
#[must_use]
pub fn decide<T>(tool: Result<T, String>, is_ci: bool) -> Decision<T> {
    match tool {
        Ok(tool) => Decision::Run(tool),
        Err(reason) if is_ci => Decision::Fail(reason),
        Err(reason) => Decision::LeaveOut(reason),
    }
}

/// Returns the tool that a test needs. `None` if the test is left out: it returns at once.
///
/// # Panics
/// When the tool is missing and `CI` is set.
pub fn needed<T>(tool: Result<T, String>) -> Option<T> {
    match decide(tool, is_ci()) {
        Decision::Run(tool) => Some(tool),
        Decision::LeaveOut(reason) => {
            leave_out(reason);
            None
        }
        Decision::Fail(reason) => panic!("CI is set, so this test is not left out: {reason}"),
    }
}

/// The tests that are left out, by the reason.
pub type LeftOut = BTreeMap<String, BTreeSet<String>>;

static LEFT_OUT: Mutex<LeftOut> = Mutex::new(LeftOut::new());

/// Records that the test of this thread is left out.
fn leave_out(reason: String) {
    static HOOK: Once = Once::new();
    // After the results: what is printed while tests run goes under among their names.
    HOOK.call_once(|| {
        assert!(add_shutdown_hook(print), "the end of the process is told");
    });
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let mut left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    left_out.entry(reason).or_default().insert(test);
}

extern "C" fn print() {
    let left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody can be told that this fails.
    let _ = std::io::stderr().write_all(summary(&left_out).as_bytes());
}

/// Says which tests are left out, and why.
#[must_use]
pub fn summary(left_out: &LeftOut) -> String {
    let mut text = String::new();
    for (reason, tests) in left_out {
        for test in tests {
            let _ = writeln!(text, "left out: {test}");
        }
        let noun = if tests.len() == 1 { "test" } else { "tests" };
        let _ = writeln!(text, "  {} {noun}, because {reason}", tests.len());
    }
    text + "With CI set, these tests fail instead.\n"
}
