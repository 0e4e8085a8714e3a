//! Decryption by the owner of the secret key: from residues to slots.

use alloc::vec;
use alloc::vec::Vec;

use tfhe_sbc_core::simd::Isa;

use crate::encoding::computed_root;
use crate::error::KeyError;
use crate::modulus::Modulus;
use crate::ntt::{Ntt, Roots, least_primitive_root};
use crate::parameters::{MAX_DATA_PRIMES, ParametersError};
use crate::seal::{Ciphertext, SealError};
use crate::ternary::{SecretKey, unpack};

/// Decrypts a ciphertext to the real and imaginary parts of its `n / 2` slots, divided by its
/// scale.
///
/// The result reveals the noise too: see the crate's documentation. This function is for machines
/// of key owners: it is neither constant-time nor wipes its memory.
///
/// # Errors
/// If the key is of another size. A key of the right size that is not the ciphertext's yields
/// noise.
pub fn decrypt(
    key: SecretKey<'_>,
    ciphertext: &Ciphertext<'_>,
) -> Result<Vec<[f64; 2]>, SealError> {
    let parameters = ciphertext.parameters();
    let key = SecretKey::from_packed(parameters, key.packed()).map_err(|error| match error {
        KeyError::Length { .. } => SealError::OtherParameters,
        other => other.into(),
    })?;
    let n = parameters.polynomial_size();
    let primes = &parameters.data_primes()[..ciphertext.prime_count()];
    let ntts = ntts(primes, parameters.log_n())?;

    // The powers of the secret by which polynomials are multiplied, in Montgomery form.
    let mut secret = vec![0; n * primes.len()];
    for (ntt, secret) in ntts.iter().zip(secret.chunks_exact_mut(n)) {
        unpack(ntt.modulus(), key.packed(), secret);
        ntt.forward(Roots::OnTheFly, secret);
        let modulus = ntt.modulus();
        secret
            .iter_mut()
            .for_each(|s| *s = modulus.to_montgomery(*s));
    }
    let mut power: Vec<u32> = Vec::with_capacity(secret.len());
    for ntt in &ntts {
        power.resize(power.len() + n, ntt.modulus().one());
    }
    let mut phase = vec![0; n * primes.len()];
    let (mut at, mut of) = (0, 0);
    let add = |polynomial: usize, prime: usize, chunk: &[u32; crate::mask::CHUNK]| {
        if polynomial != of {
            (at, of) = (0, polynomial);
            raise(&ntts, &secret, &mut power);
        }
        let modulus = ntts[prime].modulus();
        let place = at..at + chunk.len();
        let sums = phase[place.clone()].iter_mut().zip(&power[place]);
        for ((sum, &power), &residue) in sums.zip(chunk) {
            *sum = modulus.add(*sum, modulus.mul(residue, power));
        }
        at += chunk.len();
        Ok::<_, SealError>(())
    };
    ciphertext.residues(add)?;
    for (ntt, phase) in ntts.iter().zip(phase.chunks_exact_mut(n)) {
        ntt.inverse(Roots::OnTheFly, phase);
    }

    let garner = Garner::new(primes);
    let mut coefficients: Vec<f64> = (0..n)
        .map(|i| {
            garner.centred(core::array::from_fn(|p| {
                phase.get(p * n + i).copied().unwrap_or(0)
            }))
        })
        .collect();
    Ok(decode(&mut coefficients, ciphertext.scale()))
}

fn ntts(primes: &[u32], log_n: u32) -> Result<Vec<Ntt>, ParametersError> {
    let ntt = |&prime: &u32| {
        let modulus = Modulus::new(prime);
        let root = least_primitive_root(modulus, log_n)
            .ok_or(ParametersError::NoTransform(u64::from(prime)))?;
        Ok(Ntt::new(modulus, log_n, root, Isa::detect()))
    };
    primes.iter().map(ntt).collect()
}

/// Replaces a power of the secret by the next one.
fn raise(ntts: &[Ntt], secret: &[u32], power: &mut [u32]) {
    let n = secret.len() / ntts.len();
    let each = power.chunks_exact_mut(n).zip(secret.chunks_exact(n));
    for (ntt, (power, secret)) in ntts.iter().zip(each) {
        for (power, &secret) in power.iter_mut().zip(secret) {
            *power = ntt.modulus().mul(*power, secret);
        }
    }
}

