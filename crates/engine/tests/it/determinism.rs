//! Results are the same, bit for bit, on any number of threads, with any cut of a batch, and from
//! any copy of a key; damaged keys are refused.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{KeyBodyBits, MESSAGE_1_CARRY_1, key_body_bits};
use tfhe_sbc_core::parameters::PARAMETERS_BYTES;
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::wire::bits::{pack_top_bits, packed_len, unpack_top_bits};
use tfhe_sbc_core::wire::{HEADER_BYTES, Header, Kind, Message, WireError};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::nodes::Nodes;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey, ServerKeyError};

use crate::common::{Keys, on_threads, small_set};
use crate::frozen;

fn uniform_inputs<T: ProductTorus>(dimension: usize, count: usize) -> Vec<LweCiphertext<T>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([9; 32]), 0);
    (0..count)
        .map(|_| {
            let mut data = vec![T::ZERO; dimension + 1];
            fill_uniform(&mut stream, &mut data);
            LweCiphertext::from_vec(data).unwrap()
        })
        .collect()
}

/// Bootstraps in batches of `cut`, every second with another table.
fn outputs<T: ProductTorus>(server: &ServerKey<T>, cut: usize) -> Vec<LweCiphertext<T>> {
    let parameters = server.parameters();
    let tables = [1, 3].map(|factor| {
        let f = |x: u64| x as i64 * factor;
        LookupTable::from_fn(parameters, f)
    });
    let inputs = uniform_inputs(parameters.big_lwe_dimension().0, 37);
    let jobs: Vec<_> = inputs
        .into_iter()
        .enumerate()
        .map(|(i, input)| Job {
            input,
            table: &tables[i % 2],
        })
        .collect();
    let evaluator = Evaluator::new(server);
    jobs.chunks(cut)
        .flat_map(|jobs| evaluator.bootstrap_batch(jobs).unwrap())
        .collect()
}

fn threads_and_cuts<T: ProductTorus>() {
    let make = || Keys::seeded::<T>(small_set(T::BITS, 2, 70), 50).0;
    let seeded = on_threads(1, make);
    assert_eq!(on_threads(2, make).to_bytes(), seeded.to_bytes());
    let server = on_threads(2, || seeded.prepare(&|_| ()));
    let expected = on_threads(1, || outputs(&server, 37));
    for threads in [1, 2, 3] {
        for cut in [1, 2, 5, 8, 36, 37] {
            let again = on_threads(threads, || outputs(&server, cut));
            assert!(again == expected, "{threads} threads, batches of {cut}");
        }
    }
    // Two nodes of one processor: what runs on it reads the second copy, and all else the first.
    let mut on_nodes = on_threads(2, || seeded.prepare(&|_| ()));
    on_nodes
        .copy_to_nodes(&Nodes::of_processors([vec![0], vec![0]]))
        .unwrap();
    let one = server.bootstrap_key_bytes();
    assert_eq!(on_nodes.bootstrap_key_bytes(), 2 * one);
    for cut in [1, 2, 37] {
        let again = on_threads(2, || outputs(&on_nodes, cut));
        assert!(again == expected, "copies on nodes, batches of {cut}");
    }
    let copy = SeededServerKey::<T>::from_bytes(&seeded.to_bytes()).unwrap();
    assert_eq!(copy.to_bytes(), seeded.to_bytes());
    let copy = on_threads(1, || copy.prepare(&|_| ()));
    assert_eq!(copy.fingerprint(), server.fingerprint());
    assert!(outputs(&copy, 37) == expected);
}

#[test]
fn threads_batches_and_copies_do_not_change_a_bit() {
    threads_and_cuts::<u32>();
    threads_and_cuts::<u64>();
}

#[test]
fn an_empty_batch_is_nothing() {
    let (_, server) = Keys::generate::<u64>(small_set(64, 1, 64), 51);
    let evaluator = Evaluator::new(&server);
    assert!(evaluator.bootstrap_batch(&[]).unwrap().is_empty());
    assert!(evaluator.key_switch_batch(&[]).unwrap().is_empty());
    assert_eq!(evaluator.bootstrap_count(), 0);
}

