//! The options of `serve` about results, jobs and standing queries.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tfhe_sbc_service::server::{Keeping, StandingConfig};
use tfhe_sbc_transport::human;

#[derive(Args)]
pub(super) struct Arguments {
    /// Keep results, and the list of jobs, for this time: for jobs, and for questions that are asked again
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "7d")]
    keep_results: Duration,
    /// Keep at most so many bytes of results, the newest ones; 0 keeps none, and takes no jobs
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "1GiB")]
    keep_result_bytes: u64,
    /// Keep at most so many bytes of results of standing queries, which are kept for as long as these say: if there is no room, no
    /// further periods are computed; 0 takes no standing queries
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "4GiB")]
    standing_bytes: u64,
}

impl Arguments {
    /// Returns the bounds of what is kept, in the directory of the store.
    pub(super) fn bounds(&self, store: &Path) -> Keeping {
        Keeping {
            directory: (self.keep_result_bytes > 0).then(|| store.to_owned()),
            bytes: self.keep_result_bytes,
            age: self.keep_results,
        }
    }

    /// Returns the bounds of the standing queries, in the directory of the store.
    pub(super) fn standing(&self, store: &Path) -> StandingConfig {
        StandingConfig {
            directory: (self.standing_bytes > 0).then(|| store.join("standing")),
            bytes: self.standing_bytes,
            ..StandingConfig::default()
        }
    }
}

fn age(text: &str) -> Result<Duration, String> {
    human::parse_duration(text)
        .filter(|age| !age.is_zero())
        .ok_or_else(|| "write a number and a unit, like 7d or 12h".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    human::parse_bytes(text).ok_or_else(|| "write bytes, or a size like 1GiB or 500MB".to_owned())
}
