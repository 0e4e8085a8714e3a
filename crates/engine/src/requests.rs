//! Requests for parts of the key, made ahead of their use while a step of a blind rotation computes something else.
//!
//! If the second-level cache has room for the keys of two steps, all of the next one is requested during this step, evenly and in its order. If not,
//! lines that are requested so early push those out that are needed first, and a core that waits for as many lines as it can
//! drops further requests. There three eighths of the key of every output are requested while the sums of the step before are transformed, and three eighths
//! while the digits are. The products read the key of all outputs side by side, and request the rest by reading it.

use tfhe_sbc_core::fft::external_product::{ProductShape, StepKey};

use crate::caches::second_level_bytes;
use crate::gadget_product::GadgetProduct;

/// The parts of the key to request during a step.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'k> {
    /// The part to request while digits are transformed.
    pub(crate) down: Upcoming<'k>,
    /// The part to request during the products.
    pub(crate) products: &'k [u8],
    /// The part to request while sums are transformed.
    pub(crate) up: Upcoming<'k>,
}

impl Requests<'_> {
    /// No requests.
    pub const NONE: Self = Self {
        down: Upcoming::NONE,
        products: &[],
        up: Upcoming::NONE,
    };
}

/// A part of the key that is requested piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Upcoming<'k> {
    /// Bytes in their order.
    InOrder(&'k [u8]),
    /// Eighths of the key of each output.
    Eighths {
        outputs: Outputs<'k>,
        key: StepKey<'k>,
        /// The first of the eighths, and the one behind the last.
        from: usize,
        to: usize,
    },
}

impl<'k> Upcoming<'k> {
    pub(crate) const NONE: Self = Self::InOrder(&[]);

    /// Returns piece `i` of `pieces`. Of the keys of several outputs it has that of one. With fewer pieces than outputs there is no piece for some outputs.
    pub(crate) fn piece(&self, i: usize, pieces: usize) -> &'k [u8] {
        match *self {
            Self::InOrder(bytes) => piece(bytes, i, pieces),
            Self::Eighths {
                outputs,
                key,
                from,
                to,
            } => {
                let Outputs {
                    product,
                    first,
                    count,
                } = outputs;
                let of_output = product.part_of(key, first + i * count / pieces, 1);
                let eighths = of_output.len() * from / 8..of_output.len() * to / 8;
                let each = pieces.div_ceil(count);
                piece(&of_output[eighths], i % each, each)
            }
        }
    }
}

/// Returns piece `i` of `pieces`, which have about the same length.
fn piece(bytes: &[u8], i: usize, pieces: usize) -> &[u8] {
    &bytes[bytes.len() * i / pieces..bytes.len() * (i + 1) / pieces]
}

/// The outputs whose keys a thread reads: `count` of those of a product, from `first` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outputs<'k> {
    pub(crate) product: &'k GadgetProduct,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl<'k> Outputs<'k> {
    /// Returns what is requested during a step whose key is `this` and is followed by `next`, while group `group` of `groups` groups of ciphertexts is turned. The groups
    /// read the key of the step one after the other.
    pub(crate) fn requests(
        self,
        (this, next): (StepKey<'k>, Option<StepKey<'k>>),
        group: usize,
        groups: usize,
    ) -> Requests<'k> {
        self.requests_with_room((this, next), group, groups, second_level_bytes())
    }

    /// Does the same as [`requests`](Self::requests) for a second-level cache of `room` bytes.
    fn requests_with_room(
        self,
        (this, next): (StepKey<'k>, Option<StepKey<'k>>),
        group: usize,
        groups: usize,
        room: usize,
    ) -> Requests<'k> {
        let bytes = |key| self.product.part_of(key, self.first, self.count);
        // An eighth is left to the ciphertexts.
        if 2 * bytes(this).len() <= room / 8 * 7 {
            let next = next.map_or(&[][..], bytes);
            return share_out(self.product.shape(), piece(next, group, groups));
        }
        let eighths = |key, from, to| Upcoming::Eighths {
            outputs: self,
            key,
            from,
            to,
        };
        let mut requests = Requests::NONE;
        if group == 0 {
            requests.down = eighths(this, 3, 6);
        }
        if group + 1 == groups
            && let Some(next) = next
        {
            requests.up = eighths(next, 0, 3);
        }
        requests
    }
}

