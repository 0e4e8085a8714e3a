//! The byte streams: known answers, independence of chunking, and that no part of
//! any stream appears anywhere else.

use std::collections::HashSet;

use super::*;

#[test]
fn ids_and_names_are_those_of_the_wire() {
    for (id, name) in [
        (1, "ChaCha20"),
        (2, "AES-128-CTR"),
        (3, "BLAKE2Xb"),
        (4, "BLAKE3"),
        (5, "SHAKE256"),
        (6, "AES-128-CTR-LE"),
    ] {
        let kind = ExpanderKind::try_from(id).unwrap();
        assert_eq!((kind.id(), kind.name()), (id, name));
        assert_eq!(kind.to_string(), name);
        assert_eq!(stream(kind, 0).kind(), kind);
    }
    for id in (0..=255).filter(|id| !(1..=6).contains(id)) {
        assert_eq!(
            ExpanderKind::try_from(id),
            Err(UnsupportedExpander::Unknown(id))
        );
    }
}

/// RFC 8439, appendix A.1, vectors 1 to 4: nonce 0 is stream 0.
#[test]
fn chacha20_rfc_8439_appendix_a_1() {
    let block = |seed: [u8; 32], number: usize| {
        let mut expander = ExpanderKind::ChaCha20.mask_stream(&MaskSeed(seed), 0);
        hex(&read(&mut expander, 64 * (number + 1))[64 * number..][..32])
    };
    let mut last_is_one = [0; 32];
    last_is_one[31] = 1;
    let mut second_is_ff = [0; 32];
    second_is_ff[1] = 0xff;
    assert_eq!(
        block([0; 32], 0),
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    );
    assert_eq!(
        block([0; 32], 1),
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
    );
    assert_eq!(
        block(last_is_one, 1),
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
    );
    assert_eq!(
        block(second_is_ff, 2),
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
    );
}

/// Bytes 0..16 and 1000..1016 as readers in Python (`cryptography`, `hashlib`) gave them from
/// the documentation of [`ExpanderKind`] alone.
#[test]
fn golden_bytes_of_an_independent_reader() {
    use ExpanderKind::{Aes128Ctr, Aes128CtrLe, Blake2xb, Blake3, ChaCha20, Shake256};
    for (kind, number, start, later) in [
        (
            ChaCha20,
            0,
            "f1c7df203f8289d1a80c9a89388a435a",
            "592524fdc2eb4c35bc0c3ad980a00b32",
        ),
        (
            ChaCha20,
            1,
            "1e2edb316e70ff59bdc8ea59c26d5def",
            "8460ea125da80becbdb398c90104820d",
        ),
        (
            ChaCha20,
            0x01020304,
            "e8623e53e417ba3cbd3785b5775888e0",
            "1037326ed157b1cf7dedd57a91e5b9ab",
        ),
        (
            ChaCha20,
            u32::MAX,
            "5a6a8896e5e18d5a37e20aca7d94baee",
            "5e9ae8addcce0b8d25d919e129a1b56a",
        ),
        (
            Aes128Ctr,
            0,
            "6b2630e82700f47cb84e46c90b2c8843",
            "e09102e5ef9dd4cf7ce25a84c6d1a470",
        ),
        (
            Aes128Ctr,
            1,
            "f8091ded5ae17a0f2e23544ca65c3abf",
            "dc75f14797ea72b184fa43deb22dadb5",
        ),
        (
            Aes128Ctr,
            0x01020304,
            "33879e1a9cb74fa0f2c2c0848168222c",
            "6be24f4579377a99245ddc653911073d",
        ),
        (
            Aes128Ctr,
            u32::MAX,
            "c637ec86e0e201443a11089f1cd159ab",
            "8cbd285c7af46deef28132a9d7a6971f",
        ),
        (
            Blake2xb,
            0,
            "eae1a190022191b79d5f067f3e21af8a",
            "7b16904382f932ee84e9e70cf6dbb275",
        ),
        (
            Blake2xb,
            1,
            "f7a13c3f81cd422af591bde11b83bf07",
            "42207fe9bdbb6ef28b7eb4364ce5c127",
        ),
        (
            Blake2xb,
            0x01020304,
            "883ed752438eb142dcce453424722ed9",
            "5513a82959b895595cb16dbfd1cd2c6a",
        ),
        (
            Blake2xb,
            u32::MAX,
            "01808cc7e4d428fe6f9a7e141d87f98a",
            "92883187e717e1c603e598c49a05ed8d",
        ),
        (
            Blake3,
            0,
            "65c52995774c9ef820f37baf376210b7",
            "40498f663660f353b4dc5275775b8623",
        ),
        (
            Blake3,
            1,
            "aec695ee00566e16a33f15ac55aafc43",
            "b80cbce1252e8ad81e3d60900976c56d",
        ),
        (
            Blake3,
            0x01020304,
            "410a5f2d39fd38006f04218acf340268",
            "0770872935649ba9bbdf1f9bb2d90a1b",
        ),
        (
            Blake3,
            u32::MAX,
            "69137a784c845e3a46591b059a513c38",
            "68cd24eb5473ac05b28384bfc2aa9dfe",
        ),
        (
            Shake256,
            0,
            "3fc8c9b2f26ca9ec916dcbf8928c0ae6",
            "847b2abe84ccfc92c781c54aabe0a03a",
        ),
        (
            Shake256,
            1,
            "bb96e8cae62fa90bf70e8ab2156d0792",
            "66113dfc0cf1f807a2191f76ac70ca3d",
        ),
        (
            Shake256,
            0x01020304,
            "602d721ccc51f423f4a80c40cc116c95",
            "116eaa102abdb92ae98febbce90e7902",
        ),
        (
            Shake256,
            u32::MAX,
            "8401dfeca68435362d9294207c3d0446",
            "e456823afb2ee2b33441bc53562ad8f4",
        ),
        (
            Aes128CtrLe,
            0,
            "75613056fd30f3addc504e84d9b5ef27",
            "6187e953ad5f8a1c414c1cad70a716cc",
        ),
        (
            Aes128CtrLe,
            1,
            "de462c5ea87accd7c6255f7f11234010",
            "b093a6bd9119170542f6e4e1d55bde84",
        ),
        (
            Aes128CtrLe,
            0x01020304,
            "c652799ecfb1b59345c4501dc7ff4850",
            "ff382be161c5944d240084d44934e38a",
        ),
        (
            Aes128CtrLe,
            u32::MAX,
            "45b0c22b766f1572eff2c26749f56c70",
            "514a227ed1b7872327b2ea5341c239c5",
        ),
    ] {
        let bytes = read(&mut stream(kind, number), 1016);
        assert_eq!(hex(&bytes[..16]), start, "{kind} stream {number}");
        assert_eq!(hex(&bytes[1000..]), later, "{kind} stream {number}");
    }
    // The counter block wraps at 2^128.
    assert_eq!(
        hex(&read(
            &mut Aes128Ctr.mask_stream(&MaskSeed([0xff; 32]), u32::MAX),
            32
        )),
        "7eb38664d22e51b2e799db1b2fcd634220ab8bad4e476c1f2503e4fdc09205a5"
    );
}

