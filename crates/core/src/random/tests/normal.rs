//! Checks that samples follow the standard normal law. They give `Err` with what they saw. The tests of
//! other crates include this file.

/// Checks the first four moments, each within five standard deviations of its estimate.
pub(crate) fn check_moments(sample: &[f64]) -> Result<(), String> {
    let len = sample.len() as f64;
    let moment = |power: i32| sample.iter().map(|x| x.powi(power)).sum::<f64>() / len;
    // The variances of x, x^2, x^3 and x^4 are 1, 2, 15 and 96.
    for (power, expected, variance) in [
        (1, 0.0, 1.0),
        (2, 1.0, 2.0),
        (3, 0.0, 15.0),
        (4, 3.0, 96f64),
    ] {
        within(
            &format!("moment {power}"),
            moment(power),
            expected,
            5.0 * (variance / len).sqrt(),
        )?;
    }
    Ok(())
}

/// Checks how many variates lie beyond 2, 3, 4 and 5 standard deviations, on each side.
pub(crate) fn check_tails(sample: &[f64]) -> Result<(), String> {
    for sigmas in [2.0, 3.0, 4.0, 5.0] {
        let expected = sample.len() as f64 * upper_tail(sigmas);
        for sign in [-1.0, 1.0] {
            let seen = sample.iter().filter(|x| sign * **x > sigmas).count() as f64;
            // Five deviations of a Poisson count, wider where the count is small.
            within(
                &format!("beyond {sigmas}"),
                seen,
                expected,
                5.0 * expected.sqrt() + 2.0,
            )?;
        }
    }
    Ok(())
}

/// Checks Kolmogorov and Smirnov's distance D to the normal law: `sqrt(n) D > 2.5` has probability
/// 7e-6.
pub(crate) fn check_shape(mut sample: Vec<f64>) -> Result<(), String> {
    sample.sort_unstable_by(f64::total_cmp);
    let len = sample.len() as f64;
    let distance = sample
        .iter()
        .enumerate()
        .map(|(i, x)| (upper_tail(-x) - (i as f64 + 0.5) / len).abs())
        .fold(0.0, f64::max);
    within("Kolmogorov-Smirnov", distance * len.sqrt(), 0.0, 2.5)
}

/// `P(Z > x)`: the Taylor series in the middle, Laplace's continued fraction
/// outside.
pub(crate) fn upper_tail(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / core::f64::consts::TAU.sqrt();
    if x.abs() < 3.0 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term.abs() > 1e-17 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        0.5 - density * sum
    } else {
        let fraction = (1..60)
            .rev()
            .fold(0.0, |rest, k| f64::from(k) / (x.abs() + rest));
        let tail = density / (x.abs() + fraction);
        if x > 0.0 { tail } else { 1.0 - tail }
    }
}

/// Checks that a number is within `tolerance` of the expected one.
pub(crate) fn within(what: &str, seen: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (seen - expected).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!(
            "{what}: {seen} is not within {tolerance} of {expected}"
        ))
    }
}
