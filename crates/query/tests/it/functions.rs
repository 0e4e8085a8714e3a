//! Every function of the query language on small columns: device bytes in, decrypted answers
//! out, against the same in the clear.

use crate::key_set::{Evaluation, Table, questions, table};
use crate::plain::{self, assert_answers, quick_key_set};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::costs;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::results::Results;

/// Five rows: a column of each kind, two of one scale, and equal values.
fn readings() -> Table {
    table(
        &[
            ("inside", -10.0, 0.5, 5),
            ("outside", -20.0, 0.5, 5),
            ("lamps", 0.0, 1.0, 2),
            ("light", 0.0, 0.2, 4),
        ],
        vec![
            vec![5.5, -10.0, 0.5, 5.5, 3.0],
            vec![-4.5, -12.0, -20.0, -5.0, -4.5],
            vec![1.0, 3.0, 0.0, 0.0, 2.0],
            vec![0.0, 3.0, 1.4, 0.2, 2.8],
        ],
    )
}

fn read_tree(name: &str) -> Result<String, String> {
    assert_eq!(name, "tree.json");
    let json = r#"{
        "if": "inside < 0.5",
        "then": { "if": "lamps in (1, 3)", "then": "lit", "else": "dark" },
        "else": {
            "if": "inside - outside >= 10",
            "then": { "if": "light <= encrypted(0)", "then": "dark", "else": 7.5 },
            "else": "mild"
        }
    }"#;
    Ok(json.to_owned())
}

#[test]
fn aggregates_are_those_of_the_readings() {
    let asked = questions(&[
        "range(inside)",
        "argmin(inside)",
        "argmax(inside)",
        "argmin(outside)",
        "argmax(lamps)",
        "variance(outside)",
        "std(inside)",
        "sample_variance(lamps)",
        "sample_std(light)",
        "median(inside)",
    ]);
    assert_answers(&readings(), &asked);
}

#[test]
fn ranks_and_orders_are_those_of_the_readings() {
    let asked = questions(&[
        "percentile(inside, 0)",
        "percentile(inside, 20)",
        "percentile(outside, 20.1)",
        "percentile(light, 99.9)",
        "percentile(lamps, 100)",
        "sort(lamps)",
        "sort(inside)",
        "top_k(inside, 2)",
        "top_k(outside, 5)",
        "top_k(light, 1)",
    ]);
    assert_answers(&readings(), &asked);
}

#[test]
fn histograms_count_every_row_once() {
    let asked = questions(&[
        "histogram(lamps, 0, 1, 2, 3, 4)",
        "histogram(inside, -10, 0, 3, 5.5)",
        // Edges outside of the range and between two steps, and a bin without values.
        "histogram(outside, -100, -12.2, -12.1, -4.5, 100)",
        "histogram(light, 5, 6)",
    ]);
    assert_answers(&readings(), &asked);
}

#[test]
fn expressions_are_columns_like_others() {
    let asked = questions(&[
        "max(inside - outside)",
        "sum(inside + outside - 2.5)",
        "min(-lamps)",
        "argmax(2 * inside + 5 * light)",
        "count(inside - outside > 10)",
        "rows(inside > outside + 15.5)",
        "rows(inside + lamps <= encrypted(5.5))",
        "count(lamps + lamps == 2)",
    ]);
    assert_answers(&readings(), &asked);
}

#[test]
fn columns_of_one_encoding_are_compared_as_they_are() {
    let table = table(
        &[("a", 1.0, 0.5, 4), ("b", 1.0, 0.5, 4)],
        vec![vec![1.0, 3.5, 8.5, 4.0], vec![1.0, 4.0, 1.0, 3.5]],
    );
    let asked = questions(&[
        "rows(a > b)",
        "rows(a >= b)",
        "rows(a == b)",
        "rows(b != a)",
        "rows(a > b + 0.5)",
        "rows(a < b + 0.25)",
    ]);
    assert_answers(&table, &asked);
    // Without the difference that others take.
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let (each, _) = costs(&parameters, &table.metadata, &asked).unwrap();
    assert!(4 * each[0].bootstraps < 3 * each[4].bootstraps, "{each:?}");
}

#[test]
fn scores_are_sums_of_weighted_readings() {
    let asked = questions(&[
        "score(0.5 * inside - 2 * outside + 1.25 * light - 3)",
        "score(inside)",
        "logistic(0.25 * inside - 0.5 * lamps)",
    ]);
    assert_answers(&readings(), &asked);
}

#[test]
fn every_row_comes_to_its_leaf() {
    let question = Question::parse("tree(tree.json)", read_tree).unwrap();
    assert_answers(&readings(), &[question]);
    let constant = r#"{"if": "inside < 1000", "then": "yes", "else": "no"}"#;
    let question = Question::parse("tree(tree.json)", |_| Ok(constant.to_owned())).unwrap();
    assert_answers(&readings(), &[question]);
}

