//! The bootstrap by its definition: integer arithmetic and schoolbook products, with keys in the
//! standard domain. It reads the server key from its file format and shares only the expander and
//! the schoolbook product with the engine.

use tfhe_sbc_core::parameters::{Decomposition, ModulusSwitch, PARAMETERS_BYTES, Parameters};
use tfhe_sbc_core::polynomial::reference_multiply_add;
use tfhe_sbc_core::random::{Expander, ExpanderKind, MaskSeed};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES};

const BODY_BITS_AT: usize = 49;
const EXPANDER_AT: usize = 51;
const MASK_BITS_AT: usize = 54;
const MASK_SEED_AT: usize = 60;

/// A server key in the standard domain.
pub(crate) struct ReferenceKey<T> {
    parameters: Parameters,
    /// `[coefficient of the small key][row][component]` polynomials.
    ggsws: Vec<Vec<Vec<Vec<T>>>>,
    key_switch: ReferenceSwitch,
}

/// The key-switching key.
enum ReferenceSwitch {
    /// `[polynomial of the big key · level][component]` polynomials, a polynomial's least significant level first.
    Polynomials(Vec<Vec<Vec<u32>>>),
    /// `[coefficient of the big key · level]` masks and body, in keys of former programs.
    Rows(Vec<Vec<u32>>),
}

fn words<T: Torus>(bytes: &[u8]) -> Vec<T> {
    bytes
        .chunks_exact(T::BITS as usize / 8)
        .map(|word| {
            let mut wide = [0; 8];
            wide[..word.len()].copy_from_slice(word);
            T::from_i64(i64::from_le_bytes(wide))
        })
        .collect()
}

/// Scalars of which a stream of bits has the top `bits`, least significant bit first.
fn top_bits<T: Torus>(packed: &[u8], bits: usize) -> Vec<T> {
    let bit = |i: usize| u64::from(packed[i / 8] >> (i % 8) & 1);
    (0..packed.len() * 8 / bits)
        .map(|i| {
            let value: u64 = (0..bits).map(|j| bit(i * bits + j) << j).sum();
            T::from_i64(value as i64) << (T::BITS - bits as u32)
        })
        .collect()
}

fn stream_words<T: Torus>(expander: &mut impl Expander, count: usize) -> Vec<T> {
    let mut bytes = vec![0; count * T::BITS as usize / 8];
    expander.fill(&mut bytes);
    words(&bytes)
}

fn seed_at(bytes: &[u8], at: usize) -> MaskSeed {
    MaskSeed(bytes[at..at + 32].try_into().unwrap())
}

