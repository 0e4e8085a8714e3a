//! The variance that each operation adds to a ciphertext's noise.
//!
//! Sources: the noise formulas of TFHE-rs 1.7 (`noise_formulas`) and the noise model of Concrete
//! (`concrete-cpu`, June 2025), which agree unless stated otherwise. Both take the noises of the
//! operations as independent and average over uniform binary keys: E\[s²\] = 1/2, Var(s) = 1/4.
//! Neither covers small keys of blocks ([`KeyBlocks`]); the formulas for these are derived at the
//! functions below.

use std::iter::Sum;
use std::ops::{Add, Mul};

use tfhe_sbc_core::parameters::Decomposition;
pub use tfhe_sbc_core::parameters::GlweSecret;

/// A torus-normalised variance: that of the integer noise divided by q².
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Variance(pub f64);

impl Variance {
    /// The variance of no noise.
    pub const ZERO: Self = Self(0.0);

    /// The square of a torus-normalised standard deviation σ/q.
    pub fn from_standard_deviation(sigma: f64) -> Self {
        Self(sigma * sigma)
    }

    /// TUniform(b) on integers mod 2^`torus_log2`: uniform on `(-2^b, 2^b)` and half as
    /// likely on ±2^b, so that the variance is (2^(2b+1) + 1)/6.
    pub fn from_tuniform(bound_log2: u32, torus_log2: u32) -> Self {
        let integer = (exp2(2 * i64::from(bound_log2) + 1) + 1.0) / 6.0;
        Self(integer * squared_step(torus_log2))
    }

    /// The torus-normalised standard deviation.
    pub fn standard_deviation(self) -> f64 {
        self.0.sqrt()
    }

    /// log2 of the variance.
    pub fn log2(self) -> f64 {
        self.0.log2()
    }
}

impl Add for Variance {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Mul<f64> for Variance {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Variance {
    fn sum<I: Iterator<Item = Self>>(variances: I) -> Self {
        variances.fold(Self::ZERO, Add::add)
    }
}

/// The shape and the fresh noise of GLWE ciphertexts under a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlweNoise {
    /// The key.
    pub secret: GlweSecret,
    /// Number k of mask polynomials.
    pub glwe_dimension: usize,
    /// Number N of coefficients of a polynomial.
    pub polynomial_size: usize,
    /// The fresh variance of every coefficient of the body.
    pub variance: Variance,
    /// log2 of the ciphertext modulus q.
    pub torus_log2: u32,
}

impl GlweNoise {
    /// k·N, the dimension of the LWE ciphertexts that are extracted.
    pub fn extracted_lwe_dimension(&self) -> usize {
        self.glwe_dimension * self.polynomial_size
    }
}

/// A signed gadget decomposition with digits in `[-B/2, B/2]`, B = 2^`base_log`, closest
/// representative first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    /// log2 of the base B.
    pub base_log: u32,
    /// Number l of levels.
    pub level: usize,
}

impl From<Decomposition> for Gadget {
    fn from(decomposition: Decomposition) -> Self {
        Self {
            base_log: decomposition.base_log.0,
            level: decomposition.level_count.0,
        }
    }
}

impl Gadget {
    /// Variance of a digit of a uniform input: (B² + 2)/12.
    pub(crate) fn digit_variance(self) -> f64 {
        (exp2(2 * i64::from(self.base_log)) + 2.0) / 12.0
    }

    /// B^(-2l): the squared weight of the last digit.
    pub(crate) fn precision_squared(self) -> f64 {
        exp2(-2 * i64::from(self.base_log) * self.level as i64)
    }
}

/// The error of rounding a body coefficient to its `bits` most significant bits: uniform
/// over one step, 2^(-2·bits)/12.
pub fn truncation_variance(bits: u32) -> Variance {
    Variance(squared_step(bits) / 12.0)
}

/// The small LWE key's n coefficients: n/ℓ blocks, each uniform over the zero block and the
/// ℓ blocks with a single 1 (ePrint 2023/958). ℓ = 1 is a uniform binary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBlocks {
    /// The dimension n.
    pub dimension: usize,
    /// The block size ℓ, from 1.
    pub block_size: u32,
}

impl KeyBlocks {
    /// A uniform binary key.
    pub fn binary(dimension: usize) -> Self {
        Self {
            dimension,
            block_size: 1,
        }
    }

    /// The mean μ = 1/(ℓ+1) of a coefficient, which is also its mean square.
    pub fn mean(self) -> f64 {
        1.0 / f64::from(self.block_size + 1)
    }

    /// The mean weight n/(ℓ+1). For ℓ above 1 no key that is drawn has more.
    pub fn mean_weight(self) -> f64 {
        self.dimension as f64 * self.mean()
    }
}

