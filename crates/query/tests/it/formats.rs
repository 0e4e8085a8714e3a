//! The formats of requests and results: as they were written down, and damaged in ways that
//! no checksum sees.

use crate::key_set::{KeySet, Table, key_set, questions, table};
use ciborium::Value;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::wire::{HEADER_BYTES, Header, Kind, Message};
use tfhe_sbc_query::cost::costs;
use tfhe_sbc_query::request::{Manner, ParsedRequest, Request};
use tfhe_sbc_query::results::{
    AnswerValue, EncryptedAnswer, Gaps, Meaning, Results, ResultsError, Spread,
};
use tfhe_sbc_query::scope::{About, AboutDevice, GroupKey, Scope};
use tfhe_sbc_query::{Pair, Question};
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::readings::Column;

fn small_table() -> Table {
    table(
        &[("a", -10.0, 0.25, 4), ("b", 0.0, 0.5, 3)],
        vec![vec![-9.0, -8.5], vec![3.0, 0.5]],
    )
}

/// One of each kind.
fn all_questions() -> Vec<Question> {
    let mut all = questions(&[
        "min(a)",
        "sample_std(a - 2 * b + 3.5)",
        "percentile(a, 99.5)",
        "count(a > 1 and (not b in (1, 2) or b between 0 and encrypted(3)))",
        "rows(a <= encrypted(-9.5))",
        "histogram(b, 0, 1, 2.5)",
        "sort(a)",
        "top_k(a, 2)",
        "score(a)",
        "logistic(b)",
    ]);
    let tree = r#"{"if": "a < 1", "then": "x", "else": {"if": "b > 1", "then": 1, "else": 2}}"#;
    all.push(Question::parse("tree(t.json)", |_| Ok(tree.to_owned())).unwrap());
    all
}

/// Functions of rows in their order, which came after the first golden bytes.
fn ordered_questions() -> Vec<Question> {
    questions(&[
        "rolling_sum(a, 24, 1)",
        "rolling_mean(a - b, 2)",
        "rolling_min(a, 2)",
        "rolling_max(b, 2)",
        "cumsum(a)",
        "cummin(a)",
        "cummax(b)",
        "shift(a)",
        "diff(a, -2)",
    ])
}

fn all_meanings() -> Vec<(Meaning, usize)> {
    let column = || Column {
        unit: "m".to_owned(),
        ..small_table().metadata.columns.remove(0)
    };
    let labels = || vec!["r0".to_owned(), "r1".to_owned()];
    let measure = Spread {
        sample: true,
        root: false,
    };
    vec![
        (Meaning::Reading(column()), 2),
        (Meaning::Range(column()), 4),
        (Meaning::Sum(column(), 2), 3),
        (Meaning::Mean(column(), 2), 3),
        (
            Meaning::Spread {
                column: column(),
                rows: 2,
                sum_blocks: 3,
                measure,
            },
            8,
        ),
        (Meaning::Place(column(), 2, labels()), 3),
        (Meaning::Count, 2),
        (Meaning::Rows(labels()), 2),
        (
            Meaning::Histogram {
                column: column(),
                edges: vec![0.0, 1.0, 2.5],
                rows: 2,
            },
            2,
        ),
        (Meaning::Readings(column(), 2), 4),
        (Meaning::Scores(column(), labels()), 4),
        (Meaning::Logistic(column(), labels()), 4),
        (Meaning::Leaves(labels(), vec!["x".to_owned()]), 2),
    ]
}

/// The meanings that came after the first golden bytes, with the number of blocks of each.
fn later_meanings() -> Vec<(Meaning, usize)> {
    let places = Meaning::Places {
        column: small_table().metadata.columns[0].clone(),
        count: 2,
        code_blocks: 2,
        labels: small_table().metadata.rows,
    };
    vec![
        (places.clone(), 6),
        (Meaning::Optional(Box::new(places), Gaps::Marked(false)), 6),
    ]
}

