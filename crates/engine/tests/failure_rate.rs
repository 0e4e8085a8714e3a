//! The predicted failure probability against counted failures. Failures of a shipped set
//! cannot be counted, so the same keys and noise serve blocks of more bits, whose decisions
//! are narrower: of integers two more, of gates 2 + 2.

mod common;

use common::Keys;
use tfhe_sbc_core::dimensions::{CarryBits, MessageBits};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{ParameterSet, PlaintextKind};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_oracle::prediction::Prediction;
use tfhe_sbc_oracle::statistics::clopper_pearson;

const KEYS: u8 = 4;
const CHAINS: usize = 250;
const LINKS: usize = 100;

#[test]
#[ignore = "a hundred thousand bootstraps: minutes"]
fn integers_fail_as_often_as_predicted() {
    failures_are_as_frequent_as_predicted(ParameterSet {
        carry_bits: CarryBits(MESSAGE_2_CARRY_2.carry_bits.0 + 2),
        ..MESSAGE_2_CARRY_2
    });
}

#[test]
#[ignore = "a hundred thousand bootstraps: minutes"]
fn gates_fail_as_often_as_predicted() {
    failures_are_as_frequent_as_predicted(ParameterSet {
        plaintext: PlaintextKind::Radix,
        message_bits: MessageBits(2),
        carry_bits: CarryBits(2),
        max_noise_level: 1,
        body_bits: 16,
        ..GATES
    });
}

/// Every input is a bootstrap output times the noise level, as in the worst case.
fn failures_are_as_frequent_as_predicted(set: ParameterSet) {
    let parameters = set.validate().unwrap();
    let encoding = parameters.block_encoding();
    let modulus = encoding.block_modulus();
    let level = i64::from(parameters.max_noise_level);
    let table = LookupTable::from_fn(&parameters, |x| x as i64);
    let mut failures = 0;
    for seed in 0..KEYS {
        let (mut keys, server) = Keys::generate::<u64>(set, 60 + seed);
        let evaluator = Evaluator::new(&server);
        let mut blocks: Vec<LweCiphertext<u64>> = (0..CHAINS).map(|_| keys.encrypt(0)).collect();
        for link in 0..=LINKS {
            let jobs: Vec<_> = blocks
                .iter()
                .enumerate()
                .map(|(chain, block)| {
                    let held = encoding.decode(keys.big.phase(block)) as i64;
                    let wanted = ((chain + link) as u64 % modulus) as i64;
                    let mut input = block.clone();
                    input.mul_assign(level);
                    input.add_plaintext(encoding.encode(wanted - level * held));
                    Job {
                        input,
                        table: &table,
                    }
                })
                .collect();
            blocks = evaluator.bootstrap_batch(&jobs).unwrap();
            let wrong = blocks.iter().enumerate().filter(|(chain, block)| {
                encoding.decode(keys.big.phase(block)) != (chain + link) as u64 % modulus
            });
            // The inputs of the first link are fresh.
            failures += if link == 0 { 0 } else { wrong.count() as u64 };
        }
    }
    let trials = u64::from(KEYS) * (CHAINS * LINKS) as u64;
    let predicted = Prediction::new(&parameters).log2_p_fail.exp2();
    let interval = clopper_pearson(failures, trials, 0.999);
    println!("{failures} of {trials} fail, predicted {predicted:e}, interval {interval:?}");
    assert!(predicted * trials as f64 > 50.0, "too few trials to tell");
    assert!(interval.contains(predicted));
}
