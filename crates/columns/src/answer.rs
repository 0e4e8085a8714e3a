//! Computed values on their way to the key owner.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::wire::WireError;

use crate::compute::{Exported, decrypted_blocks, export, export_joined, joined};
use crate::computed::Computed;
use crate::decimal::Decoder;
use crate::error::Error;
use crate::mask::Mask;
use crate::number::Number;
use crate::optional::unmarked;
use crate::pair::{PairMeasure, PairSums};
use crate::progress::Progress;
use crate::statistics::{Spread, Statistic};

impl Computed {
    /// Returns its content as the key owner needs it.
    ///
    /// # Errors
    /// [`Error::NotComputed`], or an export that is called off.
    pub fn export(&self, progress: &Progress) -> Result<Exported, Error> {
        export(self.backend(), self.node(), progress)
    }

    /// Decrypts the blocks of a value that was computed under the big key, without the key switch that brings those under the small
    /// key which travel. `None` of other content, whose export is decrypted.
    pub fn decrypt_blocks(&self, secret: &SecretKey) -> Option<Vec<u64>> {
        decrypted_blocks(self.node(), secret)
    }

    /// Returns truth values as few blocks, for decryption only: value `i` of a block is bit `i` of its message.
    /// `None` if this is a number, or if its truth values cannot share blocks.
    ///
    /// # Errors
    /// An export that is called off.
    pub fn export_joined(
        &self,
        progress: &Progress,
    ) -> Result<Option<Vec<LweCiphertext<u32>>>, Error> {
        match self {
            Self::Number(_) => Ok(None),
            Self::Mask(_) => export_joined(self.backend(), self.node(), progress),
        }
    }

    /// The content and the blocks of each value.
    fn part(&self, progress: &Progress) -> Result<Part, Error> {
        Ok(Part {
            content: self.export(progress)?,
            each: match self {
                Self::Number(number) => self.block_encoding().block_count(number.bits()),
                Self::Mask(_) => 1,
            },
        })
    }
}

impl Computable for Number {
    fn parts(&self) -> Vec<Computed> {
        vec![Computed::Number(self.clone())]
    }

    fn form(&self) -> Form {
        Form::Number(Decoder::new(self.offset, self.scale), self.rows().is_none())
    }
}

impl Computable for Mask {
    fn parts(&self) -> Vec<Computed> {
        vec![Computed::Mask(self.clone())]
    }

    fn form(&self) -> Form {
        Form::Mask(self.rows().is_none())
    }
}

impl Computable for Statistic {
    fn parts(&self) -> Vec<Computed> {
        self.parts.clone()
    }

    fn form(&self) -> Form {
        match self.spread {
            None => Form::Mean(self.decoder, self.rows),
            Some(spread) => Form::Spread(self.decoder, self.rows, spread),
        }
    }
}

/// A value that a [`Server`](crate::Server) computes: a [`Number`], a [`Mask`], a [`Statistic`], or an
/// [`OptionalNumber`](crate::OptionalNumber) and [what it has of these](crate::OptionalStatistic).
pub trait Computable {
    /// The encrypted values that it is made of.
    fn parts(&self) -> Vec<Computed>;

    /// Returns the way in which the key owner reads them.
    #[doc(hidden)]
    fn form(&self) -> Form;
}

/// The way in which the parts of an answer are read.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Codes, and whether there is a single one.
    Number(Decoder, bool),
    /// Truth values, and whether there is a single one.
    Mask(bool),
    /// The sum of the codes of a number of values, whose mean is asked for.
    Mean(Decoder, u32),
    /// The same and the sum of the squares of the codes.
    Spread(Decoder, u32, Spread),
    /// The number of values that are there, the sum of their codes and, for a measure of spread, that of the squares of these.
    Counted(Decoder, Option<Spread>),
    /// Sums of two numbers over the same rows, as [`OptionalNumber::pair_sums`](crate::OptionalNumber::pair_sums) has them; without the number
    /// of rows if that is known.
    Pair {
        /// The decoders of the numbers.
        decoders: [Decoder; 2],
        /// The number of rows; `None` if it is the first part.
        rows: Option<u32>,
        /// The measure that is asked for.
        measure: PairMeasure,
    },
    /// A code of `bits` bits below a mark, which is `present` if there is a value.
    Marked {
        /// The decoder of the code.
        decoder: Decoder,
        /// The width of the code.
        bits: u32,
        /// The mark of a value that is there.
        present: bool,
    },
    /// Codes that are 1 where there are values and 0 elsewhere, and the codes of these.
    Optional(Decoder),
}

