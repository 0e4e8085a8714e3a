//! The dual attacks of the strict count.

use std::f64::consts::{LN_2, PI};

use super::super::dual::DualHybrid;
use super::super::instance::NormalForm;
use super::super::reduction::{
    CostModel, MIN_BLOCK_SIZE, ln_root_hermite, log2_sum, matzov_sieve_dimension,
};
use super::key::StrictKey;
use super::search::{Point, least, sweep};
use super::{StrictAttack, StrictCost};

const MODEL: CostModel = CostModel::Matzov;

/// The moduli of MATZOV's transform that are tried; the best is 2 for the keys in use.
const MODULI: std::ops::RangeInclusive<usize> = 2..=4;

/// MATZOV's attack with the key's own price of guesses.
pub(super) fn hybrid(key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    let attack = DualHybrid::with_guessing(lwe, MODEL, key.guessing());
    hybrid_in_parts(&attack, lwe.dimension, key)
}

/// The least price of MATZOV's attack on `dimension` coefficients, of which parts of `key` are
/// guessed.
pub(super) fn hybrid_in_parts(
    attack: &DualHybrid,
    dimension: usize,
    key: &StrictKey,
) -> StrictCost {
    let part = key.part();
    let failed = StrictCost::failed(StrictAttack::DualHybrid);
    let by_modulus = |p| {
        let price = |[beta, parts, t]: Point| {
            let guessed = parts * part;
            if beta < MIN_BLOCK_SIZE || guessed + t >= dimension {
                return failed;
            }
            let found = attack.cost(beta, p, guessed, t);
            StrictCost {
                log2_cost: found.log2_cost,
                block_size: beta,
                guessed,
                transformed: t,
                transform_modulus: if t > 0 { p } else { 0 },
                ..failed
            }
        };
        sweep(key.entropy_of(part), dimension / part, price)
    };
    let mut best = failed;
    for found in MODULI.filter_map(by_modulus) {
        if found.log2_cost >= best.log2_cost {
            break;
        }
        best = found;
    }
    best
}

/// A dual lattice, reduced: short vectors turn samples into samples of the guessed coefficients
/// alone.
struct Reduced {
    dimension: usize,
    /// The standard deviation of their noise over q.
    sigma: f64,
}

/// Reduces with block size `beta` for `rest` coefficients, `t` of which are guessed modulo 2 (Espitau,
/// Joux, Kharchenko, Indocrypt 2020, for the number of samples; Guo and Johansson for the rest).
fn reduce(lwe: &NormalForm, beta: usize, rest: usize, t: usize) -> Reduced {
    let ln_delta = ln_root_hermite(beta);
    let ln_secret = lwe.ln_secret_sigma();
    let ln_ratio = ln_secret + lwe.ln_q - lwe.ln_sigma;
    let n = rest as f64;
    let samples = ((n * ln_ratio / ln_delta).sqrt().ceil() - n).max(1.0);
    let d = n + samples;
    // The vectors of a sieve are longer than the shortest one. The estimator takes the sieve of a
    // lattice of dimension 2β for all dimensions.
    let sieve = matzov_sieve_dimension(beta, 2 * beta);
    let ln_longer =
        0.5 * (4.0f64 / 3.0).ln() + (sieve as f64 - 1.0) * (ln_root_hermite(sieve) - ln_delta);
    let ln_sigma =
        ln_longer - t as f64 / d * LN_2 + ln_secret + d * ln_delta - samples / d * ln_ratio;
    Reduced {
        dimension: d as usize,
        sigma: ln_sigma.exp(),
    }
}

/// The attack with a Walsh–Hadamard transform.
pub(super) fn walsh(key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    let failed = StrictCost::failed(StrictAttack::DualWalsh);
    let price = |[beta, parts, t]: Point| {
        let guessed = parts * key.part();
        let Some(rest) = lwe.dimension.checked_sub(guessed) else {
            return failed;
        };
        if beta < MIN_BLOCK_SIZE || t >= rest {
            return failed;
        }
        let Reduced { dimension, sigma } = reduce(lwe, beta, rest, t);
        let (entropy, transformed) = (key.entropy_of(guessed), t as f64);
        // The success probability of each of two stages is √0.99, as in the estimator.
        let ln_confidence = -(-0.5 * 0.99f64.ln()).ln();
        let ln_count = 4f64.ln()
            + (2.0 * PI * sigma).powi(2)
            + ((entropy + transformed) * LN_2 + ln_confidence).ln();
        let transform = transformed.log2() + transformed;
        let table = 2.0 + ln_count / LN_2;
        let guesses = entropy + log2_sum(transform, table);
        let vectors = MODEL.log2_short_vectors(beta, dimension, ln_count);
        StrictCost {
            log2_cost: log2_sum(vectors, guesses),
            block_size: beta,
            guessed,
            transformed: t,
            transform_modulus: if t > 0 { 2 } else { 0 },
            ..failed
        }
    };
    sweep(
        key.entropy_of(key.part()),
        lwe.dimension / key.part(),
        price,
    )
    .unwrap_or(failed)
}

/// The attack with a meet-in-the-middle search. The noise of a sample lies within two standard
/// deviations in nearly all cases, here in all.
pub(super) fn mitm(key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    let failed = StrictCost::failed(StrictAttack::DualMitm);
    let price = |[beta, parts, t]: Point| {
        let guessed = parts * key.part();
        if beta < MIN_BLOCK_SIZE || guessed == 0 || guessed >= lwe.dimension || t > 0 {
            return failed;
        }
        let Reduced { dimension, sigma } = reduce(lwe, beta, lwe.dimension - guessed, 0);
        let range = 4.0 * sigma;
        if range >= 1.0 {
            return failed;
        }
        let table = (key.entropy_of(guessed) / (2.0 - range)).max(1.0);
        let samples = table + table.log2();
        let vectors = MODEL.log2_short_vectors(beta, dimension, samples.ln());
        StrictCost {
            log2_cost: log2_sum(vectors, table + samples.log2()),
            block_size: beta,
            guessed,
            ..failed
        }
    };
    let starts = [[400, 40, 0], [400, 120, 0], [300, 20, 0]];
    least(&starts, [6, 2, 0], price).unwrap_or(failed)
}
