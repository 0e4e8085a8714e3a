//! Results that follow one another, such as those of the periods of a standing query.

use std::collections::BTreeMap;

use tfhe_sbc_core::wire::{Kind, Message, WireError};
use tfhe_sbc_upload::moments::Span;

use super::{Answer, Decryption, Unreadable};
use crate::scope::{About, AboutDevice, GroupKey};

/// Returns the bytes of each of the results that follow one another: each one begins with its metadata.
///
/// # Errors
/// A defect of an envelope.
pub(super) fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, WireError> {
    let mut beginnings = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let place = bytes.len() - rest.len();
        let (message, behind) = Message::parse(rest)?;
        if message.header.kind == Kind::Metadata || place == 0 {
            beginnings.push(place);
        }
        rest = behind;
    }
    let ends = beginnings.iter().skip(1).copied().chain([bytes.len()]);
    let parts = beginnings.iter().zip(ends);
    Ok(parts
        .filter_map(|(&begin, end)| bytes.get(begin..end))
        .collect())
}

impl Decryption {
    /// Returns one decryption with the answers of all: by question, then by device and time. `None` if there are none.
    ///
    /// Of the rows that they are about, an upload counts for each result that it has rows in.
    pub fn join(all: Vec<Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        let mut is_joined = false;
        let mut joined = all.fold(first, |mut joined, other| {
            is_joined = true;
            joined.answers.extend(other.answers);
            joined.bootstraps += other.bootstraps;
            joined.about = joined.about.zip(other.about).map(|(a, b)| together(a, b));
            joined.sanitised = joined.sanitised.zip(other.sanitised).map(sum_of_powers);
            joined
        });
        if is_joined {
            sort_answers(&mut joined.answers, |answer| {
                (name_of(answer), group_of(answer))
            });
        }
        Some(joined)
    }
}

/// Sorts answers, of which `of` tells the names and groups, by their questions, in the order in which these come first, and then
/// by their groups.
pub fn sort_answers<T>(answers: &mut [T], of: impl Fn(&T) -> (&str, Option<&GroupKey>)) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for answer in answers.iter() {
        let next = places.len();
        places.entry(of(answer).0.to_owned()).or_insert(next);
    }
    answers.sort_by_cached_key(|answer| {
        let (name, group) = of(answer);
        (places.get(name).copied(), group.cloned())
    });
}

fn name_of(answer: &Result<Answer, Unreadable>) -> &str {
    match answer {
        Ok(answer) => &answer.name,
        Err(unreadable) => &unreadable.name,
    }
}

fn group_of(answer: &Result<Answer, Unreadable>) -> Option<&GroupKey> {
    match answer {
        Ok(answer) => answer.group.as_ref(),
        Err(unreadable) => unreadable.group.as_deref(),
    }
}

/// log2 of the sum of two powers of two, rounded up to a tenth.
fn sum_of_powers((a, b): (f64, f64)) -> f64 {
    (10.0 * (a.exp2() + b.exp2()).log2()).ceil() / 10.0
}

/// Returns what can be said about the rows of both.
fn together(a: About, b: About) -> About {
    let mut devices: BTreeMap<Option<String>, AboutDevice> = BTreeMap::new();
    for device in a.devices.into_iter().chain(b.devices) {
        match devices.get_mut(&device.name) {
            Some(there) => {
                there.rows += device.rows;
                there.uploads += device.uploads;
            }
            None => {
                devices.insert(device.name.clone(), device);
            }
        }
    }
    let span = a.span.zip(b.span).map(|(a, b)| Span {
        first: a.first.min(b.first),
        last: a.last.max(b.last),
    });
    About {
        devices: devices.into_values().collect(),
        span,
        rows: a.rows + b.rows,
        uploads: a.uploads + b.uploads,
        repeated: a.repeated + b.repeated,
    }
}
