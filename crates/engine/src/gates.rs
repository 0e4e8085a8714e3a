//! Boolean gates on ciphertexts of ±1/8 under the big key (TFHE: Fast Fully Homomorphic Encryption
//! over the Torus, section 6): a linear combination whose sign is the result, and one bootstrap
//! that extracts the sign.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::PlaintextKind;

use crate::bootstrap::{Evaluator, Job};
use crate::lookup_table::LookupTable;

/// The ten two-input gates that depend on both inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// `a ∧ b`
    And,
    /// `¬(a ∧ b)`
    Nand,
    /// `a ∨ b`
    Or,
    /// `¬(a ∨ b)`
    Nor,
    /// `a ⊕ b`
    Xor,
    /// `¬(a ⊕ b)`
    Xnor,
    /// `¬a ∧ b`
    AndNy,
    /// `a ∧ ¬b`
    AndYn,
    /// `¬a ∨ b`
    OrNy,
    /// `a ∨ ¬b`
    OrYn,
}

impl Gate {
    /// Every gate.
    pub const ALL: [Self; 10] = [
        Self::And,
        Self::Nand,
        Self::Or,
        Self::Nor,
        Self::Xor,
        Self::Xnor,
        Self::AndNy,
        Self::AndYn,
        Self::OrNy,
        Self::OrYn,
    ];

    /// Applies the gate to clear bits.
    pub fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Nand => !(a & b),
            Self::Or => a | b,
            Self::Nor => !(a | b),
            Self::Xor => a ^ b,
            Self::Xnor => !(a ^ b),
            Self::AndNy => !a & b,
            Self::AndYn => a & !b,
            Self::OrNy => !a | b,
            Self::OrYn => a | !b,
        }
    }

    /// The coefficients `(c, x, y)` such that the sign of `c/8 + x·a + y·b` is the result for
    /// inputs `a` and `b` of ±1/8.
    const fn combination(self) -> (i64, i64, i64) {
        match self {
            Self::And => (-1, 1, 1),
            Self::Nand => (1, -1, -1),
            Self::Or => (1, 1, 1),
            Self::Nor => (-1, -1, -1),
            Self::Xor => (2, 2, 2),
            Self::Xnor => (-2, -2, -2),
            Self::AndNy => (-1, -1, 1),
            Self::AndYn => (-1, 1, -1),
            Self::OrNy => (1, -1, 1),
            Self::OrYn => (1, 1, -1),
        }
    }
}

/// The reason for which gates refuse a parameter set or a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The noise level of the parameter set is below [`NOISE_LEVEL`].
    #[error(
        "the parameter set has a noise level of {found}, and gates need {NOISE_LEVEL}: a gate on \
         two multiplexer outputs sums four bootstraps"
    )]
    NoiseLevel {
        /// The noise level of the set.
        found: u32,
    },
    /// The plaintexts of the parameter set are not booleans.
    #[error(
        "gates need a parameter set whose plaintexts are booleans: use the set 'gates' or 'boolean_1024'"
    )]
    NotBoolean,
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
}

/// The noise level that gates need: that of a gate on two multiplexer outputs, each the sum of two
/// bootstrap outputs.
pub const NOISE_LEVEL: u32 = 4;

/// Gates on ciphertexts under the big key. Every output is a fresh bootstrap output, except those
/// of [`not`](Gates::not) and of [`mux_batch`](Gates::mux_batch), which are the sum of two. Every
/// gate accepts every output.
pub struct Gates<'e, 'k, T> {
    evaluator: &'e Evaluator<'k, T>,
    sign: LookupTable<T>,
}

