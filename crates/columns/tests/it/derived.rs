//! Derived columns: variances, histograms and counts of declared conditions equal clear arithmetic without a
//! bootstrap, and everything else is computed as it was.

use tfhe_sbc_columns::{
    Column, Computable, Mask, Number, Progress, ReadingsMetadata, Server, Table, Value,
};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding, Derivation};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_oracle::compact::{Profile, derived_encoding};
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::declaration::Declaration;
use tfhe_sbc_upload::readings::Compact;

use crate::common::{Keys, rehearsal, upload};

const ROWS: usize = 40;
/// The edges that are declared, the last two above the range.
const EDGES: [f64; 7] = [-10.0, 0.0, 10.0, 20.0, 55.0, 60.0, 200.0];

fn form(encoding: &CompactEncoding) -> Compact {
    Compact {
        headroom: encoding.headroom(),
        body_bits: encoding.body_bits(),
        feedback: encoding.rounding() == BodyRounding::ErrorFeedback,
    }
}

/// A column of codes of 8 bits from -10 in steps of 0.5, with what `declaration` asks for.
fn column(name: &str, profile: Profile, declaration: &Declaration) -> Column {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let own = profile
        .encoding(&parameters, 8, UploadKind::PublicKey)
        .unwrap();
    let mut column = Column {
        name: name.into(),
        unit: String::new(),
        offset: -10.0,
        scale: 0.5,
        bits: 8,
        compact: Some(form(&own)),
        derived: Default::default(),
    };
    let fixed_point = column.fixed_point().unwrap();
    let derived = declaration.derived(&fixed_point, |derivation| {
        // Flags for uploads of both kinds of key; squares have no form for public keys.
        let kind = match derivation {
            Derivation::Square => UploadKind::Symmetric,
            Derivation::From(_) | Derivation::Valid => UploadKind::PublicKey,
        };
        Ok(form(
            &derived_encoding(&parameters, &own, derivation, kind).unwrap(),
        ))
    });
    column.derived = derived.unwrap();
    column
}

/// `x` with everything, `y` for alarms with flags, `z` with nothing.
fn metadata(rows: std::ops::Range<usize>) -> ReadingsMetadata {
    let all = Declaration {
        square: true,
        bins: EDGES.to_vec(),
        closed: false,
        above: vec![30.0],
        below: vec![40.2],
        optional: Default::default(),
    };
    let alarms = Declaration {
        above: vec![80.0],
        ..Declaration::default()
    };
    ReadingsMetadata {
        columns: vec![
            column("x", Profile::Means, &all),
            column("y", Profile::Alarms, &alarms),
            column("z", Profile::Means, &Declaration::default()),
        ],
        rows: rows.map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    }
}

/// Readings with both extremes, all edges and thresholds, and the codes beside them.
fn values() -> Vec<Vec<f64>> {
    let value = |code: usize| -10.0 + 0.5 * code as f64;
    let special = [0, 255, 19, 20, 21, 79, 80, 81, 99, 100, 101, 130, 131];
    let column = |factor: usize| {
        let code = |row: usize| match special.get(row) {
            Some(&code) => code,
            None => (row * factor + 5) % 256,
        };
        (0..ROWS).map(|row| value(code(row))).collect()
    };
    vec![column(97), column(41), column(59)]
}

/// A server with a table of two uploads, and one of two of which one is made with a device public key.
fn server() -> (SecretKey, Server, [Table; 2]) {
    let keys = Keys::generate(12);
    let encrypt =
        |key, rows: std::ops::Range<usize>| upload(key, &metadata(rows.clone()), &values(), rows);
    let first = encrypt(&keys.device, 0..23);
    let tables = [&keys.device, &keys.public].map(|key| {
        let second = encrypt(key, 23..ROWS);
        keys.server.load(&[&first, &second]).unwrap()
    });
    (keys.secret, keys.server, tables)
}

/// A question, its answer in the clear, and the most bootstraps that a row may take.
struct Case {
    name: &'static str,
    question: Box<dyn Computable>,
    expected: Value,
    per_row: u64,
}

fn variance(list: &[f64]) -> f64 {
    // Half steps as whole numbers, so that all of this is exact up to the division.
    let steps: Vec<f64> = list.iter().map(|value| 2.0 * value).collect();
    let n = list.len() as f64;
    let (sum, squares) = steps
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (n * squares - sum * sum) / (n * n * 4.0)
}

