//! Computations on columns under real keys decrypt to what they rehearse to.

use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::analytics::rows::Condition;
use tfhe_sbc_engine::analytics::tree::{Node, Tree};
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{Comparison, FheInt, FheUint, Integer, Signedness, Width};

use crate::common::Keys;

const VALUES: [i64; 4] = [5, -8, 7, 5];
const BITS: u32 = 4;

/// Answers to questions of every kind about some readings.
fn answers(c: &Circuit, column: &[FheInt]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let width = Width::new(BITS).unwrap();
    let unsigned: Vec<FheUint> = column.iter().map(|x| x.clone().reinterpret()).collect();
    let largest = c.arg_max(column).unwrap();
    blocks.extend_from_slice(largest.index.blocks());
    blocks.extend_from_slice(largest.value.blocks());
    for sorted in c.sort(Order::Ascending, &column[1..]).unwrap() {
        blocks.extend_from_slice(sorted.blocks());
    }
    blocks.extend_from_slice(c.median(column).unwrap().blocks());
    let moments = c.moments(&column[..3]).unwrap();
    blocks.extend_from_slice(moments.sum.blocks());
    blocks.extend_from_slice(moments.sum_of_squares.blocks());
    let condition = Condition::All(vec![
        Condition::Between(0, c.clear(-3, width), c.clear(6, width)),
        Condition::Not(Box::new(Condition::Compare(
            0,
            Comparison::Eq,
            column[0].clone(),
        ))),
    ]);
    blocks.extend_from_slice(c.count_where(&[column], &condition).unwrap().blocks());
    for count in c.histogram(&unsigned, &[0..4, 4..6, 6..16]).unwrap() {
        blocks.extend_from_slice(count.blocks());
    }
    let branch = |column, threshold, below| Node::Branch {
        column,
        threshold,
        below,
        otherwise: below + 1,
    };
    let leaves = [3, 0, 5].map(Node::Leaf);
    let mut nodes = vec![branch(1, 0, 1), branch(2, 6, 3)];
    nodes.extend(leaves);
    let tree = Tree::new(nodes).unwrap();
    blocks.extend_from_slice(c.decide(&tree, column).unwrap().blocks());
    let score = c.linear_score(&column[..3], &[3, -5, 2], -40).unwrap();
    blocks.extend_from_slice(c.probability(&score, 0.1, 4).unwrap().blocks());
    blocks
}

fn digits<S: Signedness>(c: &Circuit, value: i64) -> Vec<u64> {
    let clear: Integer<S> = c.clear(value, Width::new(BITS).unwrap());
    let digit = |block: &Block| block.clear_value().unwrap() as u64;
    clear.blocks().iter().map(digit).collect()
}

fn agree_with_their_rehearsal(set: ParameterSet) {
    let (mut keys, server) = Keys::shared(set, 105);
    let evaluator = Evaluator::new(&server);
    let width = Width::new(BITS).unwrap();
    let clear = Circuit::new(server.parameters()).unwrap();
    let stand_ins = VALUES.map(|value| clear.stand_in_integer(value, width));
    let rehearsed = answers(&clear, &stand_ins);
    let rehearsed: Vec<&Block> = rehearsed.iter().collect();
    let expected = clear.rehearse(&rehearsed).unwrap();

    let circuit = Circuit::new(server.parameters()).unwrap();
    let encoding = circuit.encoding();
    let column = VALUES.map(|value| {
        let digits = digits::<tfhe_sbc_engine::integer::Signed>(&circuit, value).into_iter();
        let digits = digits.map(|digit| keys.encrypt(encoding.encode(digit as i64)));
        circuit.encrypted(digits.collect(), width).unwrap()
    });
    let blocks = answers(&circuit, &column);
    let blocks: Vec<&Block> = blocks.iter().collect();
    let found = circuit.export_while(&evaluator, &blocks, &|| true).unwrap();
    let decrypted: Vec<i64> = found
        .iter()
        .map(|lwe| keys.secret.decrypt_block(lwe) as i64)
        .collect();
    assert_eq!(decrypted, expected);
    let count = circuit.bootstrap_count(&blocks);
    assert_eq!(evaluator.bootstrap_count(), count);
    println!("{count} bootstraps");
}

#[test]
fn on_blocks_of_two_bits() {
    agree_with_their_rehearsal(MESSAGE_2_CARRY_2);
}

#[test]
fn on_blocks_of_one_bit() {
    agree_with_their_rehearsal(MESSAGE_1_CARRY_1);
}
