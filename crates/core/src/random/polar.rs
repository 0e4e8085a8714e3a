//! Gaussian noise by Marsaglia's polar method (Marsaglia and Bray, "A convenient
//! method for generating normal variables", 1964), with the standard library's `ln`.

use super::expander::Expander;
use super::vartime::{Words, add_rounded, scale_of};
use crate::torus::Torus;

/// Adds `round(standard_deviation * q * z)` to every element, `z` standard normal.
///
/// **Variable-time**: a point outside the unit disc, one in five, is drawn again.
/// For comparisons only; [`add_noise`](super::add_noise) is what encrypts. Its values
/// depend on the platform's `ln`.
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
        let variates = normal_pair(&mut words);
        for (value, z) in pair.iter_mut().zip(variates) {
            add_rounded(value, z, scale);
        }
    }
}

fn normal_pair(words: &mut Words<'_, impl Expander>) -> [f64; 2] {
    loop {
        let [x, y] = [words.unit(), words.unit()].map(|u| 2.0 * u - 1.0);
        let square = x * x + y * y;
        if square < 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            return [x * factor, y * factor];
        }
    }
}
