//! Keys: drawn, written, read, and derived.

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::memcheck::{disclose, mark_secret};
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::random::{ExpanderKind, NoiseSeed};

use super::{device_key_file, public_key_set, secret_bytes, secret_key_file, secret_seeds, sets};
use crate::check::Check;

pub(super) fn run(check: &mut Check) {
    for (name, set) in sets() {
        check.path(&format!("secret key drawn and written ({name})"), || {
            let secret = SecretKey::generate(set.validate()?, &mut secret_seeds(1))?;
            let mut file = secret.to_bytes()?;
            disclose(&mut file);
            Ok(())
        });
        check.path(&format!("secret key read ({name})"), || {
            let secret = SecretKey::from_bytes(&secret_key_file(set)?)?;
            disclose(&mut secret.glwe().coefficients().to_vec());
            disclose(&mut secret.lwe().coefficients().to_vec());
            Ok(())
        });
        check.path(&format!("device key read and written ({name})"), || {
            let key = DeviceKey::from_bytes(&device_key_file(set)?)?;
            let mut file = key.to_bytes()?;
            disclose(&mut file);
            Ok(())
        });
        check.path(&format!("device key of its own drawn ({name})"), || {
            let owner = public_key_set(set)?;
            let issue = DeviceIssue {
                device: DeviceId::new("board"),
                epoch: Epoch::FIRST,
            };
            let key = owner.issue_device_key(issue, &mut secret_seeds(2))?;
            let mut file = key.to_bytes()?;
            disclose(&mut file);
            Ok(())
        });
        check.path(&format!("device public key drawn ({name})"), || {
            let owner = SecretKey::from_bytes(&secret_key_file(set)?)?;
            let key = owner.device_public_key(&mut secret_seeds(3))?;
            drop(key.to_bytes()?);
            Ok(())
        });
        check.path(&format!("key of another library imported ({name})"), || {
            let parameters = set.validate()?;
            let owner = public_key_set(set)?;
            let mut coefficients = owner.glwe().coefficients().to_vec();
            mark_secret(&mut coefficients);
            let key = GlweSecretKey::from_coefficients(
                set.glwe_secret,
                coefficients.into(),
                parameters.polynomial_size(),
            );
            let key = key.ok_or("the coefficients were refused")?;
            DeviceKey::import(parameters, key).ok_or("the key was refused")?;
            Ok(())
        });
    }
    // Blocks of other sizes than the shipped sets' draw bytes again.
    for block_size in 1..=5 {
        check.path(&format!("small key in blocks of {block_size}"), || {
            let seed = NoiseSeed::from_bytes(secret_bytes(4));
            let mut stream = ExpanderKind::ChaCha20.noise_stream(&seed, 0);
            let key = LweSecretKey::generate(LweDimension(420), block_size, &mut stream);
            disclose(&mut key.coefficients().to_vec());
            Ok(())
        });
    }
    check.path("packing secret derived", || {
        let secret = SecretKey::from_bytes(&secret_key_file(MESSAGE_2_CARRY_2)?)?;
        let packing = packing_of(secret.parameters()).ok_or("the set has no packing")?;
        let derived = PackingSecret::derive(&secret, &packing);
        disclose(&mut derived.glwe().coefficients().to_vec());
        Ok(())
    });
}
