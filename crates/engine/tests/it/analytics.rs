//! Computations on columns compared with plain ones on the same numbers, rehearsed in the clear
//! with the same lookups as an evaluation.

use proptest::prelude::*;
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::extremes::{Indexed, Order};
use tfhe_sbc_engine::analytics::moments::{sample_variance, variance, variance_numerator};
use tfhe_sbc_engine::analytics::rows::Condition;
use tfhe_sbc_engine::analytics::score::probability_limits;
use tfhe_sbc_engine::analytics::tree::{Node, Tree};
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{
    Comparison, Integer, IntegerError, Signed, Signedness, Unsigned, Width,
};

use crate::common::{circuits, read_bool};

fn read<S: Signedness>(circuit: &Circuit, x: &Integer<S>) -> i128 {
    let blocks: Vec<&Block> = x.blocks().iter().collect();
    let values = circuit.rehearse(&blocks).unwrap();
    let digit_bits = circuit.encoding().message_bits();
    let bits = x.width().bits();
    let sum = values.iter().enumerate().fold(0i128, |sum, (i, &value)| {
        assert!((0..1 << digit_bits).contains(&value), "no digit");
        sum + (i128::from(value) << (i as u32 * digit_bits))
    });
    match S::SIGNED {
        true => (sum << (128 - bits)) >> (128 - bits),
        false => sum & ((1 << bits) - 1),
    }
}

fn read_all<S: Signedness>(circuit: &Circuit, list: &[Integer<S>]) -> Vec<i128> {
    list.iter().map(|x| read(circuit, x)).collect()
}

fn stand_ins<S: Signedness>(circuit: &Circuit, values: &[i128], bits: u32) -> Vec<Integer<S>> {
    let width = Width::new(bits).unwrap();
    let stand_in = |&value: &i128| circuit.stand_in_integer(value, width);
    values.iter().map(stand_in).collect()
}

/// The number that the bits stand for.
fn number<S: Signedness>(bits: u32, raw: u64) -> i128 {
    let raw = i128::from(raw);
    match S::SIGNED {
        true => (raw << (128 - bits)) >> (128 - bits),
        false => raw & ((1 << bits) - 1),
    }
}

/// A width, and readings of it, of few different values half of the time.
fn columns(rows: usize) -> impl Strategy<Value = (u32, Vec<u64>)> {
    let readings = prop_oneof![
        prop::collection::vec(any::<u64>(), 1..=rows),
        prop::collection::vec(0u64..4, 1..=rows),
    ];
    (1u32..=11, readings)
}

fn order_agrees<S: Signedness>(bits: u32, raw: &[u64], count: usize, percent: u32) {
    let values: Vec<i128> = raw.iter().map(|&raw| number::<S>(bits, raw)).collect();
    let mut indexed: Vec<(i128, i128)> = values.iter().copied().zip(0..).collect();
    indexed.sort();
    let ascending: Vec<i128> = indexed.iter().map(|&(value, _)| value).collect();
    let mut descending = indexed.clone();
    descending.sort_by_key(|&(value, index)| (-value, index));
    for c in circuits() {
        let column = stand_ins::<S>(&c, &values, bits);
        assert_eq!(read(&c, &c.min_of(&column).unwrap()), ascending[0]);
        assert_eq!(read(&c, &c.max_of(&column).unwrap()), descending[0].0);
        for (found, expected) in [
            (c.arg_min(&column).unwrap(), indexed[0]),
            (c.arg_max(&column).unwrap(), descending[0]),
        ] {
            let found = (read(&c, &found.value), read(&c, &found.index));
            assert_eq!(found, expected);
        }
        let sorted = c.sort(Order::Ascending, &column).unwrap();
        assert_eq!(read_all(&c, &sorted), ascending);
        let first = c.sorted_first(Order::Ascending, &column, count).unwrap();
        assert_eq!(read_all(&c, &first), ascending[..count]);
        for (order, expected) in [
            (Order::Ascending, &indexed),
            (Order::Descending, &descending),
        ] {
            let found = c.sorted_first_indexed(order, &column, count).unwrap();
            let read = |x: &Indexed<S>| (read(&c, &x.value), read(&c, &x.index));
            let found: Vec<_> = found.iter().map(read).collect();
            assert_eq!(found, expected[..count]);
        }
        let nth = c.nth_smallest(&column, count - 1).unwrap();
        assert_eq!(read(&c, &nth), ascending[count - 1]);
        // The smallest that at least that share does not exceed.
        let share = |x: i128| values.iter().filter(|&&y| y <= x).count() * 100;
        let enough = |x: &&i128| share(**x) >= percent as usize * values.len();
        let percentile = c.percentile(&column, percent).unwrap();
        assert_eq!(Some(&read(&c, &percentile)), ascending.iter().find(enough));
    }
}

