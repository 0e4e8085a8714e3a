//! Uploads as TFHE-rs's integers: masks are expanded, one GLWE ciphertext at a time, and every
//! row of a column becomes a value.

use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::sample_extract::sample_extract_into;
use thiserror::Error;

use super::integers::{FheType, Form, NotOfTfheRs};
use crate::readings::Upload;

/// Why a column cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ColumnError {
    /// No column of that name.
    #[error("there is no column '{name}': there are {}", there.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        there: Vec<String>,
    },
    /// Codes that the type has no room for.
    #[error("the codes of column '{column}' have {bits} bits, {fhe_type} has room for {room}")]
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
    /// The parameters.
    #[error(transparent)]
    Parameters(#[from] NotOfTfheRs),
}

/// A column of an upload, and what it is to become.
pub struct ColumnConverter<'u, 'b> {
    upload: &'u Upload<'b>,
    form: Form,
    fhe_type: FheType,
    first: usize,
    row_blocks: usize,
    polynomial_size: usize,
    expanded: Option<(usize, GlweCiphertext<u64>)>,
    lwe: Vec<u64>,
    row: usize,
}

impl<'u, 'b> ColumnConverter<'u, 'b> {
    /// A converter of the column of that name. `fhe_type` defaults to the narrowest of
    /// `FheUint8`, `16`, `32` and `64` with room for its codes.
    ///
    /// A value is a reading's code, `(reading - offset) / scale` as an unsigned number. It is
    /// not negative, so that `FheInt` needs one bit more than it.
    pub fn new(
        upload: &'u Upload<'b>,
        parameters: &Parameters,
        column: &str,
        fhe_type: Option<FheType>,
    ) -> Result<Self, ColumnError> {
        let metadata = &upload.metadata;
        let Some((place, found)) = metadata.column(column) else {
            let names = metadata.columns.iter().map(|column| column.name.clone());
            return Err(ColumnError::Unknown {
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
            return Err(ColumnError::TooWide {
                column: found.name.clone(),
                bits: found.bits,
                fhe_type,
                room,
            });
        }
        let encoding = parameters.block_encoding();
        let rows = metadata.rows.len();
        Ok(Self {
            upload,
            form: Form::new(fhe_type, parameters)?,
            fhe_type,
            first: metadata.blocks_of_column(encoding, place, rows).start,
            row_blocks: encoding.block_count(found.bits),
            polynomial_size: parameters.polynomial_size().get(),
            expanded: None,
            lwe: vec![0; parameters.big_lwe_dimension().0 + 1],
            row: 0,
        })
    }

    /// The type of the values.
    pub fn fhe_type(&self) -> FheType {
        self.fhe_type
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.upload.metadata.rows.len()
    }

    /// Whether there are none, which no checked upload has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes of each.
    pub fn byte_count(&self) -> usize {
        self.form.byte_count()
    }

    /// Overwrites `out` with the next row's value in the form of `safe_serialize`. `false`
    /// if there is none.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.row == self.len() {
            return false;
        }
        let first = self.first + self.row * self.row_blocks;
        let mut value = self.form.begin(out);
        for block in first..first + self.row_blocks {
            let (index, degree) = (block / self.polynomial_size, block % self.polynomial_size);
            if self.expanded.as_ref().is_none_or(|&(at, _)| at != index) {
                self.expanded = self.upload.list.ciphertext(index).map(|glwe| (index, glwe));
            }
            // A checked upload has as many blocks as its metadata says.
            let Some((_, glwe)) = &self.expanded else {
                return false;
            };
            let size = self.polynomial_size;
            sample_extract_into(&mut self.lwe, glwe.as_slice(), size, degree);
            value.block(&self.lwe);
        }
        value.finish();
        self.row += 1;
        true
    }
}

/// The narrowest of the usual unsigned types with room for so many bits.
fn narrowest(bits: u32) -> FheType {
    let usual = [8, 16, 32];
    FheType::Uint(usual.into_iter().find(|&width| bits <= width).unwrap_or(64))
}
