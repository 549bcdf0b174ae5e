//! Running python3, which downloads and unpacks the wheel.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use crate::command::{RunError, last_lines, run};
use crate::provision::ProvisionError;

/// How long one program may take, above all the download.
const TIMEOUT: Duration = Duration::from_mins(15);

/// Runs python3 in `work`; returns the end of its error output if it fails.
pub(crate) async fn python<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    work: &Path,
) -> Result<(), ProvisionError> {
    let arguments: Vec<&str> = arguments.into_iter().collect();
    let mut command = Command::new("python3");
    command.args(&arguments).current_dir(work);
    let message = match run(&mut command, TIMEOUT).await {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => last_lines(&output.stderr, 3),
        Err(RunError::Spawn(error)) => {
            return Err(ProvisionError::Python(format!(
                "python3 cannot be run: {error}"
            )));
        }
        Err(error) => error.to_string(),
    };
    let command = format!("python3 {}", arguments.join(" "));
    Err(explain_python(command, message))
}

fn explain_python(command: String, message: String) -> ProvisionError {
    if message.contains("No module named pip") {
        return ProvisionError::Python(message);
    }
    ProvisionError::Failed {
        command,
        output: message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_pip_is_reported_with_the_packages_to_install() {
        let output = "/usr/bin/python3: No module named pip".to_owned();
        let message = explain_python("python3 -m pip".to_owned(), output).to_string();
        assert!(
            message.contains("apt-get install python3 python3-pip"),
            "{message}"
        );
    }
}
