//! The strict count in answers, for people and for machines.

use serde_json::{Map, Value, json};
use tfhe_sbc_oracle::estimator::{StrictCost, StrictEstimate};

use super::finite;

/// Returns an estimate with the parameters that each attack chose; infinite costs are null.
pub(super) fn json(estimate: &StrictEstimate) -> Value {
    let cheapest = estimate.cheapest();
    let attacks: Map<String, Value> = estimate
        .costs()
        .iter()
        .map(|cost| (cost.attack.name().to_owned(), cost_json(cost)))
        .collect();
    json!({
        "lambda": finite(cheapest.log2_cost),
        "limiting_attack": cheapest.attack.name(),
        "attacks": attacks,
    })
}

fn cost_json(cost: &StrictCost) -> Value {
    json!({
        "cost_log2": finite(cost.log2_cost),
        "beta": cost.block_size,
        "zeta": cost.guessed,
        "t": cost.transformed,
        "p": cost.transform_modulus,
    })
}

/// Returns the parameters that an attack chose, for people: those that it has.
pub(super) fn parameters(cost: &StrictCost) -> String {
    if cost.log2_cost.is_infinite() {
        return "none found".to_owned();
    }
    let all = [
        ("beta", cost.block_size),
        ("zeta", cost.guessed),
        ("t", cost.transformed),
        ("p", cost.transform_modulus),
    ];
    let chosen: Vec<String> = all
        .into_iter()
        .filter(|&(_, value)| value > 0)
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    chosen.join(", ")
}
