//! `query --every`: questions that are left with the server.

use std::time::Duration;

use clap::Args;
use tfhe_sbc_query::scope::{Grouping, NoPart, Period, Scope};
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::standing::{GRACE, Length, StandingName, Terms};
use tfhe_sbc_upload::definition::Definition;
use tfhe_sbc_upload::readings::Column;

use super::{Arguments, Questions};
use crate::failure::{Explain, Outcome, failure};
use crate::{columns, output, report};

/// The terms of a standing query.
#[derive(Args)]
pub(super) struct Every {
    /// Leave the questions with the server, which answers them for each period of this length once it is over, like 15m, 1h or 1d.
    /// --since begins in the past; `standing` follows it and gets the results
    #[arg(long, value_name = "PERIOD", conflicts_with_all = ["out", "detach", "fresh", "checks"])]
    every: Option<Period>,
    /// The name of the standing query [default: by its period, such as hourly]
    #[arg(long, value_name = "NAME", requires = "every")]
    name: Option<StandingName>,
    /// The time after the end of a period in which its uploads may still arrive [default: 10m]
    #[arg(long, value_name = "TIME", requires = "every")]
    grace: Option<Length>,
    /// The time for which results are kept, like 90d or 5y [default: until the standing query is removed]
    #[arg(long, value_name = "TIME", requires = "every")]
    keep: Option<Length>,
}

impl Every {
    /// Returns the period, if the questions are to be left with the server.
    pub(super) fn period(&self) -> Option<Period> {
        self.every
    }
}

/// Returns the groups of each period: those that are asked for, by the period itself if by no part of it.
fn groups(by: Option<Grouping>, period: Period) -> Outcome<Grouping> {
    by.unwrap_or_default().in_each(period).map_err(|NoPart { every, part }| {
        failure(
            format_args!("--every {every} does not consist of whole groups of --by {part}"),
            "leave the time out of --by for one answer a period, or take a part of the period, like --every 1d --by hour",
        )
    })
}

/// Returns the devices that the standing query is about.
fn names(arguments: &Arguments) -> Outcome<Names> {
    match (&arguments.readings, &arguments.selected.device) {
        (None, names) => Ok(names.clone().unwrap_or_default()),
        (Some(Selection::Stored(filter)), None) if *filter == Filter::ALL => Ok(Names::default()),
        (Some(_), _) => Err(failure(
            "a standing query is about what devices will upload, and --readings names uploads",
            "choose devices with --device, or leave both out for all",
        )),
    }
}

/// Leaves the questions with the server, and prints the name of the standing query.
pub(super) fn leave(arguments: &Arguments, period: Period) -> Outcome<()> {
    let (rows, times) = (&arguments.rows, &arguments.selected.times);
    if rows.newest.is_some() {
        return Err(failure(
            "a standing query is about all rows of each period, and --newest chooses among them",
            "leave --newest out; last(column) is the value of the latest row",
        ));
    }
    if times.last.is_some() {
        return Err(failure(
            "--last is about the time up to now, and a standing query is about periods to come",
            "leave --last out, or begin in the past with --since TIME",
        ));
    }
    let Every {
        name, grace, keep, ..
    } = &arguments.every;
    let (since, until) = times.ends();
    let scope = Scope {
        by: groups(rows.by, period)?,
        ..Scope::default()
    };
    let terms = Terms {
        names: names(arguments)?,
        every: Length(period.length()),
        grace: grace.unwrap_or(Length(GRACE)),
        since,
        until,
        keep: *keep,
    };
    let name = match name {
        Some(name) => name.clone(),
        None => StandingName::usual(terms.every),
    };
    let client = arguments.server.connect("owner")?;
    let of_readings = columns_of(&arguments.questions, &client, &terms.names)?;
    note_unknown(&client, &terms.names)?;
    let request = arguments.seal(&of_readings, scope)?;
    let standing = client.leave(&name, &terms, &request);
    let standing = standing.explain("no standing query")?;
    output::note(format_args!(
        "the server answers for each {} from {} on, {} after its end, and keeps the results {}",
        standing.every,
        standing.since,
        standing.grace,
        match standing.keep {
            Some(keep) => format!("for {keep}"),
            None => "until `tfhe-sbc standing rm`".to_owned(),
        }
    ));
    if standing.results > 0 {
        let results = report::counted(standing.results, "result", "results");
        output::note(format_args!("it was there already, with {results}"));
    }
    let some = Length(Duration::max(
        7 * period.length(),
        Duration::from_secs(86_400),
    ));
    output::note(format_args!(
        "`tfhe-sbc standing show {name}` says how far it is, and `tfhe-sbc standing get {name} --last {some} --decrypt \
         keys/secret.tsbc` shows the answers"
    ));
    output::emit(name)
}

/// Says which of several names are those of no device yet: they may be misspelt.
fn note_unknown(client: &Client, names: &Names) -> Outcome<()> {
    for pattern in client.unknown(names).explain("no list of readings")? {
        output::note(format_args!(
            "nothing of '{pattern}' is stored yet; it counts once there is"
        ));
    }
    Ok(())
}

/// Returns the columns of the last upload of devices, which the questions are sealed for.
fn columns_of(questions: &Questions, client: &Client, names: &Names) -> Outcome<Vec<Column>> {
    let of_last = client.columns_of(names);
    if let Some(columns) = of_last.explain("no columns of the readings")? {
        return Ok(columns);
    }
    let Some(path) = &questions.columns else {
        return Err(failure(
            "nothing of these devices is stored yet, so that their columns are not known",
            "name the columns with --columns FILE, or leave the standing query once there are readings",
        ));
    };
    let definitions = columns::load(Some(path))?;
    Ok(definitions.iter().map(Definition::without_use).collect())
}
