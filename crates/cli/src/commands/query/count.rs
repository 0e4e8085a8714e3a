//! `query --count`: what the answers would cost, and what fetching the readings would.

use std::collections::HashSet;

use serde::Serialize;
use tfhe_sbc_query::cost::{Cost, Planned, costs_of};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::scope::{Scope, UploadRows};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::protocol::{ReadingsEntry, Selection};
use tfhe_sbc_upload::moments::Moment;
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
    let labels: Vec<Vec<String>> = uploads.iter().map(labels_of).collect();
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

/// Returns labels for the rows of an upload. Their number and the ends of their time are those of the upload; the times between are as
/// those of a board whose clock is regular.
fn labels_of(upload: &ReadingsEntry) -> Vec<String> {
    let rows = upload.summary.rows;
    let Some(span) = upload.summary.span else {
        return (1..=rows).map(|row| row.to_string()).collect();
    };
    let (first, last) = (span.first.unix_ms(), span.last.unix_ms());
    let steps = i64::try_from(rows.saturating_sub(1))
        .unwrap_or(i64::MAX)
        .max(1);
    let step = last.saturating_sub(first) / steps;
    let at = |row: u64| match row + 1 == rows {
        true => last,
        false => first.saturating_add(step.saturating_mul(row as i64)),
    };
    (0..rows)
        .map(|row| Moment::from_unix_ms(at(row)).to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_transport::protocol::UploadSummary;
    use tfhe_sbc_upload::moments::Span;

    use super::*;

    fn upload(rows: u64, span: Option<(&str, &str)>) -> ReadingsEntry {
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        ReadingsEntry {
            id: BlobId::of(b"upload"),
            bytes: 100,
            created_at: "2026-11-23T12:00:00Z".to_owned(),
            uploader: "hill".to_owned(),
            summary: UploadSummary {
                elements: rows,
                rows,
                columns: vec!["a".to_owned()],
                span: span.map(|(first, last)| Span {
                    first: moment(first),
                    last: moment(last),
                }),
                key: None,
                epoch: None,
            },
        }
    }

    #[test]
    fn rows_are_spread_over_the_time_of_their_upload() {
        let labels = labels_of(&upload(4, Some(("2026-11-23T10:00Z", "2026-11-23T10:31Z"))));
        let moments = labels
            .iter()
            .map(|label| label.parse::<Moment>().unwrap().unix_ms() / 1000 % 3600);
        assert_eq!(moments.collect::<Vec<i64>>(), [0, 620, 1240, 1860]);
        let one = labels_of(&upload(1, Some(("2026-11-23T10:00Z", "2026-11-23T10:00Z"))));
        assert_eq!(one.len(), 1);
        assert_eq!(labels_of(&upload(2, None)), ["1", "2"]);
    }
}
