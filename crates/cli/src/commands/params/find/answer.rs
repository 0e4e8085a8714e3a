//! What was found, as a table, as JSON and as a TFHE-rs parameter set.

use std::time::Duration;

use comfy_table::CellAlignment;
use serde_json::{Value, json};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::cost::{CostModel, bootstrap_key_bytes, key_switch_key_bytes};
use tfhe_sbc_oracle::failure::safe_variance;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::BootstrapOrder;
use tfhe_sbc_oracle::parameter_file::to_rust;
use tfhe_sbc_oracle::search::{Candidate, Engine, Price, Secrets};
use tfhe_sbc_oracle::security::ReliableLevel;

use crate::commands::params::CostSource;
use crate::commands::params::find::Answered;
use crate::{output, report};

/// Alternatives that a table shows at most.
const MOST_ALTERNATIVES: usize = 12;

/// A search, and how it was made.
pub(super) struct Answer<'a> {
    pub(super) answered: &'a Answered,
    pub(super) command: &'a str,
    pub(super) batch: usize,
    pub(super) threads: usize,
    pub(super) model: &'a CostModel,
    pub(super) source: &'a CostSource,
    pub(super) elapsed: Duration,
}

/// Bytes for people.
pub(super) fn size(bytes: f64) -> String {
    report::bytes(bytes as u64)
}

