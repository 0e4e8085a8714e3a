//! `demo`: a server, sample devices with bundled readings, and the gateway in front of them.
//!
//! The keys, the certificates and the server are those of the program `tfhe-sbc`. The readings are encrypted as boards do it, under
//! a key of each, and sent with the certificate of each.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;
use zeroize::Zeroizing;

use crate::error::{GatewayError, Outcome, code};
use crate::journal::now;
use crate::options::{Demo, Keys, Serve, Server, Shown};
use crate::predicates::DAY;

/// A year of hourly weather readings.
const WEATHER: &str = include_str!("../../crates/cli/data/greensboro-hourly.csv");

/// The definitions of its columns: all for means, which then take no bootstrap.
const COLUMNS: &str = r#"[
  {"name": "temperature_c", "unit": "°C", "offset": -50.0, "scale": 0.1, "bits": 10},
  {"name": "humidity_pct", "unit": "%", "offset": 0.0, "scale": 1.0, "bits": 7},
  {"name": "pressure_hpa", "unit": "hPa", "offset": 850.0, "scale": 1.0, "bits": 8},
  {"name": "illuminance_lx", "unit": "lx", "offset": 0.0, "scale": 10.0, "bits": 14}
]"#;

/// The rows of a day.
const HOURS: usize = 24;

fn failed(what: impl std::fmt::Display) -> GatewayError {
    GatewayError::new(code::CONFIGURATION, what)
}

/// The demo's directory and the program that makes what is in it.
struct Place<'a> {
    directory: &'a Path,
    program: PathBuf,
}

/// The server's process; it ends when this is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    url: String,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes what the demo needs unless it is there already, and starts the server. Returns the server and the options to serve SQL with.
pub(crate) fn prepare(demo: Demo) -> Outcome<(ServerProcess, Serve)> {
    std::fs::create_dir_all(&demo.directory)
        .map_err(|error| failed(format_args!("{}: {error}", demo.directory.display())))?;
    let directory = std::path::absolute(&demo.directory).map_err(GatewayError::internal)?;
    let place = Place {
        directory: &directory,
        program: program(demo.program.as_deref())?,
    };
    let is_new = !directory.join("ready").exists();
    if is_new {
        say("making keys and certificates");
        place.run(&["keygen", "--out", "keys"])?;
        place.run(&["certs", "--out", "tls"])?;
        std::fs::create_dir_all(directory.join("device-keys")).map_err(GatewayError::internal)?;
        std::fs::create_dir_all(directory.join("boards")).map_err(GatewayError::internal)?;
        for number in 1..=demo.devices {
            place.board(&name(number))?;
        }
    }
    say("starting the server");
    let server = place.serve()?;
    // For `tfhe-sbc` and other clients of this server.
    std::fs::write(directory.join("server.txt"), &server.url).map_err(GatewayError::internal)?;
    if is_new {
        let begin = demo.begin.unwrap_or_else(|| {
            let today = now().unix_ms().div_euclid(DAY) * DAY;
            Moment::from_unix_ms(today - i64::from(demo.days) * DAY)
        });
        place.send(&server.url, &demo, begin)?;
        std::fs::write(directory.join("ready"), "").map_err(GatewayError::internal)?;
    }
    let mut serving = demo.serving;
    if serving.asking.cache.is_relative() {
        serving.asking.cache = directory.join(&serving.asking.cache);
    }
    let serve = Serve {
        server: Server {
            to: server.url.clone(),
            shown: Shown {
                tls: directory.join("tls"),
                identity: "owner".to_owned(),
            },
        },
        keys: Keys {
            key: directory.join("keys/secret.tsbc"),
            device_key: directory.join("keys/device.tsbc"),
            device_keys: Some(directory.join("device-keys")),
        },
        serving,
    };
    Ok((server, serve))
}

fn say(what: &str) {
    eprintln!("{what}");
}

/// The name of a device.
fn name(number: u32) -> String {
    format!("station-{number:02}")
}

/// Finds the program `tfhe-sbc`: the given one, one beside this program, or one in the path.
fn program(given: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(given) = given {
        return std::path::absolute(given).map_err(GatewayError::internal);
    }
    let own = std::env::current_exe().map_err(GatewayError::internal)?;
    let beside = own.with_file_name("tfhe-sbc");
    Ok(match beside.exists() {
        true => beside,
        false => PathBuf::from("tfhe-sbc"),
    })
}

impl Place<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.directory).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome<()> {
        let output = self.command(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| {
            failed(format_args!("{}: {error}", self.program.display()))
                .advise("name the program tfhe-sbc with --program")
        })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(format_args!(
                "tfhe-sbc {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
        }
    }