fn moments_agree<S: Signedness>(bits: u32, raw: &[u64]) {
    let values: Vec<i128> = raw.iter().map(|&raw| number::<S>(bits, raw)).collect();
    let n = values.len();
    for c in circuits() {
        let moments = c.moments(&stand_ins::<S>(&c, &values, bits)).unwrap();
        assert_eq!(moments.count, n);
        let sum = read(&c, &moments.sum);
        let squares = read(&c, &moments.sum_of_squares);
        let from = |x: &i128| x - moments.origin;
        assert_eq!(sum, values.iter().map(from).sum::<i128>());
        assert_eq!(squares, values.iter().map(|x| from(x).pow(2)).sum());
        let total: i128 = values.iter().sum();
        let plain = n as i128 * values.iter().map(|x| x * x).sum::<i128>() - total * total;
        let numerator = variance_numerator(n, sum as u128, squares as u128);
        assert_eq!(numerator, Some(plain as u128));
        let n = n as f64;
        let population = variance(values.len(), sum as u128, squares as u128).unwrap();
        assert_eq!(population, plain as f64 / (n * n));
        let sample = sample_variance(values.len(), sum as u128, squares as u128);
        assert_eq!(sample, (n > 1.0).then(|| plain as f64 / (n * (n - 1.0))));
    }
}

fn products_agree(bits: u32, raw: &[u64]) {
    let values: Vec<i128> = raw
        .iter()
        .map(|&raw| number::<Unsigned>(bits, raw))
        .collect();
    let others: Vec<i128> = values.iter().rev().map(|x| x >> (bits / 2)).collect();
    for c in circuits() {
        let column = stand_ins::<Unsigned>(&c, &values, bits);
        let other = stand_ins::<Unsigned>(&c, &others, bits - bits / 2);
        let found = read(&c, &c.sum_of_products(&column, &other).unwrap());
        let products = values.iter().zip(&others).map(|(x, y)| x * y);
        assert_eq!(found, products.sum::<i128>());
        let shorter = c.sum_of_products(&column, &other[1..]);
        assert!(matches!(
            shorter,
            Err(AnalyticsError::NoRows | AnalyticsError::Rows(..))
        ));
    }
}

fn rows_agree<S: Signedness>(bits: u32, raw: &[u64], limits: [u64; 3], encrypted: bool) {
    let values: Vec<i128> = raw.iter().map(|&raw| number::<S>(bits, raw)).collect();
    let other: Vec<i128> = values.iter().rev().copied().collect();
    let [a, b, d] = limits.map(|raw| number::<S>(bits, raw));
    let width = Width::new(bits).unwrap();
    for c in circuits() {
        let limit = |x: i128| match encrypted {
            true => c.stand_in_integer::<S>(x, width),
            false => c.clear::<S>(x, width),
        };
        let x = stand_ins::<S>(&c, &values, bits);
        let y = stand_ins::<S>(&c, &other, bits);
        type Plain<'p> = Box<dyn Fn(i128, i128) -> bool + 'p>;
        let between = || Condition::Between(0, limit(a), limit(b));
        let one_of = || Condition::OneOf(1, vec![limit(a), limit(d)]);
        let above = || Condition::Compare(1, Comparison::Gt, limit(d));
        let cases: Vec<(Condition<S>, Plain<'_>)> = vec![
            (between(), Box::new(|x, _| a <= x && x <= b)),
            (one_of(), Box::new(|_, y| y == a || y == d)),
            (Condition::OneOf(0, Vec::new()), Box::new(|_, _| false)),
            (
                Condition::All(vec![
                    above(),
                    Condition::Not(Box::new(Condition::Compare(0, Comparison::Eq, limit(b)))),
                ]),
                Box::new(|x, y| y > d && x != b),
            ),
            (
                Condition::Any(vec![between(), one_of(), above()]),
                Box::new(|x, y| (a <= x && x <= b) || y == a || y == d || y > d),
            ),
        ];
        for (condition, plain) in &cases {
            let met = c.rows_where(&[&x, &y], condition).unwrap();
            let met: Vec<bool> = met.iter().map(|bit| read_bool(&c, bit)).collect();
            let both = values.iter().zip(&other);
            let expected: Vec<bool> = both.map(|(&x, &y)| plain(x, y)).collect();
            assert_eq!(met, expected);
            let count = c.count_where(&[&x, &y], condition).unwrap();
            let expected = expected.iter().filter(|&&met| met).count();
            assert_eq!(read(&c, &count), expected as i128);
        }
    }
}

