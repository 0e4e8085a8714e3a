//! The bounds, the search and the sets of J. Klemsa's guide, an earlier way to TFHE parameters.
//!
//! A [`Task`] is the input of his procedure: cleartext bits π and quadratic weights W = Σ wᵢ². The
//! largest error that is decided correctly is 2^-(π+1), and it must be at least three standard
//! deviations:
//!
//! (4) W·V_0 + V_round ≤ V_max = 1/(9·4^(π+1)), V_round = (n+1)/(48 N²),
//! (5) V_0 = 2 n l N 4^(γ-1) V_BK + n (1+N) 4^-(γl+1) + t N 4^(κ-1) V_KS + N 4^-(κt+1),
//!
//! Here γ is log2 of the rotation's base, l its number of levels, and κ and t are those of the key
//! switch. The bootstrap comes first, k = 1, and keys are binary. (5) takes every digit at its
//! bound. With that the printed sets violate (4); with random digits ([`Digits::Random`]) they
//! keep it, and his computed and measured errors agree with random digits too. [`search`] accepts
//! either.
//!
//! Three standard deviations are a failure in 2^8.5, and a security line through the origin is
//! outdated: these figures are for comparison, not for choosing parameters.

use tfhe_sbc_oracle::algorithmic_cost::AlgorithmicCost;
use tfhe_sbc_oracle::blind_rotation::{BlindRotation, FftErrorModel, GgswGadgets, KeyRounding};
use tfhe_sbc_oracle::failure::{DecisionHalfWidth, log2_bootstrap_failure};
use tfhe_sbc_oracle::noise::{Gadget, GlweSecret, KeyBlocks, Variance};
use tfhe_sbc_oracle::noise_budget::{BootstrapOrder, NoiseBudget, NormSquared, PbsParameters};

/// The number of standard deviations that must fit the largest error.
pub const RULE: f64 = 3.0;
/// The bits of noise, -log2 α, per coefficient that give 128 bits of security by his line s·n.
pub const SLOPE_128: f64 = 0.0235;
/// The smallest dimension of a key of λ bits that he admits, 2λ.
const SMALLEST_DIMENSION: usize = 256;
/// The largest number of digits of a key switch, and of bits in a digit, that he tries.
const MOST_SWITCH: u32 = 10;
/// The most levels of a rotation that are tried.
const MOST_LEVELS: usize = 6;
/// log2 of the modulus of small ciphertexts, and of big ones if their noise is coarse enough.
const SMALL_TORUS_LOG2: u32 = 32;

/// A task, for which a set is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// The name of the task.
    pub name: &'static str,
    /// Cleartext bits π: neighbouring values are 2^-π apart.
    pub cleartext_bits: u32,
    /// Quadratic weights W, the squared 2-norm of the linear step.
    pub quadratic_weights: u32,
}

impl Task {
    /// The largest error, 2^-(π+1).
    pub fn half_width(self) -> DecisionHalfWidth {
        DecisionHalfWidth(f64::exp2(-f64::from(self.cleartext_bits + 1)))
    }

    /// W.
    pub fn norm(self) -> NormSquared {
        NormSquared(f64::from(self.quadratic_weights))
    }

    /// V_max of (4).
    pub fn largest_variance(self) -> Variance {
        Variance::from_standard_deviation(self.half_width().0 / RULE)
    }
}

/// The assumption about the digits of a decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// The digits are at their bound B/2, as in (5).
    Worst,
    /// The digits are uniform, and half of the bits of keys are 1.
    Random,
}

/// A set as his table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KlemsaSet {
    /// N.
    pub polynomial_size: usize,
    /// n.
    pub lwe_dimension: usize,
    /// γ and l.
    pub rotation: Gadget,
    /// κ and t.
    pub key_switch: Gadget,
    /// log2 of the bootstrapping key's standard deviation over q.
    pub log2_rotation_noise: i32,
    /// log2 of the key-switching key's.
    pub log2_switch_noise: i32,
}

