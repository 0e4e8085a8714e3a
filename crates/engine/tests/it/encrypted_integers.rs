//! Integer circuits under real keys decrypt to what they rehearse to, and their results are the
//! same, bit for bit, for any number of threads.

use rayon::ThreadPoolBuilder;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit, CircuitError, CircuitEvaluateError};
use tfhe_sbc_engine::integer::{
    BitOp, CarryForm, Comparison, FheUint, IntegerError, Shift, Signed, Unsigned, Width,
};

use crate::common::Keys;
use crate::quick_set::QUICK_2_2;

const VALUES: [u64; 4] = [0xb7, 0x00, 0xff, 0xb6];

/// Outputs of operators of several kinds on some bytes.
fn outputs(c: &Circuit, inputs: &[FheUint]) -> Vec<Block> {
    let [a, b, d, e] = inputs else {
        panic!("four inputs");
    };
    let sum = c.sum(inputs).unwrap();
    let (added, overflow) = c.overflowing_add(a, d).unwrap();
    let (min, max) = c.min_max_of(inputs).unwrap();
    let division = c.div_rem(a, e).unwrap();
    let clear = c.clear(11u8, a.width());
    let amount = c.cast(e, Width::new(3).unwrap()).unwrap();
    let (product, too_large) = c.overflowing_mul(b, d).unwrap();
    let signed = |x: &FheUint| x.clone().reinterpret::<Signed>();
    let saturated = c.saturating_sub(&signed(a), &signed(e)).unwrap();
    let dots = [signed(a), signed(d)];
    let dot = c.dot_product(&dots, &[-3, 5], a.width()).unwrap();
    let by = |form| c.propagate_by(form, &c.sub(b, e).unwrap()).unwrap();
    let mut blocks = vec![
        c.bit(&overflow),
        c.bit(&too_large),
        c.bit(&division.by_zero),
        c.bit(&c.parity(a).unwrap()),
    ];
    for comparison in [Comparison::Lt, Comparison::Ge, Comparison::Eq] {
        blocks.push(c.bit(&c.compare(comparison, a, e).unwrap()));
    }
    for integer in [
        &c.propagate(&sum).unwrap(),
        &added,
        &min,
        &max,
        &product,
        &c.propagate(&c.mul(a, e).unwrap()).unwrap(),
        &c.propagate(&c.mul(a, &clear).unwrap()).unwrap(),
        &division.quotient,
        &division.remainder,
        &saturated.reinterpret(),
        &c.propagate(&dot).unwrap().reinterpret(),
        &c.bitwise(BitOp::Xor, a, e).unwrap(),
        &c.shift(Shift::RotateLeft, a, &amount).unwrap(),
        &c.propagate(&c.leading_zeros(a).unwrap()).unwrap(),
        &by(CarryForm::Sequential),
        &by(CarryForm::Logarithmic),
    ] {
        blocks.extend_from_slice(integer.blocks());
    }
    blocks
}

fn agrees_with_its_rehearsal(set: ParameterSet) {
    let (mut keys, server) = Keys::shared(set, 102);
    let evaluator = Evaluator::new(&server);
    let width = Width::new(8).unwrap();
    let clear = Circuit::new(server.parameters()).unwrap();
    let stand_ins = VALUES.map(|value| clear.stand_in_integer(value, width));
    let rehearsed = outputs(&clear, &stand_ins);
    let rehearsed: Vec<&Block> = rehearsed.iter().collect();
    let expected = clear.rehearse(&rehearsed).unwrap();

    let circuit = Circuit::new(server.parameters()).unwrap();
    let encoding = circuit.encoding();
    let inputs = VALUES.map(|value| {
        let mut digits = vec![0; circuit.block_count(width)];
        encoding.split(value, &mut digits).unwrap();
        let digits = digits.into_iter();
        let digits = digits.map(|digit| keys.encrypt(encoding.encode(i64::from(digit))));
        circuit
            .encrypted::<Unsigned>(digits.collect(), width)
            .unwrap()
    });
    let blocks = outputs(&circuit, &inputs);
    let blocks: Vec<&Block> = blocks.iter().collect();
    let of_threads = |threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| circuit.export_while(&evaluator, &blocks, &|| true).unwrap())
    };
    let found = of_threads(2);
    assert_eq!(
        evaluator.bootstrap_count(),
        circuit.bootstrap_count(&blocks)
    );
    assert_eq!(
        circuit.bootstrap_count(&blocks),
        clear.bootstrap_count(&rehearsed)
    );
    let decrypted: Vec<i64> = found
        .iter()
        .map(|lwe| keys.secret.decrypt_block(lwe) as i64)
        .collect();
    assert_eq!(decrypted, expected);
    assert!(found == of_threads(1) && found == of_threads(3));
}

