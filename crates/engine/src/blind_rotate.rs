//! Blind rotation: the multiplication of a lookup table by `X^-φ` for an encrypted phase `φ`
//! (TFHE: Fast Fully Homomorphic Encryption over the Torus, algorithm 3; by blocks of key bits:
//! ePrint 2023/958, algorithm 2), for several ciphertexts in lockstep.

mod together;

use tfhe_sbc_core::fft::external_product::Coefficient;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::torus::Torus;

use crate::bootstrap_key::BootstrapKey;
use crate::cache_aligned::{CacheAligned, cache_aligned};
use crate::gadget_product::GadgetProductScratch;
use crate::lookup_table::LookupTable;
use crate::requests::Outputs;

/// Rotates every table by its exponents: on return `accs` holds, one after the other, the GLWE
/// ciphertexts of `X^-φ · table`, where `φ` is the phase of the exponents.
///
/// `exponents` holds `n + 1` values in `[0, 2N)` for each table. All ciphertexts are processed
/// with one block of the key before the next block is touched, so that a batch reads the key from
/// memory once.
///
/// # Panics
/// If the lengths do not fit each other.
pub(crate) fn blind_rotate_batch<T: ProductTorus>(
    parameters: &Parameters,
    key: &BootstrapKey,
    tables: &[&LookupTable<T>],
    exponents: &[u32],
    accs: &mut [T],
    scratch: &mut [GadgetProductScratch; 2],
) {
    let size = parameters.polynomial_size().get();
    let dimension = parameters.lwe_dimension().0;
    let acc_len = parameters.big_lwe_dimension().0 + size;
    assert_eq!(accs.len(), tables.len() * acc_len);
    assert_eq!(exponents.len(), tables.len() * (dimension + 1));

    let isa = key.product().isa();
    let each = exponents.chunks_exact(dimension + 1);
    for ((acc, table), exponents) in accs.chunks_exact_mut(acc_len).zip(tables).zip(each) {
        start(isa, acc, table, exponents[dimension]);
    }
    let lens = (acc_len, dimension + 1);
    if has_turns::<T>() {
        let mut turns = turns_of(isa, accs);
        turn_by_all_blocks(key, exponents, &mut turns, lens, scratch);
        simd::turns_to_torus(isa, accs, &turns);
    } else {
        turn_by_all_blocks(key, exponents, accs, lens, scratch);
    }
}

/// Does the same as [`blind_rotate_batch`] for one ciphertext on several threads. The result is the
/// same, bit for bit.
///
/// # Panics
/// If the lengths do not fit each other.
pub(crate) fn blind_rotate_together<T: ProductTorus>(
    parameters: &Parameters,
    key: &BootstrapKey,
    table: &LookupTable<T>,
    exponents: &[u32],
    acc: &mut [T],
    threads: usize,
) {
    let size = parameters.polynomial_size().get();
    assert_eq!(acc.len(), parameters.big_lwe_dimension().0 + size);
    assert_eq!(exponents.len(), parameters.lwe_dimension().0 + 1);
    let (&body, mask) = exponents.split_last().unwrap_or((&0, &[]));
    let isa = key.product().isa();
    start(isa, acc, table, body);
    if has_turns::<T>() {
        let mut turns = turns_of(isa, acc);
        together::turn_by_all_blocks(key, mask, &mut turns, threads);
        simd::turns_to_torus(isa, acc, &turns);
    } else {
        together::turn_by_all_blocks(key, mask, acc, threads);
    }
}

/// Returns whether the coefficients of accumulators are doubles, which count turns, during a blind rotation. With q = 2^64 they are, because digits and
/// sums of scalars would have to be converted in every step. With q = 2^32 they are scalars, because products are exact, and no step may round the accumulator.
fn has_turns<T: Torus>() -> bool {
    T::BITS == u64::BITS
}

/// Returns the accumulators as numbers of turns.
fn turns_of<T: Torus>(isa: Isa, accs: &[T]) -> CacheAligned<f64> {
    let mut turns = cache_aligned(0.0, accs.len());
    simd::torus_to_turns(isa, &mut turns, accs);
    turns
}

/// Turns accumulators, of `acc_len` coefficients each, by their exponents, of which there are `lwe_len` each, but not by the last, that of the body.
fn turn_by_all_blocks<X: Coefficient>(
    key: &BootstrapKey,
    exponents: &[u32],
    accs: &mut [X],
    (acc_len, lwe_len): (usize, usize),
    scratch: &mut [GadgetProductScratch; 2],
) {
    let product = key.product();
    let block_size = product.shape().block_size;
    let at_once = product.ciphertexts_at_once();
    let group_count = (accs.len() / acc_len).div_ceil(at_once);
    let outputs = Outputs {
        product,
        first: 0,
        count: product.shape().outputs,
    };
    let mut blocks = key.blocks().peekable();
    let mut first = 0;
    while let Some(block) = blocks.next() {
        let keys = (block, blocks.peek().copied());
        let groups = accs.chunks_mut(at_once * acc_len);
        let of_groups = exponents.chunks(at_once * lwe_len);
        for (i, (group, exponents)) in groups.zip(of_groups).enumerate() {
            let of = |ciphertext| &exponents[ciphertext * lwe_len + first..][..block_size];
            let requests = outputs.requests(keys, i, group_count);
            match group.split_at_mut(acc_len) {
                (acc, []) => {
                    let [scratch, _] = &mut *scratch;
                    product.turn_by_block([acc], block, requests, [of(0)], [scratch]);
                }
                (one, other) => {
                    let exponents = [of(0), of(1)];
                    let scratch = scratch.each_mut();
                    product.turn_by_block([one, other], block, requests, exponents, scratch);
                }
            }
        }
        first += block_size;
    }
}

/// Sets `acc` to the table, rotated by the exponent of the body alone.
fn start<T: ProductTorus>(isa: Isa, acc: &mut [T], table: &LookupTable<T>, body: u32) {
    let size = table.as_slice().len();
    let (mask, out) = acc.split_at_mut(acc.len() - size);
    mask.fill(T::ZERO);
    let degree = (2 * size - body as usize) % (2 * size);
    simd::rotate_into(isa, out, table.as_slice(), degree);
}
