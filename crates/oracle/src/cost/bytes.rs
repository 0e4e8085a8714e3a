//! The sizes in bytes of the evaluation keys, in memory and in files.

use tfhe_sbc_core::parameter_sets::key_body_bits;
use tfhe_sbc_core::parameters::{PARAMETERS_BYTES, ParameterSet, Parameters};
use tfhe_sbc_core::simd::KEY_SWITCH_TILE_COLUMNS;
use tfhe_sbc_core::wire::ENVELOPE_BYTES;

/// The number of rows of a GGSW ciphertext: one for each digit of each component.
pub(super) fn rows(set: &ParameterSet) -> usize {
    set.glwe_dimension.0 * set.pbs.level_count.0 + set.pbs_body.level_count.0
}

/// The number of rows of the key-switching key: one for each digit of each coefficient of the big
/// key.
pub(super) fn switch_rows(set: &ParameterSet) -> usize {
    set.glwe_dimension.0 * set.polynomial_size * set.key_switch.level_count.0
}

/// The scalars of a row of the key-switching key in memory: `n + 1`, rounded up to whole tiles.
pub(super) fn switch_columns(set: &ParameterSet) -> usize {
    (set.lwe_dimension.0 + 1).next_multiple_of(KEY_SWITCH_TILE_COLUMNS)
}

/// The bytes of the bootstrapping key in memory, with a double for every coefficient. Where a processor reads
/// [packed keys](Parameters::packed_key_width), it has a quarter to an eighth less.
pub fn bootstrap_key_bytes(set: &ParameterSet) -> usize {
    let outputs = set.glwe_dimension.0 + 1;
    set.lwe_dimension.0 * rows(set) * outputs * set.polynomial_size * size_of::<f64>()
}

/// The bytes of the key-switching key in memory, with columns that keep all bits. Some processors keep 24 bits, or nothing but
/// the bodies.
pub fn key_switch_key_bytes(set: &ParameterSet) -> usize {
    switch_rows(set) * switch_columns(set) * size_of::<u32>()
}

/// The bytes of the file of both keys: bodies and seeds.
pub fn server_key_file_bytes(parameters: &Parameters) -> usize {
    const SEED_BYTES: usize = 16;
    let bits = key_body_bits(parameters);
    let set = parameters.as_set();
    let row_bits = set.glwe_dimension.0 * set.pbs.level_count.0 * bits.mask_rows as usize
        + set.pbs_body.level_count.0 * bits.body_rows as usize;
    let bodies = parameters.lwe_dimension().0 * parameters.polynomial_size().get() * row_bits / 8;
    ENVELOPE_BYTES
        + PARAMETERS_BYTES
        + 2 * SEED_BYTES
        + bodies
        + switch_rows(parameters.as_set()) * size_of::<u32>()
}
