//! The lookups of radix digits.
//!
//! Two lookups take a chunk: that of its top bit, and, with this bit subtracted, that of the rest, which
//! has a clear padding bit then. The top bit is put out at the scale that it has in its digit.
//! Where a chunk or the chunk's own rest needs it at a larger scale, it is multiplied by a power of
//! two. The lookup of the rest has a function for each digit that has bits in the rest. A chunk of one
//! bit has no rest. The last chunk needs no lookup of its top bit if it has two bits and the bit above
//! it, of the headroom, is clear.

use alloc::vec::Vec;

use super::{BlockEncoding, ChunkError, View, checked_sum};

/// Bits of a value that a lookup puts out at their place in a radix digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitOutput {
    /// The number of the digit, from the least significant.
    pub digit: usize,
    /// The lowest bit's place in the value of the lookup: the value of the chunk's bits, or of the rest.
    pub first_bit: u32,
    /// The number of bits.
    pub bits: u32,
    /// The lowest bit's place in the digit.
    pub place: u32,
}

impl DigitOutput {
    /// Returns what the bits of a lookup's value are worth in their digit.
    pub const fn of(&self, value: u64) -> u64 {
        (value >> self.first_bit & self.largest_bits()) << self.place
    }

    /// The largest value in the digit.
    pub const fn degree(&self) -> u64 {
        self.largest_bits() << self.place
    }

    const fn largest_bits(&self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// A top bit that is subtracted from a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtracted {
    /// The number of the lookup that put it out.
    pub lookup: usize,
    /// log2 of its factor.
    pub factor_log2: u32,
}

/// One lookup, that is one bootstrap, of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitLookup {
    /// The view of the value.
    pub view: View,
    /// The bits that are subtracted.
    pub subtracted: Vec<Subtracted>,
    /// The number of bits below a clear padding bit. `None` for the lookup of a top bit, without a
    /// padding bit.
    pub padded_bits: Option<u32>,
    /// The outputs, one for each function of the table.
    pub outputs: Vec<DigitOutput>,
}

impl DigitLookup {
    /// log2 of the number of functions that are interleaved in the table.
    pub fn interleaved_log2(&self) -> u32 {
        self.outputs.len().next_power_of_two().trailing_zeros()
    }

    /// The sum of the squared factors of the bits that are subtracted.
    pub fn norm_squared(&self) -> f64 {
        let square = |bit: &Subtracted| f64::from(1u32 << (2 * bit.factor_log2));
        self.subtracted.iter().map(square).sum()
    }
}

/// The lookups that take an unsigned number apart into radix digits, in the order in which they depend on
/// each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitPlan {
    bits: u32,
    headroom: u32,
    encoding: BlockEncoding,
    chunks: Vec<u32>,
    lookups: Vec<DigitLookup>,
    /// The number of bits that the chunks have together.
    first: u32,
    /// The lookup of the top bit of the last chunk, and log2 of its scale with the sign changed.
    below: Option<(usize, u32)>,
}

impl DigitPlan {
    /// Makes the plan for numbers of `bits` bits below `headroom` clear bits at the top of the torus.
    /// `chunks` are the lengths of the chunks from the lowest bits up, and `encoding` is that of the
    /// digits.
    ///
    /// # Errors
    /// If a chunk is empty or too long, the chunks have another number of bits together, or a bit would
    /// have to be put out at a smaller scale than its digit's.
    pub fn new(
        bits: u32,
        headroom: u32,
        chunks: &[u32],
        encoding: BlockEncoding,
    ) -> Result<Self, ChunkError> {
        let found = checked_sum(chunks)?;
        if found != bits {
            return Err(ChunkError::Sum {
                expected: bits,
                found,
            });
        }
        let mut plan = Self::begin(bits, headroom, encoding)?;
        for &chunk in chunks {
            plan.push(chunk)?;
        }
        Ok(plan)
    }

    /// Returns a plan without chunks, to which [`push`](Self::push) adds them.
    ///
    /// # Errors
    /// If there are no bits, or too many with the headroom.
    pub fn begin(bits: u32, headroom: u32, encoding: BlockEncoding) -> Result<Self, ChunkError> {
        let all = bits.saturating_add(headroom);
        if bits == 0 || all > super::MAX_VALUE_BITS {
            return Err(ChunkError::Width(all));
        }
        Ok(Self {
            bits,
            headroom,
            encoding,
            chunks: Vec::new(),
            lookups: Vec::new(),
            first: 0,
            below: None,
        })
    }

