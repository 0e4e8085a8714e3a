//! Rows that several questions are about are looked up once, and the count says so.

use std::ops::Range;

use tfhe_sbc_columns::{Computable, Number, Progress, ReadingsMetadata, Server};
use tfhe_sbc_upload::declaration::Missing;

use crate::common::{Keys, optional_column, upload};

const ROWS: usize = 6;

fn bootstraps(server: &Server, asked: &[&dyn Computable]) -> u64 {
    let parts: Vec<_> = asked.iter().flat_map(|value| value.parts()).collect();
    let cost = server.cost(&parts, &Progress::default());
    cost.unwrap().bootstraps
}

fn slice(column: &Number, rows: Range<usize>) -> Number {
    column.take(&rows.collect::<Vec<_>>()).unwrap()
}

#[test]
fn rows_in_common_are_looked_up_once() {
    let keys = Keys::generate(15);
    for is_radix in [false, true] {
        let column = optional_column("x", (0.0, 1.0), 5, Missing::Never, is_radix);
        let described = ReadingsMetadata {
            columns: vec![column],
            rows: (0..ROWS).map(|row| row.to_string()).collect(),
            gaps: Default::default(),
        };
        let readings = vec![vec![7.0, 31.0, 0.0, 12.0, 31.0, 4.0]];
        let bytes = upload(&keys.device, &described, &readings, 0..ROWS);
        let table = keys.server.load(&[&bytes]).unwrap();
        let x = table.column("x").unwrap();
        let count = |asked: &[&dyn Computable]| bootstraps(&keys.server, asked);
        // The digits of a row: none are looked up in radix blocks.
        let digits = count(&[&slice(x, 0..1).max()]);
        assert_eq!(digits == 0, is_radix);
        let median = |rows| slice(x, rows).median().unwrap();
        let (first, second) = (median(0..3), median(1..4));
        let apart = count(&[&first]) + count(&[&second]);
        // Lookups of their circuits may be shared, too.
        assert!(count(&[&first, &second]) <= apart - 2 * digits);
        // Its first two rows are the same.
        let moved = x.shift(1).unwrap().number().median().unwrap();
        assert!(count(&[&moved]) <= count(&[&x.median().unwrap()]) - digits);
        let above = slice(x, 0..4).ge(10.0).unwrap();
        let below = slice(x, 1..5).lt(10.0).unwrap();
        let sum = slice(x, 2..6).gt(3.0).unwrap().count();
        let asked: [&dyn Computable; 6] = [&first, &second, &moved, &above, &below, &sum];
        let counted = count(&asked);
        let progress = Progress::default();
        let answers = keys.server.compute_list(&asked, &progress).unwrap();
        assert_eq!(progress.bootstraps(), counted, "{is_radix}");
        let read = |place: usize| answers[place].decrypt(&keys.secret).unwrap();
        assert_eq!(read(0).number(), Some(7.0));
        assert_eq!(read(1).number(), Some(12.0));
        assert_eq!(read(2).number(), Some(7.0));
        let above = [false, true, false, true];
        assert_eq!(read(3).truths().unwrap(), above);
        let below = [false, true, false, false];
        assert_eq!(read(4).truths().unwrap(), below);
        assert_eq!(read(5).number(), Some(3.0));
    }
}
