//! Quotients and remainders.

use super::*;

fn divisions_agree(c: &Circuit, bits: u32, a: u128, b: u128) {
    let width = Width::new(bits).unwrap();
    let what = format!("{a} by {b}, {bits} bits");
    let x = c.stand_in_integer::<Unsigned>(a, width);
    for y in [c.stand_in_integer::<Unsigned>(b, width), c.clear(b, width)] {
        let division = c.div_rem(&x, &y).unwrap();
        let expected = match b {
            0 => (mask(bits), a),
            _ => (a / b, a % b),
        };
        let found = (read(c, &division.quotient), read(c, &division.remainder));
        assert_eq!(found, expected, "{what}");
        assert_eq!(read_bool(c, &division.by_zero), b == 0, "{what}");

        let (x, y) = (x.clone().reinterpret::<Signed>(), y.reinterpret::<Signed>());
        let (a, b) = (signed(a, bits), signed(b, bits));
        let division = c.div_rem(&x, &y).unwrap();
        let expected = match b {
            0 if a < 0 => (1, a),
            0 => (-1, a),
            _ => (a / b, a % b),
        };
        let bits_of = |x: i128| x as u128 & mask(bits);
        let found = (read(c, &division.quotient), read(c, &division.remainder));
        assert_eq!(found, (bits_of(expected.0), bits_of(expected.1)), "{what}");
        assert_eq!(read_bool(c, &division.by_zero), b == 0, "{what}");
    }
}

#[test]
fn divisions_of_few_bits_agree() {
    for bits in 1..=4 {
        for (a, b) in (0..1 << bits).flat_map(|a| (0..1 << bits).map(move |b| (a, b))) {
            for c in circuits() {
                divisions_agree(&c, bits, a, b);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn divisions_agree_with_integers((bits, a, b) in operands(), shift in 0u32..64) {
        for c in circuits() {
            divisions_agree(&c, bits, a, b >> (shift % bits));
        }
    }
}
