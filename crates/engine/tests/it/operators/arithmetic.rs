//! Products, weighted sums, and overflow.

use super::*;

/// A wrapped result and whether it has overflowed.
type Found = (u128, bool);

fn found<S: Signedness>(c: &Circuit, result: (Integer<S>, FheBool)) -> Found {
    (read(c, &result.0), read_bool(c, &result.1))
}

/// The wrapped value, the flag, the nearest value, of an exact value.
fn expected(exact: i128, bits: u32, is_signed: bool) -> (Found, u128) {
    let (low, high) = match is_signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, mask(bits) as i128),
    };
    let overflow = exact < low || exact > high;
    let wrap = |value: i128| value as u128 & mask(bits);
    ((wrap(exact), overflow), wrap(exact.clamp(low, high)))
}

fn overflows_agree<S: Signedness>(c: &Circuit, bits: u32, a: u128, b: u128) {
    let width = Width::new(bits).unwrap();
    let value = |x: u128| match S::SIGNED {
        true => signed(x, bits),
        false => x as i128,
    };
    let x = c.stand_in_integer::<S>(a, width);
    for y in [c.stand_in_integer::<S>(b, width), c.clear(b, width)] {
        type Wrapping<S> =
            fn(&Circuit, &Integer<S>, &Integer<S>) -> Result<(Integer<S>, FheBool), IntegerError>;
        type Saturating<S> =
            fn(&Circuit, &Integer<S>, &Integer<S>) -> Result<Integer<S>, IntegerError>;
        type Operators<S> = (Wrapping<S>, Wrapping<S>, Saturating<S>);
        let (av, bv) = (value(a), value(b));
        let all: [(Operators<S>, Option<i128>); 3] = [
            (
                (
                    Circuit::overflowing_add,
                    Circuit::checked_add,
                    Circuit::saturating_add,
                ),
                Some(av + bv),
            ),
            (
                (
                    Circuit::overflowing_sub,
                    Circuit::checked_sub,
                    Circuit::saturating_sub,
                ),
                Some(av - bv),
            ),
            (
                (
                    Circuit::overflowing_mul,
                    Circuit::checked_mul,
                    Circuit::saturating_mul,
                ),
                av.checked_mul(bv),
            ),
        ];
        for (i, ((overflowing, checked, saturating), exact)) in all.into_iter().enumerate() {
            let Some(exact) = exact else { continue };
            let what = format!("operator {i} of {av} and {bv}, {bits} bits");
            let (wrapped, nearest) = expected(exact, bits, S::SIGNED);
            let result = overflowing(c, &x, &y).unwrap();
            assert_eq!(found(c, result), wrapped, "{what}");
            let result = checked(c, &x, &y).unwrap();
            let value = if wrapped.1 { 0 } else { wrapped.0 };
            assert_eq!(found(c, result), (value, wrapped.1), "{what}");
            let result = saturating(c, &x, &y).unwrap();
            assert_eq!(read(c, &result), nearest, "{what}");
        }
    }
}

#[test]
fn overflows_of_few_bits_agree() {
    for bits in 1..=3 {
        for (a, b) in (0..1 << bits).flat_map(|a| (0..1 << bits).map(move |b| (a, b))) {
            for c in circuits() {
                overflows_agree::<Unsigned>(&c, bits, a, b);
                overflows_agree::<Signed>(&c, bits, a, b);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn overflows_agree_with_integers((bits, a, b) in operands(), shift in 0u32..64) {
        for c in circuits() {
            // Products that only just overflow are rare: one factor is small.
            overflows_agree::<Unsigned>(&c, bits, a, b >> (shift % bits));
            overflows_agree::<Signed>(&c, bits, a, b >> (shift % bits));
        }
    }

    #[test]
    fn products_agree((bits, a, b) in operands()) {
        let width = Width::new(bits).unwrap();
        let product = a.wrapping_mul(b) & mask(bits);
        for c in circuits() {
            let x = c.stand_in_integer::<Signed>(a, width);
            let y = c.stand_in_integer::<Signed>(b, width);
            prop_assert_eq!(read(&c, &c.mul(&x, &y).unwrap()), product);
            let z = c.clear(b, width);
            prop_assert_eq!(read(&c, &c.mul(&x, &z).unwrap()), product);
            prop_assert_eq!(read(&c, &c.mul(&z, &x).unwrap()), product);
            let square = c.mul(&x, &x).unwrap();
            prop_assert_eq!(read(&c, &square), a.wrapping_mul(a) & mask(bits));
            // Lazy operands, and digits of a lazy result.
            let sum = c.add(&x, &y).unwrap();
            let product = c.propagate(&c.mul(&sum, &c.neg(&y).unwrap()).unwrap()).unwrap();
            let expected = a.wrapping_add(b).wrapping_mul(b.wrapping_neg());
            prop_assert_eq!(read(&c, &product), expected & mask(bits));
        }
    }

    #[test]
    fn dot_products_agree(
        bits in 1u32..40,
        terms in prop::collection::vec((any::<u64>(), any::<i64>(), 0u32..64), 1..12),
        wide in 1u32..100,
    ) {
        let width = Width::new(bits).unwrap();
        let wide = Width::new(wide).unwrap();
        let values: Vec<u128> = terms.iter().map(|t| u128::from(t.0) & mask(bits)).collect();
        let weights: Vec<i64> = terms.iter().map(|t| t.1 >> t.2).collect();
        let sum = |value: &dyn Fn(u128) -> i128| {
            let products = values.iter().zip(&weights);
            let products = products.map(|(&x, &w)| value(x).wrapping_mul(w.into()));
            products.fold(0i128, i128::wrapping_add) as u128 & mask(wide.bits())
        };
        for c in circuits() {
            let list: Vec<_> = values.iter().map(|&x| c.stand_in_integer::<Unsigned>(x, width)).collect();
            let found = c.dot_product(&list, &weights, wide).unwrap();
            prop_assert_eq!(read(&c, &found), sum(&|x| x as i128));
            let list: Vec<_> = list.into_iter().map(Integer::reinterpret::<Signed>).collect();
            let found = c.dot_product(&list, &weights, wide).unwrap();
            prop_assert_eq!(read(&c, &c.propagate(&found).unwrap()), sum(&|x| signed(x, bits)));
            let total = c.sum(&list).unwrap();
            let exact: i128 = values.iter().map(|&x| signed(x, bits)).sum();
            prop_assert_eq!(read(&c, &total), exact as u128 & mask(total.width().bits()));
        }
    }

    #[test]
    fn absolute_values_agree((bits, a, _) in operands()) {
        let width = Width::new(bits).unwrap();
        for c in circuits() {
            let x = c.stand_in_integer::<Signed>(a, width);
            let expected = signed(a, bits).unsigned_abs() & mask(bits);
            prop_assert_eq!(read(&c, &c.abs(&x).unwrap()), expected);
            prop_assert_eq!(read_bool(&c, &c.is_negative(&x).unwrap()), signed(a, bits) < 0);
            let twice = c.neg(&c.neg(&x).unwrap()).unwrap();
            prop_assert_eq!(read(&c, &twice), a);
        }
    }
}
