//! Tests of the output of a source of entropy, in the spirit of SP 800-90B, section 4.4:
//! they find a source that is switched off, stuck or badly biased, not one that is
//! merely predictable.
//!
//! A source of full entropy fails one of them with probability below 2^-63 a call.
//! Their time is independent of the bytes, except for the outcome.

use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater};
use zeroize::Zeroize;

use super::entropy::EntropyError;
use crate::memcheck::disclosed;

/// The number of bytes that a source is asked for at a time.
pub(super) const SAMPLE_BYTES: usize = 32;

/// The number of equal bytes in a row that is refused (the repetition count test, for 8 bits of
/// entropy a byte): probability below 23 * 2^-72 < 2^-67.
const REPETITIONS: u32 = 10;

/// The number of equal bytes anywhere in the sample that is refused (the adaptive proportion
/// test): probability at most 256 * C(32, 13) * 2^-104 < 2^-67.
const OCCURRENCES: u32 = 13;

/// The largest difference of the number of ones from half: probability below 2^-63 by Hoeffding's
/// bound, `2 exp(-2 * 76^2 / 256)`.
const ONES_FROM_HALF: u32 = 75;

/// The longest period that is refused: a sample of period `p` has probability
/// `2^-8(32 - p)`, in sum below 2^-127.
const LONGEST_PERIOD: usize = 16;

/// A hash of the previous output: long enough to recognise the output when it is repeated, too short
/// to reconstruct it.
#[derive(Default)]
pub(super) struct Remembered(Option<[u8; 16]>);

impl Drop for Remembered {
    fn drop(&mut self) {
        if let Some(hash) = &mut self.0 {
            hash.zeroize();
        }
    }
}

impl Remembered {
    /// Checks one output of the source, and remembers its hash.
    pub(super) fn check(&mut self, sample: &[u8; SAMPLE_BYTES]) -> Result<(), EntropyError> {
        if disclosed(periodic(sample).into()) {
            return Err(EntropyError::Constant);
        }
        if disclosed(biased(sample).into()) {
            return Err(EntropyError::Biased);
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&::blake3::hash(sample).as_bytes()[..16]);
        let before = self.0.replace(hash);
        if before.is_some_and(|before| disclosed(before.ct_eq(&hash).into())) {
            return Err(EntropyError::Repeated);
        }
        Ok(())
    }
}

fn periodic(sample: &[u8; SAMPLE_BYTES]) -> Choice {
    (1..=LONGEST_PERIOD).fold(Choice::from(0), |found, period| {
        found | sample[period..].ct_eq(&sample[..SAMPLE_BYTES - period])
    })
}

fn biased(sample: &[u8; SAMPLE_BYTES]) -> Choice {
    let mut found = Choice::from(0);
    for byte in sample {
        let (mut run, mut total) = (0u32, 0u32);
        for other in sample {
            let equal = u32::from(byte.ct_eq(other).unwrap_u8());
            total += equal;
            run = (run + 1) * equal;
            found |= run.ct_gt(&(REPETITIONS - 1));
        }
        found |= total.ct_gt(&(OCCURRENCES - 1));
    }
    let ones: u32 = sample.iter().map(|byte| byte.count_ones()).sum();
    let half = 4 * SAMPLE_BYTES as u32;
    found | ones.ct_gt(&(half + ONES_FROM_HALF)) | (half - ONES_FROM_HALF).ct_gt(&ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact probability of a number of ones that is refused, and the bounds of the
    /// counting tests.
    #[test]
    fn good_sources_are_hardly_ever_refused() {
        let binomial = |n: u32, k: u32| {
            (0..k).fold(1.0, |product, i| {
                product * f64::from(n - i) / f64::from(i + 1)
            })
        };
        let bits = 8 * SAMPLE_BYTES as u32;
        let tail: f64 = (0..bits / 2 - ONES_FROM_HALF)
            .map(|k| binomial(bits, k))
            .sum();
        let ones = 2.0 * tail * 0.5f64.powi(bits as i32);
        let occurrences = 256.0 * binomial(32, OCCURRENCES) * 0.5f64.powi(8 * OCCURRENCES as i32);
        let places = SAMPLE_BYTES as u32 - REPETITIONS + 1;
        let repetitions = f64::from(places) * 0.5f64.powi(8 * (REPETITIONS as i32 - 1));
        let periods: f64 = (1..=LONGEST_PERIOD as i32)
            .map(|period| 0.5f64.powi(8 * (SAMPLE_BYTES as i32 - period)))
            .sum();
        let repeated = 0.5f64.powi(128);
        for bound in [ones, occurrences, repetitions] {
            // Neither frequent nor so rare that a test finds nothing.
            assert!(
                (0.5f64.powi(90)..0.5f64.powi(63)).contains(&bound),
                "{bound:e}"
            );
        }
        let all = ones + occurrences + repetitions + periods + repeated;
        assert!(all < 0.5f64.powi(63), "{all:e}");
    }

    /// Samples at the edge of every test, on both sides.
    #[test]
    fn every_test_has_its_edge() {
        // Distinct bytes with balanced bits: i and its complement.
        let good: [u8; SAMPLE_BYTES] =
            core::array::from_fn(|i| if i % 2 == 0 { i as u8 } else { !(i as u8) });
        let check = |sample: &[u8; SAMPLE_BYTES]| Remembered::default().check(sample);
        assert_eq!(check(&good), Ok(()));
        let mut sample = good;
        sample[5..5 + REPETITIONS as usize - 1].fill(0x5a);
        assert_eq!(check(&sample), Ok(()));
        sample[4] = 0x5a;
        assert_eq!(check(&sample), Err(EntropyError::Biased));

        let mut sample = good;
        for i in 0..OCCURRENCES as usize - 1 {
            sample[2 * i + 1] = 0x5a;
        }
        assert_eq!(check(&sample), Ok(()));
        sample[28] = 0x5a;
        assert_eq!(check(&sample), Err(EntropyError::Biased));

        for period in 1..=LONGEST_PERIOD {
            let mut sample: [u8; SAMPLE_BYTES] = core::array::from_fn(|i| good[i % period]);
            assert_eq!(
                check(&sample),
                Err(EntropyError::Constant),
                "period {period}"
            );
            sample[31] ^= 0x80;
            assert_ne!(
                check(&sample),
                Err(EntropyError::Constant),
                "period {period}"
            );
        }

        // 53 = 128 - 75 ones, and one less.
        let mut sample: [u8; SAMPLE_BYTES] =
            core::array::from_fn(|i| 1 << (i % 8) | 1 << ((i / 3 + i) % 8));
        let ones = |sample: &[u8]| sample.iter().map(|x| x.count_ones()).sum::<u32>();
        let mut at = 0;
        while ones(&sample) > 53 {
            sample[at] &= sample[at].wrapping_sub(1);
            at += 3;
        }
        assert_eq!(ones(&sample), 53);
        assert_eq!(check(&sample), Ok(()));
        assert_eq!(check(&sample.map(|x| !x)), Ok(()));
        sample[31] &= sample[31] - 1;
        assert_eq!(check(&sample), Err(EntropyError::Biased));
        assert_eq!(check(&sample.map(|x| !x)), Err(EntropyError::Biased));

        let mut remembered = Remembered::default();
        assert_eq!(remembered.check(&good), Ok(()));
        assert_eq!(remembered.check(&good), Err(EntropyError::Repeated));
        assert_eq!(remembered.check(&good.map(|x| !x)), Ok(()));
        assert_eq!(remembered.check(&good), Ok(()));
    }
}
