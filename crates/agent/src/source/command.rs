//! What a command prints: within a time and a size, with all that it started ended after it, but
//! for what left its process group.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::config::ENVIRONMENT_PREFIX;

/// Most bytes that a command may print.
const MAX_OUTPUT: usize = 64 << 10;
/// How often it is looked after.
const GLANCE: Duration = Duration::from_millis(5);
/// Where systemd puts the settings, which hold keys.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// A program with arguments, or a line for the shell.
#[derive(Clone, PartialEq)]
pub(super) struct Program {
    pub(super) run: Vec<String>,
    pub(super) shell: Option<String>,
    pub(super) timeout: Duration,
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

    /// Runs it, and gives what it printed.
    pub(super) fn output(&self) -> Result<String, String> {
        let mut command = self.command().ok_or("there is no command")?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the command does not start: {error}"))?;
        let printed = self.printed(&mut child);
        // Whatever it left running goes with it.
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
        // Whoever holds its other end, nobody waits for him.
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
}
