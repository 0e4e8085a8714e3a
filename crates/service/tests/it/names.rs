//! Uploads in another's name: each board may upload under its own key, and under keys that tell nothing about who
//! has them only where the operator allows it.

use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::wire::{Header, Kind, Message};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::results::{AnswerValue, Results};
use tfhe_sbc_service::backend::{Backend, BackendErrorKind, Uploader};
use tfhe_sbc_service::key_backend::{KeyBackend, OpenKeys};
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::device_keys::{backend, issue, readings};
use crate::key_set::{KeySet, UploadKey, key_set, questions, seeds};

const HILL: Uploader<'_> = Uploader::Device("hill");

/// Returns a list whose masks are zeros, so that its bodies are the values under any key: nobody needs one to make it.
/// The bodies of a list with masks that somebody made tell how long the parts are.
fn forged(keys: &KeySet, key: KeyFingerprint, values: &[f64]) -> Vec<u8> {
    let public = keys.secret.device_public_key(&mut seeds()).unwrap();
    let table = readings(values);
    let upload = keys.upload_with(&UploadKey::Public(&public), &table);
    let (described, rest) = Message::parse(&upload).unwrap();
    let (list, _) = Message::parse(rest).unwrap();
    assert_eq!(list.header.kind, Kind::GlweList);
    let described: ReadingsMetadata = metadata::read(described).unwrap();
    let parameters = keys.secret.parameters();
    let mut forged = metadata::write(parameters.fingerprint(), key, &described).unwrap();

    let header = Header { key, ..list.header };
    let body_bits = usize::from(header.body_bits);
    // Each block has two bits of message and two of carry below a bit of padding.
    let digits = values
        .iter()
        .flat_map(|&value| (0..3).map(move |i| (value as u64 >> (2 * i)) & 3));
    let bits = digits.flat_map(|digit| {
        let body = digit << (body_bits - 5);
        (0..body_bits).map(move |i| (body >> i) & 1 == 1)
    });
    let mut payload = vec![0; list.payload.len()];
    let body_bytes = (values.len() * 3 * body_bits).div_ceil(8);
    let masks = payload.len() - body_bytes;
    for (i, bit) in bits.enumerate() {
        payload[masks + i / 8] |= u8::from(bit) << (i % 8);
    }
    let mut message = header.to_bytes(payload.len() as u64).to_vec();
    message.extend(payload);
    header.seal_vec(&mut message).unwrap();
    forged.extend(message);
    forged
}

#[track_caller]
fn refused(backend: &KeyBackend, upload: &[u8], uploader: Uploader<'_>, words: &[&str]) {
    let error = backend.check_upload(upload, uploader).unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::WrongName, "{error}");
    let said = format!("{} | {}", error.message, error.hint);
    for word in words {
        assert!(said.contains(word), "{said}");
    }
}

/// The forgery is worth refusing: it decrypts to what its maker chose.
#[test]
fn a_list_with_masks_of_zeros_needs_no_key() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let valley = issue(&keys.secret, "valley", 1, folder.path());
    let backend = backend(keys, folder.path());
    for key in [keys.secret.fingerprint(), valley.fingerprint()] {
        let upload = forged(keys, key, &[45.0, 3.0]);
        let request = keys.seal(&readings(&[]), &questions(&["sum(a)"])).unwrap();
        let evaluation = backend
            .evaluate(&[upload.as_slice().into()], &request, &Progress::default())
            .unwrap();
        let answers = Results::decrypt(&evaluation.result, &keys.secret).unwrap();
        let answers = answers.all().unwrap();
        assert!(
            matches!(answers[0].value, AnswerValue::Number { value, .. } if value == 48.0),
            "{:?}",
            answers[0].value
        );
    }
}

#[test]
fn a_board_uploads_in_its_own_name_only() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let hill = issue(&keys.secret, "hill", 1, folder.path());
    let valley = issue(&keys.secret, "valley", 1, folder.path());
    let public = keys.secret.device_public_key(&mut seeds()).unwrap();
    let table = readings(&[3.0, 40.0]);
    let own = keys.upload_under(&hill, &table);
    let others = keys.upload_under(&valley, &table);
    let shared = keys.upload(&table);
    let masked = keys.upload_with(&UploadKey::Public(&public), &table);
    let compact = keys.upload_with(&UploadKey::Public(&public), &table.compact());
    let compact_shared = keys.upload(&table.compact());
    let set = keys.secret.fingerprint();
    let forgeries = [set, hill.fingerprint()].map(|key| forged(keys, key, &[1.0]));
    let forged_others = forged(keys, valley.fingerprint(), &[1.0]);

    let strict = backend(keys, folder.path());
    strict.check_upload(&own, HILL).unwrap();
    let other_device = ["device 'valley', epoch 1", "'hill'", "certificate"];
    for upload in [&others, &forged_others] {
        refused(&strict, upload, HILL, &other_device);
    }
    for upload in [&masked, &compact].into_iter().chain(&forgeries) {
        refused(&strict, upload, HILL, &["public key", "--allow-public-key"]);
    }
    for upload in [&shared, &compact_shared] {
        refused(&strict, upload, HILL, &["shares", "--allow-shared-key"]);
    }
    for upload in [&own, &others, &shared, &masked, &compact] {
        strict.check_upload(upload, Uploader::Owner).unwrap();
    }

    let shared_key = OpenKeys {
        shared_key: true,
        ..OpenKeys::default()
    };
    let open = backend(keys, folder.path()).with_open_keys(shared_key);
    for upload in [&own, &shared, &compact_shared] {
        open.check_upload(upload, HILL).unwrap();
    }
    for upload in [&masked, &compact].into_iter().chain(&forgeries) {
        refused(&open, upload, HILL, &["--allow-public-key"]);
    }
    refused(&open, &others, HILL, &other_device);

    let public_key = OpenKeys {
        public_key: true,
        ..OpenKeys::default()
    };
    let open = backend(keys, folder.path()).with_open_keys(public_key);
    for upload in [&own, &masked, &compact] {
        open.check_upload(upload, HILL).unwrap();
    }
    refused(&open, &shared, HILL, &["--allow-shared-key"]);
    // A list with masks counts for nobody else, either.
    refused(&open, &forged_others, HILL, &other_device);
}