/// A key switch between two LWE keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySwitchNoise {
    /// The number of coefficients that are switched.
    pub input_dimension: usize,
    /// The key that the input is under.
    pub secret: GlweSecret,
    /// The number of coefficients that both keys have, whose mask is copied.
    pub shared: usize,
    /// log2 of the modulus of the input.
    pub input_torus_log2: u32,
    /// log2 of the modulus that the key and the result are stored with.
    pub output_torus_log2: u32,
    /// Fresh variance of the key's ciphertexts.
    pub key_variance: Variance,
    /// The decomposition of the mask.
    pub gadget: Gadget,
}

/// The variance that a key switch adds. With m = E\[s²\] and v = Var(s) of the input key, it is
///
/// ```text
/// n_in l V_ksk (B²+2)/12 + n_in (m (B^(-2l) - q_in^-2)/12 + v q_in^-2/4) - q_in^-2/12 + q_out^-2/12
/// ```
///
/// For a binary key, the second term is n_in (B^(-2l)/24 + q_in^-2/48). The last term is the
/// rounding of the body to the output modulus. For shared coefficients (ePrint 2023/979), the
/// rounding of the mask takes its place, m q_out^-2/12 each.
pub fn key_switch_variance(switch: &KeySwitchNoise) -> Variance {
    let n_in = switch.input_dimension as f64;
    let gadget = switch.gadget;
    let step_in = squared_step(switch.input_torus_log2);
    let step_out = squared_step(switch.output_torus_log2);
    let key = n_in * gadget.level as f64 * switch.key_variance.0 * gadget.digit_variance();
    let (square, spread) = (switch.secret.mean_square(), switch.secret.variance());
    let cut_off = square * (gadget.precision_squared() - step_in) / 12.0 + spread * step_in / 4.0;
    let copied = switch.shared as f64 * square * (step_out - step_in) / 12.0;
    Variance(key + n_in * cut_off + copied - step_in / 12.0 + step_out / 12.0)
}

/// The rounding of an LWE ciphertext to the modulus w = 2N of a blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModulusSwitch {
    /// Every coefficient is rounded to the nearest multiple of 1/w.
    Plain,
    /// The body is first corrected by the sum of the mask's rounding errors times the mean
    /// of a key coefficient ("centered mean noise reduction" of TFHE-rs; ePrint 2025/809),
    /// and by half a step, which puts its own rounding on the table's edge.
    Centred,
}

/// The variance that the modulus switch from 2^`torus_log2` to w = 2·`polynomial_size` adds. With
/// the mean μ of a key coefficient:
///
/// - plain: n μ (w^-2 - q^-2)/12 + n μ (1-μ) q^-2/4 + (w^-2 - q^-2)/12. This is an average over
///   keys; for a key of weight h it is (h+1) w^-2/12.
/// - centred: n μ (1-μ) (w^-2/12 + q^-2/6), for a key of the mean weight. For weight h it is
///   ((1-2μ) h + μ² n) w^-2/12, which is the same for every uniform binary key, and at most the
///   mean for a key of blocks, whose weight is at most the mean weight.
///
/// (The coefficients of a block are not independent, but their errors are, so that the variance is
/// w^-2/12 Σ (s-μ)² all the same.)
pub fn modulus_switch_variance(
    kind: ModulusSwitch,
    key: KeyBlocks,
    polynomial_size: usize,
    torus_log2: u32,
) -> Variance {
    let weight = key.mean_weight();
    match kind {
        ModulusSwitch::Plain => {
            let (coarse, fine) = (coarse_step(polynomial_size), squared_step(torus_log2));
            let rounding = (weight + 1.0) * (coarse - fine) / 12.0;
            Variance(rounding + weight * (1.0 - key.mean()) * fine / 4.0)
        }
        ModulusSwitch::Centred => {
            centred_modulus_switch_variance(key, weight, polynomial_size, torus_log2)
        }
    }
}

/// The centred [`modulus_switch_variance`] for a key of weight h.
pub fn centred_modulus_switch_variance(
    key: KeyBlocks,
    weight: f64,
    polynomial_size: usize,
    torus_log2: u32,
) -> Variance {
    let mean = key.mean();
    let squares = (1.0 - 2.0 * mean) * weight + mean * mean * key.dimension as f64;
    Variance(squares * (coarse_step(polynomial_size) / 12.0 + squared_step(torus_log2) / 6.0))
}

/// w^-2 for w = 2·`polynomial_size`.
fn coarse_step(polynomial_size: usize) -> f64 {
    let w = 2.0 * polynomial_size as f64;
    1.0 / (w * w)
}

/// 2^`exponent`.
pub(crate) fn exp2(exponent: i64) -> f64 {
    f64::exp2(exponent as f64)
}

