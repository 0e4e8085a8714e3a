//! Decision trees with clear thresholds, on rows of encrypted readings.
//!
//! Every branch makes one comparison, all of them together. The cost of a leaf is the number of
//! branches on its path at which the row turns away from it, a sum of results of comparisons, and
//! is 0 for exactly one leaf (Tai, Ma, Zhao, Chow: Privacy-Preserving Decision Trees Evaluation
//! via Linear Functions, ESORICS 2017). One lookup of the cost gives a digit of the leaf's value
//! or 0, and the answer is the sum of these.

use std::cmp::Reverse;

use super::{AnalyticsError, range_of};
use crate::circuit::{Block, Circuit};
use crate::integer::{
    Comparison, FheBool, FheUint, Integer, IntegerError, Signedness, Unsigned, Width,
};

/// A node of a decision tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A branch: whether the reading of a column is below a threshold.
    Branch {
        /// The column.
        column: usize,
        /// The threshold.
        threshold: i128,
        /// The node to go to if the reading is below the threshold.
        below: usize,
        /// The node to go to otherwise.
        otherwise: usize,
    },
    /// A leaf with its answer.
    Leaf(u64),
}

/// A decision tree: a list of nodes, the first of which is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    value: u64,
    /// The branches above the leaf, and for each whether the leaf is on the side below the
    /// threshold.
    path: Vec<(usize, bool)>,
}

impl Tree {
    /// The largest number of branches on the way to a leaf.
    pub const MAX_DEPTH: usize = 64;

    /// Makes a tree of its nodes.
    ///
    /// # Errors
    /// If the nodes are not a tree: the children of a branch must come after it, every node but
    /// the first must be the child of exactly one branch, and no node may be deeper than
    /// [`MAX_DEPTH`](Self::MAX_DEPTH).
    pub fn new(nodes: Vec<Node>) -> Result<Self, AnalyticsError> {
        let mut paths: Vec<Option<Vec<(usize, bool)>>> = vec![None; nodes.len()];
        *paths.first_mut().ok_or(AnalyticsError::Tree(0))? = Some(Vec::new());
        let mut leaves = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let path = paths[at]
                .take()
                .filter(|path| path.len() <= Self::MAX_DEPTH);
            let path = path.ok_or(AnalyticsError::Tree(at))?;
            match *node {
                Node::Leaf(value) => leaves.push(Leaf { value, path }),
                Node::Branch {
                    below, otherwise, ..
                } => {
                    for (child, is_below) in [(below, true), (otherwise, false)] {
                        let place = paths.get_mut(child).filter(|p| child > at && p.is_none());
                        let mut path = path.clone();
                        path.push((at, is_below));
                        *place.ok_or(AnalyticsError::Tree(at))? = Some(path);
                    }
                }
            }
        }
        Ok(Self { nodes, leaves })
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the answer for a clear row; `None` if the row does not have all columns that the
    /// tree asks for.
    pub fn decide(&self, row: &[i128]) -> Option<u64> {
        let mut at = 0;
        loop {
            match *self.nodes.get(at)? {
                Node::Leaf(value) => return Some(value),
                Node::Branch {
                    column,
                    threshold,
                    below,
                    otherwise,
                } => {
                    let is_below = *row.get(column)? < threshold;
                    at = if is_below { below } else { otherwise };
                }
            }
        }
    }

    /// The largest answer.
    fn largest(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.value).max().unwrap_or(0)
    }
}

impl Circuit {
    /// Returns the answer of a tree for a row, in the width that its largest leaf needs.
    ///
    /// # Errors
    /// If the tree asks for a column or a threshold that the row cannot have, or the readings have
    /// different widths or belong to another circuit.
    pub fn decide<S: Signedness>(
        &self,
        tree: &Tree,
        row: &[Integer<S>],
    ) -> Result<FheUint, AnalyticsError> {
        let costs = self.leaf_costs(tree, row)?;
        let width = width_of(tree.largest())?;
        // The sum starts with the value of the most frequent leaf, which then needs no lookup; of several with the
        // smallest, so that trees can have leaves whose digits are mostly those of the least.
        let times = |leaf: &Leaf| tree.leaves.iter().filter(|l| l.value == leaf.value).count();
        let most = |leaf: &&Leaf| (times(leaf), Reverse(leaf.value));
        let base = tree.leaves.iter().max_by_key(most);
        let base: FheUint = self.clear(base.map_or(0, |leaf| leaf.value), width);
        let mut sums = base.blocks().to_vec();
        for (leaf, cost) in tree.leaves.iter().zip(&costs) {
            let value: FheUint = self.clear(leaf.value, width);
            let digits = value.blocks().iter().zip(base.blocks());
            let steps: Vec<_> = digits
                .map(|(own, base)| {
                    let step = (own - base).clear_value().unwrap_or(0);
                    move |cost: i64| if cost == 0 { step } else { 0 }
                })
                .collect();
            let steps: Vec<_> = steps.iter().map(|f| f as &dyn Fn(i64) -> i64).collect();
            let steps = self.look_up_all(cost, &steps);
            for (i, (sum, step)) in sums.iter_mut().zip(steps).enumerate() {
                // At most one term is nonzero, so that all partial sums are digits.
                let digit = |sum: Block| sum.known_in(0, self.digit_modulus(width, i) - 1);
                let next = digit(&*sum + &step);
                *sum = match next.norm_squared() <= self.max_norm_squared() / 4 {
                    true => next,
                    false => digit(&self.refresh(sum) + &step),
                };
            }
        }
        Ok(Integer::new(sums, width))
    }

