//! Compact columns: every kind of question equals clear arithmetic, on ciphertexts and in rehearsals, at
//! the counted cost.

use std::sync::Arc;

use tfhe_sbc_columns::{
    Column, CompactValues, Computable, Computed, Error, Exported, Number, Progress,
    ReadingsMetadata, Server, Table, Value,
};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_upload::readings::Compact;

use crate::common::{Keys, rehearsal, upload};

fn compact(name: &str, bits: u32, headroom: u32, body_bits: u32, feedback: bool) -> Column {
    Column {
        name: name.into(),
        unit: String::new(),
        offset: -10.0,
        scale: 0.5,
        bits,
        compact: Some(Compact {
            headroom,
            body_bits,
            feedback,
        }),
        derived: Default::default(),
    }
}

fn columns() -> [Column; 4] {
    [
        compact("a", 8, 14, 27, true),
        compact("b", 8, 14, 27, true),
        // Little headroom, so that sums are made in groups.
        compact("c", 6, 2, 16, false),
        Column {
            compact: None,
            ..compact("r", 8, 0, 0, false)
        },
    ]
}

const ROWS: usize = 13;

fn values() -> Vec<Vec<f64>> {
    let value = |code: usize| -10.0 + 0.5 * code as f64;
    let column = |factor: usize, bits: u32| {
        let codes = (0..ROWS).map(|row| (row * factor + 5) % (1 << bits));
        codes.map(value).collect()
    };
    vec![column(97, 8), column(41, 8), column(23, 6), column(59, 8)]
}

