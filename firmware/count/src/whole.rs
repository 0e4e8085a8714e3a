//! A whole encryption, from readings to the bytes of the message.

use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_device::{Encryptor, ExpanderKind, KeyMode, MemoryPlan, Workspace, workspace_bytes};

use crate::marker::counted;
use crate::{BITS, RUNS, TUNIFORM, parameter_set, readings, secret_key, seeds};

const PLAN: MemoryPlan = MemoryPlan::recommended();

/// The memory plan, the same for every noise.
const WORKSPACE_BYTES: usize = workspace_bytes(&parameter_set(TUNIFORM), PLAN, KeyMode::Symmetric);

/// Encrypts with this noise, as region `ID`.
pub(crate) fn run<const ID: u32>(name: &str, noise: NoiseDistribution) {
    let secret = secret_key(noise);
    let device_key = secret.device_key().to_bytes().expect("a key of this size");
    let mut workspace = Workspace::<WORKSPACE_BYTES>::new();
    let mut encryptor = Encryptor::<u32>::new(
        &device_key,
        PLAN,
        ExpanderKind::ChaCha20,
        seeds(2),
        workspace.as_mut_slice(),
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
    if ID == 0 {
        println!("bytes workspace {WORKSPACE_BYTES}");
        println!("bytes encryptor {}", size_of_val(&encryptor));
        println!("bytes message {}", message.len());
    }
}