impl Answer<'_> {
    fn is_foreign(&self) -> bool {
        self.answered.request.engine != Engine::TfheSbc
    }

    /// A time, or a number of operations.
    pub(super) fn cost(&self, value: f64) -> String {
        match self.is_foreign() {
            true => format!("{value:.0} M operations"),
            false => report::time(Duration::from_secs_f64(value)),
        }
    }

    /// The table for people.
    pub(super) fn print(&self) {
        let best = &self.answered.found.best;
        let mut table = output::text_table();
        for (what, value) in self.lines(best) {
            table.add_row([what.to_owned(), value]);
        }
        output::print(table);
        output::print("");
        output::print(self.noise_table(best));
        let front = &self.answered.found.front;
        if front.len() > 1 {
            output::print("");
            output::print(format_args!(
                "Nothing beats these {} in everything:",
                front.len()
            ));
            output::print(self.front_table());
        }
        output::note(self.provenance());
        output::note(format_args!(
            "{}: {}",
            report::time(self.elapsed),
            self.command
        ));
    }

    fn provenance(&self) -> String {
        match self.is_foreign() {
            true => {
                "costs are counted operations (Concrete's processor model), keys as peers hold them"
                    .to_owned()
            }
            false => {
                let advice = match self.source {
                    CostSource::BuiltIn => "; for this machine's, run `tfhe-sbc params calibrate`",
                    CostSource::Calibrated => "",
                };
                format!(
                    "{}, within {:.0}% of what they were fitted to{advice}",
                    self.source.describe(self.model),
                    100.0 * self.model.residual.worst
                )
            }
        }
    }

    fn lines(&self, best: &Candidate) -> Vec<(&'static str, String)> {
        let scheme = &best.scheme;
        let mut lines = Vec::new();
        if let Some(set) = &self.answered.set {
            lines.push(("name", set.name.to_string()));
        }
        let blocks = match scheme.small_key.block_size {
            1 if self.answered.request.secrets == Secrets::Shared => {
                ", binary, the first coefficients of the GLWE key".to_owned()
            }
            1 => ", binary".to_owned(),
            size => format!(", blocks of {size}"),
        };
        let glwe = match self.answered.request.secrets {
            Secrets::Ternary => "ternary",
            Secrets::Binary | Secrets::Blocks | Secrets::Shared => "binary",
        };
        let gadget = |base_log: u32, levels: usize| format!("2^{base_log} × {levels}");
        lines.push((
            "small LWE key",
            format!(
                "n = {}{blocks}, q = 2^{}, {}",
                scheme.small_key.dimension,
                scheme.small_torus_log2,
                noise(best.lwe_noise, scheme.lwe_variance)
            ),
        ));
        lines.push((
            "GLWE key",
            format!(
                "k = {}, N = {}, {glwe}, q = 2^{}, {}",
                scheme.glwe_dimension,
                scheme.polynomial_size,
                scheme.torus_log2,
                noise(best.glwe_noise, scheme.glwe_variance)
            ),
        ));
        let (mask, body) = (scheme.pbs.mask, scheme.pbs.body);
        lines.push((
            "blind rotation",
            format!(
                "base {} for the mask, {} for the body",
                gadget(mask.base_log, mask.level),
                gadget(body.base_log, body.level)
            ),
        ));
        lines.push((
            "key switch",
            format!("base {}", gadget(scheme.ks_base_log, scheme.ks_level)),
        ));
        lines.push(("fails with", self.failures(best)));
        lines.push(("security", security(best)));
        lines.push((
            "time",
            format!(
                "{} by itself, {} in batches of {} on {} thread{}",
                self.cost(best.price.single),
                self.cost(best.price.batched),
                self.batch,
                self.threads,
                if self.threads == 1 { "" } else { "s" }
            ),
        ));
        lines.push(("server key", key_sizes(best)));
        if let Some(set) = &best.set {
            lines.push((
                "upload of 1024 blocks",
                format!(
                    "{}: {} bits of every body coefficient; with a public key {} of every mask \
                     coefficient",
                    size(best.price.upload_bytes),
                    set.body_bits,
                    set.public_key_mask_bits
                ),
            ));
        }
        lines
    }

    fn failures(&self, best: &Candidate) -> String {
        let mut text = format!("2^{:.1} on bootstrap outputs", best.log2_p_fail);
        if let Some(lopsided) = best.log2_p_fail_lopsided {
            text += &format!(" (2^{lopsided:.1} for one key in a thousand)");
        }
        if let Some([symmetric, public_key]) = best.log2_p_fail_uploads {
            text +=
                &format!(", 2^{symmetric:.1} on uploads, 2^{public_key:.1} on public-key uploads");
        }
        text
    }

    /// The noise after each step, and its share of what the failure probability allows.
    fn noise_table(&self, best: &Candidate) -> comfy_table::Table {
        let mut table = output::text_table();
        table.set_header(["noise", "log2 of the deviation", "share at the look-up"]);
        for step in self.steps(best) {
            let share = step
                .share
                .map_or(String::new(), |share| format!("{:.1}%", 100.0 * share));
            table.add_row([
                step.name.to_owned(),
                format!("{:.2}", step.log2_sigma),
                share,
            ]);
        }
        align_right(&mut table, 1..3);
        table
    }

    fn steps(&self, best: &Candidate) -> Vec<Step> {
        let (budget, shares) = (&best.budget, &best.shares);
        let norm = self.answered.request.norm_squared().0;
        let log2_sigma = |variance: Variance| 0.5 * variance.log2();
        let step = |name, variance, share| Step {
            name,
            log2_sigma: log2_sigma(variance),
            share,
        };
        let request = &self.answered.request;
        let allowed = safe_variance(request.half_width(), request.log2_p_fail);
        let linear = match self.answered.request.order {
            BootstrapOrder::KeySwitchFirst => budget.pbs * norm,
            BootstrapOrder::BootstrapFirst => (budget.pbs + budget.key_switch) * norm,
        };
        vec![
            step("fresh, small key", best.scheme.lwe_variance, None),
            step("fresh, GLWE key", best.scheme.glwe_variance, None),
            step("blind rotation", budget.pbs, Some(shares.pbs + shares.fft)),
            step("  of it the transform", budget.fft, Some(shares.fft)),
            step("linear step", linear, None),
            step("key switch", budget.key_switch, Some(shares.key_switch)),
            step(
                "modulus switch",
                budget.modulus_switch,
                Some(shares.modulus_switch),
            ),
            step("at the look-up", best.worst_total, Some(1.0)),
            step(
                "allowed there",
                allowed,
                Some(allowed.0 / best.worst_total.0),
            ),
        ]
    }

    fn front_table(&self) -> comfy_table::Table {
        let mut table = output::text_table();
        table.set_header([
            "",
            "n",
            "blocks",
            "k",
            "N",
            "rotation",
            "key switch",
            "by itself",
            "in a batch",
            "server key",
            "upload",
            "fails with",
        ]);
        let best = &self.answered.found.best.price;
        let front = thinned(&self.answered.found.front, best, MOST_ALTERNATIVES);
        for candidate in front {
            let (scheme, price) = (&candidate.scheme, &candidate.price);
            let (mask, body) = (scheme.pbs.mask, scheme.pbs.body);
            table.add_row([
                if price == best { "→" } else { "" }.to_owned(),
                scheme.small_key.dimension.to_string(),
                scheme.small_key.block_size.to_string(),
                scheme.glwe_dimension.to_string(),
                scheme.polynomial_size.to_string(),
                format!(
                    "{}×{}, {}×{}",
                    mask.base_log, mask.level, body.base_log, body.level
                ),
                format!("{}×{}", scheme.ks_base_log, scheme.ks_level),
                self.cost(price.single),
                self.cost(price.batched),
                size(price.key_bytes),
                if price.upload_bytes > 0.0 {
                    size(price.upload_bytes)
                } else {
                    String::new()
                },
                format!("2^{:.1}", candidate.worst_log2_p_fail()),
            ]);
        }
        align_right(&mut table, 1..12);
        table
    }

    /// Everything for machines.
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
            "name": named.map(|set| set.name.to_string()),
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
            "body_bits": candidate.set.map(|set| set.body_bits),
            "public_key_mask_bits": candidate.set.map(|set| set.public_key_mask_bits),
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

    /// The set as Rust: a constant of this project, or TFHE-rs's struct.
    pub(super) fn to_rust(&self) -> String {
        match &self.answered.set {
            Some(set) => {
                let letters = |c: char| !c.is_ascii_alphanumeric();
                let constant = set.name.as_str().to_uppercase().replace(letters, "_");
                to_rust(set, &constant, self.command)
            }
            None => self.to_foreign_rust(),
        }
    }

    /// `ClassicPBSParameters` of TFHE-rs 1.x.
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

