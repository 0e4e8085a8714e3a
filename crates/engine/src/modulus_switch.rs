//! The modulus switch: from an LWE ciphertext mod 2^32 to exponents mod 2N.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::parameters::ModulusSwitch;
use tfhe_sbc_core::torus::Torus;

/// Rounds the mask and the body of `lwe` to multiples of `1/2N`, and writes them as exponents in
/// `[0, 2N)`. `size` is N, and `block_size` is the length `ℓ` of the blocks of the key.
///
/// The rounding errors of the mask change the phase by minus their product with the key.
/// [`ModulusSwitch::MeanCompensated`] removes the mean of this change: it adds the sum of the
/// errors, multiplied by the mean `1/(ℓ+1)` of a key coefficient and rounded towards zero to a
/// multiple of 2^-32, to the body. The body is then rounded down instead of to nearest. The box of
/// a value in a lookup table has `2m` phases, begins `m` phases below the value and ends before
/// `m` phases above it, so that rounding down makes both borders equally far, and the rounding of
/// the body adds no noise.
///
/// # Panics
/// If the lengths differ.
pub fn modulus_switch_into(
    exponents: &mut [u32],
    lwe: &[u32],
    size: PolynomialSize,
    kind: ModulusSwitch,
    block_size: u32,
) {
    modulus_switch_coarsely_into(exponents, lwe, (size, 0), kind, block_size);
}

/// Does the same as [`modulus_switch_into`], but rounds to multiples of `2^coarseness_log2` steps of `1/2N`,
/// which the exponents are multiples of. `coarseness_log2` is at most `log2(N)`.
///
/// # Panics
/// If the lengths differ.
pub fn modulus_switch_coarsely_into(
    exponents: &mut [u32],
    lwe: &[u32],
    (size, coarseness_log2): (PolynomialSize, u32),
    kind: ModulusSwitch,
    block_size: u32,
) {
    assert_eq!(exponents.len(), lwe.len());
    let bits = size.log2() + 1 - coarseness_log2;
    let shift = u32::BITS - bits;
    let modulus_mask = (1 << bits) - 1;
    let body_at = lwe.len() - 1;
    let mut error_sum = 0i64;
    for (exponent, &a) in exponents[..body_at].iter_mut().zip(lwe) {
        let rounded = a.round_to_bits(bits) as u32;
        error_sum += i64::from((rounded << shift).wrapping_sub(a) as i32);
        *exponent = (rounded & modulus_mask) << coarseness_log2;
    }
    let body = match kind {
        ModulusSwitch::Plain => lwe[body_at].round_to_bits(bits) as u32 & modulus_mask,
        ModulusSwitch::MeanCompensated => {
            let mean = error_sum / (i64::from(block_size) + 1);
            lwe[body_at].wrapping_add(mean as u32) >> shift
        }
    };
    exponents[body_at] = body << coarseness_log2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compensation_removes_the_mean_of_the_rounding_errors() {
        let size = PolynomialSize::new(1024).unwrap();
        // Every mask element is a quarter step above a multiple: each rounds down by
        // 2^19, so with 8 of them and half of the key's coefficients 1 the phase, body
        // less mask times key, rises by 2^21, one step.
        let step = 1u32 << 21;
        let mut lwe = [5 * step + step / 4; 9];
        lwe[8] = 100 * step;
        let mut plain = [0; 9];
        let mut compensated = [0; 9];
        modulus_switch_into(&mut plain, &lwe, size, ModulusSwitch::Plain, 1);
        modulus_switch_into(
            &mut compensated,
            &lwe,
            size,
            ModulusSwitch::MeanCompensated,
            1,
        );
        assert_eq!(plain, [5, 5, 5, 5, 5, 5, 5, 5, 100]);
        assert_eq!(compensated, [5, 5, 5, 5, 5, 5, 5, 5, 99]);
        // A quarter of the coefficients of a key of blocks of 3: half a step, and down.
        let mut blocks = [0; 9];
        modulus_switch_into(&mut blocks, &lwe, size, ModulusSwitch::MeanCompensated, 3);
        assert_eq!(blocks[8], 99);
        lwe[8] += step / 2;
        modulus_switch_into(&mut blocks, &lwe, size, ModulusSwitch::MeanCompensated, 3);
        assert_eq!(blocks[8], 100);
    }

    #[test]
    fn the_compensated_body_is_rounded_down() {
        let size = PolynomialSize::new(1024).unwrap();
        for (body, expected) in [(0, 0), ((1 << 21) - 1, 0), (1 << 21, 1), (u32::MAX, 2047)] {
            let mut exponents = [0; 2];
            modulus_switch_into(
                &mut exponents,
                &[0, body],
                size,
                ModulusSwitch::MeanCompensated,
                1,
            );
            assert_eq!(exponents, [0, expected]);
        }
    }

    #[test]
    fn a_coarse_switch_is_one_to_a_smaller_polynomial() {
        let size = |log2: u32| PolynomialSize::new(1 << log2).unwrap();
        let lwe: Vec<u32> = (0..90u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        for kind in [ModulusSwitch::Plain, ModulusSwitch::MeanCompensated] {
            for coarseness in 0..=3 {
                let (mut coarse, mut small) = (vec![0; 90], vec![0; 90]);
                modulus_switch_coarsely_into(&mut coarse, &lwe, (size(11), coarseness), kind, 3);
                modulus_switch_into(&mut small, &lwe, size(11 - coarseness), kind, 3);
                let larger: Vec<u32> = small.iter().map(|e| e << coarseness).collect();
                assert_eq!(coarse, larger);
            }
        }
    }

    #[test]
    fn exponents_wrap() {
        let size = PolynomialSize::new(1024).unwrap();
        let mut exponents = [0; 2];
        modulus_switch_into(
            &mut exponents,
            &[u32::MAX, 1 << 20],
            size,
            ModulusSwitch::Plain,
            1,
        );
        assert_eq!(exponents, [0, 1]);
    }
}
