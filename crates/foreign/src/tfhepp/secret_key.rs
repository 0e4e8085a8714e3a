//! TFHEpp's `SecretKey`: the keys of all levels, and parameters.

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::parameters::{GlweSecret, ParameterError, Parameters};
use zeroize::Zeroizing;

use super::LVL1_N;
use super::archive::Archive;
use super::error::TfheppError;
use super::sets::{LVL1_BINARY, LVL1_TERNARY};

/// u32 lvlhalf[760].
const LVL_HALF_BYTES: usize = 4 * 760;
/// u64 lvl2[2048], then u64 lvl3[8192] or u128 lvl3[4096].
const HIGHER_LEVELS_BYTES: usize = 8 * 2048 + 65_536;
/// `n` and the noise of lvl0, then the other levels', each scalar behind the other.
const PARAMETERS_BYTES: usize = 112;
/// Where among the parameters log2 of lvl1's N is.
const LVL1_NBIT_AT: usize = 16;

/// Which version of TFHEpp a secret key is of, in its default 128-bit parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// v9 (July 2024): lvl0 has 636 coefficients.
    V9,
    /// 2026: lvl0 has 630.
    Y2026,
}

impl Layout {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V9, Self::Y2026];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::V9 => "v9",
            Self::Y2026 => "2026",
        }
    }

    /// Dimension of lvl0.
    fn lvl0_dimension(self) -> usize {
        match self {
            Self::V9 => 636,
            Self::Y2026 => 630,
        }
    }

    /// Bytes of the object: u16 lvl0[n], u32 lvlhalf[760], u32 lvl1[1024] and the rest.
    fn object_bytes(self) -> usize {
        self.lvl1_at() + 4 * LVL1_N + HIGHER_LEVELS_BYTES + PARAMETERS_BYTES
    }

    /// Where lvl1 begins in the object.
    fn lvl1_at(self) -> usize {
        2 * self.lvl0_dimension() + LVL_HALF_BYTES
    }

    /// The layout of an object of so many bytes.
    pub(super) fn of_len(len: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.object_bytes() == len)
    }
}

/// What devices need of a secret key: lvl1, as a GLWE key, and a parameter set for it.
#[derive(Debug)]
pub struct SecretKey {
    layout: Layout,
    archive: Archive,
    secret: GlweSecret,
    glwe: GlweSecretKey,
}

impl SecretKey {
    /// Reads a secret key file of the default set of v9 or of 2026, portable or not. Its lvl1
    /// is binary, or ternary if a coefficient is -1.
    ///
    /// # Errors
    /// If it is none of them.
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

        // lvl0 is not wanted, but where it is no key the layout is another.
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

    /// Which version it is of.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Which archive it came in.
    pub fn archive(&self) -> Archive {
        self.archive
    }

    /// How lvl1's coefficients are distributed.
    pub fn secret(&self) -> GlweSecret {
        self.secret
    }

    /// The parameter set of what devices encrypt under it: [`LVL1_TERNARY`] or
    /// [`LVL1_BINARY`].
    ///
    /// # Errors
    /// None for these sets.
    pub fn parameters(&self) -> Result<Parameters, TfheppError> {
        parameters_of(self.secret)
    }

    /// lvl1.
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

/// Whether all coefficients are -1, 0 or 1. Constant-time.
fn are_small(coefficients: impl Iterator<Item = i32>) -> bool {
    coefficients.fold(true, |all, s| all & (s.wrapping_add(1) as u32 <= 2))
}

/// Refuses sets whose keys are as long, but of other shapes. Parameters of a form that is not
/// known say nothing.
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
