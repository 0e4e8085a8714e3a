//! Files that this workspace writes, read by the Python program in
//! `crates/core/tests`, which knows `docs/wire-format.md` only.

use std::path::{Path, PathBuf};
use std::process::Command;

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_core::wire::{Header, Kind};
use tfhe_sbc_device::{ExpanderKind, KeyMode};

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX, FROZEN_TERNARY, lwe_list, resealed};
use crate::common::{Device, varied_values};

fn run_reader(files: &[PathBuf]) -> String {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../core/tests/independent_reader.py"
    );
    let output = Command::new("python3")
        .arg(script)
        .args(files)
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `python3` (3.8 or newer) on the PATH, but: {error}")
        });
    assert!(
        output.status.success(),
        "the independent reader refused a file:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn words<T: ToString>(values: &[T]) -> String {
    values
        .iter()
        .map(|value| format!(" {}", value.to_string()))
        .collect()
}

fn the_reader_agrees<T: ProductTorus>(set: ParameterSet, folder: &str) {
    let mut device = Device::<T>::new(set, 51);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    let mut write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        files.push(path);
    };

    let secret = device.secret.to_bytes().unwrap();
    write("secret.key", &secret);
    write("device.key", &device.key_file);
    let mut expected = format!(
        "secret_key {} {} {}\ndevice_key shared\n",
        set.name,
        device.secret.parameters().fingerprint(),
        device.secret.fingerprint(),
    );
    for expander in ExpanderKind::ALL {
        // One ciphertext in full and one in part, after metadata as uploads have it.
        let values = varied_values(&set, set.polynomial_size + 3);
        let header = Header::new(
            Kind::Metadata,
            device.secret.parameters().fingerprint(),
            device.secret.fingerprint(),
        );
        let mut upload = resealed(&header, &[0xa1, 0x61, 0x6e, 0x18, 0x2a]);
        upload.extend(device.send(expander, 6, &values));
        write(&format!("upload-{expander}"), &upload);
        expected += "metadata a1616e182a\n";
        expected += &format!("seeded_glwe_list {expander}{}\n", words(&values));
    }
    write("public.key", &device.public_key_file);
    expected += &format!("device_public_key {}\n", ExpanderKind::ChaCha20);
    if set.public_key_mask_bits > 0 {
        let values = varied_values(&set, set.polynomial_size + 3);
        let message = device.send_in(KeyMode::Public, ExpanderKind::ChaCha20, 7, &values);
        write("public-upload", &message);
        expected += &format!("glwe_list{}\n", words(&values));
    }
    if set.plaintext == PlaintextKind::Radix {
        let blocks: Vec<i64> = (0..32).collect();
        write("result", &lwe_list(&device.secret, &blocks, 9));
        expected += &format!("lwe_list{}\n", words(&blocks));
    }
    assert!(
        run_reader(&files) == expected,
        "{} reads differently in Python",
        set.name
    );
}

#[test]
fn shipped_radix_set() {
    the_reader_agrees::<u64>(MESSAGE_2_CARRY_2, "reader-radix");
}

#[test]
fn shipped_boolean_set() {
    the_reader_agrees::<u64>(GATES, "reader-boolean");
}

#[test]
fn frozen_sets() {
    the_reader_agrees::<u64>(FROZEN_RADIX, "reader-frozen-radix");
    the_reader_agrees::<u32>(FROZEN_BOOLEAN, "reader-frozen-boolean");
    the_reader_agrees::<u32>(FROZEN_TERNARY, "reader-frozen-ternary");
}
