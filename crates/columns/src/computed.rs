//! Encrypted values of either kind.

use std::sync::Arc;

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::KeyFingerprint;

use crate::backend::Backend;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::Node;
use crate::number::Number;

/// An encrypted value: what a server computes.
#[derive(Clone, Debug)]
pub enum Computed {
    /// Numbers.
    Number(Number),
    /// Truth values.
    Mask(Mask),
}

impl Computed {
    pub(crate) fn backend(&self) -> &Arc<Backend> {
        match self {
            Self::Number(number) => &number.backend,
            Self::Mask(mask) => &mask.backend,
        }
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        match self {
            Self::Number(number) => &number.node,
            Self::Mask(mask) => &mask.node,
        }
    }

    /// Returns whether the value is computed, or was clear from the start.
    pub fn is_computed(&self) -> bool {
        self.node().is_known()
    }

    /// Checks that two values may meet in one computation or one result.
    ///
    /// # Errors
    /// Values of two key sets or of two rehearsals.
    pub fn check_same(&self, other: &Self) -> Result<(), Error> {
        self.backend().check_same(other.backend())
    }

    /// The fingerprint of its key set; `None` in a rehearsal.
    pub fn fingerprint(&self) -> Option<KeyFingerprint> {
        self.backend().fingerprint()
    }

    /// The encoding of its blocks.
    pub fn block_encoding(&self) -> BlockEncoding {
        self.backend().parameters().block_encoding()
    }
}
