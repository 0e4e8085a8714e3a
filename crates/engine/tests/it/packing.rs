//! The packing key switch: against a slow one, its noise against the oracle's formula, and its files.

use std::path::Path;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::{PackingParameters, PackingSecret, SlotBits, slot_scale_log2};
use tfhe_sbc_core::parameter_sets::{ALL, LOOSER, MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::parameters::{Decomposition, PARAMETERS_BYTES, ParameterSet};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, Seed, SeedSequence, fill_uniform};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{HEADER_BYTES, Header, Kind, Message, WireError};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::packing_key::{SeededPackingKey, join_flags};
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKeyError};
use tfhe_sbc_oracle::packing::PackingNoise;

use crate::common::{Keys, small_set};
use crate::frozen::{self, FROZEN_PACKING, FROZEN_RADIX};

/// A packing of `k` polynomials for small sets, almost without noise.
fn small_packing(k: usize, size: usize, decomposition: Decomposition) -> PackingParameters {
    PackingParameters {
        glwe_dimension: GlweDimension(k),
        polynomial_size: PolynomialSize::new(size).unwrap(),
        standard_deviation: 2f64.powi(-30),
        decomposition,
        key_body_bits: 32,
        slot_bits: SlotBits { mask: 14, body: 6 },
        log2_p_fail: 0.0,
        security_bits: 0.0,
    }
}

fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

fn seeded(keys: &Keys, packing: &PackingParameters) -> SeededPackingKey {
    SeededPackingKey::generate(&keys.secret, packing, &mut seeds(70)).unwrap()
}

/// Blocks of uniform words, which are what they are under any key.
fn uniform_blocks(dimension: usize, count: usize) -> Vec<LweCiphertext<u32>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([8; 32]), 0);
    let block = |_| {
        let mut words = vec![0; dimension + 1];
        fill_uniform(&mut stream, &mut words);
        LweCiphertext::from_vec(words).unwrap()
    };
    (0..count).map(block).collect()
}

/// The rows of a key, from its file: every row's masks and body, polynomial after polynomial.
fn rows_of(key: &SeededPackingKey) -> Vec<Vec<u32>> {
    let bytes = key.to_bytes();
    let message = Message::parse(&bytes).unwrap().0;
    let packing = key.packing();
    let size = packing.polynomial_size.get();
    assert_eq!(packing.key_body_bits, 32);
    let bodies: Vec<u32> = message.payload[PARAMETERS_BYTES + 40..]
        .as_chunks()
        .0
        .iter()
        .map(|&limb| u32::from_le_bytes(limb))
        .collect();
    let rows = bodies.chunks_exact(size).enumerate();
    rows.map(|(row, body)| {
        let (expander, seed) = (ExpanderKind::ChaCha20, &message.header.mask_seed);
        let (k, size) = (packing.glwe_dimension, packing.polynomial_size);
        let row = GlweCiphertext::expand(k, size, expander, seed, row as u32, body);
        row.as_slice().to_vec()
    })
    .collect()
}

/// The switch as its definition says, coefficient by coefficient in wrapping integers.
fn slow_pack(key: &SeededPackingKey, blocks: &[LweCiphertext<u32>]) -> Vec<u32> {
    let packing = key.packing();
    let size = packing.polynomial_size.get();
    let (base_log, levels) = (
        packing.decomposition.base_log.0,
        packing.decomposition.level_count.0,
    );
    let scale = slot_scale_log2(key.parameters());
    let mask_len = packing.secret_dimension().0;
    let mut sum = vec![0u32; mask_len + size];
    for (j, block) in blocks.iter().enumerate() {
        sum[mask_len + j] = block.body() << scale;
    }
    let rows = rows_of(key);
    for (j, block) in blocks.iter().enumerate() {
        for (i, &a) in block.mask().iter().enumerate() {
            let kept = base_log * levels as u32;
            let mut rest = (a << scale).round_to_bits(kept) as i64;
            for level in 0..levels {
                // Balanced digits, the least significant one first.
                let base = 1i64 << base_log;
                let low = rest.rem_euclid(base);
                let digit = if low >= base / 2 { low - base } else { low };
                rest = (rest - digit) >> base_log;
                let row = &rows[i * levels + level];
                for (sum, row) in sum.chunks_exact_mut(size).zip(row.chunks_exact(size)) {
                    // X^j times the row.
                    for (t, &r) in row.iter().enumerate() {
                        let term = u32::from_i64(digit).wrapping_mul(r);
                        let place = &mut sum[(t + j) % size];
                        *place = match t + j < size {
                            true => place.wrapping_sub(term),
                            false => place.wrapping_add(term),
                        };
                    }
                }
            }
        }
    }
    sum
}

