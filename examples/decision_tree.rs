//! A decision tree on four sensors. The tree, a file of JSON with thresholds in the units of the
//! readings, is the server's; the way of an hour through it stays encrypted.
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example decision_tree -- 24
//! ```

use serde::Deserialize;
use tfhe_sbc_columns::{Branch, Decision, Number, Relation, Table, decide};
use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::{Outcome, Report, run, weather};
use tfhe_sbc_upload::definition::{Profile, Use};

const TREE: &str = include_str!("data/weather-tree.json");
/// Hours from one row to the next.
const STEP: usize = 151;

/// A tree as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeFile {
    columns: Vec<String>,
    classes: Vec<String>,
    /// The first is the root.
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Node {
    Branch {
        column: String,
        /// The threshold, in the unit of the column.
        threshold: f64,
        /// The node of the rows that are below it.
        below: usize,
        /// The node of the others.
        otherwise: usize,
    },
    Leaf {
        /// The place of a class.
        leaf: u64,
    },
}

impl TreeFile {
    /// Returns the class of each row of encrypted readings.
    fn decide(&self, readings: &Table) -> Outcome<Number> {
        // Branches are counted without the leaves between them.
        let branch = |node: usize| match self.nodes.get(node) {
            Some(Node::Leaf { leaf }) => Ok(Branch::Leaf(*leaf)),
            Some(Node::Branch { .. }) => {
                let before = self.nodes[..node].iter();
                let branches = before.filter(|node| matches!(node, Node::Branch { .. }));
                Ok(Branch::Node(branches.count()))
            }
            None => Err(format!("there is no node {node}")),
        };
        let mut decisions = Vec::new();
        for node in &self.nodes {
            let Node::Branch {
                column,
                threshold,
                below,
                otherwise,
            } = node
            else {
                continue;
            };
            let is_below = Decision::Compare(readings.column(column)?, Relation::Lt, *threshold);
            decisions.push((is_below, branch(*below)?, branch(*otherwise)?));
        }
        Ok(decide(&decisions)?)
    }

    /// Returns the class of a row of plain readings.
    fn decide_plain(&self, row: &[f64]) -> Option<u64> {
        let mut at = 0;
        loop {
            match self.nodes.get(at)? {
                Node::Leaf { leaf } => return Some(*leaf),
                Node::Branch {
                    column,
                    threshold,
                    below,
                    otherwise,
                } => {
                    let place = self.columns.iter().position(|own| own == column)?;
                    at = match row[place] < *threshold {
                        true => *below,
                        false => *otherwise,
                    };
                }
            }
        }
    }
}

fn main() -> Outcome<()> {
    run(24, example)
}

/// The example, on `hours` hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let tree: TreeFile = serde_json::from_str(TREE)?;
    let names: Vec<&str> = tree.columns.iter().map(String::as_str).collect();
    let weather = weather::table(&names, Use::Compact(Profile::Alarms), 0, STEP, hours)?;
    let readings = scene.upload(&weather, &mut report)?;

    // The server.
    let classes = tree.decide(&readings)?;
    let found = scene.ask(&[&classes], &mut report)?;

    // The key owner.
    let found = found[0].numbers().ok_or("no numbers")?;
    let plain = (0..hours).map(|hour| {
        let row: Vec<f64> = weather.readings.iter().map(|column| column[hour]).collect();
        tree.decide_plain(&row)
            .map_or(f64::NAN, |class| class as f64)
    });
    let plain: Vec<f64> = plain.collect();
    report.agrees = found == plain;
    let class = |class: f64| tree.classes.get(class as usize).map_or("?", String::as_str);
    for ((hour, found), plain) in weather.hours.iter().zip(found).zip(&plain) {
        report.say(format!(
            "  {hour}: {} (plain: {})",
            class(*found),
            class(*plain)
        ));
    }
    Ok(report)
}
