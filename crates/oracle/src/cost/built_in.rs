//! The model for where nobody has calibrated.

use super::{CostModel, Machine, Residual, Terms};

/// As `params calibrate` found it.
pub(super) fn model() -> CostModel {
    CostModel {
        transforms: [
            1.7e-07, 3.24e-07, 6.75e-07, 1.43e-06, 3.04e-06, 7.2e-06, 1.55e-05, 3.72e-05, 7.44e-05,
        ],
        crowding: 1.12,
        machine: Machine {
            processor: "Intel(R) Xeon(R) Processor".to_owned(),
            instruction_set: "avx512".to_owned(),
            threads: 2,
            level_2_bytes: 2 << 20,
            outputs_at_once: 4,
        },
        residual: Residual {
            median: 0.0862,
            worst: 0.438,
        },
        seconds: Terms {
            transform: 1.03,
            multiply_add: 5.57e-11,
            factor: 3.51e-10,
            key_byte: [2.89e-11, 2.89e-11, 4.9e-11, 7.3e-11],
            coefficient: 2.74e-08,
            meeting: 1.39e-06,
            exchange: 2.06e-09,
            switch_multiply: 5.82e-11,
            switch_byte: [4.06e-11, 5.91e-11, 9.4e-11, 1.06e-10],
            switch_again: 1.22e-11,
            switch_digit: 2.14e-09,
        },
    }
}
