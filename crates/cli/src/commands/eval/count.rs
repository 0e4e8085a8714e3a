//! The cost of questions before they are asked, from an upload's metadata alone.

use std::path::{Path, PathBuf};

use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::{ParameterFingerprint, Parameters};
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{Cost, Planned, Speed, costs_of};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::scope::{Scope, UploadRows};
use tfhe_sbc_upload::definition::{self, Profile, Under, UploadKind};
use tfhe_sbc_upload::gaps::Gaps;

use crate::costs::Counted;
use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output};

/// The uploads whose cost is asked for, and which of their rows.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The files.
    pub(super) files: &'a [PathBuf],
    /// The rows.
    pub(super) scope: Scope,
}

/// The answers whose cost is asked for.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Ordinary answers.
    Ordinary,
    /// Sanitised ones.
    Sanitised,
}

/// Prints the cost of the questions, and how long they take if there is a server key to try.
pub(super) fn run(
    questions: &[Question],
    form: Form,
    readings: Asked<'_>,
    server_key: Option<&Path>,
    json: bool,
) -> Outcome<()> {
    let Asked { files, scope } = readings;
    let uploads = super::Given::read(files)?;
    let described = uploads.described()?;
    let rows = described.iter().map(|upload| UploadRows {
        device: None,
        labels: &upload.rows,
    });
    let rows: Vec<UploadRows<'_>> = rows.collect();
    let first = described
        .first()
        .ok_or_else(|| failure("there are no readings", super::READINGS_HELP))?;
    let (message, list) = uploads.first()?;
    let mut gaps = Gaps::default();
    let mut before = 0;
    for upload in &described {
        gaps.append(before, &upload.gaps);
        before += upload.rows.len();
    }
    let parameters = shipped(message.header.parameters)?;
    let planned = Planned {
        columns: &first.columns,
        uploads: &rows,
        gaps: Some(&gaps),
        scope,
        sanitise: matches!(form, Form::Sanitised),
    };
    let counted = costs_of(&parameters, planned, questions, &Progress::default());
    let (each, together) = counted.advise("no count", "ask about the columns of the readings")?;
    let speed = match server_key {
        Some(path) => Some(Speed::measure(&keys::read_server_key(path)?).explain("no speed")?),
        None => None,
    };
    let seconds = |cost: &Cost| speed.map(|speed| speed.predict(cost).as_secs_f64());
    let counted = Counted::new(questions, each, together, seconds);
    if json {
        return output::print_json(&counted);
    }
    output::emit(counted.table())?;
    if let Some(refused) = counted.too_large() {
        output::note(refused);
    }
    let kind = match Message::parse(list).map(|(list, _)| list.header.kind) {
        Ok(Kind::ColumnList | Kind::GlweList) => UploadKind::PublicKey,
        _ => UploadKind::Symmetric,
    };
    let under = Under {
        parameters: &parameters,
        kind,
    };
    for (question, bootstraps) in questions.iter().zip(counted.bootstraps()) {
        if bootstraps > 0
            && let Some(names) = free_for_means(under, planned, question)
        {
            output::note(format_args!(
                "{question} would take no bootstrap with use = \"means\" in the definition of {}",
                names.join(" and ")
            ));
        }
    }
    Ok(())
}

/// Returns the columns that would have to be made for means, so that a question takes no bootstrap; `None` if
/// it is not linear, or would take bootstraps nevertheless.
fn free_for_means(
    under: Under<'_>,
    planned: Planned<'_>,
    question: &Question,
) -> Option<Vec<String>> {
    if !question.is_linear() {
        return None;
    }
    let mut meant = planned.columns.to_vec();
    let mut names = Vec::new();
    for column in &mut meant {
        if question.columns().contains(&column.name.as_str()) {
            let form = definition::form(Profile::Means, column.bits, under)?;
            if column.compact != Some(form) {
                names.push(column.name.clone());
                column.compact = Some(form);
            }
        }
    }
    let question = std::slice::from_ref(question);
    let planned = Planned {
        columns: &meant,
        ..planned
    };
    let counted = costs_of(under.parameters, planned, question, &Progress::default());
    let (_, together) = counted.ok()?;
    (together.bootstraps == 0 && !names.is_empty()).then_some(names)
}

/// Returns the shipped parameter set of that fingerprint.
fn shipped(fingerprint: ParameterFingerprint) -> Outcome<Parameters> {
    parameter_sets::by_fingerprint(fingerprint).ok_or_else(|| {
        failure(
            "the readings are under a parameter set that this version does not know",
            "encrypt them with a key that `tfhe-sbc keygen` made",
        )
    })
}
