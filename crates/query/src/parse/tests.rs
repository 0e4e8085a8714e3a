use super::*;

#[test]
fn questions_survive_their_text() {
    for text in [
        "min(temperature_c)",
        "mean(a)",
        "sample_std(a - b)",
        "argmax(a + b - 2.5)",
        "range(0.5 * a - 3 * b)",
        "percentile(a, 99.5)",
        "count(a >= -1.5)",
        "count(illuminance_lx > encrypted(20000))",
        "rows(a < 5 and b != 7 and c == 0.5)",
        "rows(a < 5 or b != 7 and c == 0.5)",
        "rows((a < 5 or b != 7) and not c == 0.5)",
        "rows(not (a < 5 and b > 3))",
        "count(a between -3 and encrypted(4) and b > 1)",
        "count(a in (1, 2, encrypted(3)))",
        "count(not a in (1, 2))",
        "count(a - b > 3)",
        "histogram(a, -10, 0, 10.5)",
        "sort(a)",
        "top_k(a + b, 3)",
        "score(0.25 * a - b + 7)",
        "logistic(-0.1 * a)",
        "rolling_sum(a, 24)",
        "rolling_mean(a - b, 3)",
        "rolling_min(a, 7, 1)",
        "rolling_max(a, 2)",
        "cumsum(a)",
        "cummin(a)",
        "cummax(2 * a)",
        "shift(a)",
        "shift(a, -2)",
        "diff(a)",
        "diff(a + b, 24)",
        "cov(a, b)",
        "corr(a - b, 2 * a + 1)",
        "dot(a, a)",
    ] {
        let question: Question = text.parse().unwrap();
        assert_eq!(question.to_string(), text);
    }
}

#[test]
fn other_ways_to_write_are_understood() {
    for (text, meant) in [
        (
            " count( a<=5 and b>encrypted( 3 ) ) ",
            "count(a <= 5 and b > encrypted(3))",
        ),
        (
            "COUNT(a = 5 AND NOT b <> 7)",
            "count(a == 5 and not b != 7)",
        ),
        ("rows(5 < a)", "rows(a > 5)"),
        ("rows(5 >= a + 1)", "rows(a + 1 <= 5)"),
        ("rows(a > b)", "rows(a - b > 0)"),
        ("rows(a + 3 > b - 1)", "rows(a - b > -4)"),
        ("rows(((a > 1)))", "rows(a > 1)"),
        (
            "count(a not between 1 and 2)",
            "count(not a between 1 and 2)",
        ),
        ("count(a NOT IN (1))", "count(not a in (1))"),
        ("max(a*2 + 1e-3)", "max(2 * a + 0.001)"),
        ("max(1.5e+2*a + 2*3)", "max(150 * a + 6)"),
        ("max(a - b - a + a)", "max(-b + a)"),
        ("max(3d_sensor)", "max(3d_sensor)"),
        ("min(max)", "min(max)"),
        ("Rolling_Mean( a ,24 )", "rolling_mean(a, 24)"),
        ("shift(a, 1)", "shift(a)"),
        ("rolling_mean(a, 3, 3)", "rolling_mean(a, 3, 3)"),
    ] {
        let question: Question = text.parse().unwrap();
        assert_eq!(question.to_string(), meant, "{text}");
    }
}

