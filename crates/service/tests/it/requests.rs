//! Tests of what a request shows the server, of the requests that the server refuses, and of the
//! results that the key owner refuses.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::key_set::{self, Table, key_set, questions, table};
use ciborium::Value;
use tfhe_sbc_columns::Server;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, HEADER_BYTES, Message};
use tfhe_sbc_query::condition::{Condition, Relation, Threshold};
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::{EvaluateError, Form, evaluate};
use tfhe_sbc_query::expression::Expression;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Request, RequestError};
use tfhe_sbc_query::results::{EncryptedAnswer, Meaning, Results, ResultsError};
use tfhe_sbc_query::tree::{Branch, Tree};
use tfhe_sbc_query::{Aggregate, Question};
use tfhe_sbc_service::backend::{Backend, BackendError, BackendErrorKind, Uploader};
use tfhe_sbc_service::key_backend::KeyBackend;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::fresh_seeds;
use tfhe_sbc_upload::readings::Column;

/// The key set's server behind the service.
fn backend() -> &'static KeyBackend {
    static BACKEND: OnceLock<KeyBackend> = OnceLock::new();
    BACKEND.get_or_init(|| {
        let key = key_set().server.prepare(&|_| ());
        let devices = DeviceKeys::none(&key);
        KeyBackend::new(key, devices)
    })
}

/// Evaluates a request on an upload behind the service.
fn evaluate_behind(upload: &[u8], request: &[u8]) -> Result<Vec<u8>, BackendError> {
    let evaluation = backend().evaluate(&[upload.into()], request, &Progress::default())?;
    Ok(evaluation.result)
}

fn small_table() -> Table {
    table(
        &[("a", -10.0, 0.25, 8), ("b", 0.0, 1.0, 4)],
        vec![vec![31.25, 2.0], vec![9.0, 4.0]],
    )
}

/// Every text and number of a CBOR value.
fn leaves(value: &Value, texts: &mut Vec<String>, numbers: &mut Vec<f64>) {
    match value {
        Value::Text(text) => texts.push(text.clone()),
        Value::Integer(number) => numbers.push(i128::from(*number) as f64),
        Value::Float(number) => numbers.push(*number),
        Value::Array(values) => values.iter().for_each(|v| leaves(v, texts, numbers)),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            leaves(key, texts, numbers);
            leaves(value, texts, numbers);
        }),
        other => panic!("a request has no {other:?}"),
    }
}

#[test]
fn an_encrypted_threshold_is_nowhere_in_the_request() {
    let keys = key_set();
    let asked = questions(&[
        "rows(b < 7 and a >= encrypted(13.75))",
        "count(a != encrypted(-2.5))",
    ]);
    let request = keys.seal(&small_table(), &asked).unwrap();
    let (metadata, rest) = Message::parse(&request).unwrap();
    assert!(
        !rest.is_empty(),
        "the thresholds are ciphertexts behind the metadata"
    );

    let content: Value = ciborium::from_reader(metadata.payload).unwrap();
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    leaves(&content, &mut texts, &mut numbers);
    assert!(
        texts.contains(&"rows(b < 7 and a >= encrypted(…))".to_owned()),
        "{texts:?}"
    );
    assert!(
        numbers.contains(&7.0),
        "what is not to be encrypted is there"
    );
    // The readings and their codes: 13.75 is code 95, -2.5 is code 30.
    for secret in ["13.75", "2.5", "95", "30"] {
        assert!(texts.iter().all(|text| !text.contains(secret)), "{texts:?}");
    }
    for secret in [13.75, -2.5, 2.5, 95.0, 30.0] {
        assert!(!numbers.contains(&secret), "{numbers:?}");
    }
}

