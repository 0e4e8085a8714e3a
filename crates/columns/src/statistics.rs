//! Means and measures of spread: a server computes sums, and the key owner divides.

use tfhe_sbc_engine::analytics::moments::variance_numerator;

use crate::computed::Computed;
use crate::decimal::Decoder;
use crate::number::Number;

/// A measure of how far values are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The values are a sample: squares are divided by one less than the number of values.
    pub sample: bool,
    /// The root is asked for.
    pub root: bool,
}

impl Spread {
    /// Returns the measure of `rows` numbers, from the sum of their codes and that of the squares
    /// of the codes; `None` if no numbers have such sums.
    pub fn of_sums(self, decoder: &Decoder, rows: u32, sum: u128, squares: u128) -> Option<f64> {
        let numerator = variance_numerator(rows as usize, sum, squares)?;
        let divisor = u128::from(rows).checked_sub(u128::from(self.sample))?;
        let denominator = u128::from(rows) * divisor;
        if denominator == 0 {
            return None;
        }
        let variance = decoder.variance(numerator, denominator);
        Some(match self.root {
            true => variance.sqrt(),
            false => variance,
        })
    }
}

/// A mean or a measure of spread of the rows of a number. It is computed as sums.
#[derive(Clone, Debug)]
pub struct Statistic {
    pub(crate) parts: Vec<Computed>,
    pub(crate) decoder: Decoder,
    pub(crate) rows: u32,
    /// The measure of spread; `None` for the mean.
    pub(crate) spread: Option<Spread>,
}

impl Statistic {
    fn of(number: &Number, spread: Option<Spread>) -> Self {
        let sum = Computed::Number(number.sum());
        let squares = spread.map(|_| Computed::Number(number.sum_of_squared_codes()));
        Self {
            parts: [sum].into_iter().chain(squares).collect(),
            decoder: Decoder::new(number.offset(), number.scale()),
            rows: u32::try_from(number.row_count()).unwrap_or(u32::MAX),
            spread,
        }
    }
}

impl Number {
    /// The mean of the rows.
    pub fn mean(&self) -> Statistic {
        Statistic::of(self, None)
    }

    /// A measure of how far the rows are from each other. A sample of one row has none.
    pub fn spread(&self, spread: Spread) -> Statistic {
        Statistic::of(self, Some(spread))
    }

    /// The mean square of the differences of the rows to their mean.
    pub fn variance(&self) -> Statistic {
        self.spread(Spread {
            sample: false,
            root: false,
        })
    }

    /// The root of the [`variance`](Self::variance).
    pub fn std(&self) -> Statistic {
        self.spread(Spread {
            sample: false,
            root: true,
        })
    }
}
