//! `params calibrate`: the cost of bootstraps on this machine.

mod picture;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tfhe_sbc_measure::calibrate::{Calibration, Comparison, Plan, calibrate, default_path, save};

use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress};

/// Measures the times of the engine's kernels on this machine, and stores the prices.
///
/// In under a minute it times transforms, key switches and bootstraps of thirty parameter sets with
/// keys of noise, and fits a price to each kind of work. With --check it takes three minutes,
/// measures 24 other sets as well, and shows how far predictions are from them. Run nothing else on
/// the machine meanwhile: it would change the figures.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params calibrate --quick --out cost.toml --plot cost.svg"
)]
pub(crate) struct Arguments {
    /// Measure sets that the prices are not fitted to, and compare
    #[arg(long)]
    check: bool,
    /// Measure a few small sets once: a trial, whose prices are not to be relied on
    #[arg(long)]
    quick: bool,
    /// The most threads to measure with [default: all]
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// Where to store the prices, not where `params find` looks for them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw predictions against measurements
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The time for the fit, and for the fit and the check.
const TIMES: [Duration; 2] = [Duration::from_secs(55), Duration::from_secs(170)];

/// An error that is not to be exceeded.
const TOLERANCE: f64 = 0.15;

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or(available);
    if threads == 0 || threads > 1024 {
        return Err(failure(
            format_args!("{threads} threads measure nothing"),
            "give a number from 1 to 1024",
        ));
    }
    let Some(out) = arguments.out.clone().or_else(default_path) else {
        return Err(failure(
            "there is no home directory to store the prices in",
            "name a file with --out",
        ));
    };
    if arguments.out.is_some() {
        output::check_file(&out)?;
    }
    if let Some(plot) = &arguments.plot {
        output::check_file(plot)?;
    }
    let plan = Plan {
        time: TIMES[usize::from(arguments.check)],
        check: arguments.check || arguments.quick,
        threads,
        quick: arguments.quick,
    };
    let bar = progress::bar("timing bootstraps", 1000);
    let found = calibrate(&plan, &|share| bar.reach_share(share)).advise(
        "this machine was not measured",
        "this should not have happened: report it with the command that you ran",
    )?;
    drop(bar);
    save(&out, &found.model).advise(
        "the prices were not stored",
        "name a file that you can write with --out",
    )?;
    if let Some(plot) = &arguments.plot {
        let svg = picture::draw(&found, TOLERANCE).explain("no picture of it")?;
        output::write_file(plot, svg.as_bytes())?;
    }
    match arguments.json {
        true => output::print_json(&json!({
            "file": out,
            "rounds": found.rounds,
            "model": found.model,
            "fitted": rows(&found.fitted),
            "held_out": rows(&found.held_out),
            "held_out_errors": errors(&found.held_out),
        })),
        false => {
            output::emit(report(&found))?;
            output::note(format_args!("Prices are in {}.", out.display()));
            Ok(())
        }
    }
}

fn rows(comparisons: &[Comparison]) -> Vec<serde_json::Value> {
    let row = |one: &Comparison| json!({"batch": one, "error": one.error()});
    comparisons.iter().map(row).collect()
}

/// Returns the median and the largest error, and how many are within the tolerance.
fn errors(comparisons: &[Comparison]) -> serde_json::Value {
    let (median, worst, within) = summary(comparisons);
    json!({"median": median, "worst": worst, "within": within, "of": comparisons.len(),
        "tolerance": TOLERANCE})
}

fn summary(comparisons: &[Comparison]) -> (f64, f64, usize) {
    let mut errors: Vec<f64> = comparisons.iter().map(|one| one.error().abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let median = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    let worst = errors.last().copied().unwrap_or(0.0);
    (
        median,
        worst,
        errors.iter().filter(|&&error| error <= TOLERANCE).count(),
    )
}

fn report(found: &Calibration) -> String {
    let mut lines = Vec::new();
    if !found.held_out.is_empty() {
        let mut table = output::text_table();
        table.set_header([
            "k",
            "N",
            "n",
            "block",
            "torus",
            "levels",
            "batch",
            "threads",
            "predicted",
            "measured",
            "error",
            "of which key",
        ]);
        for one in &found.held_out {
            let milliseconds = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
            let [mask, body, switch] = one.levels;
            let share = one.breakdown.key_streaming / one.predicted;
            table.add_row([
                one.glwe_dimension.to_string(),
                one.polynomial_size.to_string(),
                one.lwe_dimension.to_string(),
                one.block_size.to_string(),
                one.torus_bits.to_string(),
                format!("{mask} {body}, {switch}"),
                one.batch.to_string(),
                one.threads.to_string(),
                milliseconds(one.predicted),
                milliseconds(one.measured),
                format!("{:+.0} %", 100.0 * one.error()),
                format!("{:.0} %", 100.0 * share),
            ]);
        }
        lines.push(table.to_string());
        let (median, worst, within) = summary(&found.held_out);
        lines.push(format!(
            "Held out: median error {:.1} %, largest {:.0} %, {within} of {} within {:.0} %.",
            100.0 * median,
            100.0 * worst,
            found.held_out.len(),
            100.0 * TOLERANCE,
        ));
    }
    let residual = found.model.residual;
    lines.push(format!(
        "Fitted: median error {:.1} %, largest {:.0} %, of {} batches in {} rounds ({}, {}).",
        100.0 * residual.median,
        100.0 * residual.worst,
        found.fitted.len(),
        found.rounds,
        found.model.machine.processor,
        found.model.machine.instruction_set,
    ));
    lines.join("\n")
}
