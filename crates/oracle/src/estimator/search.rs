//! The searches of the lattice estimator, step by step. Costs over integers are staircases with
//! many local minima, so that a search with other steps would find other minima.

use std::ops::Range;

/// An attack with a price.
pub(super) trait Priced: Copy {
    /// log2 of the operations, infinite if the attack fails.
    fn log2_cost(&self) -> f64;

    /// Takes `other`'s place if it costs no more.
    fn or_better(&mut self, other: Self) {
        if other.log2_cost() <= self.log2_cost() {
            *self = other;
        }
    }
}

/// The block size at which the search ends: 512 bits in the core-SVP model.
pub(super) const MAX_BLOCK_SIZE: usize = 1754;

/// The direction from which a search reached its present point.
enum Move {
    StepDown,
    StepUp,
    JumpDown,
    JumpUp,
}

/// Returns a local minimum of `price` in `range` and its place, by bisection from the upper end;
/// the neighbours of each point give the direction in which the price falls. `None` for an empty
/// range.
pub(super) fn local_minimum<T: Priced>(
    range: Range<usize>,
    mut price: impl FnMut(usize) -> T,
) -> Option<(usize, T)> {
    let (mut low, mut high) = (range.start, range.end.checked_sub(1)?);
    let mut best: Option<(usize, T)> = None;
    let mut came_by = Move::StepDown;
    let mut seen = Vec::with_capacity(32);
    let mut next = Some(high);
    while let Some(at) = next.filter(|at| range.contains(at) && !seen.contains(at)) {
        seen.push(at);
        let value = price(at);
        let better = best.is_none_or(|(_, best)| value.log2_cost() <= best.log2_cost());
        if better {
            best = Some((at, value));
        }
        (came_by, next) = match (better, came_by) {
            (true, Move::JumpDown | Move::JumpUp) => (Move::StepDown, at.checked_sub(1)),
            (true, Move::StepDown) => {
                high = at;
                (Move::JumpDown, Some((low + high).div_ceil(2)))
            }
            (true, Move::StepUp) => {
                low = at;
                (Move::JumpUp, Some((low + high) / 2))
            }
            (false, Move::StepDown) => (Move::StepUp, Some(at + 2)),
            (false, Move::StepUp) => break,
            (false, Move::JumpDown) => {
                low = at;
                (Move::JumpDown, Some((low + high).div_ceil(2)))
            }
            (false, Move::JumpUp) => {
                high = at;
                (Move::JumpUp, Some((low + high) / 2))
            }
        };
    }
    best
}

/// Searches as [`local_minimum`] does over multiples of `step`, followed by a search of every point
/// around the result.
pub(super) fn coarse_minimum<T: Priced>(
    range: Range<usize>,
    step: usize,
    mut price: impl FnMut(usize) -> T,
) -> Option<T> {
    let multiples = range.start.div_ceil(step)..range.end / step;
    let (at, mut best) = local_minimum(multiples, |multiple| price(multiple * step))?;
    let at = at * step;
    let first = range.start.max(at.saturating_sub(step));
    for near in first..range.end.min(at + step) {
        best.or_better(price(near));
    }
    Some(best)
}

/// The prices at `start`, `start + step`, … below `end`, for as long as they do not rise.
pub(super) fn falling<T: Priced>(
    range: Range<usize>,
    step: usize,
    mut price: impl FnMut(usize) -> Option<T>,
) -> Option<T> {
    let mut best = price(range.start)?;
    for at in range.step_by(step).skip(1) {
        match price(at) {
            Some(value) if value.log2_cost() <= best.log2_cost() => best = value,
            _ => break,
        }
    }
    Some(best)
}
