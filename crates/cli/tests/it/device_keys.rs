//! Boards with keys of their own, through a real server process: issued, registered,
//! replaced, and asked about together.

use std::path::Path;

use crate::common::board::stored_uploads;
use crate::common::{Run, Server, encrypt, shared, tfhe_sbc, tfhe_sbc_fed};
use serde_json::json;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::wire::{Header, Message};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::identity::{CertificateFiles, Identity};
use tfhe_sbc_transport::signature::{Algorithm, SigningKey};

/// Issues a key, whose files are called as the device and the epoch.
fn issue(directory: &Path, device: &str, epoch: &str, switches: &str) {
    let own = format!("{device}-{epoch}.tsbc");
    let switch = format!("{switches}/{own}");
    tfhe_sbc(
        directory,
        &[
            "device-key",
            "--device",
            device,
            "--epoch",
            epoch,
            "--out-device",
            &own,
            "--out-switch",
            &switch,
        ],
    )
    .succeeded();
}

/// Gives devices certificates.
fn certify(directory: &Path, names: &[&str]) {
    for name in names {
        tfhe_sbc(directory, &["certs", "--out", "tls", "--add", name]).succeeded();
    }
}

/// Sends an upload with the certificate of this name.
fn send(server: &Server, directory: &Path, name: &str, upload: &[u8]) -> Run {
    let arguments = ["send", "--to", &server.url, "--identity", name];
    tfhe_sbc_fed(directory, &arguments, upload)
}

/// An upload counts for the board whose certificate it came with, and no board gets values into another's.
#[test]
fn uploads_in_another_name_are_refused_counted_and_logged() {
    let desk = shared().desk();
    let directory = desk.path();
    std::fs::create_dir(directory.join("switches")).unwrap();
    issue(directory, "hill", "1", "switches");
    issue(directory, "valley", "1", "switches");
    certify(directory, &["hill", "valley"]);
    let public = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
    let csv = "timestamp,level,flow\nforged,4.5,3\n";
    let upload = |key: &str, csv: &str| encrypt(directory, &["--key", key], csv);
    let (hill, valley) = (upload("hill-1.tsbc", csv), upload("valley-1.tsbc", csv));
    let (shared, public) = (upload("keys/device.tsbc", csv), upload("public.tsbc", csv));
    // What a public key made, said to be valley's: the fingerprint is in the headers alone.
    let mut pretended = public.clone();
    let valley_key: [u8; 16] = valley[24..40].try_into().unwrap();
    rename_key(&mut pretended, valley_key);

    let server = Server::start_strict(directory, &["--device-keys", "switches"]);
    let other = [
        "(403)",
        "device 'valley', epoch 1",
        "'hill'",
        "tfhe-sbc provision",
    ];
    send(&server, directory, "hill", &valley).refused(&other);
    send(&server, directory, "hill", &pretended).refused(&other);
    send(&server, directory, "hill", &shared).refused(&["(403)", "--allow-shared-key"]);
    send(&server, directory, "hill", &public).refused(&["(403)", "--allow-public-key"]);
    send(&server, directory, "valley", &pretended).refused(&["(403)", "--allow-public-key"]);
    for (name, upload) in [("hill", &hill), ("valley", &valley), ("owner", &public)] {
        send(&server, directory, name, upload).succeeded();
    }
    let tls = directory.join("tls");
    let owner = CertificateFiles::named(&tls, "owner");
    let owner = Identity::load(&tls.join("ca.pem"), &owner).unwrap();
    let metrics = Client::connect(&server.url, &owner)
        .unwrap()
        .metrics()
        .unwrap();
    let counted = "tfhe_sbc_rejected_total{reason=\"wrong_name\"} 5";
    assert!(metrics.contains(counted), "{metrics}");
    let (_, log) = server.terminate();
    assert_eq!(log.matches("wrong_name").count(), 5, "{log}");

    // Nor does what another board uploads last become what a question is about.
    let server = Server::start_strict(directory, &["--device-keys", "switches"]);
    let ask = |readings: &str| {
        let question = [
            "query",
            "--to",
            &server.url,
            "--readings",
            readings,
            "max(level)",
        ];
        tfhe_sbc(directory, &question)
    };
    let several = ["(400)", "hill", "valley", "latest:NAME"];
    ask("latest").refused(&several);
    let answered = ask("latest:hill").succeeded();
    let about = "about the upload of 'hill'";
    assert!(answered.stderr.contains(about), "{}", answered.stderr);
    ask("latest:moor").refused(&["(404)", "'moor'", "hill"]);
    drop(server);

    let open = [
        "--device-keys",
        "switches",
        "--allow-shared-key",
        "--allow-public-key",
    ];
    let server = Server::start_strict(directory, &open);
    send(&server, directory, "hill", &shared).succeeded();
    send(&server, directory, "hill", &upload("public.tsbc", csv)).succeeded();
    send(&server, directory, "hill", &pretended).refused(&other);
}

