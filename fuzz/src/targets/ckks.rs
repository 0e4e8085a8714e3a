//! SEAL's objects and SEAL-Embedded's key files.

use tfhe_sbc_foreign as foreign;
use tfhe_sbc_foreign::seal::{self as adapter, SecretKeyFile};
use tfhe_sbc_ckks::seal::{self, encryption_parameters};
use tfhe_sbc_ckks::{
    Encryptor, Format, KeyMode, MemoryPlan, Parameters, PublicKey, SealGenerator, SecretKey, Slots,
    packed_bytes, workspace_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;

use super::Target;

/// SEAL's parameters.
pub(super) const PARAMETERS: Target = Target {
    name: "seal_parameters",
    run: |bytes| {
        if let Ok(parameters) = encryption_parameters(bytes) {
            assert_eq!(encryption_parameters(&written(&parameters)), Ok(parameters));
        }
    },
    seeds: || {
        let mut files: Vec<_> = Parameters::SEAL_EMBEDDED.iter().map(written).collect();
        files.push(include_bytes!("../../../tests/vectors/seal/parms.seal").to_vec());
        files
    },
};

/// SEAL's secret keys, of the smallest parameters.
pub(super) const SECRET_KEY: Target = Target {
    name: "seal_secret_key",
    run: |bytes| {
        let mut packed = vec![0; packed_bytes(SMALL.polynomial_size())];
        let mut scratch = vec![0; SMALL.polynomial_size()];
        if let Ok(key) = seal::secret_key(&SMALL, bytes, &mut packed, &mut scratch) {
            let again = secret_key(key);
            // The words are behind all that versions differ in.
            assert!(again.ends_with(&bytes[bytes.len() - 8192..]));
        }
        assert!(scratch.iter().all(|&word| word == 0));
    },
    seeds: || {
        let packed: Vec<u8> = PACKED.repeat(SMALL.polynomial_size() / 4);
        let key = SecretKey::from_packed(&SMALL, &packed).unwrap();
        vec![secret_key(key)]
    },
};

/// SEAL's public keys, of the smallest parameters.
pub(super) const PUBLIC_KEY: Target = Target {
    name: "seal_public_key",
    run: |bytes| {
        let _ = seal::public_key(&SMALL, bytes);
    },
    seeds: || {
        let packed: Vec<u8> = PACKED.repeat(SMALL.polynomial_size() / 4);
        let key = SecretKey::from_packed(&SMALL, &packed).unwrap();
        let mut file = Vec::new();
        let (mut scratch, mut seeds) = (scratch(), crate::common::seeds(1));
        let scratch = scratch.as_mut_slice();
        seal::write_public_key(&SMALL, key, &mut seeds, scratch, &mut sink(&mut file)).unwrap();
        vec![file]
    },
};

/// SEAL's ciphertexts, and SEAL-Embedded's: decrypted, and written again.
pub(super) const CIPHERTEXT: Target = Target {
    name: "seal_ciphertext",
    run: |bytes| {
        let _ = seal::object_bytes(bytes);
        for ciphertext in [
            seal::ciphertext(&SMALL, bytes),
            seal::raw_ciphertext(&SMALL, 1e6, bytes),
        ] {
            let Ok(ciphertext) = ciphertext else {
                continue;
            };
            let packed: Vec<u8> = PACKED.repeat(SMALL.polynomial_size() / 4);
            let key = SecretKey::from_packed(&SMALL, &packed).unwrap();
            let slots = tfhe_sbc_ckks::decrypt(key, &ciphertext).unwrap();
            let mut object = Vec::new();
            ciphertext.write_expanded(&mut sink(&mut object)).unwrap();
            let again = seal::ciphertext(&SMALL, &object).unwrap();
            let slots_again = tfhe_sbc_ckks::decrypt(key, &again).unwrap();
            let bits = |slots: &[[f64; 2]]| {
                slots
                    .as_flattened()
                    .iter()
                    .map(|part| part.to_bits())
                    .collect::<Vec<_>>()
            };
            assert_eq!(bits(&slots), bits(&slots_again));
        }
    },
    seeds: || {
        let formats = [Format::SealSeeded, Format::Seal, Format::Raw];
        formats.map(ciphertext).to_vec()
    },
};

/// Any of their files, as `inspect` and key owners read them: SEAL's compressed ones too.
pub(super) const FILES: Target = Target {
    name: "seal_files",
    run: |bytes| {
        let _ = foreign::describe(bytes);
        if let Ok(bytes) = adapter::uncompressed(bytes) {
            let scale = Some(1e6);
            let count = adapter::ciphertexts(&SMALL, scale, &bytes).count();
            if let Ok(converted) = adapter::convert(&SMALL, scale, &bytes) {
                assert_eq!(converted.count, count);
                let again = adapter::convert(&SMALL, None, &converted.bytes);
                assert_eq!(again.as_ref(), Ok(&converted));
            }
            let parameters = adapter::standard_parameters(&bytes);
            let _ = SecretKeyFile::from_seal(&parameters.unwrap_or(SMALL), &bytes);
        }
    },
    seeds: || {
        let two = [ciphertext(Format::SealSeeded), ciphertext(Format::Seal)].concat();
        // SEAL's header, and a frame with one stored block, and one that repeats a byte.
        let frame = |block: &[u8]| {
            let mut object = vec![0x5e, 0xa1, 16, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            object.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3]);
            object.extend_from_slice(block);
            object[8] = object.len() as u8;
            object
        };
        let stored = frame(&[8 << 3 | 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let repeated = frame(&[3, 0, 4, 7]);
        let mut files = vec![two, ciphertext(Format::Raw), stored, repeated];
        files.extend((SECRET_KEY.seeds)());
        files.extend((PUBLIC_KEY.seeds)());
        files.extend((PARAMETERS.seeds)());
        files
    },
};

fn ciphertext(format: Format) -> Vec<u8> {
    let packed: Vec<u8> = PACKED.repeat(SMALL.polynomial_size() / 4);
    let key = SecretKey::from_packed(&SMALL, &packed).unwrap();
    let plan = MemoryPlan::Small;
    let mut workspace = HeapWorkspace::new(workspace_bytes(&SMALL, plan, KeyMode::Symmetric));
    let (generator, seeds) = (SealGenerator::Shake256, crate::common::seeds(2));
    let workspace = workspace.as_mut_slice();
    let mut encryptor = Encryptor::new(&SMALL, key, plan, generator, seeds, workspace).unwrap();
    let mut out = Vec::new();
    let slots = Slots::Real(&[1.0, -2.5, 3.0]);
    encryptor
        .encrypt(slots, 1e6, format, &mut sink(&mut out))
        .unwrap();
    out
}

/// SEAL-Embedded's files: a secret key, or the parts of a public one.
pub(super) const SEAL_EMBEDDED: Target = Target {
    name: "seal_embedded_keys",
    run: |bytes| {
        let _ = SecretKey::from_packed(&SMALL, bytes);
        let half = bytes.len() / 2;
        let parts = [[&bytes[..half], &bytes[half..]]];
        let _ = PublicKey::from_parts(&SMALL, &parts);
    },
    seeds: || vec![PACKED.repeat(256), vec![3; 8 * 1024]],
};

const SMALL: Parameters = Parameters::N1024;

/// Coefficients 1, 0, -1, 1.
const PACKED: [u8; 1] = [0b10_01_00_10];

fn sink(file: &mut Vec<u8>) -> impl FnMut(&[u8]) -> Result<(), tfhe_sbc_ckks::SinkError> {
    |piece| {
        file.extend_from_slice(piece);
        Ok(())
    }
}

fn written(parameters: &Parameters) -> Vec<u8> {
    let mut file = Vec::new();
    seal::write_encryption_parameters(parameters, &mut sink(&mut file)).unwrap();
    file
}

fn secret_key(key: SecretKey<'_>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut scratch = scratch();
    let scratch = scratch.as_mut_slice();
    seal::write_secret_key(&SMALL, key, scratch, &mut sink(&mut file)).unwrap();
    file
}

/// Bytes for making keys.
fn scratch() -> HeapWorkspace {
    HeapWorkspace::new(seal::key_scratch_bytes(&SMALL))
}
