//! The cost of questions before they are asked, from an upload's metadata alone.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::{ParameterFingerprint, Parameters};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{Cost, Speed, costs};
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, report};

#[derive(Serialize)]
struct Counted {
    questions: Vec<Named>,
    together: Predicted,
}

#[derive(Serialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    cost: Predicted,
}

#[derive(Serialize)]
struct Predicted {
    #[serde(flatten)]
    cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

/// Prints the cost of the questions, and how long they take if there is a server key to try.
pub(super) fn run(
    questions: &[Question],
    readings: &Path,
    server_key: Option<&Path>,
    json: bool,
) -> Outcome<()> {
    let upload = output::read_input(readings)?;
    let (message, _) = Message::parse(&upload).explain(readings.display())?;
    let parameters = shipped(message.header.parameters)?;
    let help = "give an upload that `tfhe-sbc encrypt` made, and ask about its columns";
    let readings: ReadingsMetadata = metadata::read(message).advise("no readings", help)?;
    readings.check().advise("no readings", help)?;
    let (each, together) = costs(&parameters, &readings, questions).advise("no count", help)?;
    let speed = match server_key {
        Some(path) => Some(Speed::measure(&keys::read_server_key(path)?).explain("no speed")?),
        None => None,
    };
    let predicted = |cost: Cost| Predicted {
        seconds: speed.map(|speed| speed.predict(&cost).as_secs_f64()),
        cost,
    };
    let named = questions.iter().zip(each).map(|(question, cost)| Named {
        name: question.to_string(),
        cost: predicted(cost),
    });
    let counted = Counted {
        questions: named.collect(),
        together: predicted(together),
    };
    if json {
        return output::print_json(&counted);
    }
    let mut table = output::text_table();
    let mut heading = vec!["question", "bootstraps", "one after the other"];
    heading.extend(speed.map(|_| "about"));
    table.set_header(heading);
    let mut add = |name: String, predicted: &Predicted| {
        let mut row = vec![
            name,
            report::count(predicted.cost.bootstraps),
            report::count(predicted.cost.depth.into()),
        ];
        let time = |seconds| report::time(Duration::from_secs_f64(seconds));
        row.extend(predicted.seconds.map(time));
        table.add_row(row);
    };
    for question in &counted.questions {
        add(question.name.clone(), &question.cost);
    }
    add("all together".to_owned(), &counted.together);
    output::emit(table)
}

/// Returns the shipped parameter set of that fingerprint.
fn shipped(fingerprint: ParameterFingerprint) -> Outcome<Parameters> {
    let mut sets = parameter_sets::ALL.iter();
    let found = sets.find_map(|set| {
        let parameters = set.validate().ok()?;
        (parameters.fingerprint() == fingerprint).then_some(parameters)
    });
    found.ok_or_else(|| {
        failure(
            "the readings are under a parameter set that this version does not know",
            "encrypt them with a key that `tfhe-sbc keygen` made",
        )
    })
}
