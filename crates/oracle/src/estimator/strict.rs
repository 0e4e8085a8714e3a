//! The strict count: the cost of the attacks on a key, with guesses at what they really cost.
//!
//! The lattice estimator prices a guessed coefficient as one of a discrete Gaussian of the same
//! standard deviation, at 1.7 bits or more. A coefficient of a uniform binary key has 1 bit, and a
//! block of three with at most a single 1 has 2 bits, two thirds of a bit a coefficient. The
//! strict count differs from [`estimate`](super::estimate) in three ways, all of which make attacks
//! cheaper:
//!
//! - A guess of whole blocks costs the number of their values, 2^entropy.
//! - The lattice is stretched by the key's covariance instead of the standard deviation of a single
//!   coefficient. The coefficients of a block of ℓ exclude each other. Their covariance matrix has
//!   the determinant (ℓ+1)^-(ℓ+1), and the ℓ-th root of it is less than a coefficient's variance.
//! - Attacks that guess a part of the key and solve the rest are priced too, and the parameters of
//!   all attacks are searched in steps of one. The part is whole blocks, or single coefficients of blocks
//!   that are guessed to be 0, which are the likelier the larger the blocks are.
//!
//! The attacks ([`StrictAttack`]) are those of the lattice estimator of June 2026 (Albrecht and
//! others, github.com/malb/lattice-estimator, commit 27a581bb), in the cost model of MATZOV,
//! *Report on the security of LWE* (2022), with the guesses replaced. An attack whose success is
//! uncertain is repeated 1/p times. The samples are unlimited.
//!
//! Not priced: dual attacks with other decoders than the Fourier transform modulo p (Carrier,
//! Meyer-Hilfiger, Shen, Tillich, ePrint 2022/1750), and meet-in-the-middle with representations
//! (May, Crypto 2021) inside a dual attack, for neither of which an estimator exists that takes such
//! keys. Quantum computers, leakage, and the ring of a GLWE key.
//!
//! Keys of blocks: Lee, Min, Seo, Song, *Faster TFHE bootstrapping with block binary keys* (ePrint
//! 2023/958).

mod dual;
mod key;
mod primal;
mod search;

use super::instance::{NormalForm, NotEstimated};

pub use key::StrictKey;

/// An attack of the strict count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StrictAttack {
    /// The dual attack of MATZOV (2022): some coefficients guessed in whole blocks, some modulo p by
    /// a Fourier transform. The customary count has it as `dual_hybrid`.
    DualHybrid,
    /// The dual attack of Guo and Johansson (Asiacrypt 2021), with a Walsh–Hadamard transform.
    DualWalsh,
    /// The dual attack with a meet-in-the-middle search for the guessed blocks (Cheon, Hhan, Hong,
    /// Son, IEEE Access 2019).
    DualMitm,
    /// The primal attack through unique-SVP.
    PrimalUsvp,
    /// The primal attack through bounded distance decoding.
    PrimalBdd,
    /// Whole blocks guessed, the rest decoded with one more call of the SVP solver for each guess
    /// (Albrecht, Curtis, Wunderer, SAC 2019).
    BddHybrid,
    /// Whole blocks searched in the middle, the rest by Babai's algorithm (Howgrave-Graham, Crypto
    /// 2007; success probabilities of Son and Cheon, WAHC 2019).
    BddMitmHybrid,
    /// Meet-in-the-middle on the whole key, without a lattice: the square root of the number of
    /// keys.
    Mitm,
    /// Single coefficients of blocks guessed to be 0, and what is left attacked in the cheapest of the
    /// other ways.
    GuessedZeros,
}

impl StrictAttack {
    /// All attacks.
    pub const ALL: [Self; 9] = [
        Self::DualHybrid,
        Self::DualWalsh,
        Self::DualMitm,
        Self::PrimalUsvp,
        Self::PrimalBdd,
        Self::BddHybrid,
        Self::BddMitmHybrid,
        Self::Mitm,
        Self::GuessedZeros,
    ];

    /// The attacks on a key of which nothing has been guessed to be 0.
    const ON_WHOLE_KEYS: [Self; 8] = {
        let [on_whole_keys @ .., _] = Self::ALL;
        on_whole_keys
    };

    /// The name for machines, as in the lattice estimator where it has the attack.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DualHybrid => "dual_hybrid",
            Self::DualWalsh => "dual_walsh",
            Self::DualMitm => "dual_mitm_hybrid",
            Self::PrimalUsvp => "primal_usvp",
            Self::PrimalBdd => "primal_bdd",
            Self::BddHybrid => "bdd_hybrid",
            Self::BddMitmHybrid => "bdd_mitm_hybrid",
            Self::Mitm => "mitm",
            Self::GuessedZeros => "guessed_zeros",
        }
    }
}

/// The price of one attack. Parameters that the attack does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrictCost {
    /// The attack.
    pub attack: StrictAttack,
    /// log2 of the operations, infinite if the attack fails.
    pub log2_cost: f64,
    /// β, the block size of the reduction.
    pub block_size: usize,
    /// ζ, the number of coefficients that are guessed.
    pub guessed: usize,
    /// t, the number of coefficients that are guessed by a transform.
    pub transformed: usize,
    /// p, the modulus of the transform.
    pub transform_modulus: usize,
}

impl StrictCost {
    /// An attack that fails.
    const fn failed(attack: StrictAttack) -> Self {
        Self {
            attack,
            log2_cost: f64::INFINITY,
            block_size: 0,
            guessed: 0,
            transformed: 0,
            transform_modulus: 0,
        }
    }
}