/// The meanings of functions of two columns, with the number of blocks of each.
fn pair_meanings() -> Vec<(Meaning, usize)> {
    let pair = |function, blocks: &[u32]| Meaning::Pair {
        columns: Box::new([0, 1].map(|at| small_table().metadata.columns[at].clone())),
        rows: 2,
        blocks: blocks.to_vec(),
        function,
    };
    let counted = Gaps::Counted(1);
    vec![
        (pair(Pair::Cov, &[3, 2, 4]), 9),
        (pair(Pair::Corr, &[3, 2, 4, 5, 4]), 18),
        (pair(Pair::Dot, &[3, 2, 4]), 9),
        (
            Meaning::Optional(Box::new(pair(Pair::Cov, &[3, 2, 4])), counted),
            10,
        ),
    ]
}

/// A result with one answer of each meaning, all of whose blocks are 0.
fn results_of(keys: &KeySet, meanings: Vec<(Meaning, usize)>) -> Vec<u8> {
    let parameters = keys.secret.parameters();
    let blocks: usize = meanings.iter().map(|(_, blocks)| blocks).sum();
    let answers = meanings.into_iter().map(|(meaning, blocks)| {
        let name = "it".to_owned();
        EncryptedAnswer {
            name,
            group: None,
            blocks: blocks as u32,
            compact: Vec::new(),
            joined: false,
            meaning,
        }
    });
    let results = Results::new(answers.collect(), 7);
    let zero = LweCiphertext::trivial(parameters.lwe_dimension(), 0);
    results
        .seal(
            parameters,
            keys.secret.fingerprint(),
            &vec![zero; blocks].into(),
        )
        .unwrap()
}

/// Compares what is in a metadata message with a stored rendering of it.
#[track_caller]
fn assert_golden(name: &str, message: &[u8]) {
    let (message, _) = Message::parse(message).unwrap();
    let value: Value = ciborium::from_reader(message.payload).unwrap();
    let mut text = serde_json::to_string_pretty(&value).unwrap();
    text.push('\n');
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    // To accept a change: TFHE_SBC_BLESS=1 cargo test -p tfhe-sbc-service --test it formats
    if std::env::var_os("TFHE_SBC_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{path}");
}

#[test]
fn requests_and_results_are_written_as_they_were() {
    let keys = key_set();
    let request = keys.seal(&small_table(), &all_questions()).unwrap();
    assert_golden("request", &request);
    let asked = questions(&[
        "count(a > encrypted(-9) and b between encrypted(0) and 2)",
        "rows(a <= encrypted(-9.5) or a in (-8, encrypted(-7)))",
    ]);
    let compact = keys.seal(&small_table().compact(), &asked).unwrap();
    assert_golden("compact_request", &compact);
    assert_golden("results", &results_of(keys, all_meanings()));
    assert_golden("later_results", &results_of(keys, later_meanings()));
    assert_golden("grouped_results", &grouped_results(keys));
    let scope = Scope {
        since: Some(Moment::from_unix_ms(1_795_435_200_000)),
        until: Some(Moment::from_unix_ms(1_795_521_600_250)),
        newest: Some(3),
        by: "device,15m".parse().unwrap(),
    };
    let manner = Manner {
        scope,
        ..Manner::default()
    };
    let under = (keys.secret.parameters(), keys.secret.fingerprint());
    let asked = questions(&["last(a)"]);
    let scoped = Request::seal_in(manner, &asked, &small_table().metadata, under, None).unwrap();
    assert_golden("scoped_request", &scoped);
    assert_golden("pair_results", &results_of(keys, pair_meanings()));
    let pairs = questions(&["cov(a, b)", "corr(a - b, 2 * a)", "dot(a, b)"]);
    let pairs = keys.seal(&small_table(), &pairs).unwrap();
    assert_golden("pair_request", &pairs);
    let ordered = keys.seal(&small_table(), &ordered_questions()).unwrap();
    assert_golden("ordered_request", &ordered);
    let parsed = Request::parse(&scoped, under.0, under.1).unwrap();
    assert_eq!(parsed.request.scope, scope);
}

