//! Questions about columns whose readings may be missing: as SQL answers them, in rehearsals of random questions and
//! on ciphertexts.

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{Planned, costs, costs_of, rehearse};
use tfhe_sbc_query::evaluate::{EvaluateError, Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::RequestError;
use tfhe_sbc_query::results::{Answer, AnswerValue, Results};
use tfhe_sbc_query::scope::UploadRows;
use tfhe_sbc_upload::declaration::{Declaration, Missing};
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

use crate::draw::Draw;
use crate::key_set::{Table, next_seeds, questions, table};
use crate::plain::{self, quick_key_set};

fn form(bits: u32) -> Compact {
    Compact {
        headroom: 14,
        body_bits: bits + 20,
        feedback: true,
    }
}

/// Makes a column compact and lets its readings be missing.
fn make_optional(column: &mut Column, declaration: &Declaration, optional: Missing) {
    let encoding = column.fixed_point().unwrap();
    let declaration = Declaration {
        optional,
        ..declaration.clone()
    };
    column.compact = Some(form(column.bits));
    let derived = declaration.derived(&encoding, |derivation| {
        Ok(form(derivation.bits(encoding.bits())))
    });
    column.derived = derived.unwrap();
}

/// `a` with squares, flags and gaps, `b` and `d` with gaps, `c` without. Gaps are encrypted or told.
fn with_gaps(mut table: Table, draw: &mut Draw) -> Table {
    let everything = Declaration {
        square: true,
        bins: vec![-3.0, 0.0, 4.5, 9.0],
        above: vec![-3.0, 0.0, 4.5],
        ..Declaration::default()
    };
    let nothing = Declaration::default();
    let declared = [Some(&everything), Some(&nothing), None, Some(&nothing)];
    for ((column, readings), declared) in (table.metadata.columns.iter_mut())
        .zip(&mut table.readings)
        .zip(declared)
    {
        let Some(declaration) = declared else {
            continue;
        };
        let optional = match draw.below(2) {
            0 => Missing::Encrypted,
            _ => Missing::Clear,
        };
        make_optional(column, declaration, optional);
        // None, some or all.
        let share = draw.below(5);
        for reading in readings {
            if draw.below(4) < share {
                *reading = f64::NAN;
            }
        }
    }
    table
}

/// The answers of a rehearsal.
fn rehearsed(table: &Table, questions: &[Question]) -> Vec<Answer> {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    rehearse(&parameters, &table.metadata, &table.readings, questions).unwrap()
}

#[test]
fn random_questions_about_readings_with_gaps_are_answered_as_in_sql() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let mut draw = Draw(7);
    for _ in 0..200 {
        let table = draw.table();
        let table = with_gaps(table, &mut draw);
        let question = draw.question(table.metadata.rows.len());
        let list = [question.clone()];
        let rehearsal = rehearse(&parameters, &table.metadata, &table.readings, &list);
        let answers = rehearsal.unwrap();
        let (given, expected) = (&answers[0].value, plain::answer(&table, &question));
        assert!(
            plain::agree(given, &expected),
            "{question} of {:?}: {given:?}, not {expected:?}",
            table.readings
        );
    }
}

/// Who learns which readings of `a` and of `b` and `none` are missing.
const WAYS: [[Missing; 2]; 4] = {
    use Missing::{Clear, Encrypted};
    [
        [Encrypted, Encrypted],
        [Clear, Clear],
        [Clear, Encrypted],
        [Encrypted, Clear],
    ]
};