/// The noise of a step.
struct Step {
    name: &'static str,
    log2_sigma: f64,
    share: Option<f64>,
}

/// At most so many of a front, evenly, the best among them.
fn thinned<'a>(front: &'a [Candidate], best: &Price, most: usize) -> Vec<&'a Candidate> {
    let step = front.len().div_ceil(most).max(1);
    let chosen = front.iter().enumerate();
    chosen
        .filter(|(at, candidate)| at % step == 0 || candidate.price == *best)
        .map(|(_, candidate)| candidate)
        .collect()
}

fn noise(noise: NoiseDistribution, variance: Variance) -> String {
    let log2 = 0.5 * variance.log2();
    match noise {
        NoiseDistribution::Gaussian { standard_deviation } => {
            format!("σ = {standard_deviation:e} (2^{log2:.2})")
        }
        NoiseDistribution::TUniform { bound_log2 } => {
            format!("TUniform({bound_log2}), deviation 2^{log2:.2}")
        }
        NoiseDistribution::CenteredBinomial { eta } => {
            format!("centred binomial of {eta}, deviation 2^{log2:.2}")
        }
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

fn security(candidate: &Candidate) -> String {
    let level = |level: &ReliableLevel| {
        format!(
            "{:.1} bits by {} ({})",
            level.lambda,
            level.attack.name(),
            level.source.name()
        )
    };
    let levels = &candidate.levels;
    format!(
        "{:.1} bits: small key {}, GLWE key {}, with the margin",
        levels.bits(),
        level(&levels.lwe),
        level(&levels.glwe)
    )
}

fn key_sizes(candidate: &Candidate) -> String {
    let price = &candidate.price;
    let mut text = format!(
        "{} as it travels, {} in memory",
        size(price.key_bytes),
        size(price.memory_bytes)
    );
    if let Some(set) = &candidate.set {
        text += &format!(
            " (bootstrapping {}, key switching {})",
            size(bootstrap_key_bytes(set) as f64),
            size(key_switch_key_bytes(set) as f64)
        );
    }
    text
}

fn align_right(table: &mut comfy_table::Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
