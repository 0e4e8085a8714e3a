//! Decryption with a secret key whose file is secret.

use std::error::Error;

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::memcheck::disclose;
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::torus::Torus;

use super::{secret_key_file, sets};
use crate::check::Check;

pub(super) fn run(check: &mut Check) {
    for (name, set) in sets() {
        check.path(&format!("polynomial decrypted ({name})"), || {
            let secret = SecretKey::from_bytes(&secret_key_file(set)?)?;
            match set.torus_bits {
                32 => polynomial::<u32>(&secret, set),
                _ => polynomial::<u64>(&secret, set),
            }
        });
        check.path(
            &format!("answer under the small key decrypted ({name})"),
            || {
                let secret = SecretKey::from_bytes(&secret_key_file(set)?)?;
                let answer = LweCiphertext::from_vec(uniform::<u32>(set.lwe_dimension.0 + 1));
                let answer = answer.ok_or("an empty ciphertext")?;
                disclose(&mut [secret.decrypt_block(&answer)]);
                Ok(())
            },
        );
    }
    check.path("packed answers decrypted", || {
        let secret = SecretKey::from_bytes(&secret_key_file(MESSAGE_2_CARRY_2)?)?;
        let packing = packing_of(secret.parameters()).ok_or("the set has no packing")?;
        let key = PackingSecret::derive(&secret, &packing);
        let size = key.glwe().polynomial_size();
        let values = uniform((key.glwe().glwe_dimension().0 + 1) * size.get());
        let packed = GlweCiphertext::<u32>::from_vec(values, size).ok_or("no ciphertext")?;
        disclose(&mut key.decrypt_slots(&packed, size.get()));
        Ok(())
    });
}

fn polynomial<T: ProductTorus>(
    secret: &SecretKey,
    set: ParameterSet,
) -> Result<(), Box<dyn Error>> {
    let values = uniform::<T>((set.glwe_dimension.0 + 1) * set.polynomial_size);
    let size = secret.glwe().polynomial_size();
    let ciphertext = GlweCiphertext::from_vec(values, size).ok_or("no ciphertext")?;
    let phases = secret.glwe().prepare().phase(&ciphertext);
    let encoding = secret.parameters().block_encoding();
    let mut values: Vec<u64> = phases.iter().map(|&phase| encoding.decode(phase)).collect();
    disclose(&mut values);
    // The same by the key of extracted ciphertexts.
    let extracted = ciphertext.sample_extract(5);
    let phase = secret.glwe().to_lwe_secret_key().phase(&extracted);
    disclose(&mut [encoding.decode(phase)]);
    Ok(())
}

/// Public numbers that look random.
fn uniform<T: Torus>(count: usize) -> Vec<T> {
    let mut values = vec![T::ZERO; count];
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([5; 32]), 0);
    fill_uniform(&mut stream, &mut values);
    values
}
