//! The noise of public-key encryption and of the switch between device keys, measured on slow
//! textbook versions of both, mod 2^64. The bits of a key have the mean 1/2, so that the errors of
//! the coefficients of one ciphertext are correlated: the test needs hundreds of ciphertexts, not
//! of coefficients.

use tfhe_sbc_core::parameters::Decomposition;
use tfhe_sbc_core::random::{
    ExpanderKind, NoiseDistribution, Seed, SeedSequence, add_noise, fill_uniform,
};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_oracle::noise::{GlweNoise, GlweSecret, Variance};
use tfhe_sbc_oracle::statistics::variance_within;
use tfhe_sbc_oracle::upload::{
    glwe_key_switch_variance, mask_rounding_variance, public_key_variance,
};

const SIZE: usize = 256;
const K: usize = 2;
/// 2^-44.
const SIGMA: f64 = 5.684_341_886_080_802e-14;

type Polynomial = Vec<u64>;

struct Source(SeedSequence);

impl Source {
    fn uniform(&mut self) -> Polynomial {
        let (seed, _) = self.0.next_pair().unwrap();
        let mut out = vec![0; SIZE];
        fill_uniform(&mut ExpanderKind::ChaCha20.mask_stream(&seed, 0), &mut out);
        out
    }

    fn bits(&mut self) -> Polynomial {
        self.uniform().into_iter().map(|word| word >> 63).collect()
    }

    /// Coefficients of a key, mod 2^64.
    fn key(&mut self, secret: GlweSecret) -> Polynomial {
        let third = |word: u64| ((u128::from(word) * 3) >> 64) as u64;
        match secret {
            GlweSecret::Binary => self.bits(),
            GlweSecret::Ternary => {
                let words = self.uniform().into_iter();
                words.map(|word| third(word).wrapping_sub(1)).collect()
            }
        }
    }

    fn with_noise(&mut self, mut polynomial: Polynomial) -> Polynomial {
        let (_, seed) = self.0.next_pair().unwrap();
        let gaussian = NoiseDistribution::Gaussian {
            standard_deviation: SIGMA,
        };
        let mut stream = ExpanderKind::ChaCha20.noise_stream(&seed, 0);
        add_noise(gaussian, &mut stream, &mut polynomial);
        polynomial
    }

    fn noise(&mut self) -> Polynomial {
        self.with_noise(vec![0; SIZE])
    }
}

/// `sum += a · b` mod X^N + 1.
fn add_product(sum: &mut [u64], a: &[u64], b: &[u64]) {
    for (i, &b) in b.iter().enumerate().filter(|(_, b)| **b != 0) {
        for (j, &a) in a.iter().enumerate() {
            let product = a.wrapping_mul(b);
            let at = i + j;
            if at < SIZE {
                sum[at] = sum[at].wrapping_add(product);
            } else {
                sum[at - SIZE] = sum[at - SIZE].wrapping_sub(product);
            }
        }
    }
}

/// A GLWE encryption of `message`: k masks and a body.
fn encrypt(source: &mut Source, key: &[Polynomial], message: Polynomial) -> Vec<Polynomial> {
    let masks: Vec<_> = key.iter().map(|_| source.uniform()).collect();
    let mut body = source.with_noise(message);
    for (mask, bits) in masks.iter().zip(key) {
        add_product(&mut body, mask, bits);
    }
    masks.into_iter().chain([body]).collect()
}

fn phase(key: &[Polynomial], glwe: &[Polynomial]) -> Vec<f64> {
    let mut products = vec![0; SIZE];
    for (mask, bits) in glwe.iter().zip(key) {
        add_product(&mut products, mask, bits);
    }
    glwe[key.len()]
        .iter()
        .zip(products)
        .map(|(body, product)| body.wrapping_sub(product).to_signed_fraction())
        .collect()
}

fn shape(k: usize) -> GlweNoise {
    GlweNoise {
        secret: GlweSecret::Binary,
        glwe_dimension: k,
        polynomial_size: SIZE,
        variance: Variance::from_standard_deviation(SIGMA),
        torus_log2: 64,
    }
}

fn check(what: &str, errors: &[f64], predicted: Variance) {
    let check = variance_within(errors, predicted, 0.1);
    println!("{what}: {:.4}", check.ratio);
    assert!(check.within, "{what}: {check:?}");
}