fn counts(list: &[f64], edges: &[f64]) -> Value {
    let bins = edges.windows(2).map(|bin| {
        let inside = list.iter().filter(|x| (bin[0]..bin[1]).contains(*x));
        inside.count() as f64
    });
    Value::Numbers(bins.collect())
}

fn cases(table: &Table) -> Vec<Case> {
    let number = |name: &str| table.column(name).unwrap().clone();
    let [x, y, z] = ["x", "y", "z"].map(number);
    let clear = values();
    let [cx, cy, cz] = [0, 1, 2].map(|place: usize| clear[place].clone());
    let mut cases = Vec::new();
    let mut ask = |name, question: Box<dyn Computable>, expected, per_row| {
        cases.push(Case {
            name,
            question,
            expected,
            per_row,
        });
    };
    let number = |number: Number| -> Box<dyn Computable> { Box::new(number) };
    let counted = |list: &[f64], holds: &dyn Fn(f64) -> bool| {
        Value::Number(list.iter().filter(|&&value| holds(value)).count() as f64)
    };
    let truths = |list: &[f64], holds: &dyn Fn(f64) -> bool| {
        Value::Truths(list.iter().map(|&value| holds(value)).collect())
    };

    ask(
        "variance",
        Box::new(x.variance()),
        Value::Number(variance(&cx)),
        0,
    );
    ask(
        "deviation",
        Box::new(x.std()),
        Value::Number(variance(&cx).sqrt()),
        0,
    );
    let twice = x.affine(2.0, 3.0).unwrap();
    let expected = Value::Number(4.0 * variance(&cx));
    ask("variance of twice", Box::new(twice.variance()), expected, 0);
    let window = x.take(&[3, 4, 5, 6]).unwrap();
    let expected = Value::Number(variance(&cx[3..7]));
    ask(
        "variance of a window",
        Box::new(window.variance()),
        expected,
        0,
    );
    let expected = Value::Number(variance(&cz));
    ask(
        "variance without squares",
        Box::new(z.variance()),
        expected,
        40,
    );

    let histogram = |edges: &[f64]| number(x.histogram(edges, false).unwrap());
    ask("histogram", histogram(&EDGES), counts(&cx, &EDGES), 0);
    let some = [0.0, 20.0, 60.0];
    ask("some edges", histogram(&some), counts(&cx, &some), 0);
    // Bins that no reading can be in, or that all are in.
    let open = [-300.0, -200.0, 0.0, 1000.0, 2000.0];
    ask("open ends", histogram(&open), counts(&cx, &open), 0);
    let all = [-300.0, 300.0];
    ask("one bin of all", histogram(&all), counts(&cx, &all), 40);
    let other = [0.0, 12.5];
    ask("another edge", histogram(&other), counts(&cx, &other), 20);

    let count = |mask: Mask| number(mask.count());
    let above = x.gt(30.0).unwrap();
    ask(
        "above",
        count(above.clone()),
        counted(&cx, &|x| x > 30.0),
        0,
    );
    // The same cut: between the codes of 30 and 30.5.
    let expected = counted(&cx, &|x| x >= 30.4);
    ask("the same cut", count(x.ge(30.4).unwrap()), expected, 0);
    let expected = counted(&cx, &|x| x <= 30.0);
    ask("at most", count(x.le(30.0).unwrap()), expected, 0);
    ask(
        "below",
        count(x.lt(40.2).unwrap()),
        counted(&cx, &|x| x < 40.2),
        0,
    );
    ask(
        "an edge",
        count(x.ge(20.0).unwrap()),
        counted(&cx, &|x| x >= 20.0),
        0,
    );
    let expected = counted(&cx, &|x| (20.0..=40.0).contains(&x));
    ask(
        "between",
        count(x.between(20.0, 40.0).unwrap()),
        expected,
        0,
    );
    let outside = Mask::any_of(&[&x.lt(0.0).unwrap(), &above]).unwrap();
    let expected = counted(&cx, &|x| !(0.0..=30.0).contains(&x));
    ask("outside", count(outside.clone()), expected, 0);
    let neither = outside.negated().and(&x.ge(10.0).unwrap()).unwrap();
    let expected = counted(&cx, &|x| (10.0..=30.0).contains(&x));
    ask("neither", count(neither), expected, 0);
    let always = x.lt(1000.0).unwrap();
    let both = Mask::all_of(&[&above, &always]).unwrap();
    ask("always", count(both), counted(&cx, &|x| x > 30.0), 0);
    // `3 - 2 x < -57` is `x > 30`.
    let turned = x.affine(-2.0, 3.0).unwrap();
    let expected = counted(&cx, &|x| x > 30.0);
    ask("turned", count(turned.lt(-57.0).unwrap()), expected, 0);
    let some = x.take(&[1, 3, 5, 30]).unwrap().gt(30.0).unwrap();
    let taken: Vec<f64> = [1, 3, 5, 30].map(|row: usize| cx[row]).to_vec();
    ask("some rows", count(some), counted(&taken, &|x| x > 30.0), 0);
    let expected = Value::Number(cy.iter().filter(|y| **y > 80.0).count() as f64);
    ask("alarms", count(y.gt(80.0).unwrap()), expected, 0);
    let share = above.as_number().sum();
    ask(
        "sum of flags",
        number(share),
        counted(&cx, &|x| x > 30.0),
        0,
    );

    // A condition that is not linear takes one bootstrap for a flag, instead of those of a
    // comparison.
    let expected = truths(&cx, &|x| x > 30.0);
    ask("rows", Box::new(above.clone()), expected, 1);
    let both = above.and(&y.gt(80.0).unwrap()).unwrap();
    let joint = cx.iter().zip(&cy).filter(|(x, y)| **x > 30.0 && **y > 80.0);
    ask("joint", count(both), Value::Number(joint.count() as f64), 5);
    let expected = counted(&cx, &|x| x > 31.0);
    ask("another threshold", count(x.gt(31.0).unwrap()), expected, 5);
    let few = above.count().lt(12.0).unwrap();
    let hot = cx.iter().filter(|x| **x > 30.0).count();
    ask("a count compared", Box::new(few), Value::Truth(hot < 12), 1);
    // One row as an operand of all.
    let from_fourth = x.minus(&x.item(3).unwrap()).unwrap();
    let expected = Value::Numbers(cx.iter().map(|x| x - cx[3]).collect());
    ask("less one row", number(from_fourth), expected, 0);
    let fourth = above.item(3).unwrap();
    let expected = truths(&cx, &|x| (x > 30.0) != (cx[3] > 30.0));
    ask(
        "unlike one row",
        Box::new(above.xor(&fourth).unwrap()),
        expected,
        3,
    );
    cases
}

