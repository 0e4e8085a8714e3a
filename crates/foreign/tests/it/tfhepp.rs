//! Files of TFHEpp: those that v9 wrote (their origin is in
//! `tests/vectors/tfhepp/v9-binary-lvl1/README.md`), what is made for it of uploads, and what is
//! no such file.

use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::parameter_sets::GATES;
use tfhe_sbc_core::parameters::{GlweSecret, KeyFingerprint, Parameters};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, Seed, SeedSequence, fill_uniform};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::bits::pack_top_bits;
use tfhe_sbc_core::wire::glwe::{UploadedGlweList, header, payload_len};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{Encryptor, KeyMode, MemoryPlan, PublicEncryptor, workspace_bytes};
use tfhe_sbc_foreign::tfhepp::{
    Archive, Ciphertexts, Content, LVL1_BINARY, LVL1_N, LVL1_TERNARY, Layout, SecretKey,
    TLWE_BYTES, TRLWE_BYTES, TfheppError, TlweVector, TrlweVector, content_of,
};

use crate::vectors::{tfhepp as file, tfhepp_bits as bits};

fn key() -> SecretKey {
    SecretKey::parse(&file("secretkey.bin")).unwrap()
}

/// A secret key file of 2026 with a ternary lvl1, of v9's. Its lvl0 is ternary too.
fn ternary_file() -> Vec<u8> {
    let v9 = file("secretkey.bin");
    let (lvl0, rest) = v9[1..].split_at(2 * 636);
    let mut out = vec![1];
    out.extend_from_slice(&lvl0[..2 * 630]);
    out[1..3].copy_from_slice(&[0xff; 2]);
    out.extend_from_slice(rest);
    let lvl1 = 1 + 2 * 630 + 4 * 760;
    for word in out[lvl1..lvl1 + 4 * LVL1_N].chunks_mut(16) {
        // One of four.
        word[..4].copy_from_slice(&[0xff; 4]);
    }
    let at = out.len() - 112;
    out[at..at + 4].copy_from_slice(&630u32.to_le_bytes());
    assert_eq!(out.len(), 90_429);
    out
}

const CIPHERTEXTS: [(&str, &str, Content); 3] = [
    ("trlwe1024.bin", "trlwe_bits.txt", Content::Trlwe),
    (
        "extracted_0_1_511_1023.bin",
        "extracted_bits.txt",
        Content::TlweVector(4),
    ),
    ("vec8.bin", "vec8_bits.txt", Content::TlweVector(8)),
];

#[test]
fn their_ciphertexts_decrypt_to_their_bits() {
    let key = key();
    for (name, expected, content) in CIPHERTEXTS {
        let portable = file(name);
        for (archive, bytes) in [
            (Archive::PortableBinary, &portable[..]),
            (Archive::Binary, &portable[1..]),
        ] {
            let read = Ciphertexts::parse(bytes).unwrap();
            assert_eq!(
                (read.archive(), read.content()),
                (archive, content),
                "{name}"
            );
            assert_eq!(read.decrypt(key.glwe()).unwrap(), bits(expected), "{name}");
        }
    }
}

#[test]
fn their_gates_results_decrypt() {
    let key = key();
    let (fresh, extracted) = (bits("vec8_bits.txt"), bits("extracted_bits.txt"));
    for (name, a, b) in [
        ("nand_0_1.bin", fresh[0], fresh[1]),
        ("nand_2_3.bin", fresh[2], fresh[3]),
        ("nand_4_5.bin", fresh[4], fresh[5]),
        ("nand_extracted_0_1.bin", extracted[0], extracted[1]),
    ] {
        let bytes = file(name);
        let read = Ciphertexts::parse(&bytes).unwrap();
        assert_eq!(read.content(), Content::TlweVector(1));
        assert_eq!(read.decrypt(key.glwe()).unwrap(), [!(a && b)], "{name}");
    }
}

