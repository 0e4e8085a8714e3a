//! Questions about some rows of stored uploads, and about groups of them, against the same computation in the clear.

mod slices;

use tfhe_sbc_device::ColumnValues;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{MAX_BOOTSTRAPS, Planned, costs_of};
use tfhe_sbc_query::evaluate::{EvaluateError, Form, StoredUpload, evaluate};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Manner, Request, RequestError};
use tfhe_sbc_query::results::{Answer, AnswerValue, Decryption, Results};
use tfhe_sbc_query::scope::{About, AboutDevice, GroupKey, Scope, ScopeError, UploadRows};

use crate::answers::packing_server;
use crate::key_set::{Table, UploadKey, key_set, next_seeds, questions, table};
use crate::plain;

/// The uploads of two devices, of rows every 20 minutes.
struct Stored {
    uploads: Vec<(&'static str, Table)>,
    is_compact: bool,
}

/// Uploads of 7, 5 and 4 rows: two of `hill`, the second of which came last, and one of `lake` between.
fn stored(is_compact: bool) -> Stored {
    let upload = |seed: usize, first_minute: usize, rows: usize| {
        let value = |of: usize, modulus: usize| (seed + 7 * of + of * of) % modulus;
        let a = (0..rows).map(|row| value(row, 29) as f64);
        let b = (0..rows).map(|row| value(row + 3, 19) as f64 / 2.0);
        let columns = [("a", 0.0, 1.0, 5), ("b", 0.0, 0.5, 5)];
        let mut upload = table(&columns, vec![a.collect(), b.collect()]);
        upload.metadata.rows = (0..rows)
            .map(|row| {
                let minute = first_minute + 20 * row;
                format!("2026-11-23T{:02}:{:02}", minute / 60, minute % 60)
            })
            .collect();
        match is_compact {
            true => upload.compact(),
            false => upload,
        }
    };
    Stored {
        uploads: vec![
            ("hill", upload(1, 600, 7)),
            ("lake", upload(4, 610, 5)),
            ("hill", upload(9, 740, 4)),
        ],
        is_compact,
    }
}

impl Stored {
    /// The rows that a condition on device and label chooses, in the clear.
    fn chosen(&self, is_chosen: impl Fn(&str, &str) -> bool) -> Table {
        let (_, first) = &self.uploads[0];
        let mut all = Table {
            metadata: first.metadata.clone(),
            readings: vec![Vec::new(); 2],
        };
        all.metadata.rows.clear();
        for (device, upload) in &self.uploads {
            for (row, label) in upload.metadata.rows.iter().enumerate() {
                if is_chosen(device, label) {
                    all.metadata.rows.push(label.clone());
                    for (values, of) in all.readings.iter_mut().zip(&upload.readings) {
                        values.push(of[row]);
                    }
                }
            }
        }
        all
    }

    fn ask(&self, scope: Scope, asked: &[&str]) -> Result<(Decryption, u64), EvaluateError> {
        let (result, bootstraps) = self.result(scope, asked)?;
        Ok((Results::decrypt(&result, &key_set().secret)?, bootstraps))
    }

    fn result(&self, scope: Scope, asked: &[&str]) -> Result<(Vec<u8>, u64), EvaluateError> {
        let keys = key_set();
        let device = keys.secret.device_key();
        let (_, first) = &self.uploads[0];
        let request = Request::seal_in(
            Manner {
                scope,
                ..Manner::default()
            },
            &questions(asked),
            &first.metadata,
            (keys.secret.parameters(), device.fingerprint()),
            None,
        )?;
        let bytes = self.uploads.iter().map(|(_, table)| keys.upload(table));
        let bytes: Vec<Vec<u8>> = bytes.collect();
        let uploads = self.uploads.iter().zip(&bytes);
        let uploads = uploads.map(|((device, _), bytes)| StoredUpload {
            device: Some(device),
            bytes,
        });
        let uploads: Vec<StoredUpload<'_>> = uploads.collect();
        let (progress, short) = (Progress::default(), Form::ForDecryption);
        evaluate(
            packing_server(),
            &uploads,
            &request,
            short,
            MAX_BOOTSTRAPS,
            &progress,
            next_seeds,
        )
    }

