//! The bootstraps of computations on columns: at most about as many as `docs/analytics.md` states.

use rayon::ThreadPoolBuilder;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::extremes::{Indexed, Order};
use tfhe_sbc_engine::analytics::rows::Condition;
use tfhe_sbc_engine::analytics::tree::{Node, Tree};
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{Comparison, FheUint, Unsigned, Width};

const ROWS: usize = 64;
const DOCUMENTED: &str = include_str!("../../../../docs/analytics.md");

fn blocks(numbers: &[FheUint]) -> Vec<Block> {
    let blocks = numbers.iter().map(|number| number.blocks().to_vec());
    blocks.flatten().collect()
}

fn indexed(list: Vec<Indexed<Unsigned>>) -> Vec<Block> {
    let both = list.into_iter().map(|x| blocks(&[x.index, x.value]));
    both.flatten().collect()
}

type Question = fn(&Circuit, &[FheUint]) -> Result<Vec<Block>, AnalyticsError>;

/// Questions about a column of 64 bytes.
const QUESTIONS: [(&str, Question); 12] = [
    ("smallest", |c, x| Ok(blocks(&[c.min_of(x)?]))),
    ("smallest and its row", |c, x| {
        Ok(indexed(vec![c.arg_min(x)?]))
    }),
    ("three largest", |c, x| {
        Ok(blocks(&c.sorted_first(Order::Descending, x, 3)?))
    }),
    ("sorted", |c, x| Ok(blocks(&c.sort(Order::Ascending, x)?))),
    ("sorted, and their rows", |c, x| {
        Ok(indexed(c.sort_indexed(Order::Ascending, x)?))
    }),
    ("median", |c, x| Ok(blocks(&[c.median(x)?]))),
    ("sum", |c, x| Ok(blocks(&[c.moments(x)?.sum]))),
    ("sum of squares", |c, x| {
        Ok(blocks(&[c.moments(x)?.sum_of_squares]))
    }),
    ("number above a clear limit", |c, x| {
        let condition = Condition::Compare(0, Comparison::Gt, c.clear(100u8, x[0].width()));
        Ok(blocks(&[c.count_where(&[x], &condition)?]))
    }),
    ("number between encrypted limits", |c, x| {
        let limit = |value: u8| c.stand_in_integer(value, x[0].width());
        let condition = Condition::Between(0, limit(9), limit(200));
        Ok(blocks(&[c.count_where(&[x], &condition)?]))
    }),
    ("histogram of 8 bins", |c, x| {
        let bins: Vec<_> = (0..8).map(|bin| 32 * bin..32 * (bin + 1)).collect();
        Ok(blocks(&c.histogram(x, &bins)?))
    }),
    ("tree of 7 branches on 4 of them", |c, x| {
        let branch = |at: usize| Node::Branch {
            column: at % 4,
            threshold: 30 * at as i128 + 5,
            below: 2 * at + 1,
            otherwise: 2 * at + 2,
        };
        let mut nodes: Vec<Node> = (0..7).map(branch).collect();
        nodes.extend((0..8).map(Node::Leaf));
        Ok(blocks(&[c.decide(&Tree::new(nodes)?, &x[..4])?]))
    }),
];

#[test]
fn questions_cost_what_is_documented() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut table = String::new();
    let mut grown = Vec::new();
    for (name, question) in QUESTIONS {
        let row = format!("| {name} |");
        let documented = DOCUMENTED.lines().find(|line| line.starts_with(&row));
        let mut documented = documented.unwrap_or_default().split('|').skip(2);
        table.push_str(&row);
        for set in [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3] {
            let parameters = set.validate().unwrap();
            let (count, depth) = pool.install(|| {
                let c = Circuit::new(&parameters).unwrap();
                let width = Width::new(8).unwrap();
                let x: Vec<FheUint> = (0..ROWS as u64)
                    .map(|i| c.stand_in_integer(i * 37 % 256, width))
                    .collect();
                let outputs = question(&c, &x).unwrap();
                let outputs: Vec<&Block> = outputs.iter().collect();
                (c.bootstrap_count(&outputs), c.bootstrap_depth(&outputs))
            });
            table.push_str(&format!(" {count} / {depth} |"));
            let cell = documented.next().unwrap_or_default();
            let most = cell
                .split('/')
                .next()
                .map(|most| most.trim().parse::<u64>());
            if most
                .and_then(Result::ok)
                .is_none_or(|most| 10 * count > 11 * most)
            {
                grown.push((name, set.name, count));
            }
        }
        table.push('\n');
    }
    println!("{table}");
    assert!(grown.is_empty(), "more than documented: {grown:?}\n{table}");
}

/// Seven bits leave room in their last block that the noise of a group does not fill. The rounds of a sum grow with the logarithm of the
/// rows nevertheless.
#[test]
fn sums_of_odd_widths_have_few_rounds() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let depths = |rows: u64| {
        let c = Circuit::new(&parameters).unwrap();
        let width = Width::new(7).unwrap();
        let number = |i: u64| c.stand_in_integer(i * 37 % 128, width);
        let x: Vec<FheUint> = (0..rows).map(number).collect();
        let moments = c.moments(&x).unwrap();
        let depth =
            |number: &FheUint| c.bootstrap_depth(&number.blocks().iter().collect::<Vec<_>>());
        [depth(&moments.sum), depth(&moments.sum_of_squares)]
    };
    let (short, long) = (depths(168), depths(2 * 720));
    println!("{short:?}, {long:?}");
    assert!(
        long[0] <= short[0] + 6 && long[0] <= 18,
        "{short:?}, {long:?}"
    );
    assert!(
        long[1] <= short[1] + 6 && long[1] <= 22,
        "{short:?}, {long:?}"
    );
}
