//! A whole encryption: readings to the bytes of the message.

use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_device::{Encryptor, ExpanderKind, float_workspace_len, scalar_workspace_len};

use crate::marker::counted;
use crate::{BITS, RUNS, readings, secret_key, seeds};

/// Encrypts with this noise as region `ID`.
pub(crate) fn run<const ID: u32>(name: &str, noise: NoiseDistribution) {
    let secret = secret_key(noise);
    let device_key = secret.device_key().to_bytes().expect("a key of this size");
    let mut floats = vec![0.0; float_workspace_len::<u32>(secret.parameters())];
    let mut scalars = vec![0; scalar_workspace_len(secret.parameters())];
    let mut encryptor = Encryptor::<u32>::new(
        &device_key,
        ExpanderKind::ChaCha20,
        seeds(2),
        &mut floats,
        &mut scalars,
    )
    .expect("a device key of this torus");
    let readings = readings();
    let mut message = vec![0; encryptor.message_len(BITS)];

    println!("region {ID} {name}");
    let mut digest = blake3::Hasher::new();
    for _ in 0..RUNS {
        let written = counted::<ID, _>(|| encryptor.encrypt_bits(&readings, &mut message));
        assert_eq!(written, Ok(message.len()));
        digest.update(&message);
    }
    println!("digest {name} {}", digest.finalize().to_hex());
}
