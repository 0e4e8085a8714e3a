//! All choices of the search, with the noise of bootstrap outputs only: the GLWE key, the block
//! size, and the levels of rotation and key switch with their best bases. A [`Chain`] is such a
//! choice with the small keys that are long enough for it.

use std::ops::Range;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::parameters::{Decomposition, PackedWidth};

use crate::blind_rotation::{
    BlindRotation, FftErrorModel, GgswGadgets, GgswNoise, KeyRounding, blind_rotation_fft_variance,
    blind_rotation_variance,
};
use crate::failure::safe_variance;
use crate::noise::{
    GlweNoise, KeyBlocks, KeySwitchNoise, ModulusSwitch, Variance, key_switch_variance,
    modulus_switch_variance, truncation_variance,
};
use crate::noise_budget::BootstrapOrder;
use crate::search::keys::{GlweKey, Keys, SmallKey, glwe_secret, small_torus_bits};
use crate::search::request::{Engine, Request, Secrets};

/// Levels of the mask's decomposition at most.
const MOST_LEVELS: usize = 6;
/// Levels of the key switch at most.
const MOST_SWITCH_LEVELS: usize = 14;

/// Decompositions of the blind rotation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) mask: Decomposition,
    pub(super) body: Decomposition,
    /// The variance of a rotation by one key bit, on average.
    per_bit: f64,
}

/// A choice of everything but the small key's dimension.
#[derive(Clone, Debug)]
pub(super) struct Chain<'a> {
    pub(super) glwe: GlweKey,
    pub(super) rotation: Rotation,
    /// All small keys of one block size.
    pub(super) small_keys: &'a [SmallKey],
    /// Those among them with which bootstrap outputs fit, the first of which does.
    pub(super) fitting: Range<usize>,
    /// Levels of the key switch.
    pub(super) switch_levels: usize,
}

/// Every chain on which a Gaussian of the noise of bootstrap outputs fails with no more than
/// the request's probability.
pub(super) fn chains<'a>(request: &Request, all: &'a Keys) -> Vec<Chain<'a>> {
    let mut found = Vec::new();
    let safe = safe_variance(request.half_width(), request.log2_p_fail);
    for &glwe in all.glwe(request) {
        for keys in all.small(request) {
            let rotations = rotations(request, &glwe, keys[0].blocks);
            for switch_levels in 1..=MOST_SWITCH_LEVELS {
                let rest: Vec<Rest> = keys
                    .iter()
                    .map(|key| Rest::new(request, &glwe, key, switch_levels))
                    .collect();
                for &rotation in &rotations {
                    let fits = |(key, rest): (&SmallKey, &Rest)| {
                        let pbs = rotation.per_bit * key.blocks.dimension as f64;
                        rest.total(request, pbs) <= safe.0
                    };
                    let Some(start) = keys.iter().zip(&rest).position(fits) else {
                        continue;
                    };
                    let longer = keys.iter().zip(&rest).skip(start);
                    let count = longer.take_while(|&pair| fits(pair)).count();
                    found.push(Chain {
                        glwe,
                        rotation,
                        small_keys: keys,
                        fitting: start..start + count,
                        switch_levels,
                    });
                }
            }
        }
    }
    found
}

/// The least variance at the worst look-up that any choice has, whatever it costs.
pub(super) fn least_noise(request: &Request, all: &Keys) -> Option<Variance> {
    let mut least: Option<f64> = None;
    for &glwe in all.glwe(request) {
        for keys in all.small(request) {
            let rotations = rotations(request, &glwe, keys[0].blocks);
            let quietest = rotations
                .iter()
                .map(|r| r.per_bit)
                .fold(f64::INFINITY, f64::min);
            for switch_levels in 1..=MOST_SWITCH_LEVELS {
                for key in keys {
                    let rest = Rest::new(request, &glwe, key, switch_levels);
                    let total = rest.total(request, quietest * key.blocks.dimension as f64);
                    least = Some(least.map_or(total, |least| least.min(total)));
                }
            }
        }
    }
    least.map(Variance)
}

/// The variances that a bootstrap adds besides the blind rotation.
struct Rest {
    key_switch: f64,
    modulus_switch: f64,
}

impl Rest {
    fn new(request: &Request, glwe: &GlweKey, key: &SmallKey, levels: usize) -> Self {
        let base = best_switch(request, glwe, key, levels);
        Self {
            key_switch: base.map_or(f64::INFINITY, |(_, variance)| variance),
            modulus_switch: modulus_switch_variance(
                ModulusSwitch::Centred,
                key.blocks,
                glwe.polynomial_size,
                small_torus_bits(request),
            )
            .0,
        }
    }

    fn total(&self, request: &Request, pbs: f64) -> f64 {
        let norm = request.norm_squared().0;
        match request.order {
            BootstrapOrder::KeySwitchFirst => norm * pbs + self.key_switch + self.modulus_switch,
            BootstrapOrder::BootstrapFirst => norm * (pbs + self.key_switch) + self.modulus_switch,
        }
    }
}