#[test]
fn functions_of_two_columns_need_two() {
    for (text, reason) in [
        ("cov(a)", "it lacks a second column, as in cov(a, b)"),
        ("corr(a, 3)", "corr is of two columns, not of a number"),
        ("dot(2, a)", "dot is of a column, not of a number"),
        ("cov(a, b, a)", "it has too many arguments"),
    ] {
        let error = text.parse::<Question>().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn windows_that_there_are_not_are_refused() {
    for (text, reason) in [
        (
            "rolling_mean(a)",
            "it lacks the rows of a window, as in rolling_mean(column, 24)",
        ),
        ("rolling_mean(a, 0)", "a window has 1 row or more"),
        ("rolling_sum(a, 2.5)", "2.5 is no number of rows"),
        ("rolling_max(a, 3, 4)", "cannot need 4 values"),
        ("rolling_mean(a, 3, 1)", "rolling_sum"),
        ("diff(a, 0)", "no secret"),
        ("shift(a, 0.5)", "0.5 is no number of rows"),
        ("cumsum(a, 2)", "too many arguments"),
        ("rolling_meen(a, 3)", "rolling_mean"),
    ] {
        let error = text.parse::<Question>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn what_is_not_a_question_says_why() {
    let deep = format!("count({}a > 1{})", "(".repeat(100_000), ")".repeat(100_000));
    let nots = format!("count({} a > 1)", "not ".repeat(100_000));
    for (text, reason) in [
        ("temperature", "no function"),
        ("min(temperature", "no function"),
        ("average(a)", "no function 'average'. There are min, max"),
        ("meen(a)", "did you mean 'mean'?"),
        ("variance()", "a column or a number is expected at the end"),
        ("min(a b)", "'b' is too much"),
        ("min(a, b)", "too many arguments"),
        ("min(7)", "of a column, not of a number"),
        ("min(a - a)", "of a column, not of a number"),
        ("min(a * b)", "multiplies columns"),
        ("min(a$)", "not a column name"),
        ("min(a or b)", "'or' is too much"),
        ("rows(a)", "no comparison"),
        ("count(a >)", "expected at the end"),
        ("count(a > 1.2.3)", "not a number"),
        ("count(1 > 2)", "not two numbers"),
        ("count(a > encrypted(5)", "not closed"),
        ("count(a > encrypted(x))", "'x' is not a number"),
        ("count(a > 1e999)", "'1e999' is not a number"),
        ("count(a - a > encrypted(5))", "not two numbers"),
        ("count(> 5)", "expected before '>'"),
        ("count(a > 5 and )", "expected at the end"),
        ("count((a > 5)", "')' is expected at the end"),
        ("count(a between 1, 2)", "'and' is expected before ','"),
        ("count(a in 1)", "'(' is expected before '1'"),
        ("count(a in ())", "')' is not a number"),
        (
            "count(a not > 1)",
            "'between' or 'in' is expected before '>'",
        ),
        ("percentile(a)", "lacks a percentage"),
        ("percentile(a, 101)", "101 is no percentage"),
        ("percentile(a, -1)", "-1 is no percentage"),
        ("percentile(a, 5, 6)", "too many arguments"),
        ("top_k(a)", "lacks how many"),
        ("top_k(a, 0)", "0 is no number of rows"),
        ("top_k(a, 1.5)", "1.5 is no number of rows"),
        ("histogram(a)", "lacks the edges"),
        ("histogram(a, 1)", "lacks the edges"),
        ("histogram(a, 1, 3, 2)", "overlap: 2 is not above 3"),
        ("histogram(a, 1, 1)", "overlap: 1 is not above 1"),
        ("tree(mine.json)", "mine.json: no files are read here"),
        (&deep, "nested more than"),
        (&nots, "nested more than"),
    ] {
        let error = text.parse::<Question>().unwrap_err().to_string();
        let shown = &error[error.len().saturating_sub(600)..];
        assert!(error.contains(reason), "{reason}: {shown}");
    }
}

#[test]
fn a_tree_is_read_from_its_file() {
    let read = |name: &str| match name {
        "mine.json" => Ok(r#"{"if": "a < 5", "then": "low", "else": "high"}"#.to_owned()),
        _ => Err("it is not there".to_owned()),
    };
    let question = Question::parse("tree( mine.json )", read).unwrap();
    assert_eq!(question.to_string(), "tree(mine.json)");
    assert_eq!(question.columns(), ["a"]);
    let error = Question::parse("tree(other.json)", read).unwrap_err();
    assert!(error.to_string().contains("other.json: it is not there"));
}