fn metadata(rows: std::ops::Range<usize>) -> ReadingsMetadata {
    ReadingsMetadata {
        columns: columns().to_vec(),
        rows: rows.map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

/// A server with a table of two uploads, one of them made with a device public key.
fn server() -> (SecretKey, Server, Table) {
    let keys = Keys::generate(11);
    let encrypt =
        |key, rows: std::ops::Range<usize>| upload(key, &metadata(rows.clone()), &values(), rows);
    let (first, second) = (encrypt(&keys.device, 0..8), encrypt(&keys.public, 8..ROWS));
    let table = keys.server.load(&[&first, &second]).unwrap();
    (keys.secret, keys.server, table)
}

/// A question and its answer in the clear.
type Case = (&'static str, Box<dyn Computable>, Value);

fn cases(table: &Table) -> Vec<Case> {
    let column = |name: &str| table.column(name).unwrap().clone();
    let [a, b, c, r] = ["a", "b", "c", "r"].map(column);
    let clear = values();
    let [ca, cb, cc, cr] = [0, 1, 2, 3].map(|place: usize| clear[place].clone());
    let sum = |list: &[f64]| list.iter().sum::<f64>();
    let each = |f: &dyn Fn(usize) -> f64| Value::Numbers((0..ROWS).map(f).collect());
    let truths = |f: &dyn Fn(usize) -> bool| Value::Truths((0..ROWS).map(f).collect());
    let minimum = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
    let sorted = |list: &[f64]| {
        let mut list = list.to_vec();
        list.sort_by(f64::total_cmp);
        list
    };
    let boxed = |number: Number| -> Box<dyn Computable> { Box::new(number) };
    let score = Number::linear(&[(&a, 2.0), (&b, -1.0)], 3.0).unwrap();
    let mixed = a.plus(&r).unwrap();
    let window = a.take(&[3, 4, 5]).unwrap();
    let scattered = a.take(&[12, 0, 7]).unwrap();
    vec![
        ("sum", boxed(a.sum()), Value::Number(sum(&ca))),
        (
            "mean",
            Box::new(b.mean()),
            Value::Number(sum(&cb) / ROWS as f64),
        ),
        ("window", boxed(window.sum()), Value::Number(sum(&ca[3..6]))),
        (
            "scattered",
            boxed(scattered),
            Value::Numbers(vec![ca[12], ca[0], ca[7]]),
        ),
        (
            "score",
            boxed(score.clone()),
            each(&|i| 2.0 * ca[i] - cb[i] + 3.0),
        ),
        (
            "sum of differences",
            boxed(a.minus(&b).unwrap().sum()),
            Value::Number(sum(&ca) - sum(&cb)),
        ),
        ("groups", boxed(c.sum()), Value::Number(sum(&cc))),
        (
            "less",
            Box::new(a.lt(-1.5).unwrap()),
            truths(&|i| ca[i] < -1.5),
        ),
        (
            "at most",
            Box::new(a.le(ca[3]).unwrap()),
            truths(&|i| ca[i] <= ca[3]),
        ),
        (
            "equal",
            Box::new(a.equals(ca[3]).unwrap()),
            truths(&|i| ca[i] == ca[3]),
        ),
        (
            "columns",
            Box::new(a.ge(&b).unwrap()),
            truths(&|i| ca[i] >= cb[i]),
        ),
        (
            "score above",
            Box::new(score.gt(40.0).unwrap()),
            truths(&|i| 2.0 * ca[i] - cb[i] + 3.0 > 40.0),
        ),
        (
            "count",
            boxed(a.between(0.0, 80.0).unwrap().count()),
            Value::Number(ca.iter().filter(|x| (0.0..=80.0).contains(*x)).count() as f64),
        ),
        ("smallest", boxed(b.min()), Value::Number(minimum(&cb))),
        (
            "median",
            boxed(c.median().unwrap()),
            Value::Number(sorted(&cc)[ROWS / 2]),
        ),
        ("mixed", boxed(mixed.clone()), each(&|i| ca[i] + cr[i])),
        (
            "mixed sum",
            boxed(mixed.sum()),
            Value::Number(sum(&ca) + sum(&cr)),
        ),
        (
            "mixed comparison",
            Box::new(a.lt(&r).unwrap()),
            truths(&|i| ca[i] < cr[i]),
        ),
    ]
}

#[test]
fn rehearsals_equal_clear_arithmetic() {
    let server = rehearsal();
    let table = server.load_clear(metadata(0..ROWS), &values()).unwrap();
    for (name, question, expected) in cases(&table) {
        let [answer] = server.compute([&*question]).unwrap();
        assert_eq!(answer.rehearsed().unwrap(), expected, "{name}");
    }
}

#[test]
fn a_server_computes_the_same_at_the_counted_cost() {
    let (secret, server, table) = server();
    for (name, question, expected) in cases(&table) {
        let progress = Progress::default();
        let cost = server.cost(&question.parts(), &progress).unwrap();
        let progress = Progress::default();
        let answers = server.compute_list(&[&*question], &progress).unwrap();
        assert_eq!(answers[0].decrypt(&secret).unwrap(), expected, "{name}");
        assert_eq!(progress.bootstraps(), cost.bootstraps, "{name}");
    }
    // A sum on polynomials is an operand of other computations.
    let a = table.column("a").unwrap();
    let sum = a.sum();
    let [_] = server.compute([&sum]).unwrap();
    assert!(sum.is_computed());
    let high = sum.gt(100.0).unwrap();
    let [high] = server.compute([&high]).unwrap();
    let expected = values()[0].iter().sum::<f64>() > 100.0;
    assert_eq!(high.decrypt(&secret).unwrap(), Value::Truth(expected));
    // A computation that is called off.
    let progress = Progress::default();
    progress.cancel();
    let refused = server.compute_list(&[&a.min()], &progress);
    assert!(refused.is_err());
    // A bound that the signs alone exceed.
    let count = [Computed::Number(a.gt(0.0).unwrap().count())];
    let refused = server.compute_within(&count, ROWS as u64, &Progress::default());
    assert!(matches!(refused, Err(Error::TooCostly { .. })));
}

#[test]
fn linear_questions_take_no_bootstrap_and_comparisons_few() {
    let server = rehearsal();
    let table = server.describe(metadata(0..8192));
    let bootstraps = |value: &dyn Computable| {
        let cost = server.cost(&value.parts(), &Progress::default()).unwrap();
        cost.bootstraps
    };
    let [a, b] = ["a", "b"].map(|name| table.column(name).unwrap());
    assert_eq!(bootstraps(&a.sum()), 0);
    assert_eq!(bootstraps(&a.mean()), 0);
    assert_eq!(
        bootstraps(&Number::linear(&[(a, 3.0), (b, -1.0)], 0.0).unwrap()),
        0
    );
    let hot = a.gt(0.0).unwrap();
    // 9 bits in two's complement are a chunk of 5 and one of 4.
    assert_eq!(bootstraps(&hot), 2 * 8192);
    // The same comparison is done once.
    let both = tfhe_sbc_columns::Mask::all_of(&[&hot, &a.gt(0.0).unwrap()]).unwrap();
    assert!(bootstraps(&both) <= 3 * 8192);
}

#[test]
fn earlier_sums_that_are_too_noisy_to_be_added_are_named() {
    let server = rehearsal();
    let column = compact("a", 12, 8, 27, true);
    let earlier = |noise_log2| {
        let values = CompactValues::received(20, 12, Vec::new(), noise_log2).unwrap();
        server.number_of(None, &column, Exported::Compact(Arc::new(values)))
    };
    let cost = |noise_log2| {
        let [a, b] = [(); 2].map(|()| earlier(noise_log2));
        let sum = Number::linear(&[(&a, 1.0), (&b, 1.0)], 0.0).unwrap();
        server.cost(&sum.parts(), &Progress::default())
    };
    assert_eq!(cost(-70.0).unwrap().bootstraps, 0);
    let refused = cost(-10.0).unwrap_err();
    assert!(matches!(refused, Error::EarlierNoise { bits: 12 }));
}
