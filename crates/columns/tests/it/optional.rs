//! Numbers some of which are missing, against the same rows in the clear: rehearsed on random gaps, and with keys.

use proptest::prelude::*;
use tfhe_sbc_columns::{
    Column, Computable, Error, OptionalNumber, Progress, ReadingsMetadata, Relation, Server,
    Spread, Table, Value,
};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_upload::declaration::{Declaration, Missing};
use tfhe_sbc_upload::definition::{Definition, Under, UploadKind};

use crate::common::{Keys, rehearsal, rehearse, repetitions, upload};

/// Readings in rows, as far as they are there.
type Rows = Vec<Option<f64>>;

/// `a` from -10 in steps of 0.5 and `b` from 2 in steps of 1, which may be missing, and `whole` from 0, which may not.
fn metadata(missing: Missing, rows: usize) -> ReadingsMetadata {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let column = |name: &str, offset, scale, bits, derived| {
        let definition = Definition {
            name: name.to_owned(),
            unit: String::new(),
            offset,
            scale,
            bits,
            usage: None,
            compact: None,
            derived,
        };
        let under = Under {
            parameters: &parameters,
            kind: UploadKind::Symmetric,
        };
        definition.column(under).unwrap()
    };
    let optional = Declaration {
        optional: missing,
        ..Declaration::default()
    };
    let derived = Declaration {
        square: true,
        above: vec![0.0],
        ..optional.clone()
    };
    let columns: [Column; 3] = [
        column("a", -10.0, 0.5, 6, derived),
        column("b", 2.0, 1.0, 4, optional),
        column("whole", 0.0, 1.0, 4, Declaration::default()),
    ];
    ReadingsMetadata {
        columns: columns.to_vec(),
        rows: (0..rows).map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

/// The readings as tables take them: what is missing is NaN.
fn given(columns: &[&Rows]) -> Vec<Vec<f64>> {
    let column = |rows: &&Rows| rows.iter().map(|x| x.unwrap_or(f64::NAN)).collect();
    columns.iter().map(column).collect()
}

fn there(rows: &Rows) -> Vec<f64> {
    rows.iter().copied().flatten().collect()
}

/// The mean square of the differences to the mean, with `less` rows less in the divisor; nothing of too few.
fn variance(rows: &Rows, less: usize) -> Option<f64> {
    let there = there(rows);
    let mean = there.iter().sum::<f64>() / there.len() as f64;
    let squares: f64 = there.iter().map(|x| (x - mean) * (x - mean)).sum();
    (there.len() > less).then(|| squares / (there.len() - less) as f64)
}

fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Missing, Value::Number)
}

fn is_close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    }
}

fn holds(relation: Relation, a: f64, b: f64) -> bool {
    match relation {
        Relation::Lt => a < b,
        Relation::Le => a <= b,
        Relation::Gt => a > b,
        Relation::Ge => a >= b,
        Relation::Eq => a == b,
        Relation::Ne => a != b,
    }
}

