//! Memory that is numbers of one kind now and of another later.

use tfhe_sbc_core::workspace::{Carver, Number, WorkspaceError};

/// Bytes of a workspace as numbers; what they hold stays.
pub(crate) fn numbers<N: Number>(bytes: &mut [u8]) -> Result<&mut [N], WorkspaceError> {
    let len = bytes.len();
    Carver::new(bytes, len)?.take(len / size_of::<N>())
}
