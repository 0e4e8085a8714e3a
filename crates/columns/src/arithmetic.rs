//! Arithmetic on encrypted numbers.

use std::sync::Arc;

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::cuts::slack;

use crate::decimal;
use crate::encoding::{bits_of, weighted_sum};
use crate::error::Error;
use crate::node::{Node, Op};
use crate::number::{Number, Operand, common_rows};

impl Number {
    /// Returns `factor·self + constant`, which takes no bootstrap if the factor is positive.
    ///
    /// # Errors
    /// A factor of 0, operands that are not finite, and results that have no encoding.
    pub fn affine(&self, factor: f64, constant: f64) -> Result<Self, Error> {
        if !factor.is_finite() || !constant.is_finite() {
            return Err(Error::NotFinite);
        }
        let mut result = if factor < 0.0 {
            weighted_sum(&[(self, factor)], 0.0, &self.backend, self.node.rows)?
        } else {
            Self {
                backend: Arc::clone(&self.backend),
                node: self.node(),
                offset: decimal::product(self.offset, factor),
                scale: decimal::product(self.scale, factor),
            }
        };
        result.offset = decimal::sum(result.offset, constant);
        FixedPoint::new(result.offset, result.scale, 1).map_err(Error::Encoding)?;
        Ok(result)
    }

    /// Returns `Σ weight·number + constant` of one number or more; no weight is 0.
    ///
    /// # Errors
    /// Operands that do not belong together, and results that have no encoding.
    pub fn linear(terms: &[(&Self, f64)], constant: f64) -> Result<Self, Error> {
        let (first, others) = match terms {
            [] => return Err(Error::NoRows),
            [(only, weight)] => return only.affine(*weight, constant),
            [(first, _), others @ ..] => (first, others),
        };
        if terms.iter().any(|(_, weight)| !weight.is_finite()) || !constant.is_finite() {
            return Err(Error::NotFinite);
        }
        for (other, _) in others {
            first.backend.check_same(&other.backend)?;
        }
        let nodes: Vec<&Node> = terms.iter().map(|(number, _)| &*number.node).collect();
        let rows = common_rows(&nodes)?;
        weighted_sum(terms, constant, &first.backend, rows)
    }

    /// Returns `constant + step·Σ factor·code` of the codes of one number or more: a weighted sum whose weights
    /// were rounded by whoever asks for it, so that they need no common step of their own. The step is positive,
    /// and terms whose factor is 0 are left out.
    ///
    /// # Errors
    /// Operands that do not belong together, factors that are all 0, and results that have no encoding.
    pub fn combined_codes(terms: &[(&Self, i64)], step: f64, constant: f64) -> Result<Self, Error> {
        let kept = terms.iter().filter(|(_, factor)| *factor != 0);
        let terms: Vec<(&Self, i64)> = kept.copied().collect();
        let (first, others) = terms.split_first().ok_or(Error::ZeroFactor)?;
        for (other, _) in others {
            first.0.backend.check_same(&other.backend)?;
        }
        let nodes: Vec<&Node> = terms.iter().map(|(number, _)| &*number.node).collect();
        let rows = common_rows(&nodes)?;
        let (mut largest, mut lowest) = (0i128, 0i128);
        for (number, factor) in &terms {
            let most = (1i128 << number.node.bits().min(64)) - 1;
            largest += most * i128::from(factor.unsigned_abs());
            lowest += most * i128::from((*factor).min(0));
        }
        let bits = bits_of(u64::try_from(largest).map_err(|_| Error::TooWide)?);
        let offset = constant + step * lowest as f64;
        FixedPoint::new(offset, step, bits).map_err(Error::Encoding)?;
        let terms = terms.iter();
        let terms = terms.map(|(number, factor)| (number.node(), *factor));
        let op = Op::Linear {
            terms: terms.collect(),
            shift: 0,
        };
        Ok(Self {
            offset,
            scale: step,
            ..first.0.made(rows, bits, op)
        })
    }

    /// Returns `self + weight·other`, where the weight is not 0.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn add_weighted(&self, other: &Self, weight: f64) -> Result<Self, Error> {
        Self::linear(&[(self, 1.0), (other, weight)], 0.0)
    }

    /// Returns `self + other`.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn plus<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(value) => self.affine(1.0, value),
            Operand::Encrypted(other) => self.add_weighted(other, 1.0),
        }
    }

    /// Returns `self - other`.
    ///
    /// # Errors
    /// As [`linear`](Self::linear).
    pub fn minus<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(value) => self.affine(1.0, -value),
            Operand::Encrypted(other) => self.add_weighted(other, -1.0),
        }
    }

    /// Returns `self·other`. A clear factor takes no bootstrap if it is positive.
    ///
    /// # Errors
    /// A clear factor of 0, operands that do not belong together, and results of more than 52 bits.
    pub fn times<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, Error> {
        match other.into() {
            Operand::Clear(0.0) => Err(Error::ZeroFactor),
            Operand::Clear(factor) => self.affine(factor, 0.0),
            Operand::Encrypted(other) => self.product(other),
        }
    }

    fn product(&self, other: &Self) -> Result<Self, Error> {
        self.backend.check_same(&other.backend)?;
        let rows = common_rows(&[&self.node, &other.node])?;
        let bits = self.node.bits() + other.node.bits();
        // (o + s·c)·(o' + s'·c'), whose code is c·c' where both offsets are 0.
        let product = Self {
            offset: 0.0,
            scale: decimal::product(self.scale, other.scale),
            ..self.made(rows, bits, Op::Product(self.node(), other.node()))
        };
        product.encoding().map_err(|_| Error::TooWide)?;
        let without_offset = |number: &Self| Self {
            offset: 0.0,
            ..number.clone()
        };
        let (a, b) = (without_offset(self), without_offset(other));
        let parts = [(&product, 1.0), (&a, other.offset), (&b, self.offset)];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
            .collect();
        let mut result = match parts[..] {
            [_] => product,
            _ => weighted_sum(&parts, 0.0, &self.backend, rows)?,
        };
        let constant = decimal::product(self.offset, other.offset);
        result.offset = decimal::sum(result.offset, constant);
        Ok(result)
    }

    /// Returns clear numbers of this one's step, one for each of its rows.
    ///
    /// # Errors
    /// No values, values that are not finite, and values between two steps.
    pub fn public(&self, values: &[f64]) -> Result<Self, Error> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite);
        }
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        // On the grid of this one's encoding.
        let below = ((self.offset - lowest) / self.scale).ceil().max(0.0);
        let below = decimal::product(below, self.scale);
        let offset = decimal::sum(self.offset, -below);
        let code = |value: &f64| {
            let steps = (value - offset) / self.scale;
            let code = steps.round();
            if (steps - code).abs() > slack(*value, offset, self.scale) {
                return Err(Error::NoMultiple(self.scale));
            }
            match code < (1u64 << 52) as f64 {
                true => Ok(code as u64),
                false => Err(Error::TooWide),
            }
        };
        let codes = values.iter().map(code).collect::<Result<Vec<u64>, _>>()?;
        let bits = bits_of(codes.iter().copied().max().unwrap_or(0));
        Ok(Self {
            offset,
            ..self.made(Some(codes.len()), bits, Op::Public(codes))
        })
    }
}