#[test]
fn damaged_server_keys_are_refused() {
    let set = small_set(64, 1, 64);
    let (seeded, keys) = Keys::seeded::<u64>(set, 52);
    let parameters = *seeded.parameters();
    let bytes = seeded.to_bytes();
    assert_eq!(
        bytes.len(),
        SeededServerKey::<u64>::message_len(&parameters)
    );
    let read = |bytes: &[u8]| SeededServerKey::<u64>::from_bytes(bytes).err();

    for len in [0, 3, HEADER_BYTES - 1, HEADER_BYTES, bytes.len() - 1] {
        assert!(
            matches!(read(&bytes[..len]), Some(WireError::Truncated { .. })),
            "{len}"
        );
    }
    assert_eq!(
        read(&[&bytes[..], &[0]].concat()),
        Some(WireError::TrailingBytes(1))
    );
    // One flipped bit, from the first byte to the last.
    for at in (0..bytes.len())
        .step_by(997)
        .chain(0..HEADER_BYTES + PARAMETERS_BYTES)
    {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(read(&flipped).is_some(), "byte {at}");
    }
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(read(&flipped), Some(WireError::Checksum));

    let (other, _) = Keys::seeded::<u32>(small_set(32, 1, 64), 52);
    assert_eq!(
        read(&other.to_bytes()),
        Some(WireError::Field("torus bits"))
    );
    assert!(matches!(
        read(&keys.secret.to_bytes().unwrap()),
        Some(WireError::WrongKind {
            expected: Kind::ServerKey,
            ..
        })
    ));
    let mut seeds =
        tfhe_sbc_core::random::SeedSequence::new(tfhe_sbc_core::random::Seed::from_bytes([53; 32]));
    assert_eq!(
        SeededServerKey::<u32>::generate(&keys.secret, &mut seeds, &|_| ()).err(),
        Some(ServerKeyError::TorusBits {
            expected: 32,
            found: 64
        })
    );
}

/// Seals `payload` under the header of `message`, as a forger would.
fn resealed(message: &[u8], payload: &[u8]) -> Vec<u8> {
    frozen::resealed(&Header::parse(message).unwrap().0, payload)
}

#[test]
fn forged_server_keys_are_refused() {
    let (seeded, _) = Keys::seeded::<u64>(small_set(64, 1, 64), 54);
    let bytes = seeded.to_bytes();
    let payload = Message::parse(&bytes).unwrap().0.payload;
    let read = |bytes: &[u8]| SeededServerKey::<u64>::from_bytes(bytes).err();
    assert_eq!(resealed(&bytes, payload), bytes);
    for len in [PARAMETERS_BYTES, PARAMETERS_BYTES + 31, payload.len() - 4] {
        let forged = resealed(&bytes, &payload[..len]);
        assert!(
            matches!(read(&forged), Some(WireError::PayloadLength { .. })),
            "{len}"
        );
    }
    // The parameters of another set under this set's fingerprint.
    let (other, _) = Keys::seeded::<u64>(small_set(64, 1, 65), 54);
    let forged = resealed(&bytes, Message::parse(&other.to_bytes()).unwrap().0.payload);
    assert_eq!(
        read(&forged),
        Some(WireError::Field("parameter fingerprint"))
    );
    // Keys of release 0.1 had another expander, but they also have a seed more.
    for expander in ExpanderKind::ALL {
        let header = Header {
            expander: Some(expander),
            ..Header::parse(&bytes).unwrap().0
        };
        let refused = match expander {
            ExpanderKind::Aes128Ctr => None,
            _ => Some(WireError::Field("expander")),
        };
        assert_eq!(
            read(&frozen::resealed(&header, payload)),
            refused,
            "{expander}"
        );
    }
    let mut payload = payload.to_vec();
    payload[32] = 48;
    assert!(matches!(
        read(&resealed(&bytes, &payload)),
        Some(WireError::Parameters(_))
    ));
}