#[derive(Clone, Debug)]
struct Part {
    content: Exported,
    /// The number of blocks of a code.
    each: usize,
}

/// A computed value that the key owner decrypts.
#[derive(Clone, Debug)]
pub struct Answer {
    parts: Vec<Part>,
    key: Option<KeyFingerprint>,
    form: Form,
}

/// A decrypted value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A single number.
    Number(f64),
    /// Numbers in rows.
    Numbers(Vec<f64>),
    /// A single truth value.
    Truth(bool),
    /// Truth values in rows.
    Truths(Vec<bool>),
    /// A single number that is missing, as the mean of nothing is.
    Missing,
    /// Numbers in rows, as far as they are there.
    Optionals(Vec<Option<f64>>),
}

impl Answer {
    /// The answer that computed parts make.
    pub(crate) fn new(parts: &[Computed], form: Form, progress: &Progress) -> Result<Self, Error> {
        Ok(Self {
            key: parts.first().and_then(Computed::fingerprint),
            parts: parts
                .iter()
                .map(|part| part.part(progress))
                .collect::<Result<_, _>>()?,
            form,
        })
    }

    /// The number of its ciphertexts: under the small key, or GLWE ciphertexts of compact codes.
    pub fn ciphertext_count(&self) -> usize {
        let count = |part: &Part| match &part.content {
            Exported::Sealed(ciphertexts) => ciphertexts.len(),
            Exported::Compact(values) => values.pieces.len(),
            Exported::Clear(_) => 0,
        };
        self.parts.iter().map(count).sum()
    }

    /// Decrypts it.
    ///
    /// # Errors
    /// A secret key of another key set, and ciphertexts that decrypt to values that they cannot
    /// have.
    pub fn decrypt(&self, secret: &SecretKey) -> Result<Value, Error> {
        let expected = secret.fingerprint();
        if let Some(found) = self.key
            && found != expected
        {
            return Err(WireError::WrongKey { expected, found }.into());
        }
        let encoding = secret.parameters().block_encoding();
        let limit = match self.form {
            Form::Mask(_) => 2,
            _ => encoding.message_modulus(),
        };
        let open = |part: &Part| {
            let ciphertexts = match &part.content {
                Exported::Clear(codes) => return Ok(codes.clone()),
                Exported::Compact(values) => {
                    let codes = values.decrypt(secret).ok_or(Error::Implausible)?;
                    return Ok(codes.into_iter().map(u128::from).collect());
                }
                Exported::Sealed(ciphertexts) => ciphertexts,
            };
            let blocks = ciphertexts.iter().map(|lwe| secret.decrypt_block(lwe));
            let blocks: Vec<u64> = blocks.collect();
            if blocks.iter().any(|&block| block >= limit) {
                return Err(Error::Implausible);
            }
            let codes = blocks.chunks(part.each.max(1));
            let code = |digits: &[u64]| joined(digits.iter().copied().map(u128::from), encoding);
            Ok(codes.map(code).collect())
        };
        let codes = self.parts.iter().map(open);
        self.value(&codes.collect::<Result<Vec<Vec<u128>>, _>>()?)
    }

    /// Returns the value of a rehearsal.
    ///
    /// # Errors
    /// [`Error::Encrypted`] if a server computed it.
    pub fn rehearsed(&self) -> Result<Value, Error> {
        let codes = self.parts.iter().map(|part| match &part.content {
            Exported::Clear(codes) => Ok(codes.clone()),
            Exported::Sealed(_) | Exported::Compact(_) => Err(Error::Encrypted),
        });
        self.value(&codes.collect::<Result<Vec<_>, _>>()?)
    }

