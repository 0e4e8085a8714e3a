//! The request of an application: [`Request`], checked once into a [`Checked`] one.

use tfhe_sbc_core::parameters::PlaintextKind;
use thiserror::Error;

use crate::failure::{DecisionHalfWidth, max_noise_level};
use crate::noise_budget::{BootstrapOrder, NormSquared};
use crate::security::LARGEST_CUSTOMARY_BLOCK;

/// The engine that is to run the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This project's: blocks, two decompositions, small ciphertexts mod 2^32, uploads.
    TfheSbc,
    /// TFHE-rs: controlled rotations, one decomposition, one modulus for both keys.
    TfheRs,
    /// TFHEpp: as TFHE-rs, at any modulus; ternary keys and shared coefficients too.
    Tfhepp,
}

/// The distribution of secret keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// Both keys are uniform over {0, 1}.
    Binary,
    /// The small key in blocks of 2 or 3 with at most a single 1, or binary, whatever serves
    /// best; the GLWE key binary.
    Blocks,
    /// The GLWE key uniform over {-1, 0, 1}, the small key binary.
    Ternary,
    /// Both keys are binary, and the small key is the first coefficients of the GLWE key (ePrint
    /// 2023/979).
    Shared,
}

/// The count of attacks in which keys must have the level of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// That of the lattice estimator, as the security table has it.
    Customary,
    /// That one and the strict one: guesses at the entropy of the key, the covariance of blocks, more
    /// attacks.
    Strict,
}

/// The distribution of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// Gaussian.
    Gaussian,
    /// TUniform, of the least bound whose variance is as large as a Gaussian's would be.
    TUniform,
}

/// The weights of the metrics. The value of a set is Π metric^(-weight), so that a weight of 2
/// compensates for twice the percentage. No weight is negative, and at least one is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Time of one bootstrap by itself.
    pub latency: f64,
    /// Time of a bootstrap in a batch.
    pub throughput: f64,
    /// The bytes of the server key as it travels.
    pub key: f64,
    /// The bytes of an upload.
    pub upload: f64,
}

impl Weights {
    /// Weights by which only the time of one bootstrap counts.
    pub const LATENCY: Self = Self {
        latency: 1.0,
        throughput: 0.0,
        key: 0.0,
        upload: 0.0,
    };

    fn are_usable(self) -> bool {
        let all = [self.latency, self.throughput, self.key, self.upload];
        all.iter()
            .all(|weight| weight.is_finite() && *weight >= 0.0)
            && all.iter().any(|&weight| weight > 0.0)
    }
}

/// The bounds that a set must not exceed. A bound that does not matter is infinite or the largest
/// number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The polynomial size N.
    pub polynomial_size: usize,
    /// The mask polynomials k.
    pub glwe_dimension: usize,
    /// The dimension of the small key.
    pub lwe_dimension: usize,
    /// The bytes of the server key as it travels.
    pub key_bytes: f64,
    /// The bytes of the server key in memory.
    pub memory_bytes: f64,
    /// The bytes of an upload of 1024 blocks.
    pub upload_bytes: f64,
    /// The bits of every body coefficient of an upload.
    pub body_bits: u32,
    /// The bits of every mask coefficient of a public-key upload.
    pub public_key_mask_bits: u32,
    /// The seconds of one bootstrap by itself.
    pub latency: f64,
    /// The seconds of a bootstrap in a batch.
    pub batch_time: f64,
}

impl Bounds {
    /// No bounds.
    pub const NONE: Self = Self {
        polynomial_size: MAX_POLYNOMIAL_SIZE,
        glwe_dimension: MAX_GLWE_DIMENSION,
        lwe_dimension: MAX_LWE_DIMENSION,
        key_bytes: f64::INFINITY,
        memory_bytes: f64::INFINITY,
        upload_bytes: f64::INFINITY,
        body_bits: 64,
        public_key_mask_bits: 64,
        latency: f64::INFINITY,
        batch_time: f64::INFINITY,
    };
}

/// The largest polynomial size that is searched.
pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 16;
/// The most mask polynomials that are searched.
pub const MAX_GLWE_DIMENSION: usize = 6;
/// The largest small key that is searched.
pub const MAX_LWE_DIMENSION: usize = 1400;
/// The levels of security that are searched.
pub const LAMBDAS: std::ops::RangeInclusive<f64> = 80.0..=192.0;
/// The failure probabilities that are searched, as their log2.
pub const LOG2_P_FAILS: std::ops::RangeInclusive<f64> = -256.0..=-4.0;
/// Message and carry bits at most.
pub const MAX_PRECISION: u32 = 14;

