//! Radix digits of compact values.

use tfhe_sbc_core::encoding::chunks::DigitPlan;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::compact::{CompactDigits, CompactEvaluateError, digit_bootstraps};
use tfhe_sbc_engine::integer::{FheUint, Width};

use super::{codes, decrypt, encoding, encrypt_code};
use crate::common::Keys;

/// The digits by plain arithmetic.
fn digits_of(mut value: u64, bits: u32, message_bits: u32) -> Vec<u64> {
    let mut digits = Vec::new();
    for _ in 0..bits.div_ceil(message_bits) {
        digits.push(value % (1 << message_bits));
        value >>= message_bits;
    }
    digits
}

fn decrypted(keys: &Keys, digits: &CompactDigits) -> Vec<u64> {
    let digit = |at: usize| {
        let sum = digits.parts(at).cloned().reduce(|mut sum, part| {
            sum.add_assign(&part);
            sum
        });
        decrypt(keys, &sum.unwrap())
    };
    (0..digits.digit_count()).map(digit).collect()
}

/// The bits and headroom of a value, the bits of a body, and the chunks of the value.
type Case = ((u32, u32, u32), &'static [u32]);

fn digits_are_right(set: ParameterSet, seed: u8, cases: &[Case]) {
    let (mut keys, server) = Keys::shared(set, seed);
    let evaluator = Evaluator::new(&server);
    let block = server.parameters().block_encoding();
    let mut bootstraps = 0;
    for &((bits, headroom, body_bits), chunks) in cases {
        let plan = DigitPlan::new(bits, headroom, chunks, block).unwrap();
        let encoding = encoding(bits, headroom, body_bits);
        let last = (1u64 << bits) - 1;
        let numbers: Vec<u64> = [0, last, 1, last / 2, last / 2 + 1]
            .into_iter()
            .chain(codes(bits, 3))
            .collect();
        let values: Vec<LweCiphertext<u64>> = numbers
            .iter()
            .map(|&number| encrypt_code(&mut keys, encoding, number))
            .collect();
        let found = evaluator.compact_digits(&values, &plan, &|| true).unwrap();
        for (found, &number) in found.iter().zip(&numbers) {
            let expected = digits_of(number, bits, block.message_bits());
            assert_eq!(
                decrypted(&keys, found),
                expected,
                "{number} of {bits} + {headroom} bits"
            );
        }
        bootstraps += digit_bootstraps(&plan) * values.len() as u64;
        assert_eq!(evaluator.bootstrap_count(), bootstraps);
    }
}

#[test]
fn digits_of_two_bits_are_right() {
    digits_are_right(
        MESSAGE_2_CARRY_2,
        126,
        &[
            ((2, 1, 6), &[2]),
            ((5, 0, 8), &[4, 1]),
            ((8, 0, 11), &[4, 3, 1]),
            ((12, 1, 16), &[4, 3, 3, 2]),
            ((12, 10, 30), &[4, 3, 3, 2]),
            ((13, 0, 16), &[4, 3, 3, 3]),
            ((32, 3, 40), &[4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1]),
        ],
    );
}

#[test]
fn digits_of_one_bit_are_right() {
    digits_are_right(MESSAGE_1_CARRY_1, 127, &[((7, 2, 14), &[2, 1, 2, 1, 1])]);
}

/// Digits are inputs of a circuit, whose rehearsal and evaluation agree.
#[test]
fn digits_are_inputs_of_a_circuit() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 128);
    let evaluator = Evaluator::new(&server);
    let parameters = *server.parameters();
    let plan = DigitPlan::new(8, 2, &[4, 3, 1], parameters.block_encoding()).unwrap();
    let width = Width::new(8).unwrap();
    let numbers = [0xb7u64, 0x5e];
    let product = |circuit: &Circuit, digits: Vec<Vec<Block>>| {
        let factors = digits.into_iter();
        let factors = factors.map(|digits| circuit.integer_of_digits(digits, width).unwrap());
        let factors: Vec<FheUint> = factors.collect();
        let product = circuit.mul(&factors[0], &factors[1]).unwrap();
        circuit.propagate(&product).unwrap().blocks().to_vec()
    };
    let clear = Circuit::new(&parameters).unwrap();
    let stand_ins = numbers.map(|number| clear.compact_digits_stand_in(number, &plan).unwrap());
    let rehearsed = product(&clear, stand_ins.to_vec());
    let rehearsed: Vec<&Block> = rehearsed.iter().collect();
    let values = clear.rehearse(&rehearsed).unwrap();
    let expected = digits_of(numbers[0] * numbers[1] % 256, 8, 2);
    assert!(
        values
            .iter()
            .map(|&value| value as u64)
            .eq(expected.iter().copied())
    );

    let encoding = encoding(8, 2, 14);
    let inputs = numbers.map(|number| encrypt_code(&mut keys, encoding, number));
    let digits = evaluator.compact_digits(&inputs, &plan, &|| true).unwrap();
    let circuit = Circuit::new(&parameters).unwrap();
    let digits: Vec<Vec<Block>> = digits
        .into_iter()
        .map(|digits| circuit.compact_digits(digits).unwrap())
        .collect();
    // A digit of two outputs of different bootstraps has the noise of both, and no more.
    let norms: Vec<u64> = digits[0].iter().map(Block::norm_squared).collect();
    assert_eq!(norms, [1, 2, 1, 2]);
    // Digits 0 and 1 share a bootstrap, digits of different values none.
    assert_eq!((&digits[0][0] + &digits[0][1]).norm_squared(), 4 + 1);
    assert_eq!((&digits[0][0] + &digits[1][1]).norm_squared(), 1 + 2);
    let product = product(&circuit, digits);
    let product: Vec<&Block> = product.iter().collect();
    let found = circuit.evaluate(&evaluator, &product).unwrap();
    let found: Vec<u64> = found.iter().map(|digit| decrypt(&keys, digit)).collect();
    assert_eq!(found, expected);
    assert_eq!(
        circuit.bootstrap_count(&product),
        clear.bootstrap_count(&rehearsed)
    );
}

#[test]
fn the_evaluation_of_digits_is_cancelled() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 129);
    let evaluator = Evaluator::new(&server);
    let block = server.parameters().block_encoding();
    let plan = DigitPlan::new(8, 2, &[4, 3, 1], block).unwrap();
    let values = [keys.encrypt(0)];
    let once = || evaluator.bootstrap_count() < 1;
    let stopped = evaluator.compact_digits(&values, &plan, &once);
    assert_eq!(stopped.err(), Some(CompactEvaluateError::Cancelled));
    assert_eq!(evaluator.bootstrap_count(), 1);
    // A rest of 11 bits fills the table, so that two functions have no room.
    let wide = DigitPlan::new(12, 2, &[12], block).unwrap();
    let refused = evaluator.compact_digits(&values, &wide, &|| true);
    assert!(matches!(refused, Err(CompactEvaluateError::Chunks(_))));
}