/// The reconstruction of numbers from residues, by mixed radix digits (Garner 1959).
struct Garner {
    moduli: Vec<Modulus>,
    /// At `[i][j]` the inverse of prime `j` modulo prime `i`, in Montgomery form.
    inverses: Vec<Vec<u32>>,
}

impl Garner {
    fn new(primes: &[u32]) -> Self {
        let moduli: Vec<_> = primes.iter().map(|&prime| Modulus::new(prime)).collect();
        let inverses = moduli.iter().enumerate().map(|(i, modulus)| {
            let before = primes[..i].iter();
            before
                .map(|&prime| {
                    let residue = modulus.reduce(u64::from(prime));
                    modulus.invert(modulus.to_montgomery(residue))
                })
                .collect()
        });
        Self {
            inverses: inverses.collect(),
            moduli,
        }
    }

    /// Returns the number nearest to zero that has these residues, to the precision of doubles.
    fn centred(&self, mut residues: [u32; MAX_DATA_PRIMES]) -> f64 {
        let value = |digits: [u32; MAX_DATA_PRIMES]| {
            let each = self.moduli.iter().zip(digits).rev();
            each.fold(0.0, |value, (modulus, digit)| {
                value * f64::from(modulus.value()) + f64::from(digit)
            })
        };
        let digits = self.digits(residues);
        let last = self.moduli.len() - 1;
        // Only for a number very near to half the modulus do lower digits decide; it is wrong anyway.
        if digits[last] <= self.moduli[last].value() / 2 {
            return value(digits);
        }
        for (residue, modulus) in residues.iter_mut().zip(&self.moduli) {
            *residue = modulus.sub(0, *residue);
        }
        -value(self.digits(residues))
    }

    fn digits(&self, residues: [u32; MAX_DATA_PRIMES]) -> [u32; MAX_DATA_PRIMES] {
        let mut digits = [0; MAX_DATA_PRIMES];
        for (i, (modulus, inverses)) in self.moduli.iter().zip(&self.inverses).enumerate() {
            digits[i] =
                inverses
                    .iter()
                    .zip(&digits)
                    .fold(residues[i], |rest, (&inverse, &digit)| {
                        let digit = modulus.reduce(u64::from(digit));
                        modulus.mul(modulus.sub(rest, digit), inverse)
                    });
        }
        digits
    }
}

/// Returns the values of a polynomial at `ζ^(3^i)`, divided by `scale`. The transform goes down the
/// tree that the encoding goes up.
fn decode(coefficients: &mut [f64], scale: f64) -> Vec<[f64; 2]> {
    let slot_count = coefficients.len() / 2;
    let (re, im) = coefficients.split_at_mut(slot_count);
    let (mut half, mut nodes) = (slot_count / 2, 1);
    while half > 0 {
        let blocks = re
            .chunks_exact_mut(2 * half)
            .zip(im.chunks_exact_mut(2 * half));
        for (node, (re, im)) in blocks.enumerate() {
            // The root of the second of two siblings is i times the root of the first.
            let (cos, sin) = computed_root((nodes + node) / 2);
            let (cos, sin) = match node % 2 {
                0 => (cos, sin),
                _ => (-sin, cos),
            };
            let (re_low, re_high) = re.split_at_mut(half);
            let (im_low, im_high) = im.split_at_mut(half);
            for j in 0..half {
                let product = [
                    re_high[j] * cos - im_high[j] * sin,
                    re_high[j] * sin + im_high[j] * cos,
                ];
                (re_high[j], im_high[j]) = (re_low[j] - product[0], im_low[j] - product[1]);
                (re_low[j], im_low[j]) = (re_low[j] + product[0], im_low[j] + product[1]);
            }
        }
        half /= 2;
        nodes *= 2;
    }
    let order = 4 * slot_count;
    let shift = usize::BITS - slot_count.ilog2();
    let mut exponent = 1;
    (0..slot_count)
        .map(|_| {
            let (leaf_exponent, sign) = match exponent % 4 {
                1 => (exponent, 1.0),
                _ => (order - exponent, -1.0),
            };
            let leaf = (leaf_exponent / 4).reverse_bits() >> shift;
            exponent = exponent * 3 % order;
            [re[leaf] / scale, sign * im[leaf] / scale]
        })
        .collect()
}
