//! Clients and servers that do not fit together: each refusal says what is wrong and
//! what to do.

use std::path::Path;

use crate::common::{self, Server, shared, tfhe_sbc};

#[track_caller]
fn send_is_refused(directory: &Path, url: &str, arguments: &[&str], words: &[&str]) {
    tfhe_sbc(directory, &[&["send", "--to", url], arguments].concat()).refused(words);
}

#[track_caller]
fn query_is_refused(directory: &Path, url: &str, arguments: &[&str], words: &[&str]) {
    let query = [
        "query",
        "--to",
        url,
        "--columns",
        "columns.toml",
        "--out",
        "out.bin",
    ];
    tfhe_sbc(directory, &[&query, arguments].concat()).refused(words);
    assert!(!directory.join("out.bin").exists());
}

#[test]
fn a_client_that_the_server_does_not_know_is_refused() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let url = server.url.as_str();

    send_is_refused(
        directory,
        url,
        &["day.tsbc", "--tls", "nowhere"],
        &[
            "cannot read the authority's certificate nowhere/ca.pem",
            "`tfhe-sbc certs`",
        ],
    );
    send_is_refused(
        directory,
        url,
        &["day.tsbc", "--identity", "board-7"],
        &[
            "cannot read the certificate tls/board-7.pem",
            "`tfhe-sbc certs`",
        ],
    );
    send_is_refused(
        directory,
        url,
        &["day.tsbc", "--tls", "foreign-tls"],
        &[
            "is not trusted",
            "Give the ca.pem that its certificate was issued under",
        ],
    );
    std::fs::create_dir(directory.join("mixed")).unwrap();
    for (from, name) in [
        ("tls", "ca.pem"),
        ("foreign-tls", "device.pem"),
        ("foreign-tls", "device.key"),
        ("foreign-tls", "owner.pem"),
        ("foreign-tls", "owner.key"),
    ] {
        let (from, to) = (
            directory.join(from).join(name),
            directory.join("mixed").join(name),
        );
        std::fs::copy(from, to).unwrap();
    }
    let words = [
        "refused this client's certificate",
        "Use one issued by the server's own authority",
    ];
    send_is_refused(directory, url, &["day.tsbc", "--tls", "mixed"], &words);
    query_is_refused(directory, url, &["max(level)", "--tls", "mixed"], &words);
    // The server's own certificate is none for a client.
    send_is_refused(
        directory,
        url,
        &["day.tsbc", "--identity", "server"],
        &words,
    );

    query_is_refused(
        directory,
        url,
        &["max(level)", "--identity", "device"],
        &[
            "(403)",
            "is that of a device, which may not query",
            "use the owner's certificate",
        ],
    );
    let store = common::contents(&directory.join("store"));
    assert!(
        !store
            .keys()
            .any(|path| path.to_string_lossy().contains("segments/"))
    );
}

#[test]
fn uploads_that_a_server_cannot_use_are_refused() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &["--max-upload-bytes", "1000"]);
    let url = server.url.as_str();
    query_is_refused(
        directory,
        url,
        &["max(level)"],
        &[
            "(404)",
            "no readings are stored yet",
            "upload readings first",
        ],
    );

    let encrypt = [
        "encrypt",
        "readings.csv",
        "--columns",
        "columns.toml",
        "--out",
        "other.tsbc",
    ];
    tfhe_sbc(
        directory,
        &[&encrypt[..], &["--key", "other-keys/device.tsbc"]].concat(),
    )
    .succeeded();
    let mut damaged = shared().read("day.tsbc");
    *damaged.last_mut().unwrap() ^= 0x40;
    std::fs::write(directory.join("damaged.tsbc"), &damaged).unwrap();
    std::fs::write(directory.join("short.tsbc"), &damaged[..damaged.len() - 9]).unwrap();
    let again = "make the readings again with `tfhe-sbc encrypt`";
    for (file, words) in [
        (
            "other.tsbc",
            [
                "(422)",
                "another key set",
                "encrypt with the device key of the key set",
            ],
        ),
        (
            "damaged.tsbc",
            ["(422)", "the checksum does not match", again],
        ),
        ("short.tsbc", ["(422)", "the data is cut short", again]),
        ("readings.csv", ["(422)", "not in tfhe-sbc's format", again]),
        (
            "result.tsbc",
            ["(413)", "larger than the 1000 bytes", "send fewer readings"],
        ),
        (
            "nowhere.tsbc",
            ["cannot read nowhere.tsbc", "check the path", "help"],
        ),
    ] {
        send_is_refused(directory, url, &[file], &words);
    }
    query_is_refused(
        directory,
        url,
        &["max(level)"],
        &["no readings are stored yet"],
    );

    tfhe_sbc(directory, &["send", "--to", url, "day.tsbc"]).succeeded();
    let none = "0".repeat(64);
    query_is_refused(
        directory,
        url,
        &["max(level)", "--readings", &none],
        &["(404)", "no readings are stored under"],
    );
    query_is_refused(
        directory,
        url,
        &["max(level)", "--readings", "first"],
        &["64 hexadecimal digits"],
    );
    query_is_refused(
        directory,
        url,
        &["max(level)", "--device-key", "other-keys/device.tsbc"],
        &[
            "(422)",
            "the query: it was made under another key set",
            "encrypt with the device key",
        ],
    );
    let weather = tfhe_sbc(directory, &["sample", "--columns"]).succeeded();
    std::fs::write(directory.join("weather.toml"), weather.stdout).unwrap();
    let arguments = [
        "query",
        "--to",
        url,
        "--columns",
        "weather.toml",
        "max(temperature_c)",
    ];
    tfhe_sbc(directory, &arguments).refused(&[
        "no column 'temperature_c': the columns are level, flow",
        "tfhe-sbc inspect",
    ]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let desk = shared().desk();
    let directory = desk.path();
    let running = "Is it running, and is the address right?";
    let write = "write https://HOST:PORT";
    for (url, words) in [
        (
            "https://127.0.0.1:1",
            ["cannot reach a server at 127.0.0.1:1", running],
        ),
        (
            "https://nowhere.invalid:8443",
            ["cannot reach a server at nowhere.invalid:8443", running],
        ),
        ("http://127.0.0.1:1", ["it must start with https://", write]),
        ("127.0.0.1:1", ["is no address of a server", write]),
        (
            "https://127.0.0.1:1/v1/readings",
            ["there must be nothing after the port", write],
        ),
    ] {
        send_is_refused(directory, url, &["day.tsbc"], &words);
        query_is_refused(directory, url, &["max(level)"], &words);
    }
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let desk = shared().desk();
    let serve = |arguments: &[&str]| {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        tfhe_sbc(desk.path(), &[&serve, arguments].concat())
    };
    serve(&["--tls", "nowhere"]).refused(&["nowhere/ca.pem", "`tfhe-sbc certs`"]);
    serve(&["--key", "nowhere"]).refused(&["cannot read nowhere", "tfhe-sbc keygen"]);
    serve(&["--key", "day.tsbc"]).refused(&["a server key is needed", "give the right file"]);
    tfhe_sbc(desk.path(), &["serve", "--listen", "nowhere"])
        .refused(&["invalid value 'nowhere'", "--help"]);
    assert!(
        !desk.path().join("store").exists(),
        "nothing was made for a server that is none"
    );
    serve(&["--store", "readings.csv"]).refused(&["no store", "choose a directory"]);
}