impl<T: Torus> ReferenceKey<T> {
    /// Expands the message of a server key: header with the mask seed at byte 60; parameters; in keys of former programs, the mask seed of
    /// the key-switching key; bodies of the bootstrapping key; bodies of the key-switching key.
    pub(crate) fn from_message(parameters: &Parameters, message: &[u8], former: bool) -> Self {
        let size = parameters.polynomial_size().get();
        let k = parameters.glwe_dimension().0;
        let n = parameters.lwe_dimension().0;
        let rows = k * parameters.pbs().level_count.0 + parameters.pbs_body().level_count.0;
        let big = k * size;

        let bootstrap_seed = seed_at(message, MASK_SEED_AT);
        let at = HEADER_BYTES + PARAMETERS_BYTES;
        let bodies_at = if former { at + 32 } else { at };
        let bodies = &message[bodies_at..message.len() - CHECKSUM_BYTES];
        let of_body = match message[BODY_BITS_AT] {
            0 => parameters.implied_key_body_bits() as usize,
            stated => usize::from(stated),
        };
        let of_masks = match message[MASK_BITS_AT] {
            0 => of_body,
            stated => usize::from(stated),
        };
        let mask_rows = k * parameters.pbs().level_count.0;
        let mut rest = bodies;
        let mut next_body = |row: usize| -> Vec<T> {
            let bits = if row < mask_rows { of_masks } else { of_body };
            let (body, behind) = rest.split_at(size * bits / 8);
            rest = behind;
            top_bits(body, bits)
        };
        let expander = ExpanderKind::ALL
            .into_iter()
            .find(|expander| expander.id() == message[EXPANDER_AT])
            .unwrap();
        let stream = |seed: &MaskSeed, number: usize| {
            expander.mask_stream(seed, u32::try_from(number).unwrap())
        };
        let expand_row = |number: usize, body: Vec<T>| {
            let mut masks = stream(&bootstrap_seed, number);
            let mut row: Vec<Vec<T>> = (0..k).map(|_| stream_words(&mut masks, size)).collect();
            row.push(body);
            row
        };
        let ggsws = (0..n)
            .map(|i| {
                (0..rows)
                    .map(|r| expand_row(i * rows + r, next_body(r)))
                    .collect()
            })
            .collect();

        let bodies: Vec<u32> = words(rest);
        assert_eq!(bodies.len(), big * parameters.key_switch().level_count.0);
        let key_switch = if former {
            let seed = seed_at(message, at);
            // With ChaCha20, the rows follow each other in one stream.
            let mut of_all_rows = stream(&seed, 0);
            let rows = bodies.iter().enumerate().map(|(number, &body)| {
                let mut row: Vec<u32> = match expander {
                    ExpanderKind::ChaCha20 => stream_words(&mut of_all_rows, n),
                    _ => stream_words(&mut stream(&seed, number), n),
                };
                row.push(body);
                row
            });
            ReferenceSwitch::Rows(rows.collect())
        } else {
            let rows = bodies.chunks(size).enumerate().map(|(number, body)| {
                let mut masks = stream(&bootstrap_seed, n * rows + number);
                let polynomials = (0..n.div_ceil(size)).map(|_| stream_words(&mut masks, size));
                polynomials.chain([body.to_vec()]).collect()
            });
            ReferenceSwitch::Polynomials(rows.collect())
        };
        Self {
            parameters: *parameters,
            ggsws,
            key_switch,
        }
    }

    /// `(0, …, 0, round(b)) - Σ digit · row`.
    pub(crate) fn key_switch(&self, lwe: &[T]) -> Vec<u32> {
        let gadget = self.parameters.key_switch();
        let n = self.parameters.lwe_dimension().0;
        let (body, mask) = lwe.split_last().unwrap();
        let body = round_to_multiple(*body, 32) as u32;
        let mut out = vec![0u32; n];
        out.push(body);
        match &self.key_switch {
            ReferenceSwitch::Rows(rows) => {
                let digits = mask.iter().flat_map(|&a| digits(a, gadget));
                for (digit, row) in digits.zip(rows) {
                    for (out, &x) in out.iter_mut().zip(row) {
                        *out = out.wrapping_sub(x.wrapping_mul(digit as u32));
                    }
                }
                out
            }
            ReferenceSwitch::Polynomials(rows) => {
                let size = self.parameters.polynomial_size().get();
                let levels = gadget.level_count.0;
                let mut sums = vec![vec![0u32; size]; rows[0].len()];
                sums.last_mut().unwrap()[0] = body;
                for (r, row) in rows.iter().enumerate() {
                    let mask = &mask[r / levels * size..][..size];
                    let reflected = mask[1..].iter().rev().map(|a| a.neg());
                    let digit: Vec<i64> = std::iter::once(mask[0])
                        .chain(reflected)
                        .map(|a| -digits(a, gadget)[levels - 1 - r % levels])
                        .collect();
                    for (sum, key) in sums.iter_mut().zip(row) {
                        reference_multiply_add(sum, key, &digit);
                    }
                }
                let mut extracted = extract_constant(&sums);
                let body = extracted.pop().unwrap();
                extracted.truncate(n);
                extracted.push(body);
                extracted
            }
        }
    }

    /// `X^-φ · table` for the exponents of a phase φ, as a GLWE ciphertext.
    pub(crate) fn blind_rotate(&self, table: &[T], exponents: &[u32]) -> Vec<Vec<T>> {
        let (body, mask) = exponents.split_last().unwrap();
        let mut acc = vec![vec![T::ZERO; table.len()]; self.parameters.glwe_dimension().0];
        acc.push(rotate(table, -i64::from(*body)));
        let block_size = self.parameters.lwe_block_size() as usize;
        for (ggsws, exponents) in self.ggsws.chunks(block_size).zip(mask.chunks(block_size)) {
            turn_by_block(&self.parameters, &mut acc, ggsws, exponents, digits);
        }
        acc
    }