#[test]
fn rehearsals_equal_clear_arithmetic() {
    let server = rehearsal();
    let table = server.load_clear(metadata(0..ROWS), &values()).unwrap();
    for case in cases(&table) {
        let [answer] = server.compute([&*case.question]).unwrap();
        assert_eq!(answer.rehearsed().unwrap(), case.expected, "{}", case.name);
    }
}

/// An answer that is added up on polynomials may be an operand of another one.
#[test]
fn what_is_asked_together_is_answered_as_alone() {
    let server = rehearsal();
    let table = server.load_clear(metadata(0..ROWS), &values()).unwrap();
    let cases = cases(&table);
    let mut asked: Vec<&dyn Computable> = cases.iter().map(|case| &*case.question).collect();
    let x = table.column("x").unwrap();
    let (above, sum) = (x.gt(30.0).unwrap().count(), x.sum());
    let (product, few) = (sum.times(&above).unwrap(), above.lt(12.0).unwrap());
    asked.extend([&above as &dyn Computable, &sum, &product, &few]);
    let answers = server.compute_list(&asked, &Progress::default()).unwrap();
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(answer.rehearsed().unwrap(), case.expected, "{}", case.name);
    }
    let more = answers[cases.len()..]
        .iter()
        .map(|answer| answer.rehearsed().unwrap());
    let hot = values()[0].iter().filter(|x| **x > 30.0).count() as f64;
    let total = values()[0].iter().sum::<f64>();
    let expected = [
        Value::Number(hot),
        Value::Number(total),
        Value::Number(total * hot),
        Value::Truth(hot < 12.0),
    ];
    assert!(more.eq(expected));
}

