//! The noise of a bootstrapping, as the sum of its parts.

use tfhe_sbc_core::parameter_sets::key_body_bits;
use tfhe_sbc_core::parameters::{self, Parameters};

use crate::blind_rotation::{
    BlindRotation, FftErrorModel, GgswGadgets, GgswNoise, KeyRounding, blind_rotation_fft_variance,
    blind_rotation_variance,
};
use crate::noise::{
    Gadget, GlweNoise, GlweSecret, KeyBlocks, KeySwitchNoise, ModulusSwitch, Variance,
    key_switch_variance, modulus_switch_variance,
};

/// log2 of the modulus of every small LWE ciphertext of tfhe-sbc.
const SMALL_TORUS_LOG2: u32 = 32;

/// The parameters that the noise of a bootstrapping depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PbsParameters {
    /// Dimension and blocks of the small LWE key.
    pub small_key: KeyBlocks,
    /// The number of coefficients that the small key shares with the GLWE key (ePrint 2023/979):
    /// 0, or all of the small key.
    pub shared_coefficients: usize,
    /// Variance of fresh ciphertexts under the small LWE key, the key-switching key's.
    pub lwe_variance: Variance,
    /// The GLWE key.
    pub glwe_secret: GlweSecret,
    /// Number k of mask polynomials.
    pub glwe_dimension: usize,
    /// Number N of coefficients of a polynomial.
    pub polynomial_size: usize,
    /// Variance of fresh GLWE ciphertexts, the bootstrapping key's and the inputs'.
    pub glwe_variance: Variance,
    /// The rounding of the bootstrapping key.
    pub key_rounding: KeyRounding,
    /// log2 of the modulus of GLWE ciphertexts and of LWE ciphertexts under the big key.
    pub torus_log2: u32,
    /// log2 of the modulus of LWE ciphertexts under the small key and of the
    /// key-switching key.
    pub small_torus_log2: u32,
    /// The method of the blind rotation.
    pub blind_rotation: BlindRotation,
    /// The bootstrapping key's decompositions.
    pub pbs: GgswGadgets,
    /// log2 of the base of the key switch's decomposition.
    pub ks_base_log: u32,
    /// Levels of the key switch's decomposition.
    pub ks_level: usize,
    /// Whether the modulus switch is [`ModulusSwitch::Centred`].
    pub centred_modulus_switch: bool,
}

impl From<&Parameters> for PbsParameters {
    fn from(set: &Parameters) -> Self {
        Self {
            small_key: KeyBlocks {
                dimension: set.lwe_dimension().0,
                block_size: set.lwe_block_size(),
            },
            shared_coefficients: 0,
            lwe_variance: Variance(set.lwe_noise().variance(SMALL_TORUS_LOG2)),
            glwe_secret: set.glwe_secret(),
            glwe_dimension: set.glwe_dimension().0,
            polynomial_size: set.polynomial_size().get(),
            glwe_variance: Variance(set.glwe_noise().variance(set.torus_bits())),
            key_rounding: KeyRounding::of(set, key_body_bits(set)),
            torus_log2: set.torus_bits(),
            small_torus_log2: SMALL_TORUS_LOG2,
            blind_rotation: BlindRotation::Blocks,
            pbs: GgswGadgets {
                mask: set.pbs().into(),
                body: set.pbs_body().into(),
            },
            ks_base_log: set.key_switch().base_log.0,
            ks_level: set.key_switch().level_count.0,
            centred_modulus_switch: match set.modulus_switch() {
                parameters::ModulusSwitch::Plain => false,
                parameters::ModulusSwitch::MeanCompensated => true,
            },
        }
    }
}

impl PbsParameters {
    /// Shape and noise of fresh GLWE ciphertexts.
    pub fn fresh(&self) -> GlweNoise {
        GlweNoise {
            secret: self.glwe_secret,
            glwe_dimension: self.glwe_dimension,
            polynomial_size: self.polynomial_size,
            variance: self.glwe_variance,
            torus_log2: self.torus_log2,
        }
    }

    /// The bootstrapping key's shape and noise: fresh ciphertexts whose bodies are rounded.
    pub fn bootstrapping_key(&self) -> GgswNoise {
        GgswNoise {
            fresh: self.fresh(),
            rounding: self.key_rounding,
        }
    }

