//! Recordings that are called off, and chains that are too long.

use std::thread;
use std::time::Duration;

use tfhe_sbc_columns::{Computed, Error, Progress};

use crate::common::{metadata, rehearsal};

#[test]
fn a_recording_is_called_off_while_it_runs() {
    let server = rehearsal();
    let table = server.describe(metadata(&[("a", 0.0, 1.0, 12)], 8760));
    let a = table.column("a").unwrap();
    let sorted = [Computed::Number(a.smallest(a.row_count()).unwrap())];
    let progress = Progress::default();
    let counted = thread::scope(|scope| {
        let counting = scope.spawn(|| server.cost(&sorted, &progress));
        // It shows that it advances long before it is done.
        while progress.recorded_lookups() == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        progress.cancel();
        counting.join().unwrap()
    });
    assert!(counted.unwrap_err().is_cancelled());
    // The next one starts afresh.
    let first = [Computed::Number(a.item(0).unwrap().plus(a).unwrap())];
    assert!(server.cost(&first, &Progress::default()).is_ok());
}

#[test]
fn what_is_called_off_before_it_begins_is_not_done() {
    let server = rehearsal();
    let table = server.describe(metadata(&[("a", 0.0, 1.0, 3)], 2));
    let progress = Progress::default();
    progress.cancel();
    let sum = [Computed::Number(table.column("a").unwrap().sum())];
    assert!(server.cost(&sum, &progress).unwrap_err().is_cancelled());
    assert!(
        server
            .compute_all(&sum, &progress)
            .unwrap_err()
            .is_cancelled()
    );
}

#[test]
fn chains_are_bounded_and_dropped_without_recursion() {
    let server = rehearsal();
    let table = server.describe(metadata(&[("a", 0.0, 1.0, 3)], 1));
    let a = table.column("a").unwrap();
    let mut mask = a.gt(2.0).unwrap();
    for _ in 0..200_000 {
        mask = mask.negated();
    }
    assert!(matches!(mask.check_depth(), Err(Error::TooDeep)));
    let deep = server.cost(&[Computed::Mask(mask)], &Progress::default());
    assert!(matches!(deep, Err(Error::TooDeep)));
}
