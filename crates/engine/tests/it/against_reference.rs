//! The engine against the slow reference, on small random parameter sets.

use proptest::prelude::*;
use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::fft::external_product::{Coefficient, ProductShape, StepKey};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{Decomposition, ModulusSwitch, PARAMETERS_BYTES, ParameterSet};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::gadget_product::GadgetProduct;
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_engine::requests::Requests;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};
use tfhe_sbc_oracle::blind_rotation::{FftErrorModel, fft_variance};
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::prediction::Prediction;

use crate::common::{Keys, on_threads, place_key, small_set};
use crate::frozen;
use crate::reference::{self, ReferenceKey};

/// `count` uniform vectors of `len` scalars.
fn uniform<T: ProductTorus>(seed: u8, count: usize, len: usize) -> Vec<Vec<T>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([seed; 32]), 7);
    (0..count)
        .map(|_| {
            let mut out = vec![T::ZERO; len];
            fill_uniform(&mut stream, &mut out);
            out
        })
        .collect()
}

fn ciphertexts<T: ProductTorus>(vectors: &[Vec<T>]) -> Vec<LweCiphertext<T>> {
    vectors
        .iter()
        .map(|v| LweCiphertext::from_vec(v.clone()).unwrap())
        .collect()
}

/// Compares the engine with the reference. Key switches agree bit for bit, and so do bootstraps of
/// uniform ciphertexts over 32 bits, where every product is an integer that the transform computes
/// exactly. Over 64 bits the error of the transform moves digits from one multiple to the next,
/// and with them the whole mask, so that only the phases agree, up to the noise of two bootstraps.
fn compare<T: ProductTorus>(set: ParameterSet, seed: u8) {
    let (seeded, mut keys) = Keys::seeded::<T>(set, seed);
    let parameters = *keys.secret.parameters();
    let reference = ReferenceKey::<T>::from_message(&parameters, &seeded.to_bytes(), false);
    let server = seeded.prepare(&|_| ());
    let evaluator = Evaluator::new(&server);

    let big = ciphertexts(&uniform::<T>(seed, 5, parameters.big_lwe_dimension().0 + 1));
    let check = |server: &ServerKey<T>, reference: &ReferenceKey<T>| {
        let evaluator = Evaluator::new(server);
        for threads in [1, 3, 40] {
            let switched = on_threads(threads, || evaluator.key_switch_batch(&big)).unwrap();
            for (out, input) in switched.iter().zip(&big) {
                let expected = reference.key_switch(input.as_slice());
                assert_eq!(out.as_slice(), expected, "{set:?}");
            }
        }
    };
    check(&server, &reference);
    // Keys of former programs have rows of LWE ciphertexts and a seed for their masks, those of release 0.1 also
    // another expander. What they encrypt makes no difference.
    let bytes = seeded.to_bytes();
    let message = Message::parse(&bytes).unwrap().0;
    let (of_parameters, bodies) = message.payload.split_at(PARAMETERS_BYTES);
    let payload = [of_parameters, &[0x5a; 32], bodies].concat();
    for expander in [ExpanderKind::ChaCha20, ExpanderKind::Aes128Ctr] {
        let header = Header {
            expander: Some(expander),
            ..message.header
        };
        let former = frozen::resealed(&header, &payload);
        let of_former = ReferenceKey::<T>::from_message(&parameters, &former, true);
        let seeded = SeededServerKey::<T>::from_bytes(&former).unwrap();
        assert_eq!(seeded.to_bytes(), former);
        check(&seeded.prepare(&|_| ()), &of_former);
        // A new key has no such expander.
        let header = Header {
            expander: Some(ExpanderKind::ChaCha20),
            ..message.header
        };
        let unknown = frozen::resealed(&header, message.payload);
        assert_eq!(
            SeededServerKey::<T>::from_bytes(&unknown).err(),
            Some(WireError::Field("expander"))
        );
    }

    // Only a table that is not constant shows where it was turned to.
    let encoding = parameters.block_encoding();
    let table = LookupTable::from_fn(&parameters, |x| (x * 3) as i64);
    // Every scalar of the output of a big ciphertext is the reference's for the small
    // one that it switches to.
    let switched = evaluator.key_switch_batch(&big[..2]).unwrap();
    let big_jobs: Vec<_> = big[..2]
        .iter()
        .map(|input| Job {
            input: input.clone(),
            table: &table,
        })
        .collect();
    let outputs = evaluator.bootstrap_batch(&big_jobs).unwrap();
    for (out, small) in outputs.iter().zip(&switched) {
        let expected = reference.rotate_and_extract(table.as_slice(), small.as_slice());
        if T::BITS == 32 {
            assert_eq!(out.as_slice(), expected, "{set:?}");
            continue;
        }
        let expected = LweCiphertext::from_vec(expected).unwrap();
        let error = keys
            .big
            .phase(out)
            .sub(keys.big.phase(&expected))
            .to_signed_fraction();
        let noise = Prediction::new(&parameters).budget.pbs;
        assert!(
            error.abs() <= 6.0 * (2.0 * noise.0).sqrt(),
            "{error:e} {set:?}"
        );
        assert!(noise.log2() < -20.0, "nothing can be told from {set:?}");
    }
    // In the other order the key switch comes last.
    let mut small = ciphertexts(&uniform::<u32>(seed, 1, parameters.lwe_dimension().0 + 1));
    small.push(keys.encrypt_small(encoding.encode(2)));
    let jobs: Vec<_> = small
        .iter()
        .map(|input| Job {
            input: input.clone(),
            table: &table,
        })
        .collect();
    let outputs = evaluator.bootstrap_key_switch_batch(&jobs).unwrap();
    for (out, input) in outputs.iter().zip(&small) {
        let rotated = reference.rotate_and_extract(table.as_slice(), input.as_slice());
        if T::BITS == 32 {
            assert_eq!(out.as_slice(), reference.key_switch(&rotated), "{set:?}");
        }
    }
}

