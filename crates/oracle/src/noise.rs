//! The variance that each operation adds to a ciphertext's noise.
//!
//! Sources: the noise formulas of TFHE-rs 1.7 (`noise_formulas`) and the noise model of
//! Concrete (`concrete-cpu`, June 2025), which agree wherever nothing else is said. Both
//! take the noises of the operations as independent and average over uniform binary
//! keys: E\[s²\] = 1/2, Var(s) = 1/4.

use std::iter::Sum;
use std::ops::{Add, Mul};

/// A torus-normalised variance: that of the integer noise divided by q².
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Variance(pub f64);

impl Variance {
    /// No noise.
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

/// How GLWE ciphertexts under a key are made: their shape and fresh noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlweNoise {
    /// Number k of mask polynomials.
    pub glwe_dimension: usize,
    /// Number N of coefficients of a polynomial.
    pub polynomial_size: usize,
    /// Fresh variance of every coefficient of the body.
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

impl Gadget {
    /// Variance of a digit of a uniform input: (B² + 2)/12.
    fn digit_variance(self) -> f64 {
        (exp2(2 * i64::from(self.base_log)) + 2.0) / 12.0
    }

    /// B^(-2l): the squared weight of the last digit.
    fn precision_squared(self) -> f64 {
        exp2(-2 * i64::from(self.base_log) * self.level as i64)
    }
}

/// The error of rounding a body coefficient to its `bits` most significant bits: uniform
/// over one step, 2^(-2·bits)/12.
pub fn truncation_variance(bits: u32) -> Variance {
    Variance(squared_step(bits) / 12.0)
}

/// One external product with a GGSW encryption of a uniform bit, as in a CMux, without
/// the error of the transform ([`fft_variance`]):
///
/// l N (k+1) V_bsk (B²+2)/12 + B^(-2l)/24 (1 + kN/2) - q^-2/24 + kN q^-2/96.
///
/// TFHE-rs's form; Concrete adds (1-kN)² q^-2/64 for the mean of the rounding error,
/// about 2^-17 of the rest for gates at q = 2^32 and 2^-70 for integers at q = 2^64. The noise of the input of
/// the CMux is not in it: it goes through unchanged.
pub fn external_product_variance(bsk: &GlweNoise, gadget: Gadget) -> Variance {
    let k = bsk.glwe_dimension as f64;
    let n = bsk.polynomial_size as f64;
    let key = gadget.level as f64 * n * (k + 1.0) * bsk.variance.0 * gadget.digit_variance();
    let rounding = gadget.precision_squared() / 24.0 * (1.0 + k * n / 2.0);
    let last_bit = squared_step(bsk.torus_log2) * (k * n / 96.0 - 1.0 / 24.0);
    Variance(key + rounding + last_bit)
}

/// Which fit of the error of a double-precision Fourier transform to use. All have the
/// form c · 2^(2(lq-53)) B² q^-2 times powers of l, k and N, with lq = log2 q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftErrorModel {
    /// Of this project's own transform, and the one that its parameter sets are judged
    /// by: 0.0316 N^0.15 · l (k+1) N (1 + kN/2) · 2^(2(lq-53)) B² q^-2.
    ///
    /// All but the first factor is what independent relative errors of 2^-53 on the
    /// products' coefficients give, of which those of the mask meet the key; the first is
    /// the growth with the transform's depth, fitted to the difference between
    /// the engine's external product and an exact one of the same uniform GGSW rows and
    /// input at q = 2^64, for each N from 2^8 to 2^14 (6 to 8000 products, AVX-512) and
    /// k from 1 to 5, l from 1 to 3. It meets every size within 7%, and AVX2 as well; portable
    /// code, which does not fuse, is 5 to 8% above it. Measured in units of
    /// `l (k+1) N (1 + kN/2) · 2^22 B²`, N = 256 to 16384: 0.0728, 0.0773, 0.0905, 0.0981,
    /// 0.1038, 0.1236, 0.1409.
    Measured,
    /// Concrete's: 2^-2.57722494 · 2^(2(lq-53)) l B² N² (k+1) q^-2.
    Concrete,
    /// TFHE-rs's: 0.00705 · 2^(2 max(0, lq-53)) B² q^-2 l^1.01827 k^1.22003 N^2.22003
    /// (k+1)^1.01827. Its max makes it useless for lq < 53.
    TfheRs,
}

