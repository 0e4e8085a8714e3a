//! Reductions of numbers some of whose rows are missing.

use super::OptionalNumber;
use crate::answer::{Computable, Form};
use crate::computed::Computed;
use crate::decimal::Decoder;
use crate::error::Error;
use crate::node::Op;
use crate::number::Number;
use crate::statistics::Spread;

/// A mean, a measure of spread or an extreme of the values that are there; it is [missing](crate::Value::Missing) if there are
/// too few.
#[derive(Clone, Debug)]
pub struct OptionalStatistic {
    parts: Vec<Computed>,
    form: Form,
}

impl Computable for OptionalStatistic {
    fn parts(&self) -> Vec<Computed> {
        self.parts.clone()
    }

    fn form(&self) -> Form {
        self.form
    }
}

impl OptionalNumber {
    /// The numbers in the rows that have one, and 0 or nothing for the others. Rows that are known to have none are left out,
    /// which costs nothing, unless all are.
    pub(crate) fn kept(&self) -> Result<Number, Error> {
        match self.present()? {
            Some(present) => Ok(Number {
                offset: 0.0,
                ..present
            }),
            None => self.number.keep(&self.valid),
        }
    }

    /// Returns the numbers of the rows that are known to have one; `None` if nobody knows which have, or none has.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn present(&self) -> Result<Option<Number>, Error> {
        let Op::Public(flags) = &*self.valid.node.op() else {
            return Ok(None);
        };
        let places = flags.iter().enumerate().filter(|(_, flag)| **flag == 1);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        match places.is_empty() {
            true => Ok(None),
            false => self.number.take(&places).map(Some),
        }
    }

    /// Returns which rows have a number, if that is no secret.
    pub fn known_rows(&self) -> Option<Vec<bool>> {
        self.valid.known()
    }

    /// The number of rows that have a number.
    pub fn count(&self) -> Number {
        self.valid.count()
    }

    /// The sum of the codes of the numbers that are there.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn sum_of_codes(&self) -> Result<Number, Error> {
        Ok(self.kept()?.sum())
    }

    /// The sum of the squares of the codes of the numbers that are there.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn sum_of_squared_codes(&self) -> Result<Number, Error> {
        Ok(self.kept()?.sum_of_squared_codes())
    }

    /// The sum of the numbers that are there; 0 if there are none.
    ///
    /// # Errors
    /// An offset that has no common step with the scale, and sums of more than 52 bits.
    pub fn sum(&self) -> Result<Number, Error> {
        let codes = self.sum_of_codes()?;
        match self.number.offset {
            0.0 => Ok(codes),
            offset => codes.add_weighted(&self.count(), offset),
        }
    }

    fn counted(&self, spread: Option<Spread>) -> Result<OptionalStatistic, Error> {
        let squares = spread.map(|_| self.sum_of_squared_codes()).transpose()?;
        let parts = [self.count(), self.sum_of_codes()?].into_iter();
        let decoder = Decoder::new(self.number.offset, self.number.scale);
        Ok(OptionalStatistic {
            parts: parts.chain(squares).map(Computed::Number).collect(),
            form: Form::Counted(decoder, spread),
        })
    }

    /// The mean of the numbers that are there.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn mean(&self) -> Result<OptionalStatistic, Error> {
        self.counted(None)
    }

    /// A measure of how far the numbers that are there are from each other. A sample of one has none.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn spread(&self, spread: Spread) -> Result<OptionalStatistic, Error> {
        self.counted(Some(spread))
    }

    /// The mean square of the differences of the numbers that are there to their mean.
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn variance(&self) -> Result<OptionalStatistic, Error> {
        self.spread(Spread {
            sample: false,
            root: false,
        })
    }

    /// The root of the [`variance`](Self::variance).
    ///
    /// # Errors
    /// None, but that is left open.
    pub fn std(&self) -> Result<OptionalStatistic, Error> {
        self.spread(Spread {
            sample: false,
            root: true,
        })
    }

    /// The smallest or the largest of [`marked`](Self::marked) codes, whose mark is `largest` if there is one.
    ///
    /// # Errors
    /// Codes of too many bits.
    pub fn marked_extreme(&self, largest: bool) -> Result<Number, Error> {
        let marked = self.marked(largest)?;
        Ok(match largest {
            true => marked.max(),
            false => marked.min(),
        })
    }

    fn extreme(&self, largest: bool) -> Result<OptionalStatistic, Error> {
        let (offset, scale) = (self.number.offset, self.number.scale);
        Ok(OptionalStatistic {
            parts: vec![Computed::Number(self.marked_extreme(largest)?)],
            form: Form::Marked {
                decoder: Decoder::new(offset, scale),
                bits: self.number.bits(),
                present: largest,
            },
        })
    }

    /// The smallest of the numbers that are there.
    ///
    /// # Errors
    /// Codes of too many bits.
    pub fn min(&self) -> Result<OptionalStatistic, Error> {
        self.extreme(false)
    }

    /// The largest of the numbers that are there.
    ///
    /// # Errors
    /// Codes of too many bits.
    pub fn max(&self) -> Result<OptionalStatistic, Error> {
        self.extreme(true)
    }

    /// The numbers of rows with a number from each edge up to but without the next. If `closed`, the last edge belongs to the
    /// last bin.
    ///
    /// # Errors
    /// Edges that do not increase, or fewer than two.
    pub fn histogram(&self, edges: &[f64], closed: bool) -> Result<Number, Error> {
        if let Some(present) = self.present()? {
            return present.histogram(edges, closed);
        }
        // Codes with a mark are above all bins.
        let marked = self.marked(false)?.node();
        self.number.histogram_of(marked, edges, closed)
    }
}