#[test]
fn a_stream_of_tfhe_rs_is_that_of_its_seed() {
    let seed = golden_seed();
    for number in [0, 1, 0x0102_0304, u32::MAX] {
        assert_eq!(
            read(&mut TfheRsStream::new(tfhe_rs_seed(&seed, number)), 1000),
            read(&mut stream(ExpanderKind::Aes128CtrLe, number), 1000),
        );
    }
}

#[test]
fn a_stream_does_not_depend_on_how_it_is_read() {
    for kind in ExpanderKind::ALL {
        let whole = read(&mut stream(kind, 3), 1 << 15);
        for step in [1, 3, 7, 15, 16, 17, 63, 64, 65, 127, 1000, 1024, 4097] {
            let mut expander = stream(kind, 3);
            let mut pieces = vec![0xa5; whole.len()];
            // Empty reads and reads of changing length between.
            for (i, piece) in pieces.chunks_mut(step).enumerate() {
                let (head, tail) = piece.split_at_mut(i % (piece.len() + 1));
                expander.fill(head);
                expander.fill(&mut []);
                expander.fill(tail);
            }
            assert!(pieces == whole, "{kind} in steps of {step}");
        }
    }
}

#[test]
fn mask_and_noise_streams_are_the_same_function_of_their_seed() {
    for kind in ExpanderKind::ALL {
        let bytes = [9; 32];
        assert_eq!(
            read(&mut kind.mask_stream(&MaskSeed(bytes), 5), 100),
            read(
                &mut kind.noise_stream(&NoiseSeed::from_bytes(bytes), 5),
                100
            ),
        );
    }
}

/// TFHEpp's counter once advanced by an eighth of its buffer, so that most words
/// came twice, some as mask and noise. Here every 8 bytes that occur anywhere, at
/// any offset, in mask and noise, in neighbouring streams, ciphertexts, seeds and
/// generators, occur once.
#[test]
fn no_eight_bytes_occur_twice_anywhere() {
    let mut streams = Vec::new();
    let mut seeds = SeedSequence::new(Seed::from_bytes([0; 32]));
    for _ in 0..2 {
        let (mask, noise) = seeds.next_pair().unwrap();
        for kind in ExpanderKind::ALL {
            for number in [0, 1, 256] {
                streams.push(read(&mut kind.mask_stream(&mask, number), 1 << 16));
                streams.push(read(&mut kind.noise_stream(&noise, number), 1 << 16));
            }
        }
    }
    // Seeds that differ in little: a counter mode that took them as they come would
    // give the same blocks a few places later.
    for kind in ExpanderKind::ALL {
        for byte in 0..32 {
            let mut seed = [0x55; 32];
            seed[byte] ^= 1;
            streams.push(read(&mut kind.mask_stream(&MaskSeed(seed), 0), 1 << 12));
        }
    }
    assert_eq!(distinct_windows(&streams), Ok(()));
}

