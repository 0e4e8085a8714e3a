//! TFHE-rs's client keys and compressed ciphertexts.

use tfhe_sbc_foreign::tfhe_rs::client_key::read_client_key;
use tfhe_sbc_foreign::tfhe_rs::compressed::Compressed;
use tfhe_sbc_core::parameters::Parameters;

use super::Target;

const KEY: &[u8] = include_bytes!("../../../tests/vectors/tfhe-rs/client_key");

/// Client keys: whatever is read is a key of the shape that its parameters state.
pub(super) const CLIENT_KEY: Target = Target {
    name: "tfhe_rs_client_key",
    run: |bytes| {
        if let Ok(key) = read_client_key(bytes) {
            let dimension = key.parameters.big_lwe_dimension().0;
            assert_eq!(key.glwe.coefficients().len(), dimension);
            assert!(bytes.len() > 8 * dimension);
        }
        let _ = tfhe_sbc_foreign::tfhe_rs::describe(bytes);
    },
    seeds: || vec![KEY.to_vec()],
};

/// Compressed values: read to the end, one after the other, and every block expanded.
pub(super) const COMPRESSED: Target = Target {
    name: "tfhe_rs_compressed",
    run: |mut bytes| {
        let parameters = parameters();
        while let Ok((value, rest)) = Compressed::read(bytes, &parameters) {
            assert!(bytes.len() - rest.len() >= 100 * value.blocks.len());
            for block in value.blocks.iter().take(2) {
                assert_eq!(block.expand(&parameters).body(), block.body);
            }
            bytes = rest;
        }
    },
    seeds: || {
        vec![
            include_bytes!("../../../tests/vectors/tfhe-rs/compressed_uint8").to_vec(),
            include_bytes!("../../../tests/vectors/tfhe-rs/compressed_int16").to_vec(),
            include_bytes!("../../../tests/vectors/tfhe-rs/compressed_bool").to_vec(),
        ]
    },
};

fn parameters() -> Parameters {
    static PARAMETERS: std::sync::OnceLock<Parameters> = std::sync::OnceLock::new();
    *PARAMETERS.get_or_init(|| read_client_key(KEY).unwrap().parameters)
}
