//! Bitwise operators, shifts, casts, and functions of few bits.

use super::*;

const SHIFTS: [Shift; 4] = [
    Shift::Left,
    Shift::Right,
    Shift::RotateLeft,
    Shift::RotateRight,
];

fn shifted(shift: Shift, a: u128, amount: u32, bits: u32, is_signed: bool) -> u128 {
    let mut x = a;
    let top = |x: u128| x >> (bits - 1) & 1;
    // Bit by bit: as plain as can be.
    for _ in 0..amount {
        x = match shift {
            Shift::Left => x << 1,
            Shift::Right if is_signed => x >> 1 | top(x) << (bits - 1),
            Shift::Right => x >> 1,
            Shift::RotateLeft => x << 1 | top(x),
            Shift::RotateRight => x >> 1 | (x & 1) << (bits - 1),
        } & mask(bits);
    }
    x
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn bitwise_operators_agree((bits, a, b) in operands()) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(a, width);
            for y in [c.stand_in_integer::<Unsigned>(b, width), c.clear(b, width)] {
                let of = |op| c.bitwise(op, &x, &y).unwrap();
                prop_assert_eq!(read(&c, &of(BitOp::And)), a & b);
                prop_assert_eq!(read(&c, &of(BitOp::Or)), a | b);
                prop_assert_eq!(read(&c, &of(BitOp::Xor)), a ^ b);
                // De Morgan.
                let not = |x| c.complement(x).unwrap();
                prop_assert_eq!(read(&c, &not(&x)), !a & mask(bits));
                let either = not(&c.bitwise(BitOp::And, &not(&x), &not(&y)).unwrap());
                prop_assert_eq!(read(&c, &either), a | b);
            }
            let ones = c.count_ones(&x).unwrap();
            prop_assert_eq!(read(&c, &ones), a.count_ones().into());
            prop_assert_eq!(read_bool(&c, &c.parity(&x).unwrap()), a.count_ones() % 2 == 1);
            let leading = c.leading_zeros(&x).unwrap();
            prop_assert_eq!(read(&c, &leading), u128::from(a.leading_zeros() - (128 - bits)));
            let trailing = c.trailing_zeros(&x).unwrap();
            prop_assert_eq!(read(&c, &trailing), a.trailing_zeros().min(bits).into());
        }
    }

    #[test]
    fn shifts_agree((bits, a, _) in operands(), amount in 0u32..200, amount_bits in 1u32..9) {
        let width = Width::new(bits).unwrap();
        let amount = amount & ((1 << amount_bits) - 1);
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(a, width);
            let y = x.clone().reinterpret::<Signed>();
            let by = c.stand_in_integer(amount, Width::new(amount_bits).unwrap());
            let clear_by = c.clear(amount, Width::new(amount_bits).unwrap());
            for shift in SHIFTS {
                let expected = shifted(shift, a, amount, bits, false);
                let what = format!("{shift:?} of {a} by {amount}, {bits} bits");
                let clear = c.shift_clear(shift, &x, amount).unwrap();
                prop_assert_eq!(read(&c, &clear), expected, "clear {}", what);
                let found = c.shift(shift, &x, &by).unwrap();
                prop_assert_eq!(read(&c, &found), expected, "{}", what);
                let found = c.shift(shift, &x, &clear_by).unwrap();
                prop_assert_eq!(read(&c, &found), expected, "{}", what);
                let expected = shifted(shift, a, amount, bits, true);
                let clear = c.shift_clear(shift, &y, amount).unwrap();
                prop_assert_eq!(read(&c, &clear), expected, "clear, signed {}", what);
                let found = c.shift(shift, &y, &by).unwrap();
                prop_assert_eq!(read(&c, &found), expected, "signed {}", what);
            }
            // There and back again.
            let away = c.shift(Shift::RotateLeft, &x, &by).unwrap();
            let back = c.shift(Shift::RotateRight, &away, &by).unwrap();
            prop_assert_eq!(read(&c, &back), a);
        }
    }

    #[test]
    fn casts_agree((bits, a, _) in operands(), to in 1u32..128) {
        let (width, wide) = (Width::new(bits).unwrap(), Width::new(to).unwrap());
        for c in circuits() {
            let x = c.stand_in_integer::<Unsigned>(a, width);
            let cast = c.cast::<_, Signed>(&x, wide).unwrap();
            prop_assert_eq!(read(&c, &cast), a & mask(to));
            let y = x.reinterpret::<Signed>();
            // A lazy one has carries beyond its width.
            let sum = c.add(&y, &y).unwrap();
            for (y, value) in [(&y, a), (&sum, a << 1 & mask(bits))] {
                let cast = c.cast::<_, Unsigned>(y, wide).unwrap();
                let expected = signed(value, bits) as u128 & mask(to);
                prop_assert_eq!(read(&c, &cast), expected);
                prop_assert_eq!(read(&c, &c.propagate(&cast).unwrap()), expected);
            }
        }
    }
}