/// The keys of shipped sets state how many bits they keep of body coefficients, in the rows of the body and in those of
/// masks. Those that older programs made keep as many in all rows, or as many as the parameter set implies and state
/// nothing.
#[test]
fn keys_with_more_body_bits_than_new_ones_are_read() {
    let (seeded, _) = Keys::seeded::<u64>(MESSAGE_1_CARRY_1, 56);
    let parameters = *seeded.parameters();
    let implied = parameters.implied_key_body_bits();
    let expected = KeyBodyBits {
        mask_rows: 49,
        body_rows: 48,
    };
    assert_eq!((key_body_bits(&parameters), implied), (expected, 51));
    let bytes = seeded.to_bytes();
    let (message, _) = Message::parse(&bytes).unwrap();
    let header = message.header;
    assert_eq!((header.body_bits, header.mask_bits), (48, 49));
    assert_eq!(
        bytes.len(),
        SeededServerKey::<u64>::message_len(&parameters)
    );

    // Two rows of masks and one of the body in turn, because k = 2 and each component has one digit.
    let size = parameters.polynomial_size().get();
    let (before, mut rest) = message.payload.split_at(PARAMETERS_BYTES);
    let mut rows = Vec::new();
    for bits in [49, 49, 48].repeat(parameters.lwe_dimension().0) {
        let (packed, behind) = rest.split_at(packed_len(size, bits));
        let mut row = vec![0u64; size];
        unpack_top_bits(packed, bits, &mut row);
        rows.push(row);
        rest = behind;
    }
    let with_bits = |mask_rows: u32, body_rows: u32, (body_bits, mask_bits)| {
        let mut payload = before.to_vec();
        for (row, bits) in rows
            .iter()
            .zip([mask_rows, mask_rows, body_rows].iter().cycle())
        {
            let mut packed = vec![0; packed_len(size, *bits)];
            pack_top_bits(row, *bits, &mut packed);
            payload.extend(packed);
        }
        payload.extend(rest);
        let header = Header {
            body_bits,
            mask_bits,
            ..header
        };
        frozen::resealed(&header, &payload)
    };
    assert_eq!(with_bits(49, 48, (48, 49)), bytes);
    // What programs of before made, and other pairs.
    for (mask, body, stated) in [
        (51, 51, (0, 0)),
        (49, 49, (49, 0)),
        (50, 50, (50, 0)),
        (51, 48, (48, 51)),
        (50, 51, (51, 50)),
        (64, 64, (64, 0)),
    ] {
        let more = with_bits(mask, body, stated);
        let read = SeededServerKey::<u64>::from_bytes(&more).unwrap();
        assert_eq!(read.to_bytes(), more, "{stated:?}");
    }
    // Fewer bits than new keys have, more than there are, and second forms of the same numbers.
    for (mask, body, stated, field) in [
        (48, 48, (48, 0), "mask bits"),
        (49, 47, (47, 49), "body bits"),
        (48, 49, (49, 48), "mask bits"),
        (64, 64, (65, 0), "body bits"),
        (64, 64, (64, 65), "mask bits"),
        (51, 51, (51, 0), "body bits"),
        (51, 51, (51, 51), "body bits"),
        (50, 50, (50, 50), "mask bits"),
        (51, 51, (0, 51), "mask bits"),
    ] {
        assert_eq!(
            SeededServerKey::<u64>::from_bytes(&with_bits(mask, body, stated)).err(),
            Some(WireError::Field(field)),
            "{stated:?}"
        );
    }
    assert!(matches!(
        SeededServerKey::<u64>::from_bytes(&with_bits(49, 48, (0, 0))).err(),
        Some(WireError::PayloadLength { .. })
    ));
}

fn hash<T: ProductTorus>(ciphertexts: &[LweCiphertext<T>]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for word in ciphertexts.iter().flat_map(LweCiphertext::as_slice) {
        hasher.update(&word.to_u64().to_le_bytes());
    }
    hasher.finalize()
}

/// The checksums of a server key's bytes, of a key switch and of a 32-bit bootstrap, all
/// of fixed seeds: they change only with the file format, the expanders or the scheme.
#[test]
fn keys_and_key_switches_of_fixed_seeds_are_what_they_were() {
    fn checksums<T: ProductTorus>() -> (u32, u32, u32) {
        let (seeded, _) = Keys::seeded::<T>(small_set(T::BITS, 2, 70), 55);
        let server = seeded.prepare(&|_| ());
        let inputs = uniform_inputs(server.parameters().big_lwe_dimension().0, 4);
        let switched = Evaluator::new(&server).key_switch_batch(&inputs).unwrap();
        (
            // Without the message's own checksum, behind which every checksum is the same.
            crc32fast::hash(seeded.to_bytes().split_last_chunk::<4>().unwrap().0),
            hash(&switched),
            // Over 64 bits the last bits depend on the instruction set.
            if T::BITS == 32 {
                hash(&outputs(&server, 37))
            } else {
                0
            },
        )
    }
    assert_eq!(checksums::<u32>(), (0x75bb_039f, 0x6165_4bc4, 0x5f5c_b35b));
    assert_eq!(checksums::<u64>(), (0xc6ce_8daa, 0xfffd_257e, 0));
}
