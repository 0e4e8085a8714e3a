//! Sets that others published, with the upload bits and the statements about themselves that the oracle crate finds.
//! Its tests recompute these.

use super::{
    CarryBits, Decomposition, GlweDimension, GlweSecret, LweDimension, MessageBits, ModulusSwitch,
    NoiseDistribution, ParameterName, ParameterSet, PlaintextKind,
};

/// The set of Zama's submission to NIST's call for threshold schemes, for 2 message and 2 carry bits where ciphertexts
/// are under the GLWE key: `NIST_PARAM_2_CARRY_2_KS_PBS_TUNIFORM_2M128` in
/// `tfhe::nist_submission::parameters` of TFHE-rs 1.8. An imported client key of TFHE-rs with these numbers
/// has this set.
///
/// A bootstrap fails with 2^-129.5 in its worst use, which is on public-key uploads. The submission states 2^-128.
///
/// The customary count of attacks gives the small key 129.5 bits and the GLWE key 131.8. The strict count gives 127.8 and
/// 130.8.
pub const NIST_SUBMISSION_2_2: ParameterSet = ParameterSet {
    name: ParameterName::new("nist_submission_2_2"),
    torus_bits: 64,
    lwe_dimension: LweDimension(886),
    lwe_block_size: 1,
    // TUniform(45) over 2^64, over the 2^32 of small ciphertexts.
    lwe_noise: NoiseDistribution::TUniform { bound_log2: 13 },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 2048,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 16 },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(23, 1),
    key_switch: Decomposition::new(4, 4),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 12,
    public_key_mask_bits: 20,
    log2_p_fail: -129.5,
    security_bits: 129.5,
};

/// Sets that others published and that have 128 bits of security in the customary count and a failure probability
/// of at most 2^-128. [`by_name`](super::by_name) finds them, but no list offers them.
pub const PUBLISHED: [ParameterSet; 1] = [NIST_SUBMISSION_2_2];

/// Returns the published set for the keys and the arithmetic of `set`: the one that differs from it at most in its
/// name, in the bits of uploads, and in what it states about itself.
pub fn published_like(set: &ParameterSet) -> Option<ParameterSet> {
    PUBLISHED.into_iter().find(|published| {
        *published
            == ParameterSet {
                name: published.name,
                body_bits: published.body_bits,
                public_key_mask_bits: published.public_key_mask_bits,
                log2_p_fail: published.log2_p_fail,
                security_bits: published.security_bits,
                ..*set
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_set_is_known_by_its_keys_and_its_arithmetic() {
        let stated = ParameterSet {
            name: ParameterName::new("tfhe_rs_2_2"),
            body_bits: 64,
            public_key_mask_bits: 64,
            log2_p_fail: -128.0,
            security_bits: 0.0,
            ..NIST_SUBMISSION_2_2
        };
        assert_eq!(published_like(&stated), Some(NIST_SUBMISSION_2_2));
        let changes: [fn(&mut ParameterSet); 4] = [
            |set| set.lwe_dimension = LweDimension(887),
            |set| set.glwe_noise = NoiseDistribution::TUniform { bound_log2: 17 },
            |set| set.key_switch = Decomposition::new(4, 3),
            |set| set.modulus_switch = ModulusSwitch::Plain,
        ];
        for change in changes {
            let mut other = stated;
            change(&mut other);
            assert_eq!(published_like(&other), None);
        }
    }
}
