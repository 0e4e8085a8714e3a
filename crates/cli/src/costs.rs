//! The costs of questions before they are asked, as a table and as JSON.

use std::time::Duration;

use comfy_table::Table;
use serde::Serialize;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::Cost;
use tfhe_sbc_query::evaluate::MAX_LOADED_BLOCKS;

use crate::{output, report};

/// The costs of questions, each by itself and all together.
#[derive(Serialize)]
pub(crate) struct Counted {
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

impl Counted {
    /// Takes the costs of questions, with the seconds that a server takes for a cost, as far as that is known.
    pub(crate) fn new(
        questions: &[Question],
        each: Vec<Cost>,
        together: Cost,
        seconds: impl Fn(&Cost) -> Option<f64>,
    ) -> Self {
        let predicted = |cost: Cost| Predicted {
            seconds: seconds(&cost),
            cost,
        };
        let named = questions.iter().zip(each).map(|(question, cost)| Named {
            name: question.to_string(),
            cost: predicted(cost),
        });
        Self {
            questions: named.collect(),
            together: predicted(together),
        }
    }

    /// The bootstraps of each question by itself.
    pub(crate) fn bootstraps(&self) -> impl Iterator<Item = u64> {
        (self.questions.iter()).map(|question| question.cost.cost.bootstraps)
    }

    /// Returns what a server refuses of this, because it loads too many blocks at once, and what to do.
    pub(crate) fn too_large(&self) -> Option<String> {
        let refused = |name: &str, predicted: &Predicted, advice: &str| {
            let loaded = report::count(predicted.cost.loaded_blocks);
            let most = report::count(MAX_LOADED_BLOCKS);
            let text = format!(
                "{name} would load {loaded} blocks of readings at once, and a server refuses more than {most}: {advice}"
            );
            predicted.cost.is_too_large().then_some(text)
        };
        let by_itself = self.questions.iter();
        let mut by_itself = by_itself.filter_map(|question| {
            refused(
                &question.name,
                &question.cost,
                "ask about fewer rows, such as a month at a time",
            )
        });
        let together = || refused("all together", &self.together, "ask them one by one");
        by_itself.next().or_else(together)
    }

    /// Returns the table for people.
    pub(crate) fn table(&self) -> Table {
        let mut table = output::text_table();
        let mut heading = vec!["question", "bootstraps", "one after the other"];
        heading.extend(self.together.seconds.map(|_| "about"));
        table.set_header(heading);
        let mut add = |name: &str, predicted: &Predicted| {
            let mut row = vec![
                name.to_owned(),
                report::count(predicted.cost.bootstraps),
                report::count(predicted.cost.depth.into()),
            ];
            let time = |seconds| {
                let time = Duration::try_from_secs_f64(seconds);
                report::time(time.unwrap_or(Duration::MAX))
            };
            row.extend(predicted.seconds.map(time));
            table.add_row(row);
        };
        for question in &self.questions {
            add(&question.name, &question.cost);
        }
        add("all together", &self.together);
        table
    }
}
