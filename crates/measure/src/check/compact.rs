//! The noise of compact values: before every lookup of signs and of digits, and of exact sums.
//!
//! The engine takes rounded encryptions of known codes apart and hands over the inputs of its lookups.
//! Each is switched to the small key and to the modulus of the blind rotation, and its phase is compared
//! with the exact one, which follows from bits of the code. The bodies have few bits, so that the
//! rounding, multiplied by the first view's factor, is most of the noise of the first chunks: a wrong
//! factor or a wrong rounding shows there, and a wrong modulus switch at the other lookups.

use tfhe_sbc_core::encoding::chunks::{DigitLookup, DigitPlan, View, sign_views};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding, ErrorFeedback};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::compact::CompactEvaluateError;
use tfhe_sbc_engine::modulus_switch::modulus_switch_coarsely_into;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_oracle::compact::{
    CompactNoise, SumRows, digit_failures, digit_plan, sign_chunks, sign_failures,
};
use tfhe_sbc_oracle::noise::{Variance, truncation_variance};
use tfhe_sbc_oracle::noise_budget::PbsParameters;
use tfhe_sbc_oracle::upload::{UploadKind, key_switch_offset_variance};

use super::keys::Keys;
use super::place::PlaceReport;
use super::steps::{CheckError, Effort, Progress};

/// The width of codes, the bits above, and those of a body in which signs and digits are taken.
const BITS: u32 = 12;
const HEADROOM: u32 = 2;
const SIGN_BODY_BITS: u32 = BITS + HEADROOM + 2;
const DIGIT_BODY_BITS: u32 = BITS + HEADROOM + 3;
/// The rows of a sum, and the bits of their bodies.
const ROWS: usize = 16;
const SUM_BODY_BITS: u32 = 22;
/// The number of sums for each key set.
const SUMS: usize = 200;
/// The most tests of one check: those of lookups, and those of sums.
pub(super) const MOST_TESTS: usize = 20;
/// The relative difference that the variance before a lookup may have because of the weights of keys.
const KEY_SPREAD: f64 = 0.1;

/// One measurement of compact values.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    SignLookup(usize),
    DigitLookup(usize),
    Sum(BodyRounding),
}

/// The errors of one measurement.
#[derive(Clone, Debug)]
pub(super) struct CompactSample {
    place: Place,
    errors: Vec<f64>,
}

/// The plans by which values are taken apart under a parameter set.
struct Plans {
    sign_chunks: Vec<u32>,
    digits: DigitPlan,
}

fn upload(parameters: &Parameters, body_bits: u32) -> Option<CompactNoise> {
    let encoding = encoding(body_bits)?;
    Some(CompactNoise::upload(
        parameters,
        UploadKind::Symmetric,
        &encoding,
    ))
}

fn encoding(body_bits: u32) -> Option<CompactEncoding> {
    CompactEncoding::new(BITS, HEADROOM, body_bits, BodyRounding::Nearest).ok()
}

/// The noise of a code as a two's complement number at the top of the torus.
fn of_difference(noise: CompactNoise) -> CompactNoise {
    noise.times(f64::from(1u32 << (HEADROOM - 1)))
}

impl Plans {
    /// Returns `None` for sets that do not carry compact values, or that no lookups meet 2^-128 with.
    fn new(parameters: &Parameters) -> Option<Self> {
        if parameters.plaintext() != PlaintextKind::Radix || parameters.torus_bits() != u64::BITS {
            return None;
        }
        let sign = of_difference(upload(parameters, SIGN_BODY_BITS)?);
        let digits = upload(parameters, DIGIT_BODY_BITS)?;
        Some(Self {
            sign_chunks: sign_chunks(parameters, BITS + 1, sign)?,
            digits: digit_plan(parameters, BITS, HEADROOM, digits)?,
        })
    }

    fn lookups(&self) -> usize {
        self.sign_chunks.len() + self.digits.lookups().len()
    }
}