    /// Modulus switch, blind rotation and sample extraction.
    pub(crate) fn rotate_and_extract(&self, table: &[T], small: &[u32]) -> Vec<T> {
        let exponents = modulus_switch(
            small,
            self.parameters.polynomial_size().log2() + 1,
            self.parameters.modulus_switch(),
            self.parameters.lwe_block_size(),
        );
        extract_constant(&self.blind_rotate(table, &exponents))
    }
}

/// `(0, …, 0, B) - Σ digit · row` for the message of a device switch key: header with the
/// mask seed at byte 60; parameters; binding; bodies, a polynomial's least significant digit
/// first.
pub(crate) fn device_switch<T: Torus>(
    parameters: &Parameters,
    message: &[u8],
    glwe: &[T],
) -> Vec<T> {
    let size = parameters.polynomial_size().get();
    let seed = seed_at(message, MASK_SEED_AT);
    let bodies = &message[HEADER_BYTES + PARAMETERS_BYTES + 36..message.len() - 4];
    let bodies: Vec<T> = words(bodies);
    let levels = bodies.len() / parameters.big_lwe_dimension().0;
    let gadget = match (T::BITS, levels) {
        (64, 2) => Decomposition::new(12, levels),
        _ => Decomposition::new(8, levels),
    };
    let (mask, body) = glwe.split_at(glwe.len() - size);
    let mut out = vec![T::ZERO; glwe.len()];
    out[mask.len()..].copy_from_slice(body);
    for (r, row_body) in bodies.chunks_exact(size).enumerate() {
        let (component, level) = (r / levels, levels - 1 - r % levels);
        let digit: Vec<i64> = mask[component * size..(component + 1) * size]
            .iter()
            .map(|&a| -digits(a, gadget)[level])
            .collect();
        let stream = u32::try_from(r).unwrap();
        let mut row: Vec<T> = stream_words(
            &mut ExpanderKind::ChaCha20.mask_stream(&seed, stream),
            mask.len(),
        );
        row.extend(row_body);
        for (out, key) in out.chunks_exact_mut(size).zip(row.chunks_exact(size)) {
            reference_multiply_add(out, key, &digit);
        }
    }
    out
}

/// `acc += Σ_j (X^exponents[j] - 1) · (GGSW_j ⊡ acc)`, with the digits that `digits` gives.
pub(crate) fn turn_by_block<T: Torus>(
    parameters: &Parameters,
    acc: &mut [Vec<T>],
    ggsws: &[Vec<Vec<Vec<T>>>],
    exponents: &[u32],
    digits: impl Fn(T, Decomposition) -> Vec<i64>,
) {
    let input = acc.to_vec();
    for (ggsw, &exponent) in ggsws.iter().zip(exponents) {
        let product = external_product(parameters, &input, ggsw, &digits);
        for (acc, product) in acc.iter_mut().zip(&product) {
            let turned = rotate(product, i64::from(exponent));
            for ((acc, x), &y) in acc.iter_mut().zip(turned).zip(product) {
                *acc = acc.add(x).sub(y);
            }
        }
    }
}

/// `GGSW ⊡ glwe`.
fn external_product<T: Torus>(
    parameters: &Parameters,
    glwe: &[Vec<T>],
    ggsw: &[Vec<Vec<T>>],
    digits: &impl Fn(T, Decomposition) -> Vec<i64>,
) -> Vec<Vec<T>> {
    let mut out = vec![vec![T::ZERO; glwe[0].len()]; glwe.len()];
    let mut rows = ggsw.iter();
    for (component, polynomial) in glwe.iter().enumerate() {
        let gadget = if component + 1 < glwe.len() {
            parameters.pbs()
        } else {
            parameters.pbs_body()
        };
        let digits: Vec<Vec<i64>> = polynomial.iter().map(|&x| digits(x, gadget)).collect();
        // The rows of a component are ordered from the least significant weight up.
        for level in (0..gadget.level_count.0).rev() {
            let digit: Vec<i64> = digits.iter().map(|digits| digits[level]).collect();
            for (out, key) in out.iter_mut().zip(rows.next().unwrap()) {
                reference_multiply_add(out, key, &digit);
            }
        }
    }
    assert!(rows.next().is_none());
    out
}