fn write_words(out: &mut Vec<u8>, prefix: &[u8], words: &[u32]) {
    out.extend_from_slice(prefix);
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

#[test]
fn files_come_back_byte_for_byte() {
    for (name, _, content) in CIPHERTEXTS {
        let bytes = file(name);
        for archive in Archive::ALL {
            let expected = match archive {
                Archive::PortableBinary => &bytes[..],
                Archive::Binary => &bytes[1..],
            };
            let read = Ciphertexts::parse(expected).unwrap();
            let mut out = Vec::new();
            match content {
                Content::Trlwe => {
                    let trlwe = read.trlwes().next().unwrap();
                    write_words(&mut out, archive.prefix(), trlwe.as_slice());
                }
                _ => {
                    write_words(
                        &mut out,
                        archive.prefix(),
                        &[read.tlwes().count() as u32, 0],
                    );
                    for tlwe in read.tlwes() {
                        write_words(&mut out, &[], tlwe.as_slice());
                    }
                }
            }
            assert!(out == expected, "{name}");
        }
    }
}

/// A list whose ciphertext is theirs: its mask travels, so that it can be anything.
fn upload_of(words: &[u32], parameters: &Parameters) -> Vec<u8> {
    use tfhe_sbc_core::wire::glwe::{masked_header, masked_payload_len};
    let (mask, body) = words.split_at(LVL1_N);
    let mut out = vec![0; 100 + masked_payload_len(parameters.as_set(), LVL1_N) + 4];
    let (packed_mask, packed_body) =
        out[100..].split_at_mut(LVL1_N * parameters.public_key_mask_bits() as usize / 8);
    pack_top_bits(mask, parameters.public_key_mask_bits(), packed_mask);
    let len = packed_body.len() - 4;
    pack_top_bits(body, parameters.body_bits(), &mut packed_body[..len]);
    masked_header(parameters, KeyFingerprint::default(), LVL1_N as u32)
        .seal(&mut out)
        .unwrap();
    out
}

/// An upload that holds TFHEpp's ciphertext, with nothing rounded, extracts to TFHEpp's words.
#[test]
fn extraction_is_theirs_byte_for_byte() {
    let set = tfhe_sbc_core::parameters::ParameterSet {
        body_bits: 32,
        public_key_mask_bits: 32,
        ..LVL1_BINARY
    };
    let parameters = set.validate().unwrap();
    let bytes = file("trlwe1024.bin");
    let trlwe = Ciphertexts::parse(&bytes).unwrap().trlwes().next().unwrap();
    let upload = upload_of(trlwe.as_slice(), &parameters);
    let (message, _) = Message::parse(&upload).unwrap();
    let list = UploadedGlweList::check(message, &parameters, KeyFingerprint::default()).unwrap();

    let mut single = Vec::new();
    TrlweVector::new(&list, &parameters)
        .unwrap()
        .write_single_to(Archive::PortableBinary, &mut single)
        .unwrap()
        .unwrap();
    assert!(single == bytes);

    let theirs = file("extracted_0_1_511_1023.bin");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let out = pool
            .build()
            .unwrap()
            .install(|| tlwes(&list, &parameters, Archive::Binary));
        let ours: Vec<&[u8]> = out[8..].chunks_exact(TLWE_BYTES).collect();
        assert_eq!(ours.len(), LVL1_N);
        for (theirs, degree) in theirs[9..].chunks_exact(TLWE_BYTES).zip([0, 1, 511, 1023]) {
            assert!(
                theirs == ours[degree],
                "the bytes at degree {degree} differ"
            );
        }
        for (degree, ours) in ours.into_iter().enumerate() {
            let words: Vec<u8> = trlwe
                .sample_extract(degree)
                .as_slice()
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            assert!(ours == words, "{degree}");
        }
    }
}

fn tlwes(list: &UploadedGlweList<'_>, parameters: &Parameters, archive: Archive) -> Vec<u8> {
    let vector = TlweVector::new(list, parameters).unwrap();
    let (mut out, seen) = (Vec::new(), AtomicU64::new(0));
    vector
        .write_to(archive, &mut out, &|n| {
            seen.fetch_add(n, Ordering::Relaxed);
        })
        .unwrap();
    assert_eq!(out.len() as u64, vector.file_len(archive));
    assert_eq!(seen.into_inner(), vector.count() as u64);
    out
}

