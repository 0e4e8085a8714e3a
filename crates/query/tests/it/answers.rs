//! Answers on their way to the key owner: their size, and what one defective answer does to the others.

use std::sync::OnceLock;

use tfhe_sbc_columns::Server;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::packing_of;
use tfhe_sbc_core::wire::{Header, Kind, Message};
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_query::evaluate::{Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::results::{
    AnswerParts, AnswerValue, EncryptedAnswer, Meaning, Results, ResultsError,
};

use crate::key_set::{KeySet, Table, UploadKey, key_set, next_seeds, questions, seeds, table};

/// A table of 30 rows, whose columns are compact.
pub(crate) fn readings() -> Table {
    readings_of(30)
}

/// The first rows of the readings.
pub(crate) fn readings_of(rows: i32) -> Table {
    let rows = 0..rows;
    let a = rows.clone().map(|row| f64::from(row * 7 % 31));
    let b = rows.map(|row| f64::from(row * 5 % 13) / 2.0);
    let columns = [("a", 0.0, 1.0, 5), ("b", 0.0, 0.5, 5)];
    table(&columns, vec![a.collect(), b.collect()]).compact()
}

const LINEAR: [&str; 4] = ["mean(a)", "sum(b)", "mean(a + 3)", "score(a - 2 * b)"];

/// Returns the result of questions about two uploads of the same rows under these keys.
fn result(keys: &KeySet, uploads: [&UploadKey<'_>; 2], asked: &[&str]) -> Vec<u8> {
    let table = readings();
    let uploads = uploads.map(|key| keys.upload_with(key, &table));
    let request = keys.seal(&table, &questions(asked)).unwrap();
    let uploads: Vec<&[u8]> = uploads.iter().map(Vec::as_slice).collect();
    let evaluation = keys.evaluate(&uploads, &request, &Progress::default());
    let evaluation = evaluation.unwrap();
    assert_eq!(evaluation.bootstraps, 0);
    evaluation.result
}

/// Decrypts the answers of a result.
pub(crate) fn values(keys: &KeySet, result: &[u8]) -> Vec<AnswerValue> {
    let answers = Results::decrypt(result, &keys.secret).unwrap().all();
    answers.unwrap().into_iter().map(|it| it.value).collect()
}

/// The two columns of [`readings`].
fn columns() -> [Vec<f64>; 2] {
    readings().readings.try_into().unwrap()
}

/// Compares an answer with the scores of the rows of both uploads.
fn assert_scores(answer: &AnswerValue) {
    let AnswerValue::Scores { rows, .. } = answer else {
        panic!("scores");
    };
    let [a, b] = columns();
    let scores = a.iter().zip(&b).map(|(a, b)| a - 2.0 * b);
    let found: Vec<f64> = rows.iter().filter_map(|row| row.value).collect();
    assert_eq!(found, scores.clone().chain(scores).collect::<Vec<_>>());
}

/// The kinds of the messages of a result.
pub(crate) fn kinds(mut bytes: &[u8]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = Message::parse(bytes).unwrap();
        kinds.push(message.header.kind);
        bytes = rest;
    }
    kinds
}

#[test]
fn linear_answers_about_seeded_uploads_have_no_masks() {
    let keys = key_set();
    let device = keys.secret.device_key();
    let device = UploadKey::Device(&device);
    let result = result(keys, [&device, &device], &LINEAR);
    assert_eq!(kinds(&result), [Kind::Metadata, Kind::LinearBodies]);
    let values = values(keys, &result);
    let [a, b] = columns();
    let expected = [
        a.iter().sum::<f64>() / 30.0,
        2.0 * b.iter().sum::<f64>(),
        a.iter().sum::<f64>() / 30.0 + 3.0,
    ];
    for (value, expected) in values.iter().zip(expected) {
        let AnswerValue::Number { value, .. } = value else {
            panic!("a number");
        };
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }
    assert_scores(&values[3]);
    // The labels of 60 rows are most of it.
    assert!(result.len() < 1800, "{}", result.len());
}

#[test]
fn linear_answers_about_public_key_uploads_have_cut_masks() {
    let keys = key_set();
    let public = keys.secret.device_public_key(&mut seeds()).unwrap();
    let device = keys.secret.device_key();
    let uploads = [&UploadKey::Public(&public), &UploadKey::Device(&device)];
    let result = result(keys, uploads, &["score(a - 2 * b)"]);
    assert_eq!(kinds(&result), [Kind::Metadata, Kind::CompactValues]);
    assert_scores(&values(keys, &result)[0]);
    // 19 bits of code and headroom, and 13 below them, so that many such answers may be added up.
    assert_eq!(kept_bits(&result), 19 + 13);

    // A server that packs answers keeps what decryption needs.
    let table = readings();
    let upload = keys.upload_with(&UploadKey::Public(&public), &table);
    let request = keys.seal(&table, &questions(&["score(a)"])).unwrap();
    let progress = Progress::default();
    let packed = decrypted_only(packing_server(), &upload, &request);
    let bits = kept_bits(&packed);
    assert!((19 + 7..19 + 13).contains(&bits), "{bits}");
    let whole = keys.evaluate(&[&upload], &request, &progress).unwrap();
    assert_eq!(values(keys, &packed), values(keys, &whole.result));
}

/// The number of bits that the list behind the metadata keeps of coefficients.
fn kept_bits(result: &[u8]) -> u8 {
    let (_, list) = Message::parse(result).unwrap();
    Header::parse(list).unwrap().0.mask_bits
}

#[test]
fn the_mean_of_a_year_takes_less_than_half_a_kilobyte() {
    let keys = key_set();
    let rows = (0..8760).map(|row| f64::from(row % 1000) / 10.0 - 50.0);
    let year = table(&[("temperature_c", -50.0, 0.1, 10)], vec![rows.collect()]).compact();
    let request = keys
        .seal(&year, &questions(&["mean(temperature_c)"]))
        .unwrap();
    let upload = keys.upload(&year);
    let evaluation = keys.evaluate(&[&upload], &request, &Progress::default());
    let result = evaluation.unwrap().result;
    assert!(result.len() <= 512, "{}", result.len());
    let AnswerValue::Number { value, .. } = values(keys, &result)[0] else {
        panic!("a number");
    };
    let mean = year.readings[0].iter().sum::<f64>() / 8760.0;
    assert!((value - mean).abs() < 1e-9, "{value} {mean}");
}

#[test]
fn an_answer_that_cannot_be_read_does_not_hide_the_others() {
    let keys = key_set();
    let parameters = keys.secret.parameters();
    let encoding: BlockEncoding = parameters.block_encoding();
    let answer = |name: &str, meaning| EncryptedAnswer {
        name: name.to_owned(),
        group: None,
        blocks: 1,
        compact: Vec::new(),
        joined: false,
        meaning,
    };
    let rows = || Meaning::Rows(vec!["r".to_owned()]);
    let answers = vec![
        answer("first", Meaning::Count),
        answer("wrong", rows()),
        answer("last", rows()),
    ];
    // A truth value cannot be 2.
    let blocks = [3, 2, 1]
        .map(|block| LweCiphertext::trivial(parameters.lwe_dimension(), encoding.encode(block)));
    let result = Results::new(answers, 5)
        .seal(
            parameters,
            keys.secret.fingerprint(),
            &blocks.to_vec().into(),
        )
        .unwrap();
    let decrypted = Results::decrypt(&result, &keys.secret).unwrap();
    let [Ok(first), Err(wrong), Ok(last)] = &decrypted.answers[..] else {
        panic!("{decrypted:?}");
    };
    assert_eq!(
        (&*first.name, &*wrong.name, &*last.name),
        ("first", "wrong", "last")
    );
    assert_eq!(last.value, AnswerValue::Rows(vec!["r".to_owned()]));
    assert!(matches!(&wrong.reason, ResultsError::Implausible(name) if name == "wrong"));
    let json = serde_json::to_value(&decrypted).unwrap();
    assert_eq!(json["answers"][2]["answer"][0], "r");
    let error = json["answers"][1]["error"].as_str().unwrap();
    assert!(error.contains("cannot have"), "{error}");
    assert_eq!(json["bootstraps"], 5);
    assert!(decrypted.all().is_err());
}

/// The server of the shared key set, with a packing key that is made once.
pub(crate) fn packing_server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let keys = key_set();
        let packing = packing_of(keys.secret.parameters()).unwrap();
        let packing = SeededPackingKey::generate(&keys.secret, &packing, &mut seeds()).unwrap();
        let server = SeededServerKey::<u64>::from_bytes(&keys.server.to_bytes()).unwrap();
        let server = server.with_packing_key(packing).unwrap();
        Server::new(server.prepare(&|_| ()))
    })
}

