//! Functions of two numbers, row by row: scalar products, covariances and correlations.
//!
//! A server computes sums, and the key owner divides. A scalar product with clear numbers is a weighted sum of rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use tfhe_sbc_engine::integer::carry_bits;

use crate::answer::{Computable, Form};
use crate::computed::Computed;
use crate::decimal::{self, Decoder};
use crate::encoding::bits_of;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::Op;
use crate::number::Number;
use crate::optional::OptionalNumber;

/// A measure of the values that two numbers have in the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMeasure {
    /// The sum of the products of the differences to the means, divided by the number of rows, or by one less if they are a
    /// sample.
    Covariance {
        /// The rows are a sample.
        sample: bool,
    },
    /// The covariance divided by both standard deviations: Pearson's coefficient, from -1 to 1.
    Correlation,
    /// The sum of the products.
    Dot,
}

/// Sums of the codes of two numbers over the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSums {
    /// The number of rows.
    pub rows: u32,
    /// The sum of the codes of each number.
    pub sums: [u128; 2],
    /// The sum of the products of codes.
    pub products: u128,
    /// The sums of the squares of codes, which a correlation needs.
    pub squares: Option<[u128; 2]>,
}

impl PairSums {
    /// Returns the sums in the order of [`Number::pair_sums`]; `None` of another number of sums.
    pub fn read(rows: u32, sums: &[u128]) -> Option<Self> {
        let (&[a, b, products], squares) = sums.split_first_chunk::<3>()?;
        let squares = match *squares {
            [] => None,
            [a, b] => Some([a, b]),
            _ => return None,
        };
        Some(Self {
            rows,
            sums: [a, b],
            products,
            squares,
        })
    }
}

/// Returns `rows·products - a·b`, which is rows² times the covariance of codes; `None` if it does not fit.
fn covariance_numerator(rows: u32, products: u128, a: u128, b: u128) -> Option<i128> {
    let first = i128::try_from(products.checked_mul(rows.into())?).ok()?;
    first.checked_sub(i128::try_from(a.checked_mul(b)?).ok()?)
}

impl PairMeasure {
    /// Returns whether it needs sums of squares.
    pub fn needs_squares(self) -> bool {
        self == Self::Correlation
    }

    /// The fewest rows that it has a value of.
    pub fn least_rows(self) -> u32 {
        match self {
            Self::Covariance { sample: true } | Self::Correlation => 2,
            Self::Covariance { sample: false } | Self::Dot => 1,
        }
    }

    /// Returns the measure of numbers with these decoders; `None` if no numbers have such sums. The inner value is `None` if
    /// there is no measure: of too few rows, or a correlation with a number that is the same in all rows.
    pub fn of_sums(self, decoders: [&Decoder; 2], of: &PairSums) -> Option<Option<f64>> {
        let PairSums {
            rows,
            sums: [a, b],
            products,
            squares,
        } = *of;
        if rows < self.least_rows() {
            return Some(None);
        }
        let numerator = covariance_numerator(rows, products, a, b)?;
        Some(match self {
            Self::Dot => Some(decoders[0].dot(decoders[1], rows, [a, b], products)),
            Self::Covariance { sample } => {
                let divisor = u128::from(rows - u32::from(sample));
                let denominator = u128::from(rows) * divisor;
                Some(decoders[0].covariance(decoders[1], numerator, denominator))
            }
            Self::Correlation => {
                let [a_squares, b_squares] = squares?;
                let of_a = u128::try_from(covariance_numerator(rows, a_squares, a, a)?).ok()?;
                let of_b = u128::try_from(covariance_numerator(rows, b_squares, b, b)?).ok()?;
                let spread = (of_a as f64 * of_b as f64).sqrt();
                (spread > 0.0).then(|| (numerator as f64 / spread).clamp(-1.0, 1.0))
            }
        })
    }
}

/// A [measure](PairMeasure) of two numbers; it is [missing](crate::Value::Missing) if there are too few rows, or if one of the numbers
/// of a correlation is the same in all rows.
#[derive(Clone, Debug)]
pub struct PairStatistic {
    parts: Vec<Computed>,
    form: Form,
}