impl FftErrorModel {
    /// The model that reproduces the published probabilities: Concrete's where the
    /// torus fits the mantissa (lq < 53, so q = 2^32), TFHE-rs's above (q = 2^64).
    pub fn published_for_torus(torus_log2: u32) -> Self {
        if torus_log2 < 53 {
            Self::Concrete
        } else {
            Self::TfheRs
        }
    }
}

/// What a folded f64 Fourier transform adds to one external product.
pub fn fft_variance(model: FftErrorModel, bsk: &GlweNoise, gadget: Gadget) -> Variance {
    let k = bsk.glwe_dimension as f64;
    let n = bsk.polynomial_size as f64;
    let l = gadget.level as f64;
    let lost_bits = i64::from(bsk.torus_log2) - 53;
    let base_squared = exp2(2 * i64::from(gadget.base_log));
    let integer = match model {
        FftErrorModel::Measured => {
            let products = l * (k + 1.0) * n * (1.0 + k * n / 2.0);
            0.0316 * n.powf(0.15) * products * exp2(2 * lost_bits) * base_squared
        }
        FftErrorModel::Concrete => {
            f64::exp2(-2.577_224_94) * exp2(2 * lost_bits) * l * base_squared * n * n * (k + 1.0)
        }
        FftErrorModel::TfheRs => {
            0.00705
                * exp2(2 * lost_bits.max(0))
                * base_squared
                * l.powf(1.01827)
                * k.powf(1.22003)
                * n.powf(2.22003)
                * (k + 1.0).powf(1.01827)
        }
    };
    Variance(integer * squared_step(bsk.torus_log2))
}

/// The output noise of a programmable bootstrapping with a binary LWE key of dimension
/// `lwe_dimension`: that many CMuxes on a noiseless table. It does not depend on the
/// noise of the input.
pub fn bootstrap_variance(
    lwe_dimension: usize,
    bsk: &GlweNoise,
    gadget: Gadget,
    model: FftErrorModel,
) -> Variance {
    let cmux = external_product_variance(bsk, gadget) + fft_variance(model, bsk, gadget);
    cmux * lwe_dimension as f64
}

/// A key switch between two LWE keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySwitchNoise {
    /// Dimension of the ciphertext that comes in.
    pub input_dimension: usize,
    /// log2 of the modulus of the ciphertext that comes in.
    pub input_torus_log2: u32,
    /// log2 of the modulus that the key and the result are stored with.
    pub output_torus_log2: u32,
    /// Fresh variance of the key's ciphertexts.
    pub key_variance: Variance,
    /// The decomposition of the mask.
    pub gadget: Gadget,
}

/// What a key switch adds:
///
/// n_in l V_ksk (B²+2)/12 + n_in (B^(-2l)/24 + q_in^-2/48) - q_in^-2/12 + q_out^-2/12.
///
/// The last term is the rounding of the body to the output modulus.
pub fn key_switch_variance(switch: &KeySwitchNoise) -> Variance {
    let n_in = switch.input_dimension as f64;
    let gadget = switch.gadget;
    let step_in = squared_step(switch.input_torus_log2);
    let step_out = squared_step(switch.output_torus_log2);
    let key = n_in * gadget.level as f64 * switch.key_variance.0 * gadget.digit_variance();
    let rounding = n_in * (gadget.precision_squared() / 24.0 + step_in / 48.0);
    Variance(key + rounding - step_in / 12.0 + step_out / 12.0)
}

/// How an LWE ciphertext is rounded to the modulus w = 2N of a blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModulusSwitch {
    /// Every coefficient to the nearest multiple of 1/w.
    Plain,
    /// The body is first corrected by half the sum of the mask's rounding errors, that
    /// is their mean over the key ("centered mean noise reduction" of TFHE-rs; ePrint
    /// 2025/809), and by half a step, which puts its own rounding on the table's edge.
    Centred,
}