    /// Asks questions whose thresholds are encrypted.
    fn ask_encrypted(&self, scope: Scope, asked: &[&str]) -> Decryption {
        let keys = key_set();
        let device = keys.secret.device_key();
        let (name, table) = &self.uploads[0];
        let manner = Manner {
            scope,
            ..Manner::default()
        };
        let key = UploadKey::Device(&device);
        let request = Request::seal_in(
            manner,
            &questions(asked),
            &table.metadata,
            (keys.secret.parameters(), device.fingerprint()),
            Some(&mut |values: &[ColumnValues<'_>]| key.encrypt(values)),
        );
        let bytes = keys.upload(table);
        let upload = StoredUpload {
            device: Some(name),
            bytes: &bytes,
        };
        let (progress, short) = (Progress::default(), Form::ForDecryption);
        let (result, bootstraps) = evaluate(
            packing_server(),
            &[upload],
            &request.unwrap(),
            short,
            MAX_BOOTSTRAPS,
            &progress,
            next_seeds,
        )
        .unwrap();
        assert!(progress.expected_bootstraps() >= bootstraps && bootstraps > 0);
        Results::decrypt(&result, &keys.secret).unwrap()
    }

    fn answers(&self, scope: Scope, asked: &[&str]) -> Vec<Answer> {
        let (decryption, bootstraps) = self.ask(scope, asked).unwrap();
        let rows: Vec<UploadRows<'_>> = self
            .uploads
            .iter()
            .map(|(device, table)| UploadRows {
                device: Some(device),
                labels: &table.metadata.rows,
            })
            .collect();
        let planned = Planned {
            columns: &self.uploads[0].1.metadata.columns,
            uploads: &rows,
            gaps: None,
            scope,
            sanitise: false,
        };
        let (parameters, asked) = (key_set().secret.parameters(), questions(asked));
        let (_, cost) = costs_of(parameters, planned, &asked, &Progress::default()).unwrap();
        match self.is_compact {
            true => assert_eq!(cost.bootstraps, bootstraps),
            // Rows of several uploads are planned as if they were of one.
            false => assert!(cost.bootstraps.abs_diff(bootstraps) <= bootstraps / 4),
        }
        decryption.all().unwrap()
    }
}

fn scope(since: Option<&str>, until: Option<&str>, by: &str) -> Scope {
    let moment = |text: &str| text.parse().unwrap();
    Scope {
        since: since.map(moment),
        until: until.map(moment),
        newest: None,
        by: match by {
            "" => Default::default(),
            by => by.parse().unwrap(),
        },
    }
}

/// Compares answers with those about the rows of one group each.
fn assert_answers(answers: &[Answer], question: &str, groups: &[(Option<GroupKey>, Table)]) {
    let question: Question = question.parse().unwrap();
    let about: Vec<&Answer> = answers
        .iter()
        .filter(|answer| answer.name == question.to_string())
        .collect();
    assert_eq!(about.len(), groups.len(), "{question}");
    for (answer, (key, table)) in about.into_iter().zip(groups) {
        assert_eq!(answer.group, *key, "{question}");
        let expected = plain::answer(table, &question);
        assert!(
            plain::agree(&answer.value, &expected),
            "{question} {key:?}: {:?}, {expected:?}",
            answer.value
        );
    }
}

#[test]
fn questions_are_about_the_rows_of_a_time() {
    const ASKED: [&str; 5] = [
        "mean(a)",
        "sum(b)",
        "max(a)",
        "count(a > 9 and b < 6)",
        "sort(a)",
    ];
    for is_compact in [true, false] {
        let stored = stored(is_compact);
        let (since, until) = ("2026-11-23T11:00", "2026-11-23T12:40");
        let answers = stored.answers(scope(Some(since), Some(until), ""), &ASKED);
        let chosen = || stored.chosen(|_, label| (since..until).contains(&label));
        for question in ASKED {
            assert_answers(&answers, question, &[(None, chosen())]);
        }
        assert_eq!(chosen().metadata.rows.len(), 7);
    }
}

#[test]
fn an_answer_says_which_rows_it_is_about() {
    let stored = stored(true);
    let device = |name: &str, rows, uploads| AboutDevice {
        name: Some(name.to_owned()),
        rows,
        uploads,
    };
    let about = |devices: Vec<AboutDevice>, first: &str, last: &str| About {
        rows: devices.iter().map(|device| device.rows).sum(),
        uploads: devices.iter().map(|device| device.uploads).sum(),
        devices,
        span: Some(tfhe_sbc_upload::moments::Span {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
        }),
        repeated: 0,
    };
    let (decryption, bootstraps) = stored.ask(Scope::default(), &["sum(a)"]).unwrap();
    let expected = about(
        vec![device("hill", 11, 2), device("lake", 5, 1)],
        "2026-11-23T10:00",
        "2026-11-23T13:20",
    );
    assert_eq!((decryption.about, bootstraps), (Some(expected), 0));
    let late = scope(Some("2026-11-23T11:45"), None, "");
    let (decryption, _) = stored.ask(late, &["sum(a)"]).unwrap();
    let expected = about(
        vec![device("hill", 5, 2)],
        "2026-11-23T12:00",
        "2026-11-23T13:20",
    );
    assert_eq!(decryption.about, Some(expected));
}

#[test]
fn every_group_has_an_answer_with_its_key() {
    const ASKED: [&str; 6] = [
        "mean(a)",
        "max(b)",
        "count(a > 9)",
        "argmax(a)",
        "rows(b >= 4)",
        "top_k(a, 4)",
    ];
    let moment = |text: &str| text.parse().unwrap();
    for is_compact in [true, false] {
        let stored = stored(is_compact);
        let answers = stored.answers(scope(None, Some("2026-11-23T12:30"), "device,hour"), &ASKED);
        let group = |device: &str, from: &str, until: &str| {
            let chosen =
                stored.chosen(|own, label| own == device && (from..until).contains(&label));
            let key = GroupKey {
                device: Some(device.to_owned()),
                from: Some(moment(from)),
                until: Some(moment(until)),
                rows: chosen.metadata.rows.len() as u32,
            };
            (Some(key), chosen)
        };
        let groups = || {
            [
                group("hill", "2026-11-23T10:00", "2026-11-23T11:00"),
                group("hill", "2026-11-23T11:00", "2026-11-23T12:00"),
                group("hill", "2026-11-23T12:00", "2026-11-23T13:00"),
                group("lake", "2026-11-23T10:00", "2026-11-23T11:00"),
                group("lake", "2026-11-23T11:00", "2026-11-23T12:00"),
            ]
        };
        let mut expected = groups();
        // The third group ends at the end of the time that is asked about.
        let third = stored.chosen(|own, label| {
            own == "hill" && ("2026-11-23T12:00".."2026-11-23T12:30").contains(&label)
        });
        if let (Some(key), table) = &mut expected[2] {
            key.rows = third.metadata.rows.len() as u32;
            *table = third;
        }
        for question in &ASKED[..5] {
            assert_answers(&answers, question, &expected);
        }
        // A group of fewer rows has fewer largest values.
        let largest = answers.iter().filter(|answer| answer.name == "top_k(a, 4)");
        let counts = largest.map(|answer| match &answer.value {
            AnswerValue::Ranked { rows, .. } => rows.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(counts.collect::<Vec<_>>(), [3, 3, 2, 3, 2]);
    }
}

#[test]
fn rows_of_several_devices_are_named_with_their_device() {
    let stored = stored(true);
    let answers = stored.answers(
        Scope::default(),
        &[
            "argmax(a)",
            "first(b)",
            "last(b)",
            "rows(a > 25)",
            "top_k(a, 3)",
        ],
    );
    let all = stored.chosen(|_, _| true);
    let devices = stored.uploads.iter().flat_map(|(device, table)| {
        table
            .metadata
            .rows
            .iter()
            .map(move |label| format!("{device} {label}"))
    });
    let labels: Vec<String> = devices.collect();
    let named = Table {
        metadata: tfhe_sbc_upload::readings::ReadingsMetadata {
            rows: labels,
            ..all.metadata
        },
        readings: all.readings,
    };
    assert_answers(&answers, "argmax(a)", &[(None, named.clone())]);
    assert_answers(&answers, "top_k(a, 3)", &[(None, named)]);
    let row = |answer: &Answer| match &answer.value {
        AnswerValue::Row { row, value, .. } => (row.clone(), *value),
        other => panic!("{other:?}"),
    };
    let (_, first) = &stored.uploads[0];
    let (_, last) = &stored.uploads[2];
    let label = "hill 2026-11-23T10:00".to_owned();
    assert_eq!(row(&answers[1]), (label, first.readings[1][0]));
    let label = "hill 2026-11-23T13:20".to_owned();
    assert_eq!(row(&answers[2]), (label, last.readings[1][3]));
    let AnswerValue::Rows(rows) = &answers[3].value else {
        panic!("rows");
    };
    assert!(!rows.is_empty() && rows.iter().all(|row| row.contains(' ')));
}

#[test]
fn the_last_value_of_each_device_takes_no_bootstrap() {
    let stored = stored(true);
    let (decryption, bootstraps) = stored
        .ask(scope(None, None, "device"), &["last(a)"])
        .unwrap();
    assert_eq!(bootstraps, 0);
    let answers = decryption.all().unwrap();
    let values = answers.iter().map(|answer| match &answer.value {
        AnswerValue::Row { row, value, .. } => (row.as_str(), *value),
        other => panic!("{other:?}"),
    });
    let expected = [
        ("2026-11-23T13:20", stored.uploads[2].1.readings[0][3]),
        ("2026-11-23T11:30", stored.uploads[1].1.readings[0][4]),
    ];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    // The devices whose last value exceeds a limit.
    let newest = Scope {
        newest: Some(1),
        ..Scope::default()
    };
    let limit = expected[0].1.min(expected[1].1);
    let (decryption, _) = stored
        .ask(newest, &[&format!("rows(a > {limit})")])
        .unwrap();
    let above = expected
        .iter()
        .position(|(_, value)| *value > limit)
        .unwrap();
    let label = format!("{} {}", ["hill", "lake"][above], expected[above].0);
    let answers = decryption.all().unwrap();
    assert_eq!(answers[0].value, AnswerValue::Rows(vec![label]));
}

#[test]
fn scopes_that_leave_nothing_to_ask_about_are_refused() {
    let stored = stored(true);
    let future = scope(Some("2030-01-01"), None, "");
    assert!(matches!(
        stored.ask(future, &["sum(a)"]).unwrap_err(),
        EvaluateError::Request(RequestError::Scope(ScopeError::NoRows { rows: 16, .. }))
    ));
    let reversed = scope(Some("2026-11-24"), Some("2026-11-23"), "");
    assert!(matches!(
        stored.ask(reversed, &["sum(a)"]).unwrap_err(),
        EvaluateError::Request(RequestError::Scope(ScopeError::Reversed { .. }))
    ));
    // One row of `hill` is after 13:15, and has no variance of a sample.
    let alone = scope(Some("2026-11-23T13:15"), None, "hour");
    let error = stored.ask(alone, &["sample_variance(a)"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the query: in the group 2026-11-23T13:00:00Z, the variance of a sample needs two rows: there is one"
    );
    let mut numbered = stored;
    numbered.uploads[1].1.metadata.rows[2] = "r2".to_owned();
    let error = numbered.ask(future, &["sum(a)"]).unwrap_err().to_string();
    assert!(error.contains("the row 'r2' has no time"), "{error}");
    // Without a selection by time, labels need be no times.
    let (decryption, _) = numbered
        .ask(scope(None, None, "device"), &["sum(a)"])
        .unwrap();
    assert_eq!(decryption.about.unwrap().span, None);
}

#[test]
fn a_request_is_narrowed_to_a_period_as_if_it_had_been_asked_so() {
    let keys = key_set();
    let (parameters, key) = (keys.secret.parameters(), keys.secret.device_key());
    let metadata = &stored(true).uploads[0].1.metadata;
    let once = keys.upload(&stored(false).uploads[0].1);
    let sealed = |scope: Scope| {
        let manner = Manner {
            scope,
            ..Manner::default()
        };
        let under = (parameters, key.fingerprint());
        let asked = questions(&["mean(a)", "count(b > encrypted(2))"]);
        // The same blocks each time, as a client seals them once.
        let mut blocks = |_: &[ColumnValues<'_>]| Ok(once.clone());
        Request::seal_in(manner, &asked, metadata, under, Some(&mut blocks)).unwrap()
    };
    let moment = |text: &str| text.parse().unwrap();
    let period = (moment("2026-11-23T10:00"), moment("2026-11-23T11:00"));
    let hours = scope(None, None, "device,hour");
    let narrowed = Request::within(&sealed(hours), period).unwrap();
    let one = scope(
        Some("2026-11-23T10:00"),
        Some("2026-11-23T11:00"),
        "device,hour",
    );
    assert_eq!(narrowed, sealed(one));
    // A time of its own is narrowed, and nothing is widened.
    let own = scope(Some("2026-11-23T10:30"), Some("2026-11-24"), "hour");
    let both = scope(Some("2026-11-23T10:30"), Some("2026-11-23T11:00"), "hour");
    assert_eq!(Request::within(&sealed(own), period).unwrap(), sealed(both));
    let other = scope(Some("2026-11-23T11:00"), None, "hour");
    assert!(matches!(
        Request::within(&sealed(other), period).unwrap_err(),
        RequestError::Scope(ScopeError::Reversed { .. })
    ));
    for cut in [0, 10, 60] {
        assert!(Request::within(&narrowed[..cut], period).is_err());
    }
}

#[test]
fn results_one_after_the_other_are_read_as_one_table() {
    let stored = stored(true);
    let keys = key_set();
    let asked = ["mean(a)", "sum(b)"];
    let hour = |from: &str, until: &str| {
        let period = scope(Some(from), Some(until), "device,hour");
        stored.result(period, &asked).unwrap().0
    };
    let ten = hour("2026-11-23T10:00", "2026-11-23T11:00");
    let eleven = hour("2026-11-23T11:00", "2026-11-23T12:00");
    let both = scope(
        Some("2026-11-23T10:00"),
        Some("2026-11-23T12:00"),
        "device,hour",
    );
    let (expected, _) = stored.ask(both, &asked).unwrap();
    let joined = Results::decrypt(&[ten.clone(), eleven.clone()].concat(), &keys.secret).unwrap();
    let (about, expected_about) = (
        joined.about.clone().unwrap(),
        expected.about.clone().unwrap(),
    );
    assert_eq!(
        (about.rows, about.span),
        (expected_about.rows, expected_about.span)
    );
    assert_eq!(about.devices.len(), 2);
    assert_eq!(joined.all().unwrap(), expected.all().unwrap());
    // Half a result more, and ciphertexts without a result before them, are none.
    let half = [&ten[..], &eleven[..eleven.len() / 2]].concat();
    assert!(Results::decrypt(&half, &keys.secret).is_err());
    let (_, behind) = tfhe_sbc_core::wire::Message::parse(&ten).unwrap();
    assert!(Results::decrypt(&[behind, &eleven].concat(), &keys.secret).is_err());
}