#[test]
fn a_server_computes_what_is_linear_without_a_bootstrap() {
    let (secret, server, [seeded, public]) = server();
    // The noise of public keys does not leave room for squares of these columns: they are added in groups.
    let linear = cases(&public).into_iter().filter(|case| case.per_row == 0);
    let linear = linear.map(|case| Case { per_row: 1, ..case });
    // Those that take many bootstraps have nothing to do with derived columns.
    let cheap = cases(&seeded).into_iter().filter(|case| case.per_row <= 5);
    for case in cheap.chain(linear) {
        let Case {
            name,
            question,
            expected,
            per_row,
        } = case;
        let cost = server
            .cost(&question.parts(), &Progress::default())
            .unwrap();
        let progress = Progress::default();
        let answers = server.compute_list(&[&*question], &progress).unwrap();
        assert_eq!(answers[0].decrypt(&secret).unwrap(), expected, "{name}");
        assert_eq!(progress.bootstraps(), cost.bootstraps, "{name}");
        assert!(
            cost.bootstraps <= per_row * ROWS as u64,
            "{name}: {}",
            cost.bootstraps
        );
    }
}

/// Random readings over many uploads, in the clear.
#[test]
fn random_tables_equal_clear_arithmetic() {
    let mut state = 7u64;
    let mut draw = |bound: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for rows in [1, 2, 3, 500] {
        let metadata = metadata(0..rows);
        let mut column = || (0..rows).map(|_| -10.0 + 0.5 * draw(256) as f64).collect();
        let values: Vec<Vec<f64>> = vec![column(), column(), column()];
        let server = rehearsal();
        let table = server.load_clear(metadata, &values).unwrap();
        let x = table.column("x").unwrap();
        let (spread, bins) = (x.variance(), x.histogram(&EDGES, false).unwrap());
        let answers = server.compute([&spread, &bins]).unwrap();
        let answers = answers.map(|answer| answer.rehearsed().unwrap());
        let expected = [
            Value::Number(variance(&values[0])),
            counts(&values[0], &EDGES),
        ];
        assert_eq!(answers, expected, "{rows} rows");
        for threshold in [30.0, 0.0, 10.0] {
            let count = x.gt(threshold).unwrap().count();
            let [count] = server.compute([&count]).unwrap();
            let above = values[0].iter().filter(|x| **x > threshold).count();
            assert_eq!(count.rehearsed().unwrap().number(), Some(above as f64));
        }
    }
}

/// More rows than the headroom has room for are added in groups, which take few bootstraps.
#[test]
fn many_rows_are_added_in_groups() {
    let server = rehearsal();
    let bootstraps = |rows: usize, ask: &dyn Fn(&Table) -> Box<dyn Computable>| {
        let table = server.describe(metadata(0..rows));
        let parts = ask(&table).parts();
        server
            .cost(&parts, &Progress::default())
            .unwrap()
            .bootstraps
    };
    let x = |table: &Table| table.column("x").unwrap().clone();
    let spread = |table: &Table| -> Box<dyn Computable> { Box::new(x(table).variance()) };
    let histogram = |table: &Table| -> Box<dyn Computable> {
        Box::new(x(table).histogram(&EDGES[..5], false).unwrap())
    };
    let count =
        |table: &Table| -> Box<dyn Computable> { Box::new(x(table).gt(30.0).unwrap().count()) };
    let most = 1 << 14;
    for ask in [
        &spread as &dyn Fn(&Table) -> Box<dyn Computable>,
        &histogram,
        &count,
    ] {
        assert_eq!(bootstraps(most, ask), 0);
        let more = bootstraps(4 * most, ask);
        assert!((1..2000).contains(&more), "{more}");
    }
    // The groups of a rehearsal, whose rows all count.
    let rows = most + 5;
    let mut values = vec![vec![90.0; rows]; 3];
    values[0][most] = -10.0;
    let table = server.load_clear(metadata(0..rows), &values).unwrap();
    let x = x(&table);
    let (count, bins) = (
        x.gt(30.0).unwrap().count(),
        x.histogram(&[-10.0, 0.0, 60.0], false),
    );
    let (bins, spread) = (bins.unwrap(), x.variance());
    let answers = server.compute([&count, &bins, &spread]).unwrap();
    let answers = answers.map(|answer| answer.rehearsed().unwrap());
    let expected = [
        Value::Number((rows - 1) as f64),
        Value::Numbers(vec![1.0, 0.0]),
        Value::Number(variance(&values[0])),
    ];
    assert_eq!(answers, expected);
}
