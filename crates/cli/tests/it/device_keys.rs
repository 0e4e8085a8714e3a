//! Boards with keys of their own, through a real server process: issued, registered,
//! replaced, and asked about together.

use std::path::Path;

use crate::common::{Server, encrypt, shared, tfhe_sbc, tfhe_sbc_fed};
use serde_json::json;

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

#[test]
fn boards_with_their_own_keys_are_computed_on_together_and_get_new_keys() {
    let desk = shared().desk();
    let directory = desk.path();
    std::fs::create_dir(directory.join("switches")).unwrap();
    std::fs::create_dir(directory.join("later")).unwrap();
    issue(directory, "hill", "1", "switches");
    issue(directory, "lake", "4", "switches");
    let server = Server::start(directory, &["--device-keys", "switches"]);
    let send = |upload: &[u8]| tfhe_sbc_fed(directory, &["send", "--to", &server.url], upload);
    let stored = |upload: &[u8]| send(upload).succeeded().text().trim().to_owned();

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
    let ids = [&hill, &lake, &shared]
        .map(|upload| stored(upload))
        .join(",");

    // A key that is not registered, until its switch key is copied.
    issue(directory, "moor", "1", "later");
    let moor = encrypt(
        directory,
        &["--key", "moor-1.tsbc"],
        "timestamp,level,flow\nmoor,1.0,5\n",
    );
    send(&moor).refused(&[
        "(422)",
        "not registered",
        "tfhe-sbc device-key",
        "--device-keys",
    ]);
    let moor_switch = directory.join("later/moor-1.tsbc");
    std::fs::copy(moor_switch, directory.join("switches/moor-1.tsbc")).unwrap();
    stored(&moor);

    // A new key for the hill: the old one sends no more.
    issue(directory, "hill", "2", "switches");
    let late = encrypt(
        directory,
        &["--key", "hill-1.tsbc"],
        "timestamp,level,flow\nlate,1.0,9\n",
    );
    send(&late).refused(&["(422)", "device 'hill', epoch 1", "epoch 2 is current"]);
    let new = encrypt(
        directory,
        &["--key", "hill-2.tsbc"],
        "timestamp,level,flow\nnew,-2.0,8\n",
    );
    let ids = format!("{ids},{}", stored(&new));

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
            {"name": "rows(flow >= encrypted(…))", "answer": ["hill", "sea", "new"]},
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