/// Uploads under imported keys, of both kinds of device keys and of every length about a
/// polynomial's, become ciphertexts of TFHEpp.
#[test]
fn uploads_under_imported_keys_become_their_ciphertexts() {
    for (bytes, set) in [
        (file("secretkey.bin"), LVL1_BINARY),
        (ternary_file(), LVL1_TERNARY),
    ] {
        let theirs = SecretKey::parse(&bytes).unwrap();
        let parameters = theirs.parameters().unwrap();
        assert_eq!(*parameters.as_set(), set);
        let device = DeviceKey::import(parameters, theirs.glwe().clone()).unwrap();
        let mut seeds = SeedSequence::new(Seed::from_bytes([5; 32]));
        let key_file = device.to_bytes().unwrap();
        let public_file = device.public_key(&mut seeds).unwrap().to_bytes().unwrap();
        for count in [1, 63, 64, 65, 1023, 1024, 1025, 2500] {
            let bits: Vec<u8> = (0..count).map(|i| (i * i / 3 % 2) as u8).collect();
            let expected: Vec<bool> = bits.iter().map(|&bit| bit == 1).collect();
            for mode in [KeyMode::Symmetric, KeyMode::Public] {
                let plan = MemoryPlan::recommended();
                let mut workspace = HeapWorkspace::new(workspace_bytes(&set, plan, mode));
                let workspace = workspace.as_mut_slice();
                let fresh = SeedSequence::new(Seed::from_bytes([count as u8; 32]));
                let mut upload = vec![0; 1 << 20];
                let expander = ExpanderKind::ChaCha20;
                let len = match mode {
                    KeyMode::Symmetric => {
                        Encryptor::<u32>::new(&key_file, plan, expander, fresh, workspace)
                            .unwrap()
                            .encrypt_bits(&bits, &mut upload)
                    }
                    KeyMode::Public => {
                        PublicEncryptor::<u32>::new(&public_file, plan, expander, fresh, workspace)
                            .unwrap()
                            .encrypt_bits(&bits, &mut upload)
                    }
                }
                .unwrap();
                let (message, _) = Message::parse(&upload[..len]).unwrap();
                let list =
                    UploadedGlweList::check(message, &parameters, device.fingerprint()).unwrap();
                for archive in Archive::ALL {
                    let file = tlwes(&list, &parameters, archive);
                    let read = Ciphertexts::parse(&file).unwrap();
                    assert_eq!(read.archive(), archive);
                    assert_eq!(read.content(), Content::TlweVector(count as u64));
                    assert_eq!(read.decrypt(theirs.glwe()).unwrap(), expected);

                    let vector = TrlweVector::new(&list, &parameters).unwrap();
                    let mut file = Vec::new();
                    vector.write_to(archive, &mut file).unwrap();
                    let read = Ciphertexts::parse(&file).unwrap();
                    assert_eq!(read.content(), Content::TrlweVector(vector.count() as u64));
                    assert_eq!(read.decrypt(theirs.glwe()).unwrap()[..count], expected);
                    let single = vector.write_single_to(archive, &mut file);
                    assert_eq!(single.is_some(), count <= 1024);
                }
            }
        }
    }
}

#[test]
fn secret_keys_of_both_layouts() {
    let binary = file("secretkey.bin");
    let ternary = ternary_file();
    for (bytes, layout, secret, security) in [
        (&binary, Layout::V9, GlweSecret::Binary, 121.8),
        (&ternary, Layout::Y2026, GlweSecret::Ternary, 127.6),
    ] {
        for (archive, bytes) in [
            (Archive::PortableBinary, &bytes[..]),
            (Archive::Binary, &bytes[1..]),
        ] {
            let content = Some((archive, Content::SecretKey(layout)));
            assert_eq!(content_of(bytes), content);
            let key = SecretKey::parse(bytes).unwrap();
            assert_eq!(
                (key.archive(), key.layout(), key.secret()),
                (archive, layout, secret)
            );
            assert_eq!(key.parameters().unwrap().security_bits(), security);
        }
    }
    let key = SecretKey::parse(&ternary).unwrap();
    assert_eq!(key.glwe().coefficients()[4], -1);
    assert!(!format!("{key:?}").contains("[0"));
}

