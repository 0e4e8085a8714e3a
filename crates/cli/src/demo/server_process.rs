//! The demo's server: this program again, as `serve`, on a free port of loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::failure::{Explain, Outcome, failure};
use crate::progress;

/// A running server; dropped, it is stopped.
pub(super) struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    /// Starts a server in `directory`, which has its certificates, and waits until it
    /// listens.
    pub(super) fn start(key: &Path, directory: &Path) -> Outcome<Self> {
        let program = std::env::current_exe().explain("the path of this program")?;
        let child = Command::new(program)
            // If this process dies, its end of the pipe closes.
            .args([
                "serve",
                "--until-stdin-ends",
                "--allow-shared-key",
                "--listen",
                "127.0.0.1:0",
                "--key",
            ])
            .arg(key)
            .arg("--tls")
            .arg(directory.join("tls"))
            .arg("--store")
            .arg(directory.join("store"))
            .env(
                "RUST_LOG",
                std::env::var("RUST_LOG").unwrap_or_else(|_| "warn".to_owned()),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .explain("the server process")?;
        // From here on a failure stops the child.
        let mut server = Self {
            child,
            address: String::new(),
        };
        let _spinner = progress::spinner("the server prepares its key");
        let mut line = String::new();
        if let Some(stdout) = server.child.stdout.as_mut() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .explain("the server process")?;
        }
        server.address = line
            .trim()
            .strip_prefix("listening on ")
            .ok_or_else(|| {
                failure(
                    "the server process did not start",
                    "its own words are above",
                )
            })?
            .to_owned();
        Ok(server)
    }

    /// Returns the address that it listens on.
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The uploads that the server acknowledged are on its disk, so it has nothing to finish.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
