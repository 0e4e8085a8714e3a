//! The encoding of readings as radix blocks.

use tfhe_sbc_core::encoding::{BlockEncoding, FixedPoint};

use crate::error::DeviceError;

/// Returns the number of radix blocks that `count` readings take, `usize::MAX` if it overflows.
pub const fn reading_block_count(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    count: usize,
) -> usize {
    count.saturating_mul(encoding.block_count(fixed_point.bits()))
}

/// Encodes the values of readings as radix blocks: reading after reading, and of each the least
/// significant block first.
///
/// `blocks` has [`reading_block_count`] places; it is unchanged on error.
///
/// # Errors
/// [`DeviceError::BlockBuffer`] if `blocks` has another length, [`DeviceError::Reading`] for a value
/// that `fixed_point` does not encode.
pub fn encode_readings(
    encoding: BlockEncoding,
    fixed_point: &FixedPoint,
    values: &[f64],
    blocks: &mut [u8],
) -> Result<(), DeviceError> {
    let needed = reading_block_count(encoding, fixed_point, values.len());
    if blocks.len() != needed {
        return Err(DeviceError::BlockBuffer {
            needed,
            found: blocks.len(),
        });
    }
    let code = |index: usize, value: f64| {
        fixed_point
            .encode(value)
            .map_err(|error| DeviceError::Reading { index, error })
    };
    for (index, &value) in values.iter().enumerate() {
        code(index, value)?;
    }
    let each = encoding.block_count(fixed_point.bits());
    for (index, (&value, blocks)) in values.iter().zip(blocks.chunks_exact_mut(each)).enumerate() {
        // A code has at most `bits` bits, and `each` blocks hold that many.
        let _ = encoding.split(code(index, value)?, blocks);
    }
    Ok(())
}
