//! The outcome of a search, for people.

use std::time::Duration;

use comfy_table::CellAlignment;
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_oracle::cost::{CostModel, bootstrap_key_bytes, key_switch_key_bytes};
use tfhe_sbc_oracle::failure::safe_variance;
use tfhe_sbc_oracle::noise::Variance;
use tfhe_sbc_oracle::noise_budget::BootstrapOrder;
use tfhe_sbc_oracle::prediction::StrictSecurity;
use tfhe_sbc_oracle::search::{Candidate, Engine, Price, Secrets};
use tfhe_sbc_oracle::security::ReliableLevel;

use crate::commands::params::CostSource;
use crate::commands::params::find::Answered;
use crate::{output, report};

/// The most alternatives that a table shows.
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

/// Returns bytes for people.
pub(super) fn size(bytes: f64) -> String {
    report::bytes(bytes as u64)
}

impl Answer<'_> {
    pub(super) fn is_foreign(&self) -> bool {
        self.answered.request.engine != Engine::TfheSbc
    }

    /// Returns a time, or a number of operations.
    pub(super) fn cost(&self, value: f64) -> String {
        match self.is_foreign() {
            true => format!("{value:.0} M operations"),
            false => report::time(Duration::from_secs_f64(value)),
        }
    }

    /// Returns the table for people.
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
            let shown = thinned(front, &best.price, MOST_ALTERNATIVES).len();
            let which = match shown < front.len() {
                true => format!(" ({shown} of them shown, all with --json)"),
                false => String::new(),
            };
            output::print(format_args!(
                "Nothing beats these {} in everything{which}:",
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
            lines.push(("name", set.name().to_string()));
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
                    set.body_bits(),
                    set.public_key_mask_bits()
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

    /// Returns the noise after each step, and its share of what the failure probability allows.
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

    pub(super) fn steps(&self, best: &Candidate) -> Vec<Step> {
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
}

/// Returns the noise of a step.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) log2_sigma: f64,
    pub(super) share: Option<f64>,
}

/// Returns at most `most` sets of a front, evenly spread, the best among them.
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
    let strict = candidate.set.as_ref().and_then(StrictSecurity::new);
    let strict = strict.map_or_else(String::new, |strict| {
        let cheapest = strict.cheapest();
        format!(
            "; strict count {:.1} bits by {}",
            cheapest.log2_cost,
            cheapest.attack.name()
        )
    });
    format!(
        "{:.1} bits: small key {}, GLWE key {}, with the margin{strict}",
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
            size(bootstrap_key_bytes(set.as_set()) as f64),
            size(key_switch_key_bytes(set.as_set()) as f64)
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
