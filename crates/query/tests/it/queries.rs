//! Questions answered on ciphertexts, by a real server key, against the same questions
//! answered in the clear.

use crate::draw::Draw;
use crate::key_set::{KeySet, questions, table};
use crate::plain::{assert_answers, quick_key_set};
use tfhe_sbc_query::condition::Relation;

#[test]
fn random_tables_are_answered_as_in_the_clear() {
    let columns = [
        ("narrow", -1.5, 0.5, 3),
        ("odd", 10.0, 1.0, 7),
        ("wide", -100.0, 0.25, 12),
    ];
    let mut draw = Draw(7);
    for rows in [2, 3] {
        let reading = |draw: &mut Draw, &(_, offset, scale, bits): &(&str, f64, f64, u32)| {
            offset + scale * draw.below(1 << bits) as f64
        };
        let readings: Vec<Vec<f64>> = columns
            .iter()
            .map(|column| (0..rows).map(|_| reading(&mut draw, column)).collect())
            .collect();
        let table = table(&columns, readings);
        let mut asked = Vec::new();
        for (name, ..) in columns {
            for function in ["min", "max", "sum", "mean"] {
                asked.push(format!("{function}({name})"));
            }
        }
        let thresholds: Vec<f64> = columns.iter().map(|c| reading(&mut draw, c)).collect();
        let (narrow, odd, wide) = (thresholds[0], thresholds[1], thresholds[2]);
        asked.extend([
            format!("count(wide > {wide})"),
            format!("rows(odd <= encrypted({odd}))"),
            format!("count(narrow != {narrow} and wide < encrypted({wide}))"),
            format!("rows(narrow >= encrypted({narrow}) and odd > 40 and wide != {wide})"),
        ]);
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        assert_answers(&table, &questions(&asked));
        assert_answers(&table.compact(), &questions(&asked));
    }
}

#[test]
fn every_relation_holds_below_at_and_above_the_threshold() {
    let table = table(&[("a", 0.0, 1.0, 4)], vec![vec![6.0, 7.0, 8.0]]);
    let mut asked = Vec::new();
    for (_, relation) in Relation::ALL {
        asked.push(format!("rows(a {relation} 7)"));
        asked.push(format!("rows(a {relation} encrypted(7))"));
    }
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    assert_answers(&table, &questions(&asked));
    assert_answers(&table.compact(), &questions(&asked));
}

#[test]
fn the_ends_of_a_range_are_thresholds_like_others() {
    let table = table(&[("a", -4.0, 0.5, 4)], vec![vec![-4.0, 0.0, 3.5]]);
    let asked = questions(&[
        "rows(a >= encrypted(-4))",
        "rows(a > encrypted(-4))",
        "rows(a < encrypted(3.5))",
        "rows(a == 3.5)",
        "rows(a < -4)",
        "rows(a <= 3.5)",
    ]);
    assert_answers(&table, &asked);
    assert_answers(&table.compact(), &asked);
}

#[test]
fn thresholds_that_no_reading_can_have_are_answered_too() {
    let table = table(
        &[("a", -4.0, 0.5, 4), ("b", 0.0, 1.0, 5)],
        vec![vec![-4.0, 0.0, 3.5], vec![31.0, 0.0, 9.0]],
    );
    let asked = questions(&[
        // Outside the range: the same for every row.
        "count(a < 100)",
        "rows(a > 100)",
        "count(a >= -100)",
        "rows(a == 100)",
        "count(a != -4.25)",
        // Between two codes.
        "rows(a < 0.1)",
        "rows(a >= 3.4)",
        // Beside a condition that does depend on the row.
        "rows(a < 100 and b > 5)",
        "count(a > 100 and b > 5)",
        "rows(a < 100 and b >= 0 and b < 32)",
    ]);
    assert_answers(&table, &asked);
}

#[test]
fn conditions_are_nested_as_they_are_written() {
    let table = table(
        &[("a", 0.0, 1.0, 3), ("b", -2.0, 0.5, 4)],
        vec![
            vec![0.0, 3.0, 5.0, 7.0, 2.0],
            vec![-2.0, 0.0, 5.5, 1.5, 1.0],
        ],
    );
    let asked = questions(&[
        "rows(a < 3 or b > 1)",
        "rows(not (a < 3 or b > 1))",
        "rows((a < 3 or b > 1) and not a == 7)",
        "count(a between 2 and encrypted(5))",
        "rows(a not between 2 and 5 or b between 0 and 1)",
        "rows(a in (0, encrypted(7), 100, 2.5))",
        "count(a not in (0, 7) and b >= encrypted(0))",
        "count(not not a > 3)",
        "rows(a > 100 or b < -100)",
        "rows(a in (0, 1, 2, 3, 4, 5, 6, 7))",
    ]);
    assert_answers(&table, &asked);
    assert_answers(&table.compact(), &asked);
}

#[test]
fn one_row_is_its_own_minimum_maximum_sum_and_mean() {
    let columns = [("a", -50.0, 0.1, 10), ("b", 0.0, 1.0, 1)];
    let table = table(&columns, vec![vec![-12.5], vec![1.0]]);
    let asked = questions(&[
        "min(a)",
        "max(a)",
        "sum(a)",
        "mean(a)",
        "min(b)",
        "max(b)",
        "sum(b)",
        "mean(b)",
        "range(a)",
        "count(a < -12)",
        "count(a < encrypted(-12.5))",
        "rows(b == encrypted(1))",
    ]);
    assert_answers(&table, &asked);
}

#[test]
fn equal_readings_and_repeated_questions_are_no_trouble() {
    let table = table(&[("a", 0.0, 1.0, 6)], vec![vec![63.0; 4]]);
    let asked = questions(&[
        "min(a)",
        "max(a)",
        "min(a)",
        "sum(a)",
        "mean(a)",
        "count(a == 63)",
        "rows(a != 63)",
        "rows(a >= 1 and a >= 2 and a >= 3 and a >= 4 and a >= 5 and a >= 6 and a < encrypted(63))",
        "count(a >= encrypted(63) and a >= encrypted(62) and a <= encrypted(63))",
    ]);
    assert_answers(&table, &asked);
}

#[test]
fn bootstraps_are_reported_and_a_query_can_be_called_off() {
    use tfhe_sbc_engine::circuit::CircuitEvaluateError;
    use tfhe_sbc_query::evaluate::EvaluateError;
    use tfhe_sbc_query::progress::Progress;
    let keys: &KeySet = quick_key_set();
    let table = table(&[("a", 0.0, 1.0, 4)], vec![vec![3.0, 9.0]]);
    let (upload, asked) = (keys.upload(&table), questions(&["max(a)", "count(a > 5)"]));
    let request = keys.seal(&table, &asked).unwrap();
    let progress = Progress::default();
    let evaluation = keys.evaluate(&[&upload], &request, &progress).unwrap();
    assert!(evaluation.bootstraps > 0);
    assert_eq!(progress.bootstraps(), evaluation.bootstraps);
    assert_eq!(progress.expected_bootstraps(), evaluation.bootstraps);

    let progress = Progress::default();
    progress.cancel();
    let error = keys.evaluate(&[&upload], &request, &progress).unwrap_err();
    assert!(matches!(
        error,
        EvaluateError::Evaluate(CircuitEvaluateError::Cancelled)
    ));
    assert!(progress.bootstraps() < evaluation.bootstraps);
}
