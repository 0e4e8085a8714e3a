//! The fit of prices to times: non-negative least squares on relative errors (Lawson and Hanson:
//! Solving Least Squares Problems, chapter 23; by coordinates instead of active sets, as in Franc,
//! Hlaváč and Navara, CAIP 2005).

use tfhe_sbc_oracle::cost::{CostModel, Machine, Residual, SIZES, TERMS, Terms};

use super::timing::Case;

/// The number of crowding factors that are tried, from 1 to 2.
const CROWDS: usize = 26;
/// The number of sweeps over the coordinates.
const SWEEPS: usize = 2000;

/// The products of the columns of the relative system, which determine the solution.
struct Normal {
    products: [[f64; TERMS]; TERMS],
    /// The products with the right side, which is 1 everywhere.
    right: [f64; TERMS],
}

impl Normal {
    fn new(rows: &[[f64; TERMS]]) -> Self {
        let mut normal = Self {
            products: [[0.0; TERMS]; TERMS],
            right: [0.0; TERMS],
        };
        for row in rows {
            for (i, a) in row.iter().enumerate() {
                normal.right[i] += a;
                for (to, b) in normal.products[i].iter_mut().zip(row) {
                    *to += a * b;
                }
            }
        }
        normal
    }

    /// The non-negative combination of columns that is closest to 1.
    fn solve(&self) -> [f64; TERMS] {
        let mut x = [0.0; TERMS];
        for _ in 0..SWEEPS {
            for i in 0..TERMS {
                let diagonal = self.products[i][i];
                if diagonal > 0.0 {
                    let product: f64 = self.products[i].iter().zip(&x).map(|(a, x)| a * x).sum();
                    x[i] = (x[i] - (product - self.right[i]) / diagonal).max(0.0);
                }
            }
        }
        x
    }
}

/// Fits a model to the times, and returns it with its errors on the bootstraps.
pub(super) fn fit(machine: Machine, transforms: [f64; SIZES], cases: &[Case]) -> CostModel {
    let start = CostModel {
        machine,
        transforms,
        ..CostModel::built_in()
    };
    let crowds = (0..CROWDS).map(|step| 1.0 + step as f64 / (CROWDS - 1) as f64);
    let single = start.machine.threads < 2;
    let models = crowds.take(if single { 1 } else { CROWDS }).map(|crowd| {
        let mut model = CostModel {
            crowding: crowd,
            ..start.clone()
        };
        let rows = relative_counts(&model, cases);
        // The terms differ by orders of magnitude, so they are scaled.
        let mut scales = [0.0f64; TERMS];
        for row in &rows {
            for (scale, count) in scales.iter_mut().zip(row) {
                *scale = scale.max(*count);
            }
        }
        let scaled: Vec<[f64; TERMS]> = rows
            .iter()
            .map(|row| std::array::from_fn(|i| row[i] / scales[i].max(f64::MIN_POSITIVE)))
            .collect();
        let x = Normal::new(&scaled).solve();
        model.seconds = Terms::from_array(std::array::from_fn(|i| {
            x[i] / scales[i].max(f64::MIN_POSITIVE)
        }));
        fill_unmeasured(&mut model.seconds, &scales);
        model
    });
    let squares = |model: &CostModel| {
        let errors = errors(model, cases);
        errors.iter().map(|error| error * error).sum::<f64>()
    };
    let mut best = models
        .min_by(|a, b| squares(a).total_cmp(&squares(b)))
        .unwrap_or(start);
    let mut errors: Vec<f64> = errors(&best, cases).into_iter().map(f64::abs).collect();
    errors.sort_unstable_by(f64::total_cmp);
    best.residual = Residual {
        median: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
        worst: errors.last().copied().unwrap_or(0.0),
    };
    best
}

/// Gives a working set without measurements the price of the next smaller one, and the smallest
/// one that of the next larger.
fn fill_unmeasured(terms: &mut Terms, scales: &[f64; TERMS]) {
    let measured = Terms::from_array(*scales).key_byte;
    let prices = &mut terms.key_byte;
    for i in (0..prices.len() - 1).rev() {
        if measured[i] == 0.0 {
            prices[i] = prices[i + 1];
        }
    }
    for i in 1..prices.len() {
        // A byte from a larger working set is not cheaper.
        prices[i] = match measured[i] == 0.0 {
            true => prices[i - 1],
            false => prices[i].max(prices[i - 1]),
        };
    }
}

