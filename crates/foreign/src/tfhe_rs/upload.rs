//! Uploads as integers of TFHE-rs. Masks are expanded one GLWE ciphertext at a time. Every row of a
//! column becomes a value; in a list without metadata, a fixed number of blocks does.

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::sample_extract::sample_extract_into;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use thiserror::Error;

use super::integers::{FheType, Form, NotOfTfheRs};
use tfhe_sbc_upload::readings::Upload;

/// The reason why an upload cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValuesError {
    /// No column of that name.
    #[error("there is no column '{name}': there are {}", there.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        there: Vec<String>,
    },
    /// Codes that are wider than the type.
    #[error(
        "the codes of column '{column}' have {bits} bits, {fhe_type} has room for {room}: choose a wider type"
    )]
    TooWide {
        /// The name of the column.
        column: String,
        /// The width of its codes in bits.
        bits: u32,
        /// The type.
        fhe_type: FheType,
        /// The widest code that fits, in bits.
        room: u32,
    },
    /// A number of blocks that is no multiple of a value's.
    #[error(
        "{found} blocks are no whole number of {fhe_type}, which has {blocks}: choose the type that was encrypted"
    )]
    Count {
        /// The number of blocks in the list.
        found: usize,
        /// The number of blocks of a value.
        blocks: usize,
        /// The type.
        fhe_type: FheType,
    },
    /// A compact column, which has no radix blocks.
    #[error(
        "the column '{0}' is compact, and TFHE-rs computes on radix blocks: encrypt it with \
         use = \"radix\" in its definition"
    )]
    Compact(String),
    /// A list of columns without its metadata.
    #[error(
        "this is a list of columns: give the whole upload, with its metadata, and name a column of it"
    )]
    Columns,
    /// Parameters that TFHE-rs's integers do not have.
    #[error(transparent)]
    Parameters(#[from] NotOfTfheRs),
}

/// The values of an upload and the type that they become.
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
    /// Takes the rows of the column named `column`. `fhe_type` defaults to the narrowest of `FheUint8`,
    /// `16`, `32` and `64` that has room for its codes.
    ///
    /// A value is the code of a reading, `(reading - offset) / scale`, as an unsigned number. An
    /// `FheInt` therefore needs one bit more than the code.
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
        if found.compact.is_some() {
            return Err(ValuesError::Compact(found.name.clone()));
        }
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

    /// Takes a list without metadata. Every value has all blocks of its type, least significant first:
    /// an `FheInt` in two's complement, an `FheBool` as one block that holds 0 or 1.
    pub fn of_list(
        list: UploadedGlweList<'b>,
        parameters: &Parameters,
        fhe_type: FheType,
    ) -> Result<Self, ValuesError> {
        if let UploadedGlweList::Columns(_) = list {
            return Err(ValuesError::Columns);
        }
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

    /// The type of the values.
    pub fn fhe_type(&self) -> FheType {
        self.fhe_type
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of bytes of each value.
    pub fn byte_count(&self) -> usize {
        self.form.byte_count()
    }

    /// Overwrites `out` with the next value in the form of `safe_serialize`. Returns `false` if there is
    /// none.
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
            // A checked list has the number of blocks that was counted.
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

/// Returns the narrowest of the usual unsigned types that has room for `bits` bits.
fn narrowest(bits: u32) -> FheType {
    let usual = [8, 16, 32];
    FheType::Uint(usual.into_iter().find(|&width| bits <= width).unwrap_or(64))
}
