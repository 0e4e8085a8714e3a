//! Commands that print a reading. A command has a limited time and prints a limited number of bytes;
//! when it ends, all processes that it started end too, except those that left its process group.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};

use super::sensor::Sensor;
use super::value::number;
use crate::environment::ENVIRONMENT_PREFIX;

/// The most bytes that a command may print.
const MAX_OUTPUT: usize = 64 << 10;
/// The time between two looks at a running command.
const GLANCE: Duration = Duration::from_millis(5);
/// The variable that tells where systemd puts the settings, which hold keys.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// A program with arguments, or a line for the shell.
#[derive(Clone, PartialEq)]
pub(super) struct Program {
    run: Vec<String>,
    shell: Option<String>,
    timeout: Duration,
}

/// The programs of all columns, each once.
#[derive(Default)]
pub(super) struct Programs(Vec<Arc<Shared>>);

/// A program, and what it printed for a row.
pub(super) struct Shared {
    program: Program,
    printed: Mutex<Option<(u64, Result<String, String>)>>,
}

impl Programs {
    /// Returns the program with these settings, which columns of equal settings share.
    pub(super) fn program(
        &mut self,
        run: Vec<String>,
        shell: Option<String>,
        timeout: Duration,
    ) -> Arc<Shared> {
        let program = Program {
            run,
            shell,
            timeout,
        };
        if let Some(known) = self.0.iter().find(|known| known.program == program) {
            return Arc::clone(known);
        }
        let shared = Arc::new(Shared {
            program,
            printed: Mutex::new(None),
        });
        self.0.push(Arc::clone(&shared));
        shared
    }
}

/// The number that a program prints, or a field of the JSON that it prints.
pub(super) struct Field {
    program: Arc<Shared>,
    field: Option<String>,
}

impl Field {
    pub(super) fn new(program: Arc<Shared>, field: Option<String>) -> Self {
        Self { program, field }
    }
}

impl Sensor for Field {
    /// Runs the program, unless it ran for this row already.
    fn read(&mut self, row: u64) -> Result<f64, String> {
        let mut printed = self
            .program
            .printed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let output = match printed.take() {
            Some((of, output)) if of == row => output,
            _ => self.program.program.output(),
        };
        let (_, output) = printed.insert((row, output));
        number(
            output.as_ref().map_err(String::clone)?,
            self.field.as_deref(),
        )
    }
}

impl Program {
    fn command(&self) -> Option<Command> {
        let mut command = self.bare_command()?;
        // Keys and passwords may be among the agent's variables.
        command.env_remove(CREDENTIALS);
        for (name, _) in std::env::vars_os() {
            if name
                .as_encoded_bytes()
                .starts_with(ENVIRONMENT_PREFIX.as_bytes())
            {
                command.env_remove(name);
            }
        }
        Some(command)
    }

    fn bare_command(&self) -> Option<Command> {
        if let Some(line) = &self.shell {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            return Some(command);
        }
        let (program, arguments) = self.run.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments);
        Some(command)
    }

    /// Runs the program and returns what it printed.
    fn output(&self) -> Result<String, String> {
        let mut command = self.command().ok_or("there is no command")?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the command does not start: {error}"))?;
        let printed = self.printed(&mut child);
        // Processes that it left running end with it.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
        printed
    }

    fn printed(&self, child: &mut Child) -> Result<String, String> {
        let deadline = Instant::now() + self.timeout;
        let late = || format!("the command took longer than {:?}", self.timeout);
        let mut stdout = child.stdout.take().ok_or("the command has no output")?;
        let broken = |error| format!("the command's output breaks off: {error}");
        // A process that left the group may hold the other end open: it is not waited for.
        ioctl_fionbio(&stdout, true).map_err(|error| broken(error.into()))?;
        let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            match stdout.read(&mut chunk) {
                Ok(0) => break,
                Ok(len) => bytes.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(broken(error)),
                Err(_) if Instant::now() > deadline => return Err(late()),
                Err(_) => std::thread::sleep(GLANCE),
            }
            if bytes.len() > MAX_OUTPUT {
                return Err(format!("the command prints more than {MAX_OUTPUT} bytes"));
            }
        }
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() > deadline => return Err(late()),
                Ok(None) => std::thread::sleep(GLANCE),
                Err(error) => return Err(format!("the command cannot be waited for: {error}")),
            }
        };
        if !status.success() {
            return Err(format!("the command failed ({status})"));
        }
        String::from_utf8(bytes).map_err(|_| "the command prints no text".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(run: &[&str]) -> Program {
        Program {
            run: run.iter().map(|&word| word.to_owned()).collect(),
            shell: None,
            timeout: Duration::from_millis(500),
        }
    }

    fn shell(line: &str) -> Program {
        Program {
            shell: Some(line.to_owned()),
            ..program(&[])
        }
    }

    #[test]
    fn arguments_are_the_programs_own_unless_a_shell_is_asked_for() {
        let printed = program(&["echo", "$HOME; a  b"]).output();
        assert_eq!(printed.as_deref(), Ok("$HOME; a  b\n"));
        assert_eq!(shell("echo $((3 * 7))").output().as_deref(), Ok("21\n"));
    }

    #[test]
    fn what_fails_is_late_or_prints_without_end_gives_nothing() {
        for (program, words) in [
            (program(&["/none/such"]), "does not start"),
            (program(&["false"]), "failed"),
            (shell("echo 5; exit 3"), "failed"),
            (program(&["sleep", "60"]), "longer than 500ms"),
            (shell("exec >&-; sleep 60"), "longer than 500ms"),
            (program(&["yes"]), "more than 65536 bytes"),
            (shell("printf '\\377'"), "no text"),
        ] {
            let start = Instant::now();
            let error = program.output().unwrap_err();
            assert!(error.contains(words), "{error}");
            assert!(start.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn what_a_command_leaves_running_is_ended() {
        let desk = tempfile::tempdir().unwrap();
        let file = desk.path().join("pid");
        let line = format!(
            "sleep 60 > /dev/null & echo $! > {}; echo 1",
            file.display()
        );
        assert_eq!(shell(&line).output().as_deref(), Ok("1\n"));
        let pid = std::fs::read_to_string(&file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(5);
        while !gone() {
            assert!(Instant::now() < deadline, "it still runs");
            std::thread::sleep(GLANCE);
        }
    }

    #[test]
    fn what_leaves_the_group_of_a_command_holds_nobody() {
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = (threads(), files());
        for _ in 0..20 {
            let mut program = shell("setsid sleep 5 & echo 1");
            program.timeout = Duration::from_millis(20);
            assert!(program.output().unwrap_err().contains("longer than 20ms"));
        }
        // Other tests run beside.
        assert!(threads() < before.0 + 15 && files() < before.1 + 15);
    }

    #[test]
    fn commands_do_not_get_the_agents_secrets() {
        let command = shell("true").command().unwrap();
        let removed: Vec<_> = command.get_envs().collect();
        assert!(removed.contains(&(CREDENTIALS.as_ref(), None)));
    }

    #[test]
    fn columns_of_one_command_run_it_once_a_row() {
        let desk = tempfile::tempdir().unwrap();
        let file = desk.path().join("runs");
        let line = format!("echo >> {0}; wc -l < {0}", file.display());
        let mut programs = Programs::default();
        let mut column = || {
            let program = programs.program(Vec::new(), Some(line.clone()), Duration::from_secs(5));
            Field::new(program, None)
        };
        let (mut first, mut second) = (column(), column());
        for row in 1..4 {
            assert_eq!(first.read(row), Ok(row as f64));
            assert_eq!(second.read(row), Ok(row as f64));
        }
    }
}