/// A board whose key for signatures the server has signs, over HTTPS too.
#[test]
fn a_board_with_a_key_for_signatures_has_to_sign() {
    let desk = shared().desk();
    let directory = desk.path();
    std::fs::create_dir(directory.join("switches")).unwrap();
    certify(directory, &["hill", "valley"]);
    issue(directory, "hill", "1", "switches");
    issue(directory, "hill", "2", "switches");
    let upload = encrypt(
        directory,
        &["--key", "hill-2.tsbc"],
        "timestamp,level,flow\nsigned,4.5,3\n",
    );
    let key = SigningKey::generate(Algorithm::Ed25519).unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write("hill.key", &key.to_pem().unwrap());
    write("public.pem", &key.public_pem().unwrap());
    let server = Server::start_strict(directory, &["--device-keys", "switches"]);
    let signed = |name: &str, key: &str| {
        let arguments = [
            "send",
            "--to",
            &server.url,
            "--identity",
            name,
            "--sign",
            key,
        ];
        tfhe_sbc_fed(directory, &arguments, &upload)
    };
    signed("hill", "hill.key").refused(&["(403)", "no key to check", "NAME-EPOCH.sign.pem"]);
    // The key of an old epoch does not count.
    write("switches/hill-1.sign.pem", &key.public_pem().unwrap());
    signed("hill", "hill.key").refused(&["(403)", "no key to check"]);
    write("switches/hill-2.sign.pem", &key.public_pem().unwrap());
    send(&server, directory, "hill", &upload).refused(&["(403)", "is not signed"]);
    // The signature is of a name.
    signed("valley", "hill.key").refused(&["(403)", "no key to check"]);
    let id = signed("hill", "hill.key")
        .succeeded()
        .text()
        .trim()
        .to_owned();
    let stored = stored_uploads(directory);
    let found = stored.iter().find(|(stored, _)| *stored == id);
    assert_eq!(found.map(|(_, bytes)| bytes), Some(&upload));
    signed("hill", "public.pem").refused(&["no private key", "openssl genpkey"]);
    signed("hill", "none.key").refused(&["cannot read none.key"]);

    // A key that cannot be read does not open the door.
    write("switches/hill-2.sign.pem", "no key");
    send(&server, directory, "hill", &upload).refused(&["(500)", "its log says more"]);
    let (_, log) = server.terminate();
    assert!(
        log.contains("hill-2.sign.pem") && log.contains("reason=\"signature\""),
        "{log}"
    );
}

/// Writes another key's fingerprint into the headers of an upload.
fn rename_key(upload: &mut [u8], key: [u8; 16]) {
    let (_, rest) = Message::parse(upload).unwrap();
    let first = upload.len() - rest.len();
    for message in <[&mut [u8]; 2]>::from(upload.split_at_mut(first)) {
        let (parsed, _) = Message::parse(message).unwrap();
        let header = Header {
            key: KeyFingerprint(key),
            ..parsed.header
        };
        header.seal(message).unwrap();
    }
}

