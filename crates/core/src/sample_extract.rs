//! Sample extraction: the LWE ciphertext, under the flattened GLWE key, of one
//! coefficient of a GLWE ciphertext (TFHE: Fast Fully Homomorphic Encryption over the
//! Torus, section 4.2).

use crate::torus::Torus;

/// Extracts coefficient `degree` of the GLWE ciphertext `glwe` (`k` masks, then the
/// body, `size` scalars each) into `lwe` (`k · size` mask scalars, then the body):
/// `a'_{i,j} = a_i[degree - j]`, negated where the index wraps, and `b' = b[degree]`.
///
/// # Panics
/// If the lengths do not fit each other or `degree >= size`.
pub fn sample_extract_into<T: Torus>(lwe: &mut [T], glwe: &[T], size: usize, degree: usize) {
    assert!(degree < size && glwe.len().is_multiple_of(size) && glwe.len() > size);
    let mask_len = glwe.len() - size;
    assert_eq!(lwe.len(), mask_len + 1);
    let (lwe_mask, lwe_body) = lwe.split_at_mut(mask_len);
    for (out, mask) in lwe_mask.chunks_exact_mut(size).zip(glwe.chunks_exact(size)) {
        let (low, high) = mask.split_at(degree + 1);
        let (out_low, out_high) = out.split_at_mut(degree + 1);
        for (out, &x) in out_low.iter_mut().zip(low.iter().rev()) {
            *out = x;
        }
        for (out, &x) in out_high.iter_mut().zip(high.iter().rev()) {
            *out = x.neg();
        }
    }
    lwe_body[0] = glwe[mask_len + degree];
}
