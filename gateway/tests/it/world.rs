//! A server with sample devices, gateways in front of it, and psql.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

const GATEWAY: &str = env!("CARGO_BIN_EXE_tfhe-sbc-gateway");

/// The first time of the readings, a Monday.
pub(crate) const BEGIN: &str = "2026-11-16";

/// The program that is the server and makes keys.
pub(crate) fn program() -> PathBuf {
    let named = std::env::var_os("TFHE_SBC").map(PathBuf::from);
    let usual = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        root.join("target/ci/tfhe-sbc")
    };
    let program = named.unwrap_or_else(usual);
    assert!(
        program.exists(),
        "{} is not there: run `cargo xtask gateway`, or name the program tfhe-sbc in TFHE_SBC",
        program.display()
    );
    program
}

/// A running gateway.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: String,
    /// The address of its page.
    pub(crate) page: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // The demo's server ends with the end of its input, which it gets when the gateway ends.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Gateway {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(GATEWAY);
        command.args(arguments);
        Self::started(command)
    }

    fn started(mut command: Command) -> Self {
        let mut child = command
            .args(["--until-stdin-ends", "--listen", "127.0.0.1:0"])
            .args(["--page", "127.0.0.1:0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = |beginning: &str| {
            let line = stdout.next().expect("the gateway starts").unwrap();
            let end = line.strip_prefix(beginning);
            end.unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let (address, page) = (said("listening on "), said("page at http://"));
        Self {
            child,
            address,
            page,
        }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    pub(crate) fn psql_command(&self, arguments: &[&str]) -> Command {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-h", "127.0.0.1", "-p", self.port(), "-U", "owner"])
            .args(["-d", "tfhe_sbc", "-v", "VERBOSITY=verbose"])
            .args(arguments)
            .env("PGCONNECT_TIMEOUT", "20")
            .stdin(Stdio::null());
        psql
    }

    /// Runs psql with these arguments.
    pub(crate) fn psql(&self, arguments: &[&str]) -> Ran {
        let output = self
            .psql_command(arguments)
            .output()
            .expect("psql is installed");
        Ran {
            is_ok: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A psql that stays connected.
    pub(crate) fn session(&self) -> Session {
        let mut child = self
            .psql_command(&["-A", "-t", "-q"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Session { child, lines }
    }

    /// The rows of a statement, each with its cells; NULL is `∅`.
    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let ran = self.psql(&["-A", "-t", "-F", "\t", "-P", "null=∅", "-c", sql]);
        assert!(ran.is_ok, "{sql}\n{}", ran.stderr);
        let lines = ran.stdout.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    }

    /// The only cell of the only row.
    pub(crate) fn one(&self, sql: &str) -> String {
        let rows = self.rows(sql);
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "{sql}: {rows:?}");
        rows[0][0].clone()
    }

    /// The text of a plan.
    pub(crate) fn plan(&self, sql: &str) -> String {
        let rows = self.rows(&format!("EXPLAIN {sql}"));
        rows.concat().join("\n")
    }

    /// Asserts that a statement is refused with this code and words.
    #[track_caller]
    pub(crate) fn refuses(&self, sql: &str, code: &str, words: &[&str]) {
        let ran = self.psql(&["-c", sql]);
        assert!(!ran.is_ok, "{sql} succeeded: {}", ran.stdout);
        assert!(
            ran.stderr.contains(&format!("{code}:")),
            "{sql}: {}",
            ran.stderr
        );
        for word in words {
            assert!(
                ran.stderr.contains(word),
                "{sql}: no {word} in {}",
                ran.stderr
            );
        }
    }
}

/// A psql that stays connected.
pub(crate) struct Session {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Session {
    /// Runs a statement and returns its rows.
    pub(crate) fn ask(&mut self, sql: &str) -> Vec<String> {
        const END: &str = "the end of the rows";
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{sql};\n\\echo {END}").unwrap();
        let lines = self.lines.by_ref().map(Result::unwrap);
        lines.take_while(|line| line != END).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The outcome of psql.
pub(crate) struct Ran {
    pub(crate) is_ok: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Three days of readings of four devices, and a gateway.
pub(crate) struct World {
    directory: TempDir,
    pub(crate) gateway: Gateway,
}

impl World {
    /// The world that tests share. It is left to the system at the end.
    pub(crate) fn shared() -> &'static Self {
        static WORLD: OnceLock<World> = OnceLock::new();
        WORLD.get_or_init(|| Self::new(4, 3, &[]))
    }

    /// A world of its own.
    pub(crate) fn new(devices: u32, days: u32, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (devices, days) = (devices.to_string(), days.to_string());
        let program = program();
        let demo = [
            "demo",
            "--directory",
            directory.path().to_str().unwrap(),
            "--devices",
            &devices,
            "--days",
            &days,
            "--begin",
            BEGIN,
            "--program",
            program.to_str().unwrap(),
        ];
        Self {
            gateway: Gateway::start(&[&demo[..], options].concat()),
            directory,
        }
    }

    /// The address of the world's server.
    pub(crate) fn url(&self) -> String {
        std::fs::read_to_string(self.path().join("server.txt")).unwrap()
    }

    /// The command of another gateway in front of the same server.
    pub(crate) fn gateway_command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(GATEWAY);
        let given = |option: &str| options.contains(&option);
        command.arg("serve").current_dir(self.path()).args(options);
        if !given("--to") {
            command.args(["--to", &self.url()]);
        }
        if !given("--cache") {
            command.arg("--no-cache");
        }
        command.stdin(Stdio::null());
        command
    }

    /// A command that watches a statement about the same server's readings.
    pub(crate) fn watch(&self, sql: &str, options: &[&str]) -> Command {
        let mut command = Command::new(GATEWAY);
        command
            .current_dir(self.path())
            .args(["watch", sql, "--no-cache", "--server", &self.url()])
            .args(options)
            .stdin(Stdio::null());
        command
    }

    /// Another gateway in front of the same server.
    pub(crate) fn second(&self, options: &[&str]) -> Gateway {
        Gateway::started(self.gateway_command(options))
    }

    /// What the server says of the questions that it evaluates.
    pub(crate) fn status(&self) -> serde_json::Value {
        let tls = self.path().join("tls");
        let output = Command::new("curl")
            .args(["--silent", "--cacert"])
            .arg(tls.join("ca.pem"))
            .arg("--cert")
            .arg(tls.join("owner.pem"))
            .arg("--key")
            .arg(tls.join("owner.key"))
            .arg(format!("{}/v1/status", self.url()))
            .output()
            .expect("curl is installed");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs the program `tfhe-sbc` in the world's directory.
    pub(crate) fn tfhe_sbc(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(program())
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap();
        Ran {
            is_ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The readings in the clear.
    pub(crate) fn clear(&self) -> Vec<Clear> {
        let text = std::fs::read_to_string(self.path().join("clear.csv")).unwrap();
        let rows = text.lines().skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Clear {
                device: cells[0].to_owned(),
                time: cells[1].to_owned(),
                values: cells[2..]
                    .iter()
                    .map(|cell| cell.parse().unwrap())
                    .collect(),
            }
        });
        rows.collect()
    }
}

/// A row of readings in the clear: temperature, humidity, pressure, illuminance.
pub(crate) struct Clear {
    pub(crate) device: String,
    pub(crate) time: String,
    pub(crate) values: Vec<f64>,
}

/// Asserts that two numbers are the same but for their last digits.
#[track_caller]
pub(crate) fn close(found: &str, expected: f64) {
    let number: f64 = found
        .parse()
        .unwrap_or_else(|_| panic!("'{found}' is no number"));
    let scale = expected.abs().max(1.0);
    assert!(
        (number - expected).abs() <= 1e-9 * scale,
        "{found} is not {expected}"
    );
}
