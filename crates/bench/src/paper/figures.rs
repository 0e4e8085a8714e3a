//! The paper's own figures, on its board: TFHE-SBC on a Raspberry Pi Zero 2 W (1 GHz
//! Cortex-A53), N = 1024, k = 1, q = 2^32, sigma = 2^-25. Times in seconds, sizes in
//! bytes, energy in joules.

const KIB: f64 = 1024.0;

/// The numbers of bits of Table 1.
pub(super) const BIT_COUNTS: [usize; 4] = [256, 1024, 4096, 8192];

/// What Table 1 says of one way to encrypt, by number of bits; `None` where our source
/// of the paper's figures has none.
pub(super) struct Encryption {
    /// Times.
    pub(super) seconds: [Option<f64>; 4],
    /// Sizes of the ciphertexts.
    pub(super) bytes: [Option<f64>; 4],
    /// Memory of the process.
    pub(super) memory: [Option<f64>; 4],
    /// Energy.
    pub(super) joules: [Option<f64>; 4],
    /// Power while it runs, of the 1024 bits.
    pub(super) watts: f64,
}

/// TFHEpp's TLWE.
pub(super) const TLWE: Encryption = Encryption {
    seconds: [Some(1.9226), Some(7.7056), Some(30.781), Some(61.588)],
    bytes: [None, Some(4096.0 * KIB), None, None],
    memory: [None, Some(4297.7 * KIB), None, None],
    joules: [None, Some(10.017), None, None],
    watts: 10.017 / 7.7056,
};

/// TFHEpp's TRLWE.
pub(super) const TRLWE: Encryption = Encryption {
    seconds: [None, Some(46.1e-3), None, None],
    bytes: [None, Some(8.0 * KIB), None, None],
    memory: [None, Some(332.2 * KIB), None, None],
    joules: [None, Some(64.5e-3), None, None],
    watts: 64.5 / 46.1,
};

/// TFHE-SBC.
pub(super) const TFHE_SBC: Encryption = Encryption {
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

/// Table 4: TFHEpp's TRLWE of 1024 bits in parts.
pub(super) mod trlwe_breakdown {
    /// The mask.
    pub(in super::super) const UNIFORM: f64 = 7.7e-3;
    /// The noise.
    pub(in super::super) const GAUSSIAN: f64 = 38.3e-3;
    /// The product of mask and key.
    pub(in super::super) const PRODUCT: f64 = 0.16e-3;
}

/// Table 5: relative root-mean-square error of the product, in single precision (a GPU)
/// and in double.
pub(super) mod accuracy {
    /// Single precision.
    pub(in super::super) const SINGLE: f64 = 0.015;
    /// Double precision.
    pub(in super::super) const DOUBLE: f64 = 4.28e-7;
}

/// Table 6: 1024 draws.
pub(super) mod sampling {
    /// Uniform words from `/dev/urandom`.
    pub(in super::super) const UNIFORM_URANDOM: f64 = 7.71e-3;
    /// Uniform words from BLAKE2.
    pub(in super::super) const UNIFORM_BLAKE2: f64 = 0.92e-3;
    /// Polar method on `/dev/urandom`.
    pub(in super::super) const POLAR_URANDOM: f64 = 38.26e-3;
    /// Ziggurat on `/dev/urandom`.
    pub(in super::super) const ZIGGURAT_URANDOM: f64 = 15.36e-3;
    /// Polar method on BLAKE2.
    pub(in super::super) const POLAR_BLAKE2: f64 = 4.98e-3;
    /// Ziggurat on BLAKE2.
    pub(in super::super) const ZIGGURAT_BLAKE2: f64 = 1.98e-3;
}

/// Table 7: the product in parts.
pub(super) mod product {
    /// Forward transforms of both operands.
    pub(in super::super) const FORWARD_BOTH: f64 = 0.103e-3;
    /// Forward transform of the mask, the key's kept.
    pub(in super::super) const FORWARD_KEPT: f64 = 0.065e-3;
    /// Coefficient-wise product.
    pub(in super::super) const POINTWISE: f64 = 0.0086e-3;
    /// Inverse transform.
    pub(in super::super) const INVERSE: f64 = 0.0611e-3;
}

/// Figure 3: turning the TRLWE of 1024 bits into TLWEs on the server.
pub(super) const CONVERSION: f64 = 1.0e-3;
