//! The parameter sets that are measured. They cover the shapes of the kernels and have no
//! security.

use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet, Parameters};
use tfhe_sbc_core::random::NoiseDistribution;

use super::timing::Case;

/// The torus bits, k, log2 N, n, the block size, and the levels of mask, body and key switch.
type Shape = (u32, usize, u32, usize, u32, usize, usize, usize);

/// The fitted sets: sizes and levels at the ends of the used range and between, with keys from 5
/// to 160 MB. If one bootstrap takes long, the set has few key bits.
const FITTED: [Shape; 30] = [
    (64, 1, 11, 915, 3, 1, 1, 3),
    (64, 2, 10, 780, 3, 1, 1, 3),
    (64, 3, 9, 756, 3, 1, 1, 3),
    (32, 1, 10, 702, 3, 4, 3, 4),
    (64, 4, 9, 600, 2, 2, 1, 4),
    (64, 1, 12, 450, 3, 1, 1, 4),
    (64, 1, 13, 240, 3, 2, 1, 3),
    (64, 2, 9, 512, 1, 3, 2, 2),
    (32, 2, 9, 300, 1, 3, 2, 8),
    (32, 1, 9, 500, 1, 2, 2, 5),
    (64, 1, 10, 800, 1, 2, 2, 4),
    (64, 1, 11, 200, 1, 1, 1, 5),
    (64, 1, 11, 300, 2, 2, 1, 3),
    (64, 2, 10, 1000, 2, 1, 1, 7),
    (64, 3, 10, 100, 1, 1, 1, 2),
    (64, 4, 10, 300, 3, 1, 1, 3),
    (64, 2, 11, 600, 3, 1, 1, 4),
    (32, 1, 11, 399, 3, 3, 2, 3),
    (64, 1, 12, 100, 1, 2, 2, 3),
    (32, 3, 9, 300, 2, 4, 4, 4),
    (64, 1, 13, 100, 1, 1, 1, 3),
    (64, 1, 9, 498, 3, 4, 4, 3),
    (64, 4, 9, 900, 1, 1, 1, 6),
    (64, 3, 9, 600, 3, 3, 3, 3),
    (64, 2, 10, 198, 3, 2, 1, 3),
    (64, 1, 12, 300, 3, 2, 2, 3),
    (32, 2, 10, 600, 3, 2, 2, 3),
    (64, 1, 12, 640, 2, 1, 1, 2),
    (32, 4, 9, 400, 1, 2, 2, 2),
    (64, 1, 13, 400, 2, 1, 1, 6),
];

/// The sets for the check, none of which is fitted: as large as sets in use, with both tori, k
/// from 1 to 4, N from 512 to 8192, n from 500 to 1000, blocks of 1 to 3, 1 to 4 levels, and 2 to
/// 8 levels of key switches.
const HELD_OUT: [Shape; 24] = [
    (64, 1, 11, 840, 3, 1, 1, 4),
    (64, 1, 11, 750, 1, 2, 1, 3),
    (64, 1, 11, 1000, 2, 1, 1, 5),
    (32, 1, 11, 660, 3, 2, 2, 6),
    (64, 2, 10, 720, 2, 2, 1, 2),
    (64, 2, 10, 900, 3, 1, 1, 4),
    (32, 2, 10, 500, 1, 3, 2, 3),
    (64, 1, 10, 600, 1, 3, 3, 5),
    (32, 1, 10, 900, 2, 2, 2, 8),
    (64, 3, 10, 500, 2, 1, 1, 4),
    (64, 4, 10, 510, 3, 1, 1, 2),
    (64, 3, 9, 900, 1, 1, 1, 3),
    (64, 3, 9, 660, 2, 2, 2, 5),
    (64, 4, 9, 750, 3, 1, 1, 3),
    (64, 2, 9, 600, 3, 2, 2, 6),
    (32, 2, 9, 702, 3, 4, 3, 2),
    (32, 1, 9, 800, 1, 4, 4, 3),
    (64, 1, 9, 660, 2, 3, 1, 4),
    (64, 1, 12, 900, 3, 1, 1, 3),
    (64, 1, 12, 700, 1, 1, 1, 5),
    (32, 1, 12, 500, 2, 2, 1, 2),
    (64, 2, 11, 500, 1, 1, 1, 3),
    (64, 1, 13, 500, 1, 1, 1, 4),
    (64, 1, 13, 501, 3, 1, 1, 2),
];

/// The sizes and threads of the fitted batches.
const FITTED_BATCHES: [(usize, usize); 6] = [(1, 1), (3, 1), (8, 1), (1, 2), (2, 2), (16, 2)];
const HELD_OUT_BATCHES: [(usize, usize); 4] = [(1, 1), (8, 1), (1, 2), (32, 2)];
const QUICK_BATCHES: [(usize, usize); 2] = [(1, 1), (2, 2)];

/// The cases that the model is fitted to.
pub(super) fn fitted(quick: bool, threads: usize) -> Vec<Case> {
    match quick {
        true => cases(&FITTED[7..10], &QUICK_BATCHES, threads),
        false => cases(&FITTED, &FITTED_BATCHES, threads),
    }
}

/// The cases that the model is checked with.
pub(super) fn held_out(quick: bool, threads: usize) -> Vec<Case> {
    match quick {
        true => cases(&HELD_OUT[16..18], &QUICK_BATCHES, threads),
        false => cases(&HELD_OUT, &HELD_OUT_BATCHES, threads),
    }
}

/// Returns the cases of all shapes and batches. Batches for two threads are for `threads` threads.
fn cases(shapes: &[Shape], batches: &[(usize, usize)], threads: usize) -> Vec<Case> {
    let batches: Vec<_> = batches
        .iter()
        .filter(|batch| batch.1 == 1 || threads > 1)
        .map(|&(batch, of)| match (batch, of) {
            (1, 2) => (1, threads),
            (batch, 2) => (batch / 2 * threads, threads),
            one_thread => one_thread,
        })
        .collect();
    let sets = shapes.iter().filter_map(|&shape| parameters(shape));
    sets.map(|set| Case::new(set, &batches)).collect()
}

fn parameters(
    (torus_bits, k, size_log2, n, block, mask, body, switch): Shape,
) -> Option<Parameters> {
    let whole = n / block as usize * block as usize;
    let set = ParameterSet {
        torus_bits,
        lwe_dimension: LweDimension(whole),
        lwe_block_size: block,
        glwe_dimension: GlweDimension(k),
        polynomial_size: 1 << size_log2,
        glwe_noise: NoiseDistribution::Gaussian {
            standard_deviation: 1e-6,
        },
        pbs: Decomposition::new(24 / mask as u32, mask),
        pbs_body: Decomposition::new(20 / body as u32, body),
        key_switch: Decomposition::new(16 / switch as u32, switch),
        message_bits: MessageBits(1),
        carry_bits: CarryBits(1),
        ..MESSAGE_2_CARRY_2
    };
    set.validate().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sets_are_valid_and_none_is_in_both() {
        assert_eq!(fitted(false, 2).len(), FITTED.len());
        assert_eq!(held_out(false, 2).len(), HELD_OUT.len());
        assert!(HELD_OUT.iter().all(|shape| !FITTED.contains(shape)));
        assert_eq!(fitted(false, 1)[0].samples.len(), 3);
        let of_eight = &fitted(false, 8)[0].samples;
        assert_eq!((of_eight[3].batch, of_eight[3].threads), (1, 8));
        assert_eq!((of_eight[5].batch, of_eight[5].threads), (64, 8));
    }
}
