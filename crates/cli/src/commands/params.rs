//! `params`: the search for parameter sets and their evaluation. [`find`] searches for a set,
//! [`shipped`] finds the project's own again, [`check`] compares the engine's noise with the
//! prediction, [`security`] prices the attacks on a key, and [`calibrate`] the engine's work on this
//! machine.

mod calibrate;
mod check;
mod find;
mod security;
mod shipped;

use std::path::Path;

use clap::{Args, Subcommand};
use tfhe_sbc_measure::calibrate::{default_path, from_toml, load};
use tfhe_sbc_oracle::cost::CostModel;

use crate::failure::{Explain, Outcome};

/// Finds parameter sets, and tells how fast, how often wrong and how secure they are.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc params find --message 2 --carry 2 --out own.toml\n  tfhe-sbc keygen --parameters own.toml --out own\n  tfhe-sbc params security --n 630 --q-log2 32 --secret binary --sigma-log2=-13.4\n  tfhe-sbc params security --n 915 --q-log2 32 --secret blocks --block-size 3 --sigma-log2=-20.2 --json"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    /// Find the parameter set for a task
    Find(Box<find::Arguments>),
    /// Price the attacks on an LWE key
    Security(security::Arguments),
    /// Run the engine under a set and compare its noise with the prediction
    Check(Box<check::Arguments>),
    /// Find the shipped sets again, each by its command
    Shipped(shipped::Arguments),
    /// Measure what bootstraps cost on this machine
    Calibrate(calibrate::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.question {
        Question::Find(arguments) => find::run(arguments),
        Question::Security(arguments) => security::run(arguments),
        Question::Check(arguments) => check::run(arguments),
        Question::Shipped(arguments) => shipped::run(arguments),
        Question::Calibrate(arguments) => calibrate::run(arguments),
    }
}

/// The origin of a cost model.
enum CostSource {
    /// The model in the program.
    BuiltIn,
    /// A file of `params calibrate`.
    Calibrated,
}

impl CostSource {
    fn describe(&self, model: &CostModel) -> String {
        match self {
            Self::BuiltIn => format!("built-in times of {}", model.machine.processor),
            Self::Calibrated => format!("calibrated on {}", model.machine.processor),
        }
    }
}

/// Returns the cost model that was named, or this machine's if it has one.
fn cost_model(named: Option<&str>) -> Outcome<(CostModel, CostSource)> {
    match named {
        Some("built-in") => Ok((CostModel::built_in(), CostSource::BuiltIn)),
        None => {
            let stored = default_path().map_or(Ok(None), |path| load(&path)).advise(
                "the prices of this machine are of no use",
                "run `tfhe-sbc params calibrate` again, or name `built-in`",
            )?;
            Ok(match stored {
                Some(model) => (model, CostSource::Calibrated),
                None => (CostModel::built_in(), CostSource::BuiltIn),
            })
        }
        Some(path) => {
            let text = crate::parameters::read_small(
                Path::new(path),
                "`built-in`, or a file that `tfhe-sbc params calibrate` wrote",
            )?;
            let model = from_toml(&text).advise(
                format_args!("{path} is no cost model"),
                "name `built-in`, or a file that `tfhe-sbc params calibrate` wrote",
            )?;
            Ok((model, CostSource::Calibrated))
        }
    }
}
