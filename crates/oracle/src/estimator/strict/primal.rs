//! The primal attacks of the strict count.

use std::f64::consts::{PI, SQRT_2};

use super::super::instance::NormalForm;
use super::super::primal;
use super::super::reduction::{CostModel, MIN_BLOCK_SIZE, ln_root_hermite, log2_sum};
use super::key::StrictKey;
use super::search::{Point, least};
use super::{StrictAttack, StrictCost};
use crate::special_functions::erfc;

const MODEL: CostModel = CostModel::Matzov;

/// Starts of the search, as β and guessed parts.
const STARTS: [Point; 3] = [[400, 0, 0], [380, 30, 0], [300, 90, 0]];

/// Unique-SVP, with the key's covariance.
pub(super) fn usvp(lwe: &NormalForm) -> StrictCost {
    let found = primal::usvp(lwe, MODEL);
    StrictCost {
        log2_cost: found.log2_cost,
        block_size: found.block_size,
        ..StrictCost::failed(StrictAttack::PrimalUsvp)
    }
}

/// Bounded distance decoding, with the key's covariance.
pub(super) fn bdd(lwe: &NormalForm) -> StrictCost {
    let found = primal::bdd(lwe, MODEL, &primal::usvp(lwe, MODEL));
    StrictCost {
        log2_cost: found.log2_cost,
        block_size: found.block_size,
        ..StrictCost::failed(StrictAttack::PrimalBdd)
    }
}

/// The instance without the guessed coefficients.
fn rest(lwe: &NormalForm, guessed: usize) -> Option<NormalForm> {
    let dimension = lwe.dimension.checked_sub(guessed).filter(|&n| n > 1)?;
    Some(NormalForm { dimension, ..*lwe })
}

/// The Gram–Schmidt norms of a reduced basis, over the noise, from the last to the first: they rise.
struct Profile {
    /// The logarithm of the geometric mean.
    ln_mean: f64,
    ln_delta: f64,
    dimension: usize,
}

impl Profile {
    fn new(lwe: &NormalForm, beta: usize, dimension: usize) -> Self {
        let (n, size) = (lwe.dimension as f64, dimension as f64);
        let ln_volume = (size - n) * lwe.ln_q + n * lwe.ln_stretch;
        Self {
            ln_mean: ln_volume / size - lwe.ln_sigma,
            ln_delta: ln_root_hermite(beta),
            dimension,
        }
    }

    /// The logarithms of the norms.
    fn ln_norms(&self) -> impl Iterator<Item = f64> {
        let size = self.dimension as f64;
        (0..self.dimension).map(move |from_last| {
            self.ln_mean - (size - 1.0 - 2.0 * from_last as f64) * self.ln_delta
        })
    }
}

/// The number of standard deviations, over √2, above which [`erfc`] is below the precision of a double.
const ALL_BUT_CERTAIN: f64 = 6.0;

/// log2 of the probability that Babai's algorithm decodes Gaussian noise in the dimensions with these norms (Lindner and
/// Peikert, CT-RSA 2011).
fn log2_babai(ln_norms: impl Iterator<Item = f64>) -> f64 {
    let mut ln_probability = 0.0;
    for ln_norm in ln_norms {
        // Half the norm over √2 standard deviations.
        let x = ln_norm.exp() / (2.0 * SQRT_2);
        if x > ALL_BUT_CERTAIN {
            break;
        }
        ln_probability += (-erfc(x)).ln_1p();
    }
    ln_probability / std::f64::consts::LN_2
}

/// log2 of the probability that both halves of a target in the middle are rounded alike (Son and
/// Cheon, WAHC 2019, Lemma 4.2).
fn log2_admissible(profile: &Profile) -> f64 {
    let mut ln_probability = 0.0;
    for (at, ln_norm) in profile.ln_norms().enumerate() {
        let x = ln_norm.exp() / SQRT_2;
        if x > ALL_BUT_CERTAIN {
            let rest = profile.dimension - at;
            ln_probability += ln_product(1.0 / (x * PI.sqrt()), -2.0 * profile.ln_delta, rest);
            break;
        }
        let missed = erfc(x) - (-x * x).exp_m1() / (x * PI.sqrt());
        ln_probability += (-missed.min(1.0)).ln_1p();
    }
    ln_probability / std::f64::consts::LN_2
}

