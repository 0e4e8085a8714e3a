//! `standing`: questions that a server keeps, and answers for each period of time once it is over.

mod get;
mod list;

use clap::{Args, Subcommand};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::standing::{Standing, StandingName};

use super::send::Server;
use crate::failure::{Explain, Outcome};
use crate::{output, report};

/// Lists, shows, gets, pauses and removes standing queries: questions left with `query --every`, which the server answers for
/// each period once it is over. A certificate's standing queries are those that were left under its name.
#[derive(Args)]
#[command(
    after_help = "Example, with readings sent as `tfhe-sbc send --help` shows:\n  tfhe-sbc query --to https://localhost:8443 --tls tls --every 1d --by device --since 1988-01-12 --name days 'mean(temperature_c)'\n  until tfhe-sbc standing show days --to https://localhost:8443 --json | grep -q '\"waiting\": 0'; do sleep 1; done\n  tfhe-sbc standing list --to https://localhost:8443 --tls tls\n  tfhe-sbc standing get --to https://localhost:8443 --tls tls days --decrypt keys/secret.tsbc"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// List your standing queries
    List(ListArguments),
    /// Show a standing query, and what became of its last periods
    Show(list::ShowArguments),
    /// Get the encrypted results of periods, or decrypt them into one table
    Get(get::Arguments),
    /// Remove a standing query from the server with all of its results, for good
    Rm(RemoveArguments),
    /// Have the server compute nothing for a standing query until it is resumed
    Pause(TaskArguments),
    /// Have the server go on with a standing query, and try again the periods that failed
    Resume(TaskArguments),
}

#[derive(Args)]
struct ListArguments {
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A standing query of a server.
#[derive(Args)]
struct One {
    /// The name that `query --every` printed
    #[arg(value_name = "NAME")]
    name: StandingName,
    #[command(flatten)]
    server: Server,
}

impl One {
    fn connect(&self) -> Outcome<Client> {
        self.server.connect("owner")
    }
}

#[derive(Args)]
struct TaskArguments {
    #[command(flatten)]
    of: One,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Says what would be removed, and removes it with --yes. Results may be the only answers about readings that are no longer stored.
#[derive(Args)]
struct RemoveArguments {
    #[command(flatten)]
    of: One,
    /// Remove it
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::List(ListArguments { server, json }) => list::list(server, *json),
        Task::Show(arguments) => list::show(arguments),
        Task::Get(arguments) => get::run(arguments),
        Task::Rm(arguments) => remove(arguments),
        Task::Pause(arguments) => {
            let paused = arguments.of.connect()?.pause_standing(&arguments.of.name);
            say(&paused.explain("it goes on")?, arguments.json, "is paused")
        }
        Task::Resume(arguments) => {
            let resumed = arguments.of.connect()?.resume_standing(&arguments.of.name);
            say(
                &resumed.explain("it does not go on")?,
                arguments.json,
                "goes on",
            )
        }
    }
}

/// Says what became of a standing query.
fn say(standing: &Standing, json: bool, what: &str) -> Outcome<()> {
    if json {
        return output::print_json(standing);
    }
    output::note(format_args!("'{}' {what}", standing.name));
    Ok(())
}

fn remove(RemoveArguments { of, yes, json }: &RemoveArguments) -> Outcome<()> {
    let client = of.connect()?;
    let found = match yes {
        true => client
            .remove_standing(&of.name)
            .explain("nothing is removed")?,
        false => client.standing(&of.name).explain("no standing query")?,
    };
    if *json {
        return output::print_json(&found);
    }
    let what = match yes {
        true => "removed",
        false => "--yes would remove",
    };
    output::note(format_args!(
        "{what} '{}' with {} of {}",
        found.name,
        report::counted(found.results, "result", "results"),
        report::bytes(found.bytes)
    ));
    Ok(())
}