impl<'e, 'k, T: ProductTorus> Gates<'e, 'k, T> {
    /// Returns the gates of an evaluator whose parameter set is for booleans.
    ///
    /// # Errors
    /// If the plaintexts of the set are not booleans, or its noise level is below [`NOISE_LEVEL`].
    pub fn new(evaluator: &'e Evaluator<'k, T>) -> Result<Self, GateError> {
        let parameters = evaluator.parameters();
        if parameters.plaintext() != PlaintextKind::Boolean {
            return Err(GateError::NotBoolean);
        }
        if parameters.max_noise_level() < NOISE_LEVEL {
            return Err(GateError::NoiseLevel {
                found: parameters.max_noise_level(),
            });
        }
        Ok(Self {
            evaluator,
            sign: LookupTable::sign(parameters.polynomial_size(), boolean::encode(true)),
        })
    }

    /// Returns `¬a`, without a bootstrap.
    pub fn not(&self, a: &LweCiphertext<T>) -> LweCiphertext<T> {
        let mut out = a.clone();
        out.neg_assign();
        out
    }

    /// Evaluates one gate, with one bootstrap.
    ///
    /// # Errors
    /// If a ciphertext has another dimension than the key.
    pub fn gate(
        &self,
        gate: Gate,
        a: &LweCiphertext<T>,
        b: &LweCiphertext<T>,
    ) -> Result<LweCiphertext<T>, GateError> {
        let combination = self.combine(gate, a, b)?;
        Ok(self.bootstrap_signs(vec![combination]).remove(0))
    }

    /// Evaluates many gates together, with one bootstrap each.
    ///
    /// # Errors
    /// If a ciphertext has another dimension than the key.
    pub fn gate_batch(
        &self,
        gates: &[(Gate, &LweCiphertext<T>, &LweCiphertext<T>)],
    ) -> Result<Vec<LweCiphertext<T>>, GateError> {
        let combinations: Result<Vec<_>, _> = gates
            .iter()
            .map(|&(gate, a, b)| self.combine(gate, a, b))
            .collect();
        Ok(self.bootstrap_signs(combinations?))
    }

    /// Evaluates `condition ? yes : no` for every `[condition, yes, no]`, with two bootstraps
    /// each: of `condition ∧ yes` and of `¬condition ∧ no`. At most one of these is true, so that
    /// their sum plus 1/8 is ±1/8 again.
    ///
    /// # Errors
    /// If a ciphertext has another dimension than the key.
    pub fn mux_batch(
        &self,
        choices: &[[&LweCiphertext<T>; 3]],
    ) -> Result<Vec<LweCiphertext<T>>, GateError> {
        let mut combinations = Vec::with_capacity(2 * choices.len());
        for [condition, yes, no] in choices {
            combinations.push(self.combine(Gate::And, condition, yes)?);
            combinations.push(self.combine(Gate::AndNy, condition, no)?);
        }
        let mut outputs = self.bootstrap_signs(combinations).into_iter();
        let mut chosen = Vec::with_capacity(choices.len());
        while let (Some(mut sum), Some(other)) = (outputs.next(), outputs.next()) {
            sum.add_assign(&other);
            sum.add_plaintext(boolean::encode(true));
            chosen.push(sum);
        }
        Ok(chosen)
    }

    fn bootstrap_signs(&self, combinations: Vec<LweCiphertext<T>>) -> Vec<LweCiphertext<T>> {
        let jobs: Vec<Job<'_, T, T>> = combinations
            .into_iter()
            .map(|input| Job {
                input,
                table: &self.sign,
            })
            .collect();
        self.evaluator.bootstrap_all(&jobs)
    }

    fn combine(
        &self,
        gate: Gate,
        a: &LweCiphertext<T>,
        b: &LweCiphertext<T>,
    ) -> Result<LweCiphertext<T>, GateError> {
        let expected = self.evaluator.parameters().big_lwe_dimension().0;
        for ciphertext in [a, b] {
            let found = ciphertext.dimension().0;
            if found != expected {
                return Err(GateError::Dimension { expected, found });
            }
        }
        let (c, x, y) = gate.combination();
        let mut out = a.clone();
        out.mul_assign(x);
        let mut b = b.clone();
        b.mul_assign(y);
        out.add_assign(&b);
        out.add_plaintext(boolean::encode::<T>(true).mul(T::from_i64(c)));
        Ok(out)
    }
}
