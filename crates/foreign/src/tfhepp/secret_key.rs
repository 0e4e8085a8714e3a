//! Secret key files of TFHEpp, which hold the keys of all levels and the parameters.

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::parameters::{GlweSecret, ParameterError, Parameters};
use zeroize::Zeroizing;

use super::LVL1_N;
use super::archive::Archive;
use super::error::TfheppError;
use super::layout::{Layout, PARAMETERS_BYTES};
use super::sets::{LVL1_BINARY, LVL1_TERNARY};

/// The offset of log2 of lvl1's N within the parameters.
const LVL1_NBIT_AT: usize = 16;

/// The part of a secret key that devices need: lvl1 as a GLWE key, and a parameter set for it.
#[derive(Debug)]
pub struct SecretKey {
    layout: Layout,
    archive: Archive,
    secret: GlweSecret,
    glwe: GlweSecretKey,
}

impl SecretKey {
    /// Reads a secret key file of the default set of v9 or 2026, in either archive. Its lvl1 key is
    /// ternary if a coefficient is -1, and binary otherwise.
    ///
    /// # Errors
    /// Returns an error if the file is none of these.
    pub fn parse(bytes: &[u8]) -> Result<Self, TfheppError> {
        let wrong_length = TfheppError::NoSecretKey(bytes.len() as u64);
        let (archive, layout) = Archive::ALL
            .into_iter()
            .find_map(|archive| {
                let len = bytes.len().checked_sub(archive.prefix().len())?;
                Layout::of_len(len).map(|layout| (archive, layout))
            })
            .ok_or(wrong_length)?;
        let (prefix, object) = bytes.split_at(archive.prefix().len());
        if prefix != archive.prefix() {
            return Err(TfheppError::ByteOrder(prefix[0]));
        }
        check_parameters(layout, &object[object.len() - PARAMETERS_BYTES..])?;

        // lvl0 is not needed, but if it is no key then the file has another layout.
        let (lvl0, _) = object[..2 * layout.lvl0_dimension()].as_chunks::<2>();
        let lvl0 = lvl0.iter().map(|&word| i32::from(i16::from_le_bytes(word)));
        if !are_small(lvl0) {
            return Err(TfheppError::Coefficient("lvl0"));
        }
        let (lvl1, _) = object[layout.lvl1_at()..][..4 * LVL1_N].as_chunks::<4>();
        let lvl1 = || lvl1.iter().map(|&word| i32::from_le_bytes(word));
        if !are_small(lvl1()) {
            return Err(TfheppError::Coefficient("lvl1"));
        }
        let any_negative = lvl1().fold(false, |any, s| any | (s < 0));
        let secret = match any_negative {
            true => GlweSecret::Ternary,
            false => GlweSecret::Binary,
        };
        let coefficients = Zeroizing::new(lvl1().map(|s| s as i8).collect());
        let size = parameters_of(secret)?.polynomial_size();
        Ok(Self {
            layout,
            archive,
            secret,
            glwe: GlweSecretKey::from_coefficients(secret, coefficients, size)
                .ok_or(TfheppError::Key)?,
        })
    }

    /// The version of TFHEpp that the key comes from.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The kind of archive.
    pub fn archive(&self) -> Archive {
        self.archive
    }

    /// The distribution of lvl1's coefficients.
    pub fn secret(&self) -> GlweSecret {
        self.secret
    }

    /// Returns the parameter set of uploads under this key: [`LVL1_TERNARY`] or [`LVL1_BINARY`].
    ///
    /// # Errors
    /// Returns no error in practice: both sets are valid.
    pub fn parameters(&self) -> Result<Parameters, TfheppError> {
        parameters_of(self.secret)
    }

    /// The lvl1 key.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }
}

fn parameters_of(secret: GlweSecret) -> Result<Parameters, TfheppError> {
    let set = match secret {
        GlweSecret::Binary => LVL1_BINARY,
        GlweSecret::Ternary => LVL1_TERNARY,
    };
    set.validate().map_err(|_: ParameterError| TfheppError::Key)
}

/// Returns whether all coefficients are -1, 0 or 1. Constant-time.
fn are_small(coefficients: impl Iterator<Item = i32>) -> bool {
    coefficients.fold(true, |all, s| all & (s.wrapping_add(1) as u32 <= 2))
}

/// Refuses sets whose keys have the same length but another shape. Parameters in an unknown form are
/// not judged.
fn check_parameters(layout: Layout, parameters: &[u8]) -> Result<(), TfheppError> {
    let word = |at: usize| {
        let bytes = parameters[at..].first_chunk();
        bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    };
    let (nbit, n) = (word(LVL1_NBIT_AT), word(LVL1_NBIT_AT + 4));
    let is_known = word(0) as usize == layout.lvl0_dimension() && 1u32.checked_shl(nbit) == Some(n);
    if is_known && n as usize != LVL1_N {
        return Err(TfheppError::PolynomialSize(n));
    }
    Ok(())
}
