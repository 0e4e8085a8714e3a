//! The model for where nobody has calibrated.

use super::{CostModel, Machine, Residual, Terms};

/// As `params calibrate` found it.
pub(super) fn model() -> CostModel {
    CostModel {
        transforms: [
            1.62e-7, 3.12e-7, 6.46e-7, 1.40e-6, 3.0e-6, 7.4e-6, 1.58e-5, 3.65e-5, 7.4e-5,
        ],
        crowding: 1.0,
        machine: Machine {
            processor: "Intel(R) Xeon(R) Processor".to_owned(),
            instruction_set: "avx512".to_owned(),
            threads: 2,
            level_2_bytes: 2 << 20,
            outputs_at_once: 4,
        },
        residual: Residual {
            median: 0.04,
            worst: 0.26,
        },
        seconds: Terms {
            transform: 1.15,
            multiply_add: 7.7e-11,
            factor: 1.9e-10,
            key_byte: [2.8e-11, 2.8e-11, 3.4e-11, 3.4e-11],
            coefficient: 1e-9,
            meeting: 2.3e-6,
            exchange: 1.4e-9,
            switch_multiply: 4.6e-11,
            switch_byte: [3.1e-11, 4.8e-11, 7e-11, 9e-11],
            switch_again: 1.2e-11,
            switch_digit: 1.9e-9,
        },
    }
}
