//! Decision trees.

use serde::{Deserialize, Serialize};

use crate::condition::Condition;
pub use crate::error::{MAX_NODES, MAX_TREE_DEPTH, TreeError};

/// A decision tree. Node 0 is the root; every other node and every leaf is the branch of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The name of the tree.
    pub name: String,
    /// The nodes, each before those below it.
    pub nodes: Vec<Node>,
    /// The leaves, one more than the nodes.
    pub leaves: Vec<String>,
}

/// An inner node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The condition that decides which branch a row takes.
    pub condition: Condition,
    /// The branch of rows that meet the condition.
    pub then: Branch,
    /// The branch of the other rows.
    pub otherwise: Branch,
}

/// A branch of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// A node, by its place.
    Node(u32),
    /// A leaf, by its place.
    Leaf(u32),
}

impl Tree {
    /// Checks sizes, texts and shape.
    ///
    /// # Errors
    /// Returns the first defect.
    pub fn check(&self) -> Result<(), TreeError> {
        if !(1..=MAX_NODES).contains(&self.nodes.len()) {
            return Err(TreeError::Size);
        }
        let is_text = |text: &String| {
            (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control)
        };
        if !self.leaves.iter().all(is_text) {
            return Err(TreeError::Leaf);
        }
        // Every node but the root, and every leaf, is the branch of one node before it.
        let (mut node_seen, mut leaf_seen) = (
            vec![false; self.nodes.len()],
            vec![false; self.leaves.len()],
        );
        let mut depths = vec![1; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for branch in [node.then, node.otherwise] {
                let seen = match branch {
                    Branch::Node(next) if next as usize > at => {
                        if let Some(depth) = depths.get(next as usize).map(|_| depths[at] + 1) {
                            depths[next as usize] = depth;
                        }
                        node_seen.get_mut(next as usize)
                    }
                    Branch::Leaf(leaf) => leaf_seen.get_mut(leaf as usize),
                    Branch::Node(_) => None,
                };
                match seen {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(TreeError::Shape),
                }
            }
        }
        let whole = node_seen.iter().skip(1).chain(&leaf_seen).all(|&seen| seen);
        if !whole {
            return Err(TreeError::Shape);
        }
        match depths.into_iter().max() {
            Some(depth) if depth > MAX_TREE_DEPTH => Err(TreeError::Size),
            _ => Ok(()),
        }
    }
}