impl KlemsaSet {
    /// A set in the order of his table: N, n; γ, l; κ, t; log2 α_BK, log2 α_KS.
    pub const fn new(
        dimensions: (usize, usize),
        rotation: (u32, usize),
        key_switch: (u32, usize),
        log2_noise: (i32, i32),
    ) -> Self {
        Self {
            polynomial_size: dimensions.0,
            lwe_dimension: dimensions.1,
            rotation: Gadget {
                base_log: rotation.0,
                level: rotation.1,
            },
            key_switch: Gadget {
                base_log: key_switch.0,
                level: key_switch.1,
            },
            log2_rotation_noise: log2_noise.0,
            log2_switch_noise: log2_noise.1,
        }
    }

    /// The set as the oracle's formulas take it.
    pub fn parameters(&self) -> PbsParameters {
        PbsParameters {
            small_key: KeyBlocks::binary(self.lwe_dimension),
            shared_coefficients: 0,
            lwe_variance: power_of_two(self.log2_switch_noise),
            glwe_secret: GlweSecret::Binary,
            glwe_dimension: 1,
            polynomial_size: self.polynomial_size,
            glwe_variance: power_of_two(self.log2_rotation_noise),
            key_rounding: KeyRounding::ZERO,
            torus_log2: self.torus_log2(),
            small_torus_log2: SMALL_TORUS_LOG2,
            blind_rotation: BlindRotation::ControlledRotations,
            pbs: GgswGadgets::same(self.rotation),
            ks_base_log: self.key_switch.base_log,
            ks_level: self.key_switch.level,
            centred_modulus_switch: false,
        }
    }

    /// 32 if the noise is at least four steps of such a torus, otherwise 64.
    pub fn torus_log2(&self) -> u32 {
        match self.log2_rotation_noise >= 2 - SMALL_TORUS_LOG2 as i32 {
            true => SMALL_TORUS_LOG2,
            false => 64,
        }
    }

    /// Returns whether `other` differs in the base of the rotation only, which no operation depends
    /// on.
    pub fn same_but_for_base(&self, other: &Self) -> bool {
        let mut same = *self;
        same.rotation.base_log = other.rotation.base_log;
        same == *other
    }

    fn budget(&self) -> NoiseBudget {
        NoiseBudget::with_fft_model(&self.parameters(), FftErrorModel::Concrete)
    }

    /// V_round of (4), twice what a binary key's mask makes.
    pub fn rounding(&self) -> Variance {
        let size = self.polynomial_size as f64;
        Variance((self.lwe_dimension as f64 + 1.0) / (48.0 * size * size))
    }

    /// V_0: of a bootstrapping's output.
    pub fn output(&self, digits: Digits) -> Variance {
        if digits == Digits::Random {
            return self.budget().output(BootstrapOrder::BootstrapFirst);
        }
        let (n, size) = (self.lwe_dimension as f64, self.polynomial_size as f64);
        let largest =
            |gadget: Gadget| gadget.level as f64 * power_of_four(gadget.base_log as i32 - 1);
        let cut_off =
            |gadget: Gadget| power_of_four(-(gadget.base_log as i32 * gadget.level as i32 + 1));
        let noise = |log2: i32| power_of_two(log2).0;
        let rotation = 2.0 * n * size * largest(self.rotation) * noise(self.log2_rotation_noise)
            + n * (1.0 + size) * cut_off(self.rotation);
        let switch = size * largest(self.key_switch) * noise(self.log2_switch_noise)
            + size * cut_off(self.key_switch);
        Variance(rotation + switch)
    }

    /// The left side of (4) over the right one.
    pub fn budget_share(&self, task: Task, digits: Digits) -> f64 {
        let total = self.output(digits) * task.norm().0 + self.rounding();
        total.0 / task.largest_variance().0
    }

    /// η: three standard deviations at the look-up over the largest error, in percent, by his
    /// V_round and random digits.
    pub fn computed_eta(&self, task: Task) -> f64 {
        100.0 * self.budget_share(task, Digits::Random).sqrt()
    }