    /// Makes the certificate and the key of a board.
    fn board(&self, name: &str) -> Outcome<()> {
        self.run(&["certs", "--out", "tls", "--add", name])?;
        let (own, switch) = (
            format!("boards/{name}.tsbc"),
            format!("device-keys/{name}-1.tsbc"),
        );
        self.run(&[
            "device-key",
            "--device",
            name,
            "--out-device",
            &own,
            "--out-switch",
            &switch,
        ])
    }

    /// Starts the server and waits until it listens.
    fn serve(&self) -> Outcome<ServerProcess> {
        let mut command = self.command(&[
            "serve",
            "--until-stdin-ends",
            "--listen",
            "127.0.0.1:0",
            "--key",
            "keys/server.tsbc",
            "--tls",
            "tls",
            "--store",
            "store",
            "--device-keys",
            "device-keys",
        ]);
        if std::env::var_os("RUST_LOG").is_none() {
            command.env("RUST_LOG", "warn");
        }
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format_args!("{}: {error}", self.program.display())))?;
        let mut server = ServerProcess {
            child,
            url: String::new(),
        };
        let mut line = String::new();
        if let Some(stdout) = server.child.stdout.as_mut() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(GatewayError::internal)?;
        }
        let address = line.trim().strip_prefix("listening on ");
        let address =
            address.ok_or_else(|| failed("the server did not start; its words are above"))?;
        server.url = format!("https://{address}");
        Ok(server)
    }

    /// Encrypts and sends the readings of all devices, an upload a day, and writes them in the clear into `clear.csv`.
    fn send(&self, url: &str, demo: &Demo, begin: Moment) -> Outcome<()> {
        say(&format!(
            "sending {} days of {} devices",
            demo.days, demo.devices
        ));
        let definitions: Vec<Definition> =
            serde_json::from_str(COLUMNS).map_err(GatewayError::internal)?;
        let weather = weather(&definitions)?;
        let mut clear = String::from("device,time");
        for definition in &definitions {
            clear.push_str(&format!(",{}", definition.name));
        }
        clear.push('\n');
        for number in 1..=demo.devices {
            let name = name(number);
            let key = std::fs::read(self.directory.join(format!("boards/{name}.tsbc")));
            let key = Zeroizing::new(key.map_err(GatewayError::internal)?);
            let mut session = DeviceSession::new(key, MemoryPlan::recommended())
                .map_err(GatewayError::internal)?;
            let columns = session
                .columns(&definitions)
                .map_err(GatewayError::internal)?;
            let identity = Identity::in_directory(&self.directory.join("tls"), &name)
                .map_err(GatewayError::internal)?;
            let client = Client::connect(url, &identity)?;
            for day in 0..demo.days {
                // Each device has another part of the year.
                let first = (number as usize * 5 + day as usize) % 360 * HOURS;
                let rows = weather.get(first..first + HOURS).unwrap_or_default();
                let from = begin.unix_ms() + i64::from(day) * DAY;
                let upload = encrypt(&mut session, &columns, rows, from, &name, &mut clear)?;
                client.upload(&upload)?;
            }
        }
        let mut file = std::fs::File::create(self.directory.join("clear.csv"))
            .map_err(GatewayError::internal)?;
        file.write_all(clear.as_bytes())
            .map_err(GatewayError::internal)
    }
}

/// Encrypts the rows of a day that begins at a moment in milliseconds since 1970, and appends them to a table in the clear.
fn encrypt(
    session: &mut DeviceSession,
    columns: &[Column],
    rows: &[Vec<f64>],
    from: i64,
    name: &str,
    clear: &mut String,
) -> Outcome<Vec<u8>> {
    let time = |row: usize| Moment::from_unix_ms(from + row as i64 * 3_600_000).to_string();
    let labels: Vec<String> = (0..rows.len()).map(time).collect();
    let readings: Vec<Vec<f64>> = (0..columns.len())
        .map(|column| {
            let values = rows.iter().filter_map(|row| row.get(column));
            values.copied().collect()
        })
        .collect();
    for (label, row) in labels.iter().zip(rows) {
        clear.push_str(&format!("{name},{label}"));
        for value in row {
            clear.push_str(&format!(",{value}"));
        }
        clear.push('\n');
    }
    session
        .encrypt_table(ExpanderKind::ChaCha20, columns, &labels, &readings)
        .map_err(GatewayError::internal)
}

/// The rows of the bundled readings, without their times, in steps of the columns.
fn weather(definitions: &[Definition]) -> Outcome<Vec<Vec<f64>>> {
    let rows = WEATHER.lines().skip(1).map(|line| {
        let cells = line.split(',').skip(1).zip(definitions);
        let cells = cells.map(|(cell, definition)| {
            let value: f64 = cell.parse()?;
            // Illuminance is finer than its column.
            Ok(match definition.scale > 1.0 {
                true => (value / definition.scale).round() * definition.scale,
                false => value,
            })
        });
        cells.collect::<Result<Vec<f64>, std::num::ParseFloatError>>()
    });
    rows.collect::<Result<_, _>>()
        .map_err(GatewayError::internal)
}
