//! Questions about more groups than the server computes at once.

use tfhe_sbc_query::results::AnswerValue;
use tfhe_sbc_query::scope::GroupKey;

use super::{Stored, assert_answers, scope, stored};
use crate::key_set::{Table, table};

/// More groups than the server computes at once, of which some have a row of either upload.
#[test]
fn groups_are_answered_slice_by_slice() {
    let upload = |seed: usize, first_minute: usize, rows: usize| {
        let value = |of: usize, modulus: usize| ((seed + 7 * of + of * of) % modulus) as f64;
        let a = (0..rows).map(|row| value(row, 29));
        let b = (0..rows).map(|row| value(row + 3, 19) / 2.0);
        let columns = [("a", 0.0, 1.0, 5), ("b", 0.0, 0.5, 5)];
        let mut upload = table(&columns, vec![a.collect(), b.collect()]);
        let minutes = first_minute..first_minute + rows;
        let labels =
            minutes.map(|minute| format!("2026-11-23T{:02}:{:02}", minute / 60, minute % 60));
        upload.metadata.rows = labels.collect();
        upload
    };
    let minute = |moment: &str| {
        let from: tfhe_sbc_upload::moments::Moment = moment.parse().unwrap();
        let until = tfhe_sbc_upload::moments::Moment::from_unix_ms(from.unix_ms() + 60_000);
        (Some(from), Some(until))
    };
    for is_compact in [false, true] {
        let uploads = [(1, 0, 300), (4, 250, 290)];
        let uploads = uploads.map(|(seed, first, rows)| {
            let upload = upload(seed, first, rows);
            ("hill", if is_compact { upload.compact() } else { upload })
        });
        let stored = Stored {
            uploads: uploads.into(),
            is_compact,
        };
        // Radix blocks leave as they came, and linear answers need no bootstrap.
        let asked = match is_compact {
            true => ["mean(a)", "sum(b)", "mean(a)"],
            false => ["max(a)", "mean(b)", "max(a)"],
        };
        let (decryption, bootstraps) = stored.ask(scope(None, None, "minute"), &asked).unwrap();
        let answers = decryption.all().unwrap();
        assert_eq!(answers.len(), 3 * 540);
        let labels: std::collections::BTreeSet<&String> = stored
            .uploads
            .iter()
            .flat_map(|(_, upload)| &upload.metadata.rows)
            .collect();
        let groups = labels.into_iter().map(|label| {
            let chosen = stored.chosen(|_, of| of == label);
            let (from, until) = minute(label);
            let key = GroupKey {
                device: None,
                from,
                until,
                rows: chosen.metadata.rows.len() as u32,
            };
            (Some(key), chosen)
        });
        let groups: Vec<(Option<GroupKey>, Table)> = groups.collect();
        // All answers to a question follow one another, also if it is asked twice.
        for (question, answers) in asked.into_iter().zip(answers.chunks(540)) {
            assert_answers(answers, question, &groups);
        }
        if is_compact {
            assert_eq!(bootstraps, 0);
        }
    }
}

/// The bootstraps of several slices are counted before the first, with the thresholds that came with the request.
#[test]
fn encrypted_thresholds_are_compared_with_in_every_slice() {
    for is_compact in [false, true] {
        let mut stored = stored(is_compact);
        stored.uploads.truncate(1);
        let (_, upload) = &mut stored.uploads[0];
        upload.metadata.rows.truncate(5);
        upload
            .readings
            .iter_mut()
            .for_each(|column| column.truncate(5));
        // As many questions as a request may have, so that a slice has a few groups only.
        let mut asked: Vec<String> = (1..256).map(|i| format!("last(a + {i})")).collect();
        asked.push("count(a > encrypted(9))".to_owned());
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        let decryption = stored.ask_encrypted(scope(None, None, "15m"), &asked);
        let answers = decryption.all().unwrap();
        assert_eq!(answers.len(), 5 * 256);
        let (_, upload) = &stored.uploads[0];
        let counts = answers
            .iter()
            .filter(|answer| answer.name.starts_with("count"));
        let expected = upload.readings[0].iter().map(|a| AnswerValue::Number {
            value: f64::from(u8::from(*a > 9.0)),
            unit: String::new(),
        });
        assert!(counts.map(|answer| answer.value.clone()).eq(expected));
    }
}
