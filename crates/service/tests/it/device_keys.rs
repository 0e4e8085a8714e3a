//! Devices with keys of their own and with public keys: what a server makes of their
//! uploads, and of a directory of switch keys that changes under it.

use std::path::Path;

use crate::key_set::{KeySet, Table, UploadKey, key_set, questions, seeds, table};
use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::StoredUpload;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::results::{AnswerValue, Results};
use tfhe_sbc_service::backend::{Backend, BackendError, BackendErrorKind, Uploader};
use tfhe_sbc_service::key_backend::KeyBackend;

const PI: Uploader<'_> = Uploader::Device("pi");

/// Uploads of which only their keys tell the devices.
fn given<'a>(uploads: &[&'a [u8]]) -> Vec<StoredUpload<'a>> {
    uploads.iter().map(|&upload| upload.into()).collect()
}

/// Issues a key and puts its switch key into the directory.
pub(crate) fn issue(
    secret: &SecretKey,
    device: &'static str,
    epoch: u32,
    directory: &Path,
) -> DeviceKey {
    let issue = DeviceIssue {
        device: DeviceId::new(device),
        epoch: Epoch::new(epoch).unwrap(),
    };
    let key = secret.issue_device_key(issue, &mut seeds()).unwrap();
    let switch = SeededDeviceSwitchKey::<u64>::generate(secret, &key, &mut seeds()).unwrap();
    let file = directory.join(format!("{device}-{epoch}.tsbc"));
    std::fs::write(file, switch.to_bytes()).unwrap();
    key
}

pub(crate) fn backend(keys: &KeySet, directory: &Path) -> KeyBackend {
    let key = keys.server.prepare(&|_| ());
    let devices = DeviceKeys::in_directory(&key, directory).unwrap();
    KeyBackend::new(key, devices)
}

pub(crate) fn readings(values: &[f64]) -> Table {
    table(&[("a", 0.0, 1.0, 6)], vec![values.to_vec()])
}

#[track_caller]
fn refused<R>(result: Result<R, BackendError>, words: &[&str]) {
    let error = result.err().expect("it is not refused");
    assert_eq!(error.kind, BackendErrorKind::WrongKey, "{error}");
    let said = format!("{} | {}", error.message, error.hint);
    for word in words {
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn readings_under_different_keys_are_rows_of_one_table() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let one = issue(&keys.secret, "one", 1, folder.path());
    let two = issue(&keys.secret, "two", 7, folder.path());
    let public = keys.secret.device_public_key(&mut seeds()).unwrap();
    let public = UploadKey::Public(&public);
    let backend = backend(keys, folder.path());
    let uploads = [
        keys.upload_under(&one, &readings(&[3.0, 40.0])),
        keys.upload_with(&public, &readings(&[50.0, 1.0])),
        keys.upload_under(&two, &readings(&[17.0])),
        keys.upload(&readings(&[9.0, 2.0])),
    ];
    for upload in &uploads {
        backend.check_upload(upload, Uploader::Owner).unwrap();
    }
    // The thresholds come under yet another of the keys than the readings.
    let asked = questions(&[
        "min(a)",
        "max(a)",
        "sum(a)",
        "rows(a > encrypted(8))",
        "count(a < 10)",
    ]);
    let request = keys.seal_under(&two, &readings(&[]), &asked).unwrap();
    let uploads: Vec<&[u8]> = uploads.iter().map(Vec::as_slice).collect();
    let evaluation = backend
        .evaluate(&given(&uploads), &request, &Progress::default())
        .unwrap();
    let answers = Results::decrypt(&evaluation.result, &keys.secret)
        .unwrap()
        .all()
        .unwrap();
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.value).collect();
    let number = |value| AnswerValue::Number {
        value,
        unit: String::new(),
    };
    assert_eq!(answers[..3], [number(1.0), number(50.0), number(122.0)]);
    // Keys that devices share name none.
    let labels = ["one r1", "r0", "two r0", "r0"].map(str::to_owned).to_vec();
    assert_eq!(answers[3], AnswerValue::Rows(labels));
    assert_eq!(answers[4], number(4.0));

    // Thresholds under a public key, too.
    let asked = questions(&["rows(a >= encrypted(50))"]);
    let masked = keys.seal_with(&public, &readings(&[]), &asked).unwrap();
    let evaluation = backend
        .evaluate(&given(&uploads[..2]), &masked, &Progress::default())
        .unwrap();
    let answers = Results::decrypt(&evaluation.result, &keys.secret).unwrap();
    let answers = answers.all().unwrap();
    let labels = vec!["r0".to_owned()];
    assert_eq!(answers[0].value, AnswerValue::Rows(labels));

    let other = table(&[("a", 0.0, 2.0, 6)], vec![vec![4.0]]);
    let other = keys.upload_under(&one, &other);
    let error = backend
        .evaluate(
            &given(&[uploads[2], &other]),
            &request,
            &Progress::default(),
        )
        .unwrap_err();
    assert_eq!(error.kind, BackendErrorKind::BadInput);
    assert!(error.message.contains("number 2"), "{error}");
}

