//! The security level of a key, by interpolation in a table of lattice-estimator results.
//!
//! The bundled table, `data/curve.csv`, gives for a level λ, a dimension n and a kind of secret
//! the smallest log2(σ/q) that reaches λ, by the lattice estimator of June 2026 (commit 27a581bb)
//! with the cost model MATZOV: the minimum over primal uSVP, primal BDD and dual hybrid. Only σ/q
//! matters as long as σ is a few integers or more, so rows of different q form one curve; of two
//! rows of a curve with the same n the larger σ counts.
//!
//! Interpolation is piecewise linear in n along each curve, then linear in 1/λ between curves,
//! because λ·|log2(σ/q)| is nearly constant at a fixed n. There is no extrapolation: a key with
//! more coefficients than the table's largest is judged as one with the table's largest number,
//! because an attacker on the shorter key can extend it by coefficients of its own and attack the
//! longer one. A GLWE key counts as an LWE key of dimension k·N.
//!
//! # Keys of blocks
//!
//! `data/curve-block-binary.csv` has the same for sparse binary keys of fixed weight, with one 1
//! in b + 1 coefficients. A key of blocks of ℓ has one 1 in ℓ + 1 coefficients, but less entropy
//! than a sparse key of its weight, log2(ℓ+1)/ℓ bits per coefficient, because it cannot have two
//! ones in a block. A key of blocks is therefore judged as the sparsest key of the table whose
//! entropy is at most its own ([`SecretKind::of_blocks`]): ℓ = 2, with 0.792 bits, as one 1 in 5
//! (0.722 bits), and ℓ = 3, with 0.667 bits, as one 1 in 6 (0.650 bits). Such a stand-in is weaker
//! in both ways in which attacks use the distribution of a key:
//!
//! - norm and variance: its weight is n/5 or n/6, not n/3 or n/4. Even a key that is five
//!   standard deviations of √n/(ℓ+1) below the mean has more.
//! - guessing: a coefficient is zero with 4/5 or 5/6 rather than 2/3 or 3/4, and guesses of
//!   whole blocks gain nothing on it: ℓ coefficients are all zero with 1/(ℓ+1), a third or a
//!   quarter, and those of the stand-in with 0.64 or 0.58; all of m coefficients are guessed
//!   in 2^(entropy · m) tries, which are more for the blocks.
//!
//! No attack on the block structure itself is known to do better. For ℓ = 4 and 5 the table has no
//! sparse key of so little entropy. They are judged as the sparse key of their own weight, one 1 in 5 and one in 6, which
//! alone would say little about guesses of whole blocks; so these sizes are for the strict count
//! ([`strict_level`]), which prices such guesses at the entropy of the key. Larger blocks are refused. From ℓ = 6 on the
//! strict count is decided by a meet-in-the-middle attack, for which better algorithms may be found.
//!
//! Key owners draw keys until the weight is at most the mean; this
//! costs [`block_key_entropy`] about one bit, and multiplies the success probability of any attack
//! by at most about 2, which is much less than what the stand-in gives away.

pub(crate) mod attack;
// It inverts the table that is read here, and is shown as a part of this module.
mod least_noise;
mod strict;
mod strict_curve;

use std::fmt;
use std::sync::LazyLock;

use thiserror::Error;

use crate::noise::{GlweSecret, KeyBlocks};

pub use attack::Attack;
pub use least_noise::{ReliableLevel, Source, least_log2_sigma, reliable_level};
pub use strict::{StrictKind, strict_level};
pub use strict_curve::strict_least_log2_sigma;

/// The margin by which log2 σ should exceed the interpolated minimum. The estimator's levels are
/// staircases in σ, and the curves are not exactly straight between rows. Around 128 bits the
/// margin is worth 0.15 (n = 2048) to 0.6 bits (n = 450). Against 700 single evaluations of the
/// estimator, interpolation is off by at most 0.83 bits; with the margin it is never above the
/// estimator from 128 bits up, and by at most 0.24 bits below.
pub const MARGIN_LOG2_SIGMA: f64 = 0.06;