#[test]
fn boards_with_their_own_keys_are_computed_on_together_and_get_new_keys() {
    let desk = shared().desk();
    let directory = desk.path();
    std::fs::create_dir(directory.join("switches")).unwrap();
    std::fs::create_dir(directory.join("later")).unwrap();
    issue(directory, "hill", "1", "switches");
    issue(directory, "lake", "4", "switches");
    certify(directory, &["hill", "lake", "moor"]);
    let server = Server::start_strict(directory, &["--device-keys", "switches"]);
    let send = |name: &str, upload: &[u8]| send(&server, directory, name, upload);
    let stored =
        |name: &str, upload: &[u8]| send(name, upload).succeeded().text().trim().to_owned();

    let hill = encrypt(
        directory,
        &["--key", "hill-1.tsbc"],
        "timestamp,level,flow\nhill,-1.5,60\n",
    );
    let lake = encrypt(
        directory,
        &["--key", "lake-4.tsbc"],
        "timestamp,level,flow\nlake,2.0,3\n",
    );
    let shared = encrypt(
        directory,
        &["--key", "keys/device.tsbc"],
        "timestamp,level,flow\nsea,0.5,17\n",
    );
    let ids = [("hill", &hill), ("lake", &lake), ("owner", &shared)]
        .map(|(name, upload)| stored(name, upload))
        .join(",");

    // A key that is not registered, until its switch key is copied.
    issue(directory, "moor", "1", "later");
    let moor = encrypt(
        directory,
        &["--key", "moor-1.tsbc"],
        "timestamp,level,flow\nmoor,1.0,5\n",
    );
    send("moor", &moor).refused(&[
        "(422)",
        "not registered",
        "tfhe-sbc device-key",
        "--device-keys",
    ]);
    let moor_switch = directory.join("later/moor-1.tsbc");
    std::fs::copy(moor_switch, directory.join("switches/moor-1.tsbc")).unwrap();
    stored("moor", &moor);

    // A new key for the hill: the old one sends no more.
    issue(directory, "hill", "2", "switches");
    let late = encrypt(
        directory,
        &["--key", "hill-1.tsbc"],
        "timestamp,level,flow\nlate,1.0,9\n",
    );
    send("hill", &late).refused(&["(422)", "device 'hill', epoch 1", "epoch 2 is current"]);
    let new = encrypt(
        directory,
        &["--key", "hill-2.tsbc"],
        "timestamp,level,flow\nnew,-2.0,8\n",
    );
    let ids = format!("{ids},{}", stored("hill", &new));

    // Thresholds under the hill's new key, readings under four others.
    let asked = [
        "query",
        "--to",
        &server.url,
        "--columns",
        "columns.toml",
        "--device-key",
        "hill-2.tsbc",
        "--readings",
        &ids,
        "min(level)",
        "max(flow)",
        "sum(flow)",
        "rows(flow >= encrypted(8))",
    ];
    let result = tfhe_sbc(directory, &asked).succeeded().stdout;
    let decoded = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result);
    assert_eq!(
        decoded.succeeded().json()["answers"],
        json!([
            {"name": "min(level)", "answer": {"value": -2.0, "unit": "m"}},
            {"name": "max(flow)", "answer": {"value": 60.0, "unit": ""}},
            {"name": "sum(flow)", "answer": {"value": 88.0, "unit": ""}},
            {"name": "rows(flow >= encrypted(…))", "answer": ["hill hill", "owner sea", "hill new"]},
        ])
    );

    // The same on files.
    std::fs::write(directory.join("lake.tsbc"), &lake).unwrap();
    let eval = [
        "eval",
        "--columns",
        "columns.toml",
        "--device-keys",
        "switches",
        "--readings",
        "lake.tsbc",
        "max(level)",
    ];
    let result = tfhe_sbc(directory, &eval).succeeded().stdout;
    let decoded = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result).succeeded();
    assert_eq!(decoded.json()["answers"][0]["answer"]["value"], 2.0);
}

#[test]
fn keys_are_not_overwritten_and_inspected() {
    let desk = shared().desk();
    let directory = desk.path();
    let arguments = |device: &'static str, switch: &'static str, name: &'static str| {
        [
            "device-key",
            "--device",
            name,
            "--out-device",
            device,
            "--out-switch",
            switch,
        ]
    };
    tfhe_sbc(directory, &arguments("own.tsbc", "switch.tsbc", "pi")).succeeded();
    for (device, switch, name, words) in [
        (
            "own.tsbc",
            "new.tsbc",
            "pi",
            ["own.tsbc exists", "directory or name"],
        ),
        (
            "new.tsbc",
            "switch.tsbc",
            "pi",
            ["switch.tsbc exists", "directory or name"],
        ),
        ("new.tsbc", "new.tsbc", "pi", ["one file", "two files"]),
        ("new.tsbc", "new", "pi", ["would not find", ".tsbc"]),
        (
            "none/new.tsbc",
            "new.tsbc",
            "pi",
            ["no directory", "make the directory"],
        ),
        (
            "new.tsbc",
            "new.tsbc",
            "a pi",
            ["1 to 16 letters", "--device"],
        ),
    ] {
        tfhe_sbc(directory, &arguments(device, switch, name)).refused(&words);
        assert!(!directory.join("new.tsbc").exists());
    }
    let epoch = [&arguments("a.tsbc", "b.tsbc", "pi")[..], &["--epoch", "0"]].concat();
    tfhe_sbc(directory, &epoch).refused(&["an epoch is a number from 1"]);

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| {
            let metadata = std::fs::metadata(directory.join(name)).unwrap();
            metadata.permissions().mode() & 0o777
        };
        assert_eq!((mode("own.tsbc"), mode("switch.tsbc")), (0o600, 0o644));
    }
    for (file, kind) in [
        ("own.tsbc", "device key"),
        ("switch.tsbc", "device switch key"),
    ] {
        let described = tfhe_sbc(directory, &["inspect", file]).succeeded();
        for words in [kind, "device 'pi', epoch 1", "key set"] {
            assert!(described.text().contains(words), "{}", described.text());
        }
    }
    let public = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
    tfhe_sbc(directory, &public).refused(&["public.tsbc exists", "directory or name"]);
    let both = [&public[..], &["--device", "pi"]].concat();
    tfhe_sbc(directory, &both).refused(&["cannot be used with", "--device"]);
    let described = tfhe_sbc(directory, &["inspect", "public.tsbc"]).succeeded();
    assert!(described.text().starts_with("device public key"));
    let described = tfhe_sbc(directory, &["inspect", "keys/device.tsbc"]).succeeded();
    assert!(described.text().contains("all devices of the key set"));
}
