//! The cost of a bootstrapping in counted operations: the scale on which TFHE-rs and Concrete
//! state the cost of their sets, and on which sets of different schemes can be compared.
//!
//! The model is the processor model of Concrete's optimizer (June 2025): butterflies of transforms
//! and multiply-adds count alike, and neither vectors nor memory are modelled. The time of this
//! project's engine is modelled in [`crate::cost`].

use crate::blind_rotation::BlindRotation;
use crate::noise_budget::PbsParameters;

/// The operations of one bootstrapping of one ciphertext, and the sizes of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlgorithmicCost {
    /// The operations of the blind rotation.
    pub blind_rotation: f64,
    /// The operations of the key switch.
    pub key_switch: f64,
    /// The bytes of the bootstrapping key: n R (k+1) N coefficients of the big torus.
    pub bootstrap_key_bytes: f64,
    /// The bytes of the key-switching key, in coefficients of the small torus.
    pub key_switch_key_bytes: f64,
}

impl AlgorithmicCost {
    /// The cost under `parameters`. With R = k·l + l' rows of a GGSW ciphertext, l levels of
    /// the mask's decomposition and l' of the body's, a transform in F = N log2 N + N:
    ///
    /// - a blind rotation by controlled rotations, n ((R + k+1) F + R (k+1) N);
    /// - by blocks of ℓ bits, n/ℓ (R + k+1) F + n (R + 1) (k+1) N: transforms once a block, and each
    ///   bit's products turned (ePrint 2023/958). Concrete has no model of it; this is
    ///   the same counting;
    /// - a key switch from n_in with t levels, n_in t + n_in t (n+1) + (n_in t - 1) (n+1) + 1;
    /// - with blocks, whose engine switches to a partial key of o - 1 = ⌈n/N⌉ polynomials (ePrint 2023/979),
    ///   (k t + o) F + k t o N, and k t o N coefficients of a key.
    pub fn new(parameters: &PbsParameters) -> Self {
        let key = parameters.small_key;
        let n = key.dimension as f64;
        let k = parameters.glwe_dimension as f64;
        let size = parameters.polynomial_size as f64;
        let gadgets = parameters.pbs;
        let rows = k * gadgets.mask.level as f64 + gadgets.body.level as f64;
        let transform = size * size.log2() + size;
        let transforms = (rows + k + 1.0) * transform;
        let products = rows * (k + 1.0) * size;
        let blind_rotation = match parameters.blind_rotation {
            BlindRotation::ControlledRotations => n * (transforms + products),
            BlindRotation::Blocks => {
                let turning = (k + 1.0) * size;
                n / f64::from(key.block_size) * transforms + n * (products + turning)
            }
        };
        let switch = parameters.key_switch();
        let digits = (switch.input_dimension * switch.gadget.level) as f64;
        let (key_switch, key_switch_key) = match parameters.blind_rotation {
            BlindRotation::ControlledRotations => (
                digits + digits * (n + 1.0) + (digits - 1.0) * (n + 1.0) + 1.0,
                digits * (n + 1.0),
            ),
            BlindRotation::Blocks => {
                let rows = digits / size;
                let outputs = (n / size).ceil() + 1.0;
                let products = rows * outputs * size;
                ((rows + outputs) * transform + products, products)
            }
        };
        let bytes = |coefficients: f64, torus_log2: u32| coefficients * f64::from(torus_log2) / 8.0;
        Self {
            blind_rotation,
            key_switch,
            bootstrap_key_bytes: bytes(n * products, parameters.torus_log2),
            key_switch_key_bytes: bytes(key_switch_key, parameters.small_torus_log2),
        }
    }

    /// The operations of blind rotation and key switch together.
    pub fn total(self) -> f64 {
        self.blind_rotation + self.key_switch
    }

    /// The bytes of both keys.
    pub fn key_bytes(self) -> f64 {
        self.bootstrap_key_bytes + self.key_switch_key_bytes
    }