/// The result that a server returns to a key owner who only decrypts.
fn decrypted_only(server: &Server, upload: &[u8], request: &[u8]) -> Vec<u8> {
    let (most, progress) = (tfhe_sbc_query::cost::MAX_BOOTSTRAPS, Progress::default());
    let evaluated = evaluate(
        server,
        &[upload],
        request,
        Form::ForDecryption,
        most,
        &progress,
        next_seeds,
    );
    evaluated.unwrap().0
}

#[test]
fn answers_of_bootstraps_are_packed_if_the_server_can() {
    let keys = key_set();
    let table = readings_of(12);
    let asked = questions(&[
        "rows(a > 20)",
        "max(a)",
        "mean(b)",
        "count(a > 12 and b < 3)",
        "argmin(b)",
    ]);
    let request = keys.seal(&table, &asked).unwrap();
    let upload = keys.upload(&table);
    let progress = Progress::default();
    let packed = decrypted_only(packing_server(), &upload, &request);
    let whole = keys
        .evaluate(&[&upload], &request, &progress)
        .unwrap()
        .result;
    let lists = [Kind::Metadata, Kind::PackedList, Kind::LinearBodies];
    assert_eq!(kinds(&packed), lists);
    assert_eq!(kinds(&whole)[1], Kind::LweList);
    assert_eq!(values(keys, &packed), values(keys, &whole));
    assert!(
        20 * packed.len() < whole.len(),
        "{} {}",
        packed.len(),
        whole.len()
    );

    // What is packed can be decrypted, but not computed on; what is linear can.
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let (_, parts) = Results::parse(&packed, parameters, key).unwrap();
    let is_packed: Vec<bool> = parts.iter().map(AnswerParts::is_for_decryption).collect();
    assert_eq!(is_packed, [true, true, false, true, true]);
    let usable: Vec<bool> = parts
        .into_iter()
        .map(|it| it.into_one().is_some())
        .collect();
    assert_eq!(usable, [false, false, true, false, false]);

    // A list with fewer slots than the metadata describes, and a second list, are refused.
    let (metadata, lists) = packed.split_at(message_len(&packed));
    let second = [metadata, lists, &lists[..message_len(lists)]].concat();
    assert!(Results::parse(&second, parameters, key).is_err());
    let without = [metadata, &lists[message_len(lists)..]].concat();
    let refused = Results::parse(&without, parameters, key).unwrap_err();
    assert!(
        matches!(refused, ResultsError::BlockCount { found: 0, .. }),
        "{refused}"
    );
}