#[test]
fn requests_with_other_encrypted_thresholds_look_the_same() {
    let keys = key_set();
    let sealed = |threshold: f64| {
        let asked = questions(&[&format!("count(a > encrypted({threshold}))")]);
        keys.seal(&small_table(), &asked).unwrap()
    };
    let (one, other, again) = (sealed(-9.75), sealed(53.5), sealed(53.5));
    let (metadata, list) = Message::parse(&one).unwrap();
    let clear = ENVELOPE_BYTES + metadata.payload.len();
    assert_eq!(one[..clear], other[..clear]);
    assert_eq!(one.len(), other.len());
    // Even equal thresholds have ciphertexts that differ.
    assert_eq!(other[..clear], again[..clear]);
    assert_ne!(other[clear..], again[clear..]);
    assert!(!list.is_empty());
}

#[test]
fn an_upload_shows_its_outline_only() {
    let keys = key_set();
    let summary = backend()
        .check_upload(&keys.upload(&small_table()), Uploader::Owner)
        .unwrap();
    let columns = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(
        summary,
        UploadSummary {
            elements: 2 * (4 + 2),
            rows: 2,
            columns,
            span: None,
            key: Some(key_set().secret.fingerprint().to_string()),
            epoch: None,
        }
    );
}

fn above(column: &str, threshold: Threshold) -> Condition {
    Condition::Compare {
        of: Expression::from(column),
        relation: Relation::Gt,
        threshold,
    }
}

fn count(column: &str, threshold: Threshold) -> Question {
    Question::Count(above(column, threshold))
}

fn max(column: &str) -> Question {
    Question::Aggregate(Aggregate::Max, column.into())
}

fn encrypted(first_block: u32, bits: u32) -> Threshold {
    Threshold::Encrypted {
        first_block,
        offset: -10.0,
        scale: 0.25,
        bits,
    }
}

