//! The options of `serve` about what it keeps.

use std::time::Duration;

use clap::Args;
use tfhe_sbc_service::store::Retention;
use tfhe_sbc_transport::human;

/// The shortest time to keep uploads. Whoever writes 3m for three months gets an error, and keeps the readings.
const SHORTEST: Duration = Duration::from_secs(3600);

#[derive(Args)]
pub(super) struct Arguments {
    /// Remove uploads for good once their newest row is older, like 90d or 36h. Uploads whose labels are no times, and
    /// rows from the future, age from the time at which they were stored [default: keep all]
    #[arg(long, value_name = "TIME", value_parser = age)]
    retain: Option<Duration>,
    /// Remove the oldest uploads for good while all together have more bytes, like 20GiB or 500MB [default: keep all]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    retain_bytes: Option<u64>,
}

impl Arguments {
    /// Returns the bounds of what is kept.
    pub(super) fn bounds(&self) -> Retention {
        Retention {
            age: self.retain,
            bytes: self.retain_bytes,
        }
    }
}

fn age(text: &str) -> Result<Duration, String> {
    let age = human::parse_duration(text).ok_or("write a number and a unit, like 90d or 36h")?;
    match age >= SHORTEST {
        true => Ok(age),
        false => Err("the shortest time is 1h, and m stands for minutes; write days, like 90d, and leave the option out to keep all".to_owned()),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = human::parse_bytes(text).ok_or("write bytes, or a size like 20GiB or 500MB")?;
    match bytes {
        0 => Err("this would remove everything; leave the option out to keep all".to_owned()),
        _ => Ok(bytes),
    }
}