/// The number of codes for each key set.
fn codes_of(effort: &Effort) -> usize {
    (effort.bootstraps / 10).clamp(20, 150)
}

/// The number of bootstraps for each key set.
pub(super) fn bootstraps(parameters: &Parameters, effort: &Effort) -> usize {
    Plans::new(parameters).map_or(0, |plans| plans.lookups() * codes_of(effort))
}

/// Samples the noise of compact values; nothing if the set does not carry them.
pub(super) fn sample(
    keys: &mut Keys,
    server: &ServerKey<u64>,
    effort: &Effort,
    progress: Progress<'_>,
) -> Result<Vec<CompactSample>, CheckError> {
    let Some(plans) = Plans::new(keys.parameters()) else {
        return Ok(Vec::new());
    };
    let observe = |n| progress(n);
    let evaluator = Evaluator::with_observer(server, &observe);
    let count = codes_of(effort);
    let mut samples = Vec::new();

    let codes: Vec<u64> = codes(count).collect();
    let mut values = encrypted(keys, &codes, SIGN_BODY_BITS)?;
    for value in &mut values {
        value.mul_assign(1 << (HEADROOM - 1));
    }
    let inputs = evaluator.compact_sign_inputs(&values, &plans.sign_chunks)?;
    let views = sign_views(&plans.sign_chunks).map_err(CompactEvaluateError::from)?;
    for (at, (inputs, &view)) in inputs.iter().zip(&views).enumerate() {
        let exact = |code: u64| exact_phase(code, view, BITS + 1, false);
        samples.push(CompactSample {
            place: Place::SignLookup(at),
            errors: errors(keys, &evaluator, inputs, (&codes, 0), exact)?,
        });
    }

    let values = encrypted(keys, &codes, DIGIT_BODY_BITS)?;
    let inputs = evaluator.compact_digit_inputs(&values, &plans.digits)?;
    for (at, (inputs, lookup)) in inputs.iter().zip(plans.digits.lookups()).enumerate() {
        let exact = |code: u64| exact_phase(code, lookup.view, BITS + HEADROOM, is_rest(lookup));
        let coarseness = lookup.interleaved_log2();
        samples.push(CompactSample {
            place: Place::DigitLookup(at),
            errors: errors(keys, &evaluator, inputs, (&codes, coarseness), exact)?,
        });
    }
    for rounding in [BodyRounding::Nearest, BodyRounding::ErrorFeedback] {
        samples.push(CompactSample {
            place: Place::Sum(rounding),
            errors: sums(keys, rounding)?,
        });
    }
    Ok(samples)
}

/// Some codes, in no order.
fn codes(count: usize) -> impl Iterator<Item = u64> {
    (0..count as u64).map(|i| (i * 2_654_435_761) >> 7 & ((1 << BITS) - 1))
}

/// Returns whether the top bit of the chunk is subtracted from a view.
fn is_rest(lookup: &DigitLookup) -> bool {
    lookup.padded_bits == Some(lookup.view.unit_log2 - 1)
        && lookup.subtracted.len() == 1 + usize::from(lookup.view.has_fraction)
}

/// The phase before a lookup without noise: the bits of the code from the view's unit up, a fraction
/// without its highest bit, and half of the room between borders. `bits` is the number of bits that the
/// code has at the top of the torus.
fn exact_phase(code: u64, view: View, bits: u32, without_top_bit: bool) -> u64 {
    let seen = bits - view.factor_log2;
    let first = seen - view.unit_log2;
    let mut kept = code & ((1 << seen) - 1);
    if view.has_fraction {
        kept &= !(1 << (first - 1));
    }
    if without_top_bit {
        kept &= !(1 << (seen - 1));
    }
    let quarter_or_half = if view.has_fraction { 2 } else { 1 };
    (kept << (64 - seen)).wrapping_add(1 << (64 - view.unit_log2 - quarter_or_half))
}

