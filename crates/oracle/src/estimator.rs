//! The cost of the attacks on an LWE key, as the lattice estimator computes it, for any dimension,
//! modulus, noise and secret, in milliseconds.
//!
//! Three attacks are priced: primal uSVP, primal BDD and dual hybrid. [`crate::security`]'s table
//! has the minimum of these. An [`LweInstance`] is checked when it is made; [`estimate`] brings it
//! into normal form and chooses the parameters of each attack under a [`CostModel`] of lattice
//! reduction. Reduced bases are assumed to have the shape of the geometric series assumption.
//!
//! Formulas and searches are those of the lattice estimator (github.com/malb/lattice-estimator) of
//! June 2026, so that costs agree with it to 0.001 bits. They have the faults of its searches,
//! which stop at local minima and guess coefficients by tens. An exhaustive search saves some
//! tenths of a bit on the cheapest attack, and sometimes many bits on others: there are sets for
//! which uSVP is priced at 2^271 instead of 2^116. Above 512 bits the searches end, and a cost
//! only means that it is above this.
//!
//! Not covered: attacks on sparse keys that guess zeros, quantum computers, ring structure,
//! noise that is bounded and tiny, leakage.

mod dual;
mod instance;
mod primal;
mod reduction;
mod search;
mod strict;

use crate::security::attack::Attack;

pub use dual::DualHybridCost;
pub use instance::{
    DIMENSIONS, LOG2_MODULI, LweInstance, MAX_LOG2_SIGMA, MAX_SPARSITY, MIN_GAUSSIAN,
    MIN_LOG2_INTEGERS, NotEstimated, SecretDistribution,
};
pub use primal::{BddCost, UsvpCost};
pub use reduction::CostModel;
#[cfg(test)]
pub(crate) use strict::strict_log2_cost;
pub use strict::{StrictAttack, StrictCost, StrictEstimate, StrictKey, strict_estimate};

/// The costs of the attacks on an instance under one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The primal attack through unique-SVP.
    pub usvp: UsvpCost,
    /// The primal attack through bounded distance decoding.
    pub bdd: BddCost,
    /// The dual hybrid attack.
    pub dual_hybrid: DualHybridCost,
}

impl Estimate {
    /// log2 of the operations of an attack, infinite if it fails.
    pub fn log2_cost(&self, attack: Attack) -> f64 {
        match attack {
            Attack::PrimalUsvp => self.usvp.log2_cost,
            Attack::PrimalBdd => self.bdd.log2_cost,
            Attack::DualHybrid => self.dual_hybrid.log2_cost,
        }
    }

    /// The cheapest attack.
    pub fn limiting_attack(&self) -> Attack {
        let [first, others @ ..] = Attack::ALL;
        others.into_iter().fold(first, |cheapest, attack| {
            match self.log2_cost(attack) < self.log2_cost(cheapest) {
                true => attack,
                false => cheapest,
            }
        })
    }

    /// λ: log2 of the operations of the cheapest attack.
    pub fn lambda(&self) -> f64 {
        self.log2_cost(self.limiting_attack())
    }
}

/// Prices the attacks on `lwe`.
pub fn estimate(lwe: &LweInstance, model: CostModel) -> Estimate {
    let lwe = lwe.normal_form();
    let usvp = primal::usvp(&lwe, model);
    Estimate {
        usvp,
        bdd: primal::bdd(&lwe, model, &usvp),
        dual_hybrid: dual::dual_hybrid(&lwe, model),
    }
}
