//! Memory plans, and the size of an encryptor's workspace.

use core::fmt;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::fft::twiddle_len;
use tfhe_sbc_core::glwe_product::mask_product_scratch_len;
use tfhe_sbc_core::parameters::ParameterSet;

/// The form in which an encryptor keeps the key in memory between ciphertexts. The messages are the same
/// under every plan.
///
/// | plan | product | kept | bytes for N = 1024, k = 1, q = 2^32 |
/// |---|---|---|---|
/// | small | integers | the key as packed bits | 12 416 |
/// | balanced | integers | the transformed key | 16 384 |
/// | fast | double precision | the transformed key, the transform's tables | see [`workspace_bytes`] |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryPlan {
    /// The number-theoretic product, with as little kept as possible: every ciphertext
    /// transforms the key again and draws its masks once for each limb.
    Small,
    /// The number-theoretic product; masks are drawn once and the transformed keys are kept.
    Balanced,
    /// The double-precision Fourier product; its tables and the transformed key are kept. For
    /// processors whose floating-point unit computes doubles: in software, the time of an operation
    /// depends on its operands, and so on the key.
    Fast,
}

impl MemoryPlan {
    /// All plans, by increasing memory.
    pub const ALL: [Self; 3] = [Self::Small, Self::Balanced, Self::Fast];

    /// Returns the fastest plan of this build on its target: [`Fast`](Self::Fast) where doubles
    /// are computed in hardware, otherwise [`Balanced`](Self::Balanced).
    pub const fn recommended() -> Self {
        // Stable Rust does not tell whether an ARM or RISC-V microcontroller computes doubles in
        // hardware; processors with an operating system do.
        let doubles =
            !cfg!(target_os = "none") || cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        if (doubles && Self::Fast.is_built()) || !Self::Balanced.is_built() {
            Self::Fast
        } else {
            Self::Balanced
        }
    }

    /// The name of the plan: `small`, `balanced` or `fast`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Balanced => "balanced",
            Self::Fast => "fast",
        }
    }

    /// Returns whether this build has the plan.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Small | Self::Balanced => cfg!(feature = "ntt"),
            Self::Fast => cfg!(feature = "fft"),
        }
    }

    /// The Cargo feature of this crate that the plan needs.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Small | Self::Balanced => "ntt",
            Self::Fast => "fft",
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
    /// A device key, which also decrypts; see [`Encryptor`](crate::Encryptor).
    Symmetric,
    /// A device public key, which does not decrypt; see [`PublicEncryptor`](crate::PublicEncryptor).
    Public,
}

/// Returns the number of bytes of an encryptor's workspace. It is a constant function, so that the
/// result can be an array length. For a set that is not valid
/// [`Parameters`](crate::Parameters) the result means nothing.
///
/// ```
/// use tfhe_sbc_core::parameter_sets::GATES;
/// use tfhe_sbc_device::{KeyMode, MemoryPlan, Workspace, workspace_bytes};
///
/// const BYTES: usize = workspace_bytes(&GATES, MemoryPlan::Small, KeyMode::Symmetric);
/// static WORKSPACE: Workspace<BYTES> = Workspace::new(); // in a lock of your choice
/// ```
pub const fn workspace_bytes(set: &ParameterSet, plan: MemoryPlan, mode: KeyMode) -> usize {
    let (size, k) = (set.polynomial_size, set.glwe_dimension.0);
    let scalar_polynomial = size * (set.torus_bits as usize / 8);
    // The body that is being made, and the uniform polynomials that are kept: one mask, or the
    // k rows of k + 1 polynomials of a public key.
    let uniform = match (plan, mode) {
        (MemoryPlan::Small, _) => 0,
        (_, KeyMode::Symmetric) => 1,
        (_, KeyMode::Public) => k * (k + 1),
    };
    let scalars = (1 + uniform) * scalar_polynomial;
    let product = match plan {
        MemoryPlan::Small => 2 * 4 * size + k * size * set.glwe_secret.packed_bits() as usize / 8,
        MemoryPlan::Balanced => (1 + k) * 4 * size,
        MemoryPlan::Fast => 8 * (size * k + fourier_len(set)),
    };
    product + scalars
}

/// Returns the number of doubles of the Fourier product's tables and scratch.
const fn fourier_len(set: &ParameterSet) -> usize {
    match PolynomialSize::new(set.polynomial_size) {
        Ok(size) => twiddle_len(size) + scratch_len(size, set.glwe_dimension, set.torus_bits),
        Err(_) => 0,
    }
}

/// Returns the number of doubles of the Fourier product's scratch.
pub(crate) const fn scratch_len(
    size: PolynomialSize,
    dimension: GlweDimension,
    torus_bits: u32,
) -> usize {
    match torus_bits {
        32 => mask_product_scratch_len::<u32>(size, dimension),
        _ => mask_product_scratch_len::<u64>(size, dimension),
    }
}