/// The counts of every measurement divided by its time. With right prices each row sums to 1.
fn relative_counts(model: &CostModel, cases: &[Case]) -> Vec<[f64; TERMS]> {
    let mut rows = Vec::new();
    for case in cases {
        for sample in &case.samples {
            let (batch, threads) = (sample.batch, sample.threads);
            let crowd = model.crowd(threads);
            let set = &case.parameters;
            let all = model.counts(set.as_set(), batch, threads).to_array();
            rows.push(all.map(|count| count * crowd / sample.bootstrap));
            let switch = model.switch_counts(set.as_set(), batch, threads).to_array();
            rows.push(switch.map(|count| count * crowd / sample.key_switch));
        }
    }
    rows
}

/// The relative errors of the model on bootstraps.
fn errors(model: &CostModel, cases: &[Case]) -> Vec<f64> {
    let of = |case: &Case| -> Vec<f64> {
        let error = |sample: &super::timing::Sample| {
            model.bootstrap(case.parameters.as_set(), sample.batch, sample.threads)
                / sample.bootstrap
                - 1.0
        };
        case.samples.iter().map(error).collect()
    };
    cases.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sets;
    use super::*;

    #[test]
    fn prices_are_found_again_from_the_times_that_they_make() {
        let mut truth = CostModel::built_in();
        truth.crowding = 1.12;
        truth.seconds.multiply_add *= 1.7;
        truth.seconds.meeting *= 0.4;
        truth.seconds.switch_transform *= 1.3;
        let mut cases = sets::fitted(false, 2);
        for case in &mut cases {
            let set = case.parameters;
            for sample in &mut case.samples {
                let (batch, threads) = (sample.batch, sample.threads);
                let switch = truth.switch_counts(set.as_set(), batch, threads);
                sample.bootstrap = truth.bootstrap(set.as_set(), batch, threads);
                sample.key_switch = truth.priced(&switch, threads).total();
            }
        }
        let found = fit(truth.machine.clone(), truth.transforms, &cases);
        assert!(found.residual.median < 0.005, "{found:?}");
        assert!(found.residual.worst < 0.03, "{found:?}");
        let close = |a: f64, b: f64, share: f64| assert!((a / b - 1.0).abs() < share, "{a} {b}");
        close(found.crowding, truth.crowding, 0.01);
        close(found.seconds.transform, truth.seconds.transform, 0.05);
        close(found.seconds.multiply_add, truth.seconds.multiply_add, 0.05);
        close(found.seconds.meeting, truth.seconds.meeting, 0.1);
        close(
            found.seconds.switch_transform,
            truth.seconds.switch_transform,
            0.05,
        );
        // The sets that the model was not fitted to.
        for case in sets::held_out(false, 2) {
            for sample in &case.samples {
                let [a, b] = [&found, &truth].map(|model| {
                    model.bootstrap(case.parameters.as_set(), sample.batch, sample.threads)
                });
                close(a, b, 0.05);
            }
        }
    }

    #[test]
    fn least_squares_stay_out_of_the_negative() {
        let mut rows = [[0.0; TERMS]; 3];
        rows[0][..2].copy_from_slice(&[1.0, 0.5]);
        rows[1][..2].copy_from_slice(&[1.0, 1.0]);
        rows[2][..2].copy_from_slice(&[0.5, 1.0]);
        let x = Normal::new(&rows).solve();
        // By hand: the normal equations are 2.25 a + 2 b = 2.5 for both.
        assert!((x[0] - x[1]).abs() < 1e-9 && (x[0] - 2.5 / 4.25).abs() < 1e-9);
        // The second column would have to be negative.
        rows[1] = [0.0; TERMS];
        rows[1][..2].copy_from_slice(&[1.0, 3.0]);
        rows[2] = [0.0; TERMS];
        rows[2][0] = 0.9;
        let x = Normal::new(&rows).solve();
        assert!(x[1] == 0.0 && (x[0] - 2.9 / 2.81).abs() < 1e-9, "{x:?}");
    }
}