/// q^-2 for q = 2^`torus_log2`.
pub(crate) fn squared_step(torus_log2: u32) -> f64 {
    exp2(-2 * i64::from(torus_log2))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn close(value: f64, expected: f64, relative: f64) {
        assert!(
            (value / expected - 1.0).abs() < relative,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn the_plain_switch_is_the_mean_over_key_weights() {
        // (h+1) w^-2/12 at the mean weight h = n/2, with an exact input modulus.
        let w = 4096f64;
        for n in [0usize, 1, 630, 866] {
            let plain =
                modulus_switch_variance(ModulusSwitch::Plain, KeyBlocks::binary(n), 2048, 500);
            close(plain.0, (n as f64 / 2.0 + 1.0) / (12.0 * w * w), 1e-12);
        }
    }

    #[test]
    fn centring_halves_the_mask_part_and_drops_the_body() {
        let plain =
            modulus_switch_variance(ModulusSwitch::Plain, KeyBlocks::binary(866), 2048, 500);
        let body = modulus_switch_variance(ModulusSwitch::Plain, KeyBlocks::binary(0), 2048, 500);
        let centred =
            modulus_switch_variance(ModulusSwitch::Centred, KeyBlocks::binary(866), 2048, 500);
        close(centred.0, (plain.0 - body.0) / 2.0, 1e-12);
        close(body.0, truncation_variance(12).0, 1e-12);
        assert_eq!(
            modulus_switch_variance(ModulusSwitch::Centred, KeyBlocks::binary(0), 2048, 64),
            Variance::ZERO
        );
    }

    #[test]
    fn a_switch_between_equal_moduli_costs_no_rounding() {
        // w = q: nothing is rounded, and the plain formula's terms cancel for the body.
        let body = modulus_switch_variance(ModulusSwitch::Plain, KeyBlocks::binary(0), 1 << 31, 32);
        assert_eq!(body, Variance::ZERO);
    }

    #[test]
    fn centred_switches_are_those_of_a_key_of_the_mean_weight() {
        for block_size in 1..=5 {
            let key = KeyBlocks {
                dimension: 600,
                block_size,
            };
            // Σ (s-μ)² w^-2/12, coefficient by coefficient.
            let by_hand = |weight: usize| {
                let squares = (0..600).map(|i| f64::from(u8::from(i < weight)) - key.mean());
                squares.map(|x| x * x).sum::<f64>() / (12.0 * 4096.0 * 4096.0)
            };
            let mean = modulus_switch_variance(ModulusSwitch::Centred, key, 2048, 500);
            close(mean.0, by_hand(600 / (block_size as usize + 1)), 1e-12);
            let light = centred_modulus_switch_variance(key, 70.0, 2048, 500);
            close(light.0, by_hand(70), 1e-12);
            assert!(light.0 <= mean.0 * (1.0 + 1e-12));
        }
    }

    #[test]
    fn key_switch_terms() {
        let base = KeySwitchNoise {
            input_dimension: 2048,
            secret: GlweSecret::Binary,
            shared: 0,
            input_torus_log2: 64,
            output_torus_log2: 64,
            key_variance: Variance::ZERO,
            gadget: Gadget {
                base_log: 3,
                level: 5,
            },
        };
        // Without key noise the rounding of the mask is what is left.
        close(
            key_switch_variance(&base).0,
            2048.0 / 24.0 * f64::exp2(-30.0),
            1e-12,
        );
        let narrow = KeySwitchNoise {
            output_torus_log2: 12,
            ..base
        };
        let extra = key_switch_variance(&narrow).0 - key_switch_variance(&base).0;
        close(extra, truncation_variance(12).0, 1e-9);
        let ternary = KeySwitchNoise {
            secret: GlweSecret::Ternary,
            ..base
        };
        // 2/3 of the rounding's variance, not 1/2.
        let ratio = key_switch_variance(&ternary).0 / key_switch_variance(&base).0;
        close(ratio, 4.0 / 3.0, 1e-6);
        // Shared coefficients are no part of the switch, but their mask is rounded.
        let shared = KeySwitchNoise {
            input_dimension: 1024,
            shared: 1024,
            output_torus_log2: 20,
            ..base
        };
        let switched = 1024.0 / 24.0 * f64::exp2(-30.0);
        let copied = (1024.0 / 2.0 + 1.0) * truncation_variance(20).0;
        close(key_switch_variance(&shared).0, switched + copied, 1e-9);
        let noisy = KeySwitchNoise {
            key_variance: Variance(1e-6),
            ..base
        };
        let extra = key_switch_variance(&noisy).0 - key_switch_variance(&base).0;
        close(extra, 2048.0 * 5.0 * 1e-6 * 66.0 / 12.0, 1e-9);
    }

    #[test]
    fn distributions() {
        let deviation = Variance::from_standard_deviation(0.25);
        assert_eq!(deviation.log2(), -4.0);
        assert_eq!(deviation.standard_deviation(), 0.25);
        // TUniform(0): -1, 0, 1 with probabilities 1/4, 1/2, 1/4.
        assert_eq!(Variance::from_tuniform(0, 0).0, 0.5);
        close(
            Variance::from_tuniform(17, 64).0,
            f64::exp2(34.0 - 128.0) / 3.0,
            1e-9,
        );
    }
}
