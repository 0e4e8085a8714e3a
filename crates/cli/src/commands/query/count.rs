//! `query --count`: what the answers would cost, and what fetching the readings would.

use std::collections::HashSet;

use serde::Serialize;
use tfhe_sbc_owner::presumed_labels;
use tfhe_sbc_query::cost::{Cost, Planned, costs_of};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::scope::{Scope, UploadRows};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::{ReadingsEntry, Selection};
use tfhe_sbc_upload::readings::Column;

use super::Arguments;
use crate::commands::readings::list;
use crate::costs::Counted;
use crate::encryptor;
use crate::failure::{Explain, Outcome, failure};
use crate::{output, report};
use tfhe_sbc_device::MemoryPlan;

/// Both prices.
#[derive(Serialize)]
struct Prices {
    #[serde(flatten)]
    counted: Counted,
    fetch: Fetch,
}

/// The price of fetching the readings and decrypting them here.
#[derive(Serialize)]
struct Fetch {
    uploads: usize,
    bytes: u64,
}

/// Prints both prices of questions about readings of these columns.
pub(super) fn run(
    arguments: &Arguments,
    client: &Client,
    readings: &Selection,
    columns: &[Column],
    scope: Scope,
) -> Outcome<()> {
    let uploads = selected(client, readings)?;
    let labels: Vec<Vec<String>> = uploads
        .iter()
        .map(|upload| presumed_labels(&upload.summary))
        .collect();
    let rows = uploads
        .iter()
        .zip(&labels)
        .map(|(upload, labels)| UploadRows {
            device: Some(&upload.uploader),
            labels,
        });
    let rows: Vec<UploadRows<'_>> = rows.collect();
    let questions = arguments.questions.parsed();
    let session = encryptor::open(&arguments.questions.device_key, MemoryPlan::recommended())?;
    let planned = Planned {
        columns,
        uploads: &rows,
        gaps: None,
        scope,
        sanitise: arguments.questions.are_sanitised(),
    };
    let costs = costs_of(
        session.parameters(),
        planned,
        &questions,
        &Progress::default(),
    );
    let (each, together) = costs.advise("no count", "ask about the columns of the readings")?;
    // A server that has not computed much yet does not know its speed.
    let speed = client.seconds_per_bootstrap().ok().flatten();
    let seconds = |cost: &Cost| speed.map(|seconds| seconds * cost.bootstraps as f64);
    let prices = Prices {
        counted: Counted::new(&questions, each, together, seconds),
        fetch: Fetch {
            uploads: uploads.len(),
            bytes: uploads.iter().map(|upload| upload.bytes).sum(),
        },
    };
    if arguments.json {
        return output::print_json(&prices);
    }
    output::emit(prices.counted.table())?;
    if let Some(refused) = prices.counted.too_large() {
        output::note(refused);
    }
    output::note(format_args!(
        "fetching the readings and decrypting them here takes no bootstrap and {}, of {}: tfhe-sbc readings get --decrypt keys/secret.tsbc",
        report::bytes(prices.fetch.bytes),
        report::counted(uploads.len() as u64, "upload", "uploads"),
    ));
    Ok(())
}

/// Returns what the server knows of the selected uploads.
fn selected(client: &Client, readings: &Selection) -> Outcome<Vec<ReadingsEntry>> {
    let (filter, ids) = match readings {
        Selection::Stored(filter) => (filter.clone(), None),
        Selection::Ids(ids) => (Filter::ALL, Some(ids.iter().collect::<HashSet<&BlobId>>())),
        _ => {
            return Err(failure(
                "this selection is not counted",
                "name uploads by their ids, or choose them with --device, --since, --until or --last",
            ));
        }
    };
    let mut uploads = Vec::new();
    list::each(client, filter, None, |entry| {
        if ids.as_ref().is_none_or(|ids| ids.contains(&entry.id)) {
            uploads.push(entry);
        }
    })?;
    // The list has the last first.
    uploads.reverse();
    Ok(uploads)
}
