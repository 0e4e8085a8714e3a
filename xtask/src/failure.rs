//! The failure of a task, and commands whose failure is one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The message that is printed before the task exits with an error.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// Runs a command. Its output goes to the output of this program.
pub(crate) fn succeed(name: &str, command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure(format!("{name} failed: {status}"))),
        Err(error) => Err(did_not_start(name, command, &error)),
    }
}

/// Runs a command and returns the text that it prints.
pub(crate) fn output(name: &str, command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| did_not_start(name, command, &error))?;
    if !output.status.success() {
        return Err(Failure(format!("{name} failed: {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that prints little, and ends it if it takes longer than `limit`.
pub(crate) fn output_within(
    limit: Duration,
    name: &str,
    command: &mut Command,
) -> Result<String, Failure> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| did_not_start(name, command, &error))?;
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure(format!(
                "{name} was not done after {} s",
                limit.as_secs()
            )));
        }
        sleep(Duration::from_millis(10));
    }
    let output = child
        .wait_with_output()
        .map_err(|error| Failure(format!("{name}: {error}")))?;
    if !output.status.success() {
        return Err(Failure(format!("{name} failed: {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

/// Writes a file.
pub(crate) fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    std::fs::write(path, contents).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

fn did_not_start(name: &str, command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    let help = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "; on Debian, `.ci/install` installs what the checks need, and `.ci/install --nightly` what the nightly ones need"
        }
        _ => "",
    };
    Failure(format!("{name}: {program} did not start: {error}{help}"))
}
