//! The program as people run it: commands in directories, a server process, and the output of both.

pub(crate) mod board;
pub(crate) mod frames;
pub(crate) mod mosquitto;
mod ports;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) use ports::free_address;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tfhe-sbc");

/// Two narrow columns, so that a question costs few bootstraps.
pub(crate) const COLUMNS: &str = r#"
[[column]]
name = "level"
unit = "m"
offset = -2.0
scale = 0.5
bits = 4

[[column]]
name = "flow"
offset = 0.0
scale = 1.0
bits = 6
"#;
pub(crate) const READINGS: &str = "timestamp,level,flow\n\
    10:00,-1.5,60\n\
    11:00,2.0,3\n\
    12:00,0.5,17\n\
    13:00,-2.0,17\n";

/// The outcome of a command.
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// Returns the outcome, and panics unless the command succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
        self
    }

    /// Asserts that the command failed with one readable block on stderr that contains all of
    /// `words`, the problem and what to do, and with nothing on stdout.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        let stderr = &self.stderr;
        assert!(!self.status.success(), "it succeeded: {stderr}");
        assert!(self.status.code().is_some(), "it died: {}", self.status);
        assert!(self.stdout.is_empty(), "there is output beside: {stderr}");
        for word in ["panicked", "RUST_BACKTRACE", "thread '"] {
            assert!(!stderr.contains(word), "{stderr}");
        }
        let blocks = stderr.lines().filter(|line| line.contains('×')).count();
        let by_parser = stderr.starts_with("error: ");
        assert!(blocks == 1 || by_parser, "{blocks} blocks:\n{stderr}");
        for word in words {
            assert!(
                packed(stderr).contains(&packed(word)),
                "no {word:?} in:\n{stderr}"
            );
        }
    }
}

/// Returns a text without spaces, line breaks and the lines of tables and of a failure's block.
pub(crate) fn packed(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c))
        .collect()
}

fn run_of(output: Output) -> Run {
    Run {
        status: output.status,
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the program with these arguments, in a directory, without a terminal.
pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(directory: &Path, arguments: &[S]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .current_dir(directory)
        .env_remove("RUST_LOG")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

pub(crate) fn tfhe_sbc<S: AsRef<std::ffi::OsStr>>(directory: &Path, arguments: &[S]) -> Run {
    run_of(command(directory, arguments).output().unwrap())
}

/// Runs the program with `input` on its stdin.
pub(crate) fn tfhe_sbc_fed<S: AsRef<std::ffi::OsStr>>(
    directory: &Path,
    arguments: &[S],
    input: &[u8],
) -> Run {
    let mut child = command(directory, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses before it reads closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    run_of(child.wait_with_output().unwrap())
}

/// Encrypts a table in CSV under `columns.toml` with these options, and returns the upload.
pub(crate) fn encrypt(directory: &Path, options: &[&str], csv: &str) -> Vec<u8> {
    let arguments = [&["encrypt", "--columns", "columns.toml"], options].concat();
    tfhe_sbc_fed(directory, &arguments, csv.as_bytes())
        .succeeded()
        .stdout
}

/// Returns the descriptions of a file's messages.
pub(crate) fn inspected(directory: &Path, file: &[u8]) -> Vec<serde_json::Value> {
    let run = tfhe_sbc_fed(directory, &["inspect", "--json", "-"], file);
    run.succeeded().json().as_array().unwrap().clone()
}

/// Returns a shell's commands, with the program in its path.
pub(crate) fn bash(directory: &Path, script: &str) -> Command {
    let program = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(directory)
        .env("PATH", path)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run_bash(directory: &Path, script: &str) -> Run {
    run_of(bash(directory, script).output().unwrap())
}

/// Returns all files of a directory, for a comparison before and after.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Files that the tests read and none changes, made once.
pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
}

/// `keys`, `other-keys` (another set of the same parameters), `gates-keys`, `tls`,
/// `foreign-tls`, `columns.toml`, `readings.csv`, `day.tsbc`, `result.tsbc`.
pub(crate) fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("columns.toml"), COLUMNS).unwrap();
        std::fs::write(directory.join("readings.csv"), READINGS).unwrap();
        for arguments in [
            &["keygen", "--out", "keys"][..],
            &["keygen", "--out", "other-keys"],
            &["keygen", "--out", "gates-keys", "--parameters", "gates"],
            &["certs", "--out", "tls"],
            &["certs", "--out", "foreign-tls"],
            &[
                "encrypt",
                "readings.csv",
                "--columns",
                "columns.toml",
                "--out",
                "day.tsbc",
            ],
            &[
                "eval",
                "--columns",
                "columns.toml",
                "--readings",
                "day.tsbc",
                "--out",
                "result.tsbc",
                "max(level)",
                "rows(flow == 17)",
            ],
        ] {
            tfhe_sbc(&directory, arguments).succeeded();
        }
        Shared { directory }
    })
}

fn link_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let link = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&link).unwrap();
            link_files(&entry.path(), &link);
        } else {
            std::os::unix::fs::symlink(entry.path(), link).unwrap();
        }
    }
}

impl Shared {
    /// Returns a fresh directory with links to all files, in folders of its own: what a test
    /// adds to a folder, no other test sees.
    pub(crate) fn desk(&self) -> TempDir {
        let desk = tempfile::tempdir().unwrap();
        link_files(&self.directory, desk.path());
        desk
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.directory.join(name)).unwrap()
    }
}

/// A server process; dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    /// Reads the log, for a server whose log nobody reads stops once a pipe is full.
    log: Option<std::thread::JoinHandle<String>>,
}

impl Server {
    /// Starts `serve` on a free port, for devices that share a key, and waits until it listens.
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::start_strict(directory, &[&["--allow-shared-key"], arguments].concat())
    }

    /// Starts `serve` on a free port, for devices with keys of their own unless the arguments say otherwise, and
    /// waits until it listens.
    pub(crate) fn start_strict(directory: &Path, arguments: &[&str]) -> Self {
        let all = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        Self::from_command(command(directory, &all).env("RUST_LOG", "info"))
    }

    pub(crate) fn from_command(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let mut server = Self {
            child,
            url: String::new(),
            log: Some(log),
        };
        match line.trim().strip_prefix("listening on ") {
            Some(address) => server.url = format!("https://{address}"),
            None => panic!("it does not listen: {}", server.last_words()),
        }
        server
    }

    /// Stops it with SIGTERM. Returns its exit status and its log.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        let sent = Command::new("kill").args(["-TERM", &self.pid()]).status();
        assert!(sent.unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let log = self.last_words();
                return (status, log);
            }
            assert!(Instant::now() < deadline, "it does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The server's process, which may be the child of a shell.
    fn pid(&self) -> String {
        let pid = self.child.id();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let child = children.split_whitespace().next().map(str::to_owned);
        child.unwrap_or_else(|| pid.to_string())
    }

    /// Stops it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn last_words(&mut self) -> String {
        let log = self.log.take();
        log.map_or_else(String::new, |log| log.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = Command::new("kill").args(["-KILL", &self.pid()]).status();
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
