//! Sanitised answers: the same values as those of ordinary answers, in noise of the predicted width.

use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameter_sets::packing_of;
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{Kind, Message, WireError};
use tfhe_sbc_engine::sanitise::SanitiseError;
use tfhe_sbc_oracle::sanitising::{self, Sanitising};
use tfhe_sbc_oracle::statistics::{mean, variance_within};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{Cost, MAX_BOOTSTRAPS, Planned, costs, costs_of};
use tfhe_sbc_query::evaluate::{EvaluateError, Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Manner, Request, RequestError};
use tfhe_sbc_query::results::Results;
use tfhe_sbc_query::scope::{Scope, UploadRows};

use crate::answers::{kinds, packing_server, readings, readings_of, values};
use crate::key_set::{
    KeySet, Table, UploadKey, key_set, next_seeds, questions, seeds, table as table_of,
};

const ASKED: [&str; 6] = [
    "mean(a)",
    "max(a)",
    "rows(a > 20)",
    "count(a > 12 and b < 3)",
    "argmin(b)",
    "score(a - 2 * b)",
];

/// A request for sanitised answers, with a public key of `public`.
fn seal(keys: &KeySet, public: &KeySetSecret, table: &Table, asked: &[&str]) -> Vec<u8> {
    let device = keys.secret.device_key();
    let key = UploadKey::Device(&device);
    let public = public.device_public_key(&mut seeds()).unwrap();
    let manner = Manner {
        public_key: Some(&public),
        ..Manner::default()
    };
    Request::seal_in(
        manner,
        &questions(asked),
        &table.metadata,
        (keys.secret.parameters(), key.fingerprint()),
        Some(&mut |values| key.encrypt(values)),
    )
    .unwrap()
}

/// The costs of sanitised answers about all rows.
fn costs_sanitised(table: &Table, asked: &[Question]) -> (Vec<Cost>, Cost) {
    let uploads = [UploadRows {
        device: None,
        labels: &table.metadata.rows,
    }];
    let planned = Planned {
        columns: &table.metadata.columns,
        uploads: &uploads,
        gaps: None,
        scope: Scope::default(),
        sanitise: true,
    };
    let parameters = key_set().secret.parameters();
    costs_of(parameters, planned, asked, &Progress::default()).unwrap()
}

type KeySetSecret = tfhe_sbc_core::keys::SecretKey;

/// The result of a request about a table, or the reason why there is none.
fn ask(
    keys: &KeySet,
    table: &Table,
    request: &[u8],
    form: Form,
    most: u64,
) -> Result<(Vec<u8>, u64), EvaluateError> {
    let (server, upload) = (packing_server(), keys.upload(table));
    let progress = Progress::default();
    let uploads = [&upload[..]];
    evaluate(server, &uploads, request, form, most, &progress, next_seeds)
}

#[test]
fn sanitised_answers_have_the_values_of_ordinary_ones() {
    let (keys, table) = (key_set(), readings_of(12));
    let request = seal(keys, &keys.secret, &table, &ASKED);
    let short = Form::ForDecryption;
    let (result, bootstraps) = ask(keys, &table, &request, short, MAX_BOOTSTRAPS).unwrap();
    // Answers that are added up on polynomials are no exception.
    assert_eq!(kinds(&result), [Kind::Metadata, Kind::PackedList]);
    let ordinary = keys.seal(&table, &questions(&ASKED)).unwrap();
    let (ordinary, fewer) = ask(keys, &table, &ordinary, short, MAX_BOOTSTRAPS).unwrap();
    assert_eq!(values(keys, &result), values(keys, &ordinary));

    let asked = questions(&ASKED);
    let parameters = keys.secret.parameters();
    let (each, together) = costs_sanitised(&table, &asked);
    let (_, before) = costs(parameters, &table.metadata, &asked).unwrap();
    // Two flags share a block, which is counted for each of them.
    assert!((bootstraps..bootstraps + 16).contains(&together.bootstraps));
    assert!(fewer == before.bootstraps && fewer < bootstraps);
    assert!(each.iter().all(|cost| cost.bootstraps > 0));

    let decrypted = Results::decrypt(&result, &keys.secret).unwrap();
    let told = decrypted.sanitised.unwrap();
    let way = Sanitising::new(parameters, &packing_of(parameters).unwrap()).unwrap();
    let blocks = list(keys, &result).len() as u64;
    assert!((0.0..0.1).contains(&(told - way.log2_bits_told_by(blocks))));
    assert!(told < -8.0);
    let plain = Results::decrypt(&ordinary, &keys.secret).unwrap();
    assert_eq!(plain.sanitised, None);
}

fn list(keys: &KeySet, result: &[u8]) -> PackedList {
    let (_, lists) = Message::parse(result).unwrap();
    let message = Message::parse(lists).unwrap().0;
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    PackedList::read(message, parameters, key).unwrap()
}

/// The distances of the phases of a result's slots from the values that they decrypt to.
fn errors(keys: &KeySet, result: &[u8]) -> Vec<f64> {
    let list = list(keys, result);
    let secret = PackingSecret::of_list(&keys.secret, &list);
    let (values, key) = (secret.decrypt(&list), secret.glwe().prepare());
    let slots = list.ciphertexts().iter().flat_map(|glwe| key.phase(glwe));
    let slots = slots.zip(values);
    slots
        .map(|(phase, value)| {
            phase
                .wrapping_sub(u32::from(value) << 30)
                .to_signed_fraction()
        })
        .collect()
}

