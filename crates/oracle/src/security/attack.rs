//! The attacks whose least cost is the security level of a key.

/// An attack on LWE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Primal attack through unique-SVP.
    PrimalUsvp,
    /// Primal attack through bounded distance decoding.
    PrimalBdd,
    /// Hybrid of guessing and a dual attack.
    DualHybrid,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Self; 3] = [Self::PrimalUsvp, Self::PrimalBdd, Self::DualHybrid];

    /// The name of the attack in the lattice estimator.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrimalUsvp => "primal_usvp",
            Self::PrimalBdd => "primal_bdd",
            Self::DualHybrid => "dual_hybrid",
        }
    }

    /// Returns the attack of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|attack| attack.name() == name)
    }
}