/// A request. [`Request::new`] fills in the fields that follow from the plaintexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The engine that runs the set.
    pub engine: Engine,
    /// Booleans or blocks.
    pub plaintext: PlaintextKind,
    /// Message bits of a block; 1 for booleans.
    pub message_bits: u32,
    /// Carry bits of a block; 1 for booleans.
    pub carry_bits: u32,
    /// The largest sum of absolute weights that enters a bootstrap: the 2-norm of the linear part
    /// where all inputs may be the same ciphertext.
    pub noise_level: u32,
    /// log2 of the failure probability of the worst bootstrap.
    pub log2_p_fail: f64,
    /// The level of security of both keys, in bits.
    pub lambda: f64,
    /// log2 of the modulus of GLWE ciphertexts, 32 or 64.
    pub torus_bits: u32,
    /// The noise of GLWE ciphertexts, and for other engines of the small key's too. This
    /// engine's small key is always Gaussian: no device draws its noise.
    pub noise: NoiseKind,
    /// The count in which both keys reach the level.
    pub count: Count,
    /// The noise of GLWE ciphertexts, σ/q, where it is given: for comparison with what others
    /// publish, or because it is in use. The search then keeps only the small key to the level asked
    /// for; what the set states is the level of both.
    pub glwe_sigma: Option<f64>,
    /// The distribution of keys.
    pub secrets: Secrets,
    /// The order of key switch and bootstrap.
    pub order: BootstrapOrder,
    /// The sizes N and k, where they are given.
    pub shape: Shape,
    /// The weights of the metrics.
    pub minimise: Weights,
    /// The bounds on the metrics.
    pub bounds: Bounds,
}

/// The shape of GLWE ciphertexts, as far as it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The polynomial size N.
    pub polynomial_size: Option<usize>,
    /// The mask polynomials k.
    pub glwe_dimension: Option<usize>,
    /// The block size of the small key.
    pub block_size: Option<u32>,
}

/// A request that makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BadRequest {
    /// The security level is out of range.
    #[error(
        "{0} bits of security are outside of what is searched, {min} to {max}",
        min = LAMBDAS.start(), max = LAMBDAS.end()
    )]
    Lambda(f64),
    /// A failure probability out of range.
    #[error(
        "a failure probability of 2^{0} is outside of what is searched, 2^{min} to 2^{max}",
        min = LOG2_P_FAILS.start(), max = LOG2_P_FAILS.end()
    )]
    PFail(f64),
    /// More bits than any polynomial holds.
    #[error(
        "blocks of {0} bits are more than any polynomial up to N = {MAX_POLYNOMIAL_SIZE} holds: \
         1 to {MAX_PRECISION} bits of message and carry together"
    )]
    Precision(u32),
    /// A torus of neither 32 nor 64 bits.
    #[error("a torus of {0} bits: tfhe-sbc has 32 and 64")]
    Torus(u32),
    /// A noise level of 0 or of astronomic size.
    #[error("a 2-norm of {0} is not between 1 and 65536")]
    NoiseLevel(u32),
    /// The weights are negative or all 0.
    #[error("what to minimise: weights from 0 up, one of them at least above it")]
    Weights,
    /// A noise outside of the range that is searched.
    #[error("a noise of {0} of the torus is not between 2^-64 and 1/16")]
    GlweSigma(f64),
    /// Keys that the engine does not have.
    #[error(
        "this engine has small keys that are binary or of blocks, and binary GLWE keys: \
         ternary keys and shared coefficients are TFHEpp's"
    )]
    Secrets,
    /// Keys that a peer does not have.
    #[error("keys of blocks are this engine's; TFHE-rs has binary keys")]
    ForeignSecrets,
    /// A shape that nothing has.
    #[error("N = {0} is not a power of two from 256 to {MAX_POLYNOMIAL_SIZE}")]
    PolynomialSize(usize),
    /// A shape that nothing has.
    #[error("{0} mask polynomials: 1 to {MAX_GLWE_DIMENSION} are searched")]
    GlweDimension(usize),
    /// A size of blocks that no attack is priced for.
    #[error("blocks of {0} key bits: 1 to 5 are priced")]
    BlockSize(u32),
    /// A size of blocks that only the strict count prices.
    #[error("blocks of {0} key bits: the customary count prices 1 to 3, the strict one 1 to 5")]
    BlockSizeOfCount(u32),
}

