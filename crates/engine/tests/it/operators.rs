//! Integer operators compared with plain integers, rehearsed in the clear for every block size and
//! many widths, values and operands, with the same lookups as an evaluation.

mod arithmetic;
mod bits;
mod division;
mod wide;

use proptest::prelude::*;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{
    BitOp, CarryForm, Clear, Comparison, FheBool, Integer, IntegerError, Shift, Signed, Signedness,
    Unsigned, Width,
};

use crate::common::{circuits, read_bool};

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

fn read<S: Signedness>(circuit: &Circuit, x: &Integer<S>) -> u128 {
    let blocks: Vec<&Block> = x.blocks().iter().collect();
    let values = circuit.rehearse(&blocks).unwrap();
    let bits = circuit.encoding().message_bits();
    let sum = values.iter().enumerate().fold(0u128, |sum, (i, &value)| {
        sum.wrapping_add((value as u128) << (i as u32 * bits))
    });
    sum & mask(x.width().bits())
}

fn signed(value: u128, bits: u32) -> i128 {
    (value << (128 - bits)) as i128 >> (128 - bits)
}

/// Widths, and operands of them: random ones and those at borders.
fn operands() -> impl Strategy<Value = (u32, u128, u128)> {
    let border = |bits: u32| {
        let top = mask(bits);
        prop_oneof![
            any::<u128>().prop_map(move |x| x & top),
            Just(0),
            Just(1),
            Just(top),
            Just(top >> 1),
            Just((top >> 1) + 1),
        ]
    };
    (1u32..=64).prop_flat_map(move |bits| (Just(bits), border(bits), border(bits)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn linear_operators_agree((bits, a, b) in operands()) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(a, width);
            let y = c.stand_in_integer::<Unsigned>(b, width);
            let z = c.clear::<Unsigned>(b, width);
            for y in [&y, &z] {
                prop_assert_eq!(read(&c, &c.add(&x, y).unwrap()), a.wrapping_add(b) & mask(bits));
                prop_assert_eq!(read(&c, &c.sub(&x, y).unwrap()), a.wrapping_sub(b) & mask(bits));
                prop_assert_eq!(read(&c, &c.sub(y, &x).unwrap()), b.wrapping_sub(a) & mask(bits));
                prop_assert_eq!(read(&c, &c.neg(y).unwrap()), b.wrapping_neg() & mask(bits));
                let sum = c.add(&x, y).unwrap();
                for form in [CarryForm::Sequential, CarryForm::Logarithmic] {
                    let digits = c.propagate_by(form, &sum).unwrap();
                    prop_assert_eq!(read(&c, &digits), a.wrapping_add(b) & mask(bits));
                    for (i, block) in digits.blocks().iter().enumerate() {
                        let digit_bits = c.encoding().message_bits();
                        let modulus = 1 << digit_bits.min(bits - digit_bits * i as u32);
                        prop_assert!(block.low() >= 0 && block.high() < modulus);
                    }
                }
            }
        }
    }

    #[test]
    fn comparisons_agree((bits, a, b) in operands()) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(a, width);
            for y in [c.stand_in_integer::<Unsigned>(b, width), c.clear(b, width)] {
                for comparison in ALL {
                    let found = c.compare(comparison, &x, &y).unwrap();
                    prop_assert_eq!(read_bool(&c, &found), comparison.apply(a, b));
                    let (x, y) = (x.clone().reinterpret::<Signed>(), y.clone().reinterpret());
                    let found = c.compare(comparison, &x, &y).unwrap();
                    let expected = comparison.apply(signed(a, bits), signed(b, bits));
                    prop_assert_eq!(read_bool(&c, &found), expected);
                }
                let (min, max) = c.min_max(&x, &y).unwrap();
                prop_assert_eq!((read(&c, &min), read(&c, &max)), (a.min(b), a.max(b)));
            }
        }
    }

    #[test]
    fn sums_agree(bits in 1u32..20, values in prop::collection::vec(any::<u64>(), 1..80)) {
        let width = Width::new(bits).unwrap();
        let values: Vec<u128> = values.iter().map(|&x| u128::from(x) & mask(bits)).collect();
        for c in circuits() {
            let list: Vec<_> = values.iter().map(|&x| c.stand_in_integer::<Unsigned>(x, width)).collect();
            let sum = c.sum(&list).unwrap();
            prop_assert_eq!(read(&c, &sum), values.iter().sum::<u128>());
            prop_assert_eq!(read(&c, &c.propagate(&sum).unwrap()), values.iter().sum::<u128>());
            let ones: Vec<_> = values.iter().map(|&x| c.stand_in_bool(x % 2 == 1)).collect();
            let odd = values.iter().filter(|&x| x % 2 == 1).count() as u128;
            prop_assert_eq!(read(&c, &c.count(&ones).unwrap()), odd);
            let (min, max) = c.min_max_of(&list).unwrap();
            prop_assert_eq!(read(&c, &min), *values.iter().min().unwrap());
            prop_assert_eq!(read(&c, &max), *values.iter().max().unwrap());
        }
    }

    /// No sequence of lazy operators overflows a block: the rehearsal would panic.
    #[test]
    fn chains_of_linear_operators_agree(
        (bits, a, b) in operands(),
        steps in prop::collection::vec(0u8..7, 1..40),
    ) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let y = c.stand_in_integer::<Unsigned>(b, width);
            let mut x = c.stand_in_integer::<Unsigned>(a, width);
            let mut value = a;
            for step in &steps {
                (x, value) = match step {
                    0 => (c.add(&x, &y).unwrap(), value.wrapping_add(b)),
                    1 => (c.sub(&x, &y).unwrap(), value.wrapping_sub(b)),
                    2 => (c.add(&x, &x).unwrap(), value.wrapping_add(value)),
                    3 => (c.neg(&x).unwrap(), value.wrapping_neg()),
                    4 => {
                        let weight = c.clear(0xb7_0000_002du64, width);
                        (c.mul(&x, &weight).unwrap(), value.wrapping_mul(0xb7_0000_002d))
                    }
                    5 => {
                        let sum = c.sum(&[x.clone(), y.clone(), x.clone()]).unwrap();
                        let sum = c.cast(&sum, width).unwrap();
                        (sum, value.wrapping_mul(2).wrapping_add(b))
                    }
                    _ => {
                        let dot = c.dot_product(&[x, y.clone()], &[-7, 3], width).unwrap();
                        let seven = value.wrapping_mul(7).wrapping_neg();
                        (dot.reinterpret(), seven.wrapping_add(b.wrapping_mul(3)))
                    }
                };
            }
            prop_assert_eq!(read(&c, &x), value & mask(bits));
        }
    }
}

const ALL: [Comparison; 6] = [
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
    Comparison::Eq,
    Comparison::Ne,
];
