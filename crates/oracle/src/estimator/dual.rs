//! The dual hybrid attack: short vectors of the dual lattice distinguish the right guess of some
//! coefficients of the secret from wrong ones.
//!
//! MATZOV, *Report on the security of LWE: improved dual lattice attack* (2022), Theorem 7.6: ζ
//! coefficients are guessed, the likeliest values first, t more modulo p by a Fourier transform,
//! and the other k = n - ζ - t are reduced, with m = n samples. It is disputed whether short
//! vectors are as independent as the theorem takes them to be (Ducas and Pulles, Crypto 2023).

use std::f64::consts::{E, LN_2, PI};

use super::instance::NormalForm;
use super::reduction::{CostModel, MIN_BLOCK_SIZE, ln_root_hermite, log2_sum};
use super::search::{MAX_BLOCK_SIZE, Priced, falling, local_minimum};

/// ζ and t are multiples of this, as in the estimator that made the security table.
const STEP: usize = 10;

/// ζ and t stay below this: more guesses are worth more than 512 bits, where the search for block
/// sizes ends too.
const MAX_GUESSED: usize = 600;

/// Moduli p above this are not tried; the best are below 6.
const MAX_MODULUS: usize = 64;

/// An attack that costs more fails.
const MAX_LOG2_COST: f64 = 1024.0;

/// Operations of a multiplication and of an addition (p. 37).
const MULTIPLICATION: f64 = 1024.0;
const ADDITION: f64 = 160.0;

/// The price of the dual hybrid attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualHybridCost {
    /// log2 of the operations, infinite above 1024.
    pub log2_cost: f64,
    /// β, the block size of the reduction.
    pub block_size: usize,
    /// ζ, how many coefficients are guessed.
    pub guessed: usize,
    /// t, how many coefficients are guessed modulo p.
    pub transformed: usize,
    /// p.
    pub transform_modulus: usize,
}

impl Priced for DualHybridCost {
    fn log2_cost(&self) -> f64 {
        self.log2_cost
    }
}

/// The cheapest β for each t, t for each ζ, ζ for each p, and p. All but β grow for as long as
/// that makes the attack cheaper.
pub(super) fn dual_hybrid(lwe: &NormalForm, model: CostModel) -> DualHybridCost {
    let attack = DualHybrid::new(lwe, model);
    let n = lwe.dimension;
    let by_modulus = |p| {
        falling(0..n.min(MAX_GUESSED), STEP, |zeta| {
            falling(0..(n - zeta).min(MAX_GUESSED), STEP, |t| {
                let price = |beta| attack.cost(beta, p, zeta, t);
                local_minimum(MIN_BLOCK_SIZE..MAX_BLOCK_SIZE, price).map(|(_, best)| best)
            })
        })
    };
    // If nothing is transformed, p has no effect.
    let by_modulus = |p| {
        by_modulus(p)
            .filter(|best| best.log2_cost < MAX_LOG2_COST && (p == 2 || best.transformed > 0))
    };
    falling(2..MAX_MODULUS, 1, by_modulus).unwrap_or(DualHybridCost {
        log2_cost: f64::INFINITY,
        ..attack.cost(MIN_BLOCK_SIZE, 2, 0, 0)
    })
}

/// The price of guesses of coefficients of a secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guessing {
    /// The standard deviation of a coefficient.
    pub(super) secret_sigma: f64,
    /// The logarithm of the number of candidates that a guessed coefficient adds, as it enters the
    /// number of short vectors.
    pub(super) ln_candidates: f64,
    /// log2 of the tries that a guessed coefficient adds.
    pub(super) log2_tries: f64,
    /// log2 of a factor whatever ζ is.
    pub(super) log2_overhead: f64,
}

impl Guessing {
    /// The price for a discrete Gaussian of the standard deviation `secret_sigma`: MATZOV's expected
    /// number of tries, and the entropy as the lattice estimator has it, in
    /// bits.
    fn gaussian(secret_sigma: f64) -> Self {
        let variance = secret_sigma * secret_sigma;
        let alpha = PI * PI * variance;
        let ln_coth = -alpha.tanh().ln();
        let entropy = (0.5 + 0.5 * (2.0 * PI * variance).ln() + ln_coth) / LN_2;
        let ln_a = 8.0 * alpha * (-2.0 * alpha).exp() * alpha.tanh();
        Self {
            secret_sigma,
            ln_candidates: entropy,
            log2_tries: 1.0 + (ln_a - 0.5) / LN_2 + entropy,
            log2_overhead: -(-(-0.5 / variance).exp_m1()).log2(),
        }
    }
}

/// An instance with the price of guesses of its secret.
pub(super) struct DualHybrid<'a> {
    lwe: &'a NormalForm,
    model: CostModel,
    guessing: Guessing,
}

impl<'a> DualHybrid<'a> {
    /// The attack as the lattice estimator prices it: guesses cost what they would on a Gaussian
    /// secret of the same standard deviation.
    pub(super) fn new(lwe: &'a NormalForm, model: CostModel) -> Self {
        let guessing = Guessing::gaussian(lwe.ln_secret_sigma().exp());
        Self::with_guessing(lwe, model, guessing)
    }

    /// The attack with another price of guesses. The lattice part still has the standard deviation
    /// of `lwe`.
    pub(super) fn with_guessing(lwe: &'a NormalForm, model: CostModel, guessing: Guessing) -> Self {
        Self {
            lwe,
            model,
            guessing,
        }
    }

    /// The attack with block size `beta`, `zeta` guesses, and `t` more modulo `p`.
    pub(super) fn cost(&self, beta: usize, p: usize, zeta: usize, t: usize) -> DualHybridCost {
        let Self {
            lwe,
            model,
            guessing,
        } = self;
        let d = 2 * lwe.dimension - zeta - t;
        let share = lwe.dimension as f64 / d as f64;
        let (b, modulus, transformed) = (beta as f64, p as f64, t as f64);
        // The length of the vectors over q (p. 39).
        let ln_length = share * (lwe.ln_sigma - lwe.ln_q)
            + (1.0 - share) * lwe.ln_secret_sigma()
            + 0.5 * (4.0 / 3.0 * b / (2.0 * PI * E)).ln()
            + ln_root_hermite(beta) * (d as f64 - b);
        // The number of short vectors that distinguish the right guess from all others (p. 29).
        let ln_count = 4.0 * (ln_length.exp() * PI).powi(2)
            + transformed / 3.0 * (guessing.secret_sigma * PI / modulus).powi(2)
            + (zeta as f64 * guessing.ln_candidates + transformed * modulus.ln() + LN_2).ln();
        let transform =
            (MULTIPLICATION * transformed).log2() + (transformed + 1.0) * modulus.log2();
        let table = (4.0 * ADDITION).log2() + ln_count / LN_2;
        let guesses = guessing.log2_overhead + zeta as f64 * guessing.log2_tries;
        let vectors = model.log2_short_vectors(beta, d, ln_count);
        DualHybridCost {
            log2_cost: log2_sum(vectors, guesses + log2_sum(transform, table)),
            block_size: beta,
            guessed: zeta,
            transformed: t,
            transform_modulus: p,
        }
    }
}
