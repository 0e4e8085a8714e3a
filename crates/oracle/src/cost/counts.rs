//! The amounts of every term of the model in a bootstrap.

use tfhe_sbc_core::fft::external_product::ProductShape;
use tfhe_sbc_core::parameters::ParameterSet;

use super::bytes::{SwitchShape, bootstrap_key_bytes, rows};
use super::seconds::{Terms, by_working_set};
use super::{CostModel, SIZES, SMALLEST_SIZE_LOG2};

/// The largest number of ciphertexts that a thread of the engine advances in one pass over the
/// key.
pub const LOCKSTEP: usize = 16;

/// The number of ciphertexts that a thread advances in one pass, for a batch on a number of
/// threads. This is the engine's rule.
pub fn lockstep(batch: usize, threads: usize) -> usize {
    let passes = batch.div_ceil(threads * LOCKSTEP).max(1) * threads;
    batch.div_ceil(passes).max(1)
}

impl CostModel {
    /// The amounts of every term per bootstrap of a batch: those of the thread that takes longest,
    /// divided by the size of the batch.
    pub fn counts(&self, set: &ParameterSet, batch: usize, threads: usize) -> Terms {
        let (batch, threads) = (batch.max(1), threads.max(1));
        let mut terms = self.switch_counts(set, batch, threads);
        self.add_rotation(&mut terms, set, batch, threads);
        terms
    }

    /// The amounts of every term per key switch of a batch, without bootstraps. Threads share the ciphertexts.
    pub fn switch_counts(&self, set: &ParameterSet, batch: usize, threads: usize) -> Terms {
        let (batch, threads) = (batch.max(1), threads.max(1));
        let own = batch.div_ceil(threads) as f64 / batch as f64;
        let transforms = SwitchShape::of(set).transforms() as f64;
        Terms {
            switch_transform: own * transforms * self.transform(set),
            ..Terms::default()
        }
    }

    fn add_rotation(&self, terms: &mut Terms, set: &ParameterSet, batch: usize, threads: usize) {
        let each = 1.0 / batch as f64;
        let size = set.polynomial_size as f64;
        let outputs = set.glwe_dimension.0 + 1;
        let rows = rows(set);
        let block = f64::from(set.lwe_block_size);
        let steps = set.lwe_dimension.0 as f64 / block;
        // A single ciphertext is shared by components, several are by ciphertexts.
        let together = batch == 1 && threads > 1;
        let own_outputs = match together {
            true => outputs.div_ceil(threads),
            false => outputs,
        };
        let own_rows = most_rows(set, outputs, own_outputs);
        let lockstep = lockstep(batch, threads);
        let passes = batch.div_ceil(lockstep).div_ceil(threads) as f64;
        let ciphertexts = match batch <= lockstep {
            true => batch as f64,
            false => passes * lockstep as f64,
        };

        let advanced = steps * ciphertexts * each;
        terms.transform += advanced * (own_rows + own_outputs) as f64 * self.transform(set);
        let points = advanced * size;
        let groups = own_outputs.div_ceil(self.machine.outputs_at_once.max(1));
        let shape = ProductShape {
            block_size: set.lwe_block_size as usize,
            rows,
            outputs,
        };
        terms.multiply_add += points * Self::products(shape, own_outputs, groups) as f64;
        terms.factor += points * block * groups as f64;
        terms.coefficient += size * outputs as f64 * ciphertexts * each;

        let share = own_outputs as f64 / outputs as f64;
        let whole_key = bootstrap_key_bytes(set);
        let key = share * whole_key as f64;
        // What is used between two uses of a step's key: the key itself, a ciphertext's accumulator, digits and
        // sums. The part that does not fit the last cache makes each ciphertext read the key from memory again. Nearer caches make
        // no difference, because the key is requested ahead, and the other ciphertexts' accumulators none, because each is used once a step.
        let scalar_bytes = f64::from(set.torus_bits / 8);
        let in_hand = key / steps
            + size * outputs as f64 * scalar_bytes
            + size * 8.0 * (rows + outputs) as f64;
        let cache = self
            .machine
            .last_level_bytes
            .max(self.machine.level_2_bytes);
        let in_hand = in_hand * threads as f64;
        let misses = (in_hand / cache.max(1) as f64 - 1.0).clamp(0.0, 1.0);
        let reads = passes + misses * (ciphertexts - passes);
        let bytes = by_working_set(key * reads * each, whole_key);
        for (to, bytes) in terms.key_byte.iter_mut().zip(bytes) {
            *to += bytes;
        }
        if together {
            terms.meeting += steps;
            terms.exchange += steps * size * (rows - own_rows) as f64;
        }
    }

    /// The products of complex numbers at a point of a step, for `own` outputs in `groups` groups: of digits and key, and of the factors
    /// of the key bits with what the engine multiplies them with.
    fn products(shape: ProductShape, own: usize, groups: usize) -> usize {
        let (block, rows) = (shape.block_size, shape.rows);
        if shape.bundles() {
            (block + 1) * rows * own
        } else if shape.few_rows() {
            block * rows * (own + groups)
        } else {
            block * (rows + 1) * own
        }
    }

    /// The seconds of a transform.
    fn transform(&self, set: &ParameterSet) -> f64 {
        let size_log2 = set.polynomial_size.max(1).ilog2().max(SMALLEST_SIZE_LOG2);
        self.transforms[((size_log2 - SMALLEST_SIZE_LOG2) as usize).min(SIZES - 1)]
    }
}

/// The number of digits of the thread with the most digits, if each thread has `own` components.
/// The last thread has the body, and may have fewer other components.
fn most_rows(set: &ParameterSet, outputs: usize, own: usize) -> usize {
    if own >= outputs {
        return rows(set);
    }
    let mask_rows = set.pbs.level_count.0;
    let last = match outputs % own {
        0 => own,
        last => last,
    };
    (own * mask_rows).max((last - 1) * mask_rows + set.pbs_body.level_count.0)
}
