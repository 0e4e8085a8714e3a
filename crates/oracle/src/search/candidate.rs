//! A candidate: a choice with its price, its failure probabilities and its security.

use serde::Serialize;
use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::parameters::{
    Decomposition, ModulusSwitch, ParameterName, ParameterSet, Parameters,
};
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_core::wire::UploadSize;

use crate::algorithmic_cost::AlgorithmicCost;
use crate::blind_rotation::{BlindRotation, FftErrorModel, GgswGadgets, KeyRounding};
use crate::cost::{CostModel, bootstrap_key_bytes, key_switch_key_bytes, server_key_file_bytes};
use crate::failure::log2_bootstrap_failure;
use crate::noise::Variance;
use crate::noise_budget::{BootstrapOrder, NoiseBudget, NoiseShares, PbsParameters};
use crate::prediction::Prediction;
use crate::search::chains::{Chain, best_switch, chains};
use crate::search::keys::{Keys, SmallKey, glwe_secret, small_torus_bits};
use crate::search::request::{Bounds, Engine, Request, Secrets, Weights};
use crate::security::{ReliableLevel, SecretKind, reliable_level};
use crate::upload::{UploadBits, UploadKind, UploadPrediction};

/// Blocks of the upload whose size is priced.
const UPLOAD_BLOCKS: usize = 1024;
/// The factor by which a choice may be worse than another in time and size and still be computed
/// exactly, because uploads may need a longer key.
const TOLERANCE: f64 = 1.1;
/// The factor by which a small key may be longer for the sake of uploads.
const LONGER: f64 = 1.25;

/// The models by which sets are priced.
#[derive(Clone, Copy, Debug)]
pub struct Pricing<'a> {
    /// The cost model of the machine.
    pub model: &'a CostModel,
    /// The number of ciphertexts of a batch.
    pub batch: usize,
    /// The number of threads that work on a batch, and on a single ciphertext.
    pub threads: usize,
}

/// The price of a set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Price {
    /// One bootstrap by itself: seconds, or millions of operations for other engines.
    pub single: f64,
    /// The seconds of one bootstrap of a batch.
    pub batched: f64,
    /// The bytes of the server key as it travels.
    pub key_bytes: f64,
    /// The bytes of the server key in memory.
    pub memory_bytes: f64,
    /// The bytes of an upload of 1024 blocks; 0 for other engines.
    pub upload_bytes: f64,
}

impl Price {
    /// The logarithm of what [`Weights`] make of it: less is better.
    pub fn weighed(&self, weights: &Weights) -> f64 {
        let part = |weight: f64, metric: f64| match weight > 0.0 && metric > 0.0 {
            true => weight * metric.ln(),
            false => 0.0,
        };
        part(weights.latency, self.single)
            + part(weights.throughput, self.batched)
            + part(weights.key, self.key_bytes)
            + part(weights.upload, self.upload_bytes)
    }

    /// Returns whether this candidate is nowhere worse than the other and somewhere better.
    pub fn beats(&self, other: &Self) -> bool {
        let pairs = [
            (self.single, other.single),
            (self.batched, other.batched),
            (self.key_bytes, other.key_bytes),
            (self.upload_bytes, other.upload_bytes),
        ];
        pairs.iter().all(|(a, b)| a <= b) && pairs.iter().any(|(a, b)| a < b)
    }
}

/// The security levels of the keys. The level of a GLWE key is `None` if its noise was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyLevels {
    /// The small key.
    pub lwe: ReliableLevel,
    /// The GLWE key.
    pub glwe: ReliableLevel,
}

impl KeyLevels {
    /// The smaller level of the two, in bits.
    pub fn bits(&self) -> f64 {
        self.lwe.lambda.min(self.glwe.lambda)
    }

    /// The levels of a set of this engine; `None` where neither table nor estimator has one.
    pub fn of_set(parameters: &Parameters) -> Option<Self> {
        let small = SecretKind::of_blocks(parameters.lwe_block_size()).ok()?;
        let scheme = PbsParameters::from(parameters);
        Self::new(&scheme, small, parameters.glwe_secret().into())
    }

    fn new(scheme: &PbsParameters, small: SecretKind, glwe: SecretKind) -> Option<Self> {
        let level =
            |n, variance: Variance, secret| reliable_level(n, 0.5 * variance.log2(), secret);
        let big = scheme.glwe_dimension * scheme.polynomial_size;
        Some(Self {
            lwe: level(scheme.small_key.dimension, scheme.lwe_variance, small)?,
            glwe: level(big, scheme.glwe_variance, glwe)?,
        })
    }
}

