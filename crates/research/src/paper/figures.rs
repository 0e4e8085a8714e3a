//! The paper's own figures, on its board: TFHE-SBC on a Raspberry Pi Zero 2 W (1 GHz
//! Cortex-A53), N = 1024, k = 1, q = 2^32, sigma = 2^-25. Times in seconds, sizes in
//! bytes, energy in joules.

const KIB: f64 = 1024.0;

/// The numbers of bits of Table 1.
pub const BIT_COUNTS: [usize; 4] = [256, 1024, 4096, 8192];

/// The figures of Table 1 for one method of encryption. The entries of an array are for the numbers of
/// bits in [`BIT_COUNTS`]; `None` is a figure that our source of the paper does not have.
pub struct Encryption {
    /// The times in seconds.
    pub seconds: [Option<f64>; 4],
    /// The sizes of the ciphertexts in bytes.
    pub bytes: [Option<f64>; 4],
    /// The memory of the process in bytes.
    pub memory: [Option<f64>; 4],
    /// The energy in joules.
    pub joules: [Option<f64>; 4],
    /// The power in watts during the encryption of 1024 bits.
    pub watts: f64,
}

/// The figures of TFHEpp's TLWE encryption.
pub const TLWE: Encryption = Encryption {
    seconds: [Some(1.9226), Some(7.7056), Some(30.781), Some(61.588)],
    bytes: [None, Some(4096.0 * KIB), None, None],
    memory: [None, Some(4297.7 * KIB), None, None],
    joules: [None, Some(10.017), None, None],
    watts: 10.017 / 7.7056,
};

/// The figures of TFHEpp's TRLWE encryption.
pub const TRLWE: Encryption = Encryption {
    seconds: [None, Some(46.1e-3), None, None],
    bytes: [None, Some(8.0 * KIB), None, None],
    memory: [None, Some(332.2 * KIB), None, None],
    joules: [None, Some(64.5e-3), None, None],
    watts: 64.5 / 46.1,
};

/// The figures of TFHE-SBC.
pub const TFHE_SBC: Encryption = Encryption {
    seconds: [Some(3.1e-3), Some(3.1e-3), Some(12.9e-3), Some(25.6e-3)],
    bytes: [
        Some(8.0 * KIB),
        Some(8.0 * KIB),
        Some(32.0 * KIB),
        Some(64.0 * KIB),
    ],
    memory: [
        Some(336.2 * KIB),
        Some(336.2 * KIB),
        Some(360.2 * KIB),
        Some(392.2 * KIB),
    ],
    joules: [Some(5.0e-3), Some(5.0e-3), Some(20.9e-3), Some(41.5e-3)],
    watts: 5.0 / 3.1,
};

/// Table 4: the parts of TFHEpp's TRLWE encryption of 1024 bits, in seconds.
pub mod trlwe_breakdown {
    /// The mask.
    pub const UNIFORM: f64 = 7.7e-3;
    /// The noise.
    pub const GAUSSIAN: f64 = 38.3e-3;
    /// The product of mask and key.
    pub const PRODUCT: f64 = 0.16e-3;
}

/// Table 5: the relative root-mean-square error of the product in single precision (on a GPU) and in
/// double precision.
pub mod accuracy {
    /// Single precision.
    pub const SINGLE: f64 = 0.015;
    /// Double precision.
    pub const DOUBLE: f64 = 4.28e-7;
}

/// Table 6: the seconds of 1024 draws.
pub mod sampling {
    /// Uniform words from `/dev/urandom`.
    pub const UNIFORM_URANDOM: f64 = 7.71e-3;
    /// Uniform words from BLAKE2.
    pub const UNIFORM_BLAKE2: f64 = 0.92e-3;
    /// Polar method on `/dev/urandom`.
    pub const POLAR_URANDOM: f64 = 38.26e-3;
    /// Ziggurat on `/dev/urandom`.
    pub const ZIGGURAT_URANDOM: f64 = 15.36e-3;
    /// Polar method on BLAKE2.
    pub const POLAR_BLAKE2: f64 = 4.98e-3;
    /// Ziggurat on BLAKE2.
    pub const ZIGGURAT_BLAKE2: f64 = 1.98e-3;
}

/// Table 7: the parts of the product, in seconds.
pub mod product {
    /// Forward transforms of both operands.
    pub const FORWARD_BOTH: f64 = 0.103e-3;
    /// Forward transform of the mask, the key's kept.
    pub const FORWARD_KEPT: f64 = 0.065e-3;
    /// Coefficient-wise product.
    pub const POINTWISE: f64 = 0.0086e-3;
    /// Inverse transform.
    pub const INVERSE: f64 = 0.0611e-3;
}

/// Figure 3: the seconds in which the server converts a TRLWE ciphertext of 1024 bits to TLWE.
pub const CONVERSION: f64 = 1.0e-3;
