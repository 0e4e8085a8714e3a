//! Sums of lookup results: the same numbers as in blocks, in fewer bootstraps, with the noise that the oracle states.

use proptest::prelude::*;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheUint, Width};
use tfhe_sbc_oracle::compact::sum_plans;
use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};
use tfhe_sbc_oracle::statistics::variance_within;

use crate::common::Keys;
use crate::quick_set::QUICK_2_2;

const SETS: [ParameterSet; 3] = [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3];

fn circuit(set: ParameterSet) -> Circuit {
    let parameters = set.validate().unwrap();
    Circuit::new(&parameters)
        .unwrap()
        .with_sums(sum_plans(&parameters))
}

/// The number that an integer rehearses to.
fn value(circuit: &Circuit, x: &FheUint) -> u128 {
    let blocks: Vec<&Block> = x.blocks().iter().collect();
    let digits = circuit.rehearse(&blocks).unwrap();
    let base = i128::from(circuit.encoding().message_modulus() as u32);
    let sum = digits.iter().rev();
    let sum = sum.fold(0i128, |sum, digit| sum * base + i128::from(*digit));
    (sum as u128) & (u128::MAX >> (128 - x.width().bits()))
}

fn count(circuit: &Circuit, x: &FheUint) -> u64 {
    circuit.bootstrap_count(&x.blocks().iter().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_and_squares_are_those_of_the_numbers(
        rows in proptest::collection::vec(any::<u16>(), 40..200),
        bits in 1u32..=16,
        set in 0..SETS.len(),
        edge in 0..3,
    ) {
        let circuit = circuit(SETS[set]);
        let width = Width::new(bits).unwrap();
        let most = u16::MAX >> (16 - bits);
        let row = |x: &u16| match edge {
            0 => most,
            _ => x & most,
        };
        let rows: Vec<u16> = rows.iter().map(row).collect();
        let column: Vec<FheUint> = rows
            .iter()
            .map(|&x| circuit.stand_in_integer(x, width))
            .collect();
        let moments = circuit.moments(&column).unwrap();
        let expected: u128 = rows.iter().map(|&x| u128::from(x)).sum();
        prop_assert_eq!(value(&circuit, &moments.sum), expected);
        let squares: u128 = rows.iter().map(|&x| u128::from(x).pow(2)).sum();
        prop_assert_eq!(value(&circuit, &moments.sum_of_squares), squares);
        // Products with a column of another width.
        let others = rows.iter().rev().map(|x| x >> (bits / 2));
        let others: Vec<u16> = others.collect();
        let narrow = Width::new(bits - bits / 2).unwrap();
        let other: Vec<FheUint> = others
            .iter()
            .map(|&x| circuit.stand_in_integer(x, narrow))
            .collect();
        let products = rows.iter().zip(&others);
        let products: u128 = products.map(|(&x, &y)| u128::from(x) * u128::from(y)).sum();
        let found = circuit.sum_of_products(&column, &other).unwrap();
        prop_assert_eq!(value(&circuit, &found), products);
    }
}

#[test]
fn a_year_takes_fewer_bootstraps() {
    const ROWS: usize = 8760;
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let counts = |circuit: &Circuit| {
        let width = Width::new(10).unwrap();
        let row = |at: usize| circuit.stand_in_integer(at as u16 % 1000, width);
        let column: Vec<FheUint> = (0..ROWS).map(row).collect();
        let other: Vec<FheUint> = (0..ROWS).map(|at| row(7 * at + 1)).collect();
        let moments = circuit.moments(&column).unwrap();
        let products = circuit.sum_of_products(&column, &other).unwrap();
        let both = [moments.sum.blocks(), moments.sum_of_squares.blocks()].concat();
        let both = circuit.bootstrap_count(&both.iter().collect::<Vec<_>>());
        [
            count(circuit, &moments.sum),
            count(circuit, &moments.sum_of_squares),
            both,
            count(circuit, &products),
        ]
    };
    let alone = counts(&Circuit::new(&parameters).unwrap());
    let with_sums = counts(&circuit(MESSAGE_2_CARRY_2));
    println!("{alone:?} {with_sums:?}");
    assert!(with_sums[0] <= 15_000, "{with_sums:?}");
    assert!(with_sums[1] <= 165_000, "{with_sums:?}");
    assert!(with_sums[2] <= 295_000, "{with_sums:?}");
}

/// A column is long enough for two full groups and a smaller one of bits, whose sum has every digit.
#[test]
fn sums_decrypt_to_what_they_rehearse_to() {
    let (mut keys, server) = Keys::shared(QUICK_2_2, 105);
    let evaluator = Evaluator::new(&server);
    let circuit = circuit(QUICK_2_2);
    let width = Width::new(4).unwrap();
    let rows: Vec<u64> = (0..120).map(|row| (7 * row + 3) % 16).collect();
    let column = rows.iter().map(|x| {
        let digits = [x % 4, x / 4];
        let digits = digits.map(|digit| keys.encrypt(circuit.encoding().encode(digit as i64)));
        circuit.encrypted(digits.to_vec(), width).unwrap()
    });
    let column: Vec<FheUint> = column.collect();
    let moments = circuit.moments(&column).unwrap();
    let (mut others, mut other) = (rows.clone(), column.clone());
    others.rotate_left(1);
    other.rotate_left(1);
    let products = circuit.sum_of_products(&column, &other).unwrap();
    let product = rows.iter().zip(&others).map(|(x, y)| x * y).sum();
    for (sum, expected) in [
        (&products, product),
        (&moments.sum, rows.iter().sum::<u64>()),
        (&moments.sum_of_squares, rows.iter().map(|x| x * x).sum()),
    ] {
        let blocks: Vec<&Block> = sum.blocks().iter().collect();
        let found = circuit.export_while(&evaluator, &blocks, &|| true).unwrap();
        let digits = found.iter().rev().map(|lwe| keys.secret.decrypt_block(lwe));
        assert_eq!(digits.fold(0, |sum, digit| 4 * sum + digit), expected);
    }
}

#[test]
#[ignore = "half a minute of statistics"]
fn sums_have_the_noise_of_their_results() {
    const SUMS: usize = 120;
    let (mut keys, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, 36);
    let circuit = circuit(MESSAGE_2_CARRY_2);
    let plans = sum_plans(server.parameters());
    let plan = plans.last().unwrap();
    let terms = plan.max_norm_squared() as usize;
    let width = Width::new(2).unwrap();
    let sums = (0..SUMS).map(|_| {
        let row = (0..terms).map(|_| {
            let lwe = keys.encrypt(circuit.encoding().encode(3));
            let x: FheUint = circuit.encrypted(vec![lwe], width).unwrap();
            x.blocks()[0].clone()
        });
        circuit.sum_before_digits(&row.collect::<Vec<Block>>(), plan)
    });
    let sums: Vec<Block> = sums.collect();
    let sums: Vec<&Block> = sums.iter().collect();
    let evaluator = Evaluator::new(&server);
    let found = circuit.evaluate(&evaluator, &sums).unwrap();
    let exact = (3 * terms as u64) << (u64::BITS - plan.digits().plaintext_bits());
    let error =
        |lwe: &LweCiphertext<u64>| keys.big.phase(lwe).wrapping_sub(exact).to_signed_fraction();
    let errors: Vec<f64> = found.iter().map(error).collect();
    let one = NoiseBudget::new(&PbsParameters::from(server.parameters())).pbs;
    let check = variance_within(&errors, one * terms as f64, 0.4);
    println!("{terms} lookups: {:.3} of their variances", check.ratio);
    assert!(check.within, "{check:?}");
}