fn encrypted(
    keys: &mut Keys,
    codes: &[u64],
    body_bits: u32,
) -> Result<Vec<LweCiphertext<u64>>, CheckError> {
    let (mut mask, mut noise) = keys.streams()?;
    let distribution = keys.parameters().glwe_noise();
    let values = codes.iter().map(|code| {
        let plaintext = code << (64 - BITS - HEADROOM);
        let mut value = keys
            .big
            .encrypt(plaintext, distribution, &mut mask, &mut noise);
        if let Some(body) = value.as_mut_slice().last_mut() {
            *body = u64::from_top_bits(body.round_to_bits(body_bits), body_bits);
        }
        value
    });
    Ok(values.collect())
}

/// The errors of inputs of a lookup after key switch and modulus switch.
fn errors(
    keys: &Keys,
    evaluator: &Evaluator<'_, u64>,
    inputs: &[LweCiphertext<u64>],
    (codes, coarseness_log2): (&[u64], u32),
    exact: impl Fn(u64) -> u64,
) -> Result<Vec<f64>, CheckError> {
    let parameters = keys.parameters();
    let steps_log2 = parameters.polynomial_size().log2() + 1;
    // The mean of rounding down; where the body is rounded to nearest, the engine moves the phase by it.
    let half_step = f64::exp2(f64::from(coarseness_log2) - f64::from(steps_log2) - 1.0);
    let switched = evaluator.key_switch_batch(inputs)?;
    let errors = switched.iter().zip(codes).map(|(lwe, &code)| {
        let mut exponents = vec![0; lwe.as_slice().len()];
        modulus_switch_coarsely_into(
            &mut exponents,
            lwe.as_slice(),
            (parameters.polynomial_size(), coarseness_log2),
            parameters.modulus_switch(),
            parameters.lwe_block_size(),
        );
        let (body, mask) = exponents
            .split_last()
            .map_or((0, &[][..]), |(&b, m)| (b, m));
        let steps = body.wrapping_sub(keys.secret.lwe().mask_product(mask));
        let phase = u64::from(steps) << (64 - steps_log2);
        let error = phase.wrapping_sub(exact(code)).to_signed_fraction();
        error + half_step
    });
    Ok(errors.collect())
}

/// The errors of sums of neighbours in one column. Every sum begins after a row that is not in it, the
/// rounding error of which feedback takes over.
fn sums(keys: &mut Keys, rounding: BodyRounding) -> Result<Vec<f64>, CheckError> {
    let (mut mask, mut noise) = keys.streams()?;
    let distribution = keys.parameters().glwe_noise();
    let sum = |_| {
        let mut rows: Vec<LweCiphertext<u64>> = (0..=ROWS)
            .map(|_| keys.big.encrypt(0, distribution, &mut mask, &mut noise))
            .collect();
        let mut bodies: Vec<u64> = rows.iter().map(LweCiphertext::body).collect();
        match rounding {
            BodyRounding::ErrorFeedback => ErrorFeedback::new().round(&mut bodies, SUM_BODY_BITS),
            BodyRounding::Nearest => {
                for body in &mut bodies {
                    *body = u64::from_top_bits(body.round_to_bits(SUM_BODY_BITS), SUM_BODY_BITS);
                }
            }
        }
        for (row, body) in rows.iter_mut().zip(bodies) {
            if let Some(last) = row.as_mut_slice().last_mut() {
                *last = body;
            }
        }
        let phases = rows[1..].iter().map(|row| keys.big.phase(row));
        phases.fold(0u64, u64::wrapping_add).to_signed_fraction()
    };
    Ok((0..SUMS).map(sum).collect())
}

