//! The timing of benchmarks. Contestants take turns, so that other work of the machine affects all
//! of them alike.

use std::hint::black_box;
use std::iter::repeat_n;
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// The least duration of a turn. It is long enough that a contestant works with caches filled by
/// itself, not by the other.
const TURN: Duration = Duration::from_millis(40);

/// The least duration between two readings of the clock, each of which takes some 30 ns and keeps the processor from
/// beginning the next run early. Shorter runs are timed several together.
const SAMPLE: Duration = Duration::from_micros(20);

/// Rounds that are timed however small the budget is.
const LEAST_ROUNDS: usize = 3;

/// A first round that takes this long is not for warming up: it counts, and is the only one
/// that has to be.
const LONG_ROUND: Duration = Duration::from_secs(10);

/// Something to time.
pub(crate) trait Subject {
    /// Runs for [`TURN`], at least once, adds the time of every run, and checks what
    /// the last one gave. The time of runs that take less than [`SAMPLE`] is the mean of as many as fill it.
    fn turn(&mut self, samples: &mut Vec<Duration>) -> Result<(), BenchError>;
}

/// A [`Subject`] of two closures: `run` is timed, `check` sees what it gave.
pub(crate) struct Work<R, C> {
    /// The name, for errors.
    pub(crate) name: String,
    /// The timed work.
    pub(crate) run: R,
    /// Whether the answer is right.
    pub(crate) check: C,
}

impl<O, R, C> Subject for Work<R, C>
where
    R: FnMut() -> Result<O, BenchError>,
    C: FnMut(O) -> Result<bool, BenchError>,
{
    fn turn(&mut self, samples: &mut Vec<Duration>) -> Result<(), BenchError> {
        let turn = Instant::now();
        let mut runs = 1;
        loop {
            let start = Instant::now();
            let mut output = black_box((self.run)()?);
            for _ in 1..runs {
                output = black_box((self.run)()?);
            }
            let each = start.elapsed() / runs;
            samples.extend(repeat_n(each, runs as usize));
            if turn.elapsed() >= TURN {
                return match (self.check)(output)? {
                    true => Ok(()),
                    false => Err(BenchError::WrongAnswer(self.name.clone())),
                };
            }
            if runs == 1 {
                let nanoseconds = each.as_nanos().max(1);
                runs = SAMPLE.as_nanos().div_ceil(nanoseconds) as u32;
            }
        }
    }
}

/// The times of one subject, in seconds, divided by the operations of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The median.
    pub(crate) median: f64,
    /// The minimum.
    pub(crate) least: f64,
    /// The number of runs.
    pub(crate) runs: usize,
}

impl Timing {
    /// The statistics of runs of `operations` operations each.
    pub(crate) fn of(mut samples: Vec<Duration>, operations: usize) -> Self {
        samples.sort_unstable();
        let each = |time: Duration| time.as_secs_f64() / operations as f64;
        let middle = samples.len() / 2;
        let median = if samples.len().is_multiple_of(2) {
            (each(samples[middle - 1]) + each(samples[middle])) / 2.0
        } else {
            each(samples[middle])
        };
        Self {
            median,
            least: each(samples[0]),
            runs: samples.len(),
        }
    }
}

/// Times the subjects in turns, after a turn of each that warms up and is not counted unless
/// it is long, until `budget` is spent. Each subject comes with the number of operations of its
/// runs.
pub(crate) fn interleave<const N: usize>(
    mut subjects: [(&mut dyn Subject, usize); N],
    budget: Duration,
) -> Result<[Timing; N], BenchError> {
    let mut samples = [const { Vec::new() }; N];
    let start = Instant::now();
    for ((subject, _), samples) in subjects.iter_mut().zip(&mut samples) {
        subject.turn(samples)?;
    }
    let mut next_round = start.elapsed();
    let mut rounds = LEAST_ROUNDS;
    if next_round < LONG_ROUND {
        samples = [const { Vec::new() }; N];
        next_round = Duration::ZERO;
        rounds = 0;
    }
    while rounds < LEAST_ROUNDS || start.elapsed() + next_round < budget {
        for place in 0..N {
            // The order changes every round.
            let index = if rounds.is_multiple_of(2) {
                place
            } else {
                N - 1 - place
            };
            subjects[index].0.turn(&mut samples[index])?;
        }
        rounds += 1;
    }
    let mut operations = subjects.iter().map(|&(_, operations)| operations);
    Ok(samples.map(|samples| Timing::of(samples, operations.next().unwrap_or(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(name: &str, right: bool) -> impl Subject {
        Work {
            name: name.to_owned(),
            run: || Ok(()),
            check: move |()| Ok(right),
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        let seconds = |s: &[u64]| {
            s.iter()
                .map(|&s| Duration::from_secs(s))
                .collect::<Vec<_>>()
        };
        let timing = Timing::of(seconds(&[8, 2, 100, 4]), 2);
        assert_eq!((timing.median, timing.least, timing.runs), (3.0, 1.0, 4));
        assert_eq!(Timing::of(seconds(&[5, 1, 9]), 1).median, 5.0);
    }

    #[test]
    fn a_wrong_answer_stops_everything() {
        let both = |right| {
            interleave(
                [(&mut work("good", true), 1), (&mut work("bad", right), 1)],
                Duration::ZERO,
            )
        };
        assert!(both(true).is_ok());
        let error = both(false).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("bad"), "{error}");
    }
}
