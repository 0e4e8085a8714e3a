//! Tests of what a message must not tell: without the key it looks uniform, no two messages share
//! randomness, and masks tell nothing of the noise.
//!
//! Each check is a function that gives what it saw, so that the tests also hand it the
//! mistakes that it is there for, and demand that it notices. Seeds are fixed; bounds
//! are five standard deviations and more.

use std::collections::HashSet;

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet, PlaintextKind};
use tfhe_sbc_core::random::{NoiseSeed, add_noise};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_device::{
    BodyRounding, ColumnValues, CompactEncoding, Encryptor, ExpanderKind, KeyMode, MemoryPlan,
};

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX, secret_key};
use crate::common::{Device, Opened, chi_square_score, send, send_columns};

/// The frozen sets with whole bodies on the wire, so that noise is seen untouched.
const WHOLE_RADIX: ParameterSet = ParameterSet {
    body_bits: 64,
    public_key_mask_bits: 64,
    ..FROZEN_RADIX
};
const WHOLE_BOOLEAN: ParameterSet = ParameterSet {
    body_bits: 32,
    public_key_mask_bits: 32,
    ..FROZEN_BOOLEAN
};

/// Bins for the top bits of a torus element.
const BINS: usize = 32;
const SAMPLES: usize = 1 << 15;

fn top_bits<T: ProductTorus>(x: T) -> usize {
    (x >> (T::BITS - BINS.ilog2())).to_u64() as usize
}

fn uniformity_score<T: ProductTorus>(values: impl IntoIterator<Item = T>) -> f64 {
    let mut counts = [0; BINS];
    for value in values {
        counts[top_bits(value)] += 1;
    }
    chi_square_score(&counts, BINS - 1)
}

/// Messages of one and the same plaintext everywhere, looked at without the key: the
/// bodies as they are, decrypted with the zero key, and with another key set's.
fn without_the_key_all_is_uniform<T: ProductTorus>(set: ParameterSet) {
    for plan in MemoryPlan::ALL {
        without_the_key_a_configuration_is_uniform::<T>(set, plan, KeyMode::Symmetric);
        if set.public_key_mask_bits > 0 {
            without_the_key_a_configuration_is_uniform::<T>(set, plan, KeyMode::Public);
        }
    }
}

fn without_the_key_a_configuration_is_uniform<T: ProductTorus>(
    set: ParameterSet,
    plan: MemoryPlan,
    mode: KeyMode,
) {
    let mut device = Device::<T>::with_plan(set, 21, plan);
    let others = secret_key(set, 22);
    let size = others.parameters().polynomial_size();
    let zero = vec![0; set.glwe_dimension.0 * size.get()];
    let zero = GlweSecretKey::from_coefficients(GlweSecret::Binary, zero.into(), size).unwrap();
    for expander in ExpanderKind::ALL {
        // A message does not depend on the plan, so each of the others has one value.
        let first = match plan == MemoryPlan::recommended() {
            true => 0,
            false => set.message_bits.modulus() as u8 - 1,
        };
        for value in first..set.message_bits.modulus() as u8 {
            let values = vec![value; SAMPLES];
            let message = device.send_in(mode, expander, value, &values);
            assert!(device.open(&message).values() == values);
            for (name, key) in [("zero", &zero), ("other", others.glwe())] {
                let opened = Opened::<T>::new(&message, &device.secret, key);
                let score = uniformity_score(opened.phases.iter().copied());
                assert!(
                    score.abs() < 5.0,
                    "{}, {plan}, {mode:?}, {expander}: {value} under the {name} key has score {score}",
                    set.name
                );
                // Neighbours too: a plaintext that is only rotated would show here.
                let steps = opened.phases.windows(2).map(|pair| pair[1].sub(pair[0]));
                assert!(uniformity_score(steps).abs() < 5.0);
                let lucky = opened
                    .values()
                    .iter()
                    .filter(|&&seen| seen == value)
                    .count();
                let chance = match set.plaintext {
                    PlaintextKind::Boolean => 0.5,
                    PlaintextKind::Radix => {
                        0.5f64.powi(others.parameters().block_encoding().plaintext_bits() as i32)
                    }
                };
                let deviation = (SAMPLES as f64 * chance * (1.0 - chance)).sqrt();
                let excess = lucky as f64 - SAMPLES as f64 * chance;
                assert!(
                    excess.abs() < 5.0 * deviation,
                    "{lucky} of {SAMPLES} decrypted"
                );
            }
        }
    }
}

#[test]
fn without_the_key_shipped_sets_look_uniform() {
    without_the_key_all_is_uniform::<u64>(MESSAGE_2_CARRY_2);
    without_the_key_all_is_uniform::<u64>(GATES);
}

#[test]
fn without_the_key_frozen_sets_look_uniform() {
    without_the_key_all_is_uniform::<u64>(FROZEN_RADIX);
    without_the_key_all_is_uniform::<u32>(FROZEN_BOOLEAN);
    without_the_key_all_is_uniform::<u64>(WHOLE_RADIX);
    without_the_key_all_is_uniform::<u32>(WHOLE_BOOLEAN);
}

