//! Memory plans, and the size of an encryptor's workspace.

use core::fmt;

use crate::encoding::table_len;
use crate::parameters::Parameters;
use crate::ternary::packed_bytes;

/// The tables that an encryptor keeps in memory. The ciphertexts are the same under every plan.
///
/// The plans are those of the paper on SEAL-Embedded (Natarajan and Dai, "SEAL-Embedded: a
/// homomorphic encryption library for the internet of things", 2021, tables 1 and 5). Sizes are in
/// KiB for n = 4096 and three primes:
///
/// | plan | roots of the transforms | transformed secrets | symmetric | public key |
/// |---|---|---|---|---|
/// | small | on the fly, each from the one before | made again for each prime | 64 | 81 |
/// | balanced | a table made again for each transform ("one-shot") | made again for each prime | 80 | 97 |
/// | fast | the encoding's are kept | the key's are kept | 128 | 129 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryPlan {
    /// No tables are kept.
    Small,
    /// There is one table, made again whenever it is needed.
    Balanced,
    /// Everything that does not change from message to message is kept.
    Fast,
}

impl MemoryPlan {
    /// All plans, by increasing memory.
    pub const ALL: [Self; 3] = [Self::Small, Self::Balanced, Self::Fast];

    /// The name of the plan: `small`, `balanced` or `fast`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Balanced => "balanced",
            Self::Fast => "fast",
        }
    }
}

impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of key that an encryptor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMode {
    /// A secret key; see [`Encryptor`](crate::Encryptor).
    Symmetric,
    /// A public key; see [`PublicEncryptor`](crate::PublicEncryptor).
    Public,
}

/// Returns the number of bytes of an encryptor's workspace. It is a constant function, so that the
/// result can be an array length.
///
/// ```
/// use tfhe_sbc_ckks::{KeyMode, MemoryPlan, Parameters, Workspace, workspace_bytes};
///
/// const BYTES: usize = workspace_bytes(&Parameters::N4096, MemoryPlan::Small, KeyMode::Symmetric);
/// assert_eq!(BYTES, 64 * 1024);
/// static WORKSPACE: Workspace<BYTES> = Workspace::new(); // in a lock of your choice
/// ```
pub const fn workspace_bytes(parameters: &Parameters, plan: MemoryPlan, mode: KeyMode) -> usize {
    Layout::new(parameters, plan, mode).bytes()
}

/// The parts of a workspace.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// The number of bytes of the plaintext: doubles, then 64-bit integers.
    pub(crate) message: usize,
    /// The number of bytes of the encoding's roots, if they are kept apart.
    pub(crate) encoding_table: usize,
    /// The number of bytes of the roots of one prime; if the encoding's roots are not kept apart, they
    /// use the same place before.
    pub(crate) table: usize,
    /// The number of 32-bit residues of the polynomial that is being made.
    pub(crate) work: usize,
    /// The number of 32-bit residues of transformed ternary polynomials.
    pub(crate) key: usize,
    /// The number of bytes of the error polynomials of a public-key ciphertext.
    pub(crate) errors: usize,
    /// The number of bytes of a packed ternary polynomial.
    pub(crate) packed: usize,
}

impl Layout {
    pub(crate) const fn new(parameters: &Parameters, plan: MemoryPlan, mode: KeyMode) -> Self {
        let n = parameters.polynomial_size();
        let (encoding_table, table) = match plan {
            MemoryPlan::Small => (0, 0),
            MemoryPlan::Balanced => (0, 4 * n),
            MemoryPlan::Fast => (8 * table_len(n), 4 * n),
        };
        let error = match parameters.special_is_wide() {
            true => 8 * n,
            false => 4 * n,
        };
        let (key, errors, packed) = match (mode, plan) {
            (KeyMode::Symmetric, MemoryPlan::Fast) => (n * parameters.data_prime_count(), 0, 0),
            (KeyMode::Symmetric, _) => (n, 0, 0),
            (KeyMode::Public, MemoryPlan::Fast) => (n, 2 * error, packed_bytes(n)),
            (KeyMode::Public, _) => (n, error, packed_bytes(n)),
        };
        Self {
            message: 8 * n,
            encoding_table,
            table,
            work: n,
            key,
            errors,
            packed,
        }
    }

    const fn bytes(&self) -> usize {
        let bytes = self.message + self.encoding_table + self.errors + self.table + self.packed;
        bytes + 4 * (self.work + self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No plan takes more than SEAL-Embedded in the paper's tables, in kB as there.
    #[test]
    fn memory_is_at_most_that_of_seal_embedded() {
        for (mode, theirs) in [
            (KeyMode::Symmetric, [65, 129, 137]),
            (KeyMode::Public, [85, 128, 136]),
        ] {
            for (plan, theirs) in MemoryPlan::ALL.into_iter().zip(theirs) {
                let ours = workspace_bytes(&Parameters::N4096, plan, mode);
                assert!(ours <= theirs * 1000 + 999, "{plan} {mode:?}: {ours}");
            }
        }
    }
}