fn refused(bytes: &[u8]) -> String {
    SecretKey::parse(bytes).unwrap_err().to_string()
}

#[test]
fn what_is_no_secret_key_is_told_apart() {
    let good = file("secretkey.bin");
    for len in [0, 1, 7, 4101, good.len() - 2, good.len() + 1] {
        let mut other = good.clone();
        other.resize(len, 0);
        assert!(refused(&other).starts_with(&format!("{len} bytes are no secret key")));
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut other = good.clone();
        other[at..at + bytes.len()].copy_from_slice(bytes);
        other
    };
    // A file that a big-endian machine wrote.
    assert!(refused(&with(0, &[0])).contains("first byte is 0"));
    assert!(refused(&with(1, &[2, 0])).contains("the lvl0 key"));
    assert!(refused(&with(4313, &[2, 0, 0, 0])).contains("the lvl1 key"));
    assert!(refused(&with(4313, &[0, 0, 0, 0x80])).contains("the lvl1 key"));
    // k = 2 and N = 512, whose key is as long.
    let at = good.len() - 112 + 16;
    let mut shape = 9u32.to_le_bytes().to_vec();
    shape.extend(512u32.to_le_bytes());
    assert!(refused(&with(at, &shape)).contains("N = 512"));
}

/// Bytes of which only the length would tell are not claimed.
#[test]
fn descriptions_are_certain() {
    use tfhe_sbc_foreign::describe;

    for (name, _, _) in CIPHERTEXTS {
        assert_eq!(describe(&file(name)).unwrap().library, "TFHEpp", "{name}");
    }
    assert_eq!(
        describe(&file("secretkey.bin")[1..]).unwrap().kind,
        "SecretKey"
    );
    for len in [0, 8, 9, TLWE_BYTES, TRLWE_BYTES, 90_428, 90_440] {
        assert_eq!(describe(&vec![0x54; len]), None, "{len}");
        // Zeros of some lengths are a key of SEAL-Embedded's, too.
        let zeros = describe(&vec![0; len]);
        assert!(
            zeros.is_none_or(|found| found.library != "TFHEpp" || found.kind == "SecretKey"),
            "{len}"
        );
    }
}

#[test]
fn what_are_no_ciphertexts_is_told_apart() {
    let good = file("vec8.bin");
    let reason = |bytes: &[u8]| Ciphertexts::parse(bytes).unwrap_err().to_string();
    for len in [0, 1, 8, 10, 4099, good.len() - 2, good.len() + 1] {
        let mut other = good.clone();
        other.resize(len, 0);
        assert!(reason(&other).contains("neither a TLWE"), "{len}");
    }
    assert!(reason(&file("secretkey.bin")).contains("neither a TLWE"));
    // Sizes that no memory has: what is there decides.
    for count in [0, 7, 9, 1 << 40, u64::MAX, u64::MAX / TLWE_BYTES as u64 + 1] {
        let mut other = good.clone();
        other[1..9].copy_from_slice(&count.to_le_bytes());
        assert!(
            matches!(
                Ciphertexts::parse(&other),
                Err(TfheppError::Count { announced, found: 8 }) if announced == count
            ),
            "{count}"
        );
    }
    assert_eq!(
        content_of(&[1, 0, 0, 0, 0, 0, 0, 0, 0]),
        Some((Archive::PortableBinary, Content::TlweVector(0)))
    );
    let other_key = DeviceKey::import(
        GATES.validate().unwrap(),
        tfhe_sbc_core::keys::SecretKey::generate(
            GATES.validate().unwrap(),
            &mut SeedSequence::new(Seed::from_bytes([1; 32])),
        )
        .unwrap()
        .glwe()
        .clone(),
    )
    .unwrap();
    assert!(matches!(
        Ciphertexts::parse(&good).unwrap().decrypt(other_key.glwe()),
        Err(TfheppError::Key)
    ));
}