#[test]
fn requests_that_no_client_makes_are_refused() {
    let keys = key_set();
    let upload = keys.upload(&small_table());
    // Four blocks of a threshold, to go with forged metadata.
    let honest = keys
        .seal(&small_table(), &questions(&["count(a > encrypted(1))"]))
        .unwrap();
    let (_, list) = Message::parse(&honest).unwrap();
    let many = |question: Question, times| vec![question; times];
    let one = || above("a", Threshold::Clear(0.0));
    let conditions = |times| Question::Count(Condition::All(vec![one(); times]));
    let nested = |depth| {
        let wrap = |inner, _| Condition::Not(Box::new(inner));
        Question::Rows((1..depth).fold(one(), wrap))
    };
    let expression = |terms: &[(&str, f64)], constant| {
        let terms = terms
            .iter()
            .map(|&(name, weight)| (name.to_owned(), weight));
        let terms = terms.collect();
        Question::Sort(Expression { terms, constant })
    };
    let histogram = |edges: &[f64]| Question::Histogram("a".into(), edges.to_vec());
    let tree = |otherwise| {
        let json = r#"{"if": "a > 0", "then": 1, "else": 2}"#;
        let mut tree = Tree::from_json("t", json).unwrap();
        tree.nodes[0].otherwise = otherwise;
        Question::Tree(tree)
    };
    for (asked, reason) in [
        (
            many(count("a", encrypted(1, 8)), 1),
            "not encrypted with that column's encoding",
        ),
        (
            many(count("a", encrypted(u32::MAX, 8)), 1),
            "not encrypted with that column's",
        ),
        (
            many(count("a", encrypted(0, 7)), 1),
            "not encrypted with that column's encoding",
        ),
        (
            many(count("b", encrypted(0, 8)), 1),
            "not encrypted with that column's encoding",
        ),
        (
            many(count("a", Threshold::Clear(f64::NAN)), 1),
            "not a finite number",
        ),
        (
            many(count("a", Threshold::Clear(f64::INFINITY)), 1),
            "not a finite number",
        ),
        (
            many(count("c", Threshold::Clear(1.0)), 1),
            "there is no column 'c'",
        ),
        (many(max("c"), 1), "there is no column 'c'"),
        (many(max("a"), 0), "1 to 256 questions"),
        (many(max("a"), 257), "1 to 256 questions"),
        (many(conditions(0), 1), "no list in them is empty"),
        (many(conditions(257), 1), "1 to 256 conditions"),
        (many(nested(17), 1), "nested up to 16 deep"),
        (many(nested(100), 1), "nested too deeply"),
        (many(expression(&[], 1.0), 1), "1 to 64 columns"),
        (
            many(expression(&[("a", 1.0), ("a", 2.0)], 0.0), 1),
            "each once",
        ),
        (many(expression(&[("a", 0.0)], 0.0), 1), "1 to 64 columns"),
        (
            many(expression(&[("a", f64::NAN)], 0.0), 1),
            "finite numbers",
        ),
        (many(expression(&[("a", 1.0)], f64::INFINITY), 1), "finite"),
        (
            many(expression(&[("a", 1.0), ("b", 0.123_456_789)], 0.0), 1),
            "have no common step",
        ),
        (many(histogram(&[1.0]), 1), "1 to 256 bins"),
        (
            many(histogram(&[1.0, 1.0]), 1),
            "whose edges are finite and increase",
        ),
        (many(histogram(&[1.0, f64::NAN]), 1), "finite and increase"),
        (many(histogram(&[0.0; 300]), 1), "1 to 256 bins"),
        (many(Question::TopK("a".into(), 0), 1), "top_k of 0 rows"),
        (
            many(Question::TopK("a".into(), 3), 1),
            "top_k of 3 rows: there are 2",
        ),
        (
            many(Question::Percentile("a".into(), 100.5), 1),
            "from 0 to 100",
        ),
        (
            many(Question::Percentile("a".into(), f64::NAN), 1),
            "from 0 to 100",
        ),
        (many(tree(Branch::Node(0)), 1), "its branches make no tree"),
        (many(tree(Branch::Leaf(7)), 1), "its branches make no tree"),
    ] {
        let named = asked
            .iter()
            .map(|question| ("name".to_owned(), question.clone()));
        let mut request = keys.message(&Request {
            version: 1,
            questions: named.collect(),
            sanitise: false,
            scope: Default::default(),
            device_keys: Vec::new(),
        });
        request.extend_from_slice(list);
        let error = evaluate_behind(&upload, &request).unwrap_err();
        assert_eq!(error.kind, BackendErrorKind::BadInput, "{error}");
        assert!(error.message.contains(reason), "{error}");
        assert!(!error.hint.is_empty());
    }
    for forged in [
        &b""[..],
        &honest[..50],
        &upload,
        &[&honest[..], list].concat(),
    ] {
        let error = evaluate_behind(&upload, forged).unwrap_err();
        assert_eq!(error.kind, BackendErrorKind::BadInput, "{error}");
    }
}

#[test]
fn a_request_that_would_take_too_much_memory_is_refused() {
    let keys = key_set();
    let readings: Vec<f64> = (0..70).map(f64::from).collect();
    let long = table(&[("a", 0.0, 1.0, 8)], vec![readings]);
    let asked = vec![count("a", Threshold::Clear(5.0)); 256];
    let request = keys.seal(&long, &asked).unwrap();
    let error = evaluate_behind(&keys.upload(&long), &request).unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::BadInput);
    assert!(
        error.message.contains("a server holds") && error.hint.contains("fewer"),
        "{error}"
    );
}

#[test]
fn a_request_that_would_take_too_long_is_refused() {
    let keys = key_set();
    let table = small_table();
    let request = keys.seal(&table, &questions(&["max(a)"])).unwrap();
    let key = keys.server.prepare(&|_| ());
    let server = Server::new(key);
    let ask = |most| {
        let progress = Progress::default();
        let uploads = [&keys.upload(&table)[..]];
        let evaluated = evaluate(
            &server,
            &uploads,
            &request,
            Form::Whole,
            most,
            &progress,
            fresh_seeds,
        );
        evaluated.map(|(_, bootstraps)| bootstraps)
    };
    let taken = ask(1000).unwrap();
    assert_eq!(ask(taken).unwrap(), taken);
    let refused = ask(taken - 1).unwrap_err().to_string();
    assert!(
        refused.contains(&format!("more than the {}", taken - 1)),
        "{refused}"
    );
    // So few that it is not even written down.
    assert!(matches!(ask(1), Err(EvaluateError::TooCostly { .. })));
}