#[test]
fn blocks_of_two_bits_agree_with_their_rehearsal() {
    agrees_with_its_rehearsal(QUICK_2_2);
}

#[test]
#[ignore = "a minute of bootstraps"]
fn blocks_of_the_default_set_agree_with_their_rehearsal() {
    agrees_with_its_rehearsal(MESSAGE_2_CARRY_2);
}

#[test]
#[ignore = "two minutes of bootstraps"]
fn blocks_of_one_bit_agree_with_their_rehearsal() {
    agrees_with_its_rehearsal(MESSAGE_1_CARRY_1);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let (c, other) = (
        Circuit::new(&parameters).unwrap(),
        Circuit::new(&parameters).unwrap(),
    );
    let byte = Width::new(8).unwrap();
    let a = c.stand_in_integer::<Unsigned>(1u8, byte);
    let wide = c.stand_in_integer(1u8, Width::new(9).unwrap());
    let foreign = other.stand_in_integer(1u8, byte);
    assert_eq!(c.add(&a, &wide).unwrap_err(), IntegerError::Widths(8, 9));
    assert_eq!(c.add(&a, &foreign).unwrap_err(), IntegerError::OtherCircuit);
    assert_eq!(c.sum::<Unsigned>(&[]).unwrap_err(), IntegerError::Empty);
    assert_eq!(Width::new(0), Err(IntegerError::Width(0)));
    assert_eq!(Width::new(257), Err(IntegerError::Width(257)));
    assert_eq!(
        c.encrypted::<Unsigned>(Vec::new(), byte).unwrap_err(),
        IntegerError::Blocks {
            bits: 8,
            expected: 4,
            found: 0
        }
    );
    let block = &foreign.blocks()[0];
    assert_eq!(
        c.rehearse(&[block]),
        Err(CircuitEvaluateError::OtherCircuit)
    );
    let gates = GATES.validate().unwrap();
    assert!(matches!(
        Circuit::new(&gates),
        Err(CircuitError::Parameters(_))
    ));
}

#[test]
fn equal_ciphertexts_are_one_input_and_others_are_not() {
    let c = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
    let words: Vec<u64> = (0..2049).collect();
    let mut forged = words.clone();
    forged[0] = 1;
    let input = |words: &[u64]| {
        let lwe = LweCiphertext::from_vec(words.to_vec()).unwrap();
        c.input(lwe, 3).unwrap()
    };
    assert_eq!(input(&words), input(&words));
    // The forged ciphertext has the same body and the same end of the mask.
    assert_ne!(input(&words), input(&forged));
}

#[test]
fn integers_and_truth_values_are_made_of_digits_that_are_there() {
    let circuit = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
    let width = Width::new(5).unwrap();
    let digits = |values: [u64; 3]| [3, 3, 1].into_iter().zip(values);
    let blocks: Vec<Block> = digits([2, 3, 1])
        .map(|(degree, value)| circuit.stand_in_sum(value, degree, 2).unwrap())
        .collect();
    let integer: FheUint = circuit.integer_of_digits(blocks.clone(), width).unwrap();
    let double = circuit.add(&integer, &integer).unwrap();
    let double = circuit.propagate(&double).unwrap();
    let values = circuit.rehearse(&double.blocks().iter().collect::<Vec<_>>());
    // 30 twice, mod 32.
    assert_eq!(values.unwrap(), [0, 3, 1]);
    let truth = circuit.truth(blocks[2].clone()).unwrap();
    let bit = circuit.bit(&circuit.not(&truth));
    assert_eq!(circuit.rehearse(&[&bit]).unwrap(), [0]);

    let made = |blocks: &[Block]| circuit.integer_of_digits::<Unsigned>(blocks.to_vec(), width);
    assert!(matches!(
        made(&blocks[..2]),
        Err(IntegerError::Blocks { .. })
    ));
    // The highest digit of five bits is 0 or 1.
    let swapped = [blocks[2].clone(), blocks[1].clone(), blocks[0].clone()];
    assert!(matches!(made(&swapped), Err(IntegerError::Digits)));
    let negative = &Block::clear(0) - &blocks[0];
    assert!(matches!(circuit.truth(negative), Err(IntegerError::Digits)));
    let other = Circuit::new(circuit.parameters()).unwrap();
    assert!(matches!(
        other.integer_of_digits::<Unsigned>(blocks.clone(), width),
        Err(IntegerError::OtherCircuit)
    ));
    assert!(matches!(
        other.truth(blocks[2].clone()),
        Err(IntegerError::OtherCircuit)
    ));
}