/// A result about a group of rows, whose block is 0.
fn grouped_results(keys: &KeySet) -> Vec<u8> {
    let moment = Moment::from_unix_ms;
    let answer = EncryptedAnswer {
        name: "last(a)".to_owned(),
        group: Some(GroupKey {
            device: Some("hill".to_owned()),
            from: Some(moment(1_795_435_200_000)),
            until: Some(moment(1_795_438_800_000)),
            rows: 2,
        }),
        blocks: 2,
        compact: Vec::new(),
        joined: false,
        meaning: Meaning::Row(
            small_table().metadata.columns[0].clone(),
            "2026-11-23T12:30".to_owned(),
        ),
    };
    let about = About {
        devices: vec![AboutDevice {
            name: Some("hill".to_owned()),
            rows: 3,
            uploads: 2,
        }],
        span: Some(Span {
            first: moment(1_795_435_200_000),
            last: moment(1_795_437_000_000),
        }),
        rows: 3,
        uploads: 2,
        repeated: 1,
    };
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let zero = LweCiphertext::trivial(parameters.lwe_dimension(), 0);
    let results = Results::new(vec![answer], 0).about(about);
    let bytes = results
        .seal(parameters, key, &vec![zero; 2].into())
        .unwrap();
    let (read, _) = Results::parse(&bytes, parameters, key).unwrap();
    assert_eq!(read, results);
    bytes
}

/// Results of versions 1 and 2 have the same content. Version 1 has a list of blocks even if it is empty.
#[test]
fn results_of_former_versions_are_read() {
    let keys = key_set();
    let new = results_of(keys, all_meanings());
    let (_, blocks) = Message::parse(&new).unwrap();
    let of_version = |version: u32| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
        let path = format!("{folder}/results_{version}.json");
        let old: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut bytes = keys.message(&old);
        bytes.extend_from_slice(blocks);
        bytes
    };
    let read = |bytes: &[u8]| {
        Results::decrypt(bytes, &keys.secret)
            .unwrap()
            .all()
            .unwrap()
    };
    assert_eq!(read(&of_version(1)), read(&new));
    assert_eq!(read(&of_version(2)), read(&new));
}

/// The message with one bit of its payload turned over, under a checksum that fits.
fn damaged(keys: &KeySet, message: &Message<'_>, bit: usize) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes.extend_from_slice(message.payload);
    bytes[HEADER_BYTES + bit / 8] ^= 1 << (bit % 8);
    let parameters = keys.secret.parameters().fingerprint();
    let header = Header::new(Kind::Metadata, parameters, keys.secret.fingerprint());
    header.seal_vec(&mut bytes).unwrap();
    bytes
}

#[test]
fn requests_with_any_bit_turned_over_do_no_harm() {
    requests_with_bits_turned_over(64);
}

#[test]
#[ignore = "half a minute of counts"]
fn requests_with_any_bit_turned_over_can_be_counted() {
    requests_with_bits_turned_over(8);
}

/// Reads requests with every third bit turned over, and counts the questions of one in `every` of those that can be read.
fn requests_with_bits_turned_over(every: usize) {
    let keys = key_set();
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let table = small_table();
    let request = keys.seal(&table, &all_questions()).unwrap();
    let (message, _) = Message::parse(&request).unwrap();
    let (mut parsed, mut counted) = (0, 0);
    for bit in (0..8 * message.payload.len()).step_by(3) {
        let forged = damaged(keys, &message, bit);
        let Ok(ParsedRequest { request, .. }) = Request::parse(&forged, parameters, key) else {
            continue;
        };
        parsed += 1;
        if parsed % every == 0 {
            for (_, question) in request.questions {
                let cost = costs(parameters, &table.metadata, &[question]);
                counted += usize::from(cost.is_ok());
            }
        }
    }
    assert!(parsed > 100, "most texts and numbers may be others");
    assert!(
        every * counted > 8 * parsed,
        "of most requests all but one question is unharmed"
    );
}