/// One turn by a block of GGSW ciphertexts of uniform rows, every scalar up to the
/// transform's error. The accumulator consists of scalars, and over 2^64 also of doubles, as in a blind rotation.
fn compare_turn<T: ProductTorus>(set: ParameterSet, exponent: u32, bound: f64) {
    let parameters = set.validate().unwrap();
    let size = parameters.polynomial_size().get();
    for isa in Isa::available() {
        let product = GadgetProduct::of_blind_rotation(&parameters, isa);
        let ProductShape {
            block_size,
            rows,
            outputs,
        } = product.shape();
        let ggsws: Vec<Vec<Vec<Vec<T>>>> = (0..block_size)
            .map(|bit| {
                (0..rows)
                    .map(|row| uniform((bit * rows + row) as u8, outputs, size))
                    .collect()
            })
            .collect();
        let key = place_key(&product, &ggsws, size);
        let exponents: Vec<u32> = (0..block_size as u32)
            .map(|bit| (exponent * (3 * bit + 1)) % (2 * size as u32))
            .collect();
        let mut before = uniform::<T>(200, outputs, size);
        if T::BITS == 64 {
            // Doubles have these scalars exactly, and none lies halfway between two that digits represent.
            for x in before.iter_mut().flatten() {
                *x = T::from_i64(x.to_i64() & !0xfff | 0x1000);
            }
        }
        let check = |acc: &[T], digits: fn(T, Decomposition) -> Vec<i64>| {
            let mut expected = before.clone();
            reference::turn_by_block(&parameters, &mut expected, &ggsws, &exponents, digits);
            for (x, y) in acc.iter().zip(expected.concat()) {
                let error = x.sub(y).to_signed_fraction();
                assert!(error.abs() <= bound, "{} {error:e} {set:?}", isa.name());
            }
        };
        let mut acc = before.concat();
        turn(&product, &mut acc, &key, &exponents);
        check(&acc, reference::digits);
        if T::BITS == 64 {
            let mut turns = vec![0.0; acc.len()];
            simd::torus_to_turns(isa, &mut turns, &before.concat());
            turn(&product, &mut turns, &key, &exponents);
            simd::turns_to_torus(isa, &mut acc, &turns);
            check(&acc, reference::nearest_digits);
        }
    }
}

/// Turns an accumulator by a block.
fn turn<X: Coefficient>(product: &GadgetProduct, acc: &mut [X], key: &[f64], exponents: &[u32]) {
    product.turn_by_block(
        [acc],
        StepKey::Doubles(key),
        Requests::NONE,
        [exponents],
        [&mut product.scratch()],
    );
}