/// The prediction at a place, and the relative difference that keys may make. The rounding of the body to
/// the exponents, which is no noise for a table, is in the samples.
fn predicted(claimed: &Parameters, plans: &Plans, place: &Place) -> Option<(Variance, f64)> {
    let steps_log2 = claimed.polynomial_size().log2() + 1;
    let offset = key_switch_offset_variance(&PbsParameters::from(claimed));
    let lookup = |total: Variance, coarseness_log2: u32| {
        let body = truncation_variance(steps_log2 - coarseness_log2);
        (Variance(total.0 + body.0 - offset.0), KEY_SPREAD)
    };
    Some(match place {
        Place::SignLookup(at) => {
            let noise = of_difference(upload(claimed, SIGN_BODY_BITS)?);
            let failures = sign_failures(claimed, &plans.sign_chunks, noise)?;
            lookup(failures.get(*at)?.total, 0)
        }
        Place::DigitLookup(at) => {
            let noise = upload(claimed, DIGIT_BODY_BITS)?;
            let failures = digit_failures(claimed, &plans.digits, noise);
            let coarseness = plans.digits.lookups().get(*at)?.interleaved_log2();
            lookup(failures.get(*at)?.total, coarseness)
        }
        Place::Sum(rounding) => {
            let encoding = CompactEncoding::new(BITS, HEADROOM, SUM_BODY_BITS, *rounding).ok()?;
            let rows = SumRows::Neighbours {
                rows: ROWS as u64,
                uploads: 1,
            };
            let noise = CompactNoise::sum(claimed, UploadKind::Symmetric, &encoding, rows);
            (noise.variance(), 0.0)
        }
    })
}

impl Place {
    fn name(&self, plans: &Plans) -> String {
        match self {
            Self::SignLookup(at) => {
                let first: u32 = plans.sign_chunks[..*at].iter().sum();
                let bits = plans.sign_chunks[*at];
                format!("sign, bits {first} to {}", first + bits - 1)
            }
            Self::DigitLookup(at) => format!("digits, lookup {}", at + 1),
            Self::Sum(BodyRounding::Nearest) => format!("sum of {ROWS} rows"),
            Self::Sum(BodyRounding::ErrorFeedback) => format!("sum of {ROWS} with feedback"),
        }
    }
}

/// Compares the samples of all keys, taken under `real` parameters, with the prediction for `claimed`.
pub(super) fn judge(
    real: &Parameters,
    claimed: &Parameters,
    keys: &[&[CompactSample]],
) -> Vec<PlaceReport> {
    match Plans::new(real) {
        Some(plans) => compare(&plans, keys, |place| predicted(claimed, &plans, place)),
        None => Vec::new(),
    }
}

