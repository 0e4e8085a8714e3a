//! The widest integers, tested by identities that hold for all numbers.

use super::*;

fn words(circuit: &Circuit, x: &Integer<Unsigned>) -> [u64; 4] {
    let blocks: Vec<&Block> = x.blocks().iter().collect();
    let digits = circuit.rehearse(&blocks).unwrap();
    let bits = circuit.encoding().message_bits();
    let mut words = [0; 4];
    for (i, digit) in digits.into_iter().enumerate() {
        for bit in (0..bits).filter(|bit| digit >> bit & 1 == 1) {
            let at = i as u32 * bits + bit;
            words[(at / 64) as usize] |= 1 << (at % 64);
        }
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn identities_hold(
        bits in prop::sample::select(vec![128u32, 191, 256]),
        a in any::<[u64; 4]>(),
        b in any::<[u64; 4]>(),
        small in 0u32..200,
    ) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(Clear::from_words(a), width);
            let y = c.stand_in_integer::<Unsigned>(Clear::from_words(b), width);
            let value = words(&c, &x);
            let digits = |x: &Integer<Unsigned>| words(&c, &c.propagate(x).unwrap());
            let sum = c.add(&x, &y).unwrap();
            prop_assert_eq!(digits(&c.sub(&sum, &y).unwrap()), value);
            // The divisor is of any length.
            let y = c.shift_clear(Shift::Right, &y, small % bits).unwrap();
            let division = c.div_rem(&x, &y).unwrap();
            let product = c.mul(&division.quotient, &y).unwrap();
            let again = c.add(&product, &division.remainder).unwrap();
            prop_assert_eq!(digits(&again), value);
            let less = c.compare(Comparison::Lt, &division.remainder, &y).unwrap();
            let less = c.or(&less, &division.by_zero).unwrap();
            prop_assert!(read_bool(&c, &less));
            let amount = c.stand_in_integer(small, Width::new(8).unwrap());
            let away = c.shift(Shift::RotateLeft, &x, &amount).unwrap();
            let back = c.shift_clear(Shift::RotateRight, &away, small).unwrap();
            prop_assert_eq!(digits(&back), value);
            prop_assert!(read_bool(&c, &c.compare(Comparison::Eq, &x, &back).unwrap()));
        }
    }
}
