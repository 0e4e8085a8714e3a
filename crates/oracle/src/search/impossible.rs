//! The reasons for which a search finds nothing, and the nearest possible values.

use std::fmt;

use thiserror::Error;

use crate::failure::log2_p_fail;
use crate::search::candidate::{Candidate, Pricing, pool};
use crate::search::chains::least_noise;
use crate::search::keys::Keys;
use crate::search::request::{BadRequest, Bounds, Request};

/// The reason for which a request has no answer.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotFound {
    /// The request makes no sense.
    #[error(transparent)]
    BadRequest(#[from] BadRequest),
    /// No candidate is within the bounds.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// A request that nothing meets.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Impossible {
    /// No choice of keys and levels has so little noise.
    #[error(
        "no keys with N up to {polynomial_size} hold {precision} bits at a 2-norm of {noise_level} \
         and {lambda} bits of security with a failure probability of 2^{asked}: \
         the least possible is 2^{least:.1}{}", norm_hint(*norm)
    )]
    Noise {
        /// The largest polynomial size allowed.
        polynomial_size: usize,
        /// Message and carry bits.
        precision: u32,
        /// The noise level asked for.
        noise_level: u32,
        /// The level asked for.
        lambda: f64,
        /// log2 of the failure probability asked for.
        asked: f64,
        /// log2 of the least that is possible.
        least: f64,
        /// The largest 2-norm that is possible at the failure probability asked for.
        norm: Option<u32>,
    },
    /// Bootstraps of outputs would do, uploads or lopsided keys fail too often.
    #[error(
        "on average over keys a bootstrap of bootstrap outputs would reach 2^{asked}, but not the \
         most lopsided key in a thousand, or uploads{}", p_fail_hint(*possible)
    )]
    Uploads {
        /// log2 of the failure probability asked for.
        asked: f64,
        /// A larger one that all of them reach.
        possible: Option<f64>,
    },
    /// One bound stands in the way.
    #[error("{0}")]
    Bound(Binding),
    /// Several bounds stand in the way. Each with the least that is possible without the others.
    #[error(
        "no set is within all bounds at once, nor within all but one. Without the others the least \
         possible is {}", list(.0)
    )]
    Bounds(Vec<Binding>),
}

fn norm_hint(norm: Option<u32>) -> String {
    match norm {
        Some(norm) => format!(", or a 2-norm of {norm} at that probability"),
        None => String::new(),
    }
}

fn p_fail_hint(possible: Option<f64>) -> String {
    match possible {
        Some(log2_p) => format!(": 2^{log2_p} is possible for all of them"),
        None => String::new(),
    }
}

fn list(bindings: &[Binding]) -> String {
    let each = bindings.iter().map(|one| {
        let (least, bound) = (one.metric.show(one.nearest), one.metric.show(one.bound));
        format!("{least} (asked for: {bound})")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A metric that is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Polynomial size.
    PolynomialSize,
    /// Mask polynomials.
    GlweDimension,
    /// Dimension of the small key.
    LweDimension,
    /// The bytes of the server key as it travels.
    KeyBytes,
    /// The bytes of the server key in memory.
    MemoryBytes,
    /// The bytes of an upload.
    UploadBytes,
    /// The bits of a body coefficient of an upload.
    BodyBits,
    /// The bits of a mask coefficient of a public-key upload.
    MaskBits,
    /// Time of one bootstrap.
    Latency,
    /// Time of a bootstrap in a batch.
    BatchTime,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 10] = [
        Self::PolynomialSize,
        Self::GlweDimension,
        Self::LweDimension,
        Self::KeyBytes,
        Self::MemoryBytes,
        Self::UploadBytes,
        Self::BodyBits,
        Self::MaskBits,
        Self::Latency,
        Self::BatchTime,
    ];

    /// Returns the value of the metric for a candidate.
    pub fn of(self, candidate: &Candidate) -> f64 {
        let (scheme, price) = (&candidate.scheme, &candidate.price);
        match self {
            Self::PolynomialSize => scheme.polynomial_size as f64,
            Self::GlweDimension => scheme.glwe_dimension as f64,
            Self::LweDimension => scheme.small_key.dimension as f64,
            Self::KeyBytes => price.key_bytes,
            Self::MemoryBytes => price.memory_bytes,
            Self::UploadBytes => price.upload_bytes,
            Self::BodyBits => candidate.set.map_or(0.0, |set| f64::from(set.body_bits())),
            Self::MaskBits => {
                let bits = candidate.set.map(|set| set.public_key_mask_bits());
                bits.map_or(0.0, f64::from)
            }
            Self::Latency => price.single,
            Self::BatchTime => price.batched,
        }
    }

    /// The bound on it.
    pub fn bound(self, bounds: &Bounds) -> f64 {
        match self {
            Self::PolynomialSize => bounds.polynomial_size as f64,
            Self::GlweDimension => bounds.glwe_dimension as f64,
            Self::LweDimension => bounds.lwe_dimension as f64,
            Self::KeyBytes => bounds.key_bytes,
            Self::MemoryBytes => bounds.memory_bytes,
            Self::UploadBytes => bounds.upload_bytes,
            Self::BodyBits => f64::from(bounds.body_bits),
            Self::MaskBits => f64::from(bounds.public_key_mask_bits),
            Self::Latency => bounds.latency,
            Self::BatchTime => bounds.batch_time,
        }
    }

    /// The bounds without this one.
    fn lifted(self, bounds: &Bounds) -> Bounds {
        let (mut lifted, none) = (*bounds, Bounds::NONE);
        match self {
            Self::PolynomialSize => lifted.polynomial_size = none.polynomial_size,
            Self::GlweDimension => lifted.glwe_dimension = none.glwe_dimension,
            Self::LweDimension => lifted.lwe_dimension = none.lwe_dimension,
            Self::KeyBytes => lifted.key_bytes = none.key_bytes,
            Self::MemoryBytes => lifted.memory_bytes = none.memory_bytes,
            Self::UploadBytes => lifted.upload_bytes = none.upload_bytes,
            Self::BodyBits => lifted.body_bits = none.body_bits,
            Self::MaskBits => lifted.public_key_mask_bits = none.public_key_mask_bits,
            Self::Latency => lifted.latency = none.latency,
            Self::BatchTime => lifted.batch_time = none.batch_time,
        }
        lifted
    }

    /// A value of it for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::PolynomialSize => format!("N = {value}"),
            Self::GlweDimension => format!("k = {value}"),
            Self::LweDimension => format!("n = {value}"),
            Self::KeyBytes => format!("a server key of {:.1} MiB", value / MIB),
            Self::MemoryBytes => format!("{:.1} MiB of server key in memory", value / MIB),
            Self::UploadBytes => format!("uploads of {value} bytes for 1024 blocks"),
            Self::BodyBits => format!("{value} bits of an upload's body coefficients"),
            Self::MaskBits => format!("{value} bits of a public-key upload's mask coefficients"),
            Self::Latency => format!("{:.2} ms for one bootstrap", value * 1e3),
            Self::BatchTime => format!("{:.2} ms for a bootstrap in a batch", value * 1e3),
        }
    }
}