#[test]
fn the_noise_of_answers_is_the_predicted_one_and_wider_than_that_of_others() {
    let (keys, table) = (key_set(), readings());
    let asked = ["score(a)", "score(b)"];
    let request = seal(keys, &keys.secret, &table, &asked);
    let (result, _) = ask(keys, &table, &request, Form::ForDecryption, MAX_BOOTSTRAPS).unwrap();
    let found = errors(keys, &result);
    assert_eq!(found.len(), 2 * 30 * 3);
    let parameters = keys.secret.parameters();
    let packing = packing_of(parameters).unwrap();
    let way = Sanitising::new(parameters, &packing).unwrap();
    let predicted = sanitising::noise(parameters, &packing, way.flooding, way.slot_bits);
    let check = variance_within(&found, predicted.variance(), 0.4);
    assert!(check.within, "{check:?}");
    let spread = (predicted.variance().0 / found.len() as f64).sqrt();
    assert!(
        mean(&found).abs() < 4.0 * spread,
        "{}",
        mean(&found) / spread
    );
    // The flooding is most of it.
    let without = sanitising::noise(parameters, &packing, 0.0, way.slot_bits);
    assert!(predicted.variance().0 > 3.0 * without.variance().0);
}

#[test]
fn what_cannot_be_sanitised_is_refused() {
    let (keys, table) = (key_set(), readings());
    let request = seal(keys, &keys.secret, &table, &["max(a)"]);
    let whole = ask(keys, &table, &request, Form::Whole, MAX_BOOTSTRAPS);
    let whole = whole.unwrap_err();
    assert!(matches!(
        whole,
        EvaluateError::Request(RequestError::SanitisedWhole)
    ));
    let few = ask(keys, &table, &request, Form::ForDecryption, 40).unwrap_err();
    let EvaluateError::TooCostly {
        bootstraps,
        most: 40,
    } = few
    else {
        panic!("{few}");
    };
    let (_, cost) = costs_sanitised(&table, &questions(&["max(a)"]));
    assert_eq!(bootstraps, cost.bootstraps);

    // Values that are only washed count, too: two rows of three blocks.
    let uploaded = table_of(&[("a", 0.0, 1.0, 5)], vec![vec![1.0, 2.0]]);
    let scores = seal(keys, &keys.secret, &uploaded, &["score(a)"]);
    let few = ask(keys, &uploaded, &scores, Form::ForDecryption, 5).unwrap_err();
    let six = EvaluateError::TooCostly {
        bootstraps: 6,
        most: 5,
    };
    assert_eq!(few.to_string(), six.to_string());
    assert!(ask(keys, &uploaded, &scores, Form::ForDecryption, 6).is_ok());

    // A server without a packing key.
    let upload = keys.upload(&table);
    let (short, progress) = (Form::ForDecryption, Progress::default());
    let most = MAX_BOOTSTRAPS;
    let plain = evaluate(
        &keys.computing,
        &[&upload[..]],
        &request,
        short,
        most,
        &progress,
        next_seeds,
    );
    assert!(plain.unwrap_err().to_string().contains("no packing key"));

    // A public key of another key set.
    let other = KeySetSecret::generate(*keys.secret.parameters(), &mut seeds()).unwrap();
    let foreign = seal(keys, &other, &table, &["max(a)"]);
    let refused = ask(keys, &table, &foreign, short, most).unwrap_err();
    assert_eq!(refused.to_string(), SanitiseError::OtherKeySet.to_string());
}

#[test]
fn requests_have_a_public_key_exactly_if_they_ask_for_sanitised_answers() {
    let (keys, table) = (key_set(), readings());
    let (parameters, key) = (keys.secret.parameters(), keys.secret.fingerprint());
    let request = seal(keys, &keys.secret, &table, &["count(a > encrypted(3))"]);
    let parsed = Request::parse(&request, parameters, key).unwrap();
    assert!(parsed.request.sanitise && parsed.public_key.is_some() && parsed.thresholds.is_some());
    let public = public_key_of(&request);
    let without = &request[..request.len() - public.len()];
    let refused = |bytes: &[u8]| Request::parse(bytes, parameters, key).unwrap_err();
    assert!(matches!(refused(without), RequestError::NoPublicKey));
    let twice = [&request[..], public].concat();
    assert!(matches!(
        refused(&twice),
        RequestError::Wire(WireError::TrailingBytes(_))
    ));
    let ordinary = keys
        .seal(&table, &questions(&["count(a > encrypted(3))"]))
        .unwrap();
    let parsed = Request::parse(&ordinary, parameters, key).unwrap();
    assert!(!parsed.request.sanitise && parsed.public_key.is_none());
    refused(&[&ordinary[..], public].concat());
    let mut spoilt = request.clone();
    *spoilt.last_mut().unwrap() ^= 1;
    refused(&spoilt);
}

/// The last message of a request.
fn public_key_of(request: &[u8]) -> &[u8] {
    let mut rest = request;
    loop {
        let (message, behind) = Message::parse(rest).unwrap();
        if message.header.kind == Kind::DevicePublicKey {
            return &rest[..rest.len() - behind.len()];
        }
        rest = behind;
    }
}