impl Computable for PairStatistic {
    fn parts(&self) -> Vec<Computed> {
        self.parts.clone()
    }

    fn form(&self) -> Form {
        self.form
    }
}

/// The sums of two numbers: those of the codes of each, that of their products and, if they are asked for, those of the squares of
/// each.
fn sums_of(a: &Number, b: &Number, squares: bool) -> Result<Vec<Number>, Error> {
    let products = a.sum_of_code_products(b)?;
    if Arc::ptr_eq(&a.node, &b.node) {
        let squares = if squares { 2 } else { 0 };
        let mut sums = vec![a.sum(); 2];
        sums.resize(3 + squares, products);
        return Ok(sums);
    }
    let mut sums = vec![a.sum(), b.sum(), products];
    if squares {
        sums.extend([a.sum_of_squared_codes(), b.sum_of_squared_codes()]);
    }
    Ok(sums)
}

/// The codes of clear numbers, or of some of their rows; `None` of others.
fn clear_codes(number: &Number) -> Option<Vec<u64>> {
    match &*number.node.op() {
        Op::Public(codes) => Some(codes.clone()),
        Op::Take { of, rows } => match &*of.op() {
            Op::Public(codes) => Some(rows.iter().map(|&row| codes[row]).collect()),
            _ => None,
        },
        _ => None,
    }
}

/// The number of rows that sums are over.
enum Rows {
    Known(usize),
    Encrypted(Number),
}

/// The scalar product of two numbers, from the sums of the codes of each and that of their products.
fn dot_of([a, b]: [&Number; 2], sums: &[Number], rows: Rows) -> Result<Number, Error> {
    let [of_a, of_b, products, ..] = sums else {
        return Err(Error::NoRows);
    };
    let in_steps = |sum: &Number, scale: f64| Number {
        offset: 0.0,
        scale,
        ..sum.clone()
    };
    let products = in_steps(products, decimal::product(a.scale, b.scale));
    let (of_a, of_b) = (in_steps(of_a, a.scale), in_steps(of_b, b.scale));
    let offsets = decimal::product(a.offset, b.offset);
    let mut terms = vec![(&products, 1.0)];
    let mut constant = 0.0;
    match &rows {
        Rows::Known(rows) => constant = decimal::product(offsets, *rows as f64),
        Rows::Encrypted(count) => terms.push((count, offsets)),
    }
    for (number, sum, weight) in [(a, &of_a, b.offset), (b, &of_b, a.offset)] {
        match clear_codes(number) {
            Some(codes) => {
                let sum: f64 = codes.iter().map(|code| *code as f64).sum();
                let sum = decimal::product(number.scale, sum);
                constant = decimal::sum(constant, decimal::product(sum, weight));
            }
            None => terms.push((sum, weight)),
        }
    }
    terms.retain(|(_, weight)| *weight != 0.0);
    Number::linear(&terms, constant)
}

/// Rows, and what they are multiplied by.
type Weighted = (Vec<usize>, i64);

/// Returns groups of rows whose sums, times a factor each, add up to the rows times their weights. The factors are the weights if few are
/// different, else digits of weights at their places: each row has a few digits, and there are fifteen factors to a place.
fn weighted_groups(weights: &[u64]) -> Result<Vec<Weighted>, Error> {
    /// The largest number of weights that have a sum each.
    const FEW: usize = 16;
    const DIGIT_BITS: u32 = 4;
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (row, &weight) in weights.iter().enumerate() {
        groups.entry(weight).or_default().push(row);
    }
    groups.remove(&0);
    if groups.len() > FEW {
        let mut digits: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (row, &weight) in weights.iter().enumerate() {
            for place in (0..u64::BITS).step_by(DIGIT_BITS as usize) {
                let digit = weight & (0xf << place);
                if digit != 0 {
                    digits.entry(digit).or_default().push(row);
                }
            }
        }
        groups = digits;
    }
    let groups = groups.into_iter().map(|(factor, rows)| {
        let factor = i64::try_from(factor).map_err(|_| Error::TooWide)?;
        Ok((rows, factor))
    });
    groups.collect()
}

