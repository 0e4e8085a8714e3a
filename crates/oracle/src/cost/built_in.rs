//! The model for where nobody has calibrated.

use super::{CostModel, Machine, Residual, Seconds, Transforms};

/// As `params calibrate` found it.
pub(super) fn model() -> CostModel {
    let times = |unit: f64| {
        // Butterflies, by the size.
        std::array::from_fn(|i| unit * (256 << i) as f64 * (i as f64 + 7.0))
    };
    CostModel {
        machine: Machine {
            processor: "Intel(R) Xeon(R) Processor".to_owned(),
            instruction_set: "avx512".to_owned(),
            threads: 2,
            level_2_bytes: 2 << 20,
            level_3_bytes: 300 << 20,
            outputs_at_once: 4,
        },
        residual: Residual {
            median: 0.05,
            worst: 0.15,
        },
        transforms: Transforms {
            forward_32: times(0.05e-9),
            forward_64: times(0.05e-9),
            inverse_32: times(0.05e-9),
            inverse_64: times(0.05e-9),
        },
        seconds: Seconds {
            transform: 1.1,
            multiply_add: 0.08e-9,
            turn: 0.08e-9,
            factor: 0.1e-9,
            step: 0.1e-6,
            level_2_byte: 0.0,
            level_3_byte: 0.02e-9,
            memory_byte: 0.1e-9,
            switch_multiply: 0.02e-9,
            switch_byte: 0.03e-9,
            switch_digit: 1e-9,
            coefficient: 1e-9,
            wake: 10e-6,
            meeting: 0.5e-6,
            crowding: 1.05,
        },
    }
}
