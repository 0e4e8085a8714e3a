//! Functions of rows in their order equal slow obvious ones on the same readings, as pandas has them: rehearsed on random columns, widths, windows and
//! gaps, and with keys.

use proptest::prelude::*;
use tfhe_sbc_columns::{
    Computable, Error, Number, OptionalNumber, Progress, ReadingsMetadata, Server, Table, Value,
};
use tfhe_sbc_upload::declaration::Missing;

use crate::common::{Keys, optional_column, rehearsal, rehearse, repetitions, upload};

/// Readings in rows, as far as they are there.
type Rows = Vec<Option<f64>>;

const OFFSET: f64 = -10.0;
const SCALE: f64 = 0.5;

/// The table of one column `x`.
fn metadata(bits: u32, missing: Missing, is_radix: bool, rows: usize) -> ReadingsMetadata {
    ReadingsMetadata {
        columns: vec![optional_column(
            "x",
            (OFFSET, SCALE),
            bits,
            missing,
            is_radix,
        )],
        rows: (0..rows).map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

fn given(rows: &Rows) -> Vec<Vec<f64>> {
    vec![rows.iter().map(|x| x.unwrap_or(f64::NAN)).collect()]
}

/// The numbers that are there in each window; `None` where there are fewer than `least`.
fn windows(rows: &Rows, window: usize, least: usize) -> Vec<Option<Vec<f64>>> {
    let window = |end: usize| {
        let there = rows[(end + 1).saturating_sub(window)..=end].iter();
        let there: Vec<f64> = there.copied().flatten().collect();
        (there.len() >= least).then_some(there)
    };
    (0..rows.len()).map(window).collect()
}

fn each(windows: &[Option<Vec<f64>>], function: fn(&[f64]) -> f64) -> Rows {
    let rows = windows.iter();
    rows.map(|there| there.as_deref().map(function)).collect()
}

fn sum(list: &[f64]) -> f64 {
    list.iter().sum()
}

fn mean(list: &[f64]) -> f64 {
    sum(list) / list.len() as f64
}

fn min(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

fn max(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The function of all numbers so far, in the rows that have one.
fn so_far(rows: &Rows, function: fn(&[f64]) -> f64) -> Rows {
    let all = each(&windows(rows, rows.len(), 1), function);
    let there = rows.iter().zip(all);
    there.map(|(row, value)| row.and(value)).collect()
}

fn before(rows: &Rows, periods: i64) -> Rows {
    let row = |row: usize| {
        let before = usize::try_from(row as i64 - periods).ok()?;
        *rows.get(before)?
    };
    (0..rows.len()).map(row).collect()
}

/// The questions about the column, each with its name and its answer in the clear.
fn cases(
    x: &OptionalNumber,
    rows: &Rows,
    window: usize,
    least: usize,
    periods: i64,
) -> Vec<(String, OptionalNumber, Rows)> {
    let named = |name: &str| format!("{name} of {window} rows, {least} needed, {periods} before");
    let rolling = x.rolling(window, Some(least)).unwrap();
    let full = x.rolling(window, None).unwrap();
    let (some, all) = (windows(rows, window, least), windows(rows, window, window));
    let difference = rows.iter().zip(before(rows, periods));
    let difference = difference.map(|(a, b)| Some((*a)? - b?)).collect();
    vec![
        (named("sum"), rolling.sum().unwrap(), each(&some, sum)),
        (named("min"), rolling.min().unwrap(), each(&some, min)),
        (named("max"), rolling.max().unwrap(), each(&some, max)),
        (named("mean"), full.mean().unwrap(), each(&all, mean)),
        (named("cumsum"), x.cumsum().unwrap(), so_far(rows, sum)),
        (named("cummin"), x.cummin().unwrap(), so_far(rows, min)),
        (named("cummax"), x.cummax().unwrap(), so_far(rows, max)),
        (
            named("shift"),
            x.shift(periods).unwrap(),
            before(rows, periods),
        ),
        (named("diff"), x.diff(periods).unwrap(), difference),
    ]
}

fn assert_close(name: &str, found: &Value, expected: &Rows) {
    let Value::Optionals(found) = found else {
        panic!("{name}: {found:?}");
    };
    let is_close = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    };
    assert_eq!(found.len(), expected.len(), "{name}");
    assert!(
        found.iter().zip(expected).all(is_close),
        "{name}: {found:?}, not {expected:?}"
    );
}

/// A column with readings in all rows, with gaps that are encrypted, with gaps that are told, and readings of blocks.
const KINDS: [(Missing, bool, bool); 4] = [
    (Missing::Never, false, false),
    (Missing::Never, true, false),
    (Missing::Encrypted, false, true),
    (Missing::Clear, false, true),
];

proptest! {
    #![proptest_config(repetitions(3))]

    #[test]
    fn functions_are_those_of_the_clear_rows(
        bits in 1u32..=10,
        codes in prop::collection::vec((any::<u64>(), 0..4), 1..=14),
        window in 1usize..=16,
        least in 1usize..=16,
        periods in (-15i64..=15).prop_filter("another row", |periods| *periods != 0),
    ) {
        let least = 1 + (least - 1) % window;
        let server = rehearsal();
        for (missing, is_radix, has_gaps) in KINDS {
            let reading = |&(code, gap): &(u64, i32)| {
                let value = OFFSET + SCALE * (code % (1 << bits)) as f64;
                (gap > 0 || !has_gaps).then_some(value)
            };
            let rows: Rows = codes.iter().map(reading).collect();
            let table = server.load_clear(metadata(bits, missing, is_radix, rows.len()), &given(&rows));
            let x = table.unwrap().optional("x").unwrap();
            for (name, question, expected) in cases(&x, &rows, window, least, periods) {
                assert_close(&name, &rehearse(&server, &question), &expected);
            }
        }
    }
}

const ROWS: usize = 11;

/// Readings in two uploads, the second made with a device public key.
fn loaded(keys: &Keys, missing: Missing, is_radix: bool, rows: &Rows) -> Table {
    let encrypt = |key, part: std::ops::Range<usize>| {
        let mut described = metadata(4, missing, is_radix, ROWS);
        described.rows = part.clone().map(|row| row.to_string()).collect();
        upload(key, &described, &given(rows), part)
    };
    let (first, second) = (encrypt(&keys.device, 0..6), encrypt(&keys.public, 6..ROWS));
    keys.server.load(&[&first, &second]).unwrap()
}

#[test]
fn a_server_computes_the_same_at_the_counted_cost() {
    let keys = Keys::generate(14);
    for (missing, is_radix, has_gaps) in KINDS {
        let reading = |row: usize| {
            let value = OFFSET + SCALE * ((row * 11 + 3) % 16) as f64;
            (row % 4 != 1 || !has_gaps).then_some(value)
        };
        let rows: Rows = (0..ROWS).map(reading).collect();
        let x = loaded(&keys, missing, is_radix, &rows)
            .optional("x")
            .unwrap();
        let all = cases(&x, &rows, 4, 2, 3);
        let asked: Vec<&dyn Computable> = all
            .iter()
            .map(|(_, question, _)| question as &dyn Computable)
            .collect();
        let parts: Vec<_> = asked.iter().flat_map(|question| question.parts()).collect();
        let cost = keys.server.cost(&parts, &Progress::default()).unwrap();
        let progress = Progress::default();
        let answers = keys.server.compute_list(&asked, &progress).unwrap();
        assert_eq!(
            progress.bootstraps(),
            cost.bootstraps,
            "{missing:?}, {is_radix}"
        );
        for (answer, (name, _, expected)) in answers.iter().zip(&all) {
            let found = answer.decrypt(&keys.secret).unwrap();
            assert_close(&format!("{name}, {missing:?}"), &found, expected);
        }
    }
    // What was computed is an operand again, and so is a slice.
    let rows: Rows = (0..ROWS)
        .map(|row| Some(OFFSET + SCALE * (row % 5) as f64))
        .collect();
    let x = loaded(&keys, Missing::Never, false, &rows)
        .optional("x")
        .unwrap();
    let sums = x.cumsum().unwrap();
    let slice = x.take(&(2..9).collect::<Vec<_>>()).unwrap();
    let slice = slice.rolling(3, None).unwrap().sum().unwrap();
    let answers = keys
        .server
        .compute([&sums as &dyn Computable, &slice])
        .unwrap();
    let expected = each(&windows(&rows[2..9].to_vec(), 3, 3), sum);
    assert_close(
        "a slice",
        &answers[1].decrypt(&keys.secret).unwrap(),
        &expected,
    );
    let differences = sums.diff(2).unwrap();
    let [answer] = keys.server.compute([&differences]).unwrap();
    let expected = each(&windows(&rows, 2, 2), sum);
    let found = answer.decrypt(&keys.secret).unwrap();
    let found = found.optionals().unwrap();
    assert_eq!(found[2..], expected[2..]);
    assert_eq!(found[..2], [None, None]);
}

fn bootstraps(server: &Server, question: &dyn Computable) -> u64 {
    let cost = server.cost(&question.parts(), &Progress::default());
    cost.unwrap().bootstraps
}

#[test]
fn sums_of_windows_of_compact_columns_take_no_bootstrap() {
    let server = rehearsal();
    let table = server.describe(metadata(10, Missing::Encrypted, false, 8760));
    let x = table.optional("x").unwrap();
    let whole = x.number();
    let day = whole.rolling(24, None).unwrap();
    let free: [(&str, OptionalNumber); 6] = [
        ("mean", day.mean().unwrap()),
        ("sum", day.sum().unwrap()),
        (
            "shorter windows",
            whole.rolling(24, Some(1)).unwrap().sum().unwrap(),
        ),
        ("so far", OptionalNumber::whole(whole.cumsum().unwrap())),
        ("before", x.shift(24).unwrap()),
        ("difference", whole.diff(-1).unwrap()),
    ];
    for (name, question) in &free {
        let numbers = question.number();
        assert_eq!(bootstraps(&server, numbers), 0, "{name}");
    }
    assert!(bootstraps(&server, &day.max().unwrap()) > 0);
}

/// 100,000 rows are counted in a time that grows as they do.
#[test]
fn long_columns_are_counted() {
    let server = rehearsal();
    let table = server.describe(metadata(10, Missing::Never, false, 100_000));
    let x = table.optional("x").unwrap();
    let week = x.rolling(168, None).unwrap();
    assert_eq!(bootstraps(&server, &week.mean().unwrap()), 0);
    // The sum of so many rows is wider than a code and its headroom.
    let sums = bootstraps(&server, &x.cumsum().unwrap());
    assert!((1..=4_000_000).contains(&sums), "{sums}");
}

#[test]
fn rows_that_others_have_been_moved_to_are_no_gaps_of_the_column() {
    let server = rehearsal();
    let table = server.load_clear(
        metadata(6, Missing::Never, false, 3),
        &[vec![5.0, 5.0, 5.0]],
    );
    let before = table.unwrap().column("x").unwrap().shift(1).unwrap();
    let above = rehearse(&server, &before.gt(0.0).unwrap());
    assert_eq!(above, Value::Truths(vec![false, true, true]));
    let filled = rehearse(&server, &before.fillna(7.0).unwrap());
    assert_eq!(filled, Value::Numbers(vec![7.0, 5.0, 5.0]));
    let mean = rehearse(&server, &before.mean().unwrap());
    assert_eq!(mean, Value::Number(5.0));
    assert_eq!(before.known_rows(), Some(vec![false, true, true]));
}

#[test]
fn windows_that_there_are_not_are_refused() {
    let server = rehearsal();
    let table = server.load_clear(metadata(6, Missing::Never, true, 3), &[vec![5.0, 5.0, 5.0]]);
    let table = table.unwrap();
    let x: &Number = table.column("x").unwrap();
    for (window, least) in [(0, None), (3, Some(0)), (3, Some(4))] {
        let refused = x.rolling(window, least).unwrap_err();
        assert!(matches!(refused, Error::Window { .. }), "{refused}");
    }
    let shorter = x.rolling(3, Some(1)).unwrap().mean();
    assert!(matches!(shorter, Err(Error::WindowMeans)));
    assert!(matches!(x.diff(0), Err(Error::NoDifference)));
    let single = x.max();
    assert!(matches!(single.rolling(2, None), Err(Error::NoOrder)));
    assert!(matches!(single.cumsum(), Err(Error::NoOrder)));
    assert!(matches!(single.shift(1), Err(Error::NoOrder)));
    // A window that no row has, and rows that there are not.
    let none = Value::Optionals(vec![None; 3]);
    for nothing in [
        x.rolling(4, None).unwrap().sum().unwrap(),
        x.rolling(4, None).unwrap().mean().unwrap(),
        x.rolling(4, None).unwrap().max().unwrap(),
        x.shift(3).unwrap(),
        x.diff(i64::MIN).unwrap(),
    ] {
        assert_eq!(rehearse(&server, &nothing), none);
        assert_eq!(bootstraps(&server, &nothing), 0);
    }
    // An offset that is no multiple of the step, of windows of different lengths.
    let mut described = metadata(6, Missing::Never, true, 3);
    described.columns[0].offset = std::f64::consts::PI;
    let table = server.load_clear(described, &[vec![std::f64::consts::PI; 3]]);
    let x = table.unwrap().column("x").unwrap().clone();
    assert!(matches!(x.cumsum(), Err(Error::NoCommonStep)));
    assert!(x.rolling(2, None).unwrap().sum().is_ok());
}
