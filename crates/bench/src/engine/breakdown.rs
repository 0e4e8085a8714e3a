//! Where the time of a bootstrap goes, by size of the batch, on one thread.

use std::time::Duration;

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_engine::bootstrap::LOCKSTEP;

use crate::engine::cases::Cases;
use crate::engine::ours::OurLookups;
use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::{Row, Unit};
use crate::timing::{Subject, interleave};

/// Sizes of batches.
pub(super) const BATCHES: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Key switch, blind rotation and key read from memory, per bootstrap. `share` is the
/// time for one size of batch.
pub(super) fn rows<T: MaskTorus>(
    set: &str,
    keys: &Keys<T>,
    cases: &Cases<T>,
    share: Duration,
) -> Result<Vec<Row>, BenchError> {
    let key_switch_key = keys.server.key_switch_key_bytes();
    let bootstrap_key = keys.server.bootstrap_key_bytes();

    let ours = OurLookups::new(keys, cases);
    let mut parts: [Vec<Row>; 4] = Default::default();
    for batch in BATCHES {
        let subjects: [&mut dyn Subject; 2] =
            [&mut ours.key_switches(batch), &mut ours.bootstraps(batch)];
        let [key_switch, bootstrap] = interleave(subjects, batch, share)?;
        let rotation = bootstrap.median - key_switch.median;
        let streamed = (batch.div_ceil(LOCKSTEP) * bootstrap_key) as f64 / batch as f64;
        let name = |part: &str| format!("{set}_{part}_batch{batch}");
        let figure = |part, unit, value, note| Row::figures(name(part), unit, value, None, note);
        let row = [
            Row::times(
                name("key_switch"),
                key_switch,
                None,
                1,
                "per bootstrap of the batch",
            ),
            figure(
                "blind_rotation",
                Unit::Seconds,
                rotation,
                "per bootstrap of the batch, 1 thread: median of whole bootstraps less that of \
                 key switches",
            ),
            figure(
                "key_streamed",
                Unit::Bytes,
                streamed + key_switch_key as f64 / batch as f64,
                "key read from memory per bootstrap of the batch, by the sizes of the keys",
            ),
            figure(
                "key_rate",
                Unit::BytesPerSecond,
                streamed / rotation,
                "bootstrapping key read from memory during blind rotation",
            ),
        ];
        for (part, row) in parts.iter_mut().zip(row) {
            part.push(row);
        }
    }
    Ok(parts.into_iter().flatten().collect())
}
