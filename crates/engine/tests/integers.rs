//! Radix integers against clear arithmetic, on real parameters.

mod common;

use common::Keys;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::integer::{
    Block, Comparison, EncryptedBool, Integer, IntegerError, Integers, Signed, Signedness, Unsigned,
};

const BLOCKS: usize = 5;
const BITS: u32 = 10;
const MASK: u64 = (1 << BITS) - 1;

fn encrypt<S: Signedness>(
    keys: &mut Keys,
    integers: &Integers<'_, '_, u64>,
    value: i64,
) -> Integer<S, u64> {
    let encoding = keys.secret.parameters().block_encoding();
    let mut digits = [0; BLOCKS];
    encoding.split(value as u64 & MASK, &mut digits).unwrap();
    let blocks = digits
        .iter()
        .map(|&digit| keys.encrypt(encoding.encode::<u64>(i64::from(digit))))
        .collect();
    integers.from_fresh(blocks).unwrap()
}

/// Decrypts as the key owner does: after the key switch, under the small key. Checks
/// that every block keeps what its degree promises.
fn decrypt<'a>(
    keys: &Keys,
    integers: &Integers<'_, '_, u64>,
    blocks: impl IntoIterator<Item = &'a Block<u64>>,
) -> u64 {
    integers
        .encoding()
        .join(decrypt_each(keys, integers, blocks))
}

fn decrypt_each<'a>(
    keys: &Keys,
    integers: &Integers<'_, '_, u64>,
    blocks: impl IntoIterator<Item = &'a Block<u64>>,
) -> Vec<u64> {
    let blocks: Vec<_> = blocks.into_iter().collect();
    let values: Vec<u64> = integers
        .export(blocks.iter().copied())
        .iter()
        .map(|lwe| keys.secret.decrypt_block(lwe))
        .collect();
    for (value, block) in values.iter().zip(&blocks) {
        assert!(block.noise_level() <= keys.secret.parameters().max_noise_level);
        assert!(
            *value <= block.degree(),
            "{value} above degree {}",
            block.degree()
        );
    }
    values
}

fn signed(value: u64) -> i64 {
    (value << (64 - BITS)) as i64 >> (64 - BITS)
}

#[test]
fn arithmetic_agrees_with_clear_arithmetic() {
    let (mut keys, server) = Keys::generate(MESSAGE_2_CARRY_2, 2);
    let evaluator = Evaluator::new(&server);
    let ints = Integers::new(&evaluator).unwrap();
    for (a, b) in [(0, 0), (1023, 1023), (512, 511), (345, 678), (85, 170)] {
        let x = encrypt::<Unsigned>(&mut keys, &ints, a);
        let y = encrypt::<Unsigned>(&mut keys, &ints, b);
        let read = |z: &Integer<Unsigned, u64>| decrypt(&keys, &ints, z.blocks());
        assert_eq!(read(&ints.add(&x, &y).unwrap()), (a + b) as u64 & MASK);
        assert_eq!(read(&ints.sub(&x, &y).unwrap()), (a - b) as u64 & MASK);
        assert_eq!(read(&ints.neg(&x).unwrap()), (-a) as u64 & MASK);
        assert_eq!(
            read(&ints.scalar_add(&x, 700).unwrap()),
            (a + 700) as u64 & MASK
        );
        assert_eq!(
            read(&ints.scalar_sub(&x, 3).unwrap()),
            (a - 3) as u64 & MASK
        );
        for scalar in [0, 1, 3, 77, 1023, -5] {
            let product = ints.scalar_mul(&x, scalar).unwrap();
            assert_eq!(read(&product), (a * scalar) as u64 & MASK, "{a} * {scalar}");
        }
    }
}

#[test]
fn comparisons_and_selections_agree_with_clear_ones() {
    let (mut keys, server) = Keys::generate(MESSAGE_2_CARRY_2, 3);
    let evaluator = Evaluator::new(&server);
    let ints = Integers::new(&evaluator).unwrap();
    let all = [
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
        Comparison::Eq,
        Comparison::Ne,
    ];
    for (a, b) in [
        (0, 0),
        (1, 0),
        (0, 1),
        (1023, 0),
        (256, 255),
        (515, 516),
        (700, 700),
    ] {
        let x = encrypt::<Unsigned>(&mut keys, &ints, a);
        let y = encrypt::<Unsigned>(&mut keys, &ints, b);
        let bits = ints
            .compare_batch(&all.map(|comparison| (comparison, &x, &y)))
            .unwrap();
        for (comparison, bit) in all.iter().zip(&bits) {
            assert_eq!(
                decrypt(&keys, &ints, [bit.block()]) == 1,
                comparison.apply(a, b),
                "{a} {comparison:?} {b}"
            );
        }
        let (p, q) = (signed(a as u64), signed(b as u64));
        let sx = encrypt::<Signed>(&mut keys, &ints, p);
        let sy = encrypt::<Signed>(&mut keys, &ints, q);
        let bits = ints
            .compare_batch(&all.map(|comparison| (comparison, &sx, &sy)))
            .unwrap();
        for (comparison, bit) in all.iter().zip(&bits) {
            assert_eq!(
                decrypt(&keys, &ints, [bit.block()]) == 1,
                comparison.apply(p, q),
                "{p} {comparison:?} {q}"
            );
        }
        let (min, max) = ints.min_max_batch(&[(&x, &y)]).unwrap().remove(0);
        assert_eq!(decrypt(&keys, &ints, min.blocks()), a.min(b) as u64);
        assert_eq!(decrypt(&keys, &ints, max.blocks()), a.max(b) as u64);
        let smin = ints.min_batch(&[(&sx, &sy)]).unwrap().remove(0);
        let smax = ints.max_batch(&[(&sx, &sy)]).unwrap().remove(0);
        assert_eq!(signed(decrypt(&keys, &ints, smin.blocks())), p.min(q));
        assert_eq!(signed(decrypt(&keys, &ints, smax.blocks())), p.max(q));
        let chosen = ints.select(&bits[0], &x, &y).unwrap();
        let expected = if p < q { a } else { b };
        assert_eq!(decrypt(&keys, &ints, chosen.blocks()), expected as u64);
    }
}

