//! The list of what a server has stored.

use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::protocol::{ReadingsEntry, UploadSummary};
use tfhe_sbc_upload::moments::Moment;

/// The most bytes of an upload that are read.
pub const LARGEST_UPLOAD: u64 = 1 << 30;

/// Calls `take` with each upload that a filter selects, at most `most` of them, page by page. Returns the number that the following
/// page is asked for with, if there is one.
///
/// # Errors
/// If the server cannot be reached, or refuses.
pub fn each_upload(
    client: &Client,
    filter: Filter,
    most: Option<u32>,
    mut take: impl FnMut(ReadingsEntry),
) -> Result<Option<u64>, ClientError> {
    let mut filter = filter;
    let mut taken: u32 = 0;
    loop {
        filter.limit = most.map(|most| most.saturating_sub(taken));
        let page = client.list(&filter)?;
        taken = taken.saturating_add(u32::try_from(page.readings.len()).unwrap_or(u32::MAX));
        page.readings.into_iter().for_each(&mut take);
        match page.next {
            Some(next) if most.is_none_or(|most| taken < most) => filter.before = Some(next),
            next => return Ok(next),
        }
    }
}

/// Returns labels for the rows of an upload. Their number and the ends of their time are those of the upload; the times between are as
/// those of a board whose clock is regular.
pub fn presumed_labels(upload: &UploadSummary) -> Vec<String> {
    let rows = upload.rows;
    let Some(span) = upload.span else {
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
    use tfhe_sbc_upload::moments::Span;

    use super::*;

    fn upload(rows: u64, span: Option<(&str, &str)>) -> UploadSummary {
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        UploadSummary {
            rows,
            span: span.map(|(first, last)| Span {
                first: moment(first),
                last: moment(last),
            }),
            ..UploadSummary::default()
        }
    }

    #[test]
    fn rows_are_spread_over_the_time_of_their_upload() {
        let labels = presumed_labels(&upload(4, Some(("2026-11-23T10:00Z", "2026-11-23T10:31Z"))));
        let moments = labels
            .iter()
            .map(|label| label.parse::<Moment>().unwrap().unix_ms() / 1000 % 3600);
        assert_eq!(moments.collect::<Vec<i64>>(), [0, 620, 1240, 1860]);
        let one = presumed_labels(&upload(1, Some(("2026-11-23T10:00Z", "2026-11-23T10:00Z"))));
        assert_eq!(one.len(), 1);
        assert_eq!(presumed_labels(&upload(2, None)), ["1", "2"]);
    }
}
