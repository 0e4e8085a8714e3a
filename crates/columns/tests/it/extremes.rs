//! Extremes of compact columns, which are found in groups of rows without digits of each row.

use tfhe_sbc_columns::{Column, Computable, Number, Progress, ReadingsMetadata, Server, Value};
use tfhe_sbc_upload::readings::Compact;

use crate::common::{Keys, rehearsal, upload};

/// A column of 10 bits as it is made for means.
fn column(name: &str, headroom: u32, body_bits: u32) -> Column {
    Column {
        name: name.into(),
        unit: String::new(),
        offset: -40.0,
        scale: 0.1,
        bits: 10,
        compact: Some(Compact {
            headroom,
            body_bits,
            feedback: true,
        }),
        derived: Default::default(),
    }
}

fn metadata(rows: std::ops::Range<usize>) -> ReadingsMetadata {
    ReadingsMetadata {
        columns: vec![column("wide", 14, 30), column("narrow", 1, 19)],
        rows: rows.map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

const ROWS: usize = 21;

/// Readings with both ends of the range, and equal ones.
fn values() -> Vec<Vec<f64>> {
    let value = |code: usize| (code as f64).mul_add(0.1, -40.0);
    let code = |row: usize, factor: usize| match row {
        7 | 8 => 1023,
        13 | 20 => 0,
        _ => (row * factor + 5) % 1024,
    };
    let column = |factor| (0..ROWS).map(|row| value(code(row, factor))).collect();
    vec![column(397), column(641)]
}

/// The bootstraps of a question on two threads.
fn cost(server: &Server, values: &[&dyn Computable]) -> u64 {
    let parts: Vec<_> = values.iter().flat_map(|value| value.parts()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    let counted = || server.cost(&parts, &Progress::default());
    let cost = pool.build().unwrap().install(counted);
    cost.unwrap().bootstraps
}

#[test]
fn a_year_takes_half_of_the_lookups() {
    let server = rehearsal();
    let table = server.describe(metadata(0..8760));
    let [wide, narrow] = ["wide", "narrow"].map(|name| table.column(name).unwrap());
    // 55 for each eight rows, and nine or more for each comparison of the eighths.
    assert_eq!(cost(&server, &[&wide.max()]), 70_211);
    assert_eq!(cost(&server, &[&wide.min()]), cost(&server, &[&wide.max()]));
    // One bit of headroom is enough for pairs.
    assert!(cost(&server, &[&narrow.max()]) < 100_000);
    // Both ends have comparisons of their own. Digits that are there anyway count as free.
    let both = cost(&server, &[&wide.min(), &wide.max()]);
    assert_eq!(both, 2 * cost(&server, &[&wide.max()]));
    // A question that is asked twice is answered once.
    let twice = cost(&server, &[&wide.max(), &wide.max()]);
    assert_eq!(twice, cost(&server, &[&wide.max()]));
    let median = wide.median().unwrap();
    let with_median = cost(&server, &[&wide.max(), &median]);
    assert!(with_median <= cost(&server, &[&median]) + 9 * 8760);
    // Few rows wait for rounds.
    let few = server.describe(metadata(0..2));
    let few = few.column("wide").unwrap();
    assert!(cost(&server, &[&few.max()]) <= 21);
}

fn expected(list: &[f64], order: fn(f64, f64) -> f64) -> Value {
    Value::Number(list.iter().copied().reduce(order).unwrap())
}

fn questions(table: &tfhe_sbc_columns::Table) -> Vec<(&'static str, Number, Value)> {
    let clear = values();
    let [wide, narrow] = ["wide", "narrow"].map(|name| table.column(name).unwrap());
    let some = [3, 4, 13, 14, 9];
    let of_some: Vec<f64> = some.iter().map(|&row| clear[0][row]).collect();
    let twice: Vec<f64> = clear[0].iter().map(|x| 2.0 * x).collect();
    vec![
        ("max", wide.max(), expected(&clear[0], f64::max)),
        ("min", wide.min(), expected(&clear[0], f64::min)),
        ("pairs", narrow.max(), expected(&clear[1], f64::max)),
        (
            "some rows",
            wide.take(&some).unwrap().min(),
            expected(&of_some, f64::min),
        ),
        (
            "a multiple",
            wide.times(2.0).unwrap().max(),
            expected(&twice, f64::max),
        ),
    ]
}

fn is_near(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(found), Value::Number(expected)) => (found - expected).abs() < 1e-9,
        _ => false,
    }
}

#[test]
fn rehearsals_equal_clear_arithmetic() {
    let server = rehearsal();
    let table = server.load_clear(metadata(0..ROWS), &values()).unwrap();
    for (name, question, expected) in questions(&table) {
        let [answer] = server.compute([&question]).unwrap();
        let found = answer.rehearsed().unwrap();
        assert!(is_near(&found, &expected), "{name}: {found:?}");
    }
}

#[test]
fn a_server_computes_the_same_at_the_counted_cost() {
    let keys = Keys::generate(12);
    let encrypt =
        |key, rows: std::ops::Range<usize>| upload(key, &metadata(rows.clone()), &values(), rows);
    let uploads = [
        encrypt(&keys.device, 0..15),
        encrypt(&keys.device, 15..ROWS),
    ];
    let table = keys.server.load(&[&uploads[0], &uploads[1]]).unwrap();
    for (name, question, expected) in questions(&table) {
        let cost = keys.server.cost(&question.parts(), &Progress::default());
        let cost = cost.unwrap().bootstraps;
        let progress = Progress::default();
        let answers = keys.server.compute_list(&[&question], &progress).unwrap();
        let found = answers[0].decrypt(&keys.secret).unwrap();
        assert!(is_near(&found, &expected), "{name}: {found:?}");
        assert_eq!(progress.bootstraps(), cost, "{name}");
    }
}
