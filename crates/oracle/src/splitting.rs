//! Probabilities too small to count, by adaptive multilevel splitting (Cérou and Guyader,
//! "Adaptive multilevel splitting for rare event analysis", 2007).
//!
//! Many particles are drawn, each a state of all random inputs. The particles with the lower
//! scores are replaced by copies of the others, and the copies are moved under the condition that
//! their scores stay above the level reached. The share of particles above the level is a factor
//! of the probability. This is repeated until the level is the target. No assumption is made about
//! the law of the score.

use crate::generator::Generator;

/// A random experiment whose outcome has a score, and ways to move from one outcome to another.
pub trait RareEvent {
    /// The random inputs of one experiment.
    type State: Clone;

    /// The number of kinds of moves, each with a step size of its own.
    fn kinds(&self) -> usize;

    /// Draws a state by the experiment's law.
    fn draw(&self, generator: &mut Generator) -> Self::State;

    /// The score of a state.
    fn score(&self, state: &Self::State) -> f64;

    /// Proposes a move of one kind, by a kernel that is reversible for the experiment's law, and
    /// keeps it where the score is then above `level`. `step` in (0, 1] scales how far
    /// it goes, 1 being as far as this kind can. Says whether it was kept.
    fn step(
        &self,
        state: &mut Self::State,
        kind: usize,
        step: f64,
        level: f64,
        generator: &mut Generator,
    ) -> bool;
}

/// The amount of work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of particles, at least 100.
    pub particles: usize,
    /// The number of moves of each kind that a particle is offered at each level.
    pub moves: usize,
}

/// The share of the particles that a level keeps.
const KEPT: f64 = 0.5;
/// The share of proposals that step sizes are adapted to.
const ACCEPTANCE: f64 = 0.3;
/// The number of levels after which a run gives up, which is a probability below 2^-MOST_LEVELS.
const MOST_LEVELS: usize = 5000;

/// The result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<S> {
    /// log2 of the estimated probability.
    pub log2_p: f64,
    /// The number of levels before the last.
    pub levels: usize,
    /// The share of proposals that were kept over the last half of the levels, by kind of move.
    /// Above 0.3 only where a full step is kept more often.
    pub acceptance: Vec<f64>,
    /// The particles at or above the target: outcomes of the event, by its law.
    pub reached: Vec<S>,
}

/// Runs one estimation of the probability that the score is at least `target`.
///
/// Returns `None` if no particle could be moved further, or the probability is below 2^-5000.
pub fn run<E: RareEvent>(
    event: &E,
    target: f64,
    effort: Effort,
    generator: &mut Generator,
) -> Option<Run<E::State>> {
    let count = effort.particles.max(100);
    let mut particles: Vec<E::State> = (0..count).map(|_| event.draw(generator)).collect();
    let mut steps = vec![1.0f64; event.kinds()];
    let mut kept_shares: Vec<Vec<f64>> = Vec::new();
    let mut log2_p = 0.0;
    for levels in 0..MOST_LEVELS {
        let scores: Vec<f64> = particles.iter().map(|state| event.score(state)).collect();
        let mut sorted = scores.clone();
        sorted.sort_by(f64::total_cmp);
        let level = sorted[((1.0 - KEPT) * count as f64) as usize];
        if level >= target {
            let reached: Vec<_> = particles
                .into_iter()
                .zip(&scores)
                .filter_map(|(state, &score)| (score >= target).then_some(state))
                .collect();
            log2_p += (reached.len() as f64 / count as f64).log2();
            let last = &kept_shares[kept_shares.len() / 2..];
            let mean = |kind: usize| {
                last.iter().map(|shares| shares[kind]).sum::<f64>() / last.len().max(1) as f64
            };
            let acceptance = (0..event.kinds()).map(mean).collect();
            return Some(Run {
                log2_p,
                levels,
                acceptance,
                reached,
            });
        }
        let above: Vec<usize> = (0..count).filter(|&i| scores[i] > level).collect();
        if above.is_empty() {
            return None;
        }
        log2_p += (above.len() as f64 / count as f64).log2();
        for (particle, score) in scores.iter().enumerate() {
            if *score <= level {
                let parent = above[generator.below(above.len())];
                particles[particle] = particles[parent].clone();
            }
        }
        kept_shares.push(move_all(
            event,
            &mut particles,
            &mut steps,
            level,
            effort.moves,
            generator,
        ));
    }
    None
}

/// Moves every particle above `level`, adapting the steps from round to round. The shares of
/// moves kept, by kind.
fn move_all<E: RareEvent>(
    event: &E,
    particles: &mut [E::State],
    steps: &mut [f64],
    level: f64,
    moves: usize,
    generator: &mut Generator,
) -> Vec<f64> {
    let mut shares = vec![0.0; steps.len()];
    for _ in 0..moves.max(1) {
        for (kind, step) in steps.iter_mut().enumerate() {
            let kept = particles
                .iter_mut()
                .filter_map(|state| {
                    event
                        .step(state, kind, *step, level, generator)
                        .then_some(())
                })
                .count();
            let share = kept as f64 / particles.len() as f64;
            shares[kind] += share / moves.max(1) as f64;
            *step = (*step * (0.5 * (share - ACCEPTANCE)).exp()).clamp(1e-6, 1.0);
        }
    }
    shares
}

/// An estimate from independent runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    /// log2 of the mean of the runs' probabilities, which is the unbiased estimate.
    pub log2_p: f64,
    /// The standard error in bits, from the spread of the runs, or the least error that the method
    /// can have if that is larger.
    pub standard_error: f64,
}

/// Combines runs of the same effort; `None` without any.
///
/// The logarithm of a run's estimate has at best the variance J (1-p)/(p M), for J levels that
/// keep a share p of M particles (Cérou and Guyader, section 3).
pub fn combine<S>(runs: &[Run<S>], effort: Effort) -> Option<Combined> {
    let largest = runs.iter().map(|run| run.log2_p).reduce(f64::max)?;
    let count = runs.len() as f64;
    let sum: f64 = runs.iter().map(|run| (run.log2_p - largest).exp2()).sum();
    let mean = runs.iter().map(|run| run.log2_p).sum::<f64>() / count;
    let squares: f64 = runs.iter().map(|run| (run.log2_p - mean).powi(2)).sum();
    let levels = runs.iter().map(|run| run.levels + 1).sum::<usize>() as f64 / count;
    let per_level = (1.0 - KEPT) / (KEPT * effort.particles as f64);
    let ideal = levels * per_level / std::f64::consts::LN_2.powi(2);
    let variance = ideal.max(squares / (count - 1.0).max(1.0));
    Some(Combined {
        log2_p: largest + (sum / count).log2(),
        standard_error: (variance / count).sqrt(),
    })
}
