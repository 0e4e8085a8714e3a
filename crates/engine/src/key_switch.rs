//! The LWE key switch: from the big key to the small key, mod 2^32.
//!
//! New keys switch with products of [polynomials](Polynomials), former ones with [rows](KeyRows). For the same decomposition both make the same
//! noise.

mod polynomials;
mod rows;

use std::io;

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::NoiseSeed;
use tfhe_sbc_core::torus::Torus;

use self::polynomials::Polynomials;
use self::rows::{KeyRows, SeededKeyRows};
use crate::nodes::Nodes;
use crate::seeded_rows::{SeededMasks, SeededRows};

/// The key-switching key in seeded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeededKeySwitchKey {
    /// GLWE ciphertexts under the partial key.
    Polynomials(SeededRows<u32>),
    /// LWE ciphertexts, in keys of former programs.
    Rows(SeededKeyRows),
}

impl SeededKeySwitchKey {
    /// The number of bytes of all bodies, which is the same for both forms.
    pub(crate) fn bodies_len(parameters: &Parameters) -> usize {
        rows::row_count(parameters) * size_of::<u32>()
    }

    /// Makes the key. Mask `r` is that of row `r`, of which there are `k · level_count`.
    pub(crate) fn generate(
        parameters: &Parameters,
        from: &GlweSecretKey,
        to: &LweSecretKey,
        seeds: (SeededMasks, &NoiseSeed),
    ) -> Self {
        Self::Polynomials(polynomials::generate(parameters, from, to, seeds))
    }

    /// Returns the key with these masks and bodies.
    ///
    /// # Panics
    /// If there are not [`bodies_len`](Self::bodies_len) bytes.
    pub(crate) fn from_bytes(parameters: &Parameters, masks: SeededMasks, bodies: &[u8]) -> Self {
        Self::Polynomials(polynomials::from_bytes(parameters, masks, bodies))
    }

    /// Returns the key of a former program with these masks and bodies.
    pub(crate) fn of_former_bytes(masks: SeededMasks, bodies: &[u8]) -> Self {
        Self::Rows(SeededKeyRows::from_bytes(masks, bodies))
    }

    /// Appends the bodies.
    pub(crate) fn write_bodies(&self, out: &mut Vec<u8>) {
        match self {
            Self::Polynomials(rows) => rows.write_bodies(out),
            Self::Rows(rows) => rows.write_bodies(out),
        }
    }
}

/// The key-switching key, ready for use.
pub(crate) enum KeySwitchKey {
    Polynomials(Polynomials),
    Rows(KeyRows),
}

impl KeySwitchKey {
    /// Makes the key ready for use, on all threads of the current rayon pool.
    pub(crate) fn prepare(parameters: &Parameters, seeded: &SeededKeySwitchKey) -> Self {
        match seeded {
            SeededKeySwitchKey::Polynomials(rows) => {
                Self::Polynomials(Polynomials::prepare(parameters, rows))
            }
            SeededKeySwitchKey::Rows(rows) => Self::Rows(KeyRows::prepare(parameters, rows)),
        }
    }

    /// Returns a key that encrypts nothing: every coefficient is a filler word.
    pub(crate) fn of_filler_words(parameters: &Parameters) -> Self {
        Self::Polynomials(Polynomials::of_filler_words(parameters))
    }

    /// Gives each node a copy of rows. Polynomials have none, because they fit the second-level cache of a core.
    ///
    /// # Errors
    /// Those of [`PerNode::copy_to`](crate::nodes::PerNode::copy_to).
    pub(crate) fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        match self {
            Self::Polynomials(_) => Ok(()),
            Self::Rows(rows) => rows.copy_to_nodes(nodes),
        }
    }

    /// The number of bytes in memory, of all copies.
    pub(crate) fn byte_count(&self) -> usize {
        match self {
            Self::Polynomials(polynomials) => polynomials.byte_count(),
            Self::Rows(rows) => rows.byte_count(),
        }
    }

    /// Switches every input to the small key. `outputs` receives the ciphertexts one after the
    /// other, `n + 1` scalars each. The threads of the current rayon pool share the work.
    ///
    /// # Panics
    /// If an input is not under the big key, or `outputs` has another length.
    pub(crate) fn switch_batch_into<T: Torus>(&self, inputs: &[&[T]], outputs: &mut [u32]) {
        match self {
            Self::Polynomials(polynomials) => polynomials.switch_batch_into(inputs, outputs),
            Self::Rows(rows) => rows.switch_batch_into(inputs, outputs),
        }
    }
}