#[test]
fn functions_of_few_bits_agree() {
    for c in circuits() {
        let most = c.encoding().plaintext_bits() - 1;
        for (bits, a) in (1..=most).flat_map(|bits| (0..1u64 << bits).map(move |a| (bits, a))) {
            let x = c.stand_in_integer::<Unsigned>(a, Width::new(bits).unwrap());
            let square = |x: u64| (x * x + 3).into();
            let wide = Width::new(13).unwrap();
            let found = c.map::<Unsigned>(&x, wide, square).unwrap();
            assert_eq!(read(&c, &found), u128::from((a * a + 3) & 0x1fff));
        }
        let wide = c.stand_in_integer::<Unsigned>(0u8, Width::new(most + 1).unwrap());
        let refused = c.map::<Unsigned>(&wide, Width::MAX, Into::into);
        assert_eq!(refused.unwrap_err(), IntegerError::Lookup);
    }
}

#[test]
fn functions_of_blocks_agree_or_are_refused() {
    for c in circuits() {
        let modulus = c.encoding().message_modulus() as i64;
        for (a, b) in (0..modulus).flat_map(|a| (0..modulus).map(move |b| (a, b))) {
            let x = c.stand_in(a as u64, modulus as u64 - 1);
            let y = c.stand_in(b as u64, modulus as u64 - 1);
            let value = |block: &Block| c.rehearse(&[block]).unwrap()[0];
            assert_eq!(value(&c.map_block(&x, |x| 1 - x).unwrap()), 1 - a);
            let found = c.map_blocks(&x, &y, |x, y| x.max(y) - x.min(y)).unwrap();
            assert_eq!(value(&found), (a - b).abs());
        }
        let x = c.stand_in(0, modulus as u64 - 1);
        let refused = IntegerError::Lookup;
        let wide = &x * (modulus + 2);
        assert_eq!(c.map_block(&wide, |x| x).unwrap_err(), refused);
        assert_eq!(c.map_block(&x, |_| 1 << 20).unwrap_err(), refused);
        assert_eq!(c.map_blocks(&wide, &x, |x, _| x).unwrap_err(), refused);
        assert_eq!(c.map_blocks(&x, &x, |_, _| i64::MIN).unwrap_err(), refused);
        let foreign = circuits().next().unwrap().stand_in(0, 1);
        let refused = IntegerError::OtherCircuit;
        assert_eq!(c.map_block(&foreign, |x| x).unwrap_err(), refused);
        for bits in 0..8 {
            let [p, q, r] = [0, 1, 2].map(|i| bits >> i & 1 == 1);
            let [x, y, z] = [p, q, r].map(|bit| c.stand_in_bool(bit));
            let chosen = c.select_bool(&x, &y, &z).unwrap();
            assert_eq!(read_bool(&c, &chosen), if p { q } else { r });
        }
    }
}