    /// The key switch from the big to the small key.
    pub fn key_switch(&self) -> KeySwitchNoise {
        KeySwitchNoise {
            input_dimension: self.glwe_dimension * self.polynomial_size - self.shared_coefficients,
            secret: self.glwe_secret,
            shared: self.shared_coefficients,
            input_torus_log2: self.torus_log2,
            output_torus_log2: self.small_torus_log2,
            key_variance: self.lwe_variance,
            gadget: Gadget {
                base_log: self.ks_base_log,
                level: self.ks_level,
            },
        }
    }

    /// The kind of modulus switch.
    pub fn modulus_switch(&self) -> ModulusSwitch {
        if self.centred_modulus_switch {
            ModulusSwitch::Centred
        } else {
            ModulusSwitch::Plain
        }
    }
}

/// The order of key switch and bootstrapping, which decides the key of the ciphertexts between two
/// bootstrappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootstrapOrder {
    /// Key switch, then bootstrap: ciphertexts live under the big key.
    KeySwitchFirst,
    /// Bootstrap, then key switch: ciphertexts live under the small key.
    BootstrapFirst,
}

/// The squared 2-norm ν² of the weights of the linear step between two bootstrappings:
/// a sum Σ wᵢ cᵢ of independent ciphertexts has Σ wᵢ² times the variance of one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct NormSquared(pub f64);

impl NormSquared {
    /// ν², from the norm ν.
    pub fn of_norm(norm: f64) -> Self {
        Self(norm * norm)
    }

    /// Σ wᵢ² of the weights of independent inputs.
    pub fn of_weights(weights: &[i64]) -> Self {
        Self(weights.iter().map(|&w| w as f64 * w as f64).sum())
    }
}

/// The variance that each part of a bootstrapping adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseBudget {
    /// Output of the blind rotation, the transform's error included.
    pub pbs: Variance,
    /// The transform's part of `pbs`.
    pub fft: Variance,
    /// The key switch.
    pub key_switch: Variance,
    /// The modulus switch.
    pub modulus_switch: Variance,
}

/// The parts of a total variance, each as a fraction of it; `pbs` without the
/// transform, so that the four add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseShares {
    /// The inputs' noise from blind rotations, without the transform.
    pub pbs: f64,
    /// The inputs' noise from the transform.
    pub fft: f64,
    /// Key switches.
    pub key_switch: f64,
    /// The modulus switch.
    pub modulus_switch: f64,
}

impl NoiseBudget {
    /// The budget with the error of this project's transform.
    pub fn new(parameters: &PbsParameters) -> Self {
        Self::with_fft_model(parameters, FftErrorModel::Measured)
    }

    /// The budget with a given model of the transform's error.
    pub fn with_fft_model(parameters: &PbsParameters, model: FftErrorModel) -> Self {
        let key = parameters.small_key;
        let bsk = parameters.bootstrapping_key();
        let (kind, gadgets) = (parameters.blind_rotation, parameters.pbs);
        let fft = blind_rotation_fft_variance(kind, model, key, &bsk.fresh, gadgets);
        Self {
            pbs: blind_rotation_variance(kind, key, &bsk, gadgets) + fft,
            fft,
            key_switch: key_switch_variance(&parameters.key_switch()),
            modulus_switch: modulus_switch_variance(
                parameters.modulus_switch(),
                key,
                parameters.polynomial_size,
                parameters.small_torus_log2,
            ),
        }
    }

    /// The noise of a bootstrapping's result, as the linear step takes it.
    pub fn output(&self, order: BootstrapOrder) -> Variance {
        match order {
            BootstrapOrder::KeySwitchFirst => self.pbs,
            BootstrapOrder::BootstrapFirst => self.pbs + self.key_switch,
        }
    }

    /// The noise at the table look-up, when the linear step combines results of earlier
    /// bootstrappings:
    ///
    /// key switch first ν² V_pbs + V_ks + V_ms;
    /// bootstrap first ν² (V_pbs + V_ks) + V_ms.
    pub fn total(&self, order: BootstrapOrder, norm: NormSquared) -> Variance {
        self.total_for_inputs(order, self.output(order) * norm.0)
    }