/// The largest blocks whose level the customary count gives by itself. That of larger ones needs the strict count.
pub const LARGEST_CUSTOMARY_BLOCK: u32 = 3;

/// The distribution of a secret key's coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// Uniform over {0, 1}.
    Binary,
    /// Uniform over {-1, 0, 1}.
    Ternary,
    /// A sparse key: coefficients of 0, and one in `one_in` that is 1.
    Sparse {
        /// The number of coefficients that have a single 1 among them on average.
        one_in: u32,
    },
}

impl From<GlweSecret> for SecretKind {
    fn from(secret: GlweSecret) -> Self {
        match secret {
            GlweSecret::Binary => Self::Binary,
            GlweSecret::Ternary => Self::Ternary,
        }
    }
}

impl SecretKind {
    /// The kind of secret that a key of blocks of `block_size` coefficients is judged as. Each
    /// block is uniform over the zero block and the blocks with a single 1. Blocks of 1 count as a
    /// uniform binary key, larger ones as the sparse keys of the module's description.
    ///
    /// # Errors
    /// If no curve is safe for blocks of this size.
    pub fn of_blocks(block_size: u32) -> Result<Self, OutOfTable> {
        match block_size {
            1 => Ok(Self::Binary),
            2 => Ok(Self::Sparse { one_in: 5 }),
            3 | 5 => Ok(Self::Sparse { one_in: 6 }),
            4 => Ok(Self::Sparse { one_in: 5 }),
            _ => Err(OutOfTable::BlockSize { block_size }),
        }
    }
}

/// The entropy in bits of a key of `key.dimension / ℓ` blocks, drawn until its weight is at most
/// the mean for ℓ above 1. A collision search takes half as many bits, so the entropy should be
/// well above twice the level.
pub fn block_key_entropy(key: KeyBlocks) -> f64 {
    let patterns = f64::from(key.block_size + 1);
    let blocks = key.dimension / key.block_size as usize;
    let drawn = blocks as f64 * patterns.log2();
    if key.block_size == 1 {
        return drawn;
    }
    // The number of zero blocks is binomial with 1/(ℓ+1); kept if it is at least the mean.
    let odds = 1.0 / f64::from(key.block_size);
    let mut log2_probability = blocks as f64 * (1.0 - 1.0 / patterns).log2();
    let mut kept = 0.0;
    for zeros in 0..=blocks {
        if zeros as f64 * patterns >= blocks as f64 {
            kept += log2_probability.exp2();
        }
        log2_probability += (odds * (blocks - zeros) as f64 / (zeros + 1) as f64).log2();
    }
    drawn + kept.log2()
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The level λ, in bits.
    pub lambda: f64,
    /// The dimension n.
    pub dimension: usize,
    /// The smallest log2(σ/q) that reaches λ.
    pub log2_sigma: f64,
    /// The attack that costs 2^λ at this row.
    pub attack: Attack,
}

/// A security level, which may be outside of the table's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// Below this level, the lowest of the table.
    Below(f64),
    /// About this number of bits.
    About(f64),
    /// At least this level, the highest of the table.
    AtLeast(f64),
}

impl Level {
    /// The bits that are certain: none for [`Level::Below`].
    pub fn lower_bound(self) -> Option<f64> {
        match self {
            Self::Below(_) => None,
            Self::About(bits) | Self::AtLeast(bits) => Some(bits),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(bits) => write!(f, "below {bits}"),
            Self::About(bits) => write!(f, "{bits:.1}"),
            Self::AtLeast(bits) => write!(f, "at least {bits}"),
        }
    }
}

/// The security of a key according to the table.
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityEstimate {
    /// The interpolated level, within 1 bit of the estimator's own.
    pub lambda: Level,
    /// The level at a σ smaller by the margin, which is the level to rely on.
    pub lambda_with_margin: Level,
    /// The cheapest attack at the nearest row.
    pub limiting_attack: Attack,
    /// The rows interpolated between, nearest first: at most two of each of two curves.
    pub nearest: Vec<CurvePoint>,
}