/// The description of the first answer of a result.
fn first_answer(keys: &KeySet, result: &[u8]) -> EncryptedAnswer {
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let (results, _) = Results::parse(result, parameters, key).unwrap();
    results.answers.into_iter().next().unwrap()
}

/// Two truth values share a block of two bits, packed or cut, unless their noise is too much for that.
#[test]
fn flags_share_blocks_that_are_only_decrypted() {
    let keys = key_set();
    let table = readings();
    let rows = table.readings[0].len();
    let upload = keys.upload(&table);
    let with_key = packing_server();
    let mut shared = 0;
    for text in ["rows(a > 20)", "rows(not a > 20)", "rows(a > 12 or b < 3)"] {
        let request = keys.seal(&table, &questions(&[text])).unwrap();
        let whole = keys.evaluate(&[&upload], &request, &Progress::default());
        let whole = whole.unwrap().result;
        assert!(!first_answer(keys, &whole).joined);
        for (server, kind) in [
            (with_key, Kind::PackedList),
            (&keys.computing, Kind::CutLweList),
        ] {
            let short = decrypted_only(server, &upload, &request);
            assert_eq!(kinds(&short), [Kind::Metadata, kind], "{text}");
            assert_eq!(values(keys, &short), values(keys, &whole), "{text}");
            let answer = first_answer(keys, &short);
            let blocks = if answer.joined {
                rows.div_ceil(2)
            } else {
                rows
            };
            assert_eq!(answer.blocks as usize, blocks, "{text}");
            shared += usize::from(answer.joined);
        }
    }
    assert!(shared >= 4, "{shared}");
}

