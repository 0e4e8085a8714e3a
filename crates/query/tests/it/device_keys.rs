//! Linear answers about readings under keys that boards have of their own, for key owners who have the switch keys.

use std::path::Path;

use tfhe_sbc_columns::Server;
use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::Kind;
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::{Form, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Manner, Request};
use tfhe_sbc_query::results::{Answer, Decryption, Results, ResultsError};
use tfhe_sbc_query::scope::Scope;

use crate::answers::kinds;
use crate::key_set::{KeySet, Table, key_set, next_seeds, questions, seeds, table};
use crate::plain;

/// Issues a key and puts its switch key into the directory.
fn issue(keys: &KeySet, device: &'static str, directory: &Path) -> DeviceKey {
    let issue = DeviceIssue {
        device: DeviceId::new(device),
        epoch: Epoch::FIRST,
    };
    let key = keys.secret.issue_device_key(issue, &mut seeds()).unwrap();
    let switch = SeededDeviceSwitchKey::<u64>::generate(&keys.secret, &key, &mut seeds()).unwrap();
    std::fs::write(directory.join(format!("{device}.tsbc")), switch.to_bytes()).unwrap();
    key
}

fn readings(seed: usize) -> Table {
    let values = |step: usize| {
        (0..40)
            .map(|row| ((seed + step * row) % 61) as f64)
            .collect()
    };
    let columns = [("a", 0.0, 1.0, 6), ("b", -5.0, 0.5, 6)];
    let b: Vec<f64> = values(11);
    let mut table = table(
        &columns,
        vec![values(7), b.iter().map(|b| b / 2.0 - 5.0).collect()],
    );
    table.metadata.rows = (0..40)
        .map(|row| format!("2026-11-23T10:{row:02}"))
        .collect();
    table.compact()
}

/// The uploads of two boards with keys of their own and one with the key set's, and a server that knows the boards.
struct Fleet {
    directory: tempfile::TempDir,
    server: Server,
    uploads: Vec<(Table, Vec<u8>)>,
}

fn fleet() -> Fleet {
    let keys = key_set();
    let directory = tempfile::tempdir().unwrap();
    let [hill, lake] = ["hill", "lake"].map(|device| issue(keys, device, directory.path()));
    let tables = [readings(1), readings(20), readings(33)];
    let under = [&hill, &lake, &keys.secret.device_key()];
    let uploads = tables.into_iter().zip(under).map(|(table, key)| {
        let bytes = keys.upload_under(key, &table);
        (table, bytes)
    });
    let server = SeededServerKey::<u64>::from_bytes(&keys.server.to_bytes()).unwrap();
    let server = server.prepare(&|_| ());
    let devices = DeviceKeys::in_directory(&server, directory.path()).unwrap();
    Fleet {
        uploads: uploads.collect(),
        server: Server::with_devices(server, devices),
        directory,
    }
}

impl Fleet {
    /// The switch keys of the boards whose names begin with `prefix`, as a key owner has them.
    fn at_hand(&self, prefix: &str) -> DeviceKeys {
        let keys = key_set();
        let own = self.directory.path().join(format!("of-{prefix}"));
        std::fs::create_dir_all(&own).unwrap();
        for device in ["hill", "lake"]
            .iter()
            .filter(|device| device.starts_with(prefix))
        {
            let name = format!("{device}.tsbc");
            std::fs::copy(self.directory.path().join(&name), own.join(&name)).unwrap();
        }
        let parameters = keys.secret.parameters();
        DeviceKeys::of_key_set(parameters, keys.secret.fingerprint(), Some(&own)).unwrap()
    }

    /// Asks about some of the uploads, for a key owner who has these switch keys.
    fn ask(&self, uploads: &[usize], asked: &[&str], devices: &DeviceKeys, by: &str) -> Vec<u8> {
        let keys = key_set();
        let mut scope = Scope::default();
        if !by.is_empty() {
            scope.by = by.parse().unwrap();
        }
        let known = devices.known().unwrap();
        let manner = Manner {
            scope,
            device_keys: &known,
            ..Manner::default()
        };
        let metadata = &self.uploads[0].0.metadata;
        let under = (keys.secret.parameters(), keys.secret.fingerprint());
        let request = Request::seal_in(manner, &questions(asked), metadata, under, None).unwrap();
        let uploads: Vec<&[u8]> = uploads.iter().map(|&i| &self.uploads[i].1[..]).collect();
        let (form, progress) = (Form::ForDecryption, Progress::default());
        let evaluated = evaluate(
            &self.server,
            &uploads,
            &request,
            form,
            1000,
            &progress,
            next_seeds,
        );
        evaluated.unwrap().0
    }

