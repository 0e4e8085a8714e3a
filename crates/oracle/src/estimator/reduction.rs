//! The quality and the cost of lattice reduction.
//!
//! BKZ of block size β makes bases whose Gram–Schmidt norms fall geometrically (Schnorr, STACS
//! 2003) by the root Hermite factor δ(β) of Chen's thesis (2013). A [`CostModel`] gives the number
//! of operations of a reduction, and the number of short vectors that a sieve gives for it. All
//! costs are log2 of operations, all lengths natural logarithms.

use std::f64::consts::{E, PI};

/// The smallest block size for which the asymptotic formulas are meaningful. A task that is easier
/// than BKZ-40 is reported as hard as BKZ-40, about 2^40 operations.
pub(super) const MIN_BLOCK_SIZE: usize = 40;

/// The overhead of progressive sieving, Σ 2^(-slope·i) over i ≥ 0 with the slope of
/// [`MATZOV_SIEVE`] (p. 37).
const PROGRESSIVE: f64 = 5.388_841_198_653_1;

/// log2 of the gates of one sieve in dimension β, as `slope`·β + `offset`: list decoding on
/// classical circuits (AGPS, Asiacrypt 2020) with MATZOV's correction and improvement (2022).
const MATZOV_SIEVE: (f64, f64) = (0.29613500308205365, 20.387885985467914);

/// log2 of the number of short vectors in a sieve's list, by dimension.
const LIST_SLOPE: f64 = 0.2075;

/// A model of the cost of lattice reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostModel {
    /// Gates of a progressive BKZ with sieving, dimensions for free and many short vectors
    /// of each sieve: MATZOV, *Report on the security of LWE* (2022). The model of the security
    /// table.
    Matzov,
    /// 8·d sieves of 2^(0.292 β + 16.4) operations: Becker, Ducas, Gama, Laarhoven (SODA 2016).
    Bdgl16,
    /// One sieve of 2^(0.292 β): the core-SVP hardness of Alkim, Ducas, Pöppelmann, Schwabe
    /// (USENIX Security 2016).
    CoreSvp,
}

impl CostModel {
    /// All models.
    pub const ALL: [Self; 3] = [Self::Matzov, Self::Bdgl16, Self::CoreSvp];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matzov => "matzov",
            Self::Bdgl16 => "bdgl16",
            Self::CoreSvp => "core-svp",
        }
    }

    /// BKZ of block size `beta` on a lattice of dimension `dimension`; one call of the
    /// solver if the two are equal.
    pub(super) fn log2_reduction(self, beta: usize, dimension: usize) -> f64 {
        let (b, d) = (beta as f64, dimension as f64);
        match self {
            Self::CoreSvp => 0.292 * b,
            Self::Bdgl16 => {
                let slope = if beta <= 90 { 0.387 } else { 0.292 };
                let calls = if beta < dimension { 8.0 * d } else { 1.0 };
                log2_sum(slope * b + 16.4 + calls.log2(), 3.0 * d.log2())
            }
            Self::Matzov => {
                let (slope, offset) = MATZOV_SIEVE;
                let sieve = slope * (b - dimensions_for_free(beta)) + offset;
                let calls = PROGRESSIVE * PROGRESSIVE * (d - b).max(1.0);
                log2_sum(sieve + calls.log2(), 3.0 * d.log2())
            }
        }
    }

    /// e^`ln_count` short vectors of a lattice of dimension `dimension`, from its
    /// reduction with `beta`, a sieve, and as many repetitions of both as it takes.
    pub(super) fn log2_short_vectors(self, beta: usize, dimension: usize, ln_count: f64) -> f64 {
        let reduction = self.log2_reduction(beta, dimension);
        let (log2_once, list) = match self {
            Self::CoreSvp | Self::Bdgl16 => (reduction, (LIST_SLOPE * beta as f64).exp2()),
            Self::Matzov => {
                let (slope, offset) = MATZOV_SIEVE;
                let sieve = matzov_sieve_dimension(beta, dimension) as f64;
                let log2_sieve = PROGRESSIVE.log2() + slope * sieve + offset;
                let list = (LIST_SLOPE * sieve).exp2().floor();
                (log2_sum(reduction, log2_sieve), list)
            }
        };
        let ln_times = ln_count - list.ln();
        // Above 2^50, rounding up to an integer makes no difference.
        let log2_times = if ln_times < 34.0 {
            ln_times.exp().ceil().max(1.0).log2()
        } else {
            ln_times / std::f64::consts::LN_2
        };
        log2_once + log2_times
    }
}

/// ln δ of BKZ-`beta` (Chen 2013). At 40 it is the measured value, which the
/// formula meets.
pub(super) fn ln_root_hermite(beta: usize) -> f64 {
    if beta <= MIN_BLOCK_SIZE {
        return 1.01295f64.ln();
    }
    let b = beta as f64;
    ((b / (2.0 * PI * E)).ln() + (PI * b).ln() / b) / (2.0 * (b - 1.0))
}

/// The number of dimensions by which a sieve can be smaller than the block that it solves (Ducas,
/// Eurocrypt 2018).
fn dimensions_for_free(beta: usize) -> f64 {
    // The formula has a pole at 17.
    let b = beta.max(20) as f64;
    b * (4.0f64 / 3.0).ln() / (b / (2.0 * PI * E)).ln()
}

/// The dimension in which one sieve costs about as much as the whole reduction: Guo and
/// Johansson (Asiacrypt 2021), MATZOV p. 18.
pub(super) fn matzov_sieve_dimension(beta: usize, dimension: usize) -> usize {
    let solved = beta - dimensions_for_free(beta) as usize;
    if beta >= dimension {
        return solved;
    }
    let calls = (dimension - beta) as f64 * PROGRESSIVE;
    dimension.min((solved as f64 + calls.log2() / MATZOV_SIEVE.0) as usize)
}

/// log2(2^a + 2^b).
pub(super) fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp2().ln_1p() / std::f64::consts::LN_2
}
