//! The parameter set for a task, by exhaustive search.
//!
//! A [`Request`] states the needs of an application. [`find`] goes through every GLWE key, every
//! block size and all numbers of levels with their best bases (`chains`). For each choice, the
//! smallest small key whose noise fits is the fastest and has the smallest server key, as
//! everything else is the same. For the choices that are not far worse than another in both time
//! and size, the rest is computed exactly (`candidate`): the failure probabilities of every use,
//! the bits of uploads, and the security. The answer is the best candidate by the weights of the
//! request; the candidates that no other beats in every metric are the Pareto front. If no
//! candidate is within the bounds, [`Impossible`] gives the bound that is violated and the nearest
//! possible values.

mod candidate;
mod chains;
mod impossible;
mod keys;
mod request;

use keys::Keys;
pub(crate) use keys::least_gaussian;

pub use candidate::{Candidate, KeyLevels, Price, Pricing};
pub use impossible::{Binding, Impossible, Metric, NotFound};
pub use request::{
    BadRequest, Bounds, Count, Engine, LAMBDAS, LOG2_P_FAILS, MAX_GLWE_DIMENSION,
    MAX_LWE_DIMENSION, MAX_POLYNOMIAL_SIZE, MAX_PRECISION, NoiseKind, Request, Secrets, Shape,
    Weights,
};

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best by the request's weights.
    pub best: Candidate,
    /// All candidates that no other beats in time alone, time in a batch, size of the server key
    /// and size of uploads at once, the fastest first. The best is one of them.
    pub front: Vec<Candidate>,
}

/// Searches the best set for a request.
///
/// # Errors
/// [`NotFound`] if the request is not valid, or no set is within its bounds.
pub fn find(request: &Request, pricing: &Pricing<'_>) -> Result<Found, NotFound> {
    request.check()?;
    find_among(request, pricing, &Keys::new(request))
}

/// Does the same as [`find`], and also searches for other failure probabilities, given as their
/// log2: what being right more or less often costs. Those that nothing reaches are left out.
///
/// # Errors
/// As [`find`], for the request itself.
pub fn find_beside(
    request: &Request,
    pricing: &Pricing<'_>,
    others: &[f64],
) -> Result<(Found, Vec<(f64, Found)>), NotFound> {
    request.check()?;
    let keys = Keys::new(request);
    let found = find_among(request, pricing, &keys)?;
    let beside = others.iter().filter_map(|&log2_p_fail| {
        let other = Request {
            log2_p_fail,
            ..*request
        };
        other.check().ok()?;
        let found = find_among(&other, pricing, &keys).ok()?;
        Some((log2_p_fail, found))
    });
    Ok((found, beside.collect()))
}

fn find_among(request: &Request, pricing: &Pricing<'_>, keys: &Keys) -> Result<Found, NotFound> {
    let pool = candidate::pool(request, pricing, keys);
    let within = pool
        .iter()
        .filter(|candidate| candidate.is_within(&request.bounds));
    let mut front = front(within.cloned().collect());
    front.sort_by(|a, b| a.price.single.total_cmp(&b.price.single));
    let worth = |candidate: &Candidate| candidate.price.weighed(&request.minimise);
    let best = front
        .iter()
        .min_by(|a, b| worth(a).total_cmp(&worth(b)))
        .cloned();
    match best {
        Some(best) => Ok(Found { best, front }),
        None => Err(impossible::explain(request, pricing, keys, &pool).into()),
    }
}

/// The candidates that no other candidate beats in every metric.
fn front(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let prices: Vec<Price> = candidates.iter().map(|c| c.price).collect();
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let beaten = prices.iter().any(|other| other.beats(&candidate.price));
        let twin = kept.iter().any(|other| other.price == candidate.price);
        if !beaten && !twin {
            kept.push(candidate);
        }
    }
    kept
}
