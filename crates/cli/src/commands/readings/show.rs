//! `readings show`.

use clap::Args;
use serde::Serialize;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::ReadingsEntry;
use tfhe_sbc_upload::readings::Column;

use super::list::pages;
use crate::commands::send::Server;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, report};

/// Shows what the server knows of one upload.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc readings show --to https://localhost:8443 \"$(tfhe-sbc readings list --to https://localhost:8443 --limit 1 --json | grep -o -m 1 '[0-9a-f]\\{64\\}')\""
)]
pub(crate) struct Arguments {
    /// The upload's id, or its first characters as `readings list` shows them
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    server: Server,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: ReadingsEntry,
    columns: Vec<Column>,
}

/// Returns the upload whose id begins with `text`.
pub(super) fn find(client: &Client, text: &str) -> Outcome<ReadingsEntry> {
    let help = "`tfhe-sbc readings list` shows the first characters of ids, and --json whole ones";
    let is_hex = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !(6..=64).contains(&text.len()) || !is_hex {
        return Err(failure(
            format_args!("'{}' is no id", report::plain(text)),
            "give 6 to 64 of its hexadecimal digits",
        ));
    }
    let all = pages(client, Filter::ALL, None)?.readings;
    let mut found = all
        .into_iter()
        .filter(|entry| entry.id.to_string().starts_with(text));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(failure(
            format_args!("several ids begin with {text}"),
            "give more of its digits",
        )),
        (None, _) => Err(failure(format_args!("no id begins with {text}"), help)),
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let client = arguments.server.connect("owner")?;
    let entry = find(&client, &arguments.id)?;
    let id: BlobId = entry.id;
    let columns = client
        .columns(&id.into())
        .explain("no columns of the upload")?
        .columns;
    if arguments.json {
        return output::print_json(&Shown { entry, columns });
    }
    let mut table = output::text_table();
    let mut say = |what: &str, text: String| {
        table.add_row([what.to_owned(), text]);
    };
    say("id", id.to_string());
    say("device", report::plain(&entry.uploader));
    say("stored", entry.created_at.clone());
    if let Some(span) = entry.summary.span {
        say("from", span.first.to_string());
        say("to", span.last.to_string());
    }
    say("rows", report::count(entry.summary.rows));
    say("size", report::bytes(entry.bytes));
    if let Some(key) = &entry.summary.key {
        let epoch = entry.summary.epoch.map(|epoch| format!(", epoch {epoch}"));
        say("key", format!("{key}{}", epoch.unwrap_or_default()));
    }
    for column in &columns {
        let form = if column.compact.is_some() {
            "compact"
        } else {
            "in blocks"
        };
        let text = format!(
            "{}: steps of {} from {}, {} bits, {form}",
            report::plain(&column.name),
            column.scale,
            column.offset,
            column.bits
        );
        say("column", text);
    }
    output::emit(table)
}
