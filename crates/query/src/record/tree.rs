//! Decision trees written down.

use std::rc::Rc;

use tfhe_sbc_engine::analytics::tree::{Node, Tree as CodeTree};
use tfhe_sbc_engine::integer::FheUint;

use crate::condition::{CodeCondition, Condition, Relation, Threshold, code_condition};
use crate::evaluate::EvaluateError;
use crate::request::encoding_of;
use crate::results::Meaning;
use crate::tree::{Branch, Tree};

use super::{Recorded, Recorder};

/// What a node compares: a column of [`Turns`] is below a threshold, on one side of the node.
struct Turn {
    column: usize,
    threshold: i128,
    below_is_then: bool,
}

/// The integers of every row that nodes compare.
#[derive(Default)]
struct Turns {
    columns: Vec<Rc<Vec<FheUint>>>,
}

impl Turns {
    fn add(&mut self, column: Rc<Vec<FheUint>>) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }
}

impl Recorder<'_> {
    pub(super) fn tree(&self, tree: &Tree) -> Result<Recorded, EvaluateError> {
        let mut leaves: Vec<String> = tree.leaves.clone();
        leaves.sort();
        leaves.dedup();
        let mut turns = Turns::default();
        let nodes = tree.nodes.len();
        // The engine's leaves are nodes: behind the inner ones, one for each that leads there.
        let mut all = Vec::with_capacity(2 * nodes + 1);
        for node in &tree.nodes {
            let turn = self.turn(&mut turns, &node.condition)?;
            let place = |branch| match branch {
                Branch::Node(node) => node as usize,
                Branch::Leaf(leaf) => nodes + leaf as usize,
            };
            let (mut below, mut otherwise) = (place(node.then), place(node.otherwise));
            if !turn.below_is_then {
                (below, otherwise) = (otherwise, below);
            }
            all.push(Node::Branch {
                column: turn.column,
                threshold: turn.threshold,
                below,
                otherwise,
            });
        }
        all.extend(tree.leaves.iter().map(|leaf| {
            let place = leaves.binary_search(leaf).unwrap_or_default();
            Node::Leaf(place as u64)
        }));
        let code_tree = CodeTree::new(all)?;
        let rows = 0..self.readings.rows.len();
        let decided = self.circuit.side_by_side(rows.len(), |circuit| {
            let decide = |row: usize| {
                let columns = turns.columns.iter();
                let row: Vec<FheUint> = columns.map(|column| column[row].clone()).collect();
                Ok(circuit.decide(&code_tree, &row)?)
            };
            rows.map(decide).collect::<Result<Vec<_>, EvaluateError>>()
        })?;
        let meaning = Meaning::Leaves(self.readings.rows.clone(), leaves);
        Ok(Recorded::new(&decided, meaning))
    }

    /// A value that is compared with a clear threshold, or else the truth value of the
    /// condition.
    fn turn(&self, turns: &mut Turns, condition: &Condition) -> Result<Turn, EvaluateError> {
        if let Condition::Compare {
            of,
            relation,
            threshold: Threshold::Clear(threshold),
        } = condition
        {
            let column = of.linear(self.readings)?.column;
            let code = code_condition(&encoding_of(&column)?, *relation, *threshold);
            if let CodeCondition::Compare(relation, code) = code {
                let code = i128::from(code);
                let (threshold, below_is_then) = match relation {
                    Relation::Lt => (code, true),
                    Relation::Le => (code + 1, true),
                    Relation::Gt => (code + 1, false),
                    Relation::Ge => (code, false),
                    Relation::Eq | Relation::Ne => return self.truth(turns, condition),
                };
                return Ok(Turn {
                    column: turns.add(self.values(of)?.codes),
                    threshold,
                    below_is_then,
                });
            }
        }
        self.truth(turns, condition)
    }

    fn truth(&self, turns: &mut Turns, condition: &Condition) -> Result<Turn, EvaluateError> {
        let met = self.met(condition)?;
        // An integer of one bit.
        let bits = met
            .iter()
            .map(|bit| self.circuit.count(std::slice::from_ref(bit)));
        let bits = bits.collect::<Result<_, _>>()?;
        Ok(Turn {
            column: turns.add(Rc::new(bits)),
            threshold: 1,
            below_is_then: false,
        })
    }
}
