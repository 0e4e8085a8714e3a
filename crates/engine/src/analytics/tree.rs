//! Decision trees with clear thresholds, on rows of encrypted readings.
//!
//! Every branch makes one comparison, all of them together. The cost of a leaf is the number of
//! branches on its path at which the row turns away from it, a sum of results of comparisons, and
//! is 0 for exactly one leaf (Tai, Ma, Zhao, Chow: Privacy-Preserving Decision Trees Evaluation
//! via Linear Functions, ESORICS 2017). One lookup of the cost gives digits of the leaf's value
//! or 0, and the answer is the sum of these. Two leaves of one branch share a lookup, of twice the
//! cost of the branch plus whether the row is below its threshold, where that leaves room.

use std::cmp::Reverse;
use std::collections::HashMap;

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
    /// All leaves, those of one branch together.
    last_turns: Vec<LastTurn>,
    /// The value of the most leaves; of several the smallest.
    base: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Leaf {
    value: u64,
    /// The branches above the leaf, and for each whether the leaf is on the side below the
    /// threshold.
    path: Vec<(usize, bool)>,
}

/// The places of the leaves of one branch, with the one below the threshold first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastTurn {
    One(usize),
    Two(usize, usize),
}

/// The lookup of the digits of leaves.
struct LeafLookup {
    /// What is looked up.
    at: Block,
    /// For each digit, values of the block and the step of the digit there; there is none elsewhere.
    steps: Vec<Vec<(i64, i64)>>,
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
        Ok(Self {
            last_turns: last_turns(&leaves),
            base: most_frequent(&leaves),
            nodes,
            leaves,
        })
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
        let below = self.are_below(tree, row)?;
        let width = width_of(tree.largest())?;
        // The sum starts with the value of the most frequent leaf, which then needs no lookup; of several with the
        // smallest, so that trees can have leaves whose digits are mostly those of the least.
        let base: FheUint = self.clear(tree.base, width);
        let steps_to = |leaf: &Leaf| {
            let value: FheUint = self.clear(leaf.value, width);
            let digits = value.blocks().iter().zip(base.blocks());
            let steps = digits.map(|(own, base)| (own - base).clear_value().unwrap_or(0));
            steps.collect::<Vec<i64>>()
        };
        let mut sums = base.blocks().to_vec();
        for turn in &tree.last_turns {
            for lookup in self.leaf_lookups(tree, *turn, &below, steps_to) {
                let digits = lookup.steps.iter().map(|steps| {
                    move |x: i64| {
                        let found = steps.iter().find(|(value, _)| *value == x);
                        found.map_or(0, |(_, step)| *step)
                    }
                });
                let digits: Vec<_> = digits.collect();
                let digits: Vec<_> = digits.iter().map(|f| f as &dyn Fn(i64) -> i64).collect();
                let found = self.look_up_all(&lookup.at, &digits);
                for (i, (sum, step)) in sums.iter_mut().zip(found).enumerate() {
                    // At most one term is nonzero, so that all partial sums are digits.
                    let digit = |sum: Block| sum.known_in(0, self.digit_modulus(width, i) - 1);
                    let next = digit(&*sum + &step);
                    *sum = match next.norm_squared() <= self.max_norm_squared() / 4 {
                        true => next,
                        false => digit(&self.refresh(sum) + &step),
                    };
                }
            }
        }
        Ok(Integer::new(sums, width))
    }

    /// Returns the lookups for the leaves of a branch, whose values differ by steps from that which all digits begin with.
    fn leaf_lookups(
        &self,
        tree: &Tree,
        turn: LastTurn,
        below: &[Block],
        steps_to: impl Fn(&Leaf) -> Vec<i64>,
    ) -> Vec<LeafLookup> {
        let alone = |leaf: usize| {
            let leaf = &tree.leaves[leaf];
            let steps = steps_to(leaf).into_iter().map(|step| vec![(0, step)]);
            LeafLookup {
                at: self.path_cost(&leaf.path, below),
                steps: steps.collect(),
            }
        };
        let (first, second) = match turn {
            LastTurn::One(leaf) => return vec![alone(leaf)],
            LastTurn::Two(first, second) => (first, second),
        };
        let singles = vec![alone(first), alone(second)];
        let (first, second) = (&tree.leaves[first], &tree.leaves[second]);
        let Some((&(branch, _), path)) = first.path.split_last() else {
            return singles;
        };
        // A longer path is counted in parts, which take lookups of their own.
        let turns = first.path.len() as i64;
        if 2 * turns > self.block_modulus() || turns > self.max_norm_squared() as i64 {
            return singles;
        }
        // Both leaves of a branch in one lookup: of twice the cost of the branch, plus whether the row is below.
        let steps = steps_to(first).into_iter().zip(steps_to(second));
        let steps = steps.map(|(first, second)| vec![(1, first), (0, second)]);
        let pair = LeafLookup {
            at: &(&self.path_cost(path, below) * 2) + &below[branch],
            steps: steps.collect(),
        };
        let bootstraps = |lookup: &LeafLookup| {
            let moved = |steps: &&Vec<(i64, i64)>| steps.iter().any(|(_, step)| *step != 0);
            let room = (self.block_modulus() / lookup.at.span()).max(1) as usize;
            lookup.steps.iter().filter(moved).count().div_ceil(room)
        };
        let fits = pair.at.span() <= self.block_modulus()
            && pair.at.norm_squared() <= self.max_norm_squared();
        match fits && bootstraps(&pair) < singles.iter().map(bootstraps).sum() {
            true => vec![pair],
            false => singles,
        }
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
        let below = self.are_below(tree, row)?;
        let costs = tree.leaves.iter();
        Ok(costs
            .map(|leaf| self.path_cost(&leaf.path, &below))
            .collect())
    }

    /// For each node, the block that is 1 if the row is below its threshold; 0 for leaves.
    fn are_below<S: Signedness>(
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
        let below = branches.collect::<Result<_, AnalyticsError>>();
        drop(batch);
        below
    }

    /// The number of turns of a path at which the row turns away from it, or a smaller number that is 0 for the same rows.
    fn path_cost(&self, path: &[(usize, bool)], below: &[Block]) -> Block {
        let turns_away = |&(at, is_below): &(usize, bool)| match is_below {
            true => &Block::clear(1) - &below[at],
            false => below[at].clone(),
        };
        let most = (self.block_modulus() - 1).min(self.max_norm_squared() as i64) as usize;
        let mut turns: Vec<Block> = Vec::with_capacity(path.len());
        for turn in path.iter().map(turns_away) {
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

/// Returns the places of all leaves, those of one branch together.
fn last_turns(leaves: &[Leaf]) -> Vec<LastTurn> {
    let last = |leaf: &Leaf| leaf.path.last().copied();
    let places = leaves.iter().enumerate();
    let places: HashMap<_, usize> = places.map(|(at, leaf)| (last(leaf), at)).collect();
    let turn = |(at, leaf): (usize, &Leaf)| {
        let sibling = last(leaf).and_then(|(branch, is_below)| {
            let sibling = places.get(&Some((branch, !is_below)))?;
            Some((is_below, *sibling))
        });
        match sibling {
            None => Some(LastTurn::One(at)),
            Some((true, sibling)) => Some(LastTurn::Two(at, sibling)),
            Some((false, _)) => None,
        }
    };
    leaves.iter().enumerate().filter_map(turn).collect()
}

/// Returns the value of the most leaves; of several the smallest.
fn most_frequent(leaves: &[Leaf]) -> u64 {
    let mut times: HashMap<u64, usize> = HashMap::new();
    for leaf in leaves {
        *times.entry(leaf.value).or_default() += 1;
    }
    let most = times
        .into_iter()
        .max_by_key(|&(value, times)| (times, Reverse(value)));
    most.map_or(0, |(value, _)| value)
}

fn total(blocks: &[Block]) -> Block {
    blocks.iter().fold(Block::clear(0), |sum, b| &sum + b)
}

fn width_of(largest: u64) -> Result<Width, IntegerError> {
    Width::new(largest.max(1).ilog2() + 1)
}
