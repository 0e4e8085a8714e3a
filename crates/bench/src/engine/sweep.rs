//! The engine's bootstraps by size of batch, and the limits that bound them: reading the key from
//! memory and the arithmetic of blind rotations, as shares of the limits of the machine.

use std::time::Duration;

use serde::Serialize;
use tfhe_sbc_core::fft::external_product::ProductShape;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::lockstep;

use crate::engine::cases::Cases;
use crate::engine::limits::{Limits, reread_rate};
use crate::engine::ours::OurLookups;
use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::Unit;
use crate::text_table::{align_right, table};
use crate::timing::{Subject, interleave};

/// A batch on a number of threads. Times are wall-clock time divided by the size of the
/// batch, in seconds; shares are of [`Limits`] at as many threads.
#[derive(Clone, Default, Serialize)]
pub(super) struct Batch {
    /// Parameter set.
    pub(super) set: String,
    /// Threads.
    pub(super) threads: usize,
    /// Bootstraps.
    pub(super) batch: usize,
    /// Median time of a bootstrap.
    pub(super) bootstrap: f64,
    pub(super) bootstrap_min: f64,
    pub(super) bootstrap_runs: usize,
    /// Median time of the key switch in it; the rest is called blind rotation here.
    pub(super) key_switch: f64,
    /// The bytes of both keys read for a bootstrap, by their sizes and the passes over them.
    pub(super) key_bytes: f64,
    /// The bytes of the bootstrapping key per second of blind rotation.
    pub(super) key_rate: f64,
    /// This rate as a share of the rate for a buffer larger than the caches.
    pub(super) bandwidth_share: f64,
    /// The same rate as a share of the rate for a buffer of the bootstrapping key's size that is
    /// read again and again.
    pub(super) reread_share: f64,
    /// Vector lanes' multiplications, additions and multiply-adds of a blind rotation.
    pub(super) operations: f64,
    /// Their rate as a share of the processor's rate of independent multiply-adds.
    pub(super) arithmetic_share: f64,
}

/// Batches of all `sizes` on the threads of the current rayon pool, which has the `limits`. `share` is the
/// time for one size.
pub(super) fn batches(
    keys: &Keys<u64>,
    cases: &Cases<u64>,
    (limits, sizes): (&Limits, &[usize]),
    share: Duration,
) -> Result<Vec<Batch>, BenchError> {
    let bootstrap_key = keys.server.bootstrap_key_bytes() as f64;
    let key_switch_key = keys.server.key_switch_key_bytes() as f64;
    let reread_rate = reread_rate(keys.server.bootstrap_key_bytes());
    let operations = operations(keys.parameters());
    let ours = OurLookups::new(keys, cases);
    let threads = limits.threads;
    let measure = |batch: usize| {
        let subjects: [(&mut dyn Subject, usize); 2] = [
            (&mut ours.key_switches(batch), batch),
            (&mut ours.bootstraps(batch), batch),
        ];
        let [key_switch, bootstrap] = interleave(subjects, share)?;
        let rotation = bootstrap.median - key_switch.median;
        let passes = batch.div_ceil(lockstep(batch, threads)) as f64;
        let each = |bytes: f64| bytes / batch as f64;
        let key_rate = each(passes * bootstrap_key) / rotation;
        Ok(Batch {
            set: keys.parameters().name().as_str().to_owned(),
            threads,
            batch,
            bootstrap: bootstrap.median,
            bootstrap_min: bootstrap.least,
            bootstrap_runs: bootstrap.runs,
            key_switch: key_switch.median,
            key_bytes: each(passes * bootstrap_key + key_switch_key),
            key_rate,
            bandwidth_share: key_rate / limits.read_rate,
            reread_share: key_rate / reread_rate,
            operations,
            arithmetic_share: operations / rotation / limits.multiply_add_rate,
        })
    };
    sizes.iter().copied().map(measure).collect()
}

/// Multiplications, additions and multiply-adds of doubles in a blind rotation, each one
/// operation: butterflies of 6 and the pointwise part. Not in it: taking digits, rounding,
/// and whatever a kernel does beyond that.
fn operations(parameters: &Parameters) -> f64 {
    let size = parameters.polynomial_size().get() as f64;
    let block_size = f64::from(parameters.lwe_block_size());
    let k = parameters.glwe_dimension().0;
    let shape = ProductShape {
        block_size: parameters.lwe_block_size() as usize,
        rows: k * parameters.pbs().level_count.0 + parameters.pbs_body().level_count.0,
        outputs: k + 1,
    };
    let (rows, outputs) = (shape.rows as f64, shape.outputs as f64);
    let points = size / 2.0;
    let transform = points / 2.0 * points.log2() * 6.0;
    // For each point and bit: complex multiply-adds of every row and output, the factor X^a - 1,
    // and a complex multiply-add of it for every output; or, for each point, complex multiply-adds of every row and output
    // with the bundle of the key of all bits.
    let turned = match shape.bundles() {
        true => rows * outputs,
        false => block_size * outputs,
    };
    let pointwise = points * 4.0 * (block_size * (rows * outputs + 1.0) + turned);
    let steps = parameters.lwe_dimension().0 as f64 / block_size;
    steps * ((rows + outputs) * transform + pointwise)
}

/// A line for each.
pub(super) fn to_table(batches: &[Batch]) -> String {
    let mut lines = table();
    lines.set_header([
        "",
        "threads",
        "batch",
        "bootstrap",
        "min",
        "key switch",
        "key read",
        "rate",
        "of memory",
        "of rereading",
        "of arithmetic",
    ]);
    for batch in batches {
        let seconds = |value| Unit::Seconds.show(value);
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        lines.add_row([
            batch.set.clone(),
            batch.threads.to_string(),
            batch.batch.to_string(),
            seconds(batch.bootstrap),
            seconds(batch.bootstrap_min),
            seconds(batch.key_switch),
            Unit::Bytes.show(batch.key_bytes),
            Unit::BytesPerSecond.show(batch.key_rate),
            percent(batch.bandwidth_share),
            percent(batch.reread_share),
            percent(batch.arithmetic_share),
        ]);
    }
    align_right(&mut lines, 1..11);
    format!(
        "{lines}\n\nPer bootstrap of a batch; medians. Rate and shares are those of the blind \
         rotation, the bootstrap less its key switch: of reading a buffer larger than the caches, of \
         rereading one of the key's size, and of independent multiply-adds."
    )
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::*;

    #[test]
    fn operations_are_those_counted_by_hand() {
        // 174 steps: four transforms of 5120 butterflies; at 1024 points, four complex products and a factor for each of 5
        // bits, and four products with their sums.
        let step = 4 * 5120 * 6 + 1024 * (5 * (16 + 4) + 16);
        let counted = operations(&MESSAGE_2_CARRY_2.validate().unwrap());
        assert_eq!(counted, f64::from(174 * step));
    }
}
