//! The sizes in bytes of the evaluation keys, in memory and in files.

use tfhe_sbc_core::parameter_sets::key_body_bits;
use tfhe_sbc_core::parameters::{MAX_ROWS, PARAMETERS_BYTES, ParameterSet, Parameters};
use tfhe_sbc_core::wire::ENVELOPE_BYTES;

/// The number of rows of a GGSW ciphertext: one for each digit of each component.
pub(super) fn rows(set: &ParameterSet) -> usize {
    set.glwe_dimension.0 * set.pbs.level_count.0 + set.pbs_body.level_count.0
}

/// The polynomials of the key switch of a ciphertext: the digits, with a digit of 0 for each that the last step lacks, and the sums of
/// a step.
pub(super) struct SwitchShape {
    pub(super) steps: usize,
    /// The digits of a step.
    pub(super) rows: usize,
    /// The sums of a step: the partial key's polynomials, and the body.
    pub(super) outputs: usize,
}

impl SwitchShape {
    pub(super) fn of(set: &ParameterSet) -> Self {
        let levels = set.key_switch.level_count.0;
        let columns = set.glwe_dimension.0.min(MAX_ROWS / levels);
        Self {
            steps: set.glwe_dimension.0.div_ceil(columns),
            rows: columns * levels,
            outputs: set.lwe_dimension.0.div_ceil(set.polynomial_size) + 1,
        }
    }

    /// The transforms of a ciphertext.
    pub(super) fn transforms(&self) -> usize {
        self.steps * (self.rows + self.outputs)
    }
}

/// The bytes of the bootstrapping key in memory, with a double for every coefficient. Where a processor reads
/// [packed keys](Parameters::packed_key_width), it has a quarter to an eighth less.
pub fn bootstrap_key_bytes(set: &ParameterSet) -> usize {
    let outputs = set.glwe_dimension.0 + 1;
    set.lwe_dimension.0 * rows(set) * outputs * set.polynomial_size * size_of::<f64>()
}

/// The bytes of the key-switching key in memory.
pub fn key_switch_key_bytes(set: &ParameterSet) -> usize {
    let shape = SwitchShape::of(set);
    shape.steps * shape.rows * shape.outputs * set.polynomial_size * size_of::<f64>()
}

/// The bytes of the file of both keys: bodies, and a seed in the header.
pub fn server_key_file_bytes(parameters: &Parameters) -> usize {
    let bits = key_body_bits(parameters);
    let set = parameters.as_set();
    let row_bits = set.glwe_dimension.0 * set.pbs.level_count.0 * bits.mask_rows as usize
        + set.pbs_body.level_count.0 * bits.body_rows as usize;
    let bodies = parameters.lwe_dimension().0 * parameters.polynomial_size().get() * row_bits / 8;
    let switch_scalars = parameters.big_lwe_dimension().0 * set.key_switch.level_count.0;
    ENVELOPE_BYTES + PARAMETERS_BYTES + bodies + switch_scalars * size_of::<u32>()
}
