//! The noise at a look-up as a random experiment for [`splitting`](crate::splitting), with a
//! coordinate for every random input.

use crate::convolution::{BoundedSum, UniformErrors};
use crate::generator::Generator;
use crate::noise::Variance;
use crate::splitting::RareEvent;

/// `count` independent Gaussian errors of one standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianErrors {
    /// The number of errors.
    pub count: usize,
    /// Standard deviation of each.
    pub deviation: f64,
}

/// An offset, groups of Gaussian errors, and an error uniform on `[-|bound|, |bound|]` for each
/// of the bounds. The score is the absolute value of the sum.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseSum {
    /// The constant part of the sum.
    pub offset: f64,
    /// Groups of Gaussian errors; each has a step size of its own.
    pub gaussian: Vec<GaussianErrors>,
    /// The bounds of the uniform errors, with the sign that they have in the sum.
    pub bounds: Vec<f64>,
}

/// All errors of one sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// Standard normal, group after group.
    normal: Vec<f64>,
    /// Uniform on `[-1, 1)`, one for each bound.
    uniform: Vec<f64>,
    sum: f64,
}

impl Errors {
    /// The sum, its offset included.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The uniform errors, as fractions of their bounds.
    pub fn uniform(&self) -> &[f64] {
        &self.uniform
    }
}

impl NoiseSum {
    /// The same sum in the form of [`convolution`](crate::convolution).
    pub fn convolution(&self) -> BoundedSum {
        let mut uniform: Vec<UniformErrors> = Vec::new();
        for bound in self.bounds.iter().map(|bound| bound.abs()) {
            match uniform.iter_mut().find(|errors| errors.bound == bound) {
                Some(errors) => errors.count += 1,
                None => uniform.push(UniformErrors { count: 1, bound }),
            }
        }
        let gaussian = self.gaussian.iter();
        BoundedSum {
            offset: self.offset,
            gaussian: gaussian
                .map(|g| Variance::from_standard_deviation(g.deviation) * g.count as f64)
                .sum(),
            uniform,
        }
    }

    fn total(&self, state: &Errors) -> f64 {
        let mut normal = state.normal.iter();
        let gaussian = self.gaussian.iter().map(|group| {
            let sum: f64 = normal.by_ref().take(group.count).sum();
            group.deviation * sum
        });
        let gaussian: f64 = gaussian.sum();
        let uniform = self.bounds.iter().zip(&state.uniform);
        self.offset + gaussian + uniform.map(|(bound, u)| bound * u).sum::<f64>()
    }

    /// Moves some neighbouring uniform errors: draws them anew, or moves a single one by a walk
    /// that the ends reflect. Both are reversible for the uniform law.
    fn step_uniform(
        &self,
        state: &mut Errors,
        step: f64,
        level: f64,
        generator: &mut Generator,
    ) -> bool {
        let count = self.bounds.len();
        if count == 0 {
            return false;
        }
        let width = step * count as f64;
        let (first, moved) = (generator.below(count), (width as usize).clamp(1, count));
        let draw = |u: f64, generator: &mut Generator| {
            let fresh = 2.0 * generator.uniform() - 1.0;
            if width >= 1.0 {
                return fresh;
            }
            let u = u + width * fresh;
            if u >= 1.0 {
                2.0 - u
            } else if u < -1.0 {
                -2.0 - u
            } else {
                u
            }
        };
        // The move is drawn twice with the same numbers: once to weigh it, and once to make it.
        let mut again = generator.clone();
        let mut sum = state.sum;
        let places = || (first..count).chain(0..first).take(moved);
        for i in places() {
            sum += self.bounds[i] * (draw(state.uniform[i], generator) - state.uniform[i]);
        }
        let kept = sum.abs() > level;
        if kept {
            for i in places() {
                state.uniform[i] = draw(state.uniform[i], &mut again);
            }
            state.sum = sum;
        }
        kept
    }

    /// Moves one Gaussian error of a group: g' = √(1-ρ²) g + ρ ξ, reversible for the normal law.
    fn step_gaussian(
        &self,
        state: &mut Errors,
        group: usize,
        step: f64,
        level: f64,
        generator: &mut Generator,
    ) -> bool {
        let before: usize = self.gaussian[..group].iter().map(|g| g.count).sum();
        let GaussianErrors { count, deviation } = self.gaussian[group];
        if count == 0 {
            return false;
        }
        let normal = &mut state.normal[before + generator.below(count)];
        let moved = (1.0 - step * step).sqrt() * *normal + step * generator.gaussian();
        let sum = state.sum + deviation * (moved - *normal);
        let kept = sum.abs() > level;
        if kept {
            *normal = moved;
            state.sum = sum;
        }
        kept
    }
}

impl RareEvent for NoiseSum {
    type State = Errors;

    fn kinds(&self) -> usize {
        1 + self.gaussian.len()
    }

    fn draw(&self, generator: &mut Generator) -> Errors {
        let normal: usize = self.gaussian.iter().map(|group| group.count).sum();
        let mut state = Errors {
            normal: (0..normal).map(|_| generator.gaussian()).collect(),
            uniform: (0..self.bounds.len())
                .map(|_| 2.0 * generator.uniform() - 1.0)
                .collect(),
            sum: 0.0,
        };
        state.sum = self.total(&state);
        state
    }

    fn score(&self, state: &Errors) -> f64 {
        state.sum.abs()
    }

    fn step(
        &self,
        state: &mut Errors,
        kind: usize,
        step: f64,
        level: f64,
        generator: &mut Generator,
    ) -> bool {
        match kind.checked_sub(1) {
            None => self.step_uniform(state, step, level, generator),
            Some(group) => self.step_gaussian(state, group, step, level, generator),
        }
    }
}