/// A set that meets a request.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The parameters that the noise depends on.
    pub scheme: PbsParameters,
    /// The noise of the small key's ciphertexts.
    pub lwe_noise: NoiseDistribution,
    /// The noise of GLWE ciphertexts.
    pub glwe_noise: NoiseDistribution,
    /// The set, complete, for this engine.
    pub set: Option<Parameters>,
    /// The variance that each step adds.
    pub budget: NoiseBudget,
    /// The noise at the worst look-up on bootstrap outputs.
    pub worst_total: Variance,
    /// The shares of the steps in the noise.
    pub shares: NoiseShares,
    /// log2 of the failure probability on bootstrap outputs.
    pub log2_p_fail: f64,
    /// The same for a key-switching key as lopsided as one in a thousand; for this engine.
    pub log2_p_fail_lopsided: Option<f64>,
    /// The same on symmetric and on public-key uploads; for this engine.
    pub log2_p_fail_uploads: Option<[f64; 2]>,
    /// The security levels of the keys.
    pub levels: KeyLevels,
    /// The price.
    pub price: Price,
}

impl Candidate {
    /// log2 of the failure probability of its worst use.
    pub fn worst_log2_p_fail(&self) -> f64 {
        let uploads = self.log2_p_fail_uploads.unwrap_or([self.log2_p_fail; 2]);
        uploads.into_iter().fold(self.log2_p_fail, f64::max)
    }

    /// Returns whether the candidate exceeds none of the bounds.
    pub fn is_within(&self, bounds: &Bounds) -> bool {
        let set = self.set.as_ref();
        let body_bits = set.map_or(0, Parameters::body_bits);
        let mask_bits = set.map_or(0, Parameters::public_key_mask_bits);
        self.scheme.polynomial_size <= bounds.polynomial_size
            && self.scheme.glwe_dimension <= bounds.glwe_dimension
            && self.scheme.small_key.dimension <= bounds.lwe_dimension
            && self.price.key_bytes <= bounds.key_bytes
            && self.price.memory_bytes <= bounds.memory_bytes
            && self.price.upload_bytes <= bounds.upload_bytes
            && self.price.single <= bounds.latency
            && self.price.batched <= bounds.batch_time
            && body_bits <= bounds.body_bits
            && mask_bits <= bounds.public_key_mask_bits
    }

    /// Evaluates a set of this engine in the same way as the candidates of the search.
    ///
    /// Returns `None` if the security of its keys is not known.
    pub fn of_set(
        parameters: &Parameters,
        order: BootstrapOrder,
        pricing: &Pricing<'_>,
    ) -> Option<Self> {
        let scheme = PbsParameters::from(parameters);
        let prediction = Prediction::in_order(parameters, order);
        let norm = crate::prediction::worst_norm_squared(parameters);
        Some(Self {
            scheme,
            lwe_noise: parameters.lwe_noise(),
            glwe_noise: parameters.glwe_noise(),
            set: Some(*parameters),
            budget: prediction.budget,
            worst_total: prediction.worst_total,
            shares: prediction.budget.shares(order, norm),
            log2_p_fail: prediction.log2_p_fail,
            log2_p_fail_lopsided: Some(prediction.log2_p_fail_lopsided),
            log2_p_fail_uploads: Some(
                UploadKind::ALL
                    .map(|kind| UploadPrediction::in_order(parameters, kind, order).log2_p_fail),
            ),
            levels: KeyLevels::of_set(parameters)?,
            price: price(parameters, pricing),
        })
    }
}

/// Everything worth a look: the choices that no other beats by far, worked out, each with the
/// smallest small key, and longer ones where they save bits of uploads. Bounds on the shape of
/// keys are kept to, others are not.
pub(super) fn pool(request: &Request, pricing: &Pricing<'_>, keys: &Keys) -> Vec<Candidate> {
    let mut rough: Vec<(Price, Chain)> = chains(request, keys)
        .into_iter()
        .filter_map(|chain| Some((rough_price(request, pricing, &chain)?, chain)))
        .collect();
    rough.sort_by(|a, b| a.0.single.total_cmp(&b.0.single));
    let mut kept: Vec<Price> = Vec::new();
    let mut found = Vec::new();
    for (price, chain) in rough {
        let far_beaten = kept.iter().any(|other| {
            other.single * TOLERANCE < price.single
                && other.batched * TOLERANCE < price.batched
                && other.key_bytes * TOLERANCE < price.key_bytes
                && other.upload_bytes <= price.upload_bytes
        });
        if !far_beaten {
            kept.push(price);
            work_out(request, pricing, &chain, &mut found);
        }
    }
    found
}

