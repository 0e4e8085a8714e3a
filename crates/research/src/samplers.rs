//! The Gaussian samplers of other libraries, to compare with the one of `tfhe_sbc_core`.
//!
//! **Variable-time**: the time of both depends on what they draw, so neither may draw the noise of an
//! encryption. [`add_noise`](tfhe_sbc_core::random::add_noise) is what encrypts.
//!
//! - [`add_gaussian_polar_vartime`]: Marsaglia and Bray, "A convenient method for generating normal
//!   variables", 1964, with the standard library's `ln`. C++'s `normal_distribution` is this method.
//! - [`add_gaussian_ziggurat_vartime`]: Marsaglia and Tsang, "The ziggurat method for generating
//!   random variables", 2000, with 256 layers, in the form of Doornik's ZIGNOR ("An improved ziggurat
//!   method to generate normal random samples", 2005), which takes the layer and the abscissa from
//!   different bits.
//!
//! `firmware/count` includes this file too, so it uses nothing else of this crate.

use std::sync::LazyLock;

use tfhe_sbc_core::random::Expander;
use tfhe_sbc_core::torus::Torus;

/// Adds `round(standard_deviation * q * z)` to every element, `z` standard normal.
///
/// The method draws a point outside the unit disc, one in five, again. The values depend on the
/// platform's `ln`.
///
/// # Panics
///
/// If `standard_deviation` is not in `[0, 1/2]`.
pub fn add_gaussian_polar_vartime<T: Torus>(
    standard_deviation: f64,
    expander: &mut impl Expander,
    values: &mut [T],
) {
    let scale = scale_of::<T>(standard_deviation);
    let mut words = Words::new(expander);
    for pair in values.chunks_mut(2) {
        let variates = polar_pair(&mut words);
        for (value, z) in pair.iter_mut().zip(variates) {
            add_rounded(value, z, scale);
        }
    }
}

fn polar_pair(words: &mut Words<'_, impl Expander>) -> [f64; 2] {
    loop {
        let [x, y] = [words.unit(), words.unit()].map(|u| 2.0 * u - 1.0);
        let square = x * x + y * y;
        if square < 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            return [x * factor, y * factor];
        }
    }
}

/// The number of layers of equal area under `exp(-x^2/2)`, the one with the tail included.
const LAYERS: usize = 256;

/// The abscissa at which the tail begins, for 256 layers (Marsaglia and Tsang, section 3).
const TAIL_START: f64 = 3.654_152_885_361_009;

/// The area of a layer.
const LAYER_AREA: f64 = 0.004_928_673_233_974_655;

/// The right ends of the layers, outermost first, and the density at each. Layer 0 is the base: its
/// end is that of a rectangle with the area of base and tail together.
struct Layers {
    ends: [f64; LAYERS + 1],
    densities: [f64; LAYERS + 1],
}

static LAYER_TABLE: LazyLock<Layers> = LazyLock::new(|| {
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
/// Of 100 variates 99 take one word and no logarithm, the others more. The values depend on the
/// platform's `ln` and `exp`.
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
        add_rounded(value, ziggurat_normal(layers, &mut words), scale);
    }
}

fn ziggurat_normal(layers: &Layers, words: &mut Words<'_, impl Expander>) -> f64 {
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

/// Bytes read from the expander at a time.
const CHUNK_BYTES: usize = 1024;

/// The uniform words of an expander's stream, read [`CHUNK_BYTES`] at a time. The unused words of the
/// last read are dropped.
struct Words<'e, E> {
    expander: &'e mut E,
    bytes: [u8; CHUNK_BYTES],
    used: usize,
}

impl<'e, E: Expander> Words<'e, E> {
    fn new(expander: &'e mut E) -> Self {
        Self {
            expander,
            bytes: [0; CHUNK_BYTES],
            used: CHUNK_BYTES,
        }
    }

    /// The next little-endian word.
    fn word(&mut self) -> u64 {
        if self.used == CHUNK_BYTES {
            self.expander.fill(&mut self.bytes);
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[self.used..self.used + 8]);
        self.used += 8;
        u64::from_le_bytes(word)
    }

    /// Uniform in (0, 1), from the top 53 bits of a word.
    fn unit(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) * exp2_neg(53)
    }
}

/// Adds `round(z * scale)` mod q; `scale` is the standard deviation in steps of q.
fn add_rounded<T: Torus>(value: &mut T, z: f64, scale: f64) {
    *value = value.add(T::from_i64((z * scale).round_ties_even() as i128 as i64));
}

/// The standard deviation in steps of q.
fn scale_of<T: Torus>(standard_deviation: f64) -> f64 {
    assert!(
        (0.0..=0.5).contains(&standard_deviation),
        "a standard deviation is between 0 and 1/2 of the torus"
    );
    standard_deviation / exp2_neg(T::BITS)
}

/// Returns `2^-bits`, for at most 1022 bits.
const fn exp2_neg(bits: u32) -> f64 {
    f64::from_bits((1023 - bits as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_within(what: &str, seen: f64, expected: f64, tolerance: f64) {
        assert!(
            (seen - expected).abs() <= tolerance,
            "{what}: {seen} is not within {tolerance} of {expected}"
        );
    }

    /// All layers have the same area, the outermost with the tail, and they end at the top.
    #[test]
    fn the_layers_fit() {
        let layers = &*LAYER_TABLE;
        for i in 1..256 {
            let area = layers.ends[i] * (layers.densities[i + 1] - layers.densities[i]);
            assert_within("area", area / LAYER_AREA, 1.0, 1e-8);
        }
        assert_eq!((layers.ends[256], layers.densities[256]), (0.0, 1.0));
        // The tail by Simpson's rule, to 12 standard deviations.
        let steps = 1 << 14;
        let step = (12.0 - TAIL_START) / f64::from(steps);
        let tail: f64 = (0..=steps)
            .map(|i| {
                let x = TAIL_START + step * f64::from(i);
                let weight = match i {
                    0 => 1.0,
                    _ if i == steps => 1.0,
                    _ if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * (-0.5 * x * x).exp() * step / 3.0
            })
            .sum();
        let base = TAIL_START * layers.densities[1] + tail;
        assert_within("base", base / LAYER_AREA, 1.0, 1e-9);
    }
}
