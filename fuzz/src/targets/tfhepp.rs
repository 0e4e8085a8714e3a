//! Files of TFHEpp.

use tfhe_sbc_foreign as foreign;
use tfhe_sbc_foreign::tfhepp::{Ciphertexts, SecretKey, content_of};

use super::Target;

const SECRET_KEY_FILE: &[u8] =
    include_bytes!("../../../tests/vectors/tfhepp/v9-binary-lvl1/secretkey.bin");
const VECTOR: &[u8] = include_bytes!("../../../tests/vectors/tfhepp/v9-binary-lvl1/vec8.bin");
const TRLWE: &[u8] = include_bytes!("../../../tests/vectors/tfhepp/v9-binary-lvl1/trlwe1024.bin");

/// A `SecretKey`.
pub(super) const SECRET_KEY: Target = Target {
    name: "tfhepp_secret_key",
    run: |bytes| {
        let described = foreign::describe(bytes);
        if let Ok(key) = SecretKey::parse(bytes) {
            assert!(described.is_some());
            let parameters = key.parameters().unwrap();
            let secret = parameters.glwe_secret();
            assert!(key.glwe().coefficients().iter().all(|&s| secret.holds(s)));
        }
    },
    seeds: || vec![SECRET_KEY_FILE.to_vec(), SECRET_KEY_FILE[1..].to_vec()],
};

/// A `TLWE`, a `TRLWE` or a vector of them.
pub(super) const CIPHERTEXTS: Target = Target {
    name: "tfhepp_ciphertexts",
    run: |bytes| {
        foreign::describe(bytes);
        if let Ok(read) = Ciphertexts::parse(bytes) {
            assert_eq!(content_of(bytes), Some((read.archive(), read.content())));
            let words: usize = read.tlwes().map(|tlwe| tlwe.as_slice().len()).sum::<usize>()
                + read.trlwes().map(|trlwe| trlwe.as_slice().len()).sum::<usize>();
            assert!(4 * words <= bytes.len() && bytes.len() <= 4 * words + 9);
        }
    },
    seeds: || {
        vec![
            VECTOR.to_vec(),
            VECTOR[1..].to_vec(),
            VECTOR[8..][..4101].to_vec(),
            TRLWE.to_vec(),
            vec![1, 0, 0, 0, 0, 0, 0, 0, 0],
        ]
    },
};