/// A compact column of one code everywhere, with and without error feedback, whose neighbouring bodies
/// have to do with each other: they look uniform under the zero key and another key set's, and so do
/// their differences and their sums.
#[test]
fn without_the_key_compact_columns_look_uniform() {
    let set = MESSAGE_2_CARRY_2;
    let mut device = Device::<u64>::new(set, 26);
    let others = secret_key(set, 27);
    let size = others.parameters().polynomial_size();
    let zero = GlweSecretKey::from_coefficients(
        GlweSecret::Binary,
        vec![0; set.glwe_dimension.0 * size.get()].into(),
        size,
    )
    .unwrap();
    for rounding in [BodyRounding::Nearest, BodyRounding::ErrorFeedback] {
        let encoding = CompactEncoding::new(12, 4, 18, rounding).unwrap();
        for code in [0, 4095] {
            let codes = vec![code; SAMPLES];
            let columns = [ColumnValues::Codes(encoding, &codes)];
            let message = send_columns(
                &mut device.session(ExpanderKind::ChaCha20, code as u8),
                &columns,
            );
            let opened = device.open(&message);
            let mut right = opened.phases.iter().map(|&phase| encoding.decode(phase));
            assert!(right.all(|found| found == code));
            for (name, key) in [("zero", &zero), ("other", others.glwe())] {
                let phases = Opened::<u64>::new(&message, &device.secret, key).phases;
                let steps = phases.windows(2).map(|pair| pair[1].sub(pair[0]));
                let sums = phases.windows(2).map(|pair| pair[1].add(pair[0]));
                for score in [
                    uniformity_score(phases.iter().copied()),
                    uniformity_score(steps),
                    uniformity_score(sums),
                ] {
                    assert!(
                        score.abs() < 5.0,
                        "{rounding:?}: {code} under the {name} key has score {score}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_uniformity_check_notices_a_plaintext_in_the_clear() {
    let clear = (0..SAMPLES as u64).map(|i| (i % 4) << 59 | i << 40);
    assert!(uniformity_score(clear) > 100.0);
    let leaning = (0..SAMPLES as u64).map(|i| if i % 20 == 0 { 3 << 59 } else { i << 49 });
    assert!(uniformity_score(leaning) > 5.0);
}

/// Several messages of the same plaintexts, some in one session, some in others.
fn messages_of_the_same<T: ProductTorus>(
    device: &mut Device<T>,
    expander: ExpanderKind,
) -> Vec<Vec<u8>> {
    let values = vec![1; 600];
    let mut messages = Vec::new();
    for seed in 0..4 {
        let mut session: Encryptor<'_, T> = device.session(expander, seed);
        messages.extend((0..4).map(|_| send(&mut session, &values)));
    }
    messages
}

fn no_two_messages_share_a_word<T: ProductTorus + std::hash::Hash>(set: ParameterSet) {
    let mut device = Device::<T>::new(set, 23);
    for expander in ExpanderKind::ALL {
        let messages = messages_of_the_same(&mut device, expander);
        let (mut words, mut count) = (HashSet::new(), 0);
        let mut seeds = HashSet::new();
        for message in &messages {
            assert!(seeds.insert(Message::parse(message).unwrap().0.header.mask_seed));
            let opened = device.open(message);
            for word in opened.masks().chain(opened.bodies()) {
                words.insert(word);
                count += 1;
            }
        }
        let repeats = count - words.len();
        let pairs = (count * (count - 1) / 2) as f64;
        let expected = pairs * 0.5f64.powi(T::BITS as i32);
        // Five standard deviations of the birthday count; below 1 for 64 bits.
        let bound = expected + 5.0 * expected.sqrt();
        assert!(
            repeats as f64 <= bound,
            "{expander}: {repeats} of {count} words repeat"
        );
    }
}

#[test]
fn messages_share_no_words() {
    no_two_messages_share_a_word::<u64>(WHOLE_RADIX);
    no_two_messages_share_a_word::<u32>(WHOLE_BOOLEAN);
}

/// The largest score that noise and mask words of the same ciphertexts have in common:
/// chi-square of noise octile against the top and the bottom three bits of the mask
/// word `lag` places on, and of noise against the noise `lag` places on.
fn dependence<T: ProductTorus>(masks: &[T], noises: &[f64]) -> f64 {
    let mut sorted = noises.to_vec();
    sorted.sort_by(f64::total_cmp);
    let limits: Vec<f64> = (1..8).map(|i| sorted[i * sorted.len() / 8]).collect();
    let octile = |e: f64| limits.partition_point(|&limit| limit <= e);
    let score = |lag: usize, other: &dyn Fn(usize) -> usize| {
        let mut table = [0u64; 64];
        for (i, &e) in noises.iter().enumerate() {
            table[octile(e) * 8 + other((i + lag) % noises.len())] += 1;
        }
        independence_score(&table)
    };
    let mut worst = 0f64;
    for lag in (0..=8).chain([16, 64, 127, 128, 192, 255]) {
        worst = worst.max(score(lag, &|i| {
            (masks[i] >> (T::BITS - 3)).to_u64() as usize
        }));
        worst = worst.max(score(lag, &|i| (masks[i].to_u64() & 7) as usize));
        if lag > 0 {
            worst = worst.max(score(lag, &|i| octile(noises[i])));
        }
    }
    worst
}

/// Chi-square of an 8 by 8 contingency table against the products of its margins.
fn independence_score(table: &[u64; 64]) -> f64 {
    let total = table.iter().sum::<u64>() as f64;
    let row = |i: usize| table[i * 8..][..8].iter().sum::<u64>() as f64;
    let column = |j: usize| table[j..].iter().step_by(8).sum::<u64>() as f64;
    let statistic: f64 = (0..64)
        .map(|cell| {
            let expected = row(cell / 8) * column(cell % 8) / total;
            assert!(expected > 20.0, "too few samples for a chi-square");
            (table[cell] as f64 - expected).powi(2) / expected
        })
        .sum();
    (statistic - 49.0) / 98f64.sqrt()
}

/// First mask polynomials and noises of many ciphertexts of zeros.
fn masks_and_noises<T: ProductTorus>(
    device: &mut Device<T>,
    expander: ExpanderKind,
) -> (Vec<T>, Vec<f64>) {
    let values = vec![0; SAMPLES];
    let message = device.send(expander, 31, &values);
    let opened = device.open(&message);
    let size = opened.parameters.polynomial_size().get();
    let masks = opened
        .ciphertexts
        .iter()
        .flat_map(|ciphertext| ciphertext.as_slice()[..size].to_vec())
        .collect();
    (masks, opened.noises(&values))
}

fn noise_is_independent_of_masks<T: ProductTorus>(set: ParameterSet) {
    let mut device = Device::<T>::new(set, 24);
    for expander in ExpanderKind::ALL {
        let (masks, noises) = masks_and_noises(&mut device, expander);
        let score = dependence(&masks, &noises);
        assert!(score < 5.0, "{}, {expander}: score {score}", set.name);

        // Correlation of the values themselves, which have variance 1/12 and sigma^2.
        let sigma = (noises.iter().map(|e| e * e).sum::<f64>() / SAMPLES as f64).sqrt();
        let covariance = masks
            .iter()
            .zip(&noises)
            .map(|(mask, e)| mask.to_signed_fraction() * 12f64.sqrt() * e / sigma)
            .sum::<f64>();
        assert!((covariance / (SAMPLES as f64).sqrt()).abs() < 5.0);
    }
}

#[test]
fn masks_say_nothing_of_the_noise() {
    noise_is_independent_of_masks::<u64>(WHOLE_RADIX);
    noise_is_independent_of_masks::<u32>(WHOLE_BOOLEAN);
}

#[test]
fn the_independence_check_notices_noise_made_of_mask_words() {
    let mut device = Device::<u64>::new(WHOLE_RADIX, 24);
    let (masks, noises) = masks_and_noises(&mut device, ExpanderKind::ChaCha20);
    let folded: Vec<f64> = masks.iter().map(|m| m.to_signed_fraction().abs()).collect();
    assert!(dependence(&masks, &folded) > 100.0);
    // Noise that repeats after half a polynomial.
    let repeated: Vec<f64> = (0..SAMPLES)
        .map(|i| noises[i - i % 256 + i % 128])
        .collect();
    assert!(dependence(&masks, &repeated) > 100.0);
    // One word in eight taken from the mask.
    let mixed: Vec<f64> = (0..SAMPLES)
        .map(|i| {
            if i % 8 == 0 {
                masks[i].to_signed_fraction() * 1e5
            } else {
                noises[i]
            }
        })
        .collect();
    assert!(dependence(&masks, &mixed) > 5.0);
}

/// Nobody can draw the noise from the mask seed, which everybody sees.
#[test]
fn the_mask_seed_does_not_give_the_noise() {
    let mut device = Device::<u64>::new(WHOLE_RADIX, 25);
    for expander in ExpanderKind::ALL {
        let values = vec![2; 1024];
        let message = device.send(expander, 32, &values);
        let seed = Message::parse(&message).unwrap().0.header.mask_seed;
        let noises = device.open(&message).noises(&values);
        for stream in 0..8 {
            let mut guess = [0u64; 256];
            let mut draw = expander.noise_stream(&NoiseSeed::from_bytes(seed.0), stream);
            add_noise(WHOLE_RADIX.glwe_noise, &mut draw, &mut guess);
            let guess: HashSet<i64> = guess.iter().map(|&e| e as i64).collect();
            let hits = noises
                .iter()
                .filter(|&&e| guess.contains(&(e as i64)))
                .count();
            // Chance: 1024 noises, 256 guesses, some 2^17 likely values.
            assert!(hits < 12, "{expander}: {hits} noises guessed");
        }
    }
}
