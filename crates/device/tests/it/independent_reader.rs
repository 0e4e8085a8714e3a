//! Files that this workspace writes, read by the Python program in
//! `crates/core/tests`, which knows `docs/wire-format.md` only.

use std::path::{Path, PathBuf};

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_core::wire::{Header, Kind};
use tfhe_sbc_device::{BodyRounding, ColumnValues, CompactEncoding, ExpanderKind, KeyMode};

use crate::common::frozen::{
    FROZEN_BOOLEAN, FROZEN_RADIX, FROZEN_TERNARY, independent_reader, lwe_list, resealed,
};
use crate::common::{Device, send_columns, varied_values};

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
        independent_reader(&files) == expected,
        "{} reads differently in Python",
        set.name
    );
}

/// Columns of all encodings, two of them across polynomials. The reader also checks that error
/// feedback keeps the error of a sum at that of one rounding.
fn the_reader_agrees_on_columns(set: ParameterSet, folder: &str) {
    let mut device = Device::<u64>::new(set, 52);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let size = set.polynomial_size;
    let codes = |bits: u32, count: usize| -> Vec<u64> {
        let code = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits);
        (0..count as u64).map(code).collect()
    };
    let means = CompactEncoding::new(10, 14, 28, BodyRounding::ErrorFeedback).unwrap();
    let alarms = CompactEncoding::new(12, 1, 18, BodyRounding::Nearest).unwrap();
    let (first, blocks, last) = (
        codes(10, size + 40),
        varied_values(&set, 33),
        codes(12, size),
    );
    let columns = [
        ColumnValues::Codes(means, &first),
        ColumnValues::Blocks(&blocks),
        ColumnValues::Codes(alarms, &last),
    ];
    let segments = format!(
        " compact 10 14 28 feedback{} radix{} compact 12 1 18 nearest{}",
        words(&first),
        words(&blocks),
        words(&last)
    );
    let mut expected = format!(
        "secret_key {} {} {}\ndevice_key shared\n",
        set.name,
        device.secret.parameters().fingerprint(),
        device.secret.fingerprint(),
    );
    let mut messages = vec![
        device.secret.to_bytes().unwrap().to_vec(),
        device.key_file.clone(),
    ];
    for expander in [ExpanderKind::ChaCha20, ExpanderKind::Aes128Ctr] {
        messages.push(send_columns(&mut device.session(expander, 8), &columns));
        expected += &format!("seeded_column_list {expander}{segments}\n");
    }
    if set.public_key_mask_bits > 0 {
        let mut session = device.public_session(ExpanderKind::ChaCha20, 9);
        messages.push(send_columns(&mut session, &columns));
        expected += &format!("column_list{segments}\n");
    }
    let files: Vec<PathBuf> = (0..messages.len())
        .map(|number| folder.join(number.to_string()))
        .collect();
    for (path, bytes) in files.iter().zip(&messages) {
        std::fs::write(path, bytes).unwrap();
    }
    assert!(
        independent_reader(&files) == expected,
        "columns of {} read differently in Python",
        set.name
    );
}

#[test]
fn columns_of_several_encodings() {
    the_reader_agrees_on_columns(MESSAGE_2_CARRY_2, "reader-columns");
    the_reader_agrees_on_columns(FROZEN_RADIX, "reader-frozen-columns");
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
