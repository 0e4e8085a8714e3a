//! Gaussian noise by the Ziggurat (Marsaglia and Tsang, "The ziggurat method for
//! generating random variables", 2000) with 256 layers, in the form of Doornik's ZIGNOR
//! ("An improved ziggurat method to generate normal random samples", 2005), which takes
//! layer and abscissa from different bits.

use std::sync::LazyLock;

use super::expander::Expander;
use super::vartime::{Words, add_rounded, scale_of};
use crate::torus::{Torus, exp2_neg};

/// Layers of equal area under `exp(-x^2/2)`, the tail's among them.
const LAYERS: usize = 256;

/// Where the tail begins, for 256 layers (Marsaglia and Tsang, section 3).
pub(super) const TAIL_START: f64 = 3.654_152_885_361_009;

/// The area of a layer.
pub(super) const LAYER_AREA: f64 = 0.004_928_673_233_974_655;

/// The right ends of the layers, outermost first, and the density there. Layer 0 is the
/// base: as wide as a rectangle of its area, the tail included.
pub(super) struct Layers {
    pub(super) ends: [f64; LAYERS + 1],
    pub(super) densities: [f64; LAYERS + 1],
}

pub(super) static LAYER_TABLE: LazyLock<Layers> = LazyLock::new(|| {
    let mut ends = [0.0; LAYERS + 1];
    ends[0] = LAYER_AREA / density(TAIL_START);
    ends[1] = TAIL_START;
    for i in 2..LAYERS {
        let height = density(ends[i - 1]) + LAYER_AREA / ends[i - 1];
        ends[i] = (-2.0 * height.ln()).sqrt();
    }
    Layers {
        ends,
        densities: ends.map(density),
    }
});

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

/// Adds `round(standard_deviation * q * z)` to every element, `z` standard normal.
///
/// **Variable-time**: 99 of 100 variates need one word and no logarithm, the others
/// more. For comparisons only; [`add_noise`](super::add_noise) is what encrypts. Its
/// values depend on the platform's `ln` and `exp`.
///
/// # Panics
///
/// If `standard_deviation` is not in `[0, 1/2]`.
pub fn add_gaussian_ziggurat_vartime<T: Torus>(
    standard_deviation: f64,
    expander: &mut impl Expander,
    values: &mut [T],
) {
    let scale = scale_of::<T>(standard_deviation);
    let layers = &*LAYER_TABLE;
    let mut words = Words::new(expander);
    for value in values {
        add_rounded(value, normal(layers, &mut words), scale);
    }
}

fn normal(layers: &Layers, words: &mut Words<'_, impl Expander>) -> f64 {
    loop {
        let word = words.word();
        let layer = (word & 255) as usize;
        // The top 55 bits as a signed fraction in (-1, 1), never 0.
        let fraction = ((word as i64 >> 9) as f64 + 0.5) * exp2_neg(54);
        let x = fraction * layers.ends[layer];
        if x.abs() < layers.ends[layer + 1] {
            return x;
        }
        if layer == 0 {
            return tail(words).copysign(x);
        }
        let low = layers.densities[layer];
        let high = layers.densities[layer + 1];
        if low + words.unit() * (high - low) < density(x) {
            return x;
        }
    }
}

/// A variate beyond [`TAIL_START`] (Marsaglia, "Generating a variable from the tail of
/// the normal distribution", 1964).
fn tail(words: &mut Words<'_, impl Expander>) -> f64 {
    loop {
        let x = -words.unit().ln() / TAIL_START;
        let y = -words.unit().ln();
        if 2.0 * y > x * x {
            return TAIL_START + x;
        }
    }
}
