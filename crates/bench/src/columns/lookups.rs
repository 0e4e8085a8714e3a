//! Comparisons and digits of readings of 12 bits: their bootstraps, counted, and their times.

use std::time::Duration;

use tfhe_sbc_core::encoding::chunks::DigitPlan;
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::compact::CompactDigits;
use tfhe_sbc_engine::integer::{Comparison, Unsigned, Width};
use tfhe_sbc_oracle::compact::{CompactNoise, digit_plan, sign_chunks};
use tfhe_sbc_oracle::upload::UploadKind;

use crate::error::BenchError;
use crate::keys::{Keys, describe};
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

/// The width of a reading.
const BITS: u32 = 12;
/// The bits of a body: enough for three lookups a comparison, with one bit of headroom.
const BODY_BITS: u32 = 18;
/// The clear threshold of comparisons.
const THRESHOLD: u64 = 2111;
/// The number of readings of a run.
const READINGS: u64 = 32;

/// Readings on both sides of the threshold, the threshold itself among them, and the smallest and
/// the largest.
fn readings() -> Vec<u64> {
    let edges = [0, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, (1 << BITS) - 1];
    let others = (0..READINGS - edges.len() as u64).map(|i| i * 2_654_435_761 % (1 << BITS));
    edges.into_iter().chain(others).collect()
}

/// Readings, encrypted in both forms.
struct Inputs {
    readings: Vec<u64>,
    compact: Vec<LweCiphertext<u64>>,
    radix: Vec<Vec<LweCiphertext<u64>>>,
}

impl Inputs {
    fn new(keys: &mut Keys<u64>, encoding: &CompactEncoding) -> Result<Self, BenchError> {
        let readings = readings();
        let (mut compact, mut radix) = (Vec::new(), Vec::new());
        for &reading in &readings {
            let mut value = keys.encrypt(encoding.encode(reading))?;
            if let Some(body) = value.as_mut_slice().last_mut() {
                let kept = encoding.body_bits();
                *body = u64::from_top_bits(body.round_to_bits(kept), kept);
            }
            compact.push(value);
            radix.push(keys.encrypt_digits(reading, BITS)?);
        }
        Ok(Self {
            readings,
            compact,
            radix,
        })
    }
}

/// The rows of this file.
pub(super) fn rows(
    keys: &mut Keys<u64>,
    threads: usize,
    budget: Duration,
) -> Result<Vec<Row>, BenchError> {
    let parameters = *keys.parameters();
    let encoding = CompactEncoding::new(BITS, 1, BODY_BITS, BodyRounding::Nearest)?;
    let inputs = Inputs::new(keys, &encoding)?;
    let keys = &*keys;
    let evaluator = Evaluator::new(&keys.server);
    let noise = CompactNoise::upload(&parameters, UploadKind::Symmetric, &encoding);
    let unplanned = || BenchError::NoPlan(BITS);
    let chunks = sign_chunks(&parameters, BITS + 1, noise).ok_or_else(unplanned)?;
    let plan = digit_plan(&parameters, BITS, encoding.headroom(), noise).ok_or_else(unplanned)?;

    let compact = Compact {
        keys,
        evaluator: &evaluator,
        encoding,
        inputs: &inputs,
    };
    let compare = compact.bootstraps(|| compact.compare(&chunks))?;
    let digits = compact.bootstraps(|| compact.digits(&plan))?;
    let radix = compact.bootstraps(|| compact.compare_radix())?;
    let run = inputs.readings.len();
    let mut ours = Work {
        name: "comparisons of compact readings".to_owned(),
        run: || compact.compare(&chunks),
        check: |found: Vec<LweCiphertext<u64>>| Ok(compact.are_below(&found)),
    };
    let mut peer = Work {
        name: "comparisons of radix readings".to_owned(),
        run: || compact.compare_radix(),
        check: |found: Vec<LweCiphertext<u64>>| Ok(compact.are_below(&found)),
    };
    let [ours, peer] = interleave([(&mut ours, run), (&mut peer, run)], budget / 2)?;
    let mut all_digits = Work {
        name: "digits of compact readings".to_owned(),
        run: || compact.digits(&plan),
        check: |found: Vec<CompactDigits>| Ok(compact.are_digits(&found)),
    };
    let [digit_times] = interleave([(&mut all_digits, run)], budget / 2)?;

    let in_bodies = format!("in bodies of {BODY_BITS} bits with 1 bit of headroom");
    let counted = format!("counted over {run} readings of {BITS} bits {in_bodies}");
    let set = describe(&parameters);
    Ok(vec![
        Row::figures(
            "compare_bootstraps_12bit",
            Unit::One,
            compare,
            Some(radix),
            format!(
                "Bootstraps of a comparison with a clear threshold, {counted}. Peer: radix blocks"
            ),
        ),
        Row::figures(
            "digits_bootstraps_12bit",
            Unit::One,
            digits,
            None,
            format!("Bootstraps of all radix digits, {counted}"),
        ),
        Row::times(
            "compare_12bit",
            ours,
            Some(peer),
            threads,
            format!(
                "{set}. A comparison with a clear threshold, {run} together, {in_bodies}. Peer: radix blocks"
            ),
        ),
        Row::times(
            "digits_12bit",
            digit_times,
            None,
            threads,
            format!("{set}. All radix digits of a reading, {run} together, {in_bodies}"),
        ),
    ])
}