    /// Returns the sum of the answers of several trees for a row.
    ///
    /// # Errors
    /// As for [`decide`](Self::decide), or if there are no trees.
    pub fn decide_forest<S: Signedness>(
        &self,
        trees: &[Tree],
        row: &[Integer<S>],
    ) -> Result<FheUint, AnalyticsError> {
        let answers = trees
            .iter()
            .map(|tree| self.decide(tree, row))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(self.propagate_unchecked(&self.sum(&answers)?))
    }

    /// Returns the number of trees that answer 0, 1, and so on below `classes` for a row.
    /// [`arg_max`](Self::arg_max) of the result is the majority.
    ///
    /// # Errors
    /// As for [`decide`](Self::decide).
    pub fn votes<S: Signedness>(
        &self,
        trees: &[Tree],
        row: &[Integer<S>],
        classes: usize,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let mut votes: Vec<Vec<FheBool>> = vec![Vec::new(); classes];
        for tree in trees {
            let costs = self.leaf_costs(tree, row)?;
            for (class, votes) in votes.iter_mut().enumerate() {
                let own = tree.leaves.iter().zip(&costs);
                let own = own.filter(|(leaf, _)| leaf.value == class as u64);
                let own: Vec<FheBool> = own
                    .map(|(_, cost)| FheBool::of(cost.clone(), |cost| cost == 0))
                    .collect();
                votes.push(match own.is_empty() {
                    true => self.clear_bool(false),
                    false => self.any(&own)?,
                });
            }
        }
        let count = |votes: &Vec<FheBool>| Ok(self.propagate_unchecked(&self.count(votes)?));
        votes.iter().map(count).collect()
    }

    /// For each leaf, a block that is 0 if the row gets there, and positive if it does not.
    fn leaf_costs<S: Signedness>(
        &self,
        tree: &Tree,
        row: &[Integer<S>],
    ) -> Result<Vec<Block>, AnalyticsError> {
        self.check_own(row.iter().flat_map(Integer::blocks))?;
        let branches = tree.nodes.iter().map(|node| match *node {
            Node::Branch {
                column, threshold, ..
            } => self.is_below(row, column, threshold),
            Node::Leaf(_) => Ok(Block::clear(0)),
        });
        let batch = self.batch_of(tree.leaves.len());
        let below: Vec<Block> = branches.collect::<Result<_, AnalyticsError>>()?;
        drop(batch);
        let turns_away = |&(at, is_below): &(usize, bool)| match is_below {
            true => &Block::clear(1) - &below[at],
            false => below[at].clone(),
        };
        let most = (self.block_modulus() - 1).min(self.max_norm_squared() as i64) as usize;
        let cost = |leaf: &Leaf| {
            let mut turns: Vec<Block> = Vec::with_capacity(leaf.path.len());
            for turn in leaf.path.iter().map(turns_away) {
                // An equal comparison on the same path would count twice, and so would its noise.
                if !turns.contains(&turn) {
                    turns.push(turn);
                }
            }
            // If a path is longer than a block can count, each part of it is reduced to whether
            // the row turns away in it.
            while turns.len() > most {
                let part = |part: &[Block]| match part {
                    [one] => one.clone(),
                    _ => self.bit(&FheBool::of(total(part), |turns| turns > 0)),
                };
                turns = turns.chunks(most).map(part).collect();
            }
            total(&turns)
        };
        Ok(tree.leaves.iter().map(cost).collect())
    }

    /// The block that is 1 if the reading is below the threshold.
    fn is_below<S: Signedness>(
        &self,
        row: &[Integer<S>],
        column: usize,
        threshold: i128,
    ) -> Result<Block, AnalyticsError> {
        let reading = row.get(column).ok_or(AnalyticsError::NoColumn {
            column,
            count: row.len(),
        })?;
        let (low, high) = range_of::<S>(reading.width());
        if threshold <= low || threshold > high {
            return Ok(Block::clear(i64::from(threshold > high)));
        }
        // A bit is below 1 where it is 0, which needs no comparison.
        if let ([bit], 0, 1) = (reading.blocks(), low, high) {
            return Ok(&Block::clear(1) - &self.refresh(bit));
        }
        let readings = self.ordered(std::slice::from_ref(reading));
        let limit: Integer<S> = self.clear_in_range(threshold, reading.width())?;
        let limits = self.ordered(&[limit]);
        Ok(self.bit(&self.compare::<Unsigned>(Comparison::Lt, &readings[0], &limits[0])?))
    }
}

fn total(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::clear(0), |sum, b| &sum + b)
}

fn width_of(largest: u64) -> Result<Width, IntegerError> {
    Width::new(largest.max(1).ilog2() + 1)
}