/// The reason for which the table gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum OutOfTable {
    /// The dimension is below the table's smallest.
    #[error("dimension {dimension} is below the security table's smallest, {min}")]
    Dimension {
        /// The dimension that was given.
        dimension: usize,
        /// The smallest dimension of the table.
        min: usize,
    },
    /// The curves that cover the dimension are all above or all below the level.
    #[error("level {lambda} is outside of the security table at dimension {dimension}")]
    Level {
        /// The level that was given.
        lambda: f64,
        /// The dimension that was given.
        dimension: usize,
    },
    /// No curve is safe for keys of such blocks.
    #[error("the security table has no rows for keys of blocks of {block_size}: use 1 to 5")]
    BlockSize {
        /// The block size.
        block_size: u32,
    },
    /// The noise is not a number.
    #[error("log2 of the noise is not finite")]
    Noise,
}

/// The security of LWE with dimension `n` (k·N for a GLWE key) and noise of standard
/// deviation 2^`log2_sigma`·q, with the margin [`MARGIN_LOG2_SIGMA`].
pub fn security_level(
    n: usize,
    log2_sigma: f64,
    secret: SecretKind,
) -> Result<SecurityEstimate, OutOfTable> {
    security_level_with_margin(n, log2_sigma, secret, MARGIN_LOG2_SIGMA)
}

/// Returns the [`security_level`] with a given margin in log2 σ.
pub fn security_level_with_margin(
    n: usize,
    log2_sigma: f64,
    secret: SecretKind,
    margin: f64,
) -> Result<SecurityEstimate, OutOfTable> {
    if !(log2_sigma - margin).is_finite() {
        return Err(OutOfTable::Noise);
    }
    let levels = levels_at(n, secret)?;
    let nearest = nearest_rows(&levels, n, log2_sigma);
    Ok(SecurityEstimate {
        lambda: interpolate_level(&levels, log2_sigma),
        lambda_with_margin: interpolate_level(&levels, log2_sigma - margin),
        limiting_attack: nearest[0].attack,
        nearest,
    })
}

/// The smallest log2(σ/q) at which dimension `n` reaches `lambda` bits, without margin.
pub fn minimal_log2_sigma(lambda: f64, n: usize, secret: SecretKind) -> Result<f64, OutOfTable> {
    let levels = levels_at(n, secret)?;
    if let Some(level) = levels.iter().find(|level| level.lambda == lambda) {
        return Ok(level.log2_sigma);
    }
    let outside = OutOfTable::Level {
        lambda,
        dimension: n,
    };
    let above = levels
        .iter()
        .position(|level| level.lambda > lambda)
        .ok_or(outside)?;
    let below = above.checked_sub(1).ok_or(outside)?;
    let (low, high) = (&levels[below], &levels[above]);
    let share = (1.0 / low.lambda - 1.0 / lambda) / (1.0 / low.lambda - 1.0 / high.lambda);
    Ok(low.log2_sigma + share * (high.log2_sigma - low.log2_sigma))
}

/// Returns whether the table has rows for dimension `n` or on both sides of it.
fn covers(n: usize, secret: SecretKind) -> bool {
    let curves = TABLE.iter().filter(|curve| curve.secret == secret);
    let dimensions = || curves.clone().flat_map(|c| &c.points).map(|p| p.dimension);
    dimensions().any(|d| d <= n) && dimensions().any(|d| d >= n)
}

/// Returns whether a key has at least `lambda` bits with `margin` in log2 σ to spare.
pub fn is_secure(
    lambda: f64,
    n: usize,
    log2_sigma: f64,
    secret: SecretKind,
    margin: f64,
) -> Result<bool, OutOfTable> {
    Ok(log2_sigma >= minimal_log2_sigma(lambda, n, secret)? + margin - 1e-9)
}

/// The smallest noise to use with a modulus of 2^`torus_log2`, whatever the table says: log2(σ/q)
/// = 2 - log2 q, which is σ = 4 integers. TFHE-rs and Concrete keep to the same floor, and sets
/// such as N = 8192 with σ/q = 2^-62 sit on it.
pub fn log2_sigma_floor(torus_log2: u32) -> f64 {
    2.0 - f64::from(torus_log2)
}