/// Forged places of a threshold that is one code, and codes of another width or encoding.
#[test]
fn codes_of_thresholds_that_are_not_there_are_refused() {
    let (keys, table) = (key_set(), small_table().compact());
    let upload = keys.upload(&table);
    let asked = questions(&["count(a > encrypted(1))"]);
    let honest = keys.seal(&table, &asked).unwrap();
    assert!(evaluate_behind(&upload, &honest).is_ok());
    let (_, list) = Message::parse(&honest).unwrap();
    let of_blocks = keys.seal(&small_table(), &asked).unwrap();
    let (_, blocks) = Message::parse(&of_blocks).unwrap();
    let code = |index, offset, bits| Threshold::EncryptedCode {
        index,
        offset,
        scale: 0.25,
        bits,
    };
    for (threshold, list) in [
        (code(1, -10.0, 8), list),
        (code(u32::MAX, -10.0, 8), list),
        (code(0, -9.0, 8), list),
        (code(0, -10.0, 7), list),
        (code(0, -10.0, 8), blocks),
        (code(0, -10.0, 8), &[]),
        (encrypted(u32::MAX, 8), list),
    ] {
        let mut request = keys.message(&Request {
            version: 2,
            questions: vec![("q".to_owned(), count("a", threshold.clone()))],
            sanitise: false,
            scope: Default::default(),
            device_keys: Vec::new(),
        });
        request.extend_from_slice(list);
        let error = evaluate_behind(&upload, &request).unwrap_err();
        assert_eq!(error.kind, BackendErrorKind::BadInput);
        let reason = "not encrypted with that column's encoding";
        assert!(error.message.contains(reason), "{threshold:?}: {error}");
    }
}

#[test]
fn requests_and_results_of_another_version_say_so() {
    let keys = key_set();
    let upload = keys.upload(&small_table());
    let named = |version| Request {
        version,
        questions: vec![("name".to_owned(), max("a"))],
        sanitise: false,
        scope: Default::default(),
        device_keys: Vec::new(),
    };
    assert!(evaluate_behind(&upload, &keys.message(&named(1))).is_ok());
    #[derive(serde::Serialize)]
    struct Later {
        version: u32,
        something: &'static str,
    }
    let later = Later {
        version: 4,
        something: "else",
    };
    for (message, version) in [
        (keys.message(&named(0)), 0),
        (keys.message(&named(4)), 4),
        (keys.message(&later), 4),
    ] {
        let error = evaluate_behind(&upload, &message).unwrap_err();
        assert_eq!(error.kind, BackendErrorKind::BadInput);
        let words = format!("of format {version}, this is version 3");
        assert!(error.message.contains(&words), "{error}");
    }
    let message = keys.message(&later);
    let refused = Results::decrypt(&message, &keys.secret).unwrap_err();
    assert!(matches!(refused, ResultsError::Version(4)), "{refused}");
}

#[test]
fn what_another_key_set_made_is_told_from_what_is_damaged() {
    let keys = key_set();
    let parameters = *keys.secret.parameters();
    let other = SecretKey::generate(parameters, &mut key_set::seeds()).unwrap();
    let asked = questions(&["max(a)"]);
    let table = small_table();
    let fingerprint = other.fingerprint();
    let foreign = Request::seal(&asked, &table.metadata, &parameters, fingerprint, None).unwrap();
    let upload = keys.upload(&table);
    let error = evaluate_behind(&upload, &foreign).unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::WrongKey);
    let mut damaged = upload.clone();
    damaged[HEADER_BYTES + 3] ^= 1;
    let error = backend()
        .check_upload(&damaged, Uploader::Owner)
        .unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::BadInput);
}

