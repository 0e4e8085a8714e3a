//! A decision tree on four sensors. The tree, a file of JSON with thresholds in the units of
//! the readings, is the server's; which way an hour goes through it, it does not learn.

use serde::Deserialize;
use tfhe_sbc_engine::analytics::tree::{Node, Tree};
use tfhe_sbc_upload::readings::Column;

use crate::scene::{Answer, Scene};
use crate::weather;
use crate::{Outcome, Report};

const TREE: &str = include_str!("../data/weather-tree.json");
/// Hours from one row to the next.
const STEP: usize = 151;

/// A tree as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeFile {
    columns: Vec<String>,
    classes: Vec<String>,
    nodes: Vec<NodeFile>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum NodeFile {
    Branch {
        column: String,
        /// In the unit of the column.
        threshold: f64,
        below: usize,
        otherwise: usize,
    },
    Leaf {
        /// A class, by its place in the list.
        leaf: u64,
    },
}

impl TreeFile {
    /// The tree with thresholds in codes: a reading is below one if its code is below the
    /// code of the lowest reading that is not.
    fn tree(&self, columns: &[Column]) -> Outcome<Tree> {
        let node = |node: &NodeFile| -> Outcome<Node> {
            Ok(match node {
                NodeFile::Leaf { leaf } if *leaf < self.classes.len() as u64 => Node::Leaf(*leaf),
                NodeFile::Leaf { leaf } => return Err(format!("there is no class {leaf}").into()),
                NodeFile::Branch {
                    column,
                    threshold,
                    below,
                    otherwise,
                } => {
                    let place = columns.iter().position(|own| own.name == *column);
                    let place = place.ok_or_else(|| format!("there is no column '{column}'"))?;
                    let own = &columns[place];
                    // What is a hair above a step for being no binary fraction is that step.
                    let steps = (threshold - own.offset) / own.scale;
                    Node::Branch {
                        column: place,
                        threshold: (steps - 1e-6).ceil() as i128,
                        below: *below,
                        otherwise: *otherwise,
                    }
                }
            })
        };
        let nodes = self.nodes.iter().map(node).collect::<Outcome<_>>()?;
        Ok(Tree::new(nodes)?)
    }
}

/// The example, on so many hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let file: TreeFile = serde_json::from_str(TREE)?;
    let names: Vec<&str> = file.columns.iter().map(String::as_str).collect();
    let table = weather::table(&names, 0, STEP, hours)?;
    let upload = scene.encrypt(&table, &mut report)?;

    let circuit = scene.circuit()?;
    let received = scene.receive(&upload)?;
    let tree = file.tree(&received.metadata.columns)?;
    let columns = (0..names.len())
        .map(|column| received.column(&circuit, column))
        .collect::<Outcome<Vec<_>>>()?;
    let row = |hour: usize| columns.iter().map(|c| c[hour].clone()).collect::<Vec<_>>();
    let classes = circuit.side_by_side(hours, |c| {
        (0..hours)
            .map(|hour| c.decide(&tree, &row(hour)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let answers: Vec<Answer> = classes.iter().map(Answer::number).collect();
    let found = scene.ask(&circuit, &answers, &mut report)?;

    let codes = (0..names.len())
        .map(|column| table.codes(column))
        .collect::<Outcome<Vec<_>>>()?;
    let plain: Vec<u64> = (0..hours)
        .map(|hour| {
            let row: Vec<i128> = codes.iter().map(|codes| codes[hour].into()).collect();
            tree.decide(&row).unwrap_or_default()
        })
        .collect();
    report.agrees = found == plain;
    let class = |class: u64| file.classes.get(class as usize).map_or("?", String::as_str);
    for (hour, (&found, &plain)) in table.hours.iter().zip(found.iter().zip(&plain)) {
        report.say(format!(
            "  {hour}: {} (plain: {})",
            class(found),
            class(plain)
        ));
    }
    Ok(report)
}