/// Shares a part of a key out in proportion to the times of the parts of a step. The products of a row and an output take about a sixth of the
/// time of a transform.
fn share_out(shape: ProductShape, bytes: &[u8]) -> Requests<'_> {
    let ProductShape {
        block_size,
        rows,
        outputs,
    } = shape;
    let [down, products, up] = [6 * rows, block_size * rows * outputs, 6 * outputs];
    let (down, rest) = bytes.split_at(bytes.len() * down / (down + products + up));
    let (products, up) = rest.split_at(rest.len() * products / (products + up));
    Requests {
        down: Upcoming::InOrder(down),
        products,
        up: Upcoming::InOrder(up),
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
    use tfhe_sbc_core::simd::Isa;

    use super::*;

    /// The places and lengths in `key` of all pieces that are requested.
    fn places(key: &[f64], requests: &[Requests<'_>], pieces: usize) -> Vec<(usize, usize)> {
        let start = key.as_ptr().addr();
        let mut all = Vec::new();
        for requests in requests {
            for i in 0..pieces {
                all.push(requests.down.piece(i, pieces));
                all.push(requests.up.piece(i, pieces));
            }
            all.push(requests.products);
        }
        all.retain(|piece| !piece.is_empty());
        let place = |piece: &[u8]| (piece.as_ptr().addr().wrapping_sub(start), piece.len());
        let mut places: Vec<_> = all.into_iter().map(place).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn the_next_key_is_requested_once_where_two_keys_have_room() {
        let product = GadgetProduct::of_blind_rotation(&GATES.validate().unwrap(), Isa::Portable);
        let [this, next] = [1.0, 2.0].map(|x| vec![x; product.key_len()]);
        let bytes = 8 * next.len();
        let keys = (StepKey::Doubles(&this), Some(StepKey::Doubles(&next)));
        for (first, count, pieces, groups) in
            [(0, 4, 4, 1), (0, 4, 8, 3), (0, 2, 2, 1), (3, 1, 1, 2)]
        {
            let outputs = Outputs {
                product: &product,
                first,
                count,
            };
            let room = 2 * bytes * count / 4 * 8 / 7 + 8;
            let of_group = |group| outputs.requests_with_room(keys, group, groups, room);
            let requests: Vec<_> = (0..groups).map(of_group).collect();
            let mut at = bytes * first / 4;
            for (start, len) in places(&next, &requests, pieces) {
                assert_eq!(start, at);
                at += len;
            }
            assert_eq!(at, bytes * (first + count) / 4);
        }
    }

    #[test]
    fn six_eighths_of_a_key_are_requested_around_its_digits_where_two_have_no_room() {
        for set in [GATES, MESSAGE_2_CARRY_2] {
            let product = GadgetProduct::of_blind_rotation(&set.validate().unwrap(), Isa::Portable);
            let key = vec![1.0; product.key_len()];
            let count = product.shape().outputs;
            let outputs = Outputs {
                product: &product,
                first: 0,
                count,
            };
            let step = StepKey::Doubles(&key);
            let room = 16 * key.len();
            for (pieces, groups) in [(count, 1), (2 * count, 1), (2 * count, 3)] {
                // The end of the step before, and this step, behind which there is none.
                let before =
                    outputs.requests_with_room((step, Some(step)), groups - 1, groups, room);
                let before = Requests {
                    down: Upcoming::NONE,
                    ..before
                };
                let of_group =
                    |group| outputs.requests_with_room((step, None), group, groups, room);
                let requests: Vec<_> = [before]
                    .into_iter()
                    .chain((0..groups).map(of_group))
                    .collect();
                let of_output = 8 * key.len() / count;
                let mut expected = 0;
                for (start, len) in places(&key, &requests, pieces) {
                    assert_eq!(start, expected, "{pieces} {groups}");
                    expected += len;
                    if expected % of_output == of_output * 6 / 8 {
                        expected += of_output / 4;
                    }
                }
                assert_eq!(expected, 8 * key.len());
            }
        }
    }
}