#[test]
fn a_threshold_to_encrypt_is_not_sent_for_want_of_a_key() {
    let keys = key_set();
    let table = small_table();
    let (parameters, key) = (*keys.secret.parameters(), keys.secret.fingerprint());
    let asked = questions(&["count(a > encrypted(1))"]);
    let sealed = Request::seal(&asked, &table.metadata, &parameters, key, None);
    assert!(matches!(sealed, Err(RequestError::NoEncryptor)));
    let out_of_range = questions(&["count(a > encrypted(99))"]);
    let sealed = keys.seal(&table, &out_of_range).unwrap_err().to_string();
    assert!(
        sealed.contains("'a'") && sealed.contains("-10 to 53.75"),
        "{sealed}"
    );
}

#[test]
fn results_that_no_server_makes_are_refused() {
    let keys = key_set();
    let parameters = keys.secret.parameters();
    let column = Column {
        bits: 4,
        ..small_table().metadata.columns.remove(1)
    };
    let encoding = parameters.block_encoding();
    let result = |meaning: Meaning, blocks: &[i64]| {
        let answers = vec![EncryptedAnswer {
            name: "it".to_owned(),
            group: None,
            blocks: blocks.len() as u32,
            compact: Vec::new(),
            joined: false,
            meaning,
        }];
        let ciphertexts: Vec<_> = blocks
            .iter()
            .map(|&block| {
                LweCiphertext::trivial(parameters.lwe_dimension(), encoding.encode(block))
            })
            .collect();
        let results = Results::new(answers, 1);
        results
            .seal(parameters, keys.secret.fingerprint(), &ciphertexts.into())
            .unwrap()
    };
    let read = |result: &[u8]| Results::decrypt(result, &keys.secret)?.all();
    let fine = result(Meaning::Reading(column.clone()), &[1, 2]);
    let fine = Results::decrypt(&fine, &keys.secret).unwrap();
    assert_eq!(fine.bootstraps, 1);
    assert!(fine.all().is_ok());
    for (meaning, blocks) in [
        (Meaning::Count, &[4][..]),
        (Meaning::Rows(vec!["r".to_owned()]), &[2]),
        (Meaning::Reading(column.clone()), &[0, -1]),
        (Meaning::Mean(column.clone(), 0), &[0, 0]),
    ] {
        let refused = read(&result(meaning, blocks)).unwrap_err();
        assert!(matches!(refused, ResultsError::Implausible(_)), "{refused}");
    }
    let rows = Meaning::Rows(vec!["r".to_owned(); 3]);
    let refused = read(&result(rows, &[0, 1])).unwrap_err();
    assert!(
        matches!(
            refused,
            ResultsError::BlockCount {
                described: 3,
                found: 2
            }
        ),
        "{refused}"
    );
    let broken = Meaning::Mean(
        Column {
            scale: 0.0,
            ..column
        },
        1,
    );
    assert!(matches!(
        read(&result(broken, &[0])),
        Err(ResultsError::Column(_))
    ));
    // So many blocks that their number has no place in 128 bits.
    assert!(read(&result(Meaning::Count, &[1; 64])).is_ok());
    assert!(read(&result(Meaning::Count, &[1; 65])).is_err());
    let short = result(Meaning::Count, &[1, 1]);
    assert!(read(&short[..short.len() - 1]).is_err());
}

#[test]
fn a_threshold_to_encrypt_has_no_form_on_the_wire() {
    let threshold = Threshold::ToEncrypt(20000.0);
    assert!(ciborium::into_writer(&threshold, Vec::new()).is_err());
    let mut forged = Vec::new();
    ciborium::into_writer(&BTreeMap::from([("to_encrypt", 20000.0)]), &mut forged).unwrap();
    assert!(ciborium::from_reader::<Threshold, _>(forged.as_slice()).is_err());
}
