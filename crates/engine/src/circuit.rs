//! Computations on radix blocks, recorded as circuits of lookups before they are evaluated.
//!
//! A [`Circuit`] records lookups. A lookup applies one or more functions to the value of a linear
//! combination of inputs and of outputs of other lookups. Nothing is computed while the circuit
//! grows. [`Circuit::evaluate`] then evaluates all lookups that the requested blocks depend on,
//! always as many as are ready, whichever operators they belong to; [`Circuit::rehearse`] does the
//! same in the clear, and [`Circuit::bootstrap_count`] only counts. Equal lookups are recorded
//! once, however many operators need them.
//!
//! A [`Block`] is such a linear combination, with the interval that its value is in and a
//! bound of its noise. A lookup is refused here, where its operator is written, if its values
//! could leave the table or its noise the parameter set's budget: no sequence of operators
//! overflows a block silently.
//!
//! Noise is the squared 2-norm of weights ([`Block::norm_squared`]), the budget the square of
//! the set's `max_noise_level`. Errors of different lookups are independent: their digits are
//! those of different accumulators. Errors of several inputs, and of several outputs of one
//! lookup, are not: coefficients of one polynomial times a secret with mean 1/2 have
//! correlations up to 1/2 (the masks' rounding in a lookup, the second error in public-key
//! uploads). Weights of the same lookup and weights of all inputs therefore add linearly
//! (Cauchy–Schwarz) before they are squared. An input that is the output of a bootstrap which was
//! done before ([`Circuit::bootstrapped_input`]) counts as the output of a lookup instead. A source
//! that takes part twice is one term, and equal ciphertexts are one input.

// These files are the parts of `Circuit`, so they use its fields, and its methods below use them.
mod block;
mod cost;
mod evaluate;
mod input;
mod look_up;
mod lookups;
mod repeated;
mod short_list;
mod sums;
mod table;
mod watch;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashMap;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::encoding::chunks::SumPlan;
use tfhe_sbc_core::parameters::{ParameterName, Parameters, PlaintextKind};
use thiserror::Error;

pub use block::Block;
use block::Source;
pub(crate) use cost::{Lowering, round_cost};
pub use evaluate::CircuitEvaluateError;
use input::Input;
use lookups::Lookups;
pub(crate) use repeated::Repeated;
use repeated::{Templates, Traces};
pub(crate) use sums::Addend;
use table::Tables;
pub use watch::Watch;
use watch::Watched;

/// The reason for which a circuit refuses a parameter set or an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CircuitError {
    /// The parameter set does not carry radix blocks.
    #[error(
        "the parameter set '{}' does not carry radix integers: they need a radix set over a \
         64-bit torus with as many carry bits as message bits and a noise level of at least \
         message_modulus + 1",
        .0.as_str()
    )]
    Parameters(ParameterName),
    /// A ciphertext has another dimension than the key.
    #[error(
        "a ciphertext has dimension {found}, the key's is {expected}: it belongs to another key"
    )]
    Dimension {
        /// The key's big LWE dimension.
        expected: usize,
        /// The dimension of the ciphertext.
        found: usize,
    },
    /// An input has more values or more noise than a lookup can take.
    #[error("an input of values up to {degree} and noise level {level} does not fit a block")]
    Input {
        /// The largest value.
        degree: u64,
        /// The number of fresh ciphertexts that the input is the sum of.
        level: u32,
    },
}

/// A computation on radix blocks. See the [module](self).
pub struct Circuit {
    parameters: Parameters,
    id: NonZeroU64,
    threads: usize,
    batch: AtomicUsize,
    /// The forms of sums of lookup results.
    sums: Vec<SumPlan>,
    /// The lowerings of columns that were found to be the cheaper ones, by the shapes of the columns.
    lowerings: RwLock<HashMap<Box<[i64]>, Lowering>>,
    graph: RwLock<Graph>,
}

#[derive(Default)]
struct Graph {
    inputs: Vec<Input>,
    /// The number of earlier bootstraps that gave inputs.
    earlier_bootstraps: u32,
    known_inputs: HashMap<Vec<u64>, u32>,
    lookups: Lookups,
    tables: Tables,
    watched: Watched,
    templates: Templates,
    traces: Traces,
}