/// What is asked about the two columns, beside the answers in the clear.
fn cases(
    table: &Table,
    a: &Rows,
    b: &Rows,
    limit: f64,
) -> Vec<(String, Box<dyn Computable>, Value)> {
    let (x, y) = (table.optional("a").unwrap(), table.optional("b").unwrap());
    let mut cases: Vec<(String, Box<dyn Computable>, Value)> = Vec::new();
    let mut ask = |name: &str, question: Box<dyn Computable>, expected: Value| {
        cases.push((name.to_owned(), question, expected));
    };
    let list = there(a);
    let count = list.len() as f64;
    let some = |value: f64| number((!list.is_empty()).then_some(value));
    ask("count", Box::new(x.count()), Value::Number(count));
    let sum: f64 = list.iter().sum();
    ask("sum", Box::new(x.sum().unwrap()), Value::Number(sum));
    ask("mean", Box::new(x.mean().unwrap()), some(sum / count));
    let smallest = list.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = list.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ask("min", Box::new(x.min().unwrap()), some(smallest));
    ask("max", Box::new(x.max().unwrap()), some(largest));
    ask(
        "variance",
        Box::new(x.variance().unwrap()),
        number(variance(a, 0)),
    );
    let sample = x.spread(Spread {
        sample: true,
        root: true,
    });
    let expected = number(variance(a, 1).map(f64::sqrt));
    ask("sample deviation", Box::new(sample.unwrap()), expected);
    let truths =
        |of: &dyn Fn(Option<f64>) -> bool| Value::Truths(a.iter().map(|x| of(*x)).collect());
    ask("isna", Box::new(x.isna()), truths(&|x| x.is_none()));
    ask(
        "notna",
        Box::new(x.notna().clone()),
        truths(&|x| x.is_some()),
    );
    ask("itself", Box::new(x.clone()), Value::Optionals(a.clone()));
    // The ends of the range too, and limits beyond it that all or none of the readings are on one side of.
    for limit in [limit, -10.0, 21.5, -10.5, 30.0, 0.25] {
        for (relation, sign) in Relation::ALL {
            let expected = truths(&|x| x.is_some_and(|x| holds(relation, x, limit)));
            let mask = x.compare(relation, limit).unwrap();
            ask(&format!("{sign} {limit}"), Box::new(mask), expected);
        }
    }
    let between = truths(&|x| x.is_some_and(|x| (-10.0..=limit).contains(&x)));
    ask(
        "between",
        Box::new(x.between(-10.0, limit).unwrap()),
        between,
    );
    let values = [-10.0, limit, 0.25];
    let among = truths(&|x| x.is_some_and(|x| values.contains(&x)));
    ask("one of", Box::new(x.one_of(&values).unwrap()), among);
    // The lowest, values in the range, beyond it, and between two steps.
    for value in [-10.0, -9.5, 21.5, limit, 100.0, -50.0, 0.25] {
        let filled = x.fillna(value).unwrap();
        let expected = a.iter().map(|x| x.unwrap_or(value)).collect();
        ask(
            &format!("filled {value}"),
            Box::new(filled),
            Value::Numbers(expected),
        );
    }
    let whole = table.column("whole").unwrap();
    let expected = a
        .iter()
        .enumerate()
        .map(|(row, x)| x.unwrap_or(row as f64 % 16.0));
    let expected = Value::Numbers(expected.collect());
    ask(
        "filled from a column",
        Box::new(x.fillna(whole).unwrap()),
        expected,
    );

    // Two columns.
    let both = |of: &dyn Fn(f64, f64) -> f64| -> Rows {
        let rows = a.iter().zip(b);
        rows.map(|(x, y)| x.zip(*y).map(|(x, y)| of(x, y)))
            .collect()
    };
    let difference = x.zip(&y, |x, y| x.add_weighted(y, -1.0)).unwrap();
    let rows = both(&|x, y| x - y);
    ask(
        "difference",
        Box::new(difference.clone()),
        Value::Optionals(rows.clone()),
    );
    // What it is where one is missing must not be taken for a number.
    let none = there(&rows).is_empty();
    let largest = there(&rows).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let expected = number((!none).then_some(largest));
    ask(
        "max of a difference",
        Box::new(difference.max().unwrap()),
        expected,
    );
    let expected = rows.iter().map(|x| x.is_some_and(|x| x < 0.5)).collect();
    ask(
        "a difference < 0.5",
        Box::new(difference.lt(0.5).unwrap()),
        Value::Truths(expected),
    );
    let sum = difference.sum().unwrap();
    ask(
        "sum of a difference",
        Box::new(sum),
        Value::Number(there(&rows).iter().sum()),
    );
    let expected = rows.iter().map(|x| x.unwrap_or(3.0)).collect();
    ask(
        "a filled difference",
        Box::new(difference.fillna(3.0).unwrap()),
        Value::Numbers(expected),
    );
    let negative = x.map(|x| x.affine(-2.0, 1.0)).unwrap();
    let rows: Rows = a.iter().map(|x| x.map(|x| 1.0 - 2.0 * x)).collect();
    ask(
        "negative",
        Box::new(negative.clone()),
        Value::Optionals(rows),
    );
    ask(
        "max of a negative",
        Box::new(negative.max().unwrap()),
        some(1.0 - 2.0 * smallest),
    );
    for (relation, sign) in Relation::ALL {
        let pairs = a.iter().zip(b);
        let expected = pairs.map(|(x, y)| x.zip(*y).is_some_and(|(x, y)| holds(relation, x, y)));
        let mask = x.compare_optional(relation, &y).unwrap();
        ask(
            &format!("a {sign} b"),
            Box::new(mask),
            Value::Truths(expected.collect()),
        );
    }
    let edges = [-10.0, -5.0, 0.0, 10.0];
    let bin = |low: f64, high: f64| list.iter().filter(|x| (low..high).contains(*x)).count() as f64;
    let bins = edges
        .windows(2)
        .map(|edges| bin(edges[0], edges[1]))
        .collect();
    ask(
        "histogram",
        Box::new(x.histogram(&edges, false).unwrap()),
        Value::Numbers(bins),
    );
    let taken = x.take(&[a.len() - 1, 0]).unwrap();
    let expected = Value::Optionals(vec![a[a.len() - 1], a[0]]);
    ask("taken", Box::new(taken.clone()), expected);
    let mean = there(&vec![a[a.len() - 1], a[0]]);
    let expected = (!mean.is_empty()).then(|| mean.iter().sum::<f64>() / mean.len() as f64);
    ask(
        "mean of what is taken",
        Box::new(taken.mean().unwrap()),
        number(expected),
    );
    cases
}

