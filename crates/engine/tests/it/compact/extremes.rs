//! The largest and the smallest of groups of compact values.

use tfhe_sbc_core::encoding::CompactEncoding;
use tfhe_sbc_core::encoding::chunks::ExtremePlan;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::compact::{CompactEvaluateError, extreme_bootstraps};
use tfhe_sbc_oracle::compact::{CompactNoise, Extreme, extreme_failures, extreme_plan};
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};
use tfhe_sbc_oracle::statistics::variance_within;
use tfhe_sbc_oracle::upload::UploadKind;

use super::{codes, encoding, encrypt_code};
use crate::common::Keys;
use crate::quick_set::QUICK_2_2;

const BITS: u32 = 10;
const HEADROOM: u32 = 6;
const BODY_BITS: u32 = BITS + HEADROOM + 8;

fn form() -> CompactEncoding {
    encoding(BITS, HEADROOM, BODY_BITS)
}

fn noise(parameters: &Parameters) -> CompactNoise {
    CompactNoise::upload(parameters, UploadKind::Symmetric, &form())
}

fn plan(parameters: &Parameters, extreme: Extreme, rows_log2: u32) -> ExtremePlan {
    let widths = (BITS, HEADROOM);
    extreme_plan(parameters, widths, noise(parameters), (extreme, rows_log2)).unwrap()
}

/// Groups of all ends, of equal numbers, of neighbours and of others; the last group is short.
fn numbers() -> Vec<u64> {
    let last = (1 << BITS) - 1;
    let edges = [
        0, last, last, last, 0, 0, 0, 0, 511, 512, 512, 511, 767, 768, 31, 32,
    ];
    edges.into_iter().chain(codes(BITS, 11)).collect()
}

#[test]
fn extremes_decrypt_to_those_of_the_groups() {
    let (mut keys, server) = Keys::shared(QUICK_2_2, 130);
    let parameters = *server.parameters();
    let numbers = numbers();
    let values = numbers.iter();
    let values = values.map(|&number| encrypt_code(&mut keys, form(), number));
    let values: Vec<LweCiphertext<u64>> = values.collect();
    for (extreme, rows_log2) in [
        (Extreme::Largest, 1),
        (Extreme::Smallest, 2),
        (Extreme::Largest, 3),
    ] {
        let plan = plan(&parameters, extreme, rows_log2);
        let groups = numbers.chunks(plan.rows());
        let expected: Vec<u64> = match extreme {
            Extreme::Largest => groups.map(|group| *group.iter().max().unwrap()).collect(),
            Extreme::Smallest => groups.map(|group| *group.iter().min().unwrap()).collect(),
        };
        let evaluator = Evaluator::new(&server);
        let found = evaluator
            .compact_extremes(&values, &plan, &|| true)
            .unwrap();
        assert_eq!(
            evaluator.bootstrap_count(),
            extreme_bootstraps(&plan, numbers.len())
        );
        let circuit = Circuit::new(&parameters).unwrap();
        let digits = found.into_iter();
        let digits: Vec<Vec<Block>> = digits
            .map(|digits| circuit.compact_digits(digits).unwrap())
            .collect();
        let blocks: Vec<&Block> = digits.iter().flatten().collect();
        let decrypted = circuit.export_while(&evaluator, &blocks, &|| true).unwrap();
        let decrypted = decrypted.iter().map(|lwe| keys.secret.decrypt_block(lwe));
        let decrypted: Vec<u64> = decrypted.collect();
        let numbers = decrypted.chunks(plan.digits().digit_count());
        let numbers =
            numbers.map(|digits| digits.iter().rev().fold(0, |sum, digit| 4 * sum + digit));
        assert_eq!(
            numbers.collect::<Vec<u64>>(),
            expected,
            "{extreme:?} {rows_log2}"
        );
    }
}

#[test]
fn the_evaluation_of_extremes_is_cancelled() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 131);
    let evaluator = Evaluator::new(&server);
    let plan = plan(server.parameters(), Extreme::Largest, 1);
    let values = [keys.encrypt(0), keys.encrypt(0)];
    let twice = || evaluator.bootstrap_count() < 2;
    let stopped = evaluator.compact_extremes(&values, &plan, &twice);
    assert_eq!(stopped.err(), Some(CompactEvaluateError::Cancelled));
    assert_eq!(evaluator.bootstrap_count(), 2);
}

/// The phase before a lookup, exact, for these numbers.
fn exact(plan: &ExtremePlan, numbers: &[u64]) -> Vec<u64> {
    let mut phases = Vec::new();
    let mut results: Vec<Vec<u64>> = Vec::new();
    for lookup in plan.lookups() {
        let values = lookup.values.iter().zip(numbers);
        let values = values.map(|(factor, number)| {
            (number << (64 - BITS - HEADROOM)).wrapping_mul(*factor as u64)
        });
        let phase = values.fold(lookup.half_width, u64::wrapping_add);
        let phase = lookup.results.iter().fold(phase, |phase, term| {
            let result = results[term.lookup][term.function];
            phase.wrapping_add(result.wrapping_mul(term.factor as u64))
        });
        phases.push(phase);
        results.push(lookup.results_of(phase).collect());
    }
    phases
}

#[test]
#[ignore = "minutes of statistics"]
fn lookups_of_extremes_have_the_noise_of_their_plan() {
    const GROUPS: usize = 150;
    let (mut keys, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, 37);
    let parameters = *server.parameters();
    let plan = plan(&parameters, Extreme::Largest, 2);
    let numbers: Vec<u64> = codes(BITS, (GROUPS * plan.rows()) as u64).collect();
    let values = numbers.iter();
    let values = values.map(|&number| encrypt_code(&mut keys, form(), number));
    let values: Vec<LweCiphertext<u64>> = values.collect();
    let evaluator = Evaluator::new(&server);
    let inputs = evaluator.compact_extreme_inputs(&values, &plan).unwrap();
    let exact: Vec<Vec<u64>> = numbers
        .chunks(plan.rows())
        .map(|group| exact(&plan, group))
        .collect();
    let failures = extreme_failures(&parameters, &plan, noise(&parameters));
    let own = NoiseBudget::new(&PbsParameters::from(&parameters));
    for (at, (lookup, failure)) in plan.lookups().iter().zip(failures).enumerate() {
        let errors = inputs[at].iter().zip(&exact).map(|(input, exact)| {
            let phase = keys.big.phase(input);
            phase.wrapping_sub(exact[at]).to_signed_fraction()
        });
        let errors: Vec<f64> = errors.collect();
        // What the key switch and the modulus switch add is measured with other lookups.
        let coarser = f64::exp2(f64::from(2 * lookup.interleaved_log2()));
        let added = own.key_switch + own.modulus_switch * coarser;
        let before = Variance(failure.total.0 - added.0);
        let check = variance_within(&errors, before, 0.4);
        let terms = lookup.results.len();
        println!("{at}: {terms} results, {:.3} of the variance", check.ratio);
        // The errors of several results of one lookup, and of the values, are taken to be the same, so that
        // the prediction is a bound.
        assert!(check.ratio < 1.4 && check.ratio > 0.15, "{at}: {check:?}");
    }
}
