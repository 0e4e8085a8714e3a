//! The outcome of a search as JSON and as Rust.

use serde_json::{Value, json};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::noise_budget::BootstrapOrder;
use tfhe_sbc_oracle::parameter_file::to_rust;
use tfhe_sbc_oracle::prediction::StrictSecurity;
use tfhe_sbc_oracle::search::Candidate;
use tfhe_sbc_oracle::security::ReliableLevel;

use crate::commands::params::find::answer::Answer;

impl Answer<'_> {
    /// Returns the whole outcome as JSON.
    pub(super) fn to_json(&self) -> Value {
        let found = &self.answered.found;
        let request = &self.answered.request;
        json!({
            "command": self.command,
            "seconds": self.elapsed.as_secs_f64(),
            "request": {
                "message_bits": request.message_bits,
                "carry_bits": request.carry_bits,
                "norm": request.noise_level,
                "log2_p_fail": request.log2_p_fail,
                "lambda": request.lambda,
                "torus_bits": request.torus_bits,
            },
            "cost_model": {
                "source": if self.is_foreign() {
                    "operations".to_owned()
                } else {
                    self.source.describe(self.model)
                },
                "worst_residual": self.model.residual.worst,
                "batch": self.batch,
                "threads": self.threads,
                "unit": if self.is_foreign() { "million operations" } else { "seconds" },
            },
            "best": self.candidate_json(&found.best, self.answered.set.as_ref()),
            "strict_bits": self.answered.set.as_ref().and_then(StrictSecurity::new).map(|strict| strict.bits()),
            "front": found
                .front
                .iter()
                .map(|candidate| self.candidate_json(candidate, None))
                .collect::<Vec<_>>(),
            "other_log2_p_fails": self
                .answered
                .others
                .iter()
                .map(|(log2_p_fail, found)| {
                    json!({
                        "log2_p_fail": log2_p_fail,
                        "front": found
                            .front
                            .iter()
                            .map(|candidate| self.candidate_json(candidate, None))
                            .collect::<Vec<_>>(),
                    })
                })
                .collect::<Vec<_>>(),
        })
    }

    fn candidate_json(&self, candidate: &Candidate, named: Option<&Parameters>) -> Value {
        let scheme = &candidate.scheme;
        let gadget = |base_log: u32, level_count: usize| json!({ "base_log": base_log, "level_count": level_count });
        let level = |level: &ReliableLevel| {
            json!({
                "lambda": level.lambda,
                "limiting_attack": level.attack.name(),
                "source": level.source.name(),
            })
        };
        let steps: Vec<Value> = self
            .steps(candidate)
            .iter()
            .map(|step| {
                json!({
                    "step": step.name.trim(),
                    "log2_sigma": step.log2_sigma,
                    "share": step.share,
                })
            })
            .collect();
        let (mask, body) = (scheme.pbs.mask, scheme.pbs.body);
        json!({
            "name": named.map(|set| set.name().to_string()),
            "lwe_dimension": scheme.small_key.dimension,
            "lwe_block_size": scheme.small_key.block_size,
            "lwe_log2_sigma": 0.5 * scheme.lwe_variance.log2(),
            "lwe_noise": noise_json(candidate.lwe_noise),
            "glwe_dimension": scheme.glwe_dimension,
            "polynomial_size": scheme.polynomial_size,
            "glwe_log2_sigma": 0.5 * scheme.glwe_variance.log2(),
            "glwe_noise": noise_json(candidate.glwe_noise),
            "torus_bits": scheme.torus_log2,
            "pbs": gadget(mask.base_log, mask.level),
            "pbs_body": gadget(body.base_log, body.level),
            "key_switch": gadget(scheme.ks_base_log, scheme.ks_level),
            "body_bits": candidate.set.map(|set| set.body_bits()),
            "public_key_mask_bits": candidate.set.map(|set| set.public_key_mask_bits()),
            "log2_p_fail": candidate.worst_log2_p_fail(),
            "log2_p_fail_on_outputs": candidate.log2_p_fail,
            "log2_p_fail_lopsided": candidate.log2_p_fail_lopsided,
            "log2_p_fail_on_uploads": candidate.log2_p_fail_uploads,
            "lambda": candidate.levels.bits(),
            "security": {
                "lwe": level(&candidate.levels.lwe),
                "glwe": level(&candidate.levels.glwe),
            },
            "noise": steps,
            "price": candidate.price,
        })
    }

    /// Returns the set as Rust: a constant of this project, or TFHE-rs's struct.
    pub(super) fn to_rust(&self) -> String {
        match &self.answered.set {
            Some(set) => {
                let letters = |c: char| !c.is_ascii_alphanumeric();
                let constant = set.name().as_str().to_uppercase().replace(letters, "_");
                to_rust(set, &constant, self.command)
            }
            None => self.to_foreign_rust(),
        }
    }

    /// Returns the set as `ClassicPBSParameters` of TFHE-rs 1.x, in Rust.
    fn to_foreign_rust(&self) -> String {
        let request = &self.answered.request;
        let best = &self.answered.found.best;
        let scheme = &best.scheme;
        let distribution = |noise| match noise {
            NoiseDistribution::Gaussian { standard_deviation } => format!(
                "DynamicDistribution::new_gaussian_from_std_dev(StandardDev({standard_deviation:e}))"
            ),
            NoiseDistribution::TUniform { bound_log2 } => {
                format!("DynamicDistribution::new_t_uniform({bound_log2})")
            }
            NoiseDistribution::CenteredBinomial { .. } => String::new(),
        };
        let key = match request.order {
            BootstrapOrder::KeySwitchFirst => "Big",
            BootstrapOrder::BootstrapFirst => "Small",
        };
        format!(
            "/// `{}`: 2^{:.3}, {:.1} bits of security.\n\
             pub const PARAMETERS: ClassicPBSParameters = ClassicPBSParameters {{\n\
             \x20   lwe_dimension: LweDimension({}),\n\
             \x20   glwe_dimension: GlweDimension({}),\n\
             \x20   polynomial_size: PolynomialSize({}),\n\
             \x20   lwe_noise_distribution: {},\n\
             \x20   glwe_noise_distribution: {},\n\
             \x20   pbs_base_log: DecompositionBaseLog({}),\n\
             \x20   pbs_level: DecompositionLevelCount({}),\n\
             \x20   ks_base_log: DecompositionBaseLog({}),\n\
             \x20   ks_level: DecompositionLevelCount({}),\n\
             \x20   message_modulus: MessageModulus({}),\n\
             \x20   carry_modulus: CarryModulus({}),\n\
             \x20   max_noise_level: MaxNoiseLevel::new({}),\n\
             \x20   log2_p_fail: {:.3},\n\
             \x20   ciphertext_modulus: {},\n\
             \x20   encryption_key_choice: EncryptionKeyChoice::{key},\n\
             \x20   modulus_switch_noise_reduction_params: \
             ModulusSwitchType::CenteredMeanNoiseReduction,\n\
             }};\n",
            self.command,
            best.log2_p_fail,
            best.levels.bits(),
            scheme.small_key.dimension,
            scheme.glwe_dimension,
            scheme.polynomial_size,
            distribution(best.lwe_noise),
            distribution(best.glwe_noise),
            scheme.pbs.mask.base_log,
            scheme.pbs.mask.level,
            scheme.ks_base_log,
            scheme.ks_level,
            1u64 << request.message_bits,
            1u64 << request.carry_bits,
            request.noise_level,
            best.log2_p_fail,
            match scheme.torus_log2 {
                64 => "CiphertextModulus::new_native()".to_owned(),
                bits => format!("CiphertextModulus::new(1 << {bits})"),
            },
        )
    }
}

fn noise_json(noise: NoiseDistribution) -> Value {
    match noise {
        NoiseDistribution::Gaussian { standard_deviation } => {
            json!({ "gaussian": { "standard_deviation": standard_deviation } })
        }
        NoiseDistribution::TUniform { bound_log2 } => {
            json!({ "tuniform": { "bound_log2": bound_log2 } })
        }
        NoiseDistribution::CenteredBinomial { eta } => {
            json!({ "centered_binomial": { "eta": eta } })
        }
    }
}
