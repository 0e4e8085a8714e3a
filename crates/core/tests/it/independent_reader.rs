//! Results in the lists that servers return, read by the Python program in `tests/independent_reader`, which
//! knows `docs/wire-format.md` only.

use std::path::Path;

use ciborium::{Value, cbor};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::packing::PackingParameters;
use tfhe_sbc_core::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::wire::bodies::MaskWindow;
use tfhe_sbc_core::wire::{Header, Kind};

use crate::common::{
    FROZEN_PACKING, FROZEN_RADIX, hex_lines, independent_reader, lwe_list, resealed, secret_key,
};
use crate::samples::answers::{
    PLAINTEXT_BITS, bodies_list, codes_list, cut_list, linear_answers, packed_list, uploaded_code,
    windows_sum,
};

fn words<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let words = values
        .into_iter()
        .map(|value| format!(" {}", value.to_string()));
    words.collect()
}

/// The codes of a linear answer, mod `2^PLAINTEXT_BITS`.
fn linear_codes(key: &SecretKey, count: usize, windows: &[MaskWindow]) -> Vec<u64> {
    let size = key.parameters().polynomial_size().get();
    let codes = |masks, number: usize| {
        let elements = number * size..(number + 1) * size;
        elements.map(|e| uploaded_code(masks, e)).collect()
    };
    let sum = windows_sum(count, windows, size, codes);
    sum.iter()
        .map(|code| code % (1 << PLAINTEXT_BITS))
        .collect()
}

/// A compact part of an answer, in the list of bodies or in that of codes.
fn part(first_block: usize, codes: usize, bits: u32, ciphertexts: usize, bodies: bool) -> Value {
    let mut part = cbor!({
        "first_block" => first_block,
        "codes" => codes,
        "bits" => bits,
        "plaintext_bits" => PLAINTEXT_BITS,
        "ciphertexts" => ciphertexts,
        "noise" => -60.125
    })
    .unwrap();
    if bodies {
        let entries = part.as_map_mut().unwrap();
        entries.push(("bodies".into(), true.into()));
    }
    part
}

/// The metadata of a result, of which each answer has a number of blocks and compact parts.
fn metadata(key: &SecretKey, answers: Vec<(usize, Vec<Value>)>) -> (Vec<u8>, String) {
    let answers = answers.into_iter().map(|(blocks, compact)| {
        cbor!({
            "name" => "count of level > 3",
            "blocks" => blocks,
            "compact" => compact,
            "meaning" => "count"
        })
        .unwrap()
    });
    let answers = Value::Array(answers.collect());
    let result = cbor!({ "version" => 2, "answers" => answers, "bootstraps" => 300 }).unwrap();
    let mut payload = Vec::new();
    ciborium::into_writer(&result, &mut payload).unwrap();
    let header = Header::new(
        Kind::Metadata,
        key.parameters().fingerprint(),
        key.fingerprint(),
    );
    let said = format!("metadata {}\n", hex_lines(&payload).concat());
    (resealed(&header, &payload), said)
}

/// Writes results with all lists, one with cut blocks and one with packed ones, and compares what the
/// program decrypts with what was encrypted.
fn the_reader_agrees(set: ParameterSet, packing: &PackingParameters, folder: &str) {
    let key = secret_key(set, 5);
    let parameters = key.parameters();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    let mut write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        files.push(path);
    };
    write("secret.key", &key.to_bytes().unwrap());
    write("device.key", &key.device_key().to_bytes().unwrap());
    let mut expected = format!(
        "secret_key {} {} {}\ndevice_key shared\n",
        set.name,
        parameters.fingerprint(),
        key.fingerprint(),
    );

    // The parts of both lists alternate, and one has several ciphertexts.
    let size = set.polynomial_size;
    let codes: [Vec<u64>; 3] = [
        (0..40).map(|i| i * 97 % 4096).collect(),
        vec![4095, 0, 2048],
        vec![1],
    ];
    let [first, second, third] = codes.each_ref().map(Vec::as_slice);
    let linear = linear_answers(size);
    let linear_words = |(count, windows): &(usize, Vec<_>)| {
        let codes = linear_codes(&key, *count, windows);
        format!(" codes {PLAINTEXT_BITS} {PLAINTEXT_BITS}{}", words(codes))
    };
    let blocks = |codes, bits| codes * parameters.block_encoding().block_count(bits);
    let (one, three) = (blocks(1, PLAINTEXT_BITS), blocks(3, PLAINTEXT_BITS));
    let messages: Vec<i64> = (0..41).map(|i| i * i % 7 % 4).collect();
    let (described, said) = metadata(
        &key,
        vec![
            (
                one + blocks(43, 12) + messages.len(),
                vec![
                    part(0, 1, PLAINTEXT_BITS, 1, true),
                    part(one, 43, 12, 2, false),
                ],
            ),
            (
                blocks(1, 12) + three,
                vec![
                    part(0, 1, 12, 1, false),
                    part(blocks(1, 12), 3, PLAINTEXT_BITS, 1, true),
                ],
            ),
        ],
    );
    let lists = [
        described,
        cut_list(&key, &messages),
        bodies_list(&key, &linear),
        codes_list(&key, &[first, second, third]),
    ];
    write("cut-result", &lists.concat());
    expected += &said;
    expected += &format!("cut_answers{}\n", words(&messages));
    let linear: String = linear.iter().map(linear_words).collect();
    expected += &format!("linear_bodies{linear}\n");
    expected += &format!(
        "compact_codes codes 12 {PLAINTEXT_BITS}{}{} codes 12 {PLAINTEXT_BITS}{}\n",
        words(first),
        words(second),
        words(third)
    );

    // One ciphertext in full and one in part.
    let slots = packing.polynomial_size.get() + 3;
    let messages: Vec<u32> = (0..slots as u32).map(|i| i * i % 7 % 4).collect();
    let (described, said) = metadata(&key, vec![(slots, Vec::new())]);
    let list = packed_list(&key, packing, &messages);
    write("packed-result", &[described, list].concat());
    expected += &said;
    expected += &format!("packed_answers{}\n", words(&messages));

    // Lists may be empty, and whole blocks have carries.
    write("nothing-packed", &packed_list(&key, packing, &[]));
    write("nothing-cut", &cut_list(&key, &[]));
    write("whole", &lwe_list(&key, &[15, 4], 9));
    expected += "packed_answers\ncut_answers\nlwe_list 15 4\n";

    let found = independent_reader(&files);
    assert!(
        found == expected,
        "results of {} read differently in Python:\n{found}\n{expected}",
        set.name
    );
}

#[test]
fn results_of_a_frozen_set() {
    the_reader_agrees(FROZEN_RADIX, &FROZEN_PACKING, "reader-frozen-results");
}

#[test]
fn results_of_a_shipped_set() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let packing = packing_of(&parameters).unwrap();
    the_reader_agrees(MESSAGE_2_CARRY_2, &packing, "reader-results");
}
