//! How much memory an encryptor takes, and what for.

use core::fmt;

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::fft::twiddle_len;
use tfhe_sbc_core::glwe_product::mask_product_scratch_len;
use tfhe_sbc_core::parameters::ParameterSet;

/// What an encryptor keeps between ciphertexts. All plans give the same bytes.
///
/// | plan | product | kept | bytes for N = 1024, k = 1, q = 2^32 |
/// |---|---|---|---|
/// | small | integers | the key as packed bits | 12 416 |
/// | balanced | integers | the transformed key | 16 384 |
/// | fast | double precision | the transformed key, the transform's tables | see [`workspace_bytes`] |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryPlan {
    /// The number-theoretic product; what can be made again is: every ciphertext
    /// transforms the key and draws its masks once for each limb.
    Small,
    /// The number-theoretic product; masks are drawn once and transformed keys kept.
    Balanced,
    /// The double-precision Fourier product with its tables and the transformed key
    /// kept. For processors whose floating-point unit has doubles: computed in software,
    /// they take a time that depends on the key.
    Fast,
}

impl MemoryPlan {
    /// Every plan, from the smallest.
    pub const ALL: [Self; 3] = [Self::Small, Self::Balanced, Self::Fast];

    /// The fastest plan of this build on its target: [`Fast`](Self::Fast) where doubles
    /// are computed in hardware, else [`Balanced`](Self::Balanced).
    pub const fn recommended() -> Self {
        // Whether an ARM or RISC-V microcontroller has doubles is not visible to stable
        // Rust; those with an operating system have them.
        let doubles =
            !cfg!(target_os = "none") || cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        if (doubles && Self::Fast.is_built()) || !Self::Balanced.is_built() {
            Self::Fast
        } else {
            Self::Balanced
        }
    }

    /// Its name for people: `small`, `balanced`, `fast`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Balanced => "balanced",
            Self::Fast => "fast",
        }
    }

    /// Whether this build has it.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Small | Self::Balanced => cfg!(feature = "ntt"),
            Self::Fast => cfg!(feature = "fft"),
        }
    }

    /// The Cargo feature of this crate that it needs.
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

/// Whose key an encryptor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMode {
    /// A device key, which also decrypts: [`Encryptor`](crate::Encryptor).
    Symmetric,
    /// A device public key, which does not: [`PublicEncryptor`](crate::PublicEncryptor).
    Public,
}

/// Number of bytes of an encryptor's workspace, for array lengths too. A set that no
/// [`Parameters`](crate::Parameters) come of may give any number.
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
    // The body in the making, and the uniform polynomials that are kept: one mask, or the
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

/// Number of doubles of the Fourier product's tables and scratch.
const fn fourier_len(set: &ParameterSet) -> usize {
    match PolynomialSize::new(set.polynomial_size) {
        Ok(size) => twiddle_len(size) + scratch_len(size, set.glwe_dimension, set.torus_bits),
        Err(_) => 0,
    }
}

/// Number of doubles of the Fourier product's scratch.
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