    /// Adds the next chunk.
    ///
    /// # Errors
    /// If the chunk is empty or too long, or a bit would have to be put out at a smaller scale than
    /// its digit's.
    pub fn push(&mut self, chunk: u32) -> Result<(), ChunkError> {
        let end = self.first + chunk;
        if chunk == 0 || chunk > super::MAX_CHUNK_BITS || end > self.bits {
            return Err(ChunkError::Size(chunk));
        }
        let bits = (self.first, chunk);
        let view = View {
            factor_log2: self.bits + self.headroom - end,
            unit_log2: chunk,
            has_fraction: self.first > 0,
        };
        if end == self.bits && chunk == 2 && self.headroom > 0 {
            let view = View {
                factor_log2: view.factor_log2 - 1,
                unit_log2: chunk + 1,
                ..view
            };
            let subtracted = subtract(self.below, view.bit_below_log2(), chunk)?;
            self.push_padded(view, subtracted.into_iter().collect(), bits);
        } else {
            self.push_with_top_bit(view, bits)?;
        }
        self.chunks.push(chunk);
        self.first = end;
        Ok(())
    }

    /// Adds the lookup of the top bit of a chunk, and that of the rest.
    fn push_with_top_bit(
        &mut self,
        view: View,
        (first, bits): (u32, u32),
    ) -> Result<(), ChunkError> {
        let below = subtract(self.below, view.bit_below_log2(), bits)?;
        let last = first + bits - 1;
        let place = last % self.encoding.message_bits();
        let top = (self.lookups.len(), self.encoding.plaintext_bits() - place);
        let mut subtracted: Vec<Subtracted> = below.into_iter().collect();
        let of_rest = subtract(Some(top), 1, bits)?;
        self.lookups.push(DigitLookup {
            view,
            subtracted: subtracted.clone(),
            padded_bits: None,
            outputs: outputs_of((last, 1), self.encoding).collect(),
        });
        if bits > 1 {
            subtracted.extend(of_rest);
            self.push_padded(view, subtracted, (first, bits - 1));
        }
        self.below = Some(top);
        Ok(())
    }

    fn push_padded(&mut self, view: View, subtracted: Vec<Subtracted>, (first, bits): (u32, u32)) {
        self.lookups.push(DigitLookup {
            view,
            subtracted,
            padded_bits: Some(bits),
            outputs: outputs_of((first, bits), self.encoding).collect(),
        });
    }

    /// The lookups.
    pub fn lookups(&self) -> &[DigitLookup] {
        &self.lookups
    }

    /// The lengths of the chunks.
    pub fn chunks(&self) -> &[u32] {
        &self.chunks
    }

    /// The number of bits of a number.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of bits of a number and of the headroom above it: a number `v` has the phase
    /// `v / 2^plaintext_bits`.
    pub fn plaintext_bits(&self) -> u32 {
        self.bits + self.headroom
    }

    /// The encoding of the digits.
    pub fn encoding(&self) -> BlockEncoding {
        self.encoding
    }

    /// The number of digits.
    pub fn digit_count(&self) -> usize {
        self.encoding.block_count(self.bits)
    }
}

/// Returns how a bit is subtracted where it is worth `2^-wanted` of the torus.
fn subtract(
    bit: Option<(usize, u32)>,
    wanted: u32,
    chunk: u32,
) -> Result<Option<Subtracted>, ChunkError> {
    let Some((lookup, scale)) = bit else {
        return Ok(None);
    };
    match scale.checked_sub(wanted) {
        Some(factor_log2) => Ok(Some(Subtracted {
            lookup,
            factor_log2,
        })),
        None => Err(ChunkError::Scale(chunk)),
    }
}

