//! The built-in model, for machines without a calibration.

use super::{CostModel, Machine, Residual, Terms};

/// The model that `params calibrate` measured.
pub(super) fn model() -> CostModel {
    CostModel {
        transforms: [
            1.71e-07, 3.25e-07, 6.66e-07, 1.43e-06, 3.1e-06, 7.47e-06, 1.6e-05, 3.84e-05, 7.71e-05,
        ],
        crowding: 1.04,
        machine: Machine {
            processor: "Intel(R) Xeon(R) Processor".to_owned(),
            instruction_set: "avx512".to_owned(),
            threads: 2,
            level_2_bytes: 2 << 20,
            last_level_bytes: 300 << 20,
            outputs_at_once: 4,
        },
        residual: Residual {
            median: 0.0746,
            worst: 0.315,
        },
        seconds: Terms {
            transform: 1.17,
            multiply_add: 6.99e-11,
            factor: 5.44e-11,
            key_byte: [2.41e-11, 3.04e-11, 5.37e-11, 6.37e-11],
            coefficient: 1.32e-08,
            meeting: 4.35e-07,
            exchange: 2.22e-09,
            switch_transform: 1.17,
        },
    }
}