fn whole(rows: usize) -> Rows {
    (0..rows).map(|row| Some(row as f64 % 16.0)).collect()
}

/// Codes of both columns, as far as they are there.
fn rows() -> impl Strategy<Value = (Rows, Rows)> {
    let code = |bits: u32| prop::option::weighted(0.6, 0u32..1 << bits);
    prop::collection::vec((code(6), code(4)), 1..7).prop_map(|rows| {
        let a = rows
            .iter()
            .map(|(a, _)| a.map(|a| f64::from(a) / 2.0 - 10.0));
        let b = rows.iter().map(|(_, b)| b.map(|b| f64::from(b) + 2.0));
        (a.collect(), b.collect())
    })
}

proptest! {
    #![proptest_config(repetitions(3))]

    #[test]
    fn what_is_missing_is_left_out(
        (a, b) in rows(),
        limit in -20i32..43,
        missing in prop::sample::select(vec![Missing::Encrypted, Missing::Clear]),
    ) {
        let server = rehearsal();
        let values = given(&[&a, &b, &whole(a.len())]);
        let table = server.load_clear(metadata(missing, a.len()), &values).unwrap();
        for (name, question, expected) in cases(&table, &a, &b, f64::from(limit) / 2.0) {
            let found = rehearse(&server, &*question);
            prop_assert!(is_close(&found, &expected), "{name}: {found:?}, not {expected:?}");
        }
    }
}

#[test]
#[ignore = "two minutes of bootstraps"]
fn with_keys_it_is_the_same() {
    let keys = Keys::generate(21);
    let a: Rows = [Some(-10.0), None, Some(21.5), Some(0.0), None, Some(0.5)].to_vec();
    let b: Rows = [None, None, Some(17.0), Some(2.0), Some(3.0), Some(4.0)].to_vec();
    let nothing: Rows = vec![None; 6];
    let (encrypted, clear) = (Missing::Encrypted, Missing::Clear);
    for (a, b, missing) in [
        (&a, &b, encrypted),
        (&nothing, &b, encrypted),
        (&a, &b, clear),
    ] {
        let values = given(&[a, b, &whole(6)]);
        let bytes = upload(&keys.device, &metadata(missing, 6), &values, 0..6);
        let table = keys.server.load(&[&bytes]).unwrap();
        let cases = cases(&table, a, b, 0.5);
        let questions: Vec<&dyn Computable> = cases.iter().map(|(_, it, _)| &**it).collect();
        let answers = keys.server.compute_list(&questions, &Progress::default());
        for ((name, _, expected), answer) in cases.iter().zip(answers.unwrap()) {
            let found = answer.decrypt(&keys.secret).unwrap();
            assert!(
                is_close(&found, expected),
                "{name}: {found:?}, not {expected:?}"
            );
        }
    }
}