    /// The rows of some of the uploads in the clear.
    fn joined(&self, uploads: &[usize]) -> Table {
        let mut all = readings(0);
        all.metadata.rows.clear();
        all.readings = vec![Vec::new(); 2];
        for &upload in uploads {
            let (table, _) = &self.uploads[upload];
            all.metadata
                .rows
                .extend(table.metadata.rows.iter().cloned());
            for (values, more) in all.readings.iter_mut().zip(&table.readings) {
                values.extend(more);
            }
        }
        all
    }
}

fn decrypted(result: &[u8], devices: &DeviceKeys) -> Vec<Answer> {
    Results::decrypt_with(result, &key_set().secret, Some(devices))
        .and_then(Decryption::all)
        .unwrap()
}

#[test]
fn linear_answers_under_keys_of_boards_travel_without_masks() {
    let fleet = fleet();
    let (all, none) = (fleet.at_hand(""), fleet.at_hand("nobody"));
    let sums = ["mean(a)", "sum(2 * a - b)"];
    let rows = ["mean(a)", "sum(2 * a - b)", "last(b)", "score(a + 3)"];
    // Rows of several boards are named with their boards.
    for (uploads, asked) in [(&[0][..], &rows[..]), (&[0, 1], &sums), (&[1, 2, 0], &sums)] {
        let result = fleet.ask(uploads, asked, &all, "");
        assert_eq!(kinds(&result), [Kind::Metadata, Kind::DeviceBodies]);
        let with_masks = fleet.ask(uploads, asked, &none, "");
        assert_eq!(kinds(&with_masks), [Kind::Metadata, Kind::CompactValues]);
        assert!(10 * result.len() < with_masks.len());
        let table = fleet.joined(uploads);
        for (answer, question) in decrypted(&result, &all).iter().zip(questions(asked)) {
            let expected = plain::answer(&table, &question);
            assert!(
                plain::agree(&answer.value, &expected),
                "{question}: {answer:?}"
            );
        }
        // The same answers, also to whoever has other switch keys and does not need them.
        let same = decrypted(&with_masks, &none);
        let values = |answers: &[Answer]| format!("{answers:?}");
        assert_eq!(values(&same), values(&decrypted(&result, &all)));
    }
}

#[test]
fn groups_have_few_bytes_each() {
    let fleet = fleet();
    let all = fleet.at_hand("");
    let result = fleet.ask(&[0, 1], &["mean(a)"], &all, "device,minute");
    let answers = decrypted(&result, &all);
    assert_eq!(answers.len(), 80);
    // Windows of two uploads: a few bytes each, and 8 of a body.
    assert!(result.len() < 80 * 30, "{} bytes", result.len());
    for (answer, upload) in answers.iter().zip([0; 40].into_iter().chain([1; 40])) {
        let minute = answer.group.as_ref().unwrap().from.unwrap();
        let (table, _) = &fleet.uploads[upload];
        let row = table
            .metadata
            .rows
            .iter()
            .position(|label| minute == label.parse().unwrap());
        let expected = table.readings[0][row.unwrap()];
        assert!(
            matches!(answer.value, tfhe_sbc_query::results::AnswerValue::Number { value, .. } if value == expected),
            "{answer:?}, not {expected}"
        );
    }
}

#[test]
fn masks_of_boards_whose_switch_keys_are_not_there_travel() {
    let fleet = fleet();
    let hill = fleet.at_hand("hill");
    let result = fleet.ask(&[0, 1], &["mean(a)"], &hill, "device");
    let lists = [Kind::Metadata, Kind::CompactValues, Kind::DeviceBodies];
    assert_eq!(kinds(&result), lists);
    assert_eq!(decrypted(&result, &hill).len(), 2);
    // Without the key that the request named, the error names it.
    let none = fleet.at_hand("nobody");
    for devices in [Some(&none), None] {
        let refused = Results::decrypt_with(&result, &key_set().secret, devices);
        let Err(ResultsError::DeviceKey(key)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(vec![key], hill.known().unwrap());
    }
}