#[test]
fn packing_is_the_slow_one() {
    for (dimension, k, size, decomposition) in [
        (64, 2, 256, Decomposition::new(6, 2)),
        (70, 1, 512, Decomposition::new(5, 3)),
        (67, 3, 256, Decomposition::new(12, 1)),
    ] {
        let (_, keys) = Keys::seeded::<u64>(small_set(64, 1, dimension), 71);
        let key = seeded(&keys, &small_packing(k, size, decomposition));
        let blocks = uniform_blocks(dimension, 9);
        let prepared = key.prepare();
        for count in [1, 9] {
            let packed = prepared.pack_whole(&blocks[..count]);
            let slow = slow_pack(&key, &blocks[..count]);
            let worst = packed[0]
                .as_slice()
                .iter()
                .zip(&slow)
                .map(|(a, b)| a.wrapping_sub(*b) as i32)
                .map(i32::unsigned_abs)
                .max();
            // The transforms compute with doubles: their error is far below a step of the torus, so that
            // only a rounding of ties may differ.
            assert!(worst.unwrap() <= 1, "{dimension} {count}: {worst:?}");
        }
    }
}

#[test]
fn threads_and_neighbours_do_not_change_a_bit() {
    let (_, keys) = Keys::seeded::<u64>(small_set(64, 1, 64), 72);
    let packing = small_packing(2, 256, Decomposition::new(6, 2));
    let key = seeded(&keys, &packing).prepare();
    let blocks = uniform_blocks(64, 2600);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| key.pack(&blocks).unwrap())
    };
    let one = on(1);
    assert_eq!(one.ciphertexts().len(), 11);
    assert!(on(3) == one);
    let alone = key.pack(&blocks[256..512]).unwrap();
    assert_eq!(alone.ciphertexts()[0], one.ciphertexts()[1]);
    let nothing = key.pack(&[]).unwrap();
    assert!(nothing.is_empty() && nothing.ciphertexts().is_empty());
}

#[test]
fn what_is_packed_is_decrypted() {
    let (_, mut keys) = Keys::seeded::<u64>(small_set(64, 1, 64), 73);
    let packing = small_packing(2, 256, Decomposition::new(6, 3));
    let key = seeded(&keys, &packing).prepare();
    let encoding = key.parameters().block_encoding();
    let messages: Vec<u8> = (0..300u32).map(|i| (i * i % 7 % 2) as u8).collect();
    let blocks: Vec<_> = messages
        .iter()
        .map(|&message| keys.encrypt_small(encoding.encode(i64::from(message))))
        .collect();
    let list = key.pack(&blocks).unwrap();
    let bytes = list.write(key.parameters(), key.fingerprint());
    let message = Message::parse_only(&bytes, Kind::PackedList).unwrap();
    let read = PackedList::read(message, key.parameters(), key.fingerprint()).unwrap();
    let secret = PackingSecret::of_list(&keys.secret, &read);
    assert_eq!(secret.decrypt(&read), messages);
    assert_eq!(secret.decrypt(&list), messages);
}

/// The default set with all slots filled: the measured variance is the predicted one, and without the noise
/// of the other slots it would not be.
#[test]
fn the_noise_of_full_ciphertexts_is_the_predicted_one() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let shipped = packing_of(&parameters).unwrap();
    // The shipped key's noise is a small part. With one digit of 11 bits it is nearly all.
    let coarse = PackingParameters {
        decomposition: Decomposition::new(11, 1),
        ..shipped
    };
    let mut seeds = seeds(74);
    let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
    for packing in [shipped, coarse] {
        let key = SeededPackingKey::generate(&secret, &packing, &mut seeds).unwrap();
        let key = key.prepare();
        let packing_secret = PackingSecret::derive(&secret, &packing).glwe().prepare();
        let blocks = uniform_blocks(parameters.lwe_dimension().0, 8 * 256);
        let scale = slot_scale_log2(&parameters);
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        let packed = key.pack_whole(&blocks);
        let list = key.pack(&blocks).unwrap();
        let ciphertexts = packed.iter().zip(list.ciphertexts());
        for ((packed, listed), blocks) in ciphertexts.zip(blocks.chunks(256)) {
            for (ciphertext, errors) in [(packed, &mut whole), (listed, &mut cut)] {
                let phases = packing_secret.phase(ciphertext);
                for (phase, block) in phases.iter().zip(blocks) {
                    let exact = secret.lwe().phase(block) << scale;
                    errors.push(phase.wrapping_sub(exact).to_signed_fraction());
                }
            }
        }
        let variance =
            |errors: &[f64]| errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let noise = PackingNoise::of_switch(&parameters, &packing, 256);
        let of_switch = noise.decomposition.0 + noise.key.0;
        // 2048 slots under one key: the errors of a ciphertext are not independent of one another.
        let ratio = variance(&whole) / of_switch;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        let ratio = variance(&cut) / noise.variance().0;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        let alone = PackingNoise::of_switch(&parameters, &packing, 1);
        assert!(variance(&whole) > 1.5 * (alone.decomposition.0 + alone.key.0));
    }
}