/// The costs of all attacks of the strict count on one key.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictEstimate {
    costs: [StrictCost; 9],
}

impl StrictEstimate {
    /// The attacks with their costs, in the order of [`StrictAttack::ALL`].
    pub fn costs(&self) -> &[StrictCost] {
        &self.costs
    }

    /// The cheapest attack.
    pub fn cheapest(&self) -> StrictCost {
        cheapest_of(self.costs)
    }

    /// λ: log2 of the operations of the cheapest attack.
    pub fn lambda(&self) -> f64 {
        self.cheapest().log2_cost
    }
}

/// Prices all attacks on LWE with the secret `key` and noise of standard deviation
/// 2^`log2_sigma`·q.
///
/// # Errors
/// [`NotEstimated::Noise`] if the noise is out of range.
pub fn strict_estimate(key: &StrictKey, log2_sigma: f64) -> Result<StrictEstimate, NotEstimated> {
    let of_whole_key = costs_of_whole_key(key, log2_sigma)?;
    let zeros = guessed_zeros(key, log2_sigma, cheapest_of(of_whole_key).log2_cost)?;
    let [a, b, c, d, e, f, g, h] = of_whole_key;
    Ok(StrictEstimate {
        costs: [a, b, c, d, e, f, g, h, zeros],
    })
}

fn costs_of_whole_key(key: &StrictKey, log2_sigma: f64) -> Result<[StrictCost; 8], NotEstimated> {
    let lwe = key.normal_form(key.dimension(), log2_sigma)?;
    Ok(StrictAttack::ON_WHOLE_KEYS.map(|attack| strict_cost(attack, key, &lwe)))
}

fn cheapest_of<const N: usize>(costs: [StrictCost; N]) -> StrictCost {
    let nothing = StrictCost::failed(StrictAttack::Mitm);
    costs.into_iter().fold(nothing, |best, cost| {
        match cost.log2_cost < best.log2_cost {
            true => cost,
            false => best,
        }
    })
}

/// Returns the price of guesses that single coefficients of blocks are 0, at most one of each block, and of the cheapest
/// attack on the rest, which is repeated until all guesses are right. `log2_whole` is the price of the cheapest
/// attack without such guesses.
///
/// The rest has blocks of ℓ - 1 coefficients beside those of ℓ. It is priced as a key of blocks of ℓ with as
/// many coefficients, which has less entropy, so the price is a lower bound. It is convex in the number of guesses, up to the
/// steps of the attacks' parameters.
fn guessed_zeros(
    key: &StrictKey,
    log2_sigma: f64,
    log2_whole: f64,
) -> Result<StrictCost, NotEstimated> {
    let (dimension, part) = (key.dimension(), key.part());
    let mut best = StrictCost::failed(StrictAttack::GuessedZeros);
    let Some(price) = key.zero_price() else {
        return Ok(best);
    };
    // In steps of one block, for the rest has whole blocks.
    let most = dimension / part / part;
    let with = |blocks: usize| -> Result<StrictCost, NotEstimated> {
        let guessed = blocks * part;
        let rest = key.shortened(dimension - guessed)?;
        let cost = cheapest_of(costs_of_whole_key(&rest, log2_sigma)?);
        Ok(StrictCost {
            attack: StrictAttack::GuessedZeros,
            log2_cost: cost.log2_cost + guessed as f64 * price,
            guessed: guessed + cost.guessed,
            ..cost
        })
    };
    let (mut reached, mut step, mut log2_last) = (0, 1, log2_whole);
    while step > 0 {
        let next = reached + step;
        let cost = match next <= most {
            true => with(next).ok(),
            false => None,
        };
        let is_less = cost.is_some_and(|cost| cost.log2_cost < log2_last);
        if let Some(cost) = cost.filter(|cost| cost.log2_cost < best.log2_cost) {
            best = cost;
        }
        match (is_less, cost) {
            (true, Some(cost)) => (reached, step, log2_last) = (next, 2 * step, cost.log2_cost),
            _ => step /= 2,
        }
    }
    Ok(best)
}

/// Returns log2 of the cost of one attack, as [`strict_estimate`] has it. `None` if the noise is out of
/// range.
#[cfg(test)]
pub(crate) fn strict_log2_cost(
    attack: StrictAttack,
    key: &StrictKey,
    log2_sigma: f64,
) -> Option<f64> {
    let lwe = key.normal_form(key.dimension(), log2_sigma).ok()?;
    Some(strict_cost(attack, key, &lwe).log2_cost)
}

fn strict_cost(attack: StrictAttack, key: &StrictKey, lwe: &NormalForm) -> StrictCost {
    match attack {
        StrictAttack::DualHybrid => dual::hybrid(key, lwe),
        StrictAttack::DualWalsh => dual::walsh(key, lwe),
        StrictAttack::DualMitm => dual::mitm(key, lwe),
        StrictAttack::PrimalUsvp => primal::usvp(lwe),
        StrictAttack::PrimalBdd => primal::bdd(lwe),
        StrictAttack::BddHybrid => primal::bdd_hybrid(key, lwe),
        StrictAttack::BddMitmHybrid => primal::bdd_mitm_hybrid(key, lwe),
        StrictAttack::Mitm => StrictCost {
            log2_cost: 0.5 * key.entropy(),
            ..StrictCost::failed(attack)
        },
        StrictAttack::GuessedZeros => StrictCost::failed(attack),
    }
}

#[cfg(test)]
mod tests;