fn histogram_agrees<S: Signedness>(bits: u32, raw: &[u64], cuts: &[u64], gap: bool) {
    let values: Vec<i128> = raw.iter().map(|&raw| number::<S>(bits, raw)).collect();
    let low = number::<S>(bits, if S::SIGNED { 1 << (bits - 1) } else { 0 });
    let end = low + (1 << bits);
    let mut edges: Vec<i128> = cuts.iter().map(|&raw| number::<S>(bits, raw)).collect();
    edges.extend([low, end]);
    edges.sort_unstable();
    edges.dedup();
    let mut bins: Vec<_> = edges.windows(2).map(|pair| pair[0]..pair[1]).collect();
    if gap && bins.len() > 2 {
        bins.remove(1);
    }
    for c in circuits() {
        let column = stand_ins::<S>(&c, &values, bits);
        let counts = read_all(&c, &c.histogram(&column, &bins).unwrap());
        let plain = |bin: &std::ops::Range<i128>| {
            let inside = values.iter().filter(|value| bin.contains(value));
            inside.count() as i128
        };
        assert_eq!(counts, bins.iter().map(plain).collect::<Vec<_>>());
        if !gap {
            assert_eq!(counts.iter().sum::<i128>(), values.len() as i128);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn order((bits, raw) in columns(20), count in any::<prop::sample::Index>(), percent in 0u32..=100) {
        let count = 1 + count.index(raw.len());
        order_agrees::<Unsigned>(bits, &raw, count, percent);
        order_agrees::<Signed>(bits, &raw, count, percent);
    }

    #[test]
    fn moments((bits, raw) in columns(70)) {
        moments_agree::<Unsigned>(bits, &raw);
        moments_agree::<Signed>(bits, &raw);
        products_agree(bits, &raw);
    }

    #[test]
    fn rows((bits, raw) in columns(30), limits in any::<[u64; 3]>(), encrypted: bool) {
        rows_agree::<Unsigned>(bits, &raw, limits, encrypted);
        rows_agree::<Signed>(bits, &raw, limits, encrypted);
        // Limits that some readings are equal to.
        rows_agree::<Signed>(bits, &raw, [raw[0], raw[raw.len() / 2], raw[raw.len() - 1]], encrypted);
    }

    #[test]
    fn conditional_sums((bits, raw) in columns(30), limit: u64) {
        let values: Vec<i128> = raw.iter().map(|&raw| number::<Unsigned>(bits, raw)).collect();
        let limit = number::<Unsigned>(bits, limit);
        for c in circuits() {
            let column = stand_ins::<Unsigned>(&c, &values, bits);
            let clear = c.clear(limit, Width::new(bits).unwrap());
            let condition = Condition::Compare(0, Comparison::Le, clear);
            let met = c.rows_where(&[&column], &condition).unwrap();
            let sum = c.sum_where(&column, &met).unwrap();
            prop_assert_eq!(read(&c, &sum), values.iter().filter(|&&x| x <= limit).sum::<i128>());
            let kept = c.keep_where(&column, &met).unwrap();
            let plain: Vec<i128> = values.iter().map(|&x| if x <= limit { x } else { 0 }).collect();
            prop_assert_eq!(read_all(&c, &kept), plain);
        }
    }

    #[test]
    fn histograms(
        (bits, raw) in columns(40),
        cuts in prop::collection::vec(any::<u64>(), 0..24),
        gap: bool,
    ) {
        histogram_agrees::<Unsigned>(bits, &raw, &cuts, gap);
        histogram_agrees::<Signed>(bits, &raw, &cuts, gap);
    }

    #[test]
    fn trees(seed: u64, nodes in 1usize..60, bits in 1u32..9, raw: [u64; 4]) {
        let tree = random_tree(seed, nodes, bits);
        let other = random_tree(seed ^ 99, nodes / 2 + 1, bits);
        let row = raw.map(|raw| number::<Unsigned>(bits, raw));
        let signed = raw.map(|raw| number::<Signed>(bits, raw));
        for c in circuits() {
            let columns = stand_ins::<Unsigned>(&c, &row, bits);
            let decided = c.decide(&tree, &columns).unwrap();
            let expected = tree.decide(&row).unwrap();
            prop_assert_eq!(read(&c, &decided), i128::from(expected));
            let others = [tree.clone(), other.clone(), tree.clone()];
            let sum = c.decide_forest(&others, &columns).unwrap();
            let answers: Vec<u64> = others.iter().map(|tree| tree.decide(&row).unwrap()).collect();
            prop_assert_eq!(read(&c, &sum), i128::from(answers.iter().sum::<u64>()));
            let votes = read_all(&c, &c.votes(&others, &columns, 5).unwrap());
            for (class, &votes) in votes.iter().enumerate() {
                let expected = answers.iter().filter(|&&answer| answer == class as u64).count();
                prop_assert_eq!(votes, expected as i128);
            }
            let columns = stand_ins::<Signed>(&c, &signed, bits);
            let decided = c.decide(&tree, &columns).unwrap();
            prop_assert_eq!(read(&c, &decided), i128::from(tree.decide(&signed).unwrap()));
        }
    }

    #[test]
    fn scores(
        bits in 1u32..12,
        row in prop::collection::vec((any::<u64>(), -300i64..300), 1..6),
        bias in -5000i64..5000,
        step in 1e-4..0.1f64,
        levels in 2u32..10,
    ) {
        let weights: Vec<i64> = row.iter().map(|&(_, weight)| weight).collect();
        scores_agree::<Unsigned>(bits, &row, &weights, bias, step, levels);
        scores_agree::<Signed>(bits, &row, &weights, bias, step, levels);
    }
}

/// Returns a tree of about `nodes` nodes, whose thresholds may be outside of the range of the
/// readings.
fn random_tree(mut seed: u64, nodes: usize, bits: u32) -> Tree {
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mut list = vec![Node::Leaf(0)];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if list.len() + 2 > nodes {
            list[at] = Node::Leaf(random(7));
            continue;
        }
        let below = list.len();
        list.extend([Node::Leaf(0); 2]);
        open.extend([below, below + 1]);
        list[at] = Node::Branch {
            column: random(4) as usize,
            threshold: i128::from(random((1 << bits) + 3)) - 1,
            below,
            otherwise: below + 1,
        };
    }
    Tree::new(list).unwrap()
}

fn scores_agree<S: Signedness>(
    bits: u32,
    row: &[(u64, i64)],
    weights: &[i64],
    bias: i64,
    step: f64,
    levels: u32,
) {
    let values: Vec<i128> = row.iter().map(|&(raw, _)| number::<S>(bits, raw)).collect();
    let terms = values.iter().zip(weights);
    let plain = i128::from(bias) + terms.map(|(x, &w)| x * i128::from(w)).sum::<i128>();
    for c in circuits() {
        let columns = stand_ins::<S>(&c, &values, bits);
        let score = c.linear_score(&columns, weights, bias).unwrap();
        assert!(score.lowest <= plain && plain <= score.highest);
        assert_eq!(read(&c, &score.above_lowest) + score.lowest, plain);
        assert_eq!(read(&c, &c.score_value(&score).unwrap()), plain);
        for limit in [score.lowest, plain - 1, plain, plain + 1, score.highest + 1] {
            let at_least = c.score_at_least(&score, limit).unwrap();
            assert_eq!(read_bool(&c, &at_least), plain >= limit);
        }
        let code = read(&c, &c.probability(&score, step, levels).unwrap());
        let p = 1.0 / (1.0 + (-step * plain as f64).exp());
        let found = code as f64 / f64::from(levels - 1);
        let half = 0.5 / f64::from(levels - 1);
        assert!((found - p).abs() <= half + 1e-9, "{found} for {p}");
        let limits = probability_limits(step, levels).unwrap();
        let passed = limits.iter().filter(|&&limit| plain >= limit).count();
        assert_eq!(code, passed as i128);
    }
}

#[test]
#[allow(clippy::single_range_in_vec_init)] // Bins, not numbers.
fn questions_that_make_no_sense_are_refused() {
    for c in circuits() {
        let none: [Integer<Unsigned>; 0] = [];
        let column = stand_ins::<Unsigned>(&c, &[3, 1, 2], 6);
        assert_eq!(c.min_of(&none).unwrap_err(), AnalyticsError::NoRows);
        assert_eq!(c.arg_max(&none).unwrap_err(), AnalyticsError::NoRows);
        assert_eq!(c.moments(&none).unwrap_err(), AnalyticsError::NoRows);
        let rank = |rank, count| AnalyticsError::Rank { rank, count };
        assert_eq!(c.nth_smallest(&column, 3).unwrap_err(), rank(3, 3));
        assert_eq!(c.percentile(&column, 101).unwrap_err(), rank(101, 100));
        for count in [0, 4] {
            let found = c.sorted_first(Order::Ascending, &column, count);
            assert_eq!(found.unwrap_err(), rank(count, 3));
        }
        let mut mixed = column.clone();
        mixed.extend(stand_ins(&c, &[1], 7));
        let widths = AnalyticsError::Integer(IntegerError::Widths(6, 7));
        assert_eq!(c.sort(Order::Ascending, &mixed).unwrap_err(), widths);

        for (bins, error) in [
            (vec![], AnalyticsError::NoBins),
            (vec![3..3], AnalyticsError::EmptyBin(0)),
            (vec![0..5, 4..9], AnalyticsError::BinOrder(1)),
            (vec![8..9, 0..5], AnalyticsError::BinOrder(1)),
            (
                vec![0..65],
                AnalyticsError::OutOfRange { value: 64, bits: 6 },
            ),
            (
                vec![-1..5],
                AnalyticsError::OutOfRange { value: -1, bits: 6 },
            ),
            (
                vec![i128::MIN..i128::MAX],
                AnalyticsError::OutOfRange {
                    value: i128::MIN,
                    bits: 6,
                },
            ),
        ] {
            assert_eq!(c.histogram(&column, &bins).unwrap_err(), error);
        }

        let limit = c.clear::<Unsigned>(1u8, Width::new(7).unwrap());
        let condition = Condition::Compare(0, Comparison::Lt, limit.clone());
        assert_eq!(c.rows_where(&[&column], &condition).unwrap_err(), widths);
        let condition = Condition::OneOf(1, vec![limit]);
        let found = c.count_where(&[&column], &condition);
        let error = AnalyticsError::NoColumn {
            column: 1,
            count: 1,
        };
        assert_eq!(found.unwrap_err(), error);
        let found = c.rows_where(&[&column, &column[..2]], &condition);
        assert_eq!(found.unwrap_err(), AnalyticsError::Rows(3, 2));
        let bits = [c.clear_bool(true)];
        let found = c.sum_where(&column, &bits);
        assert_eq!(found.unwrap_err(), AnalyticsError::Rows(1, 3));

        for (weights, bias) in [(vec![1, 2], 0), (vec![], 0)] {
            let found = c.linear_score(&column, &weights, bias);
            assert_eq!(found.unwrap_err(), AnalyticsError::Weights);
        }
        let wide = stand_ins::<Unsigned>(&c, &[1], 120);
        let found = c.linear_score(&wide, &[i64::MAX], 0);
        assert_eq!(found.unwrap_err(), AnalyticsError::Weights);
        for (step, levels) in [(0.1, 1), (0.1, 257), (0.0, 4), (f64::NAN, 4)] {
            let score = c.linear_score(&column, &[1, 2, 3], 0).unwrap();
            let found = c.probability(&score, step, levels);
            assert_eq!(found.unwrap_err(), AnalyticsError::Levels);
        }

        let branch = |below, otherwise| Node::Branch {
            column: 9,
            threshold: 1,
            below,
            otherwise,
        };
        let leaf = Node::Leaf(1);
        for (nodes, at) in [
            (vec![], 0),
            (vec![branch(1, 1), leaf], 0),
            (vec![branch(0, 1), leaf], 0),
            (vec![branch(1, 7), leaf], 0),
            (vec![leaf, leaf], 1),
        ] {
            assert_eq!(Tree::new(nodes).unwrap_err(), AnalyticsError::Tree(at));
        }
        let chain = |depth: usize| {
            let mut nodes = Vec::new();
            for i in 0..depth {
                nodes.extend([branch(2 * i + 1, 2 * i + 2), leaf]);
            }
            nodes.push(Node::Leaf(2));
            nodes
        };
        let too_deep = Tree::new(chain(Tree::MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(too_deep, AnalyticsError::Tree(2 * Tree::MAX_DEPTH + 1));
        // Every node asks the same question.
        let tree = Tree::new(chain(Tree::MAX_DEPTH)).unwrap();
        for (value, answer) in [(0, 1), (1, 2)] {
            let row = stand_ins::<Unsigned>(&c, &[value; 10], 3);
            assert_eq!(read(&c, &c.decide(&tree, &row).unwrap()), answer);
        }
        let tree = Tree::new(vec![branch(1, 2), leaf, leaf]).unwrap();
        let error = AnalyticsError::NoColumn {
            column: 9,
            count: 3,
        };
        assert_eq!(c.decide(&tree, &column).unwrap_err(), error);
    }
}