/// Bootstrap outputs of the default set: messages, and two flags a slot.
#[test]
fn answers_of_the_default_set_come_through() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 75);
    let parameters = *keys.secret.parameters();
    let packing = packing_of(&parameters).unwrap();
    let key = seeded(&keys, &packing).prepare();
    let evaluator = Evaluator::new(&server);
    let encoding = parameters.block_encoding();
    let table = LookupTable::from_fn(&parameters, |x| x as i64);
    let values: Vec<u8> = (0..24).map(|i| i * 5 % 4).collect();
    let outputs = |keys: &mut Keys, values: &[u8]| {
        let inputs: Vec<LweCiphertext<u64>> = values
            .iter()
            .map(|&value| keys.encrypt(encoding.encode(i64::from(value))))
            .collect();
        let jobs = inputs.into_iter().map(|input| Job {
            input,
            table: &table,
        });
        let jobs: Vec<_> = jobs.collect();
        evaluator.bootstrap_batch(&jobs).unwrap()
    };
    let messages = outputs(&mut keys, &values);
    let small = evaluator.key_switch_batch(&messages).unwrap();
    let secret = PackingSecret::derive(&keys.secret, &packing);
    assert_eq!(secret.decrypt(&key.pack(&small).unwrap()), values);

    let flags: Vec<u8> = (0..25u16).map(|i| (i * i % 3 % 2) as u8).collect();
    let joined = join_flags(&parameters, &outputs(&mut keys, &flags));
    let small = evaluator.key_switch_batch(&joined).unwrap();
    let slots = secret.decrypt(&key.pack(&small).unwrap());
    let pairs = flags.chunks(2);
    let expected: Vec<u8> = pairs
        .map(|pair| pair[0] + 2 * pair.get(1).copied().unwrap_or(0))
        .collect();
    assert_eq!(slots, expected);
}

/// Joined flags are no noisier than what may enter a bootstrap, for which the oracle predicts.
#[test]
fn joined_flags_are_within_the_noise_level() {
    for set in ALL.iter().chain(&LOOSER) {
        let norm_squared: u32 = (0..set.message_bits.0).map(|bit| 1 << (2 * bit)).sum();
        assert!(norm_squared <= set.max_noise_level.pow(2), "{}", set.name);
    }
}

fn with_packing(set: ParameterSet, seed: u8) -> (SeededServerKey<u64>, SeededPackingKey) {
    let (server, keys) = Keys::seeded::<u64>(set, seed);
    let packing = small_packing(1, 256, Decomposition::new(6, 2));
    let key = seeded(&keys, &packing);
    (server, key)
}

#[test]
fn a_server_key_file_may_end_with_a_packing_key() {
    let set = small_set(64, 1, 64);
    let (server, packing) = with_packing(set, 76);
    let parameters = *server.parameters();
    let alone = server.to_bytes();
    let read = |bytes: &[u8]| SeededServerKey::<u64>::from_bytes(bytes);
    assert!(read(&alone).unwrap().packing_key().is_none());
    assert!(
        read(&alone)
            .unwrap()
            .prepare(&|_| ())
            .packing_key()
            .is_none()
    );

    let whole = server.with_packing_key(packing.clone()).unwrap();
    let bytes = whole.to_bytes();
    let expected = SeededPackingKey::message_len(&parameters, packing.packing());
    assert_eq!(bytes.len(), alone.len() + expected);
    let copy = read(&bytes).unwrap();
    assert_eq!(copy.packing_key(), Some(&packing));
    assert_eq!(copy.to_bytes(), bytes);
    let prepared = copy.prepare(&|_| ());
    let blocks = uniform_blocks(64, 3);
    let again = packing.prepare().pack(&blocks);
    assert_eq!(prepared.packing_key().unwrap().pack(&blocks), again);

    let (other, foreign) = with_packing(set, 77);
    assert_eq!(
        other.with_packing_key(packing.clone()).err(),
        Some(ServerKeyError::PackingKey)
    );
    let error = |bytes: &[u8]| read(bytes).err();
    assert!(matches!(
        error(&[&alone[..], &foreign.to_bytes()].concat()),
        Some(WireError::WrongKey { .. })
    ));
    assert!(matches!(
        error(&[&alone[..], &alone].concat()),
        Some(WireError::WrongKind { .. })
    ));
    assert_eq!(
        error(&[&bytes[..], &[0]].concat()),
        Some(WireError::TrailingBytes(1))
    );
    assert!(matches!(
        error(&bytes[..bytes.len() - 1]),
        Some(WireError::Truncated { .. })
    ));
}

