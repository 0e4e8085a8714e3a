//! The assumptions of the noise budget of circuits: the errors of different lookups are
//! independent, and the errors of two outputs of one lookup add up to less than twice one of them.

use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheUint, Width};
use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};
use tfhe_sbc_oracle::statistics::variance_within;

use crate::common::Keys;

/// The number of bootstrap outputs in a sum: that of a group of bits.
const TERMS: usize = 15;
const SUMS: usize = 160;
/// More than three standard deviations of a measured variance of that many sums, and what a
/// correlation of 1/40 between the terms would add.
const TOLERANCE: f64 = 0.35;

#[test]
#[ignore = "half a minute of statistics"]
fn different_lookups_are_independent_and_outputs_of_one_are_bounded() {
    let (mut keys, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, 35);
    let circuit = Circuit::new(server.parameters()).unwrap();
    let width = Width::new(2).unwrap();
    let wide = Width::new(4).unwrap();
    // All lookups have the same value and the same table of two functions.
    let outputs: Vec<Block> = (0..SUMS * TERMS)
        .flat_map(|_| {
            let lwe = keys.encrypt(circuit.encoding().encode(3));
            let x: FheUint = circuit.encrypted(vec![lwe], width).unwrap();
            let square = circuit.map(&x, wide, |x| (x * x).into()).unwrap();
            let square: FheUint = square;
            square.blocks().to_vec()
        })
        .collect();
    let outputs: Vec<&Block> = outputs.iter().collect();
    assert_eq!(circuit.bootstrap_count(&outputs), (SUMS * TERMS) as u64);
    let evaluator = Evaluator::new(&server);
    let found = circuit.evaluate(&evaluator, &outputs).unwrap();
    let error = |lwe: &LweCiphertext<u64>, digit: i64| {
        let exact = circuit.encoding().encode(digit);
        keys.big.phase(lwe).wrapping_sub(exact).to_signed_fraction()
    };
    // 9 is 2·4 + 1.
    let pairs = found
        .chunks(2)
        .map(|pair| [error(&pair[0], 1), error(&pair[1], 2)]);
    let pairs: Vec<[f64; 2]> = pairs.collect();
    let one = NoiseBudget::new(&PbsParameters::from(server.parameters())).pbs;
    for output in 0..2 {
        let errors: Vec<f64> = pairs.iter().map(|pair| pair[output]).collect();
        let check = variance_within(&errors, one, 0.1);
        assert!(check.within, "output {output}: {check:?}");
        let sums: Vec<f64> = errors
            .chunks(TERMS)
            .map(|terms| terms.iter().sum())
            .collect();
        let check = variance_within(&sums, one * TERMS as f64, TOLERANCE);
        println!("{TERMS} lookups: {:.3} of their variances", check.ratio);
        assert!(check.within, "sums of output {output}: {check:?}");
    }
    let both: Vec<f64> = pairs.iter().map(|pair| pair[0] + pair[1]).collect();
    let check = variance_within(&both, one * 2.0, 0.0);
    println!("two outputs: {:.3} of their variances", check.ratio);
    // The budget reckons with (1 + 1)^2, and with independent ones it would be too large.
    assert!((0.5..2.0).contains(&check.ratio), "{check:?}");
}
