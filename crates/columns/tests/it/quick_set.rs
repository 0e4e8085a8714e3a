//! A parameter set of little security for tests of what is computed. The tests of other crates include this file.

use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::{ParameterName, ParameterSet};
use tfhe_sbc_core::random::NoiseDistribution;

/// The set `message_2_carry_2` with a small LWE key of a fourth of its dimension and of less noise, which nobody should
/// use. A bootstrap takes a fourth of the time, and is never wrong. Uploads and encodings are those of the set; lookups of
/// compact columns may be fewer.
pub(crate) const QUICK_2_2: ParameterSet = ParameterSet {
    name: ParameterName::new("insecure_2_2_for_tests"),
    lwe_dimension: LweDimension(235),
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 2e-7,
    },
    security_bits: 20.0,
    ..MESSAGE_2_CARRY_2
};
