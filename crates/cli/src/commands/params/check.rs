//! `params check`: the engine's noise under a set, compared with the oracle's prediction.

mod picture;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_measure::check::{
    DirectCount, Effort, FailureReport, PlaceReport, Report, StepReport, count_failures,
    direct_steps, measure,
};
use tfhe_sbc_oracle::statistics::Interval;

use crate::failure::{Explain, Outcome, failure};
use crate::parameters::{Chosen, chosen};
use crate::{output, progress};

/// Runs the engine under a parameter set and compares its noise with what the oracle predicts.
///
/// It measures under throw-away keys: the variance, mean and normality of fresh encryptions, blind
/// rotations, linear combinations, key switches, modulus switches, and of all of it at a look-up
/// with the set's whole noise level; then before the lookups of signs and digits of compact values, in
/// sums of them, and in full ciphertexts of packed answers. Failures are simulated by adaptive multilevel splitting on the
/// measured noise and the keys' own bits. A figure that is not as predicted makes the command fail;
/// a right set fails by chance under one seed in a hundred.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params check message_1_carry_1_p_fail_2m40 --quick --plot noise.svg"
)]
pub(crate) struct Arguments {
    /// The parameter set: a shipped one's name, or a file
    #[arg(value_name = "NAME|FILE", value_parser = chosen)]
    parameters: Chosen,
    /// Measure less: a sixth of the time
    #[arg(long)]
    quick: bool,
    /// Count failures as well, of blocks with so many more bits that failures are frequent
    #[arg(long)]
    direct: bool,
    /// Draw variances, QQ plots and failure probabilities: an SVG file, or a directory for one
    #[arg(long, value_name = "FILE.svg|DIR")]
    plot: Option<PathBuf>,
    /// The seed of keys and noise: another number gives other keys
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Predict as if it were this set, to see what does not fit
    #[arg(long, value_name = "NAME|FILE", value_parser = chosen)]
    predict_as: Option<Chosen>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The number of bootstraps whose failures are counted.
const TRIALS: u64 = 20_000;
const QUICK_TRIALS: u64 = 4_000;

/// The question and the outcome.
struct Answer<'a> {
    arguments: &'a Arguments,
    report: Report,
    direct: Option<DirectCount>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let plot = arguments.plot_file();
    if let Some(path) = &plot {
        output::check_file(path)?;
    }
    let answer = arguments.answer()?;
    if let Some(path) = &plot {
        let svg = picture::svg(&answer).explain("the picture was not drawn")?;
        output::write_file(path, svg.as_bytes())?;
    }
    match arguments.json {
        true => output::print_json(&answer.json())?,
        false => output::emit(answer.text())?,
    }
    match answer.passes() {
        true => Ok(()),
        false => Err(failure(
            format_args!(
                "the noise of {} is not what is predicted for {}",
                arguments.real().name(),
                arguments.claimed().name()
            ),
            "try another --seed: chance alone fails under one in a hundred. If it fails again, do not \
             use the set with this program",
        )),
    }
}

impl Arguments {
    /// The set that the engine runs under.
    fn real(&self) -> Parameters {
        self.parameters.to_ask_about()
    }

    /// The set that is predicted.
    fn claimed(&self) -> Parameters {
        self.predict_as.unwrap_or(self.parameters).to_ask_about()
    }

    fn plot_file(&self) -> Option<PathBuf> {
        let path = self.plot.as_deref()?;
        let name =
            format!("check-{}.svg", self.real().name()).replace(std::path::is_separator, "_");
        Some(match path.is_dir() {
            true => path.join(name),
            false => Path::to_path_buf(path),
        })
    }

    fn answer(&self) -> Outcome<Answer<'_>> {
        let advice = "check another set";
        let doing = "the set cannot be checked";
        let effort = if self.quick {
            Effort::QUICK
        } else {
            Effort::FULL
        };
        let (real, claimed) = (self.real(), self.claimed());
        let report = {
            let bar = progress::bar("measuring noise", effort.steps(&real));
            let measured = measure(&real, effort, self.seed, &|n| bar.inc(n));
            measured.advise(doing, advice)?.judge(&claimed)
        };
        let trials = if self.quick { QUICK_TRIALS } else { TRIALS };
        let direct = self.direct.then(|| {
            let bar = progress::bar("counting failures", direct_steps(&real, trials));
            count_failures(&real, &claimed, trials, self.seed, &|n| bar.inc(n))
        });
        Ok(Answer {
            arguments: self,
            report,
            direct: direct.transpose().advise(doing, "leave out --direct")?,
        })
    }
}

