//! The primal attacks: secret and error are a short vector of a lattice.
//!
//! The lattice (Bai and Galbraith, ACISP 2014) has dimension d = n + m and volume q^m · ξ^n: ξ
//! stretches the secret's coordinates until they are as wide as the error's. The attacker chooses
//! the number m of samples. The target is embedded with one more coordinate, τ = σ.

use std::f64::consts::PI;

use super::instance::NormalForm;
use super::reduction::{CostModel, MIN_BLOCK_SIZE, ln_root_hermite, log2_sum};
use super::search::{MAX_BLOCK_SIZE, Priced, coarse_minimum, local_minimum};
use crate::special_functions::ln_gamma;

/// The price of the primal attack through unique-SVP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsvpCost {
    /// log2 of the operations, infinite if no block size is enough.
    pub log2_cost: f64,
    /// The block size β of the reduction.
    pub block_size: usize,
    /// The dimension d of the lattice.
    pub lattice_dimension: usize,
}

/// The price of the primal attack through bounded distance decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BddCost {
    /// log2 of the operations, infinite if no block size is enough.
    pub log2_cost: f64,
    /// The block size β of the reduction.
    pub block_size: usize,
    /// The dimension η of the projection that is searched for the error.
    pub svp_dimension: usize,
    /// The dimension d of the lattice.
    pub lattice_dimension: usize,
}

impl Priced for UsvpCost {
    fn log2_cost(&self) -> f64 {
        self.log2_cost
    }
}

impl Priced for BddCost {
    fn log2_cost(&self) -> f64 {
        self.log2_cost
    }
}

/// The price of uSVP: BKZ-β finds the vector if its projection to the last β dimensions is shorter
/// than the Gram–Schmidt norm there (Alkim, Ducas, Pöppelmann, Schwabe, USENIX Security 2016;
/// Albrecht and others, Asiacrypt 2017), in the smallest d for each β.
pub(super) fn usvp(lwe: &NormalForm, model: CostModel) -> UsvpCost {
    coarse_minimum(MIN_BLOCK_SIZE..MAX_BLOCK_SIZE, 5, |beta| {
        usvp_cost(lwe, model, beta)
    })
    .unwrap_or(usvp_cost(lwe, model, MAX_BLOCK_SIZE))
}

/// uSVP with the block size `beta`.
pub(super) fn usvp_cost(lwe: &NormalForm, model: CostModel, beta: usize) -> UsvpCost {
    let dimension = usvp_dimension(lwe, beta);
    UsvpCost {
        log2_cost: dimension.map_or(f64::INFINITY, |d| model.log2_reduction(beta, d)),
        block_size: beta,
        lattice_dimension: dimension.unwrap_or_default(),
    }
}

/// The smallest dimension, embedding included, in which BKZ-`beta` solves uSVP; at least β + 1. It
/// is found from the condition ln(σ·√β) ≤ (2β - d - 1)·ln δ + (ln τ + n·ln ξ + (d - n - 1)·ln
/// q)/d, which is quadratic in d.
fn usvp_dimension(lwe: &NormalForm, beta: usize) -> Option<usize> {
    let ln_delta = ln_root_hermite(beta);
    let (n, b) = (lwe.dimension as f64, beta as f64);
    let ln_volume = |d: f64| lwe.ln_sigma + n * lwe.ln_stretch + (d - n - 1.0) * lwe.ln_q;
    let ln_projection = lwe.ln_sigma + 0.5 * b.ln();
    // ln δ·d² - linear·d - ln_volume(0) ≤ 0 between two roots.
    let linear = ln_delta * (2.0 * b - 1.0) + lwe.ln_q - ln_projection;
    let discriminant = linear * linear + 4.0 * ln_delta * ln_volume(0.0);
    if discriminant < 0.0 {
        return None;
    }
    let root = (linear - discriminant.sqrt()) / (2.0 * ln_delta);
    let d = root.ceil().max(n).max(b + 1.0);
    let solved = ln_projection <= ln_delta * (2.0 * b - d - 1.0) + ln_volume(d) / d;
    solved.then_some(d as usize)
}