/// One curve at one dimension.
struct LevelAt<'a> {
    lambda: f64,
    log2_sigma: f64,
    left: &'a CurvePoint,
    right: &'a CurvePoint,
}

/// Every curve of `secret` that covers `n`, or the largest dimension if `n` is above it, by
/// rising level and so by rising noise.
fn levels_at(n: usize, secret: SecretKind) -> Result<Vec<LevelAt<'static>>, OutOfTable> {
    let curves = TABLE.iter().filter(|curve| curve.secret == secret);
    let dimensions = || curves.clone().flat_map(|c| &c.points).map(|p| p.dimension);
    let n = n.min(dimensions().max().unwrap_or(0));
    let levels: Vec<_> = curves
        .clone()
        .filter_map(|curve| {
            let right = curve.points.iter().find(|p| p.dimension >= n)?;
            let left = curve.points.iter().rfind(|p| p.dimension <= n)?;
            let share = if left.dimension == right.dimension {
                0.0
            } else {
                (n - left.dimension) as f64 / (right.dimension - left.dimension) as f64
            };
            Some(LevelAt {
                lambda: curve.lambda,
                log2_sigma: left.log2_sigma + share * (right.log2_sigma - left.log2_sigma),
                left,
                right,
            })
        })
        .collect();
    if levels.is_empty() {
        return Err(OutOfTable::Dimension {
            dimension: n,
            min: dimensions().min().unwrap_or(0),
        });
    }
    Ok(levels)
}

/// The level of a noise between the curves; `levels` is not empty.
fn interpolate_level(levels: &[LevelAt], log2_sigma: f64) -> Level {
    let above = levels.partition_point(|level| level.log2_sigma <= log2_sigma);
    if above == 0 {
        return Level::Below(levels[0].lambda);
    }
    let low = &levels[above - 1];
    let Some(high) = levels.get(above) else {
        return Level::AtLeast(low.lambda);
    };
    let share = (log2_sigma - low.log2_sigma) / (high.log2_sigma - low.log2_sigma);
    let inverse = (1.0 - share) / low.lambda + share / high.lambda;
    Level::About(1.0 / inverse)
}

/// The rows around the point, by distance in noise from the curve, then in dimension.
fn nearest_rows(levels: &[LevelAt], n: usize, log2_sigma: f64) -> Vec<CurvePoint> {
    let above = levels.partition_point(|level| level.log2_sigma <= log2_sigma);
    let mut around: Vec<_> = levels
        .iter()
        .skip(above.saturating_sub(1))
        .take(if above == 0 { 1 } else { 2 })
        .collect();
    let distance = |level: &LevelAt| (level.log2_sigma - log2_sigma).abs();
    around.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let mut rows = Vec::new();
    for level in around {
        let mut pair = [*level.left, *level.right];
        pair.sort_by_key(|p| p.dimension.abs_diff(n));
        rows.extend(pair);
    }
    rows.dedup();
    rows
}

/// The rows of one level and kind of secret, by rising dimension.
struct Curve {
    secret: SecretKind,
    lambda: f64,
    points: Vec<CurvePoint>,
}

static TABLE: LazyLock<Vec<Curve>> = LazyLock::new(|| {
    let mut curves: Vec<Curve> = Vec::new();
    let mut add = |file: &str, parse: fn(&str) -> Option<(SecretKind, CurvePoint, bool)>| {
        let (_header, rows) = file
            .split_once('\n')
            .expect("the bundled table has a header");
        for row in rows.lines() {
            let (secret, point, valid) =
                parse(row).unwrap_or_else(|| panic!("the bundled table has a bad row: {row}"));
            if valid {
                add_point(&mut curves, secret, point);
            }
        }
    };
    add(include_str!("../data/curve.csv"), parse_row);
    add(
        include_str!("../data/curve-block-binary.csv"),
        parse_sparse_row,
    );
    curves.sort_by(|a, b| a.lambda.total_cmp(&b.lambda));
    curves
});