#[test]
fn damaged_and_forged_packing_keys_are_refused() {
    let (_, key) = with_packing(small_set(64, 1, 64), 78);
    let bytes = key.to_bytes();
    let read = |bytes: &[u8]| SeededPackingKey::from_bytes(bytes).err();
    assert_eq!(read(&bytes), None);
    for at in (0..bytes.len()).step_by(97).chain(0..HEADER_BYTES + 180) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(read(&flipped).is_some(), "byte {at}");
    }
    for len in [0, HEADER_BYTES, bytes.len() - 1] {
        assert!(read(&bytes[..len]).is_some());
    }
    let message = Message::parse(&bytes).unwrap().0;
    let forged = |header: &dyn Fn(&mut Header), payload: &[u8]| {
        let mut changed = message.header;
        header(&mut changed);
        let mut forged = vec![0; HEADER_BYTES];
        forged.extend_from_slice(payload);
        changed.seal_vec(&mut forged).unwrap();
        read(&forged)
    };
    let payload = message.payload;
    assert_eq!(forged(&|_| (), payload), None);
    let field = |what| Some(WireError::Field(what));
    assert_eq!(forged(&|h| h.torus_bits = 64, payload), field("torus bits"));
    assert_eq!(forged(&|h| h.dimension = 2, payload), field("dimension"));
    assert_eq!(
        forged(&|h| h.polynomial_size = 512, payload),
        field("polynomial size")
    );
    assert_eq!(forged(&|h| h.expander = None, payload), field("expander"));
    for len in [PARAMETERS_BYTES, PARAMETERS_BYTES + 39, payload.len() - 1] {
        let error = forged(&|_| (), &payload[..len]);
        assert!(
            matches!(error, Some(WireError::PayloadLength { .. })),
            "{len}"
        );
    }
    let parameters = forged(&|h| h.parameters.0[0] ^= 1, payload);
    assert_eq!(parameters, field("parameter fingerprint"));
    assert_eq!(
        read(&[&bytes[..], &[0; 3]].concat()),
        Some(WireError::TrailingBytes(3))
    );
    // Dimension, digits, key body bits, and the bits of packed answers.
    for (at, byte) in [(0, 9), (18, 0), (20, 7), (22, 0), (22, 33), (23, 33)] {
        let mut changed = payload.to_vec();
        changed[PARAMETERS_BYTES + at] = byte;
        let error = forged(&|_| (), &changed);
        assert!(
            matches!(error, Some(WireError::Parameters(_))),
            "{at}: {error:?}"
        );
    }
}

/// Packing keys as the Python program reads them that knows `docs/wire-format.md` only: it derives the
/// packing secret and decrypts every row to its multiple of a coefficient of the small key.
fn an_independent_reader_agrees(set: ParameterSet, packing: &PackingParameters) {
    let secret = frozen::secret_key(set, 79);
    let key = SeededPackingKey::generate(&secret, packing, &mut seeds(80)).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packing-{}", set.name));
    std::fs::create_dir_all(&folder).unwrap();
    let files = [
        ("secret.key", secret.to_bytes().unwrap().to_vec()),
        (
            "device.key",
            secret.device_key().to_bytes().unwrap().to_vec(),
        ),
        ("packing.key", key.to_bytes()),
    ]
    .map(|(name, bytes)| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    });
    let expected = format!(
        "secret_key {} {} {}\ndevice_key shared\npacking_key {} {} {} {} {} {} {}\n",
        set.name,
        secret.parameters().fingerprint(),
        secret.fingerprint(),
        packing.glwe_dimension.0,
        packing.polynomial_size.get(),
        packing.decomposition.base_log.0,
        packing.decomposition.level_count.0,
        packing.key_body_bits,
        packing.slot_bits.mask,
        packing.slot_bits.body,
    );
    assert_eq!(frozen::independent_reader(&files), expected);
}

#[test]
fn an_independent_reader_agrees_on_a_frozen_set() {
    an_independent_reader_agrees(FROZEN_RADIX, &FROZEN_PACKING);
}

#[test]
#[ignore = "a minute of Python"]
fn an_independent_reader_agrees_on_a_shipped_set() {
    let packing = packing_of(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
    an_independent_reader_agrees(MESSAGE_2_CARRY_2, &packing);
}