    /// The same error by the oracle's formulas.
    pub fn predicted_eta(&self, task: Task) -> f64 {
        let total = self
            .budget()
            .total(BootstrapOrder::BootstrapFirst, task.norm());
        100.0 * (total.0 / task.largest_variance().0).sqrt()
    }

    /// log2 of the failure probability of a bootstrapping, by the oracle's formulas.
    pub fn log2_p_fail(&self, task: Task) -> f64 {
        let order = BootstrapOrder::BootstrapFirst;
        log2_bootstrap_failure(&self.budget(), order, task.half_width(), task.norm())
    }

    /// The bytes of the bootstrapping key by his formula, 6 n l N τ bits.
    pub fn bootstrapping_key_bytes(&self) -> f64 {
        let coefficients = 6 * self.lwe_dimension * self.rotation.level * self.polynomial_size;
        coefficients as f64 * f64::from(self.torus_log2()) / 8.0
    }

    /// The bytes of the key-switching key by his formula, (n+1) t N τ bits.
    pub fn key_switching_key_bytes(&self) -> f64 {
        let coefficients = (self.lwe_dimension + 1) * self.key_switch.level * self.polynomial_size;
        coefficients as f64 * f64::from(self.torus_log2()) / 8.0
    }
}

impl std::fmt::Display for KlemsaSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gadget = |gadget: Gadget| format!("2^{} x {}", gadget.base_log, gadget.level);
        write!(
            f,
            "N={} n={} rotation {} switch {} noise 2^{} 2^{}",
            self.polynomial_size,
            self.lwe_dimension,
            gadget(self.rotation),
            gadget(self.key_switch),
            self.log2_rotation_noise,
            self.log2_switch_noise
        )
    }
}

fn power_of_two(log2_sigma: i32) -> Variance {
    Variance::from_standard_deviation(f64::from(log2_sigma).exp2())
}

fn power_of_four(exponent: i32) -> f64 {
    f64::from(2 * exponent).exp2()
}

/// His search, for 128 bits: every N from 256 to 4096 with the noise that the line allows it;
/// every n from 2λ whose rounding fits; every κ and t up to 10; and the first l that fits what is
/// left, with the γ of the least noise. Noises are powers of two, so n is the smallest for each.
///
/// He ranks by benchmark; this by [`AlgorithmicCost`], and by noise where that is the same. `None` if
/// nothing fits.
pub fn search(task: Task, digits: Digits) -> Option<KlemsaSet> {
    let mut cheapest: Option<(f64, f64, KlemsaSet)> = None;
    for polynomial_size in (8..=12).map(|log2| 1usize << log2) {
        let rotation_bits = (SLOPE_128 * polynomial_size as f64).floor() as i32;
        for switch_bits in 1..SMALL_TORUS_LOG2 as i32 - 1 {
            let lwe_dimension = (f64::from(switch_bits) / SLOPE_128).ceil() as usize;
            let noise = (-rotation_bits, -switch_bits);
            let shape = KlemsaSet::new((polynomial_size, lwe_dimension), (1, 1), (1, 1), noise);
            let rounding = shape.rounding().0 / task.largest_variance().0;
            if lwe_dimension < SMALLEST_DIMENSION || rounding > 1.0 {
                continue;
            }
            let rotations = rotations(shape, digits);
            for (base_log, level) in pairs(MOST_SWITCH) {
                let switched = KlemsaSet {
                    key_switch: Gadget { base_log, level },
                    ..shape
                };
                let fitting = rotations.iter().find_map(|&rotation| {
                    let set = KlemsaSet {
                        rotation,
                        ..switched
                    };
                    let share = set.budget_share(task, digits);
                    (share <= 1.0).then_some((share, set))
                });
                let Some((share, set)) = fitting else {
                    continue;
                };
                let cost = AlgorithmicCost::new(&set.parameters()).total();
                if cheapest.is_none_or(|(least, its, _)| (cost, share) < (least, its)) {
                    cheapest = Some((cost, share, set));
                }
            }
        }
    }
    cheapest.map(|(_, _, set)| set)
}