/// The answers of a server without a packing key are a third of whole blocks, and each block still decrypts.
#[test]
fn answers_of_servers_without_a_packing_key_are_cut() {
    let keys = key_set();
    let table = readings_of(8);
    let asked = questions(&["max(a)", "count(a > 12)", "argmin(b)"]);
    let request = keys.seal(&table, &asked).unwrap();
    let upload = keys.upload(&table);
    let cut = decrypted_only(&keys.computing, &upload, &request);
    let whole = keys.evaluate(&[&upload], &request, &Progress::default());
    let whole = whole.unwrap().result;
    assert_eq!(kinds(&cut), [Kind::Metadata, Kind::CutLweList]);
    assert_eq!(values(keys, &cut), values(keys, &whole));
    assert!(
        3 * cut.len() < whole.len() + 1000,
        "{} {}",
        cut.len(),
        whole.len()
    );
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let (_, parts) = Results::parse(&cut, parameters, key).unwrap();
    assert!(parts.iter().all(AnswerParts::is_for_decryption));
}

/// Joined blocks of another number than the rows fill, with values behind the last row, or whole, are no answer.
#[test]
fn joined_flags_that_no_server_makes_are_refused() {
    let keys = key_set();
    let parameters = keys.secret.parameters();
    let encoding = parameters.block_encoding();
    let read = |meaning: Meaning, blocks: &[u64]| {
        let answer = EncryptedAnswer {
            name: "rows".to_owned(),
            group: None,
            blocks: blocks.len() as u32,
            compact: Vec::new(),
            joined: true,
            meaning,
        };
        answer.read(parameters, blocks).map(|answer| answer.value)
    };
    let labels: Vec<String> = ["x", "y", "z"].map(str::to_owned).to_vec();
    let rows = || Meaning::Rows(labels.clone());
    let met = |labels: &[&str]| AnswerValue::Rows(labels.iter().map(|&l| l.to_owned()).collect());
    assert_eq!(read(rows(), &[2, 1]).unwrap(), met(&["y", "z"]));
    assert_eq!(read(rows(), &[3, 0]).unwrap(), met(&["x", "y"]));
    for (meaning, blocks) in [
        (rows(), &[1, 2][..]),
        (rows(), &[4, 0]),
        (Meaning::Count, &[1]),
    ] {
        let refused = read(meaning, blocks).unwrap_err();
        assert!(matches!(refused, ResultsError::Implausible(_)), "{refused}");
    }
    for blocks in [&[1][..], &[1, 1, 1], &[]] {
        let refused = read(rows(), blocks).unwrap_err();
        assert!(
            matches!(refused, ResultsError::BlockCount { described: 2, .. }),
            "{refused}"
        );
    }
    let block = |value| LweCiphertext::trivial(parameters.lwe_dimension(), encoding.encode(value));
    let answer = EncryptedAnswer {
        name: "rows".to_owned(),
        group: None,
        blocks: 2,
        compact: Vec::new(),
        joined: true,
        meaning: rows(),
    };
    let whole = Results::new(vec![answer], 0).seal(
        parameters,
        keys.secret.fingerprint(),
        &vec![block(1), block(1)].into(),
    );
    assert!(Results::decrypt(&whole.unwrap(), &keys.secret).is_err());
}

fn message_len(bytes: &[u8]) -> usize {
    bytes.len() - Message::parse(bytes).unwrap().1.len()
}

/// The labels of a year of hours are shorter than its flags.
#[test]
fn labels_that_are_times_travel_as_their_steps() {
    let hours = (1..=31).flat_map(|day| (0..24).map(move |hour| (day, hour)));
    let labels: Vec<String> = hours
        .map(|(day, hour)| format!("2025-01-{day:02}T{hour:02}:00"))
        .collect();
    let meaning = Meaning::Rows(labels.clone());
    let mut bytes = Vec::new();
    ciborium::into_writer(&meaning, &mut bytes).unwrap();
    assert!(bytes.len() < 64, "{}", bytes.len());
    assert_eq!(
        ciborium::from_reader::<Meaning, _>(&bytes[..]).unwrap(),
        meaning
    );
    // As version 1 has them.
    let mut old = Vec::new();
    ciborium::into_writer(&serde_json::json!({ "rows": labels }), &mut old).unwrap();
    assert_eq!(
        ciborium::from_reader::<Meaning, _>(&old[..]).unwrap(),
        meaning
    );
}
