//! The tables of the lookups that take compact values apart into radix digits.

use tfhe_sbc_core::encoding::chunks::{DigitLookup, View};
use tfhe_sbc_core::parameters::{ModulusSwitch, Parameters};

use crate::lookup_table::LookupTable;

/// The table of a lookup, and the torus element to add to its outputs.
pub(crate) struct ChunkTable {
    pub(crate) polynomial: LookupTable<u64>,
    pub(crate) offset: u64,
}

impl ChunkTable {
    /// Returns the table of a lookup of radix digits; `None` if there is no room for its functions.
    pub(crate) fn new(parameters: &Parameters, lookup: &DigitLookup) -> Option<Self> {
        let encoding = parameters.block_encoding();
        let Some(bits) = lookup.padded_bits else {
            let place = lookup.outputs.first()?.place;
            let scale_log2 = encoding.plaintext_bits().checked_sub(place)?;
            return Some(Self::of_top_bit(parameters, scale_log2));
        };
        let outputs = &lookup.outputs;
        let size = parameters.polynomial_size();
        let polynomial = LookupTable::interleaved(size, bits, outputs.len(), |function, x| {
            let part = outputs.get(function).map_or(0, |output| output.of(x));
            encoding.encode(part as i64)
        })?;
        Some(Self {
            polynomial,
            offset: 0,
        })
    }

    /// Returns the table that gives a top bit at the scale `2^-scale_log2` of the torus. The table has the negative of
    /// half the bit and the other half is added, so that the bit is 0 for phases below one half of the torus and 1 for
    /// the others.
    pub(crate) fn of_top_bit(parameters: &Parameters, scale_log2: u32) -> Self {
        let half = part_of_torus(scale_log2 + 1);
        Self {
            polynomial: LookupTable::sign(parameters.polynomial_size(), half.wrapping_neg()),
            offset: half,
        }
    }
}

/// The torus element `2^-log2`, for `log2` from 1.
fn part_of_torus(log2: u32) -> u64 {
    1 << (u64::BITS - log2)
}

/// Returns the torus element to add to a value in a view, so that every phase is as far from the border below it as from
/// that above, for a table with exponents of this coarseness.
pub(crate) fn view_offset(parameters: &Parameters, view: View, coarseness_log2: u32) -> u64 {
    let half_width = part_of_torus(view.half_width_log2());
    centre(parameters, half_width, coarseness_log2)
}

/// Returns the torus element to add to a phase that is at the lower border of an interval, so that it is `half_width` away
/// from both borders of the interval, for a table with exponents of this coarseness.
pub(crate) fn centre(parameters: &Parameters, half_width: u64, coarseness_log2: u32) -> u64 {
    match parameters.modulus_switch() {
        // The body is rounded to nearest instead of down, which moves every border of a table down
        // by half a step of the modulus switch.
        ModulusSwitch::Plain => {
            let log2 = parameters.polynomial_size().log2() + 2 - coarseness_log2;
            half_width.wrapping_sub(part_of_torus(log2))
        }
        ModulusSwitch::MeanCompensated => half_width,
    }
}