/// The candidates of a chain: none, one, or several with ever fewer bits of uploads.
fn work_out(request: &Request, pricing: &Pricing<'_>, chain: &Chain, found: &mut Vec<Candidate>) {
    let keys = &chain.small_keys[chain.fitting.clone()];
    let Some(shortest) = keys.first() else { return };
    let longest = shortest.blocks.dimension as f64 * LONGER;
    let keys = &keys[..keys.partition_point(|key| key.blocks.dimension as f64 <= longest)];
    let complete = |key: &SmallKey| complete(request, pricing, chain, key);
    // The first key for which `good` holds, if it holds for the longest.
    let first = |from: usize, good: &dyn Fn(&Candidate) -> bool| {
        let holds = |at: usize| complete(&keys[at]).filter(|candidate| good(candidate));
        let (mut low, mut high) = (from, keys.len().checked_sub(1)?);
        let mut best = holds(high)?;
        while low < high {
            let middle = low + (high - low) / 2;
            match holds(middle) {
                Some(candidate) => (high, best) = (middle, candidate),
                None => low = middle + 1,
            }
        }
        Some((high, best))
    };
    // The bits of bodies are minimised, and those of masks only if they are bounded.
    let masks_matter = request.bounds.public_key_mask_bits < request.torus_bits;
    let bits_matter = masks_matter
        || request.minimise.upload > 0.0
        || request.bounds.upload_bytes.is_finite()
        || request.bounds.body_bits < request.torus_bits;
    let bits = |candidate: &Candidate| {
        candidate.set.map_or(0, |set| {
            set.body_bits()
                + if masks_matter {
                    set.public_key_mask_bits()
                } else {
                    0
                }
        })
    };
    let mut next = match complete(shortest) {
        Some(candidate) => Some((0, candidate)),
        None => first(0, &|_| true),
    };
    while let Some((at, candidate)) = next {
        let most = bits(&candidate);
        found.push(candidate);
        next = match bits_matter && most > 1 {
            true => first(at, &|longer: &Candidate| bits(longer) < most),
            false => None,
        };
    }
}

/// The price of a chain with its shortest small key, and with uploads of the fewest bits that a
/// block can have.
fn rough_price(request: &Request, pricing: &Pricing<'_>, chain: &Chain) -> Option<Price> {
    let key = chain.small_keys.get(chain.fitting.start)?;
    let key_switch = Decomposition::new(1, chain.switch_levels);
    match request.engine {
        Engine::TfheSbc => {
            let set = set(request, chain, key, key_switch);
            let fewest = request.message_bits + request.carry_bits + 2;
            let set = ParameterSet {
                body_bits: fewest,
                ..set
            };
            Some(price(&set.validate().ok()?, pricing))
        }
        Engine::TfheRs | Engine::Tfhepp => {
            Some(foreign_price(&scheme(request, chain, key, key_switch)))
        }
    }
}

fn price(set: &Parameters, pricing: &Pricing<'_>) -> Price {
    let upload = UploadSize::symmetric(set.as_set(), UPLOAD_BLOCKS, 1);
    Price {
        single: pricing.model.bootstrap(set.as_set(), 1, pricing.threads),
        batched: pricing
            .model
            .bootstrap(set.as_set(), pricing.batch, pricing.threads),
        key_bytes: server_key_file_bytes(set) as f64,
        memory_bytes: (bootstrap_key_bytes(set.as_set()) + key_switch_key_bytes(set.as_set()))
            as f64,
        upload_bytes: upload.map_or(0.0, |size| size.total_bytes() as f64),
    }
}

/// Operations, and the sizes of keys as peers hold them: a Fourier key of complex doubles, and a
/// key-switching key of whole ciphertexts.
fn foreign_price(scheme: &PbsParameters) -> Price {
    let cost = AlgorithmicCost::new(scheme).millions();
    let (n, k) = (scheme.small_key.dimension, scheme.glwe_dimension);
    let rows = k * scheme.pbs.mask.level + scheme.pbs.body.level;
    let bootstrap = n * rows * (k + 1) * scheme.polynomial_size;
    let switch = scheme.key_switch();
    let words = switch.input_dimension * scheme.ks_level * (n + 1);
    let bytes = |words: usize, bits: u32| words as f64 * f64::from(bits) / 8.0;
    let switch_bytes = bytes(words, scheme.small_torus_log2);
    Price {
        single: cost,
        batched: cost,
        key_bytes: bytes(bootstrap, scheme.torus_log2) + switch_bytes,
        memory_bytes: bytes(bootstrap, 64) + switch_bytes,
        upload_bytes: 0.0,
    }
}

