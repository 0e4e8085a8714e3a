//! The extremes of compact columns: groups of rows are compared without digits of each row.

use std::collections::HashMap;
use std::sync::Arc;

use tfhe_sbc_core::encoding::chunks::{DigitPlan, ExtremePlan};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::circuit::Circuit;
use tfhe_sbc_oracle::compact::{Extreme, extreme_plan};

use super::linear::Linear;
use super::parts::{Lookups, Part};
use super::plan::Way;
use crate::node::Node;

/// The most rows of a group, as a power of two.
const MAX_ROWS_LOG2: u32 = 3;

/// The way in which the first of each group of rows in an order is found.
#[derive(PartialEq, Eq)]
pub(crate) struct Extremes {
    pub(crate) order: Order,
    pub(crate) plan: ExtremePlan,
}

impl Extremes {
    /// Returns how the first of `rows` rows in an order is found; `None` if the digits of all rows, which take `digits`, are as fast. The
    /// digits take no lookups if something else takes them anyway.
    pub(super) fn new(
        parameters: &Parameters,
        (linear, rows, bits): (&Linear, usize, u32),
        order: Order,
        digits: Option<&DigitPlan>,
        are_digits_known: bool,
    ) -> Option<Self> {
        let headroom = linear.plaintext_bits().checked_sub(bits)?;
        let noise = linear.noise(parameters)?;
        let circuit = Circuit::new(parameters).ok()?;
        let digit_count = circuit.encoding().block_count(bits);
        let time_of_digits = match digits {
            _ if are_digits_known => circuit.time_of_extreme_by_digits(rows, 0, digit_count),
            Some(digits) => {
                let lookups = digits.lookups().len();
                circuit.time_of_extreme_by_digits(rows, lookups, digit_count)
            }
            None => f64::INFINITY,
        };
        let extreme = match order {
            Order::Ascending => Extreme::Smallest,
            Order::Descending => Extreme::Largest,
        };
        let most = rows.max(1).ilog2().min(MAX_ROWS_LOG2);
        let plans = (1..=most).filter_map(|rows_log2| {
            let plan = extreme_plan(parameters, (bits, headroom), noise, (extreme, rows_log2))?;
            let time = circuit.time_of_compact_extreme(&plan, rows);
            (time < time_of_digits).then_some((time, plan))
        });
        let (_, plan) = plans.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(Self { order, plan })
    }

    /// The number of groups of `rows` rows.
    pub(super) fn groups(&self, rows: usize) -> usize {
        rows.div_ceil(self.plan.rows().max(1))
    }

    /// The codes that the groups have, of the codes of all rows.
    pub(super) fn of_groups(&self, codes: &[u64]) -> Vec<u64> {
        let groups = codes.chunks(self.plan.rows().max(1));
        let first = groups.filter_map(|group| match self.order {
            Order::Ascending => group.iter().min().copied(),
            Order::Descending => group.iter().max().copied(),
        });
        first.collect()
    }
}

/// The nodes that are extremes of what a plan has the digits of anyway.
pub(super) fn with_known_digits<'n>(
    order: &'n [Arc<Node>],
    ways: &HashMap<*const Node, Way>,
    parts: &[Part],
) -> impl Iterator<Item = &'n Arc<Node>> {
    let is_known = |part: &Part| {
        let mut digits = parts
            .iter()
            .filter(|part| matches!(part.lookups, Lookups::Digits(_)));
        digits.any(|digits| digits.has_values_of(part))
    };
    order.iter().filter(move |node| {
        let part = match ways.get(&Arc::as_ptr(node)) {
            Some(Way::Extremes(number)) => parts.get(*number),
            _ => None,
        };
        part.is_some_and(is_known)
    })
}