fn described(server: &Server) -> (Table, OptionalNumber) {
    let table = server.describe(metadata(Missing::Encrypted, 100));
    let column = table.optional("a").unwrap();
    (table, column)
}

#[test]
fn sums_and_what_is_derived_take_no_bootstrap() {
    let server = rehearsal();
    let (_, a) = described(&server);
    let free: [(&str, Box<dyn Computable>); 9] = [
        ("count", Box::new(a.count())),
        ("sum", Box::new(a.sum().unwrap())),
        ("mean", Box::new(a.mean().unwrap())),
        ("variance", Box::new(a.variance().unwrap())),
        ("above", Box::new(a.gt(0.0).unwrap().count())),
        ("filled", Box::new(a.fillna(5.0).unwrap().sum())),
        (
            "filled with the lowest",
            Box::new(a.fillna(-10.0).unwrap().sum()),
        ),
        ("missing", Box::new(a.isna().count())),
        ("itself", Box::new(a.clone())),
    ];
    for (name, question) in free {
        let cost = server.cost(&question.parts(), &Progress::default());
        assert_eq!(cost.unwrap().bootstraps, 0, "{name}");
    }
}

#[test]
fn gaps_that_are_told_cost_nothing_in_means() {
    let server = rehearsal();
    let a: Rows = (0..8)
        .map(|row| (row % 3 > 0).then_some(0.5 * f64::from(row)))
        .collect();
    let values = given(&[&a, &vec![None; 8], &whole(8)]);
    let table = server
        .load_clear(metadata(Missing::Clear, 8), &values)
        .unwrap();
    let column = table.optional("a").unwrap();
    let free: [(&str, Box<dyn Computable>); 4] = [
        ("count", Box::new(column.count())),
        ("mean", Box::new(column.mean().unwrap())),
        ("variance", Box::new(column.variance().unwrap())),
        ("itself", Box::new(column.clone())),
    ];
    for (name, question) in free {
        let cost = server.cost(&question.parts(), &Progress::default());
        assert_eq!(cost.unwrap().bootstraps, 0, "{name}");
    }
}

#[test]
fn operators_that_know_no_gaps_refuse_columns_that_have_some() {
    let server = rehearsal();
    let (table, a) = described(&server);
    let error = table.column("a").unwrap_err();
    assert!(matches!(&error, Error::MayBeMissing(name) if name == "a"));
    assert!(error.to_string().contains("Table::optional"), "{error}");
    assert!(matches!(
        table.optional("c"),
        Err(Error::UnknownColumn { .. })
    ));
    // A column without gaps is one that misses nothing.
    let whole = table.optional("whole").unwrap();
    assert_eq!(whole.row_count(), 100);
    assert!(table.valid("whole").unwrap().is_none());
    for wrong in [
        a.gt(f64::NAN).map(drop),
        a.fillna(f64::NAN).map(drop),
        a.take(&[100]).map(drop),
        a.zip(&whole.take(&[0]).unwrap(), |x, y| x.plus(y))
            .map(drop),
        OptionalNumber::new(a.number().clone(), a.isna().take(&[0]).unwrap()).map(drop),
        OptionalNumber::new(a.number().clone(), described(&rehearsal()).1.isna()).map(drop),
        a.histogram(&[1.0], false).map(drop),
    ] {
        assert!(wrong.is_err());
    }
}