/// The set of a choice, with whole uploads and no statements about itself.
fn set(
    request: &Request,
    chain: &Chain,
    key: &SmallKey,
    key_switch: Decomposition,
) -> ParameterSet {
    ParameterSet {
        name: ParameterName::new("found"),
        torus_bits: request.torus_bits,
        lwe_dimension: LweDimension(key.blocks.dimension),
        lwe_block_size: key.blocks.block_size,
        lwe_noise: key.noise,
        glwe_dimension: GlweDimension(chain.glwe.glwe_dimension),
        polynomial_size: chain.glwe.polynomial_size,
        glwe_secret: glwe_secret(request),
        glwe_noise: chain.glwe.noise,
        pbs: chain.rotation.mask,
        pbs_body: chain.rotation.body,
        key_switch,
        plaintext: request.plaintext,
        message_bits: MessageBits(request.message_bits),
        carry_bits: CarryBits(request.carry_bits),
        max_noise_level: request.noise_level,
        modulus_switch: ModulusSwitch::MeanCompensated,
        body_bits: request.torus_bits,
        public_key_mask_bits: request.torus_bits,
        log2_p_fail: 0.0,
        security_bits: 0.0,
    }
}

/// The scheme of a choice for another engine.
fn scheme(
    request: &Request,
    chain: &Chain,
    key: &SmallKey,
    key_switch: Decomposition,
) -> PbsParameters {
    PbsParameters {
        small_key: key.blocks,
        shared_coefficients: match request.secrets {
            Secrets::Shared => key.blocks.dimension,
            Secrets::Binary | Secrets::Blocks | Secrets::Ternary => 0,
        },
        lwe_variance: key.variance,
        glwe_secret: glwe_secret(request),
        glwe_dimension: chain.glwe.glwe_dimension,
        polynomial_size: chain.glwe.polynomial_size,
        glwe_variance: Variance(chain.glwe.noise.variance(request.torus_bits)),
        key_rounding: KeyRounding::ZERO,
        torus_log2: request.torus_bits,
        small_torus_log2: small_torus_bits(request),
        blind_rotation: BlindRotation::ControlledRotations,
        pbs: GgswGadgets::same(chain.rotation.mask.into()),
        ks_base_log: key_switch.base_log.0,
        ks_level: key_switch.level_count.0,
        centred_modulus_switch: true,
    }
}

/// A choice with everything that follows from it, if all uses keep to the failure probability.
fn complete(
    request: &Request,
    pricing: &Pricing<'_>,
    chain: &Chain,
    key: &SmallKey,
) -> Option<Candidate> {
    let (key_switch, _) = best_switch(request, &chain.glwe, key, chain.switch_levels)?;
    match request.engine {
        Engine::TfheSbc => {
            let set = set(request, chain, key, key_switch);
            let parameters = set.validate().ok()?;
            let prediction = Prediction::in_order(&parameters, request.order);
            if prediction.log2_p_fail.max(prediction.log2_p_fail_lopsided) > request.log2_p_fail {
                return None;
            }
            let bits =
                UploadBits::fewest_in_order(&parameters, request.order, request.log2_p_fail)?;
            let set = ParameterSet {
                body_bits: bits.body,
                public_key_mask_bits: bits.public_key_mask,
                ..set
            };
            Candidate::of_set(&set.validate().ok()?, request.order, pricing).map(stated)
        }
        Engine::TfheRs | Engine::Tfhepp => {
            let scheme = scheme(request, chain, key, key_switch);
            let model = FftErrorModel::published_for_torus(request.torus_bits);
            let budget = NoiseBudget::with_fft_model(&scheme, model);
            let norm = request.norm_squared();
            let log2_p_fail =
                log2_bootstrap_failure(&budget, request.order, request.half_width(), norm);
            let glwe = scheme.glwe_secret.into();
            (log2_p_fail <= request.log2_p_fail).then_some(())?;
            Some(Candidate {
                scheme,
                lwe_noise: key.noise,
                glwe_noise: chain.glwe.noise,
                set: None,
                budget,
                worst_total: budget.total(request.order, norm),
                shares: budget.shares(request.order, norm),
                log2_p_fail,
                log2_p_fail_lopsided: None,
                log2_p_fail_uploads: None,
                levels: KeyLevels::new(&scheme, SecretKind::Binary, glwe)?,
                price: foreign_price(&scheme),
            })
        }
    }
}

/// The candidate with a set that states its failure probability and level: to a tenth, on the
/// safe side.
fn stated(candidate: Candidate) -> Candidate {
    let log2_p_fail = (candidate.worst_log2_p_fail() * 10.0).ceil() / 10.0;
    let security_bits = (candidate.levels.bits() * 10.0).floor() / 10.0;
    let set = candidate.set.and_then(|set| {
        let set = ParameterSet {
            log2_p_fail,
            security_bits,
            ..*set.as_set()
        };
        set.validate().ok()
    });
    Candidate { set, ..candidate }
}
