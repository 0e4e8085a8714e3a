//! Texts: questions, files in TOML, and the record of check uploads in JSON.

use tfhe_sbc_core::parameter_sets::ALL;
use tfhe_sbc_measure::calibrate;
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::parameter_file;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::checks::{CheckUpload, Checks};

use super::Target;
use super::messages::{known_key, readings};

/// One question of each form.
pub(super) const QUESTIONS: [&str; 8] = [
    "min(level)",
    "mean(level + 2 * depth)",
    "count(level > 20)",
    "rows(level > -3 and depth <= encrypted(1.5))",
    "histogram(level, 0, 10, 20)",
    "percentile(level, 95)",
    "top(3, level)",
    "sum(level where depth == 1 or not level != 2)",
];

/// The text of a question.
pub(super) const QUESTION: Target = Target {
    name: "question",
    run: |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return;
        };
        if let Ok(question) = text.parse::<Question>() {
            question.public_text();
            question.columns();
        }
    },
    seeds: || {
        QUESTIONS
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect()
    },
};

/// A file of `params find`.
pub(super) const PARAMETER_FILE: Target = Target {
    name: "parameter_file",
    run: |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = parameter_file::from_toml(text);
        }
    },
    seeds: || {
        let sets = ALL.iter().filter_map(|set| {
            let text = parameter_file::to_toml(&set.validate().ok()?, "params find").ok()?;
            Some(text.into_bytes())
        });
        sets.collect()
    },
};

/// A file of `params calibrate`.
pub(super) const CALIBRATION_FILE: Target = Target {
    name: "calibration_file",
    run: |bytes| {
        let model = std::str::from_utf8(bytes).map(calibrate::from_toml);
        if let Ok(Ok(model)) = model {
            let text = calibrate::to_toml(&model).unwrap();
            assert_eq!(calibrate::from_toml(&text).ok().as_ref(), Some(&model));
        }
    },
    seeds: || {
        vec![
            calibrate::to_toml(&CostModel::built_in())
                .unwrap()
                .into_bytes(),
        ]
    },
};

/// The name of a result that the record of the first inputs waits for.
const RESULT: &str = "r";

/// The key owner's record of check uploads, and the comparison of an answer that it waits for.
pub(super) const CHECK_UPLOADS: Target = Target {
    name: "check_uploads",
    run: |bytes| {
        let record = std::str::from_utf8(bytes).map(Checks::from_json);
        let Ok(Ok(mut checks)) = record else {
            return;
        };
        let text = checks.to_json().unwrap();
        assert_eq!(Checks::from_json(&text).ok().as_ref(), Some(&checks));
        let (open, (right, wrong)) = (checks.open_count(), checks.compared());
        let no_files = |_: &str| Err("no files".to_owned());
        // A server that answers nothing.
        match checks.compare(known_key().parameters(), RESULT, &[], no_files) {
            Ok(verdicts) => {
                assert!(verdicts.iter().all(|verdict| !verdict.is_right));
                assert_eq!(checks.open_count(), open - 1);
                assert_eq!(checks.compared(), (right, wrong + verdicts.len() as u64));
            }
            Err(_) => {
                assert_eq!(checks.open_count(), open);
                assert_eq!(checks.compared(), (right, wrong));
            }
        }
    },
    seeds: || {
        let mut checks = Checks::default();
        checks.add(CheckUpload {
            id: "1".to_owned(),
            readings: readings(known_key().parameters().block_encoding()),
            values: vec![vec![21.5, 22.25], vec![-5.0, 1.0]],
        });
        let empty = checks.to_json().unwrap();
        for question in QUESTIONS.iter().chain(&["level"]) {
            checks.asked("1", RESULT.to_owned(), vec![(*question).to_owned()]);
        }
        vec![empty.into_bytes(), checks.to_json().unwrap().into_bytes()]
    },
};