/// Compares the samples of all keys with the predictions of `predict`.
fn compare(
    plans: &Plans,
    keys: &[&[CompactSample]],
    predict: impl Fn(&Place) -> Option<(Variance, f64)>,
) -> Vec<PlaceReport> {
    let places = keys.first().map_or(0, |samples| samples.len());
    let reports = (0..places).filter_map(|at| {
        let place = &keys.first()?.get(at)?.place;
        let (predicted, spread) = predict(place)?;
        let errors = keys.iter().map(|key| Some(&key.get(at)?.errors[..]));
        let errors: Vec<&[f64]> = errors.collect::<Option<_>>()?;
        Some(PlaceReport::new(
            place.name(plans),
            &errors,
            (predicted, spread),
        ))
    });
    reports.collect()
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};

    use tfhe_sbc_oracle::compact::view_failure;

    use super::super::verdict::Verdict;
    use super::*;

    #[test]
    fn exact_phases_are_those_of_the_bits_that_are_left() {
        let view = |factor_log2, unit_log2, has_fraction| View {
            factor_log2,
            unit_log2,
            has_fraction,
        };
        // Bits 0 to 3 of 14, and half a unit.
        let low = exact_phase(0b1101_1011, view(10, 4, false), 14, false);
        assert_eq!(low, (0b1011 << 60) + (1 << 59));
        // Bits 4 to 6 without bit 3 below them, and a quarter of a unit.
        let next = exact_phase(0b1101_1011, view(7, 3, true), 14, false);
        assert_eq!(next, (0b101_0011 << 57) + (1 << 59));
        let rest = exact_phase(0b1101_1011, view(7, 3, true), 14, true);
        assert_eq!(rest, (0b001_0011 << 57) + (1 << 59));
    }

    /// The noise is as predicted, and a prediction with a wrong constant is noticed.
    #[test]
    fn wrong_constants_are_noticed() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let mut keys = Keys::generate(&parameters, (3, 0)).unwrap();
        let server = keys.server::<u64>(&|_| ()).unwrap();
        let effort = Effort {
            bootstraps: 800,
            ..Effort::QUICK
        };
        let samples = sample(&mut keys, &server, &effort, &|_| ()).unwrap();
        let plans = Plans::new(&parameters).unwrap();
        let right = |place: &Place| predicted(&parameters, &plans, place);
        let verdicts = |predict: &dyn Fn(&Place) -> Option<(Variance, f64)>| {
            let reports = compare(&plans, &[&samples], predict);
            for report in &reports {
                let ratio = report.measured.0 / report.predicted.0;
                println!("{}: {ratio:.3} {:?}", report.name, report.verdict);
            }
            let verdicts = reports.iter().map(|report| report.verdict);
            verdicts.collect::<Vec<Verdict>>()
        };
        let all = verdicts(&right);
        assert!(all.iter().all(|verdict| verdict.passes()));
        let place_of = |wanted: &Place| samples.iter().position(|s| s.place == *wanted).unwrap();

        // A view with half the factor, as if the value were not multiplied.
        let first = Place::SignLookup(0);
        let view = sign_views(&plans.sign_chunks).unwrap()[0];
        let smaller = View {
            factor_log2: view.factor_log2 - 1,
            ..view
        };
        let noise = of_difference(upload(&parameters, SIGN_BODY_BITS).unwrap());
        let without_factor = view_failure(&parameters, smaller, noise, 0.0, 0).total;
        let found = verdicts(&|place| match *place == first {
            true => Some((without_factor, KEY_SPREAD)),
            false => right(place),
        });
        assert_eq!(found[place_of(&first)], Verdict::TooHigh);

        // A modulus switch as if the functions of the table were not interleaved.
        let rest = Place::DigitLookup(3);
        let lookup = &plans.digits.lookups()[3];
        assert_eq!(lookup.interleaved_log2(), 0);
        let coarse = Place::DigitLookup(5);
        let lookup = &plans.digits.lookups()[5];
        assert_eq!(lookup.interleaved_log2(), 1);
        let noise = upload(&parameters, DIGIT_BODY_BITS).unwrap();
        let norm = lookup.norm_squared();
        let fine = view_failure(&parameters, lookup.view, noise, norm, 0).total;
        let found = verdicts(&|place| match *place == coarse {
            true => Some((fine, KEY_SPREAD)),
            false => right(place),
        });
        assert_eq!(found[place_of(&coarse)], Verdict::TooHigh);
        assert!(found[place_of(&rest)].passes());

        // Feedback as if it left one rounding, and sums as if their rows had those of feedback.
        for (rounding, factor, verdict) in [
            (BodyRounding::ErrorFeedback, 0.5, Verdict::TooHigh),
            (BodyRounding::ErrorFeedback, 2.0, Verdict::TooLow),
            (BodyRounding::Nearest, 0.5, Verdict::TooHigh),
            (BodyRounding::Nearest, 2.0, Verdict::TooLow),
        ] {
            let sum = Place::Sum(rounding);
            let found = verdicts(&|place| {
                let (variance, spread) = right(place)?;
                let factor = if *place == sum { factor } else { 1.0 };
                Some((variance * factor, spread))
            });
            assert_eq!(found[place_of(&sum)], verdict);
        }
    }

    #[test]
    fn the_rest_of_a_chunk_is_known_by_its_padding_bit() {
        let plans = Plans::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
        assert_eq!(plans.digits.chunks(), [4, 3, 3, 2]);
        let rests: Vec<bool> = plans.digits.lookups().iter().map(is_rest).collect();
        assert_eq!(rests, [false, true, false, true, false, true, false]);
        assert!(plans.lookups() + 2 <= MOST_TESTS);
        for set in [GATES, BOOLEAN_1024] {
            assert!(Plans::new(&set.validate().unwrap()).is_none());
        }
    }
}