/// The key switch of `levels` levels with the base that makes its variance least, and this
/// variance.
pub(super) fn best_switch(
    request: &Request,
    glwe: &GlweKey,
    key: &SmallKey,
    levels: usize,
) -> Option<(Decomposition, f64)> {
    let shared = match request.secrets {
        Secrets::Shared => key.blocks.dimension,
        Secrets::Binary | Secrets::Blocks | Secrets::Ternary => 0,
    };
    let input = (glwe.glwe_dimension * glwe.polynomial_size).checked_sub(shared)?;
    let torus_bits = small_torus_bits(request);
    (1..=(torus_bits / levels as u32).min(16))
        .map(|base_log| {
            let decomposition = Decomposition::new(base_log, levels);
            let variance = key_switch_variance(&KeySwitchNoise {
                input_dimension: input,
                secret: glwe_secret(request),
                shared,
                input_torus_log2: request.torus_bits,
                output_torus_log2: torus_bits,
                key_variance: key.variance,
                gadget: decomposition.into(),
            });
            (decomposition, variance.0)
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// For every number of levels of mask and body, the bases with the least noise. They depend on the
/// GLWE key and the block size, but not on the dimension of the small key.
fn rotations(request: &Request, glwe: &GlweKey, blocks: KeyBlocks) -> Vec<Rotation> {
    let fresh = Variance(glwe.noise.variance(request.torus_bits));
    let bsk = GgswNoise {
        fresh: GlweNoise {
            secret: glwe_secret(request),
            glwe_dimension: glwe.glwe_dimension,
            polynomial_size: glwe.polynomial_size,
            variance: fresh,
            torus_log2: request.torus_bits,
        },
        rounding: KeyRounding::same(key_rounding(request, glwe, fresh)),
    };
    let (kind, fft) = match request.engine {
        Engine::TfheSbc => (BlindRotation::Blocks, FftErrorModel::Measured),
        Engine::TfheRs | Engine::Tfhepp => (
            BlindRotation::ControlledRotations,
            FftErrorModel::published_for_torus(request.torus_bits),
        ),
    };
    let per_bit = |mask: Decomposition, body: Decomposition| {
        let gadgets = GgswGadgets {
            mask: mask.into(),
            body: body.into(),
        };
        let transform = blind_rotation_fft_variance(kind, fft, blocks, &bsk.fresh, gadgets);
        let all = blind_rotation_variance(kind, blocks, &bsk, gadgets) + transform;
        all.0 / blocks.dimension as f64
    };
    let best = |levels, variance: &dyn Fn(Decomposition) -> f64| {
        (1..=(request.torus_bits / levels as u32).min(32))
            .map(|base_log| Decomposition::new(base_log, levels))
            .min_by(|&a, &b| variance(a).total_cmp(&variance(b)))
    };
    let mut found = Vec::new();
    for levels in 1..=MOST_LEVELS {
        match request.engine {
            Engine::TfheSbc => {
                // The variance is a sum of a part of the mask's and one of the body's.
                let any = Decomposition::new(1, 1);
                let Some(mask) = best(levels, &|mask| per_bit(mask, any)) else {
                    continue;
                };
                for body_levels in 1..=levels {
                    if let Some(body) = best(body_levels, &|body| per_bit(mask, body)) {
                        found.push((mask, body));
                    }
                }
            }
            Engine::TfheRs | Engine::Tfhepp => {
                found.extend(best(levels, &|both| per_bit(both, both)).map(|both| (both, both)));
            }
        }
    }
    found
        .into_iter()
        .map(|(mask, body)| Rotation {
            mask,
            body,
            per_bit: per_bit(mask, body),
        })
        .collect()
}

/// The variance that the rounding of the bootstrapping key adds to its noise: that of the bodies
/// ([`Parameters::implied_key_body_bits`](tfhe_sbc_core::parameters::Parameters::implied_key_body_bits)), and that of the key
/// in memory ([`PackedWidth::of_key`]).
fn key_rounding(request: &Request, glwe: &GlweKey, fresh: Variance) -> Variance {
    if request.engine != Engine::TfheSbc || request.torus_bits != 64 {
        return Variance::ZERO;
    }
    let of_bodies = (1..request.torus_bits)
        .map(truncation_variance)
        .find(|rounding| rounding.0 <= fresh.0 / 16.0)
        .unwrap_or(Variance::ZERO);
    let Ok(size) = PolynomialSize::new(glwe.polynomial_size) else {
        return of_bodies;
    };
    let (secret, k) = (glwe_secret(request), GlweDimension(glwe.glwe_dimension));
    let width = PackedWidth::of_key(secret, k, size, fresh.0, [of_bodies.0; 2]);
    let in_memory = width.map_or(0.0, |width| width.rounding_variance(secret, k, size));
    of_bodies + Variance(in_memory)
}