    /// All operations in millions, which TFHE-rs calls the "algorithmic cost".
    pub fn millions(self) -> f64 {
        self.total() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blind_rotation::{GgswGadgets, KeyRounding};
    use crate::noise::{Gadget, GlweSecret, KeyBlocks, Variance};

    /// A set of binary keys: n; k, log2 N; l, base of the rotation; t, base of the switch.
    fn set(
        n: usize,
        glwe: (usize, u32),
        rotation: (usize, u32),
        switch: (usize, u32),
    ) -> PbsParameters {
        PbsParameters {
            small_key: KeyBlocks::binary(n),
            shared_coefficients: 0,
            glwe_secret: GlweSecret::Binary,
            glwe_dimension: glwe.0,
            polynomial_size: 1 << glwe.1,
            lwe_variance: Variance::ZERO,
            glwe_variance: Variance::ZERO,
            key_rounding: KeyRounding::ZERO,
            torus_log2: 64,
            small_torus_log2: 64,
            blind_rotation: BlindRotation::ControlledRotations,
            pbs: GgswGadgets::same(Gadget {
                base_log: rotation.1,
                level: rotation.0,
            }),
            ks_level: switch.0,
            ks_base_log: switch.1,
            centred_modulus_switch: false,
        }
    }

    #[test]
    fn costs_of_concrete() {
        // Concrete's v0 tables of 2024, 128 bits, norm 1, precisions 1 to 8. They add a sum of 4096
        // big ciphertexts, and count in whole 2^20.
        let published = [
            (set(592, (5, 8), (1, 15), (3, 3)), 30.0),
            (set(700, (5, 8), (1, 15), (3, 4)), 34.0),
            (set(722, (3, 9), (1, 18), (3, 4)), 46.0),
            (set(801, (2, 10), (1, 23), (3, 4)), 76.0),
            (set(783, (1, 11), (1, 23), (5, 3)), 102.0),
            (set(880, (1, 12), (1, 22), (4, 4)), 236.0),
            (set(915, (1, 13), (1, 22), (6, 3)), 546.0),
            (set(1006, (1, 14), (2, 15), (5, 4)), 1761.0),
        ];
        for (set, cost) in published {
            let sum = 4096.0 * (set.glwe_dimension * set.polynomial_size) as f64;
            let computed = (AlgorithmicCost::new(&set).total() + sum) / f64::exp2(20.0);
            assert_eq!(computed.floor(), cost, "{computed}");
        }
    }

    #[test]
    fn blocks_share_their_transforms() {
        let controlled = set(600, (2, 9), (2, 8), (5, 3));
        let of_blocks = |block_size| PbsParameters {
            blind_rotation: BlindRotation::Blocks,
            small_key: KeyBlocks {
                dimension: 600,
                block_size,
            },
            ..controlled
        };
        let cost = AlgorithmicCost::new;
        // 6 rows of 3 polynomials of 512: 9 transforms of 512·(9 + 1), 18 products and 3 turns.
        let (transforms, products, turns) = (9.0 * 5120.0, 18.0 * 512.0, 3.0 * 512.0);
        let expected = 600.0 * (transforms + products);
        assert_eq!(cost(&controlled).blind_rotation, expected);
        for block_size in [1, 2, 3] {
            let expected = 600.0 * (transforms / f64::from(block_size) + products + turns);
            let found = cost(&of_blocks(block_size));
            assert!((found.blind_rotation / expected - 1.0).abs() < 1e-12);
            // 2 polynomials of 5 levels; 600 coefficients take 2 polynomials, and the body one.
            assert_eq!(found.key_switch, (10.0 + 3.0) * 5120.0 + 30.0 * 512.0);
            assert_eq!(found.key_switch_key_bytes, 30.0 * 512.0 * 8.0);
        }
        // 5 levels of 1024 coefficients, each 601 multiply-adds and a digit.
        assert_eq!(
            cost(&controlled).key_switch,
            5120.0 * 601.0 + 5119.0 * 601.0 + 5120.0 + 1.0
        );
        let bytes = 600.0 * 6.0 * 3.0 * 512.0 * 8.0 + 5120.0 * 601.0 * 8.0;
        assert_eq!(cost(&controlled).key_bytes(), bytes);
        let uneven = PbsParameters {
            pbs: GgswGadgets {
                body: Gadget {
                    base_log: 10,
                    level: 1,
                },
                ..controlled.pbs
            },
            ..controlled
        };
        let expected = 600.0 * (8.0 * 5120.0 + 15.0 * 512.0);
        assert_eq!(cost(&uneven).blind_rotation, expected);
    }
}
