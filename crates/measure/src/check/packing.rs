//! The noise of packed answers: of full ciphertexts, whose slots have the noise of one another, before they
//! are cut, with cut masks, and with cut bodies.

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::{PackingParameters, PackingSecret, cut, slot_scale_log2};
use tfhe_sbc_core::parameter_sets::packing_of;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::fill_uniform;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::packing::{self, PackingNoise, PackingRequest};

use super::keys::Keys;
use super::place::PlaceReport;
use super::steps::CheckError;

/// The number of ciphertexts for each key set, all of their slots filled.
const CIPHERTEXTS: usize = 8;
/// The number of tests of a check.
pub(super) const TESTS: usize = 3;
/// The relative difference that variances may have because of the weights of small keys.
const KEY_SPREAD: f64 = 0.1;

/// The errors that packing adds under one key set.
#[derive(Clone, Debug)]
pub(super) struct PackingSample {
    packing: PackingParameters,
    /// Before the ciphertexts are cut.
    whole: Vec<f64>,
    /// With cut masks.
    masks: Vec<f64>,
    /// With cut bodies as well, as they travel.
    cut: Vec<f64>,
}

/// Returns the packing parameters of a set: the shipped ones, or else what the oracle finds.
fn packing_for(parameters: &Parameters) -> Option<PackingParameters> {
    let request = PackingRequest::for_set(parameters);
    packing_of(parameters).or_else(|| packing::find(parameters, &request))
}

/// Packs blocks of uniform words, which are what they are under any key, and samples the errors of their
/// slots; nothing if the set has no packing.
pub(super) fn sample(keys: &mut Keys) -> Result<Option<PackingSample>, CheckError> {
    let parameters = *keys.parameters();
    let Some(packing) = packing_for(&parameters) else {
        return Ok(None);
    };
    let (mut words, _) = keys.streams()?;
    let seeded: SeededPackingKey = keys.packing_key(&packing)?;
    let key = seeded.prepare();
    let slots = packing.polynomial_size.get();
    let block = |_| {
        let mut block = LweCiphertext::trivial(parameters.lwe_dimension(), 0);
        fill_uniform(&mut words, block.as_mut_slice());
        block
    };
    let blocks: Vec<LweCiphertext<u32>> = (0..CIPHERTEXTS * slots).map(block).collect();
    let secret = PackingSecret::derive(&keys.secret, &packing)
        .glwe()
        .prepare();
    let scale = slot_scale_log2(&parameters);
    let exact: Vec<u32> = blocks
        .iter()
        .map(|block| keys.secret.lwe().phase(block) << scale)
        .collect();
    let errors = |ciphertexts: &[GlweCiphertext<u32>]| {
        let phases = ciphertexts.iter().flat_map(|packed| secret.phase(packed));
        let pairs = phases.zip(&exact);
        pairs
            .map(|(phase, exact)| Torus::to_signed_fraction(phase.wrapping_sub(*exact)))
            .collect()
    };
    let mut ciphertexts = key.pack_whole(&blocks);
    let whole = errors(&ciphertexts);
    for ciphertext in &mut ciphertexts {
        cut(ciphertext, packing.slot_bits);
    }
    let masks = errors(&ciphertexts);
    // So few blocks are always a list.
    let list = key.pack(&blocks);
    Ok(list.map(|list| PackingSample {
        packing,
        whole,
        masks,
        cut: errors(list.ciphertexts()),
    }))
}

/// Compares the samples of all keys with the prediction for `claimed`.
pub(super) fn judge(claimed: &Parameters, keys: &[&PackingSample]) -> Vec<PlaceReport> {
    let Some(first) = keys.first() else {
        return Vec::new();
    };
    let slots = first.packing.polynomial_size.get();
    let noise = PackingNoise::of_switch(claimed, &first.packing, slots);
    compare(keys, &noise)
}

fn compare(keys: &[&PackingSample], noise: &PackingNoise) -> Vec<PlaceReport> {
    let report = |name: &str, errors: fn(&PackingSample) -> &[f64], predicted: Variance| {
        let errors: Vec<&[f64]> = keys.iter().map(|key| errors(key)).collect();
        PlaceReport::new(name.to_owned(), &errors, (predicted, KEY_SPREAD))
    };
    vec![
        report(
            "packed, all slots filled",
            |key| &key.whole,
            noise.decomposition + noise.key,
        ),
        report("packed, masks cut", |key| &key.masks, noise.gaussian()),
        report("packed and cut", |key| &key.cut, noise.variance()),
    ]
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};

    use super::super::verdict::Verdict;
    use super::*;

    #[test]
    fn wrong_constants_are_noticed() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let mut keys = Keys::generate(&parameters, (4, 0)).unwrap();
        let found = sample(&mut keys).unwrap().unwrap();
        let slots = found.packing.polynomial_size.get();
        let verdicts = |noise: &PackingNoise| {
            let reports = compare(&[&found], noise);
            assert_eq!(reports.len(), TESTS);
            [0, 1, 2].map(|at: usize| reports[at].verdict)
        };
        let right = PackingNoise::of_switch(&parameters, &found.packing, slots);
        assert_eq!(verdicts(&right), [Verdict::Consistent; 3]);
        // The noise of one slot alone.
        let alone = PackingNoise::of_switch(&parameters, &found.packing, 1);
        assert_eq!(verdicts(&alone)[0], Verdict::TooHigh);
        // Masks that are rounded without a compensation of the mean.
        let mut plain = right;
        plain.mask = plain.mask * 2.0;
        assert_eq!(verdicts(&plain)[1], Verdict::TooLow);
        // Bodies of a bit more.
        let mut longer = right;
        longer.rounding *= 0.5;
        assert_eq!(verdicts(&longer)[2], Verdict::TooHigh);
        // A key of blocks as if it were uniform.
        let mut uniform = right;
        uniform.decomposition = uniform.decomposition * 2.0;
        assert_eq!(verdicts(&uniform)[0], Verdict::TooLow);
    }

    #[test]
    fn gates_have_no_packing() {
        let mut keys = Keys::generate(&GATES.validate().unwrap(), (5, 0)).unwrap();
        assert!(sample(&mut keys).unwrap().is_none());
    }
}
