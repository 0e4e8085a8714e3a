//! The engine against the slow reference, on small random parameter sets.

mod common;
mod reference;

use common::{Keys, small_set};
use proptest::prelude::*;
use reference::ReferenceKey;
use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::fft::OwnedFftPlan;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{Decomposition, ModulusSwitch, ParameterSet};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::simd;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::external_product::{ExternalProductScratch, rotate_if};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::modulus_switch::modulus_switch_into;
use tfhe_sbc_oracle::blind_rotation::{FftErrorModel, fft_variance};
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::prediction::Prediction;

/// `count` uniform vectors of `len` scalars.
fn uniform<T: MaskTorus>(seed: u8, count: usize, len: usize) -> Vec<Vec<T>> {
    let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([seed; 32]), 7);
    (0..count)
        .map(|_| {
            let mut out = vec![T::ZERO; len];
            fill_uniform(&mut stream, &mut out);
            out
        })
        .collect()
}

fn ciphertexts<T: MaskTorus>(vectors: &[Vec<T>]) -> Vec<LweCiphertext<T>> {
    vectors
        .iter()
        .map(|v| LweCiphertext::from_vec(v.clone()).unwrap())
        .collect()
}

/// Key switch bit for bit; bootstraps of uniform ciphertexts likewise over 32 bits, where
/// every product is an integer that the transform finds exactly. Over 64 bits its error
/// moves digits from one multiple to the next, and with them all of the mask: phases
/// agree, up to the noise of two bootstraps.
fn compare<T: MaskTorus>(set: ParameterSet, seed: u8) {
    let (seeded, mut keys) = Keys::seeded::<T>(set, seed);
    let parameters = *keys.secret.parameters();
    let reference = ReferenceKey::<T>::from_message(&parameters, &seeded.to_bytes());
    let server = seeded.prepare(&|_| ());
    let evaluator = Evaluator::new(&server);

    let big = ciphertexts(&uniform::<T>(seed, 5, parameters.big_lwe_dimension().0 + 1));
    for (out, input) in evaluator.key_switch_batch(&big).iter().zip(&big) {
        assert_eq!(
            out.as_slice(),
            reference.key_switch(input.as_slice()),
            "{set:?}"
        );
    }

    // Only a table that is not constant shows where it was turned to.
    let size = parameters.polynomial_size();
    let encoding = parameters.block_encoding();
    let table = LookupTable::from_fn(encoding, size, |x| (x * 3) as i64);
    // Every scalar of the output of a big ciphertext is the reference's for the small
    // one that it switches to.
    let switched = evaluator.key_switch_batch(&big[..2]);
    let big_jobs: Vec<_> = big[..2]
        .iter()
        .map(|input| Job {
            input: input.clone(),
            table: &table,
        })
        .collect();
    for (out, small) in evaluator.bootstrap_batch(&big_jobs).iter().zip(&switched) {
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
    // In the other order the key switch comes after.
    let mut small = ciphertexts(&uniform::<u32>(seed, 1, parameters.lwe_dimension.0 + 1));
    small.push(keys.encrypt_small(encoding.encode(2)));
    let jobs: Vec<_> = small
        .iter()
        .map(|input| Job {
            input: input.clone(),
            table: &table,
        })
        .collect();
    let outputs = evaluator.bootstrap_key_switch_batch(&jobs);
    for (out, input) in outputs.iter().zip(&small) {
        let rotated = reference.rotate_and_extract(table.as_slice(), input.as_slice());
        if T::BITS == 32 {
            assert_eq!(out.as_slice(), reference.key_switch(&rotated), "{set:?}");
        }
    }
}

/// One controlled rotation by a GGSW ciphertext of uniform rows, every scalar up to the
/// transform's error.
fn compare_rotation<T: MaskTorus>(set: ParameterSet, degree: usize, bound: f64) {
    let parameters = set.validate().unwrap();
    let (k, levels) = (set.glwe_dimension.0, set.pbs.level_count.0);
    let size = parameters.polynomial_size();
    let owned = OwnedFftPlan::new(size);
    let ggsw: Vec<Vec<Vec<T>>> = (0..(k + 1) * levels)
        .map(|row| uniform(row as u8, k + 1, size.get()))
        .collect();
    let fourier: Vec<f64> = ggsw
        .iter()
        .flatten()
        .flat_map(|polynomial| {
            let mut out = vec![0.0; size.get()];
            simd::torus_to_f64(owned.isa(), &mut out, polynomial);
            owned.plan().forward(&mut out);
            simd::scale_f64(owned.isa(), &mut out, 2.0 / size.get() as f64);
            out
        })
        .collect();
    let mut expected = uniform::<T>(200, k + 1, size.get());
    let mut acc = expected.concat();
    let mut scratch = ExternalProductScratch::new(&parameters);
    rotate_if(
        owned.plan(),
        set.pbs,
        &mut acc,
        &fourier,
        degree,
        &mut scratch,
    );
    reference::rotate_if(set.pbs, &mut expected, &ggsw, degree as i64);
    for (x, y) in acc.iter().zip(expected.concat()) {
        let error = x.sub(y).to_signed_fraction();
        assert!(error.abs() <= bound, "{error:e} {set:?}");
    }
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
        64usize..=130,
        any::<bool>(),
        any::<u8>(),
    )
        .prop_map(
            move |(k, (base_log, levels), switch, n, compensated, seed)| {
                let set = ParameterSet {
                    pbs: Decomposition::new(base_log, levels),
                    pbs_body: Decomposition::new(base_log, levels),
                    key_switch: Decomposition::new(switch.0, switch.1),
                    modulus_switch: if compensated {
                        ModulusSwitch::MeanCompensated
                    } else {
                        ModulusSwitch::Plain
                    },
                    ..small_set(bits, k, n)
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
    fn a_32_bit_rotation_is_the_reference((set, _) in arbitrary_set(32), degree in 0usize..512) {
        compare_rotation::<u32>(set, degree, 0.0);
    }

    #[test]
    fn a_64_bit_rotation_is_the_reference((set, _) in arbitrary_set(64), degree in 0usize..512) {
        // Eight times the deviation of the oracle's model, which is for phases: its 1 + kN/2
        // is what the key makes of the mask's errors.
        let parameters = PbsParameters::from(&set.validate().unwrap());
        let (key, gadget) = (parameters.bootstrapping_key(), parameters.pbs);
        let terms = 1.0 + key.extracted_lwe_dimension() as f64 / 2.0;
        let each = fft_variance(FftErrorModel::Measured, &key, gadget).0 / terms;
        compare_rotation::<u64>(set, degree, 8.0 * each.sqrt());
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