/// Returns the logarithm of the product of `1 - m · q^i` for i from 0 to `count` - 1, from `m` below 1/2 and the logarithm of q, which is
/// negative: the sum over k of `-m^k / k · (1 - q^(k · count)) / (1 - q^k)`, because `ln(1 - x) = -Σ x^k / k`.
fn ln_product(m: f64, ln_q: f64, count: usize) -> f64 {
    let mut sum = 0.0;
    let mut power = m;
    for k in 1..=64 {
        let ln_q = f64::from(k) * ln_q;
        sum -= power / f64::from(k) * (count as f64 * ln_q).exp_m1() / ln_q.exp_m1();
        power *= m;
        if power < f64::EPSILON * m {
            break;
        }
    }
    sum
}

/// The work after a reduction, and the probability that it succeeds if the guess was right, as their log2.
struct Decoding {
    work: f64,
    success: f64,
}

/// Finds the cheapest attack that reduces a lattice once and guesses parts of the key. `decode` prices the work for all guesses
/// after a reduction with blocks of β, of what the guess leaves of the instance, in dimension d; its last argument is the
/// entropy of the guess in bits. It returns `None` where the attack is not possible.
fn least_hybrid(
    attack: StrictAttack,
    key: &StrictKey,
    lwe: &NormalForm,
    decode: impl Fn(&NormalForm, usize, usize, f64) -> Option<Decoding>,
) -> StrictCost {
    let failed = StrictCost::failed(attack);
    let price = |[beta, parts, _]: Point| {
        let guessed = parts * key.part();
        let Some(rest) = rest(lwe, guessed).filter(|_| beta >= MIN_BLOCK_SIZE) else {
            return failed;
        };
        let d = primal::bdd_dimension(&rest, beta);
        let Some(decoding) = decode(&rest, beta, d, key.entropy_of(guessed)) else {
            return failed;
        };
        let once = log2_sum(MODEL.log2_reduction(beta, d), decoding.work);
        StrictCost {
            log2_cost: once - decoding.success,
            block_size: beta,
            guessed,
            ..failed
        }
    };
    least(&STARTS, [1, 1, 0], price).unwrap_or(failed)
}

/// Guesses of whole blocks, and an SVP call for each.
pub(super) fn bdd_hybrid(key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    least_hybrid(StrictAttack::BddHybrid, key, lwe, |rest, beta, d, guess| {
        let found = primal::bdd_cost(rest, MODEL, beta, d, None);
        if found.log2_cost.is_infinite() {
            return None;
        }
        let eta = found.svp_dimension;
        let lift = 2.0 * (d.saturating_sub(eta).max(1) as f64).log2();
        let each = log2_sum(MODEL.log2_reduction(eta + 1, eta + 1), lift);
        Some(Decoding {
            work: guess + each,
            success: log2_babai(Profile::new(rest, beta, d).ln_norms().skip(eta)),
        })
    })
}

/// Guesses that meet in the middle, decoded by Babai's algorithm.
pub(super) fn bdd_mitm_hybrid(key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    least_hybrid(
        StrictAttack::BddMitmHybrid,
        key,
        lwe,
        |rest, beta, d, guess| {
            let profile = Profile::new(rest, beta, d);
            let admissible = match guess > 0.0 {
                true => log2_admissible(&profile),
                false => 0.0,
            };
            Some(Decoding {
                work: 0.5 * guess + 2.0 * (d as f64).log2(),
                success: log2_babai(profile.ln_norms()) + admissible,
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_the_product_of_its_factors() {
        for (m, ln_q, count) in [(0.094, -0.01, 2000), (0.3, -1e-4, 50), (1e-9, -2.0, 3)] {
            let factors = (0..count).map(|i| (-m * (f64::from(i) * ln_q).exp()).ln_1p());
            let expected: f64 = factors.sum();
            let found = ln_product(m, ln_q, count as usize);
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        }
    }
}