#[test]
fn a_new_epoch_takes_over_and_the_old_one_stays_readable() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let old = issue(&keys.secret, "pi", 1, folder.path());
    let backend = backend(keys, folder.path());
    let before = keys.upload_under(&old, &readings(&[5.0]));
    backend.check_upload(&before, PI).unwrap();

    // Registered while the server runs, also once it has no cause to look again.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    backend.check_upload(&before, PI).unwrap();
    let new = issue(&keys.secret, "pi", 2, folder.path());
    let after = keys.upload_under(&new, &readings(&[8.0]));
    backend.check_upload(&after, PI).unwrap();
    refused(
        backend.check_upload(&before, PI),
        &["device 'pi', epoch 1", "epoch 2 is current", "newest key"],
    );
    // Another device is not concerned.
    let other = issue(&keys.secret, "po", 1, folder.path());
    let upload = keys.upload_under(&other, &readings(&[1.0]));
    let po = Uploader::Device("po");
    backend.check_upload(&upload, po).unwrap();

    let request = keys.seal(&readings(&[]), &questions(&["sum(a)"])).unwrap();
    let evaluation = backend
        .evaluate(&given(&[&before, &after]), &request, &Progress::default())
        .unwrap();
    let answers = Results::decrypt(&evaluation.result, &keys.secret)
        .unwrap()
        .all()
        .unwrap();
    assert!(matches!(answers[0].value, AnswerValue::Number { value, .. } if value == 13.0));

    // Taken away, a key leads nowhere.
    std::fs::remove_file(folder.path().join("po-1.tsbc")).unwrap();
    refused(backend.check_upload(&upload, po), &["not registered"]);
}

/// Two keys of one device and epoch: the first stays current, and what is stored stays readable.
#[test]
fn a_second_key_of_an_epoch_is_refused() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let first = issue(&keys.secret, "pi", 1, folder.path());
    let file = folder.path().join("pi-1.tsbc");
    // It sorts after the other one by name, and is older.
    std::fs::rename(&file, folder.path().join("z.tsbc")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let moved = std::fs::File::options()
        .append(true)
        .open(folder.path().join("z.tsbc"));
    moved.unwrap().set_modified(old).unwrap();
    let backend = backend(keys, folder.path());
    let second = issue(&keys.secret, "pi", 1, folder.path());
    let uploads = [&first, &second].map(|key| keys.upload_under(key, &readings(&[4.0])));
    backend.check_upload(&uploads[0], PI).unwrap();
    refused(
        backend.check_upload(&uploads[1], PI),
        &["second key", "device 'pi', epoch 1", "higher epoch"],
    );
    let request = keys.seal(&readings(&[]), &questions(&["max(a)"])).unwrap();
    for upload in &uploads {
        let evaluated = backend.evaluate(&given(&[upload]), &request, &Progress::default());
        assert!(evaluated.is_ok());
    }
    // The same file twice is one key.
    std::fs::remove_file(&file).unwrap();
    std::fs::copy(folder.path().join("z.tsbc"), &file).unwrap();
    backend.check_upload(&uploads[0], PI).unwrap();
}

#[test]
fn unknown_keys_and_useless_files_are_told_and_left_out() {
    let (keys, folder) = (key_set(), tempfile::tempdir().unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    let unknown = issue(&keys.secret, "pi", 1, elsewhere.path());
    let parameters = *keys.secret.parameters();
    let other = SecretKey::generate(parameters, &mut seeds()).unwrap();
    let foreign = issue(&other, "pi", 9, folder.path());
    let name = "pi-1.tsbc";
    let switch = std::fs::read(elsewhere.path().join(name)).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("half.tsbc", &switch[..switch.len() / 2]);
    write("secret.tsbc", &keys.secret.to_bytes().unwrap());
    write("long.tsbc", &[&switch[..], &[0]].concat());
    write("README", b"switch keys");

    let backend = backend(keys, folder.path());
    let uploads = [&unknown, &foreign].map(|key| keys.upload_under(key, &readings(&[1.0])));
    for (upload, key) in uploads.iter().zip([&unknown, &foreign]) {
        let words = [
            "not registered",
            &key.fingerprint().to_string(),
            "device-key",
            "--device-keys",
        ];
        refused(backend.check_upload(upload, PI), &words);
        let request = keys.seal(&readings(&[]), &questions(&["max(a)"])).unwrap();
        let evaluated = backend.evaluate(&given(&[upload]), &request, &Progress::default());
        refused(evaluated, &["the readings: it was made under"]);
    }
    // The half file, whole at last.
    write("half.tsbc", &switch);
    backend.check_upload(&uploads[0], PI).unwrap();

    let key = keys.server.prepare(&|_| ());
    assert!(DeviceKeys::in_directory(&key, &folder.path().join("none")).is_err());
}
