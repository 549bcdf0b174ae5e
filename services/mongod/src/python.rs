//! Runs python3, which fetches and unpacks what is provisioned.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use crate::command::{RunError, last_words, run};
use crate::provision::ProvisionError;

/// How long one program may take; the download is the long one.
const LIMIT: Duration = Duration::from_mins(15);

/// Runs python3 in `work`, quietly unless it fails.
pub(crate) async fn python<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    work: &Path,
) -> Result<(), ProvisionError> {
    let arguments: Vec<&str> = arguments.into_iter().collect();
    let mut command = Command::new("python3");
    command.args(&arguments).current_dir(work);
    let said = match run(&mut command, LIMIT).await {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => last_words(&output.stderr, 3),
        Err(RunError::Spawn(error)) => {
            return Err(ProvisionError::Python(format!(
                "python3 cannot be run: {error}"
            )));
        }
        Err(error) => error.to_string(),
    };
    let command = format!("python3 {}", arguments.join(" "));
    Err(explain_python(command, said))
}

fn explain_python(command: String, said: String) -> ProvisionError {
    if said.contains("No module named pip") {
        return ProvisionError::Python(said);
    }
    ProvisionError::Failed { command, said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_pip_is_told_apart_from_a_failing_one() {
        let said = "/usr/bin/python3: No module named pip".to_owned();
        let message = explain_python("python3 -m pip".to_owned(), said).to_string();
        assert!(
            message.contains("apt-get install python3 python3-pip"),
            "{message}"
        );
    }
}