    /// The noise at the table look-up, for a linear combination with the noise
    /// `combined`, of fresh ciphertexts for example.
    pub fn total_for_inputs(&self, order: BootstrapOrder, combined: Variance) -> Variance {
        match order {
            BootstrapOrder::KeySwitchFirst => combined + self.key_switch + self.modulus_switch,
            BootstrapOrder::BootstrapFirst => combined + self.modulus_switch,
        }
    }

    /// The parts of [`total`](Self::total).
    pub fn shares(&self, order: BootstrapOrder, norm: NormSquared) -> NoiseShares {
        let total = self.total(order, norm).0;
        let key_switches = match order {
            BootstrapOrder::KeySwitchFirst => 1.0,
            BootstrapOrder::BootstrapFirst => norm.0,
        };
        NoiseShares {
            pbs: norm.0 * (self.pbs.0 - self.fft.0) / total,
            fft: norm.0 * self.fft.0 / total,
            key_switch: key_switches * self.key_switch.0 / total,
            modulus_switch: self.modulus_switch.0 / total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TFHE-rs's V1.4 set of 2 message and 2 carry bits at 2^-128, Gaussian.
    fn message_2_carry_2() -> PbsParameters {
        PbsParameters {
            small_key: KeyBlocks::binary(866),
            shared_coefficients: 0,
            glwe_secret: GlweSecret::Binary,
            lwe_variance: Variance::from_standard_deviation(2.046151696979124e-6),
            glwe_dimension: 1,
            polynomial_size: 2048,
            glwe_variance: Variance::from_standard_deviation(2.845267479601915e-15),
            key_rounding: KeyRounding::ZERO,
            torus_log2: 64,
            small_torus_log2: 64,
            blind_rotation: BlindRotation::ControlledRotations,
            pbs: GgswGadgets::same(Gadget {
                base_log: 23,
                level: 1,
            }),
            ks_base_log: 3,
            ks_level: 5,
            centred_modulus_switch: true,
        }
    }

    #[test]
    fn shares_add_up() {
        let budget = NoiseBudget::new(&message_2_carry_2());
        for order in [
            BootstrapOrder::KeySwitchFirst,
            BootstrapOrder::BootstrapFirst,
        ] {
            let shares = budget.shares(order, NormSquared::of_norm(5.0));
            let sum = shares.pbs + shares.fft + shares.key_switch + shares.modulus_switch;
            assert!((sum - 1.0).abs() < 1e-12);
        }
        let shares = budget.shares(BootstrapOrder::KeySwitchFirst, NormSquared::of_norm(5.0));
        assert!((0.71..0.82).contains(&shares.modulus_switch), "{shares:?}");
        assert!((0.17..0.29).contains(&shares.key_switch), "{shares:?}");
    }

    #[test]
    fn a_32_bit_key_switching_key_costs_almost_nothing() {
        let wide = message_2_carry_2();
        let narrow = PbsParameters {
            small_torus_log2: 32,
            ..wide
        };
        let norm = NormSquared::of_norm(5.0);
        let order = BootstrapOrder::KeySwitchFirst;
        let ratio = NoiseBudget::new(&narrow).total(order, norm).0
            / NoiseBudget::new(&wide).total(order, norm).0;
        assert!((1.0..1.0 + 1e-6).contains(&ratio), "{ratio}");
    }

    #[test]
    fn noise_grows_with_every_source() {
        let base = message_2_carry_2();
        let total = |p: PbsParameters| {
            NoiseBudget::new(&p)
                .total(BootstrapOrder::KeySwitchFirst, NormSquared(25.0))
                .0
        };
        let louder = [
            PbsParameters {
                lwe_variance: base.lwe_variance * 2.0,
                ..base
            },
            PbsParameters {
                glwe_variance: base.glwe_variance * 2.0,
                ..base
            },
            PbsParameters {
                small_key: KeyBlocks::binary(867),
                ..base
            },
            PbsParameters {
                centred_modulus_switch: false,
                ..base
            },
            PbsParameters {
                blind_rotation: BlindRotation::Blocks,
                ..base
            },
            PbsParameters {
                ks_level: base.ks_level - 1,
                ..base
            },
        ];
        for set in louder {
            assert!(total(set) > total(base), "{set:?}");
        }
    }

    #[test]
    fn weights() {
        assert_eq!(NormSquared::of_weights(&[2, -2]), NormSquared(8.0));
        assert_eq!(NormSquared::of_norm(3.0), NormSquared(9.0));
    }
}
