//! Questions answered on ciphertexts, by a real server key, against the same questions
//! answered in the clear.

mod key_set;

use key_set::{KeySet, Table, key_set, questions, table};
use tfhe_sbc_service::query::results::AnswerValue;
use tfhe_sbc_service::query::{Condition, Question, Relation, Threshold};

fn meets(table: &Table, row: usize, condition: &Condition) -> bool {
    let (place, _) = table.metadata.column(&condition.column).unwrap();
    let reading = table.readings[place][row];
    let (Threshold::Clear(threshold) | Threshold::ToEncrypt(threshold)) = condition.threshold
    else {
        panic!("it is encrypted already");
    };
    match condition.relation {
        Relation::Lt => reading < threshold,
        Relation::Le => reading <= threshold,
        Relation::Gt => reading > threshold,
        Relation::Ge => reading >= threshold,
        Relation::Eq => reading == threshold,
        Relation::Ne => reading != threshold,
    }
}

/// The answer in the clear.
fn expected(table: &Table, question: &Question) -> AnswerValue {
    let readings = |name: &str| {
        let (place, _) = table.metadata.column(name).unwrap();
        table.readings[place].iter().copied()
    };
    let rows = |conditions: &[Condition]| -> Vec<String> {
        let all = |row: &usize| conditions.iter().all(|c| meets(table, *row, c));
        let rows = (0..table.metadata.rows.len()).filter(all);
        rows.map(|row| table.metadata.rows[row].clone()).collect()
    };
    let value = match question {
        Question::Min(name) => readings(name).fold(f64::INFINITY, f64::min),
        Question::Max(name) => readings(name).fold(f64::NEG_INFINITY, f64::max),
        Question::Sum(name) => readings(name).sum(),
        Question::Mean(name) => readings(name).sum::<f64>() / table.metadata.rows.len() as f64,
        Question::Count(conditions) => rows(conditions).len() as f64,
        Question::Rows(conditions) => return AnswerValue::Rows(rows(conditions)),
    };
    let unit = String::new();
    AnswerValue::Number { value, unit }
}

#[track_caller]
fn assert_answers(table: &Table, questions: &[Question]) {
    let answers = key_set().ask(table, questions);
    assert_eq!(answers.len(), questions.len());
    for (answer, question) in answers.iter().zip(questions) {
        assert_eq!(answer.name, question.public_text());
        let expected = expected(table, question);
        let agree = match (&answer.value, &expected) {
            (AnswerValue::Number { value: a, .. }, AnswerValue::Number { value: b, .. }) => {
                (a - b).abs() < 1e-6
            }
            (a, b) => a == b,
        };
        assert!(agree, "{question}: {:?}, not {expected:?}", answer.value);
    }
}

/// Numbers below a bound, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn random_tables_are_answered_as_in_the_clear() {
    let columns = [
        ("narrow", -1.5, 0.5, 3),
        ("odd", 10.0, 1.0, 7),
        ("wide", -100.0, 0.25, 12),
    ];
    let mut draw = Draw(7);
    for rows in [2, 3, 5] {
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
    use tfhe_sbc_service::backend::{Backend, BackendErrorKind, Progress};
    let keys: &KeySet = key_set();
    let table = table(&[("a", 0.0, 1.0, 4)], vec![vec![3.0, 9.0]]);
    let (upload, asked) = (keys.upload(&table), questions(&["max(a)", "count(a > 5)"]));
    let request = keys.seal(&table, &asked).unwrap();
    let progress = Progress::default();
    let evaluation = keys
        .backend
        .evaluate(&[&upload], &request, &progress)
        .unwrap();
    assert!(evaluation.bootstraps > 0);
    assert_eq!(progress.bootstraps(), evaluation.bootstraps);

    let progress = Progress::default();
    progress.cancel();
    let error = keys
        .backend
        .evaluate(&[&upload], &request, &progress)
        .unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::Cancelled);
    assert!(progress.bootstraps() < evaluation.bootstraps);
}
