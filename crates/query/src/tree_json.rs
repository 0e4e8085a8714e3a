//! The JSON that decision trees are read from:
//!
//! ```json
//! {
//!   "if": "temperature_c < 5 and humidity_pct > 80",
//!   "then": "fog",
//!   "else": { "if": "illuminance_lx < 100", "then": "night", "else": "day" }
//! }
//! ```
//!
//! A branch is another tree or a leaf, which is a text or a number.

use serde::Deserialize;

use crate::error::{MAX_NODES, MAX_TREE_DEPTH, TreeError};
use crate::parse;
use crate::tree::{Branch, Node, Tree};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonNode {
    r#if: String,
    then: Box<JsonBranch>,
    r#else: Box<JsonBranch>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonBranch {
    Node(JsonNode),
    Number(serde_json::Number),
    Text(String),
}

impl Tree {
    /// Reads the JSON of a tree.
    ///
    /// # Errors
    /// Returns an error for a text that is no tree, for conditions that cannot be parsed, and for trees
    /// that are too large.
    pub fn from_json(name: &str, json: &str) -> Result<Self, TreeError> {
        let root: JsonNode =
            serde_json::from_str(json).map_err(|error| TreeError::Json(error.to_string()))?;
        let mut tree = Self {
            name: name.to_owned(),
            nodes: Vec::new(),
            leaves: Vec::new(),
        };
        tree.plant(root, 1)?;
        tree.check()?;
        Ok(tree)
    }

    fn plant(&mut self, node: JsonNode, depth: usize) -> Result<Branch, TreeError> {
        if depth > MAX_TREE_DEPTH || self.nodes.len() == MAX_NODES {
            return Err(TreeError::Size);
        }
        let condition = parse::condition(&node.r#if).map_err(|reason| TreeError::Condition {
            text: node.r#if.clone(),
            reason,
        })?;
        let place = self.nodes.len();
        self.nodes.push(Node {
            condition,
            then: Branch::Leaf(0),
            otherwise: Branch::Leaf(0),
        });
        let then = self.branch(*node.then, depth)?;
        let otherwise = self.branch(*node.r#else, depth)?;
        (self.nodes[place].then, self.nodes[place].otherwise) = (then, otherwise);
        Ok(Branch::Node(place as u32))
    }

    fn branch(&mut self, branch: JsonBranch, depth: usize) -> Result<Branch, TreeError> {
        let leaf = match branch {
            JsonBranch::Node(node) => return self.plant(node, depth + 1),
            JsonBranch::Number(number) => number.to_string(),
            JsonBranch::Text(text) => text,
        };
        self.leaves.push(leaf);
        Ok(Branch::Leaf(self.leaves.len() as u32 - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_nodes_and_leaves() {
        let json = r#"{"if": "a < 5 and b > encrypted(2)", "then": 1.5,
            "else": {"if": "b in (1, 2)", "then": "hot", "else": "hot"}}"#;
        let tree = Tree::from_json("mine", json).unwrap();
        assert_eq!(tree.leaves, ["1.5", "hot", "hot"]);
        assert_eq!(tree.nodes[0].then, Branch::Leaf(0));
        assert_eq!(tree.nodes[0].otherwise, Branch::Node(1));
        assert_eq!(tree.nodes[1].otherwise, Branch::Leaf(2));
        assert_eq!(tree.nodes[0].condition.comparisons().len(), 2);
    }

    #[test]
    fn what_is_no_tree_says_why() {
        let deep = |depth: usize| {
            let open = r#"{"if": "a < 1", "then": "x", "else": "#.repeat(depth);
            format!("{open}\"y\"{}", "}".repeat(depth))
        };
        assert!(Tree::from_json("deep", &deep(MAX_TREE_DEPTH)).is_ok());
        for (json, reason) in [
            ("", "no tree"),
            ("[1]", "no tree"),
            (r#""leaf""#, "no tree"),
            (r#"{"if": "a < 1", "then": 1}"#, "no tree"),
            (r#"{"if": "a < 1", "then": true, "else": 1}"#, "no tree"),
            (
                r#"{"if": "a <", "then": 1, "else": 2}"#,
                "the condition 'a <'",
            ),
            (
                r#"{"if": "a < 1", "then": "", "else": 2}"#,
                "a leaf has a text",
            ),
            (&deep(MAX_TREE_DEPTH + 1), "one after the other"),
        ] {
            let error = Tree::from_json("mine", json).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn branches_that_make_no_tree_are_refused() {
        let json = r#"{"if": "a < 5", "then": 1, "else": {"if": "b < 1", "then": 2, "else": 3}}"#;
        let tree = Tree::from_json("mine", json).unwrap();
        for (place, branch) in [
            (0, Branch::Node(0)),
            (1, Branch::Node(0)),
            (1, Branch::Node(1)),
            (0, Branch::Node(2)),
            (0, Branch::Node(u32::MAX)),
            (1, Branch::Leaf(3)),
            (1, Branch::Leaf(0)),
            (0, Branch::Leaf(2)),
        ] {
            let mut forged = tree.clone();
            forged.nodes[place].otherwise = branch;
            assert_eq!(forged.check(), Err(TreeError::Shape), "{place} {branch:?}");
        }
        let mut forged = tree.clone();
        forged.leaves.push("unused".to_owned());
        assert_eq!(forged.check(), Err(TreeError::Shape));
        forged.nodes.clear();
        assert_eq!(forged.check(), Err(TreeError::Size));
    }
}