#[test]
fn public_key_encryptions() {
    public_key_encryptions_under(GlweSecret::Binary);
    public_key_encryptions_under(GlweSecret::Ternary);
}

fn public_key_encryptions_under(secret: GlweSecret) {
    let shape = GlweNoise { secret, ..shape(K) };
    let mut source = Source(SeedSequence::new(Seed::from_bytes([61; 32])));
    let (mut whole, mut rounded) = (Vec::new(), Vec::new());
    // Rounding errors of the size of the rest.
    const MASK_BITS: u32 = 42;
    for _ in 0..30 {
        let key: Vec<_> = (0..K).map(|_| source.key(secret)).collect();
        let rows: Vec<_> = (0..K)
            .map(|_| encrypt(&mut source, &key, vec![0; SIZE]))
            .collect();
        for _ in 0..40 {
            let selectors: Vec<_> = rows.iter().map(|_| source.key(secret)).collect();
            let mut ciphertext: Vec<_> = (0..=K).map(|_| source.noise()).collect();
            for (row, bits) in rows.iter().zip(&selectors) {
                for (component, row) in ciphertext.iter_mut().zip(row) {
                    add_product(component, row, bits);
                }
            }
            whole.extend(phase(&key, &ciphertext));
            for coefficient in ciphertext[..K].iter_mut().flatten() {
                *coefficient = u64::from_top_bits(coefficient.round_to_bits(MASK_BITS), MASK_BITS);
            }
            rounded.extend(phase(&key, &ciphertext));
        }
    }
    let predicted = public_key_variance(&shape);
    check(&format!("public key, {secret:?}"), &whole, predicted);
    let rounding = mask_rounding_variance(&shape, MASK_BITS);
    assert!(
        (0.2..5.0).contains(&(rounding.0 / predicted.0)),
        "out of proportion"
    );
    check("rounded mask", &rounded, predicted + rounding);
}

/// The signed digits of `value`, most significant first, rounded to nearest.
fn digits(value: u64, decomposition: Decomposition) -> Vec<u64> {
    let (log, levels) = (decomposition.base_log.0, decomposition.level_count.0);
    let mut rest = value.round_to_bits(log * levels as u32);
    let mut digits = vec![0; levels];
    for digit in digits.iter_mut().rev() {
        let low = rest & ((1 << log) - 1);
        rest >>= log;
        let negative = low >> (log - 1);
        rest += negative;
        *digit = low.wrapping_sub(negative << log);
    }
    digits
}

#[test]
fn switches_between_device_keys() {
    // The key's noise counts, the rounding counts, both.
    for decomposition in [
        Decomposition::new(12, 3),
        Decomposition::new(8, 2),
        Decomposition::new(21, 1),
    ] {
        let mut source = Source(SeedSequence::new(Seed::from_bytes([62; 32])));
        let levels = decomposition.level_count.0;
        let mut errors = Vec::new();
        for _ in 0..12 {
            let from: Vec<_> = (0..K).map(|_| source.bits()).collect();
            let to: Vec<_> = (0..K).map(|_| source.bits()).collect();
            let mut switching_key = Vec::new();
            for bits in &from {
                for level in 1..=levels as u32 {
                    let shift = 64 - decomposition.base_log.0 * level;
                    let message = bits.iter().map(|bit| bit << shift).collect();
                    switching_key.push(encrypt(&mut source, &to, message));
                }
            }
            for _ in 0..40 {
                let input = encrypt(&mut source, &from, vec![0; SIZE]);
                let before = phase(&from, &input);
                let mut output = vec![vec![0; SIZE]; K];
                output.push(input[K].clone());
                for (i, mask) in input[..K].iter().enumerate() {
                    let digits: Vec<_> = mask.iter().map(|&a| digits(a, decomposition)).collect();
                    for level in 0..levels {
                        let negated: Polynomial =
                            digits.iter().map(|d| d[level].wrapping_neg()).collect();
                        let row = &switching_key[i * levels + level];
                        for (component, row) in output.iter_mut().zip(row) {
                            add_product(component, row, &negated);
                        }
                    }
                }
                let after = phase(&to, &output);
                errors.extend(after.iter().zip(before).map(|(a, b)| a - b));
            }
        }
        let predicted = glwe_key_switch_variance(&shape(K), decomposition);
        check(&format!("{decomposition:?}"), &errors, predicted);
    }
}