#[test]
fn uploads_of_other_sets_are_refused() {
    let parameters = GATES.validate().unwrap();
    let seed = MaskSeed([1; 32]);
    let size = parameters.polynomial_size().get();
    let mut upload = vec![0; 104 + payload_len(3, size, parameters.body_bits())];
    let key = KeyFingerprint::default();
    header(&parameters, key, ExpanderKind::ChaCha20, seed, 3)
        .seal(&mut upload)
        .unwrap();
    let (message, _) = Message::parse(&upload).unwrap();
    let list = UploadedGlweList::check(message, &parameters, key).unwrap();
    let error = TlweVector::new(&list, &parameters).unwrap_err().to_string();
    assert!(error.contains("'gates'"), "{error}");
    assert!(TrlweVector::new(&list, &parameters).is_err());
}

/// A million bits go through while no more is held than two buffers of 64 ciphertexts and a
/// polynomial: the writer sees pieces of at most that size, each when it is made.
#[test]
fn a_million_bits_stream() {
    struct Counting {
        bytes: u64,
        largest: usize,
        pieces: u64,
    }
    impl std::io::Write for Counting {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.bytes += bytes.len() as u64;
            self.largest = self.largest.max(bytes.len());
            self.pieces += 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    const COUNT: usize = 1_000_000;
    let parameters = LVL1_TERNARY.validate().unwrap();
    let mut upload = vec![0; 104 + payload_len(COUNT, LVL1_N, parameters.body_bits())];
    let key = KeyFingerprint::default();
    let seed = MaskSeed([9; 32]);
    header(&parameters, key, ExpanderKind::ChaCha20, seed, COUNT as u32)
        .seal(&mut upload)
        .unwrap();
    let (message, _) = Message::parse(&upload).unwrap();
    let list = UploadedGlweList::check(message, &parameters, key).unwrap();
    let vector = TlweVector::new(&list, &parameters).unwrap();
    let mut out = Counting {
        bytes: 0,
        largest: 0,
        pieces: 0,
    };
    vector
        .write_to(Archive::default(), &mut out, &|_| ())
        .unwrap();
    assert_eq!(out.bytes, 9 + COUNT as u64 * TLWE_BYTES as u64);
    assert_eq!(out.largest, 64 * TLWE_BYTES);
    assert!(out.pieces > 15_000);
}

/// The sink of an upload that cannot be written says so.
#[test]
fn errors_of_the_sink_come_through() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = self.0.min(bytes.len());
            self.0 -= room;
            Ok(room)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let parameters = LVL1_TERNARY.validate().unwrap();
    let mut words = vec![0u32; 2 * LVL1_N];
    let seed = MaskSeed([3; 32]);
    fill_uniform(
        &mut ExpanderKind::ChaCha20.mask_stream(&seed, 0),
        &mut words,
    );
    words[LVL1_N..].fill(boolean::encode::<u32>(true).add(0));
    let upload = upload_of(&words, &parameters);
    let (message, _) = Message::parse(&upload).unwrap();
    let list = UploadedGlweList::check(message, &parameters, KeyFingerprint::default()).unwrap();
    let vector = TlweVector::new(&list, &parameters).unwrap();
    let whole = vector.file_len(Archive::Binary) as usize;
    for room in [0, 8, 1000, 64 * TLWE_BYTES + 8, whole - 1] {
        let result = vector.write_to(Archive::Binary, &mut Full(room), &|_| ());
        assert!(result.is_err(), "{room}");
    }
    let result = vector.write_to(Archive::Binary, &mut Full(whole), &|_| ());
    assert!(result.is_ok());
    assert_eq!(TRLWE_BYTES, 8192);
}
