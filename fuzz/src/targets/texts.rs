//! Texts: questions, and files in TOML.

use tfhe_sbc_core::parameter_sets::ALL;
use tfhe_sbc_measure::calibrate;
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::parameter_file;
use tfhe_sbc_query::Question;

use super::Target;

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