/// The integer nearest to `2^bits · x / q`, ties up.
fn round_to_multiple<T: Torus>(x: T, bits: u32) -> i128 {
    let dropped = T::BITS - bits;
    (i128::from(x.to_u64()) * 2 + (1i128 << dropped)) >> (dropped + 1)
}

/// The signed digits, most significant first, in `[-B/2, B/2)`, of the closest multiple of
/// `q / B^l`; found from the least significant up.
pub(crate) fn digits<T: Torus>(x: T, gadget: Decomposition) -> Vec<i64> {
    let base = 1i128 << gadget.base_log.0;
    let mut rest = round_to_multiple(x, gadget.represented_bits());
    let mut digits: Vec<i64> = (0..gadget.level_count.0)
        .map(|_| {
            let digit = (rest + base / 2).rem_euclid(base) - base / 2;
            rest = (rest - digit) / base;
            digit as i64
        })
        .collect();
    digits.reverse();
    digits
}

/// The differences, most significant first, of the multiples of `q / B^j` for `j` from 0 to `l` that are closest to the signed
/// representative: digits as those of accumulators of doubles.
pub(crate) fn nearest_digits<T: Torus>(x: T, gadget: Decomposition) -> Vec<i64> {
    let base_log = gadget.base_log.0;
    let signed = i128::from(x.to_i64());
    let mut above = 0;
    (1..=gadget.level_count.0 as u32)
        .map(|level| {
            let dropped = T::BITS - base_log * level;
            let nearest = (signed * 2 + (1i128 << dropped)) >> (dropped + 1);
            let digit = nearest - (above << base_log);
            above = nearest;
            digit as i64
        })
        .collect()
}

/// `X^degree · polynomial mod X^N + 1`.
pub(crate) fn rotate<T: Torus>(polynomial: &[T], degree: i64) -> Vec<T> {
    let size = polynomial.len() as i64;
    let mut out = vec![T::ZERO; polynomial.len()];
    for (i, &x) in polynomial.iter().enumerate() {
        let to = (i as i64 + degree).rem_euclid(2 * size);
        if to < size {
            out[to as usize] = x;
        } else {
            out[(to - size) as usize] = x.neg();
        }
    }
    out
}

/// Multiples of `2^-bits` for mask and body. Compensated: minus the sum of the mask's
/// rounding errors times the mean of the key is what the phase gets; the body
/// gives it back, and goes down to a multiple.
pub(crate) fn modulus_switch(
    lwe: &[u32],
    bits: u32,
    kind: ModulusSwitch,
    block_size: u32,
) -> Vec<u32> {
    let step = 1i64 << (32 - bits);
    let (&body, mask) = lwe.split_last().unwrap();
    let mut out: Vec<i64> = mask
        .iter()
        .map(|&a| (i64::from(a) + step / 2).div_euclid(step))
        .collect();
    let errors: i64 = mask
        .iter()
        .zip(&out)
        .map(|(&a, &rounded)| rounded * step - i64::from(a))
        .sum();
    out.push(match kind {
        ModulusSwitch::Plain => (i64::from(body) + step / 2).div_euclid(step),
        ModulusSwitch::MeanCompensated => {
            (i64::from(body) + errors / i64::from(block_size + 1)).div_euclid(step)
        }
    });
    out.iter().map(|x| x.rem_euclid(1 << bits) as u32).collect()
}

/// The LWE ciphertext of coefficient 0: its phase is the coefficient 0 of
/// `B - Σ A_i · S_i`.
pub(crate) fn extract_constant<T: Torus>(glwe: &[Vec<T>]) -> Vec<T> {
    let (body, masks) = glwe.split_last().unwrap();
    let mut out = Vec::new();
    for mask in masks {
        out.push(mask[0]);
        out.extend(mask[1..].iter().rev().map(|x| x.neg()));
    }
    out.push(body[0]);
    out
}
