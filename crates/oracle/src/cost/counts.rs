//! How much of every term a bootstrap has.

use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::simd::{KEY_SWITCH_TILE_CIPHERTEXTS, KEY_SWITCH_TILE_COLUMNS};

use super::bytes::{bootstrap_key_bytes, key_switch_key_bytes, rows, switch_columns, switch_rows};
use super::seconds::{Counts, TERMS, Term};
use super::{Machine, SIZES, SMALLEST_SIZE_LOG2, Transforms};

/// Ciphertexts that a thread of the engine takes through a pass over the key at most.
pub const LOCKSTEP: usize = 8;

/// How many it takes, of a batch on a number of threads: the engine's rule, which a test
/// there compares with this one.
pub fn lockstep(batch: usize, threads: usize) -> usize {
    let passes = batch.div_ceil(threads * LOCKSTEP).max(1) * threads;
    batch.div_ceil(passes).max(1)
}

/// Amounts for each bootstrap of a batch: those of the thread that takes longest, divided by
/// the size of the batch.
pub(super) fn counts(
    machine: &Machine,
    transforms: &Transforms,
    set: &ParameterSet,
    batch: usize,
    threads: usize,
) -> Counts {
    let (batch, threads) = (batch.max(1), threads.max(1));
    let mut counts = [0.0; TERMS];
    let mut add = |term: Term, amount: f64| counts[term as usize] += amount / batch as f64;

    // The blind rotation: of a single ciphertext by components, of several by ciphertexts.
    let size = set.polynomial_size as f64;
    let outputs = set.glwe_dimension.0 + 1;
    let rows = rows(set);
    let block = f64::from(set.lwe_block_size);
    let steps = set.lwe_dimension.0 as f64 / block;
    let together = batch == 1 && threads > 1;
    let own_outputs = match together {
        true => outputs.div_ceil(threads),
        false => outputs,
    };
    let own_rows = match own_outputs < outputs {
        true => {
            let body = set.pbs_body.level_count.0;
            let (mask_rows, last) = (set.pbs.level_count.0, outputs % own_outputs);
            // The last thread has the body, and maybe fewer masks.
            let last = if last == 0 { own_outputs } else { last };
            (own_outputs * mask_rows).max((last - 1) * mask_rows + body)
        }
        false => rows,
    };
    let lockstep = lockstep(batch, threads);
    let passes = batch.div_ceil(lockstep).div_ceil(threads) as f64;
    let ciphertexts = if batch <= lockstep {
        batch as f64
    } else {
        passes * lockstep as f64
    };
    let transformed = steps * ciphertexts;
    add(
        Term::Transform,
        transformed * transforms.seconds(set, own_rows, own_outputs),
    );
    let points = transformed * size * block;
    let groups = own_outputs.div_ceil(machine.outputs_at_once.max(1)) as f64;
    add(Term::MultiplyAdd, points * (rows * own_outputs) as f64);
    add(Term::Turn, points * own_outputs as f64);
    add(Term::Factor, points * groups);
    add(Term::Step, transformed);
    let key_bytes = bootstrap_key_bytes(set) as f64;
    let streamed = passes * key_bytes * own_outputs as f64 / outputs as f64;
    let all_keys = key_bytes + key_switch_key_bytes(set) as f64;
    let [level_2, level_3, memory] = levels(machine, all_keys);
    add(Term::Level2Byte, level_2 * streamed);
    add(Term::Level3Byte, level_3 * streamed);
    add(Term::MemoryByte, memory * streamed);
    if together {
        add(Term::Meeting, steps);
    }

    // The key switch: threads share the tiles, and a pass over a tile serves some ciphertexts.
    let tiles = switch_columns(set) / KEY_SWITCH_TILE_COLUMNS;
    let own_columns = (tiles.div_ceil(threads) * KEY_SWITCH_TILE_COLUMNS) as f64;
    let scalars = switch_rows(set) as f64 * own_columns;
    let switch_passes = batch.div_ceil(KEY_SWITCH_TILE_CIPHERTEXTS) as f64;
    add(Term::SwitchMultiply, scalars * batch as f64);
    add(Term::SwitchByte, scalars * 4.0 * switch_passes);
    let own = batch.div_ceil(threads) as f64;
    add(Term::SwitchDigit, switch_rows(set) as f64 * own);

    add(Term::Coefficient, size * outputs as f64 * own);
    if threads > 1 {
        add(Term::Wake, 1.0);
    }
    counts
}

/// The shares of keys of so many bytes that come from each level: all of it from the smallest
/// that holds them, with a gradual change about its size.
fn levels(machine: &Machine, bytes: f64) -> [f64; 3] {
    // From half the cache's size to twice that.
    let beyond = |cache: usize| ((bytes / cache.max(1) as f64).log2() / 2.0 + 0.5).clamp(0.0, 1.0);
    let beyond_2 = beyond(machine.level_2_bytes);
    let beyond_3 = beyond(machine.level_3_bytes).min(beyond_2);
    [1.0 - beyond_2, beyond_2 - beyond_3, beyond_3]
}

impl Transforms {
    /// Seconds of the transforms of `rows` digits and `outputs` sums under `set`.
    fn seconds(&self, set: &ParameterSet, rows: usize, outputs: usize) -> f64 {
        let size_log2 = set.polynomial_size.max(1).ilog2().max(SMALLEST_SIZE_LOG2);
        let place = ((size_log2 - SMALLEST_SIZE_LOG2) as usize).min(SIZES - 1);
        let (forward, inverse) = match set.torus_bits {
            32 => (&self.forward_32, &self.inverse_32),
            _ => (&self.forward_64, &self.inverse_64),
        };
        rows as f64 * forward[place] + outputs as f64 * inverse[place]
    }
}
