//! The search for the parameters of an attack: a pattern search (Hooke and Jeeves, 1961) with steps
//! that are halved down to one, from several starts.

use std::collections::HashMap;

use super::super::reduction::MIN_BLOCK_SIZE;
use super::super::search::{MAX_BLOCK_SIZE, Priced, local_minimum};
use super::StrictCost;

impl Priced for StrictCost {
    fn log2_cost(&self) -> f64 {
        self.log2_cost
    }
}

/// A point of the search: the block size β, the number of guessed parts of the key, and the number
/// of transformed coefficients.
pub(super) type Point = [usize; 3];

/// The first steps.
const STEPS: Point = [16, 8, 8];

/// The farthest moves of the parameters, in steps.
pub(super) type Reach = [isize; 3];

/// The half width of the range of block sizes that is searched around that of the neighbour.
const NEAR: usize = 2;

/// Returns the least price over all numbers of guessed parts and of transformed coefficients, each with
/// the best block size near that of its neighbour. Guesses that alone cost more than what was found
/// are left out: a part costs `part_bits`, a transformed coefficient at least 1 bit.
pub(super) fn sweep(
    part_bits: f64,
    most_parts: usize,
    price: impl Fn(Point) -> StrictCost,
) -> Option<StrictCost> {
    let mut best: Option<StrictCost> = None;
    for parts in 0..=most_parts {
        let bits = parts as f64 * part_bits;
        if best.is_some_and(|best| bits >= best.log2_cost) {
            break;
        }
        let alone = |beta| price([beta, parts, 0]);
        let (mut beta, mut found) = local_minimum(MIN_BLOCK_SIZE..MAX_BLOCK_SIZE, alone)?;
        for transformed in 0..=MAX_BLOCK_SIZE {
            let limit = best.map_or(f64::INFINITY, |best| best.log2_cost);
            if bits + transformed as f64 >= limit || found.log2_cost.is_infinite() {
                break;
            }
            (beta, found) = nearest_minimum(beta, |beta| price([beta, parts, transformed]));
            if found.log2_cost < limit {
                best = Some(found);
            }
        }
    }
    best
}

/// Returns a block size near `beta` to which no other within [`NEAR`] is preferable, and its price.
fn nearest_minimum(beta: usize, price: impl Fn(usize) -> StrictCost) -> (usize, StrictCost) {
    let (mut at, mut best) = (beta, price(beta));
    loop {
        let near = at.saturating_sub(NEAR).max(MIN_BLOCK_SIZE)..=at + NEAR;
        let next = near
            .map(|beta| (beta, price(beta)))
            .min_by(|(_, a), (_, b)| a.log2_cost.total_cmp(&b.log2_cost));
        match next {
            Some((beta, cost)) if cost.log2_cost < best.log2_cost => (at, best) = (beta, cost),
            _ => return (at, best),
        }
    }
}

/// Returns the least price that is found from the `starts`. The `price` of a point outside of the
/// attack's range is infinite.
pub(super) fn least(
    starts: &[Point],
    reach: Reach,
    price: impl Fn(Point) -> StrictCost,
) -> Option<StrictCost> {
    let mut best: Option<StrictCost> = None;
    // The neighbours of a point are mostly those of the point before, and the descents meet.
    let mut known = HashMap::new();
    let mut price = |point| *known.entry(point).or_insert_with(|| price(point));
    for &start in starts {
        let found = descend(start, reach, &mut price);
        if best.is_none_or(|best| found.log2_cost < best.log2_cost) {
            best = Some(found);
        }
    }
    best
}

fn descend(start: Point, reach: Reach, mut price: impl FnMut(Point) -> StrictCost) -> StrictCost {
    let (mut at, mut best) = (start, price(start));
    let mut scale = 1;
    while scale <= 16 {
        let steps = STEPS.map(|step| (step / scale).max(1));
        let next = moves(reach)
            .filter_map(|by| moved(at, by, steps))
            .map(|point| (point, price(point)))
            .min_by(|(_, a), (_, b)| a.log2_cost.total_cmp(&b.log2_cost));
        match next {
            Some((point, cost)) if cost.log2_cost < best.log2_cost => (at, best) = (point, cost),
            _ => scale *= 2,
        }
    }
    best
}

/// All moves within the reach.
fn moves([beta, parts, transformed]: Reach) -> impl Iterator<Item = [isize; 3]> {
    (-beta..=beta).flat_map(move |beta| {
        (-parts..=parts).flat_map(move |parts| {
            (-transformed..=transformed).map(move |transformed| [beta, parts, transformed])
        })
    })
}

/// Returns the point moved `by` steps; `None` if a coordinate would be negative or β too large.
fn moved(at: Point, by: [isize; 3], steps: Point) -> Option<Point> {
    let mut point = at;
    for ((coordinate, by), step) in point.iter_mut().zip(by).zip(steps) {
        *coordinate = coordinate.checked_add_signed(by * step as isize)?;
    }
    (point[0] < MAX_BLOCK_SIZE).then_some(point)
}
