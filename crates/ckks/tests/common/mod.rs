//! The reference that the tests compare with: decryption and decoding by the definitions, without a
//! line of the crate's arithmetic.
#![allow(dead_code, reason = "each test program takes what it needs")]

#[path = "../../../../tests/vectors/mod.rs"]
mod vectors;

use std::f64::consts::PI;

use tfhe_sbc_ckks::{
    CkksError, Encryptor, Format, KeyMode, MemoryPlan, Parameters, PublicEncryptor, PublicKey,
    SealGenerator, SecretKey, Seed, SeedSequence, Slots, packed_bytes, workspace_bytes,
};
use tfhe_sbc_core::random::{Expander, SealPrng};
use tfhe_sbc_core::workspace::HeapWorkspace;

/// SEAL-Embedded's scale.
pub(crate) const SCALE: f64 = (1 << 25) as f64;

/// Reads a file of Microsoft SEAL or of SEAL-Embedded.
pub(crate) fn vector(name: &str) -> Vec<u8> {
    vectors::seal(name)
}

/// The values that `ct_sym_seeded_37.seal` holds.
pub(crate) fn vector_values() -> Vec<f64> {
    let value = |i: i32| 3.0 * (0.01 * f64::from(i)).sin() + f64::from(i) / 512.0 - 2.0;
    (0..2048).map(value).collect()
}

pub(crate) fn seeds(number: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([number; 32]))
}

/// A secret key that everybody knows.
pub(crate) fn secret_key(parameters: &Parameters) -> Vec<u8> {
    let mut packed = vec![0; packed_bytes(parameters.polynomial_size())];
    SecretKey::generate(parameters, &mut seeds(200), &mut packed).unwrap();
    packed
}

/// The coefficients of a packed key.
pub(crate) fn ternary(packed: &[u8]) -> Vec<i64> {
    let coefficient = |i: usize| i64::from(packed[i / 4] >> (6 - 2 * (i % 4)) & 3) - 1;
    (0..4 * packed.len()).map(coefficient).collect()
}

