//! Makes the board's key file, and the hash of the message that the board must compute.

#[path = "src/session.rs"]
mod session;

use std::error::Error;
use std::path::Path;

use session::{BITS, PARAMETERS, READINGS, seeds};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_device::{Encryptor, ExpanderKind, KeyMode, MemoryPlan, Workspace, workspace_bytes};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/session.rs");
    println!("cargo::rerun-if-changed=memory.x");

    // This key is known to everybody. A real one comes from `tfhe-sbc keygen`.
    let mut owner = SeedSequence::new(Seed::from_bytes(
        *b"a key for show, known to everyone"
            .first_chunk()
            .ok_or("32 bytes")?,
    ));
    let key = SecretKey::generate(PARAMETERS.validate()?, &mut owner)?.device_key();
    let key = key.to_bytes()?;

    const BYTES: usize = workspace_bytes(&PARAMETERS, MemoryPlan::Fast, KeyMode::Symmetric);
    let mut workspace = Box::new(Workspace::<BYTES>::new());
    let mut encryptor = Encryptor::<u32>::new(
        &key,
        MemoryPlan::Fast,
        ExpanderKind::ChaCha20,
        seeds(),
        workspace.as_mut_slice(),
    )?;
    let mut message = vec![0; encryptor.message_len(BITS)];
    encryptor.encrypt_bits(&READINGS, &mut message)?;

    let out = std::env::var("OUT_DIR")?;
    let out = Path::new(&out);
    std::fs::write(out.join("device.key"), &*key)?;
    std::fs::write(
        out.join("message.blake3"),
        blake3::hash(&message).as_bytes(),
    )?;
    std::fs::copy("memory.x", out.join("memory.x"))?;
    println!("cargo::rustc-link-search={}", out.display());
    Ok(())
}