/// What the modulus switch from 2^`torus_log2` to w = 2·`polynomial_size` adds, for a
/// binary key of dimension n:
///
/// plain n (w^-2/24 + q^-2/48) + w^-2/12 - q^-2/12, an average over keys: with a key of
/// Hamming weight h it is (h+1) w^-2/12;
/// centred n (w^-2/48 + q^-2/24), the same for every key, as |s - 1/2| is constant.
pub fn modulus_switch_variance(
    kind: ModulusSwitch,
    lwe_dimension: usize,
    polynomial_size: usize,
    torus_log2: u32,
) -> Variance {
    let n = lwe_dimension as f64;
    let w = 2.0 * polynomial_size as f64;
    let coarse = 1.0 / (w * w);
    let fine = squared_step(torus_log2);
    Variance(match kind {
        ModulusSwitch::Plain => n * (coarse / 24.0 + fine / 48.0) + (coarse - fine) / 12.0,
        ModulusSwitch::Centred => n * (coarse / 48.0 + fine / 24.0),
    })
}

/// 2^`exponent`.
fn exp2(exponent: i64) -> f64 {
    f64::exp2(exponent as f64)
}

/// q^-2 for q = 2^`torus_log2`.
fn squared_step(torus_log2: u32) -> f64 {
    exp2(-2 * i64::from(torus_log2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, relative: f64) {
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
            let plain = modulus_switch_variance(ModulusSwitch::Plain, n, 2048, 500);
            close(plain.0, (n as f64 / 2.0 + 1.0) / (12.0 * w * w), 1e-12);
        }
    }

    #[test]
    fn centring_halves_the_mask_part_and_drops_the_body() {
        let plain = modulus_switch_variance(ModulusSwitch::Plain, 866, 2048, 500);
        let body = modulus_switch_variance(ModulusSwitch::Plain, 0, 2048, 500);
        let centred = modulus_switch_variance(ModulusSwitch::Centred, 866, 2048, 500);
        close(centred.0, (plain.0 - body.0) / 2.0, 1e-12);
        close(body.0, truncation_variance(12).0, 1e-12);
        assert_eq!(
            modulus_switch_variance(ModulusSwitch::Centred, 0, 2048, 64),
            Variance::ZERO
        );
    }

    #[test]
    fn a_switch_between_equal_moduli_costs_no_rounding() {
        // w = q: nothing is rounded, and the plain formula's terms cancel for the body.
        let body = modulus_switch_variance(ModulusSwitch::Plain, 0, 1 << 31, 32);
        assert_eq!(body, Variance::ZERO);
    }

    #[test]
    fn key_switch_terms() {
        let base = KeySwitchNoise {
            input_dimension: 2048,
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
        let noisy = KeySwitchNoise {
            key_variance: Variance(1e-6),
            ..base
        };
        let extra = key_switch_variance(&noisy).0 - key_switch_variance(&base).0;
        close(extra, 2048.0 * 5.0 * 1e-6 * 66.0 / 12.0, 1e-9);
    }

    #[test]
    fn the_transform_models_at_n_2048() {
        let bsk = GlweNoise {
            glwe_dimension: 1,
            polynomial_size: 2048,
            variance: Variance::ZERO,
            torus_log2: 64,
        };
        let gadget = Gadget {
            base_log: 23,
            level: 1,
        };
        let concrete = fft_variance(FftErrorModel::Concrete, &bsk, gadget).0;
        let tfhe_rs = fft_variance(FftErrorModel::TfheRs, &bsk, gadget).0;
        let measured = fft_variance(FftErrorModel::Measured, &bsk, gadget).0;
        close(tfhe_rs / concrete, 0.228, 0.01);
        // Measured ratios: 1/0.778 and 1/3.41.
        close(measured / tfhe_rs, 1.285, 0.03);
        close(measured / concrete, 0.293, 0.03);
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
