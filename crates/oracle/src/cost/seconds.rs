//! The terms of the model, and the seconds of a unit of each.

use serde::{Deserialize, Serialize};

/// The sizes in MiB of working sets between which the price of a byte is interpolated.
pub const WORKING_SETS: [f64; 4] = [8.0, 32.0, 96.0, 160.0];

/// The log2 of [`WORKING_SETS`].
const PLACES: [f64; WORKING_SETS.len()] = [3.0, 5.0, 6.584_962_500_721_156, 7.321_928_094_887_363];

/// A price for each of [`WORKING_SETS`].
pub type ByWorkingSet = [f64; WORKING_SETS.len()];

/// The terms of the model: the seconds of a unit of each, or the amount of each in a bootstrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Transforms, in seconds of the same transforms by themselves, so that the price is a factor.
    pub transform: f64,
    /// Complex multiply-adds, by half a point: of a digit and a key's polynomial, or of a bit's
    /// sum and its factor.
    pub multiply_add: f64,
    /// Factors `X^a - 1` and digits read again, by half a point.
    pub factor: f64,
    /// The bytes of the bootstrapping key, by their number.
    pub key_byte: ByWorkingSet,
    /// Coefficients of accumulators, made and extracted.
    pub coefficient: f64,
    /// Steps after which the threads that share a ciphertext synchronise.
    pub meeting: f64,
    /// Coefficients of digits that such a thread reads from the others.
    pub exchange: f64,
    /// Transforms of key switches, likewise, with the products between them.
    pub switch_transform: f64,
}

/// The number of scalars in [`Terms`].
pub const TERMS: usize = 11;

impl Terms {
    /// All scalars, in the order of the fields.
    pub fn to_array(&self) -> [f64; TERMS] {
        let [a, b, c, d] = self.key_byte;
        [
            self.transform,
            self.multiply_add,
            self.factor,
            a,
            b,
            c,
            d,
            self.coefficient,
            self.meeting,
            self.exchange,
            self.switch_transform,
        ]
    }

    /// Makes the terms of all scalars, in the order of the fields.
    pub fn from_array(terms: [f64; TERMS]) -> Self {
        let [
            transform,
            multiply_add,
            factor,
            a,
            b,
            c,
            d,
            coefficient,
            meeting,
            exchange,
            switch_transform,
        ] = terms;
        Self {
            transform,
            multiply_add,
            factor,
            key_byte: [a, b, c, d],
            coefficient,
            meeting,
            exchange,
            switch_transform,
        }
    }
}

/// The sum of products.
pub(super) fn dot(amounts: &ByWorkingSet, prices: &ByWorkingSet) -> f64 {
    amounts.iter().zip(prices).map(|(a, b)| a * b).sum()
}

/// Divides `amount` between the two entries of [`WORKING_SETS`] that `bytes` lies between.
pub(super) fn by_working_set(amount: f64, bytes: usize) -> ByWorkingSet {
    let mut shares = [0.0; WORKING_SETS.len()];
    let place = (bytes as f64 / f64::from(1 << 20)).log2();
    let last = WORKING_SETS.len() - 1;
    for low in 0..last {
        let [from, to] = [PLACES[low], PLACES[low + 1]];
        if place <= to || low + 1 == last {
            let beyond = ((place - from) / (to - from)).clamp(0.0, 1.0);
            shares[low] = amount * (1.0 - beyond);
            shares[low + 1] = amount * beyond;
            break;
        }
    }
    shares
}
