//! The elements of uploads whose masks make up those of a sum, so that an answer can go without them.

use std::ops::Range;

use tfhe_sbc_core::wire::bodies::{MaskWindow, SeededMasks};

/// The largest number of windows that are remembered for a ciphertext: its masks are shorter than the seeds of
/// more uploads.
const MAX_WINDOWS: usize = 1024;

/// The origin of the masks of a ciphertext.
#[derive(Clone, Copy)]
pub(super) enum Masks<'a> {
    /// Those of an upload, whose polynomial begins with this element.
    Seeded(SeededMasks, usize),
    /// Those of a computed value.
    Computed(&'a [MaskWindow]),
    /// Others.
    Unknown,
}

/// The windows of a sum; `None` if the masks of one of its parts are not known.
pub(super) struct Windows(Option<Vec<MaskWindow>>);

impl Windows {
    pub(super) fn new() -> Self {
        Self(Some(Vec::new()))
    }

    /// Adds those of `weight` times the product of a ciphertext and `Σ X^-i`, for `i` in `window`.
    pub(super) fn add(&mut self, masks: Masks<'_>, window: &Range<usize>, weight: i64) {
        match masks {
            Masks::Seeded(masks, begin) => self.push(MaskWindow {
                masks,
                first: begin + window.start,
                count: window.len(),
                weight,
            }),
            Masks::Computed(windows) if *window == (0..1) => {
                for computed in windows {
                    match computed.weight.checked_mul(weight) {
                        Some(weight) => self.push(MaskWindow {
                            weight,
                            ..*computed
                        }),
                        None => self.0 = None,
                    }
                }
            }
            Masks::Computed(_) | Masks::Unknown => self.0 = None,
        }
    }

    fn push(&mut self, window: MaskWindow) {
        let Some(windows) = &mut self.0 else {
            return;
        };
        let is_full = windows.len() == MAX_WINDOWS;
        match windows.last_mut() {
            Some(last)
                if (last.masks, last.weight) == (window.masks, window.weight)
                    && last.first + last.count == window.first =>
            {
                last.count += window.count;
            }
            _ if is_full => self.0 = None,
            _ => windows.push(window),
        }
    }

    /// Adds those of another sum.
    pub(super) fn append(&mut self, other: &Self) {
        match &other.0 {
            None => self.0 = None,
            Some(windows) => windows.iter().for_each(|window| self.push(*window)),
        }
    }

    /// The windows of the sum of this and another one.
    pub(super) fn with(mut self, other: &Self) -> Option<Vec<MaskWindow>> {
        self.append(other);
        self.0
    }
}