impl Number {
    /// Checks that another number has as many rows.
    fn check_rows_of(&self, other: &Self) -> Result<(), Error> {
        self.backend.check_same(&other.backend)?;
        match (self.rows(), other.rows()) {
            (a, b) if a == b => Ok(()),
            _ => Err(Error::Rows(self.row_count(), other.row_count())),
        }
    }

    /// Returns clear numbers with a step of their own, one for each of this one's rows.
    ///
    /// # Errors
    /// Another number of values than rows, values that are not finite, and values of more than 12 decimals or 52 bits.
    pub fn clear(&self, values: &[f64]) -> Result<Self, Error> {
        if values.len() != self.row_count() {
            return Err(Error::Rows(self.row_count(), values.len()));
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite);
        }
        let decimals = values.iter().map(|value| decimal::decimals(*value));
        let decimals: Option<Vec<usize>> = decimals.collect();
        let decimals = decimals.ok_or(Error::Decimals)?.into_iter().max();
        let step = decimal::rounded(0.1f64.powi(decimals.unwrap_or(0) as i32), decimals);
        // Weights from 0 on need no sum of the rows beside the weighted one.
        let lowest = values.iter().copied().fold(0.0, f64::min);
        let of = Self {
            offset: lowest,
            scale: step,
            ..self.clone()
        };
        of.public(values)
    }

    /// The sum over the rows of the product of this one's code and that of another number, as a whole number. If the other one is
    /// [clear](Self::clear), it is a weighted sum.
    ///
    /// # Errors
    /// Numbers that do not belong together, and weighted sums of more than 52 bits.
    pub fn sum_of_code_products(&self, other: &Self) -> Result<Self, Error> {
        self.check_rows_of(other)?;
        if Arc::ptr_eq(&self.node, &other.node) {
            return Ok(self.sum_of_squared_codes());
        }
        if let Some(weights) = clear_codes(other) {
            return self.weighted_sum_of_codes(&weights);
        }
        if let Some(weights) = clear_codes(self) {
            return other.weighted_sum_of_codes(&weights);
        }
        let bits = self.bits() + other.bits() + carry_bits(self.row_count());
        let op = Op::SumOfProducts(self.node(), other.node());
        Ok(Self::counting(&self.backend, None, bits, op))
    }

    /// The sum of the rows' codes times clear whole numbers.
    fn weighted_sum_of_codes(&self, weights: &[u64]) -> Result<Self, Error> {
        let codes = Self {
            offset: 0.0,
            scale: 1.0,
            ..self.clone()
        };
        let groups = weighted_groups(weights)?;
        if groups.is_empty() {
            let zero = Op::Public(vec![0]);
            return Ok(Self::counting(&self.backend, None, 1, zero));
        }
        let sum = |(rows, factor): &Weighted| {
            let sum = match rows.len() == codes.row_count() {
                true => codes.sum(),
                false => codes.take(rows)?.sum(),
            };
            Ok((sum, *factor))
        };
        let sums = groups.iter().map(sum).collect::<Result<Vec<_>, Error>>()?;
        // The largest that it can be, which is less than what the sums of the groups have room for.
        let total = weights
            .iter()
            .try_fold(0u64, |sum, weight| sum.checked_add(*weight));
        let most = 1u64.checked_shl(self.bits()).filter(|codes| *codes > 0);
        let most = most
            .zip(total)
            .and_then(|(codes, total)| total.checked_mul(codes - 1));
        let bits = bits_of(most.ok_or(Error::TooWide)?);
        let terms = sums.iter().map(|(sum, factor)| (sum.node(), *factor));
        let op = Op::Linear {
            terms: terms.collect(),
            shift: 0,
        };
        Ok(Self::counting(&self.backend, None, bits, op))
    }

    /// The sum of the products of this number and another one, row by row: their scalar product. It takes few bootstraps or none if the
    /// other one is [clear](Self::clear) and this one is of compact columns.
    ///
    /// # Errors
    /// Numbers that do not belong together, and results of more than 52 bits.
    pub fn dot(&self, other: &Self) -> Result<Self, Error> {
        let sums = sums_of(self, other, false)?;
        dot_of([self, other], &sums, Rows::Known(self.row_count()))
    }

    /// The sums that give a [measure](PairMeasure): of the codes of each number, of the products of codes and, if it needs them, of the
    /// squares of each.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn pair_sums(&self, other: &Self, measure: PairMeasure) -> Result<Vec<Self>, Error> {
        sums_of(self, other, measure.needs_squares())
    }

    /// A [measure](PairMeasure) of this number and another one.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn paired(&self, other: &Self, measure: PairMeasure) -> Result<PairStatistic, Error> {
        let sums = self.pair_sums(other, measure)?;
        Ok(PairStatistic {
            parts: sums.into_iter().map(Computed::Number).collect(),
            form: Form::Pair {
                decoders: [self, other].map(|number| Decoder::new(number.offset, number.scale)),
                rows: Some(u32::try_from(self.row_count()).unwrap_or(u32::MAX)),
                measure,
            },
        })
    }

    /// The covariance with another number, over one less than the number of rows.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn cov(&self, other: &Self) -> Result<PairStatistic, Error> {
        self.paired(other, PairMeasure::Covariance { sample: true })
    }

    /// The correlation with another number: Pearson's coefficient.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn corr(&self, other: &Self) -> Result<PairStatistic, Error> {
        self.paired(other, PairMeasure::Correlation)
    }
}

