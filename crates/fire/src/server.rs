//! The server as a child process, and its costs.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Failure;
use crate::site::Site;

/// The unit in which Linux counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// A running server; dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) log: PathBuf,
}

/// The costs of a process, as the kernel counts them.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Figures {
    /// The most memory that it has had, in bytes.
    pub(crate) peak_memory: u64,
    /// The memory that it has now, in bytes.
    pub(crate) memory: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) threads: u64,
    pub(crate) files: u64,
}

impl Server {
    /// Starts `tfhe-sbc serve` on an address (port 0: any) with a store and further options,
    /// and waits until it listens. Its log goes to `log`, after what is there.
    pub(crate) fn start(
        site: &Site,
        listen: SocketAddr,
        store: &Path,
        log: &Path,
        options: &[&str],
    ) -> Result<Self, Failure> {
        Self::start_with(
            Command::new(&site.program),
            site,
            listen,
            store,
            log,
            options,
        )
    }

    /// Does what [`Self::start`] does, with a command that runs the program.
    pub(crate) fn start_with(
        mut program: Command,
        site: &Site,
        listen: SocketAddr,
        store: &Path,
        log: &Path,
        options: &[&str],
    ) -> Result<Self, Failure> {
        let stderr = OpenOptions::new().create(true).append(true).open(log)?;
        let mut child = program
            .args([
                "serve",
                "--until-stdin-ends",
                "--allow-shared-key",
                "--listen",
            ])
            .arg(listen.to_string())
            .arg("--key")
            .arg(site.key("server.tsbc"))
            .arg("--tls")
            .arg(site.directory.join("tls"))
            .arg("--store")
            .arg(store)
            .args(options)
            .env("RUST_LOG", "info")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.as_mut() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the server did not start; {} says why", log.display()).into());
        };
        Ok(Self {
            child,
            address,
            log: log.to_owned(),
        })
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to finish and waits. Returns the time that it took.
    pub(crate) fn stop(mut self) -> Result<Duration, Failure> {
        let started = Instant::now();
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()?;
        let ended = self.child.wait()?;
        if asked.success() && ended.success() {
            Ok(started.elapsed())
        } else {
            Err(format!(
                "the server ended with {ended}; {} says why",
                self.log.display()
            )
            .into())
        }
    }

    /// Returns whether it runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns its costs so far; zeros where there is no `/proc`.
    pub(crate) fn figures(&self) -> Figures {
        let process = PathBuf::from("/proc").join(self.child.id().to_string());
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| {
                    line.strip_prefix(name)?
                        .split_whitespace()
                        .next()?
                        .parse()
                        .ok()
                })
                .unwrap_or(0_u64)
        };
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        // The state and the numbers come after the name, which may hold anything.
        let ticks = stat.rsplit(')').next().map_or(0, |rest| {
            let numbers = rest.split_whitespace().skip(11).take(2);
            numbers.filter_map(|n| n.parse::<u64>().ok()).sum()
        });
        Figures {
            peak_memory: field("VmHWM:") * 1024,
            memory: field("VmRSS:") * 1024,
            cpu_seconds: ticks as f64 / TICKS_A_SECOND,
            threads: field("Threads:"),
            files: fs::read_dir(process.join("fd")).map_or(0, |files| files.count() as u64),
        }
    }

    /// Makes the kernel forget the peak of memory.
    pub(crate) fn reset_peak(&self) {
        let file = format!("/proc/{}/clear_refs", self.child.id());
        // If that is not possible, the peak includes the start.
        let _ = fs::write(file, "5");
    }

    /// Returns the number of lines of the log that have all these words.
    pub(crate) fn logged(&self, words: &[&str]) -> Result<usize, Failure> {
        let log = BufReader::new(File::open(&self.log)?);
        let mut found = 0;
        for line in log.split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            found += usize::from(words.iter().all(|word| line.contains(word)));
        }
        Ok(found)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