/// The price of BDD: BKZ-β without the target, then one call of the solver on a projection (Liu
/// and Nguyen, CT-RSA 2013). The search chooses β first, at most that of uSVP, in the dimension in
/// which BKZ-β finds the shortest vectors, and then the dimension.
pub(super) fn bdd(lwe: &NormalForm, model: CostModel, usvp: &UsvpCost) -> BddCost {
    let largest = match usvp.log2_cost.is_finite() {
        true => usvp.block_size,
        false => MAX_BLOCK_SIZE,
    };
    let price = |beta| bdd_cost(lwe, model, beta, bdd_dimension(lwe, beta), None);
    let best = coarse_minimum(MIN_BLOCK_SIZE..largest + 2, 2, price)
        .unwrap_or_else(|| price(MIN_BLOCK_SIZE));
    if best.log2_cost.is_infinite() {
        return best;
    }
    let dimensions = lwe.dimension..best.lattice_dimension + 1;
    let near = Some(best.svp_dimension);
    local_minimum(dimensions, |d| {
        bdd_cost(lwe, model, best.block_size, d, near)
    })
    .map_or(best, |(_, found)| found)
}

/// The dimension in which the vectors that BKZ-`beta` finds are shortest: √(n·ln(q/ξ)/ln δ).
pub(super) fn bdd_dimension(lwe: &NormalForm, beta: usize) -> usize {
    let ln_modulus = lwe.ln_q - lwe.ln_stretch;
    let shortest = (lwe.dimension as f64 * ln_modulus / ln_root_hermite(beta)).sqrt();
    beta.max(shortest.ceil() as usize)
}

/// BDD with the block size `beta` in dimension `d`; the search for η starts at `near`, or at β.
pub(super) fn bdd_cost(
    lwe: &NormalForm,
    model: CostModel,
    beta: usize,
    d: usize,
    near: Option<usize>,
) -> BddCost {
    let eta = match d < beta {
        true => None,
        false => svp_dimension(lwe, ln_root_hermite(beta), d, near.unwrap_or(beta)),
    };
    let log2_cost = eta.map_or(f64::INFINITY, |eta| {
        let lift = 2.0 * ((d - eta).max(1) as f64).log2();
        let search = log2_sum(model.log2_reduction(eta + 1, eta + 1), lift);
        log2_sum(model.log2_reduction(beta, d), search)
    });
    BddCost {
        log2_cost,
        block_size: beta,
        svp_dimension: eta.unwrap_or_default(),
        lattice_dimension: d,
    }
}

/// The smallest dimension η such that in all projections of at least this dimension the embedded
/// error is shorter than the Gaussian heuristic expects for the shortest vector. `None` if not
/// even the whole lattice is enough.
fn svp_dimension(lwe: &NormalForm, ln_delta: f64, d: usize, near: usize) -> Option<usize> {
    let (n, size) = (lwe.dimension as f64, d as f64);
    let ln_volume = (size - n) * lwe.ln_q + n * lwe.ln_stretch;
    let hidden = |eta: usize| {
        let j = eta as f64;
        let ln_projected = j / size * ln_volume - (size - j) * j * ln_delta;
        let half = (j + 1.0) / 2.0;
        let ln_ball = half * PI.ln() - ln_gamma(half + 1.0);
        let ln_shortest = (ln_projected + lwe.ln_sigma - ln_ball) / (j + 1.0);
        ln_shortest < lwe.ln_sigma + 0.5 * (j + 1.0).ln()
    };
    let near = near.clamp(1, d);
    if hidden(near) {
        return (near + 1..=d).find(|&eta| !hidden(eta));
    }
    let last_hidden = (1..near).rfind(|&eta| hidden(eta));
    Some(last_hidden.map_or(1, |eta| eta + 1))
}
