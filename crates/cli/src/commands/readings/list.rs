//! `readings list`.

use clap::Args;
use tfhe_sbc_owner::each_upload;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::{ReadingsEntry, ReadingsList};

use super::Selected;
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome};
use crate::{output, report};

/// Lists the uploads that a server has stored, those that were stored last first.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc readings list --to https://localhost:8443 --device device --limit 10\n  tfhe-sbc readings list --to https://localhost:8443 --device '*' --since 1988-01-12 --until 1988-01-13T12:00Z"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    server: Server,
    /// The most uploads that are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// List all
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Go on behind a page that was cut: the number that it ended with
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let filter = Filter {
        before: arguments.before,
        ..arguments.selected.filter()?
    };
    let client = arguments.server.connect("owner")?;
    let most = (!arguments.all).then_some(arguments.limit);
    let list = pages(&client, filter, most)?;
    if arguments.json {
        return output::print_json(&list);
    }
    if list.readings.is_empty() {
        output::note(
            "no uploads: leave out options to see more, or send some with `tfhe-sbc send`",
        );
        return Ok(());
    }
    output::emit(table(&list.readings))?;
    if let Some(next) = list.next {
        output::note(format_args!(
            "there are more: go on with --before {next}, or see --all"
        ));
    }
    Ok(())
}

/// Returns the uploads that a filter selects, at most `most` of them, page by page.
pub(super) fn pages(client: &Client, filter: Filter, most: Option<u32>) -> Outcome<ReadingsList> {
    let mut readings = Vec::new();
    let next = each(client, filter, most, |entry| readings.push(entry))?;
    Ok(ReadingsList { readings, next })
}

/// Calls `take` with each upload that a filter selects, at most `most` of them, page by page. Returns the number that the following
/// page is asked for with, if there is one.
pub(crate) fn each(
    client: &Client,
    filter: Filter,
    most: Option<u32>,
    take: impl FnMut(ReadingsEntry),
) -> Outcome<Option<u64>> {
    each_upload(client, filter, most, take).explain("no list of readings")
}

/// The number of characters of an id in a table.
const SHORT_ID: usize = 12;

fn table(readings: &[ReadingsEntry]) -> comfy_table::Table {
    let mut table = output::text_table();
    table.set_header([
        "device", "from", "to", "rows", "columns", "size", "stored", "id",
    ]);
    for entry in readings {
        let span = entry.summary.span;
        let time = |moment: Option<_>| {
            moment.map_or_else(
                || "-".to_owned(),
                |it: tfhe_sbc_upload::moments::Moment| it.to_string(),
            )
        };
        let id: String = entry.id.to_string().chars().take(SHORT_ID).collect();
        table.add_row([
            report::plain(&entry.uploader),
            time(span.map(|span| span.first)),
            time(span.map(|span| span.last)),
            report::count(entry.summary.rows),
            report::plain(&entry.summary.columns.join(", ")),
            report::bytes(entry.bytes),
            entry.created_at.clone(),
            id,
        ]);
    }
    table
}
