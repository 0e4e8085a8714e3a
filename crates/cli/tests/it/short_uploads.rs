//! Uploads whose column definitions the server knows already: what travels from an agent to a server, through
//! restarts, and the answers.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::board::{agent, append, ids, settings, stored_uploads};
use crate::common::{Server, command, shared, tfhe_sbc, tfhe_sbc_fed};
use serde_json::json;

/// The bytes of an upload of 24 hourly rows of [`columns`], whole and short.
const WHOLE: usize = 1024;
const SHORT: usize = 513;

/// Four columns for means, of the widths of the bundled weather data.
fn columns(source: &str) -> String {
    let column = |(name, bits, body_bits)| {
        format!(
            "[[column]]\nname = \"{name}\"\nunit = \"m\"\noffset = 0.0\nscale = 1.0\nbits = {bits}\n\
             compact = {{ headroom = 14, body_bits = {body_bits}, feedback = true }}\n{source}\n"
        )
    };
    let columns = [
        ("temperature_c", 10, 30),
        ("humidity", 7, 27),
        ("wind", 8, 28),
        ("illuminance", 17, 37),
    ];
    columns.map(column).concat()
}

/// The 24 rows of a day, whose readings are its number.
fn day(number: usize) -> String {
    let row =
        |hour| format!("2026-03-{number:02}T{hour:02}:00,{number},{number},{number},{number}\n");
    (0..24).map(row).collect()
}

/// Forwards connections to a server, and counts the bytes that clients send.
struct Wire {
    url: String,
    sent: Arc<AtomicUsize>,
}

impl Wire {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let sent = Arc::<AtomicUsize>::default();
        let (server, count) = (server.to_owned(), Arc::clone(&sent));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(there) = TcpStream::connect(&server) else {
                    continue;
                };
                let back = (there.try_clone().unwrap(), client.try_clone().unwrap());
                let count = Arc::clone(&count);
                let forward = |mut from: TcpStream, mut to: TcpStream, count: Arc<AtomicUsize>| {
                    let mut bytes = [0; 4096];
                    while let Ok(len @ 1..) = from.read(&mut bytes) {
                        count.fetch_add(len, Ordering::SeqCst);
                        if to.write_all(&bytes[..len]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Write);
                };
                std::thread::spawn(move || forward(client, there, count));
                std::thread::spawn(move || forward(back.0, back.1, Arc::default()));
            }
        });
        Self { url, sent }
    }

    /// The bytes since the last call.
    fn count(&self) -> usize {
        self.sent.swap(0, Ordering::SeqCst)
    }
}

/// The log of a board's readings, which grows by days.
struct Board<'a> {
    directory: &'a Path,
    wire: Wire,
    days: usize,
}

impl Board<'_> {
    /// Reads and sends another day. Returns the bytes of the form that the server has accepted, and all bytes
    /// that were sent.
    fn next_day(&mut self) -> (usize, usize) {
        self.days += 1;
        append(&self.directory.join("log.csv"), &day(self.days));
        self.wire.count();
        let report = agent(self.directory, &["--once", "--json"])
            .succeeded()
            .json();
        assert_eq!(
            (&report["rows"], &report["sent"], &report["waiting"]),
            (&json!(24), &json!(1), &json!(0)),
            "{report}"
        );
        (
            report["bytes"].as_u64().unwrap() as usize,
            self.wire.count(),
        )
    }
}

fn serve(directory: &Path, address: &str) -> Server {
    let arguments = ["serve", "--listen", address, "--allow-shared-key"];
    Server::from_command(command(directory, &arguments).env("RUST_LOG", "info"))
}

#[test]
fn definitions_travel_once_and_answers_do_not_change() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = serve(directory, "127.0.0.1:0");
    let address = server.url.strip_prefix("https://").unwrap().to_owned();
    let wire = Wire::to(&address);
    fs::remove_file(directory.join("columns.toml")).unwrap();
    fs::write(directory.join("columns.toml"), columns("")).unwrap();
    let csv = "[csv]\npath = \"log.csv\"\nlabel = \"time\"\n[batch]\nrows = 24\n";
    let sources = columns("source = { kind = \"csv\" }");
    settings(directory, &wire.url, &format!("{csv}{sources}"));
    append(
        &directory.join("log.csv"),
        "time,temperature_c,humidity,wind,illuminance\n",
    );
    let mut board = Board {
        directory,
        wire,
        days: 0,
    };
    let (whole, whole_sent) = board.next_day();
    let (short, short_sent) = board.next_day();
    assert_eq!((whole, short), (WHOLE, SHORT));
    // The rest is the handshake and the requests around the upload, the same both times but for some bytes.
    let fell = whole_sent - short_sent;
    assert!(
        fell.abs_diff(WHOLE - SHORT) < 64,
        "{whole_sent} {short_sent}"
    );
    let guide = include_str!("../../../../docs/agent.md");
    let figure = format!("{WHOLE} bytes whole and {SHORT} bytes short");
    assert!(guide.contains(&figure), "docs/agent.md: {figure}");

    // A server that is started again still knows them.
    let (status, log) = server.terminate();
    assert!(status.success() && !log.contains("status=409"), "{log}");
    let server = serve(directory, &address);
    assert_eq!(board.next_day().0, SHORT);
    // Stored uploads are whole, and answers are those of the readings.
    for (_, upload) in stored_uploads(directory) {
        assert_eq!(upload.len(), WHOLE);
    }
    let asked = |url: &str, readings: &str| {
        let asked = ["query", "--to", url, "--columns", "columns.toml"];
        let readings = ["--readings", readings, "sum(temperature_c)", "mean(wind)"];
        let result = tfhe_sbc(directory, &[&asked[..], &readings].concat()).succeeded();
        let answers = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result.stdout);
        let answers = answers.succeeded().json();
        let value = |place: usize| {
            answers["answers"][place]["answer"]["value"]
                .as_f64()
                .unwrap()
        };
        (value(0), value(1))
    };
    assert_eq!(asked(&server.url, &ids(directory)), (24.0 * 6.0, 2.0));

    // One that has lost everything gets the next upload whole, after a refusal of the short one.
    let (status, _) = server.terminate();
    assert!(status.success());
    fs::remove_dir_all(directory.join("store")).unwrap();
    let server = serve(directory, &address);
    let (bytes, sent) = board.next_day();
    assert_eq!(bytes, WHOLE);
    assert!(sent > whole_sent + SHORT, "{sent}");
    assert_eq!(board.next_day().0, SHORT);
    assert_eq!(asked(&server.url, &ids(directory)), (24.0 * 9.0, 4.5));
    // Other columns are other definitions: they travel once, too.
    let wider = sources.replace("bits = 7\n", "bits = 6\n");
    settings(directory, &board.wire.url, &format!("{csv}{wider}"));
    assert_eq!(board.next_day().0, WHOLE);
    assert_eq!(board.next_day().0, SHORT);
    let (_, log) = server.terminate();
    assert_eq!(
        log.matches("reason=\"unknown_definitions\"").count(),
        1,
        "{log}"
    );
}
