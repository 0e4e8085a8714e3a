//! Readings as radix blocks.

use tfhe_sbc_core::encoding::{BlockEncoding, FixedPoint};

use crate::error::DeviceError;

/// Number of blocks of `count` readings in this encoding.
pub const fn reading_block_count(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    count: usize,
) -> usize {
    count.saturating_mul(encoding.block_count(fixed_point.bits()))
}

/// Turns readings into radix blocks, least significant block first, reading after
/// reading. `blocks` has [`reading_block_count`] places; it is untouched on error.
pub fn encode_readings(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    readings: &[f64],
    blocks: &mut [u8],
) -> Result<(), DeviceError> {
    let needed = reading_block_count(encoding, fixed_point, readings.len());
    if blocks.len() != needed {
        return Err(DeviceError::BlockBuffer {
            needed,
            found: blocks.len(),
        });
    }
    let code = |index: usize, reading: f64| {
        fixed_point
            .encode(reading)
            .map_err(|error| DeviceError::Reading { index, error })
    };
    for (index, &reading) in readings.iter().enumerate() {
        code(index, reading)?;
    }
    let each = encoding.block_count(fixed_point.bits());
    for (index, (&reading, blocks)) in readings
        .iter()
        .zip(blocks.chunks_exact_mut(each))
        .enumerate()
    {
        // A code has at most `bits` bits, which is what `each` blocks hold.
        let _ = encoding.split(code(index, reading)?, blocks);
    }
    Ok(())
}
