//! The forms of sums of lookup results.

use tfhe_sbc_core::encoding::chunks::SumPlan;
use tfhe_sbc_core::parameters::Parameters;

use super::{CompactNoise, Roundings, digit_plan};
use crate::noise_budget::{NoiseBudget, PbsParameters};

/// The most bits of a sum.
const MAX_BITS: u32 = 10;
/// The most results of a sum.
const MAX_RESULTS: u64 = 64;

/// Returns the forms of sums of lookup results, the shortest sums first. Each is for sums of one number of bits. It
/// takes at least as many results as have the largest value of a block each, and as many more as cost no further lookup.
/// Every lookup that takes a sum apart fails with at most 2^-128.
pub fn sum_plans(parameters: &Parameters) -> Vec<SumPlan> {
    let largest_block = parameters.block_encoding().block_modulus() - 1;
    let pbs = NoiseBudget::new(&PbsParameters::from(parameters)).pbs;
    let plan_of = |bits: u32, results: u64| {
        let noise = CompactNoise {
            gaussian: pbs * results as f64,
            rounding: Roundings::NONE,
        };
        let plans = (0..=1).filter_map(|headroom| digit_plan(parameters, bits, headroom, noise));
        plans.min_by_key(|plan| plan.lookups().len())
    };
    let plan = |bits: u32| {
        let least = (1u64 << bits).div_ceil(largest_block.max(1));
        let fewest = plan_of(bits, least)?.lookups().len();
        (least..=MAX_RESULTS).rev().find_map(|results| {
            let plan = plan_of(bits, results)?;
            (plan.lookups().len() == fewest).then(|| SumPlan::new(plan, results))
        })
    };
    let first = parameters.block_encoding().message_bits() + 1;
    (first..=MAX_BITS).filter_map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    #[test]
    fn sums_have_as_many_results_as_the_noise_allows() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let plans = sum_plans(&parameters);
        let found = plans.iter().map(|plan| {
            let lookups = plan.digits().lookups().len();
            (plan.digits().bits(), plan.max_norm_squared(), lookups)
        });
        let found: Vec<(u32, u64, usize)> = found.collect();
        let expected = [
            (3, 64, 2),
            (4, 64, 2),
            (5, 64, 3),
            (6, 39, 3),
            (7, 39, 4),
            (8, 22, 6),
        ];
        assert_eq!(found, expected);
        let noise = NoiseBudget::new(&PbsParameters::from(&parameters)).pbs;
        for plan in &plans {
            let digits = plan.digits();
            let one_more = CompactNoise {
                gaussian: noise * (plan.max_norm_squared() + 1) as f64,
                rounding: Roundings::NONE,
            };
            let headroom = digits.plaintext_bits() - digits.bits();
            let with_more = digit_plan(&parameters, digits.bits(), headroom, one_more);
            let is_bound = plan.max_norm_squared() == MAX_RESULTS;
            assert!(
                is_bound
                    || with_more.is_none_or(|other| other.lookups().len() > digits.lookups().len())
            );
        }
    }
}