#[allow(clippy::too_many_arguments, reason = "all that decides the bytes")]
pub(crate) fn encrypt(
    parameters: &Parameters,
    key: &[u8],
    plan: MemoryPlan,
    generator: SealGenerator,
    seeds: SeedSequence,
    slots: Slots<'_>,
    scale: f64,
    format: Format,
) -> Result<Vec<u8>, CkksError> {
    let mut workspace = HeapWorkspace::new(workspace_bytes(parameters, plan, KeyMode::Symmetric));
    workspace.as_mut_slice().fill(0xa5);
    let key = SecretKey::from_packed(parameters, key)?;
    let workspace = workspace.as_mut_slice();
    let mut encryptor = Encryptor::new(parameters, key, plan, generator, seeds, workspace)?;
    let mut out = Vec::new();
    let len = encryptor.encrypt(slots, scale, format, &mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    assert_eq!(len, out.len());
    Ok(out)
}

pub(crate) fn encrypt_public(
    parameters: &Parameters,
    key: PublicKey<'_>,
    plan: MemoryPlan,
    seeds: SeedSequence,
    slots: Slots<'_>,
    scale: f64,
    format: Format,
) -> Result<Vec<u8>, CkksError> {
    let mut workspace = HeapWorkspace::new(workspace_bytes(parameters, plan, KeyMode::Public));
    workspace.as_mut_slice().fill(0xa5);
    let workspace = workspace.as_mut_slice();
    let mut encryptor = PublicEncryptor::new(parameters, key, plan, seeds, workspace)?;
    let mut out = Vec::new();
    let len = encryptor.encrypt(slots, scale, format, &mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    assert_eq!(len, out.len());
    Ok(out)
}

/// `[polynomial][prime][value]` of a ciphertext in any form.
pub(crate) type Residues = [Vec<Vec<u64>>; 2];

/// Bytes of a ciphertext before its words, in the form of version 3.7.
pub(crate) const PREFIX: usize = 16 + 32 + 1 + 4 * 8 + 16 + 8;

pub(crate) fn residues(parameters: &Parameters, format: Format, bytes: &[u8]) -> Residues {
    let (n, count) = (parameters.polynomial_size(), parameters.data_prime_count());
    let words = |bytes: &[u8]| -> Vec<Vec<u64>> {
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        words.chunks(n).map(<[u64]>::to_vec).collect()
    };
    match format {
        Format::Seal => {
            let mut first = words(&bytes[PREFIX..]);
            let second = first.split_off(count);
            [first, second]
        }
        Format::SealSeeded => {
            let first = words(&bytes[PREFIX..][..8 * n * count]);
            let trailer = &bytes[bytes.len() - 65..];
            let generator = match trailer[0] {
                1 => SealGenerator::Blake2xb,
                2 => SealGenerator::Shake256,
                other => panic!("generator {other}"),
            };
            [first, expanded(parameters, generator, &trailer[1..])]
        }
        Format::Raw => {
            let polynomials: Vec<Vec<u64>> = bytes
                .chunks(4 * n)
                .map(|bytes| {
                    let words = bytes.as_chunks().0.iter();
                    words
                        .map(|word| u64::from(u32::from_le_bytes(*word)))
                        .collect()
                })
                .collect();
            let every_other = |first| polynomials.iter().skip(first).step_by(2).cloned().collect();
            [every_other(0), every_other(1)]
        }
    }
}

/// A mask out of its seed; words that SEAL draws again are too rare to matter here.
fn expanded(parameters: &Parameters, generator: SealGenerator, seed: &[u8]) -> Vec<Vec<u64>> {
    let mut stream = SealPrng::new(generator, seed.try_into().unwrap(), 0);
    let mut word = || {
        let mut bytes = [0; 8];
        stream.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    };
    let primes = parameters.data_primes().iter();
    let n = parameters.polynomial_size();
    primes
        .map(|&q| (0..n).map(|_| word() % u64::from(q)).collect())
        .collect()
}

fn multiply(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

fn power(base: u64, exponent: u64, q: u64) -> u64 {
    let bits = (0..64 - exponent.leading_zeros()).rev();
    bits.fold(1, |result, bit| {
        let square = multiply(result, result, q);
        if exponent >> bit & 1 == 1 {
            multiply(square, base, q)
        } else {
            square
        }
    })
}

/// A prime's transform with all roots from scratch.
pub(crate) struct SlowNtt {
    q: u64,
    n: usize,
    root: u64,
}

impl SlowNtt {
    pub(crate) fn new(q: u64, n: usize) -> Self {
        let cofactor = (q - 1) / (2 * n as u64);
        let any = (2..)
            .map(|base| power(base, cofactor, q))
            .find(|&root| power(root, n as u64, q) == q - 1)
            .unwrap();
        let odd = (0..n as u64).map(|i| power(any, 2 * i + 1, q));
        let root = odd.min().unwrap();
        Self { q, n, root }
    }

    fn exponent(&self, node: usize) -> u64 {
        (node.reverse_bits() >> (usize::BITS - self.n.ilog2())) as u64
    }

    pub(crate) fn forward(&self, polynomial: &[i64]) -> Vec<u64> {
        let q = self.q;
        let mut x: Vec<u64> = polynomial
            .iter()
            .map(|&c| c.rem_euclid(q as i64) as u64)
            .collect();
        let (mut nodes, mut half) = (1, self.n / 2);
        while nodes < self.n {
            for i in 0..nodes {
                let root = power(self.root, self.exponent(nodes + i), q);
                for j in 2 * i * half..(2 * i + 1) * half {
                    let (a, b) = (x[j], multiply(x[j + half], root, q));
                    (x[j], x[j + half]) = ((a + b) % q, (a + q - b) % q);
                }
            }
            (nodes, half) = (2 * nodes, half / 2);
        }
        x
    }

    pub(crate) fn inverse(&self, values: &[u64]) -> Vec<u64> {
        let (q, mut x) = (self.q, values.to_vec());
        let (mut nodes, mut half) = (self.n / 2, 1);
        let inverse = |a| power(a, q - 2, q);
        while nodes > 0 {
            for i in 0..nodes {
                let root = inverse(power(self.root, self.exponent(nodes + i), q));
                for j in 2 * i * half..(2 * i + 1) * half {
                    let (a, b) = (x[j], x[j + half]);
                    (x[j], x[j + half]) = ((a + b) % q, multiply((a + q - b) % q, root, q));
                }
            }
            (nodes, half) = (nodes / 2, 2 * half);
        }
        let scale = inverse(self.n as u64);
        x.iter().map(|&value| multiply(value, scale, q)).collect()
    }
}

/// SEAL's file of a public key `(-(a·s + e), a)`, with an error that everybody knows.
pub(crate) fn seal_public_key(parameters: &Parameters, secret: &[i64]) -> Vec<u8> {
    let (n, primes) = (parameters.polynomial_size(), parameters.key_prime_count());
    let error: Vec<i64> = (0..n as i64).map(|i| i * 7919 % 7 - 3).collect();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for q in parameters.key_primes() {
        let ntt = SlowNtt::new(q, n);
        let wide = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(q)) as u64;
        let (s, e) = (ntt.forward(secret), ntt.forward(&error));
        for j in 0..n {
            let a = wide(
                0x9e37_79b9_7f4a_7c15 % q,
                wide(j as u64 * j as u64 + 977, 1 << 29),
            );
            first.extend(((2 * q - wide(a, s[j]) - e[j]) % q).to_le_bytes());
            second.extend(a.to_le_bytes());
        }
    }
    let header = |total: usize| {
        let mut header = vec![0x5e, 0xa1, 16, 3, 7, 0, 0, 0];
        header.extend((total as u64).to_le_bytes());
        header
    };
    let words = first.len() + second.len();
    let mut file = header(PREFIX + words);
    file.extend(tfhe_sbc_ckks::seal::parms_id(
        parameters,
        tfhe_sbc_ckks::seal::Level::Key,
    ));
    file.push(1);
    for number in [2, n as u64, primes as u64, 1f64.to_bits()] {
        file.extend(number.to_le_bytes());
    }
    file.extend(header(24 + words));
    file.extend((words as u64 / 8).to_le_bytes());
    file.extend(first);
    file.extend(second);
    file
}

/// `c0 + c1·s` as integers, which all primes have to agree on.
pub(crate) fn decrypt(parameters: &Parameters, residues: &Residues, secret: &[i64]) -> Vec<i64> {
    let primes: Vec<u64> = parameters
        .data_primes()
        .iter()
        .map(|&q| u64::from(q))
        .collect();
    let n = parameters.polynomial_size();
    let phases: Vec<Vec<u64>> = (0..primes.len())
        .map(|i| {
            let (q, ntt) = (primes[i], SlowNtt::new(primes[i], n));
            let secret = ntt.forward(secret);
            let value = |j: usize| (residues[0][i][j] + residues[1][i][j] * secret[j] % q) % q;
            ntt.inverse(&(0..n).map(value).collect::<Vec<_>>())
        })
        .collect();
    (0..n)
        .map(|j| {
            // Garner's algorithm with as many primes as an i128 holds products of.
            let (mut value, mut modulus) = (0i128, 1i128);
            for (phase, &q) in phases.iter().zip(&primes).take(3) {
                let q = i128::from(q);
                let inverse = i128::from(power((modulus % q) as u64, q as u64 - 2, q as u64));
                let digit = (i128::from(phase[j]) - value).rem_euclid(q) * inverse % q;
                value += digit * modulus;
                modulus *= q;
            }
            let centred = if value > modulus / 2 {
                value - modulus
            } else {
                value
            };
            for (phase, &q) in phases.iter().zip(&primes).skip(3) {
                assert_eq!(centred.rem_euclid(i128::from(q)), i128::from(phase[j]));
            }
            i64::try_from(centred).expect("a phase far above any plaintext")
        })
        .collect()
}

/// The slots, by the definition.
pub(crate) fn decode(coefficients: &[i64], scale: f64) -> Vec<[f64; 2]> {
    let n = coefficients.len();
    let order = 2 * n;
    let roots: Vec<(f64, f64)> = (0..order)
        .map(|e| (PI * e as f64 / n as f64).sin_cos())
        .collect();
    let mut exponent = 1;
    (0..n / 2)
        .map(|_| {
            let (mut sum, mut at) = ([0.0; 2], 0);
            for &c in coefficients {
                let (sin, cos) = roots[at];
                sum = [sum[0] + c as f64 * cos, sum[1] + c as f64 * sin];
                at = (at + exponent) % order;
            }
            exponent = exponent * 3 % order;
            [sum[0] / scale, sum[1] / scale]
        })
        .collect()
}

/// The root mean square of the errors of the real parts, as SEAL's users see them.
pub(crate) fn rms(slots: &[[f64; 2]], values: &[f64]) -> f64 {
    assert!(slots.len() >= values.len());
    let values = values.iter().copied().chain(std::iter::repeat(0.0));
    let squares = slots
        .iter()
        .zip(values)
        .map(|(slot, value)| (slot[0] - value).powi(2));
    (squares.sum::<f64>() / slots.len() as f64).sqrt()
}
