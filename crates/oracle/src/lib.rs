//! What a TFHE parameter set is worth: how much noise each operation leaves, how
//! often a bootstrapping fails, and how many bits of security the keys have.
//!
//! - [`noise`]: the variance that each operation adds.
//! - [`blind_rotation`]: that of the largest one, by bits or by blocks.
//! - [`noise_budget`]: the operations of a parameter set put together.
//! - [`failure`]: from a variance to a failure probability, and back.
//! - [`convolution`]: the same without taking every noise as Gaussian.
//! - [`prediction`]: all of that for a parameter set of tfhe-sbc.
//! - [`upload`]: the noise of uploads, and how few bits they can travel with.
//! - [`security`]: from a dimension and a noise to a security level, by
//!   interpolation in a bundled table of lattice-estimator results.
//! - [`estimator`]: the same computed, attack by attack, for any instance.
//! - [`cost`]: the time that a bootstrap takes on a machine, and the size of its keys.
//! - [`search`]: the cheapest set for a task.
//! - [`adopted`]: sets of other libraries' keys, completed.
//! - [`algorithmic_cost`]: a bootstrapping in counted operations, as TFHE-rs and Concrete state it.
//! - [`statistics`]: is a measured noise the predicted one?
//! - [`splitting`]: probabilities too small to count, by simulation with a [`generator`];
//!   [`noise_sum`] is what is simulated.
//! - [`special_functions`]: erfc, incomplete gamma and beta functions.
//!
//! All variances and standard deviations are *torus-normalised*: those of the
//! integer noise divided by q² and q. All formulas are for binary secret keys,
//! the small one uniform or in blocks.
#![forbid(unsafe_code)]

pub mod adopted;
pub mod algorithmic_cost;
pub mod blind_rotation;
pub mod convolution;
pub mod cost;
pub mod estimator;
pub mod failure;
pub mod generator;
pub mod noise;
pub mod noise_budget;
pub mod noise_sum;
pub mod parameter_file;
pub mod prediction;
pub mod search;
pub mod security;
pub mod special_functions;
pub mod splitting;
pub mod statistics;
pub mod upload;