/// All (κ, t) up to `most`.
fn pairs(most: u32) -> impl Iterator<Item = (u32, usize)> {
    (1..=most).flat_map(move |base_log| (1..=most as usize).map(move |level| (base_log, level)))
}

/// For every number of levels, the base with the least noise.
fn rotations(shape: KlemsaSet, digits: Digits) -> Vec<Gadget> {
    (1..=MOST_LEVELS)
        .filter_map(|level| {
            (1..=shape.torus_log2() / level as u32)
                .map(|base_log| Gadget { base_log, level })
                .map(|rotation| (rotation, KlemsaSet { rotation, ..shape }.output(digits).0))
                .min_by(|a, b| a.1.total_cmp(&b.1))
        })
        .map(|(rotation, _)| rotation)
        .collect()
}

/// A row of his Table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The task.
    pub task: Task,
    /// The set that he compares with.
    pub original: Printed,
    /// The one that his procedure gave.
    pub new: Printed,
}

/// A set of the table, with what is printed beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The set.
    pub set: KlemsaSet,
    /// The security level λ by the estimator of 2022 or before.
    pub lambda: f64,
    /// A bootstrapping on his machine, in milliseconds.
    pub milliseconds: f64,
    /// η as he computed it and as he measured it, in percent, where they are known.
    pub eta: Option<(f64, f64)>,
}

/// The table. π and W are those at which his formulas give the figures that are printed.
pub const TABLE_1: [Entry; 4] = [
    Entry {
        task: Task {
            name: "binary",
            cleartext_bits: 2,
            quadratic_weights: 2,
        },
        original: Printed {
            set: KlemsaSet::new((1024, 630), (7, 3), (2, 8), (-25, -15)),
            lambda: 127.1,
            milliseconds: 81.4,
            eta: Some((16.1, 14.7)),
        },
        new: Printed {
            set: KlemsaSet::new((1024, 554), (8, 2), (3, 3), (-24, -13)),
            lambda: 127.1,
            milliseconds: 52.1,
            eta: Some((73.6, 72.5)),
        },
    },
    Entry {
        task: Task {
            name: "parallel-addition",
            cleartext_bits: 5,
            quadratic_weights: 20,
        },
        original: Printed {
            set: KlemsaSet::new((1024, 680), (7, 3), (1, 16), (-29, -18)),
            lambda: 111.5,
            milliseconds: 103.0,
            eta: Some((78.3, 75.2)),
        },
        new: Printed {
            set: KlemsaSet::new((2048, 766), (21, 1), (3, 5), (-48, -18)),
            lambda: 131.2,
            milliseconds: 122.1,
            eta: Some((90.2, 86.9)),
        },
    },
    Entry {
        task: Task {
            name: "z8",
            cleartext_bits: 5,
            quadratic_weights: 2,
        },
        original: Printed {
            set: KlemsaSet::new((1024, 750), (7, 3), (2, 7), (-25, -18)),
            lambda: 128.2,
            milliseconds: 100.0,
            eta: None,
        },
        new: Printed {
            set: KlemsaSet::new((1024, 724), (6, 3), (2, 8), (-24, -17)),
            lambda: 130.5,
            milliseconds: 98.9,
            eta: None,
        },
    },
    Entry {
        task: Task {
            name: "z16",
            cleartext_bits: 6,
            quadratic_weights: 2,
        },
        original: Printed {
            set: KlemsaSet::new((2048, 750), (7, 3), (2, 7), (-52, -18)),
            lambda: 128.2,
            milliseconds: 199.6,
            eta: None,
        },
        new: Printed {
            set: KlemsaSet::new((2048, 766), (21, 1), (3, 5), (-48, -18)),
            lambda: 131.2,
            milliseconds: 124.6,
            eta: None,
        },
    },
];
