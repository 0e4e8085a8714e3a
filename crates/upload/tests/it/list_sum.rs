//! Sums of many uploads: the same as sums of expanded ciphertexts, and right when decrypted.

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::columns::{ColumnList, ElementEncoding, Run};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    ColumnValues, Encryptor, ExpanderKind, KeyMode, MemoryPlan, PublicEncryptor, Seed,
    SeedSequence, workspace_bytes,
};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_upload::list_sum::{ColumnListSum, ListSumError, SumsByKey};

const FLEET: (u32, u32, u32, BodyRounding) = (12, 10, 30, BodyRounding::Nearest);
const MEANS: (u32, u32, u32, BodyRounding) = (10, 14, 31, BodyRounding::ErrorFeedback);
const EXPANDERS: [ExpanderKind; 2] = [ExpanderKind::ChaCha20, ExpanderKind::Aes128Ctr];

fn encoding(
    (bits, headroom, body_bits, rounding): (u32, u32, u32, BodyRounding),
) -> CompactEncoding {
    CompactEncoding::new(bits, headroom, body_bits, rounding).unwrap()
}

fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

fn secret() -> SecretKey {
    SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds(9)).unwrap()
}

/// Codes that differ from upload to upload.
fn codes(bits: u32, count: usize, upload: u8) -> Vec<u64> {
    let word = |i: u64| (i * 251 + u64::from(upload)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (1..=count as u64).map(|i| word(i) >> (64 - bits)).collect()
}

fn upload(key: &DeviceKey, columns: &[ColumnValues<'_>], seed: u8) -> Vec<u8> {
    let plan = MemoryPlan::recommended();
    let bytes = workspace_bytes(&MESSAGE_2_CARRY_2, plan, KeyMode::Symmetric);
    let mut workspace = HeapWorkspace::new(bytes);
    let expander = EXPANDERS[usize::from(seed) % 2];
    let (file, workspace) = (key.to_bytes().unwrap(), workspace.as_mut_slice());
    let mut session = Encryptor::<u64>::new(&file, plan, expander, seeds(seed), workspace).unwrap();
    let mut message = vec![0; session.columns_message_len(columns)];
    session.encrypt_columns(columns, &mut message).unwrap();
    message
}

fn public_upload(secret: &SecretKey, columns: &[ColumnValues<'_>], seed: u8) -> Vec<u8> {
    let plan = MemoryPlan::recommended();
    let bytes = workspace_bytes(&MESSAGE_2_CARRY_2, plan, KeyMode::Public);
    let mut workspace = HeapWorkspace::new(bytes);
    let key = secret.device_public_key(&mut seeds(8)).unwrap();
    let (key, workspace) = (key.to_bytes().unwrap(), workspace.as_mut_slice());
    let chacha = ExpanderKind::ChaCha20;
    let mut session =
        PublicEncryptor::<u64>::new(&key, plan, chacha, seeds(seed), workspace).unwrap();
    let mut message = vec![0; session.columns_message_len(columns)];
    session.encrypt_columns(columns, &mut message).unwrap();
    message
}

fn list<'a>(message: &'a [u8], secret: &SecretKey, key: KeyFingerprint) -> ColumnList<'a> {
    let (message, _) = Message::parse(message).unwrap();
    ColumnList::check(message, secret.parameters(), key).unwrap()
}

/// The decrypted sums of the compact columns, column after column.
fn read(secret: &SecretKey, runs: &[Run], sums: &[GlweCiphertext<u64>]) -> Vec<Vec<u64>> {
    let prepared = secret.glwe().prepare();
    let phases: Vec<_> = sums.iter().map(|sum| prepared.phase(sum)).collect();
    let mut columns = vec![Vec::new(); runs.last().unwrap().segment + 1];
    for run in runs {
        if let ElementEncoding::Compact(encoding) = run.encoding {
            let phases = &phases[run.polynomial][run.start..][..run.count];
            columns[run.segment].extend(phases.iter().map(|&phase| encoding.decode(phase)));
        }
    }
    columns
}

fn plus(sums: &mut [u64], terms: &[u64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// Columns that cross polynomials, radix blocks among them, from two expanders and, with masks that
/// are sent, under the public key.
#[test]
fn sums_are_those_of_expanded_lists_and_decrypt() {
    const UPLOADS: u8 = 9;
    let secret = secret();
    let (rows, more) = (3000, 1500);
    let mut expected = [vec![0; rows], vec![0; more]];
    let mut messages = Vec::new();
    for seed in 0..UPLOADS {
        let (first, last) = (codes(12, rows, seed), codes(10, more, seed));
        let columns = [
            ColumnValues::Codes(encoding(FLEET), &first),
            ColumnValues::Blocks(&[3; 77]),
            ColumnValues::Codes(encoding(MEANS), &last),
        ];
        plus(&mut expected[0], &first);
        plus(&mut expected[1], &last);
        messages.push(match seed % 3 {
            2 => public_upload(&secret, &columns, seed),
            _ => upload(&secret.device_key(), &columns, seed),
        });
    }
    let list = |message| list(message, &secret, secret.fingerprint());
    let lists: Vec<_> = messages.iter().map(|message| list(message)).collect();
    let mut sum = ColumnListSum::like(&lists[0]).unwrap();
    for list in &lists {
        sum.add(list).unwrap();
    }
    assert_eq!((sum.count(), sum.most()), (u64::from(UPLOADS), 1 << 10));
    assert_eq!(sum.key(), secret.fingerprint());
    let size = secret.parameters().polynomial_size().get();
    for (index, found) in sum.ciphertexts().iter().enumerate() {
        let mut expanded = vec![0u64; found.as_slice().len()];
        for list in &lists {
            let term = list.ciphertext::<u64>(index).unwrap();
            for (sum, &term) in expanded.iter_mut().zip(term.as_slice()) {
                *sum = sum.wrapping_add(term);
            }
        }
        assert!(found.as_slice() == expanded, "ciphertext {index} of {size}");
    }
    let columns = read(&secret, sum.runs(), sum.ciphertexts());
    assert!(columns[0] == expected[0] && columns[2] == expected[1]);

    // The same on threads, in parts.
    let pool = rayon_pool(3);
    let mut parts = ColumnListSum::like(&lists[0]).unwrap();
    pool.install(|| parts.add_all(&lists[..4])).unwrap();
    let mut others = ColumnListSum::like(&lists[0]).unwrap();
    pool.install(|| others.add_all(&lists[4..])).unwrap();
    parts.merge(&others).unwrap();
    assert_eq!(parts.count(), sum.count());
    assert!(parts.ciphertexts() == sum.ciphertexts());
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap()
}

fn device_key(secret: &SecretKey, seed: u8) -> DeviceKey {
    let issue = DeviceIssue {
        device: DeviceId::new("station-7"),
        epoch: Epoch::new(u32::from(seed)).unwrap(),
    };
    secret.issue_device_key(issue, &mut seeds(seed)).unwrap()
}

#[test]
fn lists_that_do_not_belong_to_a_sum_are_refused() {
    let secret = secret();
    let shared = secret.device_key();
    let own = device_key(&secret, 40);
    let small = encoding((12, 1, 18, BodyRounding::Nearest));
    let message = |key, count, encoding, seed| {
        let codes = codes(12, count, seed);
        upload(key, &[ColumnValues::Codes(encoding, &codes)], seed)
    };
    let first = message(&shared, 24, small, 1);
    let first = list(&first, &secret, shared.fingerprint());
    let mut sum = ColumnListSum::like(&first).unwrap();
    sum.add(&first).unwrap();
    let before = sum.ciphertexts().to_vec();

    let longer = message(&shared, 25, small, 2);
    let longer = list(&longer, &secret, shared.fingerprint());
    let wider = message(&shared, 24, encoding(FLEET), 3);
    let wider = list(&wider, &secret, shared.fingerprint());
    let foreign = message(&own, 24, small, 4);
    let foreign = list(&foreign, &secret, own.fingerprint());
    for (other, error) in [
        (longer, ListSumError::Segments),
        (wider, ListSumError::Segments),
        (foreign, ListSumError::Key),
    ] {
        assert_eq!(sum.add(&other), Err(error));
        assert_eq!(sum.add_all(&[first, other]), Err(error));
        let other = ColumnListSum::like(&other).unwrap();
        assert_eq!(sum.merge(&other), Err(error));
    }
    // One bit of headroom has place for two.
    let full = Err(ListSumError::Full { most: 2 });
    assert_eq!(sum.add_all(&[first, first]), full);
    assert!(sum.count() == 1 && sum.ciphertexts() == before);
    sum.add(&first).unwrap();
    assert_eq!(sum.add(&first), full);

    let mut by_key = SumsByKey::new();
    by_key.add(&first).unwrap();
    assert_eq!(by_key.add(&longer), Err(ListSumError::Segments));
    by_key.add(&foreign).unwrap();
    assert_eq!(by_key.add(&foreign), full);
    assert_eq!(by_key.count(), 2);

    let blocks = upload(&shared, &[ColumnValues::Blocks(&[1; 24])], 5);
    if let Ok((message, _)) = Message::parse(&blocks)
        && let Ok(list) = ColumnList::check(message, secret.parameters(), shared.fingerprint())
    {
        let made = ColumnListSum::like(&list).err();
        assert_eq!(made, Some(ListSumError::NoCompactColumn));
    }
}

/// Two digits of 12 bits, as older switch keys have, would add 2^-20.8, four steps of these sums.
#[test]
fn sums_of_devices_with_keys_of_their_own_are_switched_once() {
    let secret = secret();
    let rows = 100;
    let mut expected = vec![0; rows];
    let mut sums = SumsByKey::new();
    let devices: Vec<_> = (41..44).map(|seed| device_key(&secret, seed)).collect();
    for seed in 0..8 {
        let codes = codes(12, rows, seed);
        plus(&mut expected, &codes);
        let key = &devices[usize::from(seed) % devices.len()];
        let message = upload(
            key,
            &[ColumnValues::Codes(encoding(FLEET), &codes)],
            50 + seed,
        );
        sums.add(&list(&message, &secret, key.fingerprint()))
            .unwrap();
    }
    assert_eq!((sums.count(), sums.sums().count()), (8, 3));
    let runs = sums.sums().next().unwrap().runs().to_vec();
    let mut switched = 0;
    let total = sums.switched(|from, ciphertexts| {
        let device = devices.iter().find(|key| key.fingerprint() == from);
        let key = SeededDeviceSwitchKey::generate(&secret, device.unwrap(), &mut seeds(60))?;
        key.prepare().switch_batch(ciphertexts);
        switched += ciphertexts.len();
        Ok::<_, tfhe_sbc_engine::server_key::ServerKeyError>(())
    });
    let total = total.unwrap();
    assert_eq!(switched, 3);
    assert!(read(&secret, &runs, &total)[0] == expected);
}
