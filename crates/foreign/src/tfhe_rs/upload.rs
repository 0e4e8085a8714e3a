//! Uploads as TFHE-rs's integers: masks are expanded, one GLWE ciphertext at a time, and every
//! row of a column, or every so many blocks of a list without metadata, become a value.

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::sample_extract::sample_extract_into;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use thiserror::Error;

use super::integers::{FheType, Form, NotOfTfheRs};
use tfhe_sbc_upload::readings::Upload;

/// Why an upload cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValuesError {
    /// No column of that name.
    #[error("there is no column '{name}': there are {}", there.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        there: Vec<String>,
    },
    /// Codes that the type has no room for.
    #[error(
        "the codes of column '{column}' have {bits} bits, {fhe_type} has room for {room}: choose a wider type"
    )]
    TooWide {
        /// The column's name.
        column: String,
        /// The width of its codes.
        bits: u32,
        /// The type.
        fhe_type: FheType,
        /// The width that fits.
        room: u32,
    },
    /// Blocks that do not make whole values.
    #[error(
        "{found} blocks are no whole number of {fhe_type}, which has {blocks}: choose the type that was encrypted"
    )]
    Count {
        /// The blocks that there are.
        found: usize,
        /// Blocks of a value.
        blocks: usize,
        /// The type.
        fhe_type: FheType,
    },
    /// The parameters.
    #[error(transparent)]
    Parameters(#[from] NotOfTfheRs),
}

/// Values in an upload, and what they are to become.
pub struct Values<'b> {
    list: UploadedGlweList<'b>,
    form: Form,
    fhe_type: FheType,
    first: usize,
    value_blocks: usize,
    count: usize,
    polynomial_size: usize,
    expanded: Option<(usize, GlweCiphertext<u64>)>,
    lwe: Vec<u64>,
    done: usize,
}

impl<'b> Values<'b> {
    /// The rows of the column of that name. `fhe_type` defaults to the narrowest of
    /// `FheUint8`, `16`, `32` and `64` with room for its codes.
    ///
    /// A value is a reading's code, `(reading - offset) / scale` as an unsigned number. It is
    /// not negative, so that `FheInt` needs one bit more than it.
    pub fn of_column(
        upload: &Upload<'b>,
        parameters: &Parameters,
        column: &str,
        fhe_type: Option<FheType>,
    ) -> Result<Self, ValuesError> {
        let metadata = &upload.metadata;
        let Some((place, found)) = metadata.column(column) else {
            let names = metadata.columns.iter().map(|column| column.name.clone());
            return Err(ValuesError::Unknown {
                name: column.to_owned(),
                there: names.collect(),
            });
        };
        let fhe_type = fhe_type.unwrap_or_else(|| narrowest(found.bits));
        let room = match fhe_type {
            FheType::Int(bits) => bits - 1,
            other => other.bits(),
        };
        if found.bits > room {
            return Err(ValuesError::TooWide {
                column: found.name.clone(),
                bits: found.bits,
                fhe_type,
                room,
            });
        }
        let encoding = parameters.block_encoding();
        let rows = metadata.rows.len();
        let first = metadata.blocks_of_column(encoding, place, rows).start;
        let value_blocks = encoding.block_count(found.bits);
        Self::new(upload.list, parameters, fhe_type, first, value_blocks, rows)
    }

    /// A list without metadata: every value has all blocks of its type, least significant
    /// first; of an `FheInt` those of its two's complement, of an `FheBool` one that holds 0 or
    /// 1.
    pub fn of_list(
        list: UploadedGlweList<'b>,
        parameters: &Parameters,
        fhe_type: FheType,
    ) -> Result<Self, ValuesError> {
        let blocks = Form::new(fhe_type, parameters)?.block_count();
        let found = list.element_count();
        if !found.is_multiple_of(blocks) {
            return Err(ValuesError::Count {
                found,
                blocks,
                fhe_type,
            });
        }
        Self::new(list, parameters, fhe_type, 0, blocks, found / blocks)
    }

    fn new(
        list: UploadedGlweList<'b>,
        parameters: &Parameters,
        fhe_type: FheType,
        first: usize,
        value_blocks: usize,
        count: usize,
    ) -> Result<Self, ValuesError> {
        Ok(Self {
            list,
            form: Form::new(fhe_type, parameters)?,
            fhe_type,
            first,
            value_blocks,
            count,
            polynomial_size: parameters.polynomial_size().get(),
            expanded: None,
            lwe: vec![0; parameters.big_lwe_dimension().0 + 1],
            done: 0,
        })
    }

    /// Their type.
    pub fn fhe_type(&self) -> FheType {
        self.fhe_type
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of bytes of each.
    pub fn byte_count(&self) -> usize {
        self.form.byte_count()
    }

    /// Overwrites `out` with the next value in the form of `safe_serialize`. `false` if there
    /// is none.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.done == self.count {
            return false;
        }
        let first = self.first + self.done * self.value_blocks;
        let mut value = self.form.begin(out);
        for block in first..first + self.value_blocks {
            let (index, degree) = (block / self.polynomial_size, block % self.polynomial_size);
            if self.expanded.as_ref().is_none_or(|&(at, _)| at != index) {
                self.expanded = self.list.ciphertext(index).map(|glwe| (index, glwe));
            }
            // A checked list has as many blocks as were counted.
            let Some((_, glwe)) = &self.expanded else {
                return false;
            };
            let size = self.polynomial_size;
            sample_extract_into(&mut self.lwe, glwe.as_slice(), size, degree);
            value.block(&self.lwe);
        }
        value.finish();
        self.done += 1;
        true
    }
}

/// The narrowest of the usual unsigned types with room for so many bits.
fn narrowest(bits: u32) -> FheType {
    let usual = [8, 16, 32];
    FheType::Uint(usual.into_iter().find(|&width| bits <= width).unwrap_or(64))
}