/// The operations on readings, with the keys that check them.
struct Compact<'a> {
    keys: &'a Keys<u64>,
    evaluator: &'a Evaluator<'a, u64>,
    encoding: CompactEncoding,
    inputs: &'a Inputs,
}

impl Compact<'_> {
    /// The bootstraps of an operation on all readings, for one of them.
    fn bootstraps<R>(
        &self,
        operation: impl FnOnce() -> Result<R, BenchError>,
    ) -> Result<f64, BenchError> {
        let before = self.evaluator.bootstrap_count();
        operation()?;
        let done = self.evaluator.bootstrap_count() - before;
        Ok(done as f64 / self.inputs.readings.len() as f64)
    }

    /// Compares each reading with the threshold: a result tells whether the reading is below it. With one bit
    /// of headroom the difference fills the torus.
    fn compare(&self, chunks: &[u32]) -> Result<Vec<LweCiphertext<u64>>, BenchError> {
        let threshold = self.encoding.encode::<u64>(THRESHOLD).wrapping_neg();
        let mut differences = self.inputs.compact.clone();
        for difference in &mut differences {
            difference.add_plaintext(threshold);
        }
        Ok(self
            .evaluator
            .compact_signs(&differences, chunks, &|| true)?)
    }

    fn digits(&self, plan: &DigitPlan) -> Result<Vec<CompactDigits>, BenchError> {
        let values = &self.inputs.compact;
        Ok(self.evaluator.compact_digits(values, plan, &|| true)?)
    }

    fn compare_radix(&self) -> Result<Vec<LweCiphertext<u64>>, BenchError> {
        let circuit = Circuit::new(self.keys.parameters())?;
        let width = Width::new(BITS)?;
        let threshold = circuit.clear::<Unsigned>(THRESHOLD, width);
        let _batch = circuit.batch_of(self.inputs.radix.len());
        let mut bits: Vec<Block> = Vec::new();
        for digits in &self.inputs.radix {
            let reading = circuit.encrypted(digits.clone(), width)?;
            bits.push(circuit.bit(&circuit.compare(Comparison::Lt, &reading, &threshold)?));
        }
        let bits: Vec<&Block> = bits.iter().collect();
        Ok(circuit.evaluate(self.evaluator, &bits)?)
    }

    fn are_below(&self, found: &[LweCiphertext<u64>]) -> bool {
        let block = self.keys.parameters().block_encoding();
        let readings = &self.inputs.readings;
        found.len() == readings.len()
            && found.iter().zip(readings).all(|(found, &reading)| {
                let below = i64::from(reading < THRESHOLD);
                self.keys.holds(found, block.encode(below))
            })
    }

    fn are_digits(&self, found: &[CompactDigits]) -> bool {
        let readings = &self.inputs.readings;
        found.len() == readings.len()
            && found.iter().zip(readings).all(|(found, &reading)| {
                let mut digits = 0..found.digit_count();
                digits.all(|digit| self.is_digit(found, digit, reading))
            })
    }

    fn is_digit(&self, found: &CompactDigits, digit: usize, reading: u64) -> bool {
        let block = self.keys.parameters().block_encoding();
        let place = digit as u32 * block.message_bits();
        let value = reading >> place & (block.message_modulus() - 1);
        let sum = found.parts(digit).cloned().reduce(|mut sum, part| {
            sum.add_assign(&part);
            sum
        });
        sum.is_some_and(|sum| self.keys.holds(&sum, block.encode(value as i64)))
    }
}
