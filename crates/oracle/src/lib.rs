//! The properties of a TFHE parameter set: the noise that each operation leaves, the failure
//! probability of a bootstrapping, and the bits of security of the keys.
//!
//! - [`noise`]: the variance that each operation adds.
//! - [`blind_rotation`]: the variance of the largest operation, by bits or by blocks.
//! - [`noise_budget`]: the operations of a parameter set together.
//! - [`failure`]: the failure probability of a variance, and the inverse.
//! - [`convolution`]: the same, without taking every noise as Gaussian.
//! - [`prediction`]: noise and failure probability of a parameter set of tfhe-sbc.
//! - [`upload`]: the noise of uploads, and the fewest bits that they can travel with.
//! - [`compact`]: the noise of compact values, and plans for lookups on them.
//! - [`packing`]: the noise of packed answers, and the search for short ones.
//! - [`security`]: the security level of a dimension and a noise, by interpolation in a bundled
//!   table of lattice-estimator results.
//! - [`estimator`]: the security level computed, attack by attack, for any instance.
//! - [`cost`]: the time of a bootstrap on a machine, and the size of its keys.
//! - [`search`]: the cheapest set for a task.
//! - [`parameter_file`]: parameter sets as text.
//! - [`adopted`]: sets for the keys of other libraries, completed.
//! - [`algorithmic_cost`]: the cost of a bootstrapping in counted operations, as TFHE-rs and
//!   Concrete state it.
//! - [`statistics`]: tests of whether a measured noise is the predicted one.
//! - [`splitting`]: the estimation of probabilities that are too small to count, by simulation of
//!   a [`noise_sum`] with a [`generator`].
//! - [`special_functions`]: erfc, incomplete gamma and beta functions.
//!
//! All variances and standard deviations are *torus-normalised*: those of the integer noise
//! divided by q² and q respectively. The formulas are for GLWE keys that are uniform binary or
//! ternary, and for small keys that are uniform binary or in blocks.
#![forbid(unsafe_code)]

pub mod adopted;
pub mod algorithmic_cost;
pub mod blind_rotation;
pub mod compact;
pub mod convolution;
pub mod cost;
pub mod estimator;
pub mod failure;
pub mod generator;
pub mod noise;
pub mod noise_budget;
pub mod noise_sum;
pub mod packing;
pub mod parameter_file;
pub mod prediction;
pub mod sanitising;
pub mod search;
pub mod security;
pub mod special_functions;
pub mod splitting;
pub mod statistics;
pub mod upload;
