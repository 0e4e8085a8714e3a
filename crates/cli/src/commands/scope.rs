//! The rows that commands are about: options for devices, times and groups.

use std::time::Duration;

use clap::Args;
use tfhe_sbc_query::results::Results;
use tfhe_sbc_query::scope::{About, Grouping, Scope};
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::human;
use tfhe_sbc_upload::moments::Moment;

use crate::failure::{Explain, Outcome};
use crate::{output, report};

/// The devices and the time of uploads.
#[derive(Args)]
pub(super) struct Selected {
    /// Only these devices: names with commas between, where * stands for any characters and ? for one
    #[arg(long, value_name = "NAMES")]
    pub(super) device: Option<Names>,
    #[command(flatten)]
    pub(super) times: Times,
}

/// A time.
#[derive(Args)]
pub(super) struct Times {
    /// Only what is of this time or later, like 2026-11-23 or 2026-11-23T14:30Z. Times without a zone are UTC
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only what is before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only what is of this time up to now, like 90m, 24h or 7d
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["since", "until"])]
    pub(super) last: Option<Duration>,
}

/// The rows of uploads that questions are about.
#[derive(Args)]
pub(super) struct Rows {
    /// Only the newest rows of each device, this many
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) newest: Option<u32>,
    /// Answer for each group of rows by itself: by device, by hour, day, week or a time like 15m (in UTC), or by both:
    /// device,hour
    #[arg(long, value_name = "GROUPS")]
    pub(super) by: Option<Grouping>,
}

fn duration(text: &str) -> Result<Duration, String> {
    human::parse_duration(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "write a number and a unit, like 90m, 24h or 7d".to_owned())
}

impl Times {
    /// Returns whether any time is selected.
    pub(super) fn are_given(&self) -> bool {
        self.since.is_some() || self.until.is_some() || self.last.is_some()
    }

    /// The moments at which the time begins and ends, as far as it does.
    pub(super) fn ends(&self) -> (Option<Moment>, Option<Moment>) {
        (self.last.map(human::before_now).or(self.since), self.until)
    }

    /// Returns the scope of the rows of this time.
    pub(super) fn scope(&self, rows: &Rows) -> Outcome<Scope> {
        let (since, until) = self.ends();
        let scope = Scope {
            since,
            until,
            newest: rows.newest,
            by: rows.by.unwrap_or_default(),
        };
        scope
            .check()
            .advise("no rows", "swap --since and --until")?;
        Ok(scope)
    }
}

impl Selected {
    /// Returns whether devices or a time are selected.
    pub(super) fn is_given(&self) -> bool {
        self.device.is_some() || self.times.are_given()
    }

    /// The filter that these options are.
    pub(super) fn filter(&self) -> Outcome<Filter> {
        let (since, until) = self.times.ends();
        let filter = Filter {
            names: self.device.clone().unwrap_or_default(),
            since,
            until,
            ..Filter::ALL
        };
        filter
            .check()
            .advise("no readings", "swap --since and --until")?;
        Ok(filter)
    }
}

/// Says on stderr which rows the answers of a result are about, if the result says so.
pub(super) fn note_about(result: &[u8]) {
    let described = tfhe_sbc_core::wire::Message::parse(result);
    let results = described
        .ok()
        .and_then(|(first, _)| Results::read(first).ok());
    if let Some(about) = results.and_then(|results| results.about) {
        output::note(format_args!("about {}", about_text(&about)));
    }
}

/// Returns the rows that answers are about in words.
pub(super) fn about_text(about: &About) -> String {
    /// The most devices that are named.
    const NAMED: usize = 8;
    let rows = report::counted(about.rows, "row", "rows");
    let uploads = report::counted(about.uploads, "upload", "uploads");
    let mut text = format!("{rows} in {uploads}");
    let names = about.devices.iter();
    let names: Option<Vec<String>> = names
        .map(|device| device.name.as_deref().map(report::plain))
        .collect();
    match names {
        Some(names) if names.len() > NAMED => {
            let devices = report::count(names.len() as u64);
            text += &format!(" of {devices} devices");
        }
        Some(names) if !names.is_empty() => text += &format!(" of {}", names.join(", ")),
        _ => {}
    }
    if let Some(span) = about.span {
        text += &format!(", {span}");
    }
    if about.repeated > 0 {
        let repeated = report::counted(about.repeated, "row", "rows");
        text += &format!("; {repeated} of a device and time that another row has, too");
    }
    text
}