    fn value(&self, parts: &[Vec<u128>]) -> Result<Value, Error> {
        let single = |part: &[u128]| match *part {
            [code] => Ok(code),
            _ => Err(Error::Implausible),
        };
        Ok(match (self.form, parts) {
            (Form::Number(decoder, true), [code]) => Value::Number(decoder.value(single(code)?)),
            (Form::Number(decoder, false), [codes]) => {
                Value::Numbers(codes.iter().map(|&code| decoder.value(code)).collect())
            }
            (Form::Mask(true), [bit]) => Value::Truth(single(bit)? == 1),
            (Form::Mask(false), [bits]) => {
                Value::Truths(bits.iter().map(|&bit| bit == 1).collect())
            }
            (Form::Mean(decoder, rows @ 1..), [sum]) => {
                Value::Number(decoder.mean(single(sum)?, rows))
            }
            (Form::Spread(decoder, rows, spread), [sum, squares]) => {
                let (sum, squares) = (single(sum)?, single(squares)?);
                let value = spread.of_sums(&decoder, rows, sum, squares);
                Value::Number(value.ok_or(Error::Implausible)?)
            }
            (Form::Counted(decoder, spread), [count, sum, squares @ ..]) => {
                let rows = u32::try_from(single(count)?).map_err(|_| Error::Implausible)?;
                let sum = single(sum)?;
                match (spread, squares) {
                    (None, []) if rows == 0 => Value::Missing,
                    (None, []) => Value::Number(decoder.mean(sum, rows)),
                    (Some(spread), [_]) if rows < 1 + u32::from(spread.sample) => Value::Missing,
                    (Some(spread), [squares]) => {
                        let value = spread.of_sums(&decoder, rows, sum, single(squares)?);
                        Value::Number(value.ok_or(Error::Implausible)?)
                    }
                    _ => return Err(Error::Implausible),
                }
            }
            (
                Form::Pair {
                    decoders: [a, b],
                    rows,
                    measure,
                },
                parts,
            ) => {
                let parts = parts.iter().map(|part| single(part));
                let parts = parts.collect::<Result<Vec<u128>, Error>>()?;
                let sums = match (rows, &parts[..]) {
                    (Some(rows), sums) => PairSums::read(rows, sums),
                    (None, [rows, sums @ ..]) => {
                        let rows = u32::try_from(*rows).ok();
                        rows.and_then(|rows| PairSums::read(rows, sums))
                    }
                    (None, []) => None,
                };
                let value = sums.and_then(|sums| measure.of_sums([&a, &b], &sums));
                match value.ok_or(Error::Implausible)? {
                    Some(value) => Value::Number(value),
                    None => Value::Missing,
                }
            }
            (
                Form::Marked {
                    decoder,
                    bits,
                    present,
                },
                [code],
            ) => match unmarked(bits, present, single(code)?) {
                Some(Some(code)) => Value::Number(decoder.value(code)),
                Some(None) => Value::Missing,
                None => return Err(Error::Implausible),
            },
            (Form::Optional(decoder), [valid, codes]) if valid.len() == codes.len() => {
                let rows = valid.iter().zip(codes).map(|(valid, &code)| match valid {
                    0 => Ok(None),
                    1 => Ok(Some(decoder.value(code))),
                    _ => Err(Error::Implausible),
                });
                Value::Optionals(rows.collect::<Result<_, _>>()?)
            }
            _ => return Err(Error::Implausible),
        })
    }
}

impl Value {
    /// The number, if it is a single one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The numbers, if they are in rows.
    pub fn numbers(&self) -> Option<&[f64]> {
        match self {
            Self::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// The numbers in rows, as far as they are there, if some may be missing.
    pub fn optionals(&self) -> Option<&[Option<f64>]> {
        match self {
            Self::Optionals(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// The truth value, if it is a single one.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Truth(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The truth values, if they are in rows.
    pub fn truths(&self) -> Option<&[bool]> {
        match self {
            Self::Truths(truths) => Some(truths),
            _ => None,
        }
    }
}
