use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::ParameterSet;

use super::*;
use crate::integer::FheUint;

const WIDTH: Width = match Width::new(12) {
    Ok(width) => width,
    Err(_) => unreachable!(),
};

fn circuit(parameters: &ParameterSet) -> Circuit {
    Circuit::new(&parameters.validate().unwrap()).unwrap()
}

fn reading(circuit: &Circuit, value: u64) -> FheUint {
    circuit.stand_in_integer(value, WIDTH)
}

/// Digits that are pairs of outputs of earlier bootstraps.
fn bootstrapped(circuit: &Circuit) -> FheUint {
    let digit = (1, circuit.encoding().message_modulus() - 1);
    let count = circuit.block_count(WIDTH);
    let pairs = (0..count).flat_map(|_| circuit.bootstrapped_stand_ins(&[digit; 2]).unwrap());
    circuit
        .integer_of_digits(pairs.take(count).collect(), WIDTH)
        .unwrap()
}

fn blocks(numbers: &[FheUint]) -> Vec<Block> {
    numbers.iter().flat_map(|x| x.blocks().to_vec()).collect()
}

type Pair = fn(&Circuit) -> [FheUint; 2];

/// Pairs of operands whose sources depend on each other in different ways.
const PAIRS: [Pair; 9] = [
    |c| [reading(c, 5), reading(c, 900)],
    |c| {
        let x = reading(c, 77);
        [x.clone(), x]
    },
    |c| [bootstrapped(c), reading(c, 3)],
    |c| [bootstrapped(c), bootstrapped(c)],
    |c| {
        let x = c.add(&reading(c, 5), &reading(c, 8)).unwrap();
        [x, reading(c, 900)]
    },
    |c| {
        let (x, y) = (reading(c, 5), reading(c, 8));
        [c.add(&x, &y).unwrap(), y]
    },
    |c| {
        let x = c.add(&reading(c, 5), &reading(c, 8)).unwrap();
        let y = c.add(&reading(c, 5), &reading(c, 8)).unwrap();
        [x, c.propagate(&y).unwrap()]
    },
    // The form of the one before, but the digits of the first operand are the second one.
    |c| {
        let x = c.add(&reading(c, 5), &reading(c, 8)).unwrap();
        let digits = c.propagate(&x).unwrap();
        [x, digits]
    },
    |c| {
        let x = c.add(&bootstrapped(c), &reading(c, 8)).unwrap();
        let digits = c.propagate(&x).unwrap();
        [digits, x]
    },
];

type Operator = fn(&Circuit, &[FheUint; 2]) -> Vec<Block>;

const OPERATORS: [Operator; 3] = [
    |c, [a, b]| blocks(&[c.mul(a, b).unwrap()]),
    |c, [a, b]| blocks(&<[FheUint; 2]>::from(c.min_max(a, b).unwrap())),
    |c, [a, b]| {
        let sum = c.add(a, b).unwrap();
        blocks(&[c.propagate(&sum).unwrap()])
    },
];

fn template_count(circuit: &Circuit) -> usize {
    circuit.graph().templates.known.values().flatten().count()
}

#[test]
fn copies_are_what_the_operator_records() {
    for parameters in [MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3] {
        copies_are_what_operators_record_in(&circuit(&parameters));
    }
}

fn copies_are_what_operators_record_in(circuit: &Circuit) {
    let _batch = circuit.batch_of(1000);
    for operator in OPERATORS {
        for first in PAIRS {
            for second in PAIRS {
                circuit.graph_mut().templates.known.clear();
                operator(circuit, &first(circuit));
                let operands = second(circuit);
                let copied = operator(circuit, &operands);
                circuit.graph_mut().templates.known.clear();
                assert_eq!(operator(circuit, &operands), copied);
            }
        }
    }
}

#[test]
fn rows_of_one_form_share_a_template() {
    let circuit = circuit(&MESSAGE_2_CARRY_2);
    let _batch = circuit.batch_of(1000);
    let [product, ..] = OPERATORS;
    let counts = (0..5).map(|row| {
        product(&circuit, &[reading(&circuit, row), reading(&circuit, 900)]);
        (template_count(&circuit), circuit.lookup_count())
    });
    let counts: Vec<(usize, usize)> = counts.collect();
    let [_, after_first @ ..] = &counts[..] else {
        unreachable!("five rows");
    };
    let growth = |two: &[(usize, usize)]| (two[1].0 - two[0].0, two[1].1 - two[0].1);
    let growths: Vec<(usize, usize)> = after_first.windows(2).map(growth).collect();
    let (templates, lookups) = growths[0];
    assert_eq!(templates, 0);
    assert!(lookups > 0 && growths.iter().all(|growth| *growth == growths[0]));
}

#[test]
fn a_result_of_other_blocks_has_no_template() {
    let circuit = circuit(&MESSAGE_2_CARRY_2);
    let _batch = circuit.batch_of(1000);
    let other = reading(&circuit, 9);
    for _ in 0..2 {
        let x = reading(&circuit, 7);
        let digits = Repeated::Digits(x.width());
        let sum = || blocks(&[circuit.add(&x, &other).unwrap()]);
        assert_eq!(circuit.repeated(digits, &[x.blocks()], sum), sum());
    }
    assert_eq!(template_count(&circuit), 0);
}