fn arbitrary_set(bits: u32) -> impl Strategy<Value = (ParameterSet, u8)> {
    let gadgets = prop::sample::select(match bits {
        32 => vec![(4, 1), (8, 1), (9, 2), (6, 3), (10, 2), (7, 3)],
        _ => vec![(23, 1), (9, 2), (15, 2), (7, 3), (12, 3), (21, 2)],
    });
    let switches = prop::sample::select(vec![(3, 5), (4, 4), (2, 8), (5, 3), (1, 12)]);
    (
        1usize..=3,
        gadgets,
        switches,
        68usize..=130,
        any::<bool>(),
        (1u32..=4, 0u32..=2),
        any::<u8>(),
    )
        .prop_map(
            move |(k, (base_log, levels), switch, n, compensated, (block_size, finer), seed)| {
                // The body's digits may be of another base.
                let body_base_log = base_log + finer.min(bits / levels as u32 - base_log);
                let set = ParameterSet {
                    lwe_block_size: block_size,
                    pbs: Decomposition::new(base_log, levels),
                    pbs_body: Decomposition::new(body_base_log, levels),
                    key_switch: Decomposition::new(switch.0, switch.1),
                    modulus_switch: if compensated {
                        ModulusSwitch::MeanCompensated
                    } else {
                        ModulusSwitch::Plain
                    },
                    ..small_set(bits, k, n / block_size as usize * block_size as usize)
                };
                (set, seed)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_32_bit_engine_is_the_reference((set, seed) in arbitrary_set(32)) {
        compare::<u32>(set, seed);
    }

    #[test]
    fn the_64_bit_engine_is_the_reference((set, seed) in arbitrary_set(64)) {
        compare::<u64>(set, seed);
    }

    #[test]
    fn a_32_bit_turn_is_the_reference((set, _) in arbitrary_set(32), exponent in 0u32..512) {
        compare_turn::<u32>(set, exponent, 0.0);
    }

    #[test]
    fn a_64_bit_turn_is_the_reference((set, _) in arbitrary_set(64), exponent in 0u32..512) {
        // Eight times the deviation of the oracle's model, which is for phases: its 1 + kN/2
        // is what the key makes of the mask's errors.
        let parameters = set.validate().unwrap();
        let shape = PbsParameters::from(&parameters);
        let terms = 1.0 + shape.fresh().extracted_lwe_dimension() as f64 / 2.0;
        let (key, gadgets) = (shape.fresh(), shape.pbs);
        let step = 2.0 * f64::from(set.lwe_block_size);
        let each = step * fft_variance(FftErrorModel::Measured, &key, gadgets).0 / terms;
        compare_turn::<u64>(set, exponent, 8.0 * each.sqrt());
    }

    #[test]
    fn modulus_switches_are_the_reference(
        lwe in prop::collection::vec(any::<u32>(), 65..200),
        log_size in 8u32..=16,
        block_size in 1u32..=5,
    ) {
        let size = PolynomialSize::new(1 << log_size).unwrap();
        for kind in [ModulusSwitch::Plain, ModulusSwitch::MeanCompensated] {
            let mut exponents = vec![0; lwe.len()];
            modulus_switch_into(&mut exponents, &lwe, size, kind, block_size);
            let expected = reference::modulus_switch(&lwe, log_size + 1, kind, block_size);
            prop_assert_eq!(exponents, expected);
        }
    }

    #[test]
    fn reference_digits_recompose(x: u64, base_log in 1u32..=16, levels in 1usize..=4) {
        let gadget = Decomposition::new(base_log, levels);
        let mut sum = 0u64;
        for (j, digit) in reference::digits(x, gadget).into_iter().enumerate() {
            prop_assert!((-(1i64 << (base_log - 1))..1 << (base_log - 1)).contains(&digit));
            sum = sum.wrapping_add((digit as u64) << (64 - base_log * (j as u32 + 1)));
        }
        let error = (sum.wrapping_sub(x) as i64).unsigned_abs();
        let dropped = 64 - base_log * levels as u32;
        let half = if dropped == 0 { 0 } else { 1 << (dropped - 1) };
        prop_assert!(error <= half);
    }
}
