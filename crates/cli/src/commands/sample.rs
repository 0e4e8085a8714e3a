//! `sample`: bundled readings for trials.

use clap::Args;

use crate::failure::Outcome;
use crate::{columns, output, table};

/// Prints a day of hourly weather readings (NREL TMY3, station 723170, Greensboro) as CSV.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc sample --day 12 > day.csv\n  tfhe-sbc sample --columns > weather.toml"
)]
pub(crate) struct Arguments {
    /// The day of the year, 1 to 365
    #[arg(long, default_value_t = 12)]
    day: usize,
    /// Print the column definitions of this data instead
    #[arg(long, conflicts_with = "day")]
    columns: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.columns {
        output::emit(columns::WEATHER.trim_end())
    } else {
        output::emit(table::weather_day(arguments.day)?.trim_end())
    }
}
