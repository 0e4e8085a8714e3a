//! Sums and extremes of windows of rows, rehearsed with the lookups of an evaluation, against plain ones.

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{FheUint, Integer, Signed, Signedness, Unsigned, Width};

fn read<S: Signedness>(circuit: &Circuit, x: &Integer<S>) -> i128 {
    let blocks: Vec<&Block> = x.blocks().iter().collect();
    let values = circuit.rehearse(&blocks).unwrap();
    let digit_bits = circuit.encoding().message_bits();
    let bits = x.width().bits();
    let digits = values.iter().enumerate();
    let sum = digits.fold(0, |sum, (i, value)| {
        sum + (i128::from(*value) << (i as u32 * digit_bits))
    });
    match S::SIGNED {
        true => (sum << (128 - bits)) >> (128 - bits),
        false => sum,
    }
}

/// The windows that end with row `first` or a later one.
fn windows(values: &[i128], window: usize, first: usize) -> impl Iterator<Item = &[i128]> {
    (first..values.len()).map(move |end| &values[(end + 1).saturating_sub(window)..=end])
}

fn agree<S: Signedness>(circuit: &Circuit, bits: u32, raw: &[u64], window: usize, first: usize) {
    let value = |&raw: &u64| match S::SIGNED {
        true => (i128::from(raw) << (128 - bits)) >> (128 - bits),
        false => i128::from(raw) & ((1 << bits) - 1),
    };
    let values: Vec<i128> = raw.iter().map(value).collect();
    let width = Width::new(bits).unwrap();
    let column = values
        .iter()
        .map(|value| circuit.stand_in_integer(*value, width));
    let column: Vec<Integer<S>> = column.collect();
    for order in [Order::Ascending, Order::Descending] {
        let found = circuit
            .window_extremes(order, &column, window, first)
            .unwrap();
        let found: Vec<i128> = found.iter().map(|x| read(circuit, x)).collect();
        let expected = windows(&values, window, first).map(|window| match order {
            Order::Ascending => *window.iter().min().unwrap(),
            Order::Descending => *window.iter().max().unwrap(),
        });
        assert_eq!(found, expected.collect::<Vec<i128>>());
    }
}

fn sums_agree(circuit: &Circuit, bits: u32, raw: &[u64], window: usize, first: usize) {
    let values: Vec<i128> = raw
        .iter()
        .map(|raw| i128::from(*raw) & ((1 << bits) - 1))
        .collect();
    let width = Width::new(bits).unwrap();
    let column = values
        .iter()
        .map(|value| circuit.stand_in_integer(*value, width));
    let column: Vec<FheUint> = column.collect();
    let found = circuit.window_sums(&column, window, first).unwrap();
    let found: Vec<i128> = found.iter().map(|x| read(circuit, x)).collect();
    let expected = windows(&values, window, first).map(|window| window.iter().sum::<i128>());
    assert_eq!(found, expected.collect::<Vec<i128>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Many threads make scans parallel, and few make them sequential.
    #[test]
    fn windows_are_those_of_plain_numbers(
        bits in 1u32..=11,
        raw in prop::collection::vec(any::<u64>(), 1..=40),
        window in 1usize..=45,
        first in 0usize..40,
        threads in prop_oneof![Just(1), Just(2), Just(64)],
    ) {
        let first = first % raw.len();
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for set in [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3] {
                let circuit = Circuit::new(&set.validate().unwrap()).unwrap();
                sums_agree(&circuit, bits, &raw, window, first);
                agree::<Unsigned>(&circuit, bits, &raw, window, first);
                agree::<Signed>(&circuit, bits, &raw, window, first);
            }
        });
    }
}

#[test]
fn windows_of_nothing_are_refused() {
    let circuit = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
    let column: Vec<FheUint> = vec![circuit.stand_in_integer(1u8, Width::new(4).unwrap()); 3];
    let sums =
        |column: &[FheUint], window, first| circuit.window_sums(column, window, first).map(drop);
    assert_eq!(sums(&[], 2, 0), Err(AnalyticsError::NoRows));
    assert_eq!(sums(&column, 0, 0), Err(AnalyticsError::NoRows));
    let no_row = AnalyticsError::Rank { rank: 3, count: 2 };
    assert_eq!(sums(&column, 2, 3), Err(no_row));
    let extremes = circuit.window_extremes(Order::Ascending, &column, 2, 3);
    assert_eq!(extremes.map(drop), Err(no_row));
}

/// Three comparisons a row, whatever the window.
#[test]
fn extremes_of_windows_take_three_comparisons_a_row() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let count = |rows: u64, window| {
        pool.install(|| {
            let circuit = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
            let width = Width::new(10).unwrap();
            let column = (0..rows).map(|row| circuit.stand_in_integer(row * 37 % 1024, width));
            let column: Vec<FheUint> = column.collect();
            let found = circuit
                .window_extremes(Order::Descending, &column, window, 0)
                .unwrap();
            let blocks: Vec<&Block> = found.iter().flat_map(FheUint::blocks).collect();
            circuit.bootstrap_count(&blocks) as f64
        })
    };
    // One comparison of five digits takes eight bootstraps.
    for window in [24, 60, 168] {
        let comparisons = count(720, window) / 720.0 / 8.0;
        assert!(comparisons < 3.3, "{window}: {comparisons}");
    }
    assert!(count(720, 2) / 720.0 < 9.1);
}

/// Sums of long windows of many rows take about as many bootstraps, however long the windows are.
#[test]
fn sums_of_long_windows_are_differences() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let raw: Vec<u64> = (0..400).map(|row| row * 37 + row * row * 5).collect();
    pool.install(|| {
        for set in [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3] {
            let circuit = Circuit::new(&set.validate().unwrap()).unwrap();
            sums_agree(&circuit, 10, &raw, 168, 0);
            sums_agree(&circuit, 7, &raw, 101, 230);
        }
        let circuit = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
        let width = Width::new(10).unwrap();
        let column = (0..720).map(|row: u64| circuit.stand_in_integer(row % 1024, width));
        let column: Vec<FheUint> = column.collect();
        for window in [100, 168, 360] {
            let sums = circuit.window_sums(&column, window, window - 1).unwrap();
            let blocks: Vec<&Block> = sums.iter().flat_map(FheUint::blocks).collect();
            let bootstraps = circuit.bootstrap_count(&blocks) as f64 / 720.0;
            assert!(bootstraps < 30.0, "{window}: {bootstraps}");
        }
    });
}
