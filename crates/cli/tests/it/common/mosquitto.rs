//! The broker mosquitto, with certificates and access rules as docs/agent.md shows them.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{shared, tfhe_sbc};

/// The settings in the manual that begin so.
fn block(beginning: &str) -> String {
    let manual = include_str!("../../../../../docs/agent.md");
    let mut blocks = manual.split("```conf\n").skip(1);
    let block = blocks.find(|block| block.starts_with(beginning)).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// A broker; dropped, it is killed.
pub(crate) struct Mosquitto {
    child: Child,
    pub(crate) address: String,
}

impl Mosquitto {
    /// Starts the broker, with TLS and the rules if `tls` is set, and otherwise for readings only.
    pub(crate) fn start(directory: &Path, tls: bool) -> Self {
        Self::start_at(directory, tls, super::free_address().port())
    }

    pub(crate) fn start_at(directory: &Path, tls: bool, port: u16) -> Self {
        fs::write(directory.join("rules"), block("user ingest")).unwrap();
        let secure =
            block("listener 8883").replace("/etc/mosquitto", &directory.display().to_string());
        let settings = match tls {
            true => secure.replace("listener 8883", &format!("listener {port} 127.0.0.1")),
            false => format!("listener {port} 127.0.0.1\nallow_anonymous true\n"),
        };
        let settings = format!("user root\n{settings}");
        let file = directory.join(format!("mosquitto-{port}.conf"));
        fs::write(&file, settings).unwrap();
        let log_file = directory.join(format!("mosquitto-{port}.log"));
        let log = fs::File::create(&log_file).unwrap();
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
        let child = Command::new("mosquitto")
            .env("PATH", path)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("these tests need the broker mosquitto: apt-get install mosquitto");
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(&log_file).unwrap_or_default();
            assert!(
                Instant::now() < deadline,
                "mosquitto does not start:\n{log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            child,
            address: format!("127.0.0.1:{port}"),
        }
    }
}

impl Mosquitto {
    /// Publishes a file under a topic, with the certificate of `device` if the broker wants one.
    pub(crate) fn publish(&self, directory: &Path, device: Option<&str>, topic: &str, file: &Path) {
        let (host, port) = self.address.split_once(':').unwrap();
        let mut run = Command::new("mosquitto_pub");
        run.current_dir(directory);
        run.args(["-h", host, "-p", port, "-q", "1", "-t", topic, "-f"]);
        run.arg(file);
        if let Some(device) = device {
            run.args(["--cafile", "tls/ca.pem"]);
            run.args(["--cert", &format!("tls/{device}.pem")]);
            run.args(["--key", &format!("tls/{device}.key")]);
        }
        let run = run
            .status()
            .expect("these tests need mosquitto's clients: apt-get install mosquitto-clients");
        assert!(run.success());
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A desk with certificates of its own.
pub(crate) fn desk() -> tempfile::TempDir {
    let desk = shared().desk();
    let directory = desk.path();
    fs::remove_dir_all(directory.join("tls")).unwrap();
    tfhe_sbc(directory, &["certs"]).succeeded();
    for (name, role) in [("ingest", "owner"), ("hill", "device")] {
        tfhe_sbc(directory, &["certs", "--add", name, "--role", role]).succeeded();
    }
    desk
}