impl OptionalNumber {
    /// The number of rows in which both have a number, and the numbers of these rows; the codes of others are 0 or left out.
    fn both(&self, other: &Self) -> Result<(Number, [Number; 2]), Error> {
        self.number().check_rows_of(other.number())?;
        let valid = Mask::all_of(&[self.notna(), other.notna()])?;
        let kept = |number: &Number| Self::new(number.clone(), valid.clone())?.kept();
        let a = kept(self.number())?;
        let b = match Arc::ptr_eq(&self.number().node, &other.number().node) {
            true => a.clone(),
            false => kept(other.number())?,
        };
        Ok((valid.count(), [a, b]))
    }

    /// The number of rows in which both have a number and, for a [measure](PairMeasure), the sums over these rows: of the codes of each, of the
    /// products of codes and, if it needs them, of the squares of each.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn pair_sums(&self, other: &Self, measure: PairMeasure) -> Result<Vec<Number>, Error> {
        let (count, [a, b]) = self.both(other)?;
        let mut sums = vec![count];
        sums.extend(sums_of(&a, &b, measure.needs_squares())?);
        Ok(sums)
    }

    /// The sum of the products of this number and another one over the rows in which both are there; 0 if there are none.
    ///
    /// # Errors
    /// Numbers that do not belong together, and results of more than 52 bits.
    pub fn dot(&self, other: &Self) -> Result<Number, Error> {
        let (count, [a, b]) = self.both(other)?;
        let sums = sums_of(&a, &b, false)?;
        let kept = |of: &Number, rows: &Number| Number {
            node: rows.node(),
            ..of.clone()
        };
        let numbers = [kept(self.number(), &a), kept(other.number(), &b)];
        dot_of([&numbers[0], &numbers[1]], &sums, Rows::Encrypted(count))
    }

    /// A [measure](PairMeasure) of this number and another one over the rows in which both are there.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn paired(&self, other: &Self, measure: PairMeasure) -> Result<PairStatistic, Error> {
        let sums = self.pair_sums(other, measure)?;
        let decoder = |number: &Number| Decoder::new(number.offset, number.scale);
        Ok(PairStatistic {
            parts: sums.into_iter().map(Computed::Number).collect(),
            form: Form::Pair {
                decoders: [self, other].map(|of| decoder(of.number())),
                rows: None,
                measure,
            },
        })
    }

    /// The covariance with another number, over one less than the number of rows in which both are there.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn cov(&self, other: &Self) -> Result<PairStatistic, Error> {
        self.paired(other, PairMeasure::Covariance { sample: true })
    }

    /// The correlation with another number over the rows in which both are there: Pearson's coefficient.
    ///
    /// # Errors
    /// Numbers that do not belong together.
    pub fn corr(&self, other: &Self) -> Result<PairStatistic, Error> {
        self.paired(other, PairMeasure::Correlation)
    }
}
