//! Questions answered in the clear, from readings.

use std::sync::OnceLock;

use tfhe_sbc_query::condition::{Condition, Relation, Threshold};
use tfhe_sbc_query::expression::Expression;
use tfhe_sbc_query::results::{AnswerValue, Bin, Labelled};
use tfhe_sbc_query::tree::{Branch, Tree};
use tfhe_sbc_query::{Aggregate, Ordered, Pair, Question, Window};

use crate::key_set::{KeySet, Table};
use crate::quick_set::QUICK_2_2;

/// Keys of a set whose bootstraps take a fourth of the time, drawn once.
pub(crate) fn quick_key_set() -> &'static KeySet {
    static KEY_SET: OnceLock<KeySet> = OnceLock::new();
    KEY_SET.get_or_init(|| KeySet::generate(QUICK_2_2))
}

/// Readings are multiples of steps: what is as close as this is equal.
const CLOSE: f64 = 1e-9;

/// The value of an expression: NaN if a reading is missing.
fn value(table: &Table, row: usize, of: &Expression) -> f64 {
    of.terms.iter().fold(of.constant, |sum, (name, weight)| {
        let (place, _) = table.metadata.column(name).unwrap();
        sum + weight * table.readings[place][row]
    })
}

fn holds(value: f64, relation: Relation, threshold: &Threshold) -> bool {
    let (Threshold::Clear(threshold) | Threshold::ToEncrypt(threshold)) = *threshold else {
        panic!("it is encrypted already");
    };
    let close = (value - threshold).abs() < CLOSE;
    match relation {
        Relation::Lt => value < threshold && !close,
        Relation::Le => value < threshold || close,
        Relation::Gt => value > threshold && !close,
        Relation::Ge => value > threshold || close,
        Relation::Eq => close,
        Relation::Ne => !close,
    }
}

fn meets(table: &Table, row: usize, condition: &Condition) -> bool {
    truth(table, row, condition) == Some(true)
}