impl Request {
    /// A request for this engine: 2^-128, 128 bits, 2^64, Gaussian noise, keys of blocks, key switch
    /// first, one bootstrap as fast as can be.
    pub fn new(plaintext: PlaintextKind, message_bits: u32, carry_bits: u32) -> Self {
        let noise_level = match plaintext {
            // The worst gate has two multiplexer outputs as inputs, each the sum of two
            // bootstraps.
            PlaintextKind::Boolean => 4,
            PlaintextKind::Radix if (1..=MAX_PRECISION).contains(&message_bits) => {
                max_noise_level(message_bits, carry_bits.min(MAX_PRECISION)) as u32
            }
            PlaintextKind::Radix => 1,
        };
        Self {
            engine: Engine::TfheSbc,
            plaintext,
            message_bits,
            carry_bits,
            noise_level,
            log2_p_fail: -128.0,
            lambda: 128.0,
            count: Count::Strict,
            torus_bits: 64,
            noise: NoiseKind::Gaussian,
            glwe_sigma: None,
            secrets: Secrets::Blocks,
            order: BootstrapOrder::KeySwitchFirst,
            shape: Shape::default(),
            minimise: Weights::LATENCY,
            bounds: Bounds::NONE,
        }
    }

    /// Checks everything that can be checked without a search.
    pub fn check(&self) -> Result<(), BadRequest> {
        if !LAMBDAS.contains(&self.lambda) {
            return Err(BadRequest::Lambda(self.lambda));
        }
        if !LOG2_P_FAILS.contains(&self.log2_p_fail) {
            return Err(BadRequest::PFail(self.log2_p_fail));
        }
        let precision = self.message_bits.saturating_add(self.carry_bits);
        let most = if self.engine == Engine::TfheSbc {
            8
        } else {
            MAX_PRECISION
        };
        if self.message_bits == 0 || precision > MAX_PRECISION {
            return Err(BadRequest::Precision(precision));
        }
        if self.message_bits > most || self.carry_bits > most {
            return Err(BadRequest::Precision(
                self.message_bits.max(self.carry_bits),
            ));
        }
        if !matches!(self.torus_bits, 32 | 64) {
            return Err(BadRequest::Torus(self.torus_bits));
        }
        if !(1..=1 << 16).contains(&self.noise_level) {
            return Err(BadRequest::NoiseLevel(self.noise_level));
        }
        if let Some(sigma) = self.glwe_sigma
            && !(f64::exp2(-64.0)..=1.0 / 16.0).contains(&sigma)
        {
            return Err(BadRequest::GlweSigma(sigma));
        }
        if !self.minimise.are_usable() {
            return Err(BadRequest::Weights);
        }
        match (self.engine, self.secrets) {
            (Engine::TfheSbc, Secrets::Ternary | Secrets::Shared) => {
                return Err(BadRequest::Secrets);
            }
            (Engine::TfheRs, Secrets::Blocks | Secrets::Ternary | Secrets::Shared)
            | (Engine::Tfhepp, Secrets::Blocks) => return Err(BadRequest::ForeignSecrets),
            _ => {}
        }
        if let Some(size) = self.shape.polynomial_size
            && (!size.is_power_of_two() || !(256..=MAX_POLYNOMIAL_SIZE).contains(&size))
        {
            return Err(BadRequest::PolynomialSize(size));
        }
        match self.shape.glwe_dimension {
            Some(k) if !(1..=MAX_GLWE_DIMENSION).contains(&k) => {
                return Err(BadRequest::GlweDimension(k));
            }
            _ => {}
        }
        match self.shape.block_size {
            Some(size) if !(1..=5).contains(&size) => Err(BadRequest::BlockSize(size)),
            Some(size) if size > LARGEST_CUSTOMARY_BLOCK && self.count == Count::Customary => {
                Err(BadRequest::BlockSizeOfCount(size))
            }
            _ => Ok(()),
        }
    }

    /// The half width of the decision that the noise must not leave.
    pub fn half_width(&self) -> DecisionHalfWidth {
        match self.plaintext {
            PlaintextKind::Radix => DecisionHalfWidth::radix(self.message_bits, self.carry_bits),
            PlaintextKind::Boolean => DecisionHalfWidth::GATE,
        }
    }

    /// ν² of the worst look-up on bootstrap outputs: see
    /// [`Prediction::new`](crate::prediction::Prediction::new).
    pub fn norm_squared(&self) -> NormSquared {
        let level = f64::from(self.noise_level);
        match self.plaintext {
            PlaintextKind::Radix => NormSquared::of_norm(level),
            PlaintextKind::Boolean => NormSquared(0.5 * level * level),
        }
    }
}