/// The same defect would hide where reads are of another length: whatever the buffer
/// that a ciphertext's mask or noise is drawn through, no word of it occurs in another
/// place of mask or noise.
#[test]
fn no_words_occur_twice_for_any_length_of_buffer() {
    for kind in ExpanderKind::ALL {
        let mut seeds = SeedSequence::new(Seed::from_bytes([kind.id(); 32]));
        for buffer in [8, 24, 64, 72, 128, 512, 1024, 1088, 2048, 4096, 8192] {
            let (mask_seed, noise_seed) = seeds.next_pair().unwrap();
            let mut mask_stream = kind.mask_stream(&mask_seed, 0);
            let mut noise_stream = kind.noise_stream(&noise_seed, 0);
            let mut mask = vec![0u64; 3072];
            for values in mask.chunks_mut(buffer / 8) {
                fill_uniform(&mut mask_stream, values);
            }
            // Noise as wide as the torus shows every word that it is made of.
            let mut noise = vec![0u64; 3072];
            for values in noise.chunks_mut(buffer / 8) {
                let widest = NoiseDistribution::TUniform { bound_log2: 62 };
                add_noise(widest, &mut noise_stream, values);
            }
            let bytes = |words: &[u64]| words.iter().flat_map(|x| x.to_le_bytes()).collect();
            let streams: [Vec<u8>; 2] = [bytes(&mask), bytes(&noise)];
            distinct_windows(&streams).unwrap_or_else(|error| panic!("{kind}, {buffer}: {error}"));
            // The sign of a sample, and whether it is the next one's: as of fair coins.
            let half = |x: u64| (x as i64) < 0;
            let equal = |lag: usize| {
                let pairs = noise
                    .iter()
                    .zip(&mask[lag..])
                    .chain(mask.iter().zip(&mask[lag + 1..]));
                pairs
                    .map(|(x, y)| if half(*x) == half(*y) { 1.0 } else { -1.0 })
                    .sum::<f64>()
            };
            for lag in [0, 1, 2, 8, 64, 128, 512] {
                within("signs in common", equal(lag), 0.0, 5.0 * 6144f64.sqrt()).unwrap();
            }
        }
    }
}

#[test]
fn the_search_for_repetitions_finds_them() {
    // The TFHEpp defect: a buffer of 4096 bytes per 512 bytes of progress.
    let whole = read(&mut stream(ExpanderKind::ChaCha20, 0), 1 << 16);
    let overlapping: Vec<u8> = (0..8)
        .flat_map(|i| whole[512 * i..512 * i + 4096].to_vec())
        .collect();
    assert!(distinct_windows(&[overlapping]).is_err());
    // Noise that starts in the middle of the mask, and not on a word.
    assert!(distinct_windows(&[whole[..1 << 15].into(), whole[32_001..].into()]).is_err());
    assert_eq!(distinct_windows(&[whole]), Ok(()));
}

fn distinct_windows(streams: &[Vec<u8>]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for (number, stream) in streams.iter().enumerate() {
        for (offset, window) in stream.windows(8).enumerate() {
            if !seen.insert(u64::from_le_bytes(window.try_into().expect("eight bytes"))) {
                return Err(format!("stream {number} repeats at byte {offset}"));
            }
        }
    }
    Ok(())
}

/// Streams that are unrelated differ in half of their bits.
#[test]
fn streams_of_other_seeds_and_numbers_are_uncorrelated() {
    const LEN: usize = 1 << 16;
    for kind in ExpanderKind::ALL {
        let base = read(&mut kind.mask_stream(&MaskSeed([0; 32]), 0), LEN);
        let mut others = vec![read(&mut stream(kind, 0), LEN)];
        for bit in 0..32 {
            others.push(read(
                &mut kind.mask_stream(&MaskSeed([0; 32]), 1 << bit),
                LEN,
            ));
        }
        for bit in 0..256 {
            let mut seed = [0; 32];
            seed[bit / 8] = 1 << (bit % 8);
            others.push(read(&mut kind.mask_stream(&MaskSeed(seed), 0), LEN));
        }
        for (i, other) in others.iter().enumerate() {
            let differing: u32 = base
                .iter()
                .zip(other)
                .map(|(a, b)| (a ^ b).count_ones())
                .sum();
            let bits = 8.0 * LEN as f64;
            within(
                "differing bits",
                differing.into(),
                bits / 2.0,
                2.5 * bits.sqrt(),
            )
            .unwrap_or_else(|error| panic!("{kind}, stream {i}: {error}"));
        }
    }
}