/// Eight rows of `a` and `b`, with gaps in either, in both and in none.
fn known([optional_a, optional_b]: [Missing; 2]) -> Table {
    const GAP: f64 = f64::NAN;
    let a = vec![-1.5, GAP, 2.0, -4.0, GAP, 4.5, -4.0, 0.0];
    let b = vec![GAP, GAP, 1.0, 0.5, 2.0, -2.5, 3.0, GAP];
    let c = vec![1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0];
    let none = vec![GAP; 8];
    let columns = [
        ("a", -4.0, 0.5, 5),
        ("b", -4.0, 0.5, 5),
        ("c", 0.0, 1.0, 2),
        ("none", -4.0, 0.5, 5),
    ];
    let mut table = table(&columns, vec![a, b, c, none]);
    let [of_a, of_b, of_c, of_none] = &mut table.metadata.columns[..] else {
        unreachable!()
    };
    let derived = Declaration {
        square: true,
        above: vec![0.0],
        bins: vec![-4.0, 0.0, 3.0],
        ..Declaration::default()
    };
    make_optional(of_a, &derived, optional_a);
    make_optional(of_b, &Declaration::default(), optional_b);
    of_c.compact = Some(form(2));
    make_optional(of_none, &Declaration::default(), optional_b);
    table
}

#[test]
fn ciphertexts_with_gaps_answer_as_sql_does() {
    let asked = questions(&[
        "sum(a)",
        "mean(a)",
        "mean(2 * a + 1)",
        "mean(1 - a)",
        "mean(a - b)",
        "sum(a + c)",
        "count(a)",
        "count(a - b)",
        "count(c)",
        "variance(a)",
        "sample_std(a)",
        "std(b)",
        "min(a)",
        "max(a)",
        "range(b)",
        "argmin(a)",
        "argmax(a - b)",
        "first(b)",
        "median(b)",
        "percentile(a - b, 75)",
        "median(none)",
        "last(a)",
        "last(b)",
        "count(a > 0)",
        "count(a < 0)",
        "count(not a > 0)",
        "count(not (a > 0 and b < 2))",
        "rows(a > -4 or b > 2)",
        "rows(not (a in (2, 4.5)))",
        "rows(a < encrypted(2))",
        "rows(not a between -2 and 1)",
        "rows(a > b)",
        "histogram(a, -4, 0, 3, 100)",
        "histogram(b, -4, 1, 100)",
        "sort(a)",
        "top_k(b, 3)",
        "top_k(a, 8)",
        "score(a - b)",
        "score(a)",
        "logistic(b)",
        "mean(none)",
        "sum(none)",
        "std(none)",
        "max(none)",
        "range(none)",
        "argmin(none)",
        "sort(none)",
        "count(none)",
        "count(none >= -4 or not none >= -4)",
        "histogram(none, 0, 1)",
    ]);
    for (first, ways) in WAYS.into_iter().enumerate() {
        let table = known(ways);
        for (answer, question) in rehearsed(&table, &asked).iter().zip(&asked) {
            let expected = plain::answer(&table, question);
            assert!(plain::agree(&answer.value, &expected), "{question}");
        }
        // The rehearsal stands for the ciphertexts of the other ways.
        let some = asked.iter().skip(first).step_by(WAYS.len()).cloned();
        assert_answers(&table, &some.collect::<Vec<_>>());
    }
}

/// Compares the answers of ciphertexts with those in the clear.
fn assert_answers(table: &Table, asked: &[Question]) {
    // As short as decryption permits, and without their masks.
    let keys = quick_key_set();
    let request = keys.seal(table, asked).unwrap();
    let uploads = [&keys.upload(table)[..]];
    let (result, _) = evaluate(
        &keys.computing,
        &uploads,
        &request,
        Form::ForDecryption,
        tfhe_sbc_query::cost::MAX_BOOTSTRAPS,
        &Progress::default(),
        next_seeds,
    )
    .unwrap();
    let answers = Results::decrypt(&result, &keys.secret).unwrap().all();
    for (answer, question) in answers.unwrap().iter().zip(asked) {
        let expected = plain::answer(table, question);
        assert!(plain::agree(&answer.value, &expected), "{question}");
    }
}

