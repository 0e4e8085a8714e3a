//! The keys that a request allows: GLWE keys of every shape and small keys of every dimension,
//! each with the least noise of the requested level.

use std::collections::HashMap;

use tfhe_sbc_core::random::NoiseDistribution;

use crate::noise::{GlweSecret, KeyBlocks, Variance};
use crate::search::request::{
    Count, Engine, MAX_GLWE_DIMENSION, MAX_LWE_DIMENSION, NoiseKind, Request, Secrets,
};
use crate::security::{
    MARGIN_LOG2_SIGMA, SecretKind, StrictKind, least_log2_sigma, log2_sigma_floor,
    minimal_log2_sigma, reliable_level, strict_least_log2_sigma,
};

/// The smallest small key that is searched.
const MIN_LWE_DIMENSION: usize = 300;
/// A dimension that every curve of the table covers.
const USUAL_LWE_DIMENSION: usize = 800;
/// The smallest k·N.
const MIN_GLWE_LWE_DIMENSION: usize = 512;
/// k·N up to which more than one mask polynomial is searched: noise is at its floor there.
const MAX_SPLIT_DIMENSION: usize = 4096;

/// All keys of a request's level, noise and kinds of secrets, whatever its failure probability and
/// bounds: what takes longest to work out.
pub(super) struct Keys {
    glwe: Vec<GlweKey>,
    /// The small keys by block size, and within a block size by rising dimension and thus falling
    /// noise.
    small: Vec<Vec<SmallKey>>,
}

impl Keys {
    pub(super) fn new(request: &Request) -> Self {
        let sizes = block_sizes(request).into_iter();
        Self {
            glwe: glwe_keys(request),
            small: sizes.map(|size| small_keys(request, size)).collect(),
        }
    }

    /// The GLWE keys within the request's bounds.
    pub(super) fn glwe(&self, request: &Request) -> impl Iterator<Item = &GlweKey> {
        let bounds = request.bounds;
        self.glwe.iter().filter(move |key| {
            key.polynomial_size <= bounds.polynomial_size
                && key.glwe_dimension <= bounds.glwe_dimension
        })
    }

    /// The small keys within the request's bounds, by block size; none of them is empty.
    pub(super) fn small(&self, request: &Request) -> impl Iterator<Item = &[SmallKey]> {
        let most = request.bounds.lwe_dimension;
        self.small.iter().filter_map(move |keys| {
            let within = keys.partition_point(|key| key.blocks.dimension <= most);
            keys.get(..within).filter(|keys| !keys.is_empty())
        })
    }
}

/// A GLWE key.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlweKey {
    pub(super) glwe_dimension: usize,
    pub(super) polynomial_size: usize,
    pub(super) noise: NoiseDistribution,
}

/// A small key.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallKey {
    pub(super) blocks: KeyBlocks,
    pub(super) noise: NoiseDistribution,
    pub(super) variance: Variance,
}

/// The distribution of the least noise of standard deviation 2^`log2_sigma` or more, not below
/// the floor: a Gaussian's to four digits, rounded up.
fn distribution(kind: NoiseKind, log2_sigma: f64, torus_bits: u32) -> NoiseDistribution {
    let log2_sigma = log2_sigma.max(log2_sigma_floor(torus_bits));
    match kind {
        NoiseKind::Gaussian => {
            let sigma = log2_sigma.exp2();
            let unit = 10f64.powf(sigma.log10().floor() - 3.0);
            NoiseDistribution::Gaussian {
                standard_deviation: decimal((sigma / unit).ceil(), unit),
            }
        }
        NoiseKind::TUniform => {
            let enough = |bound_log2: &u32| {
                let variance = Variance::from_tuniform(*bound_log2, torus_bits);
                0.5 * variance.log2() >= log2_sigma
            };
            let bound_log2 = (0..torus_bits).find(enough).unwrap_or(torus_bits - 1);
            NoiseDistribution::TUniform { bound_log2 }
        }
    }
}

/// Returns the Gaussian of the least standard deviation from 2^`log2_sigma` on, to four digits,
/// rounded up.
pub(crate) fn least_gaussian(log2_sigma: f64, torus_bits: u32) -> NoiseDistribution {
    distribution(NoiseKind::Gaussian, log2_sigma, torus_bits)
}

/// Returns `digits` units as the nearest double of the decimal number, as a constant in a program
/// has it.
fn decimal(digits: f64, unit: f64) -> f64 {
    let text = format!("{digits}e{}", unit.log10().round());
    text.parse().unwrap_or(digits * unit)
}

pub(super) fn glwe_secret(request: &Request) -> GlweSecret {
    match request.secrets {
        Secrets::Ternary => GlweSecret::Ternary,
        Secrets::Binary | Secrets::Blocks | Secrets::Shared => GlweSecret::Binary,
    }
}

