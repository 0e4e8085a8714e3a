//! The packing key in a server key file, and files without one.

use serde_json::Value;

use crate::common::{shared, tfhe_sbc};

const SET: &str = "message_1_carry_1";

#[test]
fn a_server_key_has_a_packing_key_unless_it_is_left_out() {
    let desk = tempfile::tempdir().unwrap();
    let directory = desk.path();
    let keygen = ["keygen", "--parameters", SET, "--out"];
    let with = tfhe_sbc(directory, &[&keygen[..], &["with"]].concat()).succeeded();
    let said = with.stderr;
    assert!(said.contains("packing key"), "{said}");
    assert!(said.contains("--no-packing leaves it out"), "{said}");
    let more = ["without", "--no-packing"];
    let without = tfhe_sbc(directory, &[&keygen[..], &more].concat()).succeeded();
    let said = without.stderr;
    assert!(!said.contains("packing"), "{said}");

    let inspect = |name: &str| -> Vec<Value> {
        let file = format!("{name}/server.tsbc");
        let messages = tfhe_sbc(directory, &["inspect", &file, "--json"]).succeeded();
        messages.json().as_array().unwrap().clone()
    };
    let (with, without) = (inspect("with"), inspect("without"));
    assert_eq!((with.len(), without.len()), (2, 1));
    assert_eq!(with[0]["bytes"], without[0]["bytes"]);
    assert_eq!(with[1]["kind"], "packing key");
    // 760 · 2 rows of 256 coefficients of 24 bits, and what says what they are.
    assert_eq!(with[1]["bytes"], 1_167_360 + 284);
    for print in ["key_fingerprint", "parameter_fingerprint"] {
        assert_eq!(with[1][print], with[0][print]);
    }
    let text = tfhe_sbc(directory, &["inspect", "with/server.tsbc"]).succeeded();
    for words in [
        "slots of a ciphertext    256",
        "failure of a slot        2^-128.9",
    ] {
        assert!(text.text().contains(words), "{}", text.text());
    }
}

#[test]
fn a_large_packing_key_is_found_and_said() {
    let desk = tempfile::tempdir().unwrap();
    let keygen = ["keygen", "--parameters", SET, "--large-packing"];
    let made = tfhe_sbc(desk.path(), &keygen).succeeded();
    assert!(made.stderr.contains("packing key"), "{}", made.stderr);
    let messages = tfhe_sbc(desk.path(), &["inspect", "keys/server.tsbc", "--json"]).succeeded();
    let bytes = messages.json()[1]["bytes"].as_u64().unwrap();
    assert!((2_000_000..6_001_000).contains(&bytes), "{bytes}");
    let both = [&keygen[..], &["--no-packing", "--out", "other"]].concat();
    tfhe_sbc(desk.path(), &both).refused(&["--no-packing"]);
}

/// The bytes that a release promises for the default set.
#[test]
fn the_default_packing_key_is_small() {
    let desk = shared().desk();
    let messages = tfhe_sbc(desk.path(), &["inspect", "keys/server.tsbc", "--json"]).succeeded();
    let bytes = messages.json()[1]["bytes"].as_u64().unwrap();
    assert_eq!(bytes, 1_336_320 + 284);
    let gates = tfhe_sbc(
        desk.path(),
        &["inspect", "gates-keys/server.tsbc", "--json"],
    );
    assert_eq!(gates.succeeded().json().as_array().unwrap().len(), 1);
}