/// The truth of a condition in three-valued logic: `None` if it is unknown.
fn truth(table: &Table, row: usize, condition: &Condition) -> Option<bool> {
    let truth = |condition: &Condition| truth(table, row, condition);
    let known = |value: f64, holds: bool| (!value.is_nan()).then_some(holds);
    // Whether one of several decides for all, and otherwise whether all are known.
    let several = |list: &[Condition], deciding: bool| {
        let mut unknown = false;
        for condition in list {
            match truth(condition) {
                Some(truth) if truth == deciding => return Some(deciding),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(!deciding)
    };
    match condition {
        Condition::Compare {
            of,
            relation,
            threshold,
        } => {
            let value = value(table, row, of);
            known(value, holds(value, *relation, threshold))
        }
        Condition::Between { of, low, high } => {
            let value = value(table, row, of);
            let inside = holds(value, Relation::Ge, low) && holds(value, Relation::Le, high);
            known(value, inside)
        }
        Condition::In { of, values } => {
            let value = value(table, row, of);
            known(value, values.iter().any(|v| holds(value, Relation::Eq, v)))
        }
        Condition::All(list) => several(list, false),
        Condition::Any(list) => several(list, true),
        Condition::Not(condition) => truth(condition).map(|truth| !truth),
    }
}

fn aggregate(aggregate: Aggregate, values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match aggregate {
        Aggregate::Min | Aggregate::Argmin => min,
        Aggregate::Max | Aggregate::Argmax => max,
        Aggregate::Range => max - min,
        Aggregate::Count => n,
        Aggregate::Sum => values.iter().sum(),
        Aggregate::Mean => mean,
        Aggregate::Variance => squares / n,
        Aggregate::Std => (squares / n).sqrt(),
        Aggregate::SampleVariance => squares / (n - 1.0),
        Aggregate::SampleStd => (squares / (n - 1.0)).sqrt(),
        Aggregate::Median => percentile(values, 50.0),
        Aggregate::First => values[0],
        Aggregate::Last => values[values.len() - 1],
    }
}

/// The function of values in the same rows; `None` if there is none.
fn pair(function: Pair, rows: &[(f64, f64)]) -> Option<f64> {
    let n = rows.len() as f64;
    let products: f64 = rows.iter().map(|(a, b)| a * b).sum();
    let mean = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|row| row.0), mean(|row| row.1));
    let differences: f64 = rows.iter().map(|row| (row.0 - a) * (row.1 - b)).sum();
    let squares = |of: fn(&(f64, f64)) -> f64, mean: f64| -> f64 {
        rows.iter().map(|row| (of(row) - mean).powi(2)).sum()
    };
    match function {
        Pair::Dot => (n > 0.0).then_some(products),
        Pair::Cov => (n > 1.0).then(|| differences / (n - 1.0)),
        Pair::Corr => {
            let spread = (squares(|row| row.0, a) * squares(|row| row.1, b)).sqrt();
            (spread > CLOSE).then(|| differences / spread)
        }
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the percentile by nearest rank: the smallest value that `percent` percent of all do not
/// exceed.
fn percentile(values: &[f64], percent: f64) -> f64 {
    let share = |x: f64| values.iter().filter(|&&y| y <= x).count() as f64 / values.len() as f64;
    let mut sorted = sorted(values).into_iter();
    sorted
        .find(|&x| share(x) * 100.0 >= percent - CLOSE)
        .unwrap()
}

fn leaf(table: &Table, row: usize, tree: &Tree) -> String {
    let mut at = Branch::Node(0);
    loop {
        match at {
            Branch::Leaf(leaf) => return tree.leaves[leaf as usize].clone(),
            Branch::Node(node) => {
                let node = &tree.nodes[node as usize];
                at = match meets(table, row, &node.condition) {
                    true => node.then,
                    false => node.otherwise,
                };
            }
        }
    }
}

/// The values of a function of rows in their order, as pandas has them: NaN where a value is missing.
fn ordered(function: Ordered, values: &[f64]) -> Vec<f64> {
    let there = |range: std::ops::Range<usize>| -> Vec<f64> {
        values[range]
            .iter()
            .copied()
            .filter(|x| !x.is_nan())
            .collect()
    };
    let rows = 0..values.len();
    let rolling = |Window {
                       rows: window,
                       min_periods,
                   }: Window,
                   of|
     -> Vec<f64> {
        let window = window as usize;
        let least = min_periods.map_or(window, |least| least as usize);
        let row = |row: usize| {
            let there = there((row + 1).saturating_sub(window)..row + 1);
            match there.len() >= least {
                true => aggregate(of, &there),
                false => f64::NAN,
            }
        };
        rows.clone().map(row).collect()
    };
    let so_far = |of| -> Vec<f64> {
        let row = |row: usize| match values[row].is_nan() {
            true => f64::NAN,
            false => aggregate(of, &there(0..row + 1)),
        };
        rows.clone().map(row).collect()
    };
    let before = |row: usize, by: i32| {
        let before = usize::try_from(row as i64 - i64::from(by)).ok();
        before
            .and_then(|before| values.get(before))
            .copied()
            .unwrap_or(f64::NAN)
    };
    match function {
        Ordered::RollingSum(window) => rolling(window, Aggregate::Sum),
        Ordered::RollingMean(window) => rolling(window, Aggregate::Mean),
        Ordered::RollingMin(window) => rolling(window, Aggregate::Min),
        Ordered::RollingMax(window) => rolling(window, Aggregate::Max),
        Ordered::Cumsum => so_far(Aggregate::Sum),
        Ordered::Cummin => so_far(Aggregate::Min),
        Ordered::Cummax => so_far(Aggregate::Max),
        Ordered::Shift(by) => rows.map(|row| before(row, by)).collect(),
        Ordered::Diff(by) => rows.map(|row| values[row] - before(row, by)).collect(),
    }
}

/// The answer to a question about a table whose columns have no units.
pub(crate) fn answer(table: &Table, question: &Question) -> AnswerValue {
    let labels = &table.metadata.rows;
    let of_rows = |of: &Expression| -> Vec<f64> {
        let rows = 0..labels.len();
        rows.map(|row| value(table, row, of)).collect()
    };
    // Functions leave out what is missing.
    let values = |of: &Expression| -> Vec<f64> {
        let mut values = of_rows(of);
        values.retain(|value| !value.is_nan());
        values
    };
    let missing = |row| AnswerValue::Missing {
        row,
        value: (),
        unit: String::new(),
    };
    let labelled = |values: Vec<f64>| -> Vec<Labelled<Option<f64>>> {
        let rows = labels.iter().cloned().zip(values);
        let rows = rows.map(|(row, value)| Labelled {
            row,
            value: (!value.is_nan()).then_some(value),
        });
        rows.collect()
    };
    let meeting = |condition: &Condition| -> Vec<String> {
        let rows = (0..labels.len()).filter(|&row| meets(table, row, condition));
        rows.map(|row| labels[row].clone()).collect()
    };
    let unit = String::new();
    let number = |value| AnswerValue::Number {
        value,
        unit: String::new(),
    };
    match question {
        Question::Aggregate(
            of @ (Aggregate::Argmin | Aggregate::Argmax | Aggregate::First | Aggregate::Last),
            expression,
        ) => {
            let all = of_rows(expression);
            let row = match of {
                Aggregate::First => Some(0),
                Aggregate::Last => Some(all.len() - 1),
                _ => {
                    let value = aggregate(*of, &values(expression));
                    all.iter().position(|&x| x == value)
                }
            };
            match (of, row) {
                (_, Some(row)) if !all[row].is_nan() => AnswerValue::Row {
                    row: labels[row].clone(),
                    value: all[row],
                    unit,
                },
                (_, row) => missing(row.map(|row| labels[row].clone())),
            }
        }
        Question::Aggregate(of, expression) => {
            let values = values(expression);
            let least = match of {
                Aggregate::Count => 0,
                Aggregate::SampleStd | Aggregate::SampleVariance => 2,
                _ => 1,
            };
            match values.len() < least {
                true => missing(None),
                false => number(aggregate(*of, &values)),
            }
        }
        Question::Pair(function, a, b) => {
            let rows = of_rows(a).into_iter().zip(of_rows(b));
            let there = rows.filter(|(a, b)| !a.is_nan() && !b.is_nan());
            match pair(*function, &there.collect::<Vec<_>>()) {
                Some(value) => number(value),
                None => missing(None),
            }
        }
        Question::Percentile(of, _) if values(of).is_empty() => missing(None),
        Question::Percentile(of, percent) => number(percentile(&values(of), *percent)),
        Question::Count(condition) => number(meeting(condition).len() as f64),
        Question::Rows(condition) => AnswerValue::Rows(meeting(condition)),
        Question::Histogram(of, edges) => {
            let values = values(of);
            let bins: Vec<Bin> = edges
                .windows(2)
                .map(|edges| {
                    let within = |x: &&f64| edges[0] <= **x && **x < edges[1];
                    Bin {
                        from: edges[0],
                        to: edges[1],
                        count: values.iter().filter(within).count() as u64,
                    }
                })
                .collect();
            let inside: u64 = bins.iter().map(|bin| bin.count).sum();
            AnswerValue::Histogram {
                bins,
                outside: values.len() as u64 - inside,
                unit,
            }
        }
        Question::Sort(of) => AnswerValue::Values {
            values: sorted(&values(of)),
            unit,
        },
        Question::TopK(of, count) => {
            let rows = labelled(of_rows(of)).into_iter();
            let rows = rows.filter_map(|Labelled { row, value }| {
                let value = value?;
                Some(Labelled { row, value })
            });
            let mut rows: Vec<Labelled<f64>> = rows.collect();
            rows.sort_by(|a, b| b.value.total_cmp(&a.value));
            rows.truncate(*count as usize);
            AnswerValue::Ranked { rows, unit }
        }
        Question::Score(of) => AnswerValue::Scores {
            rows: labelled(of_rows(of)),
            unit,
        },
        Question::Ordered(function, of) => AnswerValue::Scores {
            rows: labelled(ordered(*function, &of_rows(of))),
            unit,
        },
        Question::Logistic(of) => {
            let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
            AnswerValue::Scores {
                rows: labelled(of_rows(of).into_iter().map(logistic).collect()),
                unit,
            }
        }
        Question::Tree(tree) => {
            let rows = labels.iter().enumerate().map(|(row, label)| Labelled {
                row: label.clone(),
                value: leaf(table, row, tree),
            });
            AnswerValue::Leaves {
                rows: rows.collect(),
            }
        }
    }
}

/// Returns whether two answers are the same, up to rounding of their numbers.
pub(crate) fn agree(a: &AnswerValue, b: &AnswerValue) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    match (a, b) {
        (AnswerValue::Number { value: a, .. }, AnswerValue::Number { value: b, .. }) => {
            close(*a, *b)
        }
        (
            AnswerValue::Row { row, value, .. },
            AnswerValue::Row {
                row: other,
                value: b,
                ..
            },
        ) => row == other && close(*value, *b),
        (AnswerValue::Values { values: a, .. }, AnswerValue::Values { values: b, .. }) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b))
        }
        (AnswerValue::Scores { rows: a, .. }, AnswerValue::Scores { rows: b, .. }) => {
            let same = |(a, b): (&Labelled<Option<f64>>, &Labelled<Option<f64>>)| {
                let same = match (a.value, b.value) {
                    (Some(a), Some(b)) => close(a, b),
                    (a, b) => a == b,
                };
                a.row == b.row && same
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        (AnswerValue::Ranked { rows: a, .. }, AnswerValue::Ranked { rows: b, .. }) => {
            let same = |(a, b): (&Labelled<f64>, &Labelled<f64>)| {
                a.row == b.row && close(a.value, b.value)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        (a, b) => a == b,
    }
}

/// Asks about an encrypted table, and compares with the answers in the clear.
#[track_caller]
pub(crate) fn assert_answers(table: &Table, questions: &[Question]) {
    let answers = quick_key_set().ask(table, questions);
    assert_eq!(answers.len(), questions.len());
    for (given, question) in answers.iter().zip(questions) {
        assert_eq!(given.name, question.public_text());
        let expected = answer(table, question);
        let agree = agree(&given.value, &expected);
        assert!(agree, "{question}: {:?}, not {expected:?}", given.value);
    }
}
