//! TFHE-rs's sets: failure probability and cost, as stated beside each.

use super::row::{Row, Tolerance};
use crate::published::PublishedSet;

/// The tolerance of the probability, as its log2.
const LOG2_P_FAIL: Tolerance = Tolerance::Absolute(0.01);
/// The tolerance of the cost. Most costs are stated in whole millions.
const COST: Tolerance = Tolerance::Relative(0.01);

/// The rows of `sets`.
pub fn rows(sets: &[PublishedSet]) -> Vec<Row> {
    let mut rows = Vec::new();
    for set in sets {
        let name = |figure: &str| format!("{}/{figure}", set.name);
        let log2_p_fail = set.predicted_log2_p_fail(set.fft_model());
        let stated = set.log2_p_fail;
        let row = Row::compared(name("p-fail"), "log2", log2_p_fail, stated, LOG2_P_FAIL);
        rows.push(row.unexplained(set.unexplained()));
        let (unit, cost) = ("million operations", set.predicted_cost());
        rows.push(match set.cost {
            Some(stated) => Row::compared(name("cost"), unit, cost, stated, COST),
            None => Row::alone(name("cost"), unit, cost, None).noted("none is stated"),
        });
    }
    rows
}