/// The scope of operators that are recorded side by side. See [`Circuit::batch_of`].
#[must_use = "the scope ends when this value is dropped"]
pub struct BatchScope<'c> {
    circuit: &'c Circuit,
    outer: usize,
}

impl Drop for BatchScope<'_> {
    fn drop(&mut self) {
        self.circuit.batch.store(self.outer, Ordering::Relaxed);
    }
}

impl Circuit {
    /// Returns an empty circuit for a parameter set. Where an operator has several forms, it takes
    /// the one that is fastest on the number of threads of the current rayon pool.
    ///
    /// # Errors
    /// [`CircuitError::Parameters`] if the parameter set does not carry radix blocks.
    pub fn new(parameters: &Parameters) -> Result<Self, CircuitError> {
        let encoding = parameters.block_encoding();
        let carried = parameters.plaintext() == PlaintextKind::Radix
            && parameters.torus_bits() == u64::BITS
            && parameters.carry_bits().0 >= parameters.message_bits().0
            && u64::from(parameters.max_noise_level()) > encoding.message_modulus();
        if !carried {
            return Err(CircuitError::Parameters(parameters.name()));
        }
        static CIRCUITS: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            parameters: *parameters,
            id: NonZeroU64::MIN.saturating_add(CIRCUITS.fetch_add(1, Ordering::Relaxed)),
            threads: rayon::current_num_threads(),
            batch: AtomicUsize::new(1),
            sums: Vec::new(),
            lowerings: RwLock::default(),
            graph: RwLock::default(),
        })
    }

    /// Gives the circuit forms of sums of lookup results, the ones with the fewest bits first. Without them, long
    /// columns are added in radix blocks alone. The forms must be made for the parameters, see `sum_plans` of the crate
    /// `oracle`, or sums are wrong.
    #[must_use]
    pub fn with_sums(self, sums: Vec<SumPlan>) -> Self {
        Self { sums, ..self }
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The encoding of blocks.
    pub fn encoding(&self) -> BlockEncoding {
        self.parameters.block_encoding()
    }

    /// The number of threads for which operators choose their forms.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Declares that the operators recorded until the returned scope is dropped come in batches of
    /// `count` operators of one kind that do not wait for each other. The batch keeps the threads
    /// busy, so that an operator takes the form with the fewest bootstraps even if that form is
    /// deeper. Scopes nest, and their counts multiply; they must be dropped in the reverse order
    /// of their creation.
    pub fn batch_of(&self, count: usize) -> BatchScope<'_> {
        let outer = self.batch();
        let inner = outer.saturating_mul(count.max(1));
        self.batch.store(inner, Ordering::Relaxed);
        BatchScope {
            circuit: self,
            outer,
        }
    }

    /// Records what `operators` does in the scope of [`batch_of`](Self::batch_of).
    pub fn side_by_side<R>(&self, count: usize, operators: impl FnOnce(&Self) -> R) -> R {
        let _scope = self.batch_of(count);
        operators(self)
    }

    /// The number of operators of one kind that are recorded side by side, see
    /// [`batch_of`](Self::batch_of).
    pub(crate) fn batch(&self) -> usize {
        self.batch.load(Ordering::Relaxed)
    }

    fn graph(&self) -> RwLockReadGuard<'_, Graph> {
        // A panic in a recording leaves the graph consistent, so a poisoned lock can be used.
        self.graph.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn graph_mut(&self) -> RwLockWriteGuard<'_, Graph> {
        self.graph.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number that identifies the blocks of this circuit.
    pub(crate) fn id(&self) -> NonZeroU64 {
        self.id
    }

    /// The base of the radix.
    pub(crate) fn message_modulus(&self) -> i64 {
        self.encoding().message_modulus() as i64
    }

    /// The number of values below the padding bit.
    pub(crate) fn block_modulus(&self) -> i64 {
        self.encoding().block_modulus() as i64
    }

    /// The largest squared 2-norm of a lookup's weights.
    pub(crate) fn max_norm_squared(&self) -> u64 {
        u64::from(self.parameters.max_noise_level()).pow(2)
    }
}
