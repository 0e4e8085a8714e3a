//! Blind rotation: a lookup table turned by an encrypted phase (TFHE: Fast Fully
//! Homomorphic Encryption over the Torus, algorithm 3), several ciphertexts in lockstep.

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::simd;

use crate::bootstrap_key::BootstrapKey;
use crate::external_product::{ExternalProductScratch, rotate_if};
use crate::lookup_table::LookupTable;

/// Turns every table by its exponents: on return `accs` holds, one after the other,
/// the GLWE ciphertexts of `X^-φ · table` with `φ` the phase of the exponents.
///
/// `exponents` holds `n + 1` values in `[0, 2N)` for each table. All ciphertexts go
/// through one GGSW ciphertext before the next is touched, so that a batch reads the
/// key from memory once.
///
/// # Panics
/// If the lengths do not fit each other.
pub(crate) fn blind_rotate_batch<T: MaskTorus>(
    parameters: &Parameters,
    key: &BootstrapKey,
    tables: &[&LookupTable<T>],
    exponents: &[u32],
    accs: &mut [T],
    scratch: &mut ExternalProductScratch<T>,
) {
    let size = parameters.polynomial_size().get();
    let dimension = parameters.lwe_dimension.0;
    let acc_len = parameters.big_lwe_dimension().0 + size;
    assert_eq!(accs.len(), tables.len() * acc_len);
    assert_eq!(exponents.len(), tables.len() * (dimension + 1));
    let plan = key.plan().plan();

    let each = || exponents.chunks_exact(dimension + 1);
    for ((acc, table), exponents) in accs.chunks_exact_mut(acc_len).zip(tables).zip(each()) {
        let (mask, body) = acc.split_at_mut(acc_len - size);
        mask.fill(T::ZERO);
        let degree = (2 * size - exponents[dimension] as usize) % (2 * size);
        simd::rotate_into(plan.isa(), body, table.as_slice(), degree);
    }
    for (i, ggsw) in key.ggsws().enumerate() {
        for (acc, exponents) in accs.chunks_exact_mut(acc_len).zip(each()) {
            let degree = exponents[i] as usize;
            if degree != 0 {
                rotate_if(plan, parameters.pbs, acc, ggsw, degree, scratch);
            }
        }
    }
}