/// The GLWE keys of the request's shape.
fn glwe_keys(request: &Request) -> Vec<GlweKey> {
    let glwe_secret = glwe_secret(request);
    let secret = glwe_secret.into();
    let shape = &request.shape;
    let mut found = Vec::new();
    let precision = request.message_bits + request.carry_bits;
    for polynomial_size in (8..=16).map(|log2| 1usize << log2) {
        if shape
            .polynomial_size
            .is_some_and(|size| size != polynomial_size)
            || precision >= polynomial_size.ilog2()
        {
            continue;
        }
        for glwe_dimension in 1..=MAX_GLWE_DIMENSION {
            let dimension = glwe_dimension * polynomial_size;
            let given = shape.glwe_dimension.is_some();
            if shape.glwe_dimension.is_some_and(|k| k != glwe_dimension)
                || dimension < MIN_GLWE_LWE_DIMENSION
                || (dimension > MAX_SPLIT_DIMENSION && glwe_dimension > 1 && !given)
            {
                continue;
            }
            let noise = match (request.glwe_sigma, request.noise) {
                (Some(standard_deviation), NoiseKind::Gaussian) => {
                    Some(NoiseDistribution::Gaussian { standard_deviation })
                }
                (Some(sigma), NoiseKind::TUniform) => Some(distribution(
                    request.noise,
                    sigma.log2(),
                    request.torus_bits,
                )),
                (None, kind) => least_log2_sigma(request.lambda, dimension, secret)
                    .and_then(|customary| {
                        in_count(request, dimension, glwe_secret.into(), customary)
                    })
                    .map(|log2_sigma| distribution(kind, log2_sigma, request.torus_bits)),
            };
            if let Some(noise) = noise {
                found.push(GlweKey {
                    glwe_dimension,
                    polynomial_size,
                    noise,
                });
            }
        }
    }
    found
}

/// log2 of the modulus of small LWE ciphertexts.
pub(super) fn small_torus_bits(request: &Request) -> u32 {
    match request.engine {
        Engine::TfheSbc => 32,
        Engine::TfheRs | Engine::Tfhepp => request.torus_bits,
    }
}

/// The block sizes to try.
fn block_sizes(request: &Request) -> Vec<u32> {
    let all: &[u32] = match (request.secrets, request.count) {
        // The customary count says too little about larger blocks.
        (Secrets::Blocks, Count::Customary) => &[1, 2, 3],
        (Secrets::Blocks, Count::Strict) => &[1, 2, 3, 4, 5],
        (Secrets::Binary | Secrets::Ternary | Secrets::Shared, _) => &[1],
    };
    let given = request.shape.block_size;
    all.iter()
        .copied()
        .filter(|&size| given.is_none_or(|given| given == size))
        .collect()
}

/// The small keys of `block_size`, by rising dimension and so falling noise.
fn small_keys(request: &Request, block_size: u32) -> Vec<SmallKey> {
    let Ok(secret) = SecretKind::of_blocks(block_size) else {
        return Vec::new();
    };
    let torus_bits = small_torus_bits(request);
    let kind = match request.engine {
        Engine::TfheSbc => NoiseKind::Gaussian,
        Engine::TfheRs | Engine::Tfhepp => request.noise,
    };
    let mut curve = Curve::new(request.lambda, secret);
    let step = block_size as usize;
    (MIN_LWE_DIMENSION.next_multiple_of(step)..=MAX_LWE_DIMENSION)
        .step_by(step)
        .filter_map(|dimension| {
            let customary = curve.log2_sigma(dimension)?;
            let log2_sigma = in_count(
                request,
                dimension,
                StrictKind::Blocks(block_size),
                customary,
            )?;
            let noise = distribution(kind, log2_sigma, torus_bits);
            Some(SmallKey {
                blocks: KeyBlocks {
                    dimension,
                    block_size,
                },
                noise,
                variance: Variance(noise.variance(torus_bits)),
            })
        })
        .collect()
}

/// Returns the least noise in the count of the request, where `customary` is that of the customary one.
/// `None` if the strict one has none for the dimension.
fn in_count(request: &Request, n: usize, kind: StrictKind, customary: f64) -> Option<f64> {
    match request.count {
        Count::Customary => Some(customary),
        Count::Strict => strict_least_log2_sigma(request.lambda, n, kind, customary),
    }
}

/// The least noise by dimension: the table's wherever it has the level, and where it has not the
/// estimator's, begun from a straight line between those of every sixteenth dimension.
struct Curve {
    lambda: f64,
    secret: SecretKind,
    /// Whether the table has the level at dimensions of use.
    is_in_table: bool,
    estimated: HashMap<usize, Option<f64>>,
}

impl Curve {
    fn new(lambda: f64, secret: SecretKind) -> Self {
        Self {
            lambda,
            secret,
            is_in_table: minimal_log2_sigma(lambda, USUAL_LWE_DIMENSION, secret).is_ok(),
            estimated: HashMap::new(),
        }
    }

    fn log2_sigma(&mut self, dimension: usize) -> Option<f64> {
        const STEP: usize = 16;
        // Beyond its last row the table's answer is that row's, which longer keys beat.
        let from_table = minimal_log2_sigma(self.lambda, dimension, self.secret).ok();
        let beyond = minimal_log2_sigma(self.lambda, dimension + STEP, self.secret).ok();
        match (from_table, beyond) {
            (Some(log2_sigma), _) if beyond != from_table => {
                return Some(log2_sigma + MARGIN_LOG2_SIGMA);
            }
            // Shorter than the table's shortest, where the noise is too much for any use.
            (None, _) if self.is_in_table => return None,
            _ => {}
        }
        let (lambda, secret) = (self.lambda, self.secret);
        let mut at = |n| {
            *self
                .estimated
                .entry(n)
                .or_insert_with(|| least_log2_sigma(lambda, n, secret))
        };
        let low = dimension / STEP * STEP;
        let share = (dimension - low) as f64 / STEP as f64;
        let (left, right) = (at(low)?, at(low + STEP)?);
        let mut log2_sigma = left + share * (right - left);
        // The estimator's levels are staircases: up to the next step.
        const STEPS: usize = 32;
        let reaches = |log2_sigma| {
            let level = reliable_level(dimension, log2_sigma, secret);
            level.is_some_and(|level| level.lambda >= lambda)
        };
        for _ in 0..STEPS {
            if reaches(log2_sigma) {
                return Some(log2_sigma);
            }
            log2_sigma += 1.0 / 64.0;
        }
        None
    }
}