#[test]
fn results_with_any_bit_turned_over_do_no_harm() {
    let keys = key_set();
    let all = || [all_meanings(), later_meanings(), pair_meanings()].concat();
    let result = results_of(keys, all());
    let answers = Results::decrypt(&result, &keys.secret).unwrap();
    let answers = answers.all().unwrap();
    assert_eq!(answers.len(), all().len());
    let (message, rest) = Message::parse(&result).unwrap();
    let mut read = 0;
    for bit in (0..8 * message.payload.len()).step_by(3) {
        let mut forged = damaged(keys, &message, bit);
        forged.extend_from_slice(rest);
        read += usize::from(Results::decrypt(&forged, &keys.secret).is_ok());
    }
    assert!(read > 100, "most texts and numbers may be others");
}

/// The rows of the largest values are among all rows.
#[test]
fn a_place_behind_the_last_row_is_refused() {
    let keys = key_set();
    let answer = EncryptedAnswer {
        name: "top_k(a, 2)".to_owned(),
        group: None,
        blocks: 6,
        compact: Vec::new(),
        joined: false,
        meaning: later_meanings().remove(0).0,
    };
    let parameters = keys.secret.parameters();
    let read = |blocks: &[u64]| answer.clone().read(parameters, blocks);
    let found = read(&[1, 2, 3, 0, 1, 0]).unwrap().value;
    let AnswerValue::Ranked { rows, .. } = found else {
        panic!("{found:?}");
    };
    let labels: Vec<&str> = rows.iter().map(|row| row.row.as_str()).collect();
    assert_eq!(labels, ["r1", "r0"]);
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    assert_eq!(values, [-10.0 + 0.25 * 9.0, -10.0 + 0.25 * 3.0]);
    for blocks in [&[1, 2, 3, 0, 2, 0][..], &[1, 2, 3, 0, 1], &[0; 7]] {
        assert!(matches!(read(blocks), Err(ResultsError::Implausible(_))));
    }
    // Nor does a count that no rows have take the time of as many.
    let mut endless = answer.clone();
    let Meaning::Places {
        count, code_blocks, ..
    } = &mut endless.meaning
    else {
        unreachable!()
    };
    (*count, *code_blocks) = (u32::MAX, 0);
    let read = endless.read(parameters, &[0; 6]);
    assert!(matches!(read, Err(ResultsError::Implausible(_))));
}

/// The sums of two columns are those of numbers, and as many as the function needs.
#[test]
fn sums_that_no_numbers_have_are_refused() {
    let keys = key_set();
    let parameters = keys.secret.parameters();
    let answer = |meaning, blocks| EncryptedAnswer {
        name: "cov(a, b)".to_owned(),
        group: None,
        blocks,
        compact: Vec::new(),
        joined: false,
        meaning,
    };
    let cov = || pair_meanings().remove(0).0;
    let value = |blocks: &[u64]| {
        answer(cov(), 9)
            .read(parameters, blocks)
            .map(|read| read.value)
    };
    // Codes 1 and 2, and 3 and 1: the sums 3 and 4, and the sum of products 5.
    let found = value(&[3, 0, 0, 0, 1, 1, 1, 0, 0]).unwrap();
    let expected = AnswerValue::Number {
        value: -0.125,
        unit: String::new(),
    };
    assert_eq!(found, expected);
    for blocks in [
        &[3, 0, 0, 0, 1, 1, 1, 0][..],
        &[3, 0, 0, 0, 1, 1, 1, 0, 0, 0],
    ] {
        assert!(matches!(value(blocks), Err(ResultsError::Implausible(_))));
    }
    // More rows than there are, sums of another function, and squares that are too small.
    let (counted, _) = pair_meanings().remove(3);
    let read = answer(counted, 10).read(parameters, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(read, Err(ResultsError::Implausible(_))));
    let mut meaning = pair_meanings().remove(1).0;
    let read =
        |meaning, blocks: &[u64]| answer(meaning, blocks.len() as u32).read(parameters, blocks);
    let mut squares = [0; 18];
    squares[0] = 3;
    let too_small = read(meaning.clone(), &squares);
    assert!(matches!(too_small, Err(ResultsError::Implausible(_))));
    let Meaning::Pair { blocks, .. } = &mut meaning else {
        unreachable!()
    };
    *blocks = vec![3, 2, 4];
    let without_squares = read(meaning, &[0; 9]);
    assert!(matches!(without_squares, Err(ResultsError::Implausible(_))));
}
