//! `standing list` and `standing show`.

use clap::Args;
use serde::Serialize;
use tfhe_sbc_transport::standing::{Period, PeriodFilter, PeriodState, Standing, StandingList};

use super::One;
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome};
use crate::{output, report};

/// Shows a standing query, and its last periods, the latest first.
#[derive(Args)]
pub(super) struct ShowArguments {
    #[command(flatten)]
    of: One,
    /// The most periods that are shown
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    standing: Standing,
    periods: Vec<Period>,
}

/// The devices in words.
fn devices(standing: &Standing) -> String {
    match standing.devices.as_str() {
        "" => "all".to_owned(),
        names => report::plain(names),
    }
}

pub(super) fn list(server: &Server, json: bool) -> Outcome<()> {
    let client = server.connect("owner")?;
    let list = client.standing_queries();
    let standing = list.explain("no list of standing queries")?;
    if json {
        return output::print_json(&StandingList { standing });
    }
    if standing.is_empty() {
        output::note("no standing queries: `tfhe-sbc query --every 1h` leaves one");
        return Ok(());
    }
    let mut table = output::text_table();
    table.set_header([
        "name",
        "every",
        "by",
        "devices",
        "computed until",
        "state",
        "results",
        "size",
    ]);
    for one in &standing {
        table.add_row([
            one.name.to_string(),
            one.every.to_string(),
            report::plain(&one.by),
            devices(one),
            one.computed_until.to_string(),
            one.state(),
            report::count(one.results),
            report::bytes(one.bytes),
        ]);
    }
    output::emit(table)
}

pub(super) fn show(ShowArguments { of, limit, json }: &ShowArguments) -> Outcome<()> {
    let client = of.connect()?;
    let standing = client.standing(&of.name).explain("no standing query")?;
    let filter = PeriodFilter {
        limit: Some(*limit),
        ..PeriodFilter::default()
    };
    let list = client.periods(&of.name, &filter);
    let list = list.explain("no list of periods")?;
    if *json {
        return output::print_json(&Shown {
            standing,
            periods: list.periods,
        });
    }
    let mut table = output::text_table();
    let mut say = |what: &str, text: String| {
        table.add_row([what.to_owned(), text]);
    };
    say("name", standing.name.to_string());
    for (number, question) in standing.questions.iter().enumerate() {
        let what = if number == 0 { "questions" } else { "" };
        say(what, report::plain(question));
    }
    say("devices", devices(&standing));
    say("every", standing.every.to_string());
    say("groups", report::plain(&standing.by));
    say("since", standing.since.to_string());
    if let Some(until) = standing.until {
        say("until", until.to_string());
    }
    say("grace", standing.grace.to_string());
    let keep = standing.keep.map(|keep| keep.to_string());
    say(
        "keep",
        keep.unwrap_or_else(|| "until it is removed".to_owned()),
    );
    say("state", standing.state());
    say("computed until", standing.computed_until.to_string());
    if let Some(next) = &standing.next_at {
        say("goes on at", report::plain(next));
    }
    let (results, bytes) = (
        report::count(standing.results),
        report::bytes(standing.bytes),
    );
    say("results", format!("{results}, {bytes}"));
    if standing.late > 0 {
        let uploads = report::counted(standing.late, "upload", "uploads");
        say(
            "too late",
            format!("{uploads} came when readings of their periods were no longer stored"),
        );
    }
    if let Some(problem) = &standing.problem {
        say("problem", report::plain(&problem.error));
        say("advice", report::plain(&problem.hint));
    }
    if let Some(failure) = &standing.last_failure {
        let error = report::plain(&failure.reason.error);
        say("last failure", format!("{}: {error}", failure.from));
        say("advice", report::plain(&failure.reason.hint));
    }
    output::emit(table)?;
    if list.periods.is_empty() {
        output::note("no period has a result yet");
        return Ok(());
    }
    output::emit(periods(&list.periods))?;
    if list.next.is_some() {
        output::note("there are more periods: --limit shows more");
    }
    Ok(())
}

fn periods(periods: &[Period]) -> comfy_table::Table {
    let mut table = output::text_table();
    table.set_header([
        "period from",
        "state",
        "uploads",
        "computed",
        "bootstraps",
        "result",
    ]);
    for period in periods {
        let state = match (&period.error, period.state) {
            (Some(error), PeriodState::Failed) => {
                format!("failed: {}", report::plain(&error.error))
            }
            (_, state) => state.to_string(),
        };
        let cells = period.result.map(|result| {
            [
                report::count(result.uploads),
                result.computed_at.to_string(),
                report::count(result.bootstraps),
                report::bytes(result.bytes),
            ]
        });
        let none = || ["", "", "", ""].map(str::to_owned);
        let mut row = vec![period.from.to_string(), state];
        row.extend(cells.unwrap_or_else(none));
        table.add_row(row);
    }
    table
}