/// A row of `lambda,n,block_size,log2_sigma_over_q_min,limiting_attack,…`.
fn parse_sparse_row(row: &str) -> Option<(SecretKind, CurvePoint, bool)> {
    let fields: Vec<&str> = row.trim_end().split(',').collect();
    let &[lambda, n, block_size, log2_sigma, attack, _, _, _, _] = fields.as_slice() else {
        return None;
    };
    let one_in = block_size.parse::<u32>().ok()?.checked_add(1)?;
    let point = CurvePoint {
        lambda: lambda.parse().ok()?,
        dimension: n.parse().ok()?,
        log2_sigma: log2_sigma.parse().ok()?,
        attack: Attack::by_name(attack)?,
    };
    Some((SecretKind::Sparse { one_in }, point, true))
}

/// A row of `lambda,n,q_log2,secret,log2_sigma_over_q_min,limiting_attack,…,valid`.
fn parse_row(row: &str) -> Option<(SecretKind, CurvePoint, bool)> {
    let fields: Vec<&str> = row.trim_end().split(',').collect();
    let &[lambda, n, _, secret, log2_sigma, attack, .., valid] = fields.as_slice() else {
        return None;
    };
    let secret = match secret {
        "binary" => SecretKind::Binary,
        "ternary" => SecretKind::Ternary,
        _ => return None,
    };
    let point = CurvePoint {
        lambda: lambda.parse().ok()?,
        dimension: n.parse().ok()?,
        log2_sigma: log2_sigma.parse().ok()?,
        attack: Attack::by_name(attack)?,
    };
    match valid {
        "1" => Some((secret, point, true)),
        "0" => Some((secret, point, false)),
        _ => None,
    }
}

/// Puts a row in its curve; of two rows with the same dimension the larger noise stays.
fn add_point(curves: &mut Vec<Curve>, secret: SecretKind, point: CurvePoint) {
    let same = |c: &Curve| c.secret == secret && c.lambda == point.lambda;
    let index = curves.iter().position(same).unwrap_or_else(|| {
        curves.push(Curve {
            secret,
            lambda: point.lambda,
            points: Vec::new(),
        });
        curves.len() - 1
    });
    let points = &mut curves[index].points;
    match points.binary_search_by_key(&point.dimension, |p| p.dimension) {
        Ok(at) if points[at].log2_sigma < point.log2_sigma => points[at] = point,
        Ok(_) => {}
        Err(at) => points.insert(at, point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_below_one_integer_of_noise_are_dropped() {
        let rows: usize = TABLE.iter().map(|curve| curve.points.len()).sum();
        assert_eq!(TABLE.len(), 9 + 8);
        assert!(
            TABLE
                .iter()
                .flat_map(|c| &c.points)
                .all(|p| p.log2_sigma > -105.1)
        );
        // (80, 2048) exists at q = 2^64 (dropped) and at q = 2^128.
        let point = minimal_log2_sigma(80.0, 2048, SecretKind::Binary);
        assert_eq!(point, Ok(-82.16747));
        assert!(rows > 100, "{rows}");
    }

    #[test]
    fn of_two_rows_the_larger_noise_counts() {
        // (112, 600): -15.08526 at q = 2^32, -15.06268 at q = 2^64.
        let point = minimal_log2_sigma(112.0, 600, SecretKind::Binary);
        assert_eq!(point, Ok(-15.06268));
    }

    #[test]
    fn bad_rows_are_refused() {
        assert!(parse_row("128,512,64,binary,-10.5,dual_hybrid,1").is_some());
        for row in [
            "",
            "128,512,64,binary,-10.5,dual_hybrid",
            "128,512,64,gaussian,-10.5,dual_hybrid,1",
            "128,512,64,binary,-10.5,luck,1",
            "128,512,64,binary,-10.5,dual_hybrid,2",
            "128,x,64,binary,-10.5,dual_hybrid,1",
        ] {
            assert!(parse_row(row).is_none(), "{row}");
        }
        assert!(parse_sparse_row("128,512,2,-10.4,dual_hybrid,128.1,1,1,1").is_some());
        for row in [
            "",
            "128,512,x,-10.4,dual_hybrid,128.1,1,1,1",
            "128,512,2,-10.4,dual_hybrid",
        ] {
            assert!(parse_sparse_row(row).is_none(), "{row}");
        }
    }
}