/// Each question makes its own function of values and gaps, and functions that are the same have the same digits.
#[test]
fn questions_about_the_same_values_share_their_digits() {
    let (keys, table) = (quick_key_set(), known(WAYS[0]));
    let parameters = *keys.secret.parameters();
    let asked = questions(&["min(b)", "argmin(b)", "min(b)"]);
    let (each, together) = costs(&parameters, &table.metadata, &asked).unwrap();
    assert!(together.bootstraps < each[0].bootstraps + each[1].bootstraps);
    let request = keys.seal(&table, &asked).unwrap();
    let (_, bootstraps) = evaluate(
        &keys.computing,
        &[&keys.upload(&table)[..]],
        &request,
        Form::ForDecryption,
        tfhe_sbc_query::cost::MAX_BOOTSTRAPS,
        &Progress::default(),
        next_seeds,
    )
    .unwrap();
    assert_eq!(bootstraps, together.bootstraps);
}

#[test]
fn answers_say_how_many_rows_are_missing_where_they_know() {
    for ways in WAYS {
        assert_counts(&known(ways), ways);
    }
}

fn assert_counts(table: &Table, [optional_a, optional_b]: [Missing; 2]) {
    // Who knows the gaps says how many there are, even where an encrypted answer does not tell.
    let told = |of: Missing, missing| (of == Missing::Clear).then_some(missing);
    for (text, missing) in [
        ("mean(a)", Some(2)),
        ("count(a)", Some(2)),
        ("mean(a - b)", Some(4)),
        ("std(a)", Some(2)),
        ("histogram(a, -4, 0, 3)", Some(2)),
        ("score(b)", Some(3)),
        ("last(b)", Some(1)),
        ("last(a)", Some(0)),
        ("mean(none)", Some(8)),
        ("max(a)", told(optional_a, 2)),
        ("sort(b)", told(optional_b, 3)),
        ("argmin(none)", told(optional_b, 8)),
        ("mean(c)", None),
        ("count(c)", None),
        ("count(a > 0)", None),
    ] {
        let answers = rehearsed(table, &questions(&[text]));
        assert_eq!(answers[0].missing, missing, "{text}");
    }
    let answers = rehearsed(table, &questions(&["mean(none)", "last(b)", "score(b)"]));
    let json = |answer: &Answer| serde_json::to_value(&answer.value).unwrap();
    assert_eq!(
        json(&answers[0]),
        serde_json::json!({"value": null, "unit": ""})
    );
    assert_eq!(
        json(&answers[1]),
        serde_json::json!({"row": "r7", "value": null, "unit": ""})
    );
    assert_eq!(
        json(&answers[2])["rows"][0]["value"],
        serde_json::Value::Null
    );
}

#[test]
fn sums_of_what_is_there_take_no_bootstrap() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let mut metadata: ReadingsMetadata = known(WAYS[0]).metadata;
    metadata.rows = vec!["r".to_owned(); 8192];
    let bootstraps = |text: &str| {
        let (each, _) = costs(&parameters, &metadata, &questions(&[text])).unwrap();
        each[0].bootstraps
    };
    for text in [
        "sum(a)",
        "mean(b)",
        "mean(2 * a + 1)",
        "count(a)",
        "variance(a)",
        "sample_std(a)",
        "count(a > 0)",
        "count(a <= 0)",
        "count(not a > 0)",
        "histogram(a, -4, 0, 3)",
        "histogram(a, -100, 0, 3, 100)",
        "score(a)",
        "last(a)",
    ] {
        assert_eq!(bootstraps(text), 0, "{text}");
    }
    // A threshold above the lowest reading costs what it does without gaps, in a column without flags.
    let mut full = metadata.clone();
    full.columns[1].derived = Default::default();
    let (each, _) = costs(&parameters, &full, &questions(&["rows(b > 1)"])).unwrap();
    assert_eq!(bootstraps("rows(b > 1)"), each[0].bootstraps);
    assert!(bootstraps("rows(b < 1)") > each[0].bootstraps);
}