impl Answer<'_> {
    fn passes(&self) -> bool {
        self.report.passes() && self.direct.is_none_or(|direct| direct.consistent)
    }

    fn json(&self) -> Value {
        let FailureReport {
            formula,
            convolution,
            convolution_of_measured,
            splitting,
            standard_error,
            sampling_error,
            interval,
            acceptance,
            confirmed,
            verdict,
        } = &self.report.failure;
        json!({
            "set": self.arguments.real().name().to_string(),
            "predicted_as": self.arguments.claimed().name().to_string(),
            "seed": self.arguments.seed,
            "keys": self.report.keys,
            "steps": self.report.steps.iter().map(step_json).collect::<Vec<_>>(),
            "compact": self.report.compact.iter().map(place_json).collect::<Vec<_>>(),
            "packing": self.report.packing.iter().map(place_json).collect::<Vec<_>>(),
            "p_fail": {
                "formula_log2": formula,
                "convolution_log2": convolution,
                "convolution_of_measured_log2": convolution_of_measured,
                "splitting_log2": splitting,
                "interval_log2": ends(interval),
                "splitting_error_bits": standard_error,
                "sampling_error_bits": sampling_error,
                "acceptance": acceptance,
                "confirmed_by_engine": confirmed,
                "verdict": verdict.name(),
                "ok": verdict.passes(),
            },
            "direct": self.direct.as_ref().map(|direct| json!({
                "extra_bits": direct.extra_bits,
                "trials": direct.trials,
                "failures": direct.failures,
                "interval": ends(&direct.interval),
                "predicted": direct.predicted,
                "mapped_log2": ends(&direct.mapped_log2_p),
                "ok": direct.consistent,
            })),
            "ok": self.passes(),
        })
    }

    fn text(&self) -> String {
        let mut steps = output::text_table();
        steps.set_header([
            "step",
            "samples",
            "predicted",
            "measured",
            "ratio",
            "99% interval",
            "in [1/2, 1]",
            "mean",
            "normality",
            "verdict",
        ]);
        for step in &self.report.steps {
            let interval = step.ratio_interval();
            steps.add_row([
                step.step.name().to_owned(),
                step.samples.to_string(),
                format!("2^{:.2}", step.predicted.log2()),
                format!("2^{:.2}", step.measured.log2()),
                format!("{:.3}", step.ratio()),
                format!("{:.3} to {:.3}", interval.low, interval.high),
                (if step.in_half_window { "yes" } else { "no" }).to_owned(),
                format!("{:+.1} sd", step.mean_off),
                step.normality
                    .map_or_else(|| "-".to_owned(), |test| format!("p {:.2}", test.p_value)),
                step.verdict.name().to_owned(),
            ]);
        }
        let mut lines = vec![
            format!(
                "{} under {} key sets, variances",
                self.arguments.real().name(),
                self.report.keys
            ),
            steps.to_string(),
            "The window [1/2, 1] is for comparison: an exact prediction is in it half of the time."
                .to_owned(),
            String::new(),
        ];
        lines.extend(self.failure_lines());
        lines.extend(place_table("compact values", &self.report.compact));
        lines.extend(place_table("packed answers", &self.report.packing));
        let verdict = match self.passes() {
            true => "passes: everything is as predicted",
            false => "FAILS",
        };
        lines.push(verdict.to_owned());
        lines.join("\n")
    }

    fn failure_lines(&self) -> Vec<String> {
        let found = &self.report.failure;
        let mut table = output::text_table();
        table.set_header(["failures of a look-up", "log2 p", "99% interval", "verdict"]);
        let mut row = |what: &str, log2_p: String, interval: Option<&Interval>, verdict: &str| {
            let interval = interval.map(|i| format!("{:.1} to {:.1}", i.low, i.high));
            table.add_row([what, &log2_p, &interval.unwrap_or_default(), verdict]);
        };
        let bits = |log2_p: f64| format!("{log2_p:.2}");
        row(
            "erfc formula, average over keys",
            bits(found.formula),
            None,
            "",
        );
        row("convolution, these keys", bits(found.convolution), None, "");
        let measured = bits(found.convolution_of_measured);
        row("convolution, measured variances", measured, None, "");
        row(
            "splitting, measured noise",
            bits(found.splitting),
            Some(&found.interval),
            found.verdict.name(),
        );
        if let Some(direct) = &self.direct {
            let verdict = if direct.consistent {
                "ok"
            } else {
                "not as predicted"
            };
            row(
                "counted, mapped back",
                String::new(),
                Some(&direct.mapped_log2_p),
                verdict,
            );
        }
        let mut lines = vec![
            table.to_string(),
            format!(
                "Splitting is within {:.2} bits, the measured variances within {:.2} (one sd); {:.1} % of the \
                 simulated failures are failures by the engine's modulus switch.",
                found.standard_error,
                found.sampling_error,
                100.0 * found.confirmed
            ),
        ];
        if let Some(direct) = &self.direct {
            lines.push(format!(
                "With {} more bits a block {} of {} bootstraps failed: {:.2e} to {:.2e}, predicted {:.2e}.",
                direct.extra_bits,
                direct.failures,
                direct.trials,
                direct.interval.low,
                direct.interval.high,
                direct.predicted
            ));
        }
        lines
    }
}

fn ends(interval: &Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn step_json(step: &StepReport) -> Value {
    json!({
        "step": step.step.name(),
        "samples": step.samples,
        "predicted_variance": step.predicted.0,
        "measured_variance": step.measured.0,
        "ratio": step.ratio(),
        "ratio_interval": ends(&step.ratio_interval()),
        "in_half_window": step.in_half_window,
        "mean_off_deviations": step.mean_off,
        "normality": step.normality.map(|test| json!({ "w": test.w, "p_value": test.p_value })),
        "verdict": step.verdict.name(),
        "ok": step.verdict.passes(),
    })
}

/// The noise at places, if there are any.
fn place_table(title: &str, places: &[PlaceReport]) -> Option<String> {
    let mut table = output::text_table();
    table.set_header([
        title,
        "samples",
        "predicted",
        "measured",
        "ratio",
        "verdict",
    ]);
    for place in places {
        table.add_row([
            place.name.clone(),
            place.samples.to_string(),
            format!("2^{:.2}", place.predicted.log2()),
            format!("2^{:.2}", place.measured.log2()),
            format!("{:.3}", place.measured.0 / place.predicted.0),
            place.verdict.name().to_owned(),
        ]);
    }
    (!places.is_empty()).then(|| table.to_string())
}

fn place_json(place: &PlaceReport) -> Value {
    json!({
        "place": place.name,
        "samples": place.samples,
        "predicted_variance": place.predicted.0,
        "measured_variance": place.measured.0,
        "interval": ends(&place.interval),
        "verdict": place.verdict.name(),
        "ok": place.verdict.passes(),
    })
}
