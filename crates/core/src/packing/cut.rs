//! The rounding of packed ciphertexts.

use alloc::vec::Vec;

use super::SlotBits;
use crate::glwe::GlweCiphertext;
use crate::torus::Torus;

/// Rounds the masks of a packed ciphertext to `bits.mask` bits, and corrects the bodies for the mean of the
/// error. The bodies are not rounded: that happens when they are packed into bytes.
///
/// The rounding of the masks changes the phase by `-Σ E_i · S_i` with known errors `E_i`. A coefficient of
/// a binary secret is 1/2 and an unknown ±1/2. With all of them 1/2, coefficient `j` of the sum is
/// `Σ_{t≤j} e_t - (Σ_t e_t)/2`, `e` being the sum of all `E_i`; that is added to the body. What is left has
/// half of the variance, as in a [mean-compensated](crate::parameters::ModulusSwitch::MeanCompensated)
/// modulus switch (ePrint 2025/809).
pub fn cut(ciphertext: &mut GlweCiphertext<u32>, bits: SlotBits) {
    let size = ciphertext.polynomial_size().get();
    let mask_len = ciphertext.as_slice().len() - size;
    let (masks, body) = ciphertext.as_mut_slice().split_at_mut(mask_len);
    let mut errors: Vec<i64> = alloc::vec![0; size];
    for polynomial in masks.chunks_exact_mut(size) {
        for (a, error) in polynomial.iter_mut().zip(&mut errors) {
            let rounded = u32::from_top_bits(a.round_to_bits(bits.mask), bits.mask);
            *error += rounded.sub(*a).to_i64();
            *a = rounded;
        }
    }
    let total: i64 = errors.iter().sum();
    let mut up_to = 0;
    for (b, error) in body.iter_mut().zip(errors) {
        up_to += error;
        *b = b.add(u32::from_i64((2 * up_to - total).div_euclid(2)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::{GlweDimension, PolynomialSize};
    use crate::glwe::GlweSecretKey;
    use crate::parameters::GlweSecret;
    use crate::random::{ExpanderKind, MaskSeed, fill_uniform};

    fn variance(errors: &[f64]) -> f64 {
        errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64
    }

    /// The error has the variance `kN/4 · 2^(-2 bits)/12`, half of what rounding alone would leave.
    #[test]
    fn half_of_the_variance_of_the_rounding_is_left() {
        let size = PolynomialSize::new(256).unwrap();
        let bits = SlotBits { mask: 9, body: 32 };
        let (mut cut_errors, mut plain_errors) = (Vec::new(), Vec::new());
        for stream in 0..40 {
            let mut expander = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([3; 32]), stream);
            let key =
                GlweSecretKey::generate(GlweSecret::Binary, GlweDimension(4), size, &mut expander)
                    .prepare();
            let mut words = alloc::vec![0u32; 5 * 256];
            fill_uniform(&mut expander, &mut words);
            let original = GlweCiphertext::from_vec(words, size).unwrap();
            let mut compensated = original.clone();
            cut(&mut compensated, bits);
            let mut plain = original.clone();
            for a in &mut plain.as_mut_slice()[..1024] {
                *a = u32::from_top_bits(a.round_to_bits(9), 9);
            }
            assert_eq!(plain.as_slice()[..1024], compensated.as_slice()[..1024]);
            let exact = key.phase(&original);
            for (cut, errors) in [(compensated, &mut cut_errors), (plain, &mut plain_errors)] {
                let phases = key.phase(&cut);
                let pairs = phases.iter().zip(&exact);
                errors.extend(pairs.map(|(a, b)| a.sub(*b).to_signed_fraction()));
            }
        }
        let step = 1.0 / f64::from(1 << 18) / 12.0;
        let ratio = variance(&cut_errors) / (256.0 * step);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        let ratio = variance(&plain_errors) / (512.0 * step);
        assert!((0.8..1.2).contains(&ratio), "{ratio}");
        let mean = cut_errors.iter().sum::<f64>() / cut_errors.len() as f64;
        assert!(mean.abs() < 5e-4, "{mean}");
    }
}