#[test]
fn sums_counts_and_tournaments_agree_with_clear_ones() {
    let (mut keys, server) = Keys::generate(MESSAGE_2_CARRY_2, 4);
    let evaluator = Evaluator::new(&server);
    let ints = Integers::new(&evaluator).unwrap();
    let values: Vec<i64> = (0..23).map(|i| (i * 457 + 101) % 1024).collect();
    let encrypted: Vec<_> = values
        .iter()
        .map(|&value| encrypt::<Unsigned>(&mut keys, &ints, value))
        .collect();
    let all: Vec<_> = encrypted.iter().collect();
    for len in [1, 2, 3, 7, 23] {
        let sum = ints.sum(&all[..len]).unwrap();
        let expected: i64 = values[..len].iter().sum();
        assert_eq!(
            decrypt(&keys, &ints, sum.blocks()),
            expected as u64,
            "sum of {len}"
        );
        let (min, max) = ints.min_max_of_batch(&[&all[..len]]).unwrap().remove(0);
        assert_eq!(
            decrypt(&keys, &ints, min.blocks()),
            *values[..len].iter().min().unwrap() as u64
        );
        assert_eq!(
            decrypt(&keys, &ints, max.blocks()),
            *values[..len].iter().max().unwrap() as u64
        );
    }
    let limit = ints.trivial(500, BLOCKS);
    let above = ints
        .compare_batch(
            &all.iter()
                .map(|x| (Comparison::Gt, *x, &limit))
                .collect::<Vec<_>>(),
        )
        .unwrap();
    let even_bits: Vec<_> = (0..23).map(|i| ints.trivial_bool(i % 2 == 0)).collect();
    let both = ints.and_batch(&above.iter().zip(&even_bits).collect::<Vec<_>>());
    let counts = ints
        .count_batch(&[
            &above.iter().collect::<Vec<_>>(),
            &both.iter().collect::<Vec<_>>(),
        ])
        .unwrap();
    let expected = values.iter().filter(|&&v| v > 500).count();
    let expected_both = values.iter().step_by(2).filter(|&&v| v > 500).count();
    assert_eq!(decrypt(&keys, &ints, counts[0].blocks()), expected as u64);
    assert_eq!(
        decrypt(&keys, &ints, counts[1].blocks()),
        expected_both as u64
    );
}

#[test]
fn truth_values_agree_with_clear_ones() {
    let (mut keys, server) = Keys::generate(MESSAGE_2_CARRY_2, 9);
    let evaluator = Evaluator::new(&server);
    let ints = Integers::new(&evaluator).unwrap();
    let zero = ints.trivial::<Unsigned>(0, BLOCKS);
    let encrypted: Vec<_> = [0, 1]
        .map(|value| encrypt::<Unsigned>(&mut keys, &ints, value))
        .into();
    let bits = encrypted.iter().map(|x| (Comparison::Gt, x, &zero));
    let bits = ints.compare_batch(&bits.collect::<Vec<_>>()).unwrap();
    let pairs: Vec<_> = bits
        .iter()
        .flat_map(|a| bits.iter().map(move |b| (a, b)))
        .collect();
    let read = |bits: &[EncryptedBool<u64>]| {
        decrypt_each(&keys, &ints, bits.iter().map(EncryptedBool::block))
    };
    assert_eq!(read(&ints.and_batch(&pairs)), [0, 0, 0, 1]);
    assert_eq!(read(&ints.or_batch(&pairs)), [0, 1, 1, 1]);
    assert_eq!(read(&ints.xor_batch(&pairs)), [0, 1, 1, 0]);
    // Negations of clear bits must not pass for zeros where they are counted.
    let mut all: Vec<_> = (0..20)
        .map(|_| ints.not(&ints.trivial_bool(false)))
        .collect();
    all.push(ints.not(&bits[0]));
    all.push(ints.not(&bits[1]));
    let count = ints
        .count_batch(&[&all.iter().collect::<Vec<_>>()])
        .unwrap()
        .remove(0);
    assert_eq!(decrypt(&keys, &ints, count.blocks()), 21);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (_, server) = Keys::generate::<u64>(MESSAGE_2_CARRY_2, 5);
    let evaluator = Evaluator::new(&server);
    let ints = Integers::new(&evaluator).unwrap();
    let (a, b) = (ints.trivial::<Unsigned>(1, 3), ints.trivial(1, 4));
    assert_eq!(ints.add(&a, &b).unwrap_err(), IntegerError::Widths(3, 4));
    assert_eq!(ints.sum(&[]).unwrap_err(), IntegerError::Empty);
    let (_, server) = Keys::generate::<u64>(GATES, 5);
    let evaluator = Evaluator::new(&server);
    assert!(matches!(
        Integers::new(&evaluator),
        Err(IntegerError::Parameters)
    ));
}
