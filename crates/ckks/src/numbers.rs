//! Memory whose type of number changes during a message.

use tfhe_sbc_core::workspace::{Carver, Number, WorkspaceError};

/// Returns bytes of a workspace as numbers, without changing them.
pub(crate) fn numbers<N: Number>(bytes: &mut [u8]) -> Result<&mut [N], WorkspaceError> {
    let len = bytes.len();
    Carver::new(bytes, len)?.take(len / size_of::<N>())
}