#[test]
fn one_row_answers_every_function() {
    let table = table(&[("a", -1.0, 0.25, 3)], vec![vec![0.5]]);
    let asked = questions(&[
        "range(a)",
        "argmin(a)",
        "variance(a)",
        "std(a)",
        "median(a)",
        "percentile(a, 0)",
        "histogram(a, 0, 0.5, 1)",
        "sort(a)",
        "top_k(a, 1)",
        "score(2 * a + 1)",
    ]);
    assert_answers(&table, &asked);
}

#[test]
fn what_is_asked_together_costs_less_than_apart() {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let asked = questions(&["min(inside)", "max(inside)", "range(inside)", "mean(lamps)"]);
    let (each, all) = costs(&parameters, &readings().metadata, &asked).unwrap();
    let sum: u64 = each.iter().map(|cost| cost.bootstraps).sum();
    assert!(0 < all.bootstraps && all.bootstraps < sum);
    // The smallest and the largest together are all that the range needs.
    let (_, without) = costs(&parameters, &readings().metadata, &asked[..2]).unwrap();
    let (_, with) = costs(&parameters, &readings().metadata, &asked[..3]).unwrap();
    assert_eq!(without, with);
    assert_eq!(all.depth, each.iter().map(|cost| cost.depth).max().unwrap());
}

#[test]
fn the_count_is_what_an_evaluation_takes() {
    let keys = quick_key_set();
    let table = readings();
    let mut asked = questions(&[
        "argmax(inside)",
        "std(lamps)",
        "count(inside > encrypted(1) or lamps in (1, 2))",
        "histogram(light, 0, 1, 2)",
        "top_k(lamps, 2)",
        "score(inside + light)",
    ]);
    asked.push(Question::parse("tree(tree.json)", read_tree).unwrap());
    let (_, all) = costs(keys.secret.parameters(), &table.metadata, &asked).unwrap();
    let request = keys.seal(&table, &asked).unwrap();
    let evaluation = evaluate(&[&table], &request);
    assert_eq!(evaluation.bootstraps, all.bootstraps);
}

/// Evaluates a request on tables, each uploaded by itself.
fn evaluate(tables: &[&Table], request: &[u8]) -> Evaluation {
    let keys = quick_key_set();
    let uploads: Vec<_> = tables.iter().map(|table| keys.upload(table)).collect();
    let uploads: Vec<&[u8]> = uploads.iter().map(|upload| &upload[..]).collect();
    let evaluation = keys.evaluate(&uploads, request, &Progress::default());
    evaluation.unwrap()
}

/// Questions ask for the sum of some columns, and for the rows of another.
#[test]
fn sums_of_columns_are_those_of_their_rows() {
    let keys = quick_key_set();
    let columns = [("a", -4.0, 0.5, 5), ("b", 0.0, 1.0, 2), ("c", 1.0, 0.25, 3)];
    let rows = |rows: std::ops::Range<u32>| {
        let readings = columns.map(|(_, offset, scale, bits)| {
            let code = |row| row * 2_654_435_761u64 % 509 % (1 << bits);
            let value = |row| offset + scale * code(u64::from(row)) as f64;
            rows.clone().map(value).collect()
        });
        table(&columns, readings.to_vec())
    };
    let asked = questions(&[
        "sum(a)",
        "mean(a)",
        "sum(3 * b - 1)",
        "mean(c)",
        "max(c)",
        "sum(a - b)",
    ]);
    for asked in [&asked[..], &asked[..5]] {
        let all = rows(0..13);
        let request = keys.seal(&all, asked).unwrap();
        let one = evaluate(&[&all], &request);
        let (each, together) = costs(keys.secret.parameters(), &all.metadata, asked).unwrap();
        assert_eq!(one.bootstraps, together.bootstraps);
        for (question, cost) in asked.iter().zip(each) {
            let parameters = keys.secret.parameters();
            let (_, alone) =
                costs(parameters, &all.metadata, std::slice::from_ref(question)).unwrap();
            assert_eq!(cost, alone, "{question}");
        }
        let two = evaluate(&[&rows(0..6), &rows(6..13)], &request);
        for result in [one.result, two.result] {
            let answers = Results::decrypt(&result, &keys.secret).unwrap();
            let answers = answers.all().unwrap();
            for (given, question) in answers.iter().zip(asked) {
                let expected = plain::answer(&all, question);
                let agree = plain::agree(&given.value, &expected);
                assert!(agree, "{question}: {:?}, not {expected:?}", given.value);
            }
        }
    }
}