/// The parts of digits in the bits `[first, first + bits)` of the number.
fn outputs_of(
    (first, bits): (u32, u32),
    encoding: BlockEncoding,
) -> impl Iterator<Item = DigitOutput> {
    let message_bits = encoding.message_bits();
    let digits = first / message_bits..(first + bits).div_ceil(message_bits);
    digits.map(move |digit| {
        let low = first.max(digit * message_bits);
        let high = (first + bits).min((digit + 1) * message_bits);
        DigitOutput {
            digit: digit as usize,
            first_bit: low - first,
            bits: high - low,
            place: low % message_bits,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::{CarryBits, MessageBits};
    use proptest::prelude::*;

    fn block(bits: u32) -> BlockEncoding {
        BlockEncoding::new(MessageBits(bits), CarryBits(bits))
    }

    #[test]
    fn twelve_bits_are_seven_lookups() {
        let plan = DigitPlan::new(12, 1, &[4, 3, 3, 2], block(2)).unwrap();
        let outputs = |lookup: &DigitLookup| {
            let parts = lookup.outputs.iter();
            parts
                .map(|part| (part.digit, part.place, part.bits))
                .collect::<Vec<_>>()
        };
        let found: Vec<_> = plan.lookups().iter().map(outputs).collect();
        let expected = [
            &[(1, 1, 1)][..],
            &[(0, 0, 2), (1, 0, 1)],
            &[(3, 0, 1)],
            &[(2, 0, 2)],
            &[(4, 1, 1)],
            &[(3, 1, 1), (4, 0, 1)],
            &[(5, 0, 2)],
        ];
        assert_eq!(found, expected);
        // Without headroom the last two bits take two lookups.
        let plan = DigitPlan::new(12, 0, &[4, 3, 3, 2], block(2)).unwrap();
        assert_eq!(plan.lookups().len(), 8);
    }

    /// The digits by lookups on exact phases, each moved by `noise` of its room.
    fn digits(number: u64, plan: &DigitPlan, block: BlockEncoding, noise: i64) -> Vec<u64> {
        let mut digits = vec![0; plan.digit_count()];
        let mut done: Vec<u64> = Vec::new();
        for lookup in plan.lookups() {
            let view = lookup.view;
            let centre = 1i64 << (64 - view.half_width_log2());
            let phase = number << (64 - plan.bits - plan.headroom) << view.factor_log2;
            let phase = lookup.subtracted.iter().fold(phase, |phase, bit| {
                phase.wrapping_sub(done[bit.lookup] << bit.factor_log2)
            });
            let phase = phase.wrapping_add((centre + noise * (centre - 1)) as u64);
            let value = match lookup.padded_bits {
                None => phase >> (64 - view.unit_log2),
                Some(bits) => {
                    assert!(phase >> 63 == 0, "the padding bit is not clear");
                    let value = phase >> (64 - view.unit_log2);
                    assert!(value < 1 << bits);
                    value
                }
            };
            let of_top = |output: &DigitOutput| DigitOutput {
                first_bit: view.unit_log2 - 1,
                ..*output
            };
            for output in &lookup.outputs {
                let part = match lookup.padded_bits {
                    None => of_top(output).of(value),
                    Some(_) => output.of(value),
                };
                digits[output.digit] += part;
                if lookup.padded_bits.is_none() {
                    done.push(block.encode(part as i64));
                }
            }
            if lookup.padded_bits.is_some() {
                done.push(0);
            }
        }
        digits
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_number(
            chunks in proptest::collection::vec(1u32..=3, 1..10),
            headroom in 0u32..12,
            message_bits in 1u32..=3,
            number: u64,
            edge in 0u64..4,
        ) {
            let bits: u32 = chunks.iter().sum();
            let block = block(message_bits);
            let plan = match DigitPlan::new(bits, headroom, &chunks, block) {
                Ok(plan) => plan,
                // The scale of a bit in its digit is too large for some chunks.
                Err(error) => {
                    prop_assert!(matches!(error, ChunkError::Scale(2..)));
                    return Ok(());
                }
            };
            let mask = (1u64 << bits) - 1;
            let number = match edge {
                0 => 0,
                1 => mask,
                _ => number & mask,
            };
            let modulus = block.message_modulus();
            let expected: Vec<u64> = (0..plan.digit_count() as u32)
                .map(|digit| number >> (digit * message_bits) & (modulus - 1))
                .collect();
            for noise in [-1, 0, 1] {
                prop_assert_eq!(&digits(number, &plan, block, noise), &expected);
            }
            // The parts of a digit fill it and do not overlap.
            let mut filled = vec![0; plan.digit_count()];
            for output in plan.lookups().iter().flat_map(|lookup| &lookup.outputs) {
                prop_assert_eq!(filled[output.digit] & output.degree(), 0);
                filled[output.digit] |= output.degree();
            }
            let last = bits - (plan.digit_count() as u32 - 1) * message_bits;
            for (digit, filled) in filled.into_iter().enumerate() {
                let is_last = digit + 1 == plan.digit_count();
                prop_assert_eq!(filled, if is_last { (1 << last) - 1 } else { modulus - 1 });
            }
        }
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        let sum = ChunkError::Sum {
            expected: 12,
            found: 11,
        };
        assert_eq!(DigitPlan::new(12, 1, &[4, 4, 3], block(2)), Err(sum));
        assert_eq!(
            DigitPlan::new(12, 49, &[4, 4, 4], block(2)),
            Err(ChunkError::Width(61))
        );
        assert_eq!(
            DigitPlan::new(8, 1, &[4, 4], block(2)),
            Err(ChunkError::Scale(4))
        );
    }
}