const MIB: f64 = (1u64 << 20) as f64;

/// A bound that stands in the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binding {
    /// The bounded metric.
    pub metric: Metric,
    /// The bound.
    pub bound: f64,
    /// The nearest that is possible, all other bounds kept.
    pub nearest: f64,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (metric, bound, nearest) = (self.metric, self.bound, self.nearest);
        write!(
            f,
            "nothing keeps to {}: the nearest possible is {}",
            metric.show(bound),
            metric.show(nearest)
        )
    }
}

/// Explains why no candidate of `pool`, which has all candidates, is within the bounds.
pub(super) fn explain(
    request: &Request,
    pricing: &Pricing<'_>,
    keys: &Keys,
    pool: &[Candidate],
) -> Impossible {
    let bounded: Vec<Metric> = Metric::ALL
        .into_iter()
        .filter(|metric| metric.bound(&request.bounds) < metric.bound(&Bounds::NONE))
        .collect();
    let nearest = |bounds: Bounds, metric: Metric| {
        let relaxed = Request { bounds, ..*request };
        let shape = !metric.is_of_shape();
        let searched;
        let candidates = match shape {
            true => pool,
            false => {
                searched = self::pool(&relaxed, pricing, keys);
                &searched
            }
        };
        candidates
            .iter()
            .filter(|candidate| candidate.is_within(&bounds))
            .map(|candidate| metric.of(candidate))
            .min_by(f64::total_cmp)
    };
    let binding = |metric: Metric, bounds: Bounds| {
        let nearest = nearest(bounds, metric)?;
        Some(Binding {
            metric,
            bound: metric.bound(&request.bounds),
            nearest,
        })
    };
    // The bound whose lifting asks for the least.
    let alone = bounded
        .iter()
        .filter_map(|&metric| binding(metric, metric.lifted(&request.bounds)))
        .min_by(|a, b| (a.nearest / a.bound).total_cmp(&(b.nearest / b.bound)));
    if let Some(binding) = alone {
        return Impossible::Bound(binding);
    }
    let unbounded = Request {
        bounds: Bounds::NONE,
        ..*request
    };
    let all = self::pool(&unbounded, pricing, keys);
    let least = |metric: Metric| all.iter().map(|c| metric.of(c)).min_by(f64::total_cmp);
    let each: Vec<Binding> = bounded
        .iter()
        .filter_map(|&metric| {
            Some(Binding {
                metric,
                bound: metric.bound(&request.bounds),
                nearest: least(metric)?,
            })
        })
        .collect();
    if !each.is_empty() {
        return Impossible::Bounds(each);
    }
    noise(request, pricing, keys)
}

impl Metric {
    /// Returns whether the search keeps to the bound on this metric from the start.
    fn is_of_shape(self) -> bool {
        matches!(
            self,
            Self::PolynomialSize | Self::GlweDimension | Self::LweDimension
        )
    }
}

/// The failure probability that the least possible noise allows.
fn noise(request: &Request, pricing: &Pricing<'_>, keys: &Keys) -> Impossible {
    let with_level = |noise_level| {
        let request = Request {
            noise_level,
            ..*request
        };
        let least = least_noise(&request, keys);
        least.map_or(0.0, |variance| log2_p_fail(request.half_width(), variance))
    };
    let least = with_level(request.noise_level);
    if least <= request.log2_p_fail {
        let possible = [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().find_map(|more| {
            let log2_p_fail = request.log2_p_fail + more;
            let looser = Request {
                log2_p_fail,
                ..*request
            };
            let any = looser.check().is_ok() && !pool(&looser, pricing, keys).is_empty();
            any.then_some(log2_p_fail)
        });
        return Impossible::Uploads {
            asked: request.log2_p_fail,
            possible,
        };
    }
    // Noise grows with the level: the last one below which all are possible.
    let (mut possible, mut impossible) = (0, request.noise_level);
    while impossible - possible > 1 {
        let middle = possible + (impossible - possible) / 2;
        if with_level(middle) <= request.log2_p_fail {
            possible = middle;
        } else {
            impossible = middle;
        }
    }
    Impossible::Noise {
        polynomial_size: request.bounds.polynomial_size,
        precision: request.message_bits + request.carry_bits,
        noise_level: request.noise_level,
        lambda: request.lambda,
        asked: request.log2_p_fail,
        least,
        norm: (possible > 0).then_some(possible),
    }
}
