//! Tests of the way from a source into a batch, and of the cursor after it.

use std::fs;

use super::*;

fn config(directory: &std::path::Path, out_of_range: &str) -> Config {
    let text = format!(
        r#"
        [server]
        url = "https://localhost:1"
        [device]
        key = "k"
        [tls]
        ca = "c"
        certificate = "c"
        key = "k"
        [csv]
        path = "log.csv"
        label = "time"
        [[column]]
        name = "level"
        offset = 0.0
        scale = 1.0
        bits = 8
        out_of_range = "{out_of_range}"
        source = {{ kind = "csv" }}
        "#
    );
    Config::parse(&text, directory, []).unwrap()
}

#[test]
fn a_reading_that_is_missing_in_an_optional_column_leaves_a_gap_and_no_row_is_lost() {
    let desk = tempfile::tempdir().unwrap();
    let log = desk.path().join("log.csv");
    fs::write(&log, "time,level\na,1\nb,\nc,NaN\nd,wet\ne,1000\nf,6\n").unwrap();
    let metrics = Arc::<Metrics>::default();
    let mut optional = config(desk.path(), "skip");
    optional.columns[0].definition.derived.optional =
        tfhe_sbc_upload::declaration::Missing::Encrypted;
    let mut reader = Reader::new(&optional, None, &metrics).unwrap();
    let mut rows = batch();
    reader.fill(&mut rows, 100).unwrap();
    assert_eq!(rows.labels(), ["a", "b", "c", "d", "e", "f"]);
    let found: Vec<Option<f64>> = rows.readings()[0]
        .iter()
        .map(|reading| (!reading.is_nan()).then_some(*reading))
        .collect();
    assert_eq!(found, [Some(1.0), None, None, None, None, Some(6.0)]);
    let text = metrics.render();
    let line = "tfhe_sbc_agent_missing_readings_total{column=\"level\"} 4";
    assert!(text.contains(line), "{text}");
    // As before in a column that is not.
    let metrics = Arc::<Metrics>::default();
    let mut reader = Reader::new(&config(desk.path(), "skip"), None, &metrics).unwrap();
    let mut rows = batch();
    reader.fill(&mut rows, 100).unwrap();
    assert_eq!(rows.labels(), ["a", "f"]);
    assert!(!metrics.render().contains("column=\"level\""));
}

fn batch() -> Batch {
    Batch::new(1, 100, Some(Duration::from_secs(1)))
}

#[test]
fn after_a_bad_line_the_cursor_is_behind_the_rows_before_it() {
    let desk = tempfile::tempdir().unwrap();
    let log = desk.path().join("log.csv");
    fs::write(&log, "time,level\na,1\nb,1000\nc,3\n").unwrap();
    let metrics = Arc::<Metrics>::default();
    let strict = config(desk.path(), "fail");
    let mut reader = Reader::new(&strict, None, &metrics).unwrap();
    let mut first = batch();
    reader.fill(&mut first, 100).unwrap_err();
    assert_eq!(first.labels(), ["a"]);
    // After the value is corrected, the rest is read, and nothing twice.
    for (policy, expected) in [("skip", &["c"][..]), ("clamp", &["b", "c"])] {
        let config = config(desk.path(), policy);
        let mut reader = Reader::new(&config, Some(first.cursor()), &metrics).unwrap();
        let mut rest = batch();
        reader.fill(&mut rest, 100).unwrap();
        assert_eq!(rest.labels(), expected);
        assert_eq!(rest.cursor(), reader.source.cursor());
    }
    // With no row before it, the bad line is still the next one.
    let mut reader = Reader::new(&strict, Some(first.cursor()), &metrics).unwrap();
    let mut none = batch();
    none.moved_to(first.cursor().to_vec());
    reader.fill(&mut none, 100).unwrap_err();
    assert_eq!(none.cursor(), first.cursor());
}