#[test]
fn gaps_that_are_told_take_no_bootstrap() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let mut table = known(WAYS[1]);
    table.metadata.gaps = Gaps::of(&table.metadata.columns, &table.readings);
    let bootstraps = |metadata: &ReadingsMetadata, text: &str| {
        let (each, _) = costs(&parameters, metadata, &questions(&[text])).unwrap();
        each[0].bootstraps
    };
    // A table of the five rows that have both `a` and `b`, or of those that have the one, without gaps.
    let full = |rows: usize| {
        let mut full = table.metadata.clone();
        full.gaps = Gaps::default();
        full.rows.truncate(rows);
        for column in &mut full.columns {
            column.derived.valid = None;
        }
        full
    };
    for (text, rows) in [
        ("sum(a)", 6),
        ("mean(a - b)", 4),
        ("count(b)", 5),
        ("variance(a)", 6),
        ("max(a)", 6),
        ("argmin(b)", 5),
        ("median(b)", 5),
        ("sort(a)", 6),
        ("top_k(a - b, 2)", 4),
        ("histogram(a, -4, 0, 3)", 6),
        ("histogram(b, -4, 1)", 5),
        ("count(a <= 0)", 6),
        ("count(not b > 1)", 5),
        ("count(a < 2 and b > 1)", 4),
        ("rows(a > b)", 4),
    ] {
        let told = bootstraps(&table.metadata, text);
        assert_eq!(told, bootstraps(&full(rows), text), "{text}");
    }
    // A condition that one value can decide is looked at in all rows.
    assert!(bootstraps(&table.metadata, "count(a > 2 or b > 1)") > 0);
}

#[test]
fn percentiles_are_those_of_what_is_there() {
    // Every number of readings among ten rows, and every decile and what is beside it.
    for present in 0..=10 {
        let row = |row: u64| match (row * 7) % 10 < present {
            true => ((row * 3) % 10) as f64,
            false => f64::NAN,
        };
        let mut table = table(&[("a", 0.0, 1.0, 4)], vec![(0..10).map(row).collect()]);
        make_optional(
            &mut table.metadata.columns[0],
            &Declaration::default(),
            Missing::Encrypted,
        );
        let texts = (0..=10).flat_map(|tenths| [0, 1].map(|more| 10 * tenths + more));
        let texts = texts.filter(|percent| *percent <= 100);
        let texts: Vec<String> = texts
            .map(|percent| format!("percentile(a, {percent})"))
            .collect();
        let mut asked = questions(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        asked.extend(questions(&["median(a)", "median(3 - a)"]));
        for (answer, question) in rehearsed(&table, &asked).iter().zip(&asked) {
            let expected = plain::answer(&table, question);
            let given = &answer.value;
            assert!(
                plain::agree(given, &expected),
                "{question} of {present}: {given:?}, not {expected:?}"
            );
            assert_eq!(answer.missing, Some(10 - present), "{question}");
        }
    }
}

#[test]
fn sanitised_percentiles_of_what_may_be_missing_are_refused() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let readings = known([Missing::Encrypted, Missing::Clear]).metadata;
    let rows = [UploadRows {
        device: None,
        labels: &readings.rows,
    }];
    let cost = |text: &str, sanitise| {
        let planned = Planned {
            columns: &readings.columns,
            uploads: &rows,
            gaps: None,
            scope: Default::default(),
            sanitise,
        };
        costs_of(
            &parameters,
            planned,
            &questions(&[text]),
            &Progress::default(),
        )
    };
    for text in ["median(a)", "percentile(a - b, 90)"] {
        assert!(cost(text, false).is_ok());
        let refused = cost(text, true).unwrap_err();
        assert!(matches!(
            refused,
            EvaluateError::Request(RequestError::Rank(_))
        ));
    }
    for text in ["median(c)", "mean(a)", "median(b)"] {
        assert!(cost(text, true).is_ok(), "{text}");
    }
}

#[test]
fn a_group_without_readings_has_no_mean() {
    for ways in WAYS {
        let answers = rehearsed(&known(ways), &questions(&["mean(none)", "min(none)"]));
        for answer in answers {
            assert!(matches!(answer.value, AnswerValue::Missing { .. }));
        }
    }
}
