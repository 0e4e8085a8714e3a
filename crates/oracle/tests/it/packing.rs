//! Packed answers: the shipped parameters are what the search finds, and the noise is what a
//! calculation by hand gives.

use tfhe_sbc_core::packing::{PackingParameters, SlotBits};
use tfhe_sbc_core::parameter_sets::{ALL, LOOSER, MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::parameters::{Decomposition, ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_core::wire::ENVELOPE_BYTES;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_oracle::packing::{
    PackingNoise, PackingRequest, SlotInput, answer_log2_p_fail, find, key_bytes, security_bits,
    slot_log2_p_fail, strict_security_bits,
};

fn with_blocks() -> impl Iterator<Item = Parameters> {
    let radix = |set: &&ParameterSet| set.plaintext == PlaintextKind::Radix;
    let sets = ALL.iter().chain(&LOOSER).filter(radix);
    sets.map(|set| set.validate().unwrap())
}

fn default_set() -> (Parameters, PackingParameters) {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    (parameters, packing_of(&parameters).unwrap())
}

#[test]
fn every_set_with_blocks_ships_what_the_search_finds() {
    let mut count = 0;
    for parameters in with_blocks() {
        let found = find(&parameters, &PackingRequest::for_set(&parameters));
        assert!(found.is_some(), "{}", parameters.name());
        assert_eq!(packing_of(&parameters), found, "{}", parameters.name());
        count += 1;
    }
    assert_eq!(count, 5);
}

#[test]
fn gates_have_no_packing() {
    for set in ALL
        .iter()
        .filter(|set| set.plaintext == PlaintextKind::Boolean)
    {
        let parameters = set.validate().unwrap();
        let request = PackingRequest {
            log2_p_fail: -1.0,
            ..PackingRequest::for_set(&parameters)
        };
        assert_eq!(find(&parameters, &request), None);
        assert_eq!(packing_of(&parameters), None);
    }
}

#[test]
fn the_statements_hold() {
    for parameters in with_blocks() {
        let packing = packing_of(&parameters).unwrap();
        let name = parameters.name();
        assert_eq!(packing.validate(), Ok(packing), "{name}");
        let p_fail = slot_log2_p_fail(&parameters, &packing);
        assert!((packing.log2_p_fail - 0.1..=packing.log2_p_fail).contains(&p_fail));
        let target = if parameters.log2_p_fail() > -128.0 {
            -40.0
        } else {
            -128.0
        };
        assert!(p_fail <= target, "{name}: {p_fail}");
        let level = security_bits(&packing).unwrap();
        assert!(
            packing.security_bits >= 128.0 && level >= packing.security_bits,
            "{name}"
        );
        let strict = strict_security_bits(&packing).unwrap();
        assert!(strict >= 128.0, "{name}: {strict}");
        assert!(key_bytes(&parameters, &packing) <= 1_500_000, "{name}");
    }
}

/// The numbers of the default set, each from its formula with the numbers put in.
#[test]
fn known_answers() {
    let (parameters, packing) = default_set();
    let noise = PackingNoise::new(&parameters, &packing, 256, SlotInput::BootstrapOutputs);
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} {expected}");
    };
    // 256 slots of 870 · 2 rows of noise 9.536e-8, rounded to 24 bits, times (64² + 2)/12.
    let row = 9.536e-8f64.powi(2) + 2f64.powi(-48) / 12.0;
    near(noise.key.0, 256.0 * 1740.0 * row * 4098.0 / 12.0);
    // 870/6 ones of a key in blocks of five, 2^-24 / 12 each.
    near(noise.decomposition.0, 145.0 * 2f64.powi(-24) / 12.0);
    // 1024 coefficients of variance 1/4, 10 bits.
    near(noise.mask.0, 256.0 * 2f64.powi(-20) / 12.0);
    // 64 times the key switch's 2048 · 8 rows of noise 4.816e-6, times (4² + 2)/12, and its cut-off part
    // 1024 · 2^-32 / 12; bootstrap outputs at level 5 add a quarter.
    let switch = 16384.0 * 4.816e-6f64.powi(2) * 18.0 / 12.0 + 1024.0 * 2f64.powi(-32) / 12.0;
    assert!((1.0..1.3).contains(&(noise.input.0 / (64.0 * switch))));
    assert_eq!(noise.rounding, 2f64.powi(-6));

    // 10 bits of 1,024 coefficients, 5 of every slot.
    let bytes = |slots| PackedList::message_len(&packing, slots) - ENVELOPE_BYTES;
    assert_eq!([1, 10, 77, 256].map(bytes), [1281, 1287, 1329, 1440]);
    // Two flags a slot: the rows of a year.
    assert_eq!(bytes(8_760 / 2), 18 * 1280 + 17 * 160 + 18);
    assert_eq!(key_bytes(&parameters, &packing), 1_336_320);
}

/// A first choice of this project left out that every slot has the noise of all. It failed.
#[test]
fn the_noise_of_all_slots_is_in_every_slot() {
    let (parameters, packing) = default_set();
    let coarse = PackingParameters {
        decomposition: Decomposition::new(11, 1),
        ..packing
    };
    let of = |packing: &PackingParameters, slots| {
        let noise = PackingNoise::new(&parameters, packing, slots, SlotInput::BootstrapOutputs);
        (noise.key.0, noise.log2_p_fail(2))
    };
    let (one, alone) = of(&coarse, 1);
    let (all, full) = of(&coarse, 256);
    assert!((all / one - 256.0).abs() < 1e-9);
    assert!(alone < -128.0 && full > -40.0, "{alone} {full}");
}

#[test]
fn one_bit_less_is_too_few() {
    let (parameters, packing) = default_set();
    let p_fail = |slot_bits| {
        let packing = PackingParameters {
            slot_bits,
            ..packing
        };
        slot_log2_p_fail(&parameters, &packing)
    };
    let SlotBits { mask, body } = packing.slot_bits;
    assert!(
        p_fail(SlotBits {
            mask,
            body: body - 1
        }) > -128.0
    );
    // No body makes up for a bit of the mask.
    assert!(
        p_fail(SlotBits {
            mask: mask - 1,
            body: 32
        }) > -128.0
    );
}

#[test]
fn an_answer_fails_as_often_as_its_slots_together() {
    let (parameters, packing) = default_set();
    let slot = slot_log2_p_fail(&parameters, &packing);
    let year = answer_log2_p_fail(&parameters, &packing, 4096);
    assert!((year - slot - 12.0).abs() < 1e-9);
    // No more often than four times as many bootstraps that just reach the target.
    assert!(year < -128.0 + 14.0);
}

#[test]
fn a_larger_key_buys_shorter_answers() {
    let (parameters, packing) = default_set();
    let request = PackingRequest {
        slots: 4096,
        most_key_bytes: 2_400_000,
        ..PackingRequest::for_set(&parameters)
    };
    let found = find(&parameters, &request).unwrap();
    let len = |packing: &PackingParameters| PackedList::message_len(packing, 4096);
    assert!(len(&found) < len(&packing));
    assert!(key_bytes(&parameters, &found) > key_bytes(&parameters, &packing));
}
