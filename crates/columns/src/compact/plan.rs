//! The plan of a computation: which nodes are computed on compact values, and in which way.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::encoding::chunks::DigitPlan;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::analytics::extremes::Order;
use tfhe_sbc_engine::integer::{Comparison, carry_bits};
use tfhe_sbc_oracle::compact::{digit_plan, sign_chunks};

use super::derived::Bin;
use super::extremes::{Extremes, with_known_digits};
use super::linear::{Linear, LinearForms};
use super::parts::{Lookups, Part, share};
use crate::cost::Cost;
use crate::error::Error;
use crate::node::{Kind, Node, Op};
use crate::record::loads_itself;

/// The way in which a node is computed before the circuit is recorded.
pub(crate) enum Way {
    /// It is added up on polynomials, and is an output: one function of all rows, or one for each.
    Sum(Vec<Linear>),
    /// Truth values from the signs of differences.
    Signs(Signs),
    /// Radix digits of a linear function, for each row: those of the part of this number.
    Digits(usize),
    /// Radix digits of the sums of some rows each, which the circuit adds up: a sum of all would leave
    /// the headroom, or show the rounding; or more is asked about it.
    Groups(Groups),
    /// Radix digits of the first of each group of rows in an order, of which the circuit takes the first: those of the part of this
    /// number.
    Extremes(usize),
}

/// Truth values that are a sign, or the difference of two.
pub(crate) struct Signs {
    /// The number of a part whose signs are 1 where the truth value may be 1.
    pub(crate) below: usize,
    /// The number of a part whose signs are 1 only where the first is 1 too, and where the truth value is 0.
    pub(crate) except: Option<usize>,
    /// Whether the truth value is negated.
    pub(crate) negated: bool,
}

/// Radix digits of the sums of groups of rows.
pub(crate) struct Groups {
    /// The number of the part that has the sums.
    pub(crate) part: usize,
    /// For each row of the node, the number of sums that it is the sum of.
    pub(crate) counts: Vec<usize>,
    /// The number of bits of a sum.
    pub(crate) bits: u32,
}

/// The argument of a sign: a node and the number that is subtracted, or the difference of two nodes and the
/// number.
type SignKey = (*const Node, Option<*const Node>, u64);

/// The plan of the computation of some nodes.
pub(crate) struct Plan {
    /// The nodes that are recorded or computed before, each after those that it is made of.
    pub(crate) order: Vec<Arc<Node>>,
    pub(crate) ways: HashMap<*const Node, Way>,
    /// The values that are taken apart before the circuit is recorded.
    pub(crate) parts: Vec<Part>,
}

struct Planner<'p> {
    parameters: &'p Parameters,
    /// Extremes of nodes whose digits are taken for something else, too.
    known_digits: &'p HashSet<*const Node>,
    forms: LinearForms,
    ways: HashMap<*const Node, Way>,
    parts: Vec<Part>,
    known_signs: HashMap<SignKey, usize>,
}

impl Plan {
    /// Plans the computation of `outputs`.
    ///
    /// # Errors
    /// [`Error::BodyBits`] for a compact column whose rounding is too coarse for what is asked, and
    /// [`Error::EarlierNoise`] for an earlier result.
    pub(crate) fn new(parameters: &Parameters, outputs: &[Arc<Node>]) -> Result<Self, Error> {
        // An output that the circuit needs too cannot only be added up on polynomials.
        let mut operands: HashSet<*const Node> = HashSet::new();
        let mut known_digits: HashSet<*const Node> = HashSet::new();
        loop {
            let plan = Self::with_operands(parameters, outputs, &operands, &known_digits)?;
            let recorded = plan.order.iter().filter(|node| plan.way(node).is_none());
            let ops: Vec<Arc<Op>> = recorded.map(|node| node.op()).collect();
            let children = ops.iter().flat_map(|op| op.children());
            let before = operands.len() + known_digits.len();
            operands.extend(children.filter(|node| plan.is_sum(node)).map(Arc::as_ptr));
            let known = with_known_digits(&plan.order, &plan.ways, &plan.parts);
            known_digits.extend(known.map(Arc::as_ptr));
            if operands.len() + known_digits.len() == before {
                return Ok(plan);
            }
        }
    }

    /// Plans the computation of `outputs`, of which `operands` are operands of what the circuit records. The digits of those that
    /// `known_digits` are extremes of are taken anyway.
    fn with_operands(
        parameters: &Parameters,
        outputs: &[Arc<Node>],
        operands: &HashSet<*const Node>,
        known_digits: &HashSet<*const Node>,
    ) -> Result<Self, Error> {
        let mut planner = Planner {
            parameters,
            known_digits,
            forms: LinearForms::default(),
            ways: HashMap::new(),
            parts: Vec::new(),
            known_signs: HashMap::new(),
        };
        let is_output = outputs.iter().map(Arc::as_ptr);
        let is_output: HashSet<*const Node> =
            is_output.filter(|node| !operands.contains(node)).collect();
        let mut order = Vec::new();
        let mut seen: HashSet<*const Node> = HashSet::new();
        let outputs = outputs.iter().map(|node| (Arc::clone(node), false));
        let mut stack: Vec<(Arc<Node>, bool)> = outputs.collect();
        while let Some((node, children_done)) = stack.pop() {
            if children_done {
                order.push(node);
                continue;
            }
            if !seen.insert(Arc::as_ptr(&node)) {
                continue;
            }
            let is_output = is_output.contains(&Arc::as_ptr(&node));
            if let Some(way) = planner.way(&node, is_output)? {
                planner.ways.insert(Arc::as_ptr(&node), way);
                order.push(node);
                continue;
            }
            let op = node.op();
            stack.push((node, true));
            if loads_itself(&op) {
                continue;
            }
            for child in op.children() {
                stack.push((Arc::clone(child), false));
            }
        }
        // Operators that load from a column take its rows from here if they are loaded anyway.
        order.sort_by_key(|node| !matches!(*node.op(), Op::Load { .. }));
        share(&mut planner.parts);
        Ok(Self {
            order,
            ways: planner.ways,
            parts: planner.parts,
        })
    }

    /// The way of a node that is computed before the circuit is recorded.
    pub(crate) fn way(&self, node: &Arc<Node>) -> Option<&Way> {
        self.ways.get(&Arc::as_ptr(node))
    }

    /// Returns whether the circuit has no part in an output, because it is added up on polynomials.
    pub(crate) fn is_sum(&self, node: &Arc<Node>) -> bool {
        matches!(self.way(node), Some(Way::Sum(_)))
    }

    /// The cost of what is computed before the circuit.
    pub(crate) fn cost(&self) -> Cost {
        let mut cost = Cost {
            bootstraps: 0,
            depth: 0,
            loaded_blocks: 0,
        };
        for part in &self.parts {
            cost.bootstraps += part.bootstraps();
            cost.depth = cost.depth.max(part.depth());
        }
        cost
    }

    /// The number of LWE ciphertexts that are held at once before the circuit is recorded.
    pub(crate) fn loaded(&self) -> u64 {
        self.parts.iter().map(|part| part.held() as u64).sum()
    }
}

impl Planner<'_> {
    /// The way of a node; `None` if the circuit records it.
    fn way(&mut self, node: &Arc<Node>, is_output: bool) -> Result<Option<Way>, Error> {
        let op = node.op();
        if node.kind == Kind::Truth
            && let Some(way) = self.flags(node)
        {
            return Ok(Some(way));
        }
        match &*op {
            Op::CompareCode(comparison, of, code) => {
                return Ok(self.compare_code(*comparison, of, *code, node.len()));
            }
            Op::Compare(comparison, a, b) => {
                return Ok(self.compare(*comparison, a, b, node.len()));
            }
            Op::Extreme { of, order } => {
                let are_known = self.known_digits.contains(&Arc::as_ptr(node));
                return Ok(self.extremes(of, *order, are_known));
            }
            Op::Histogram { of, bins } => {
                return Ok(self.histogram(of, bins, node.bits(), is_output));
            }
            Op::Load { .. }
            | Op::Linear { .. }
            | Op::Windows { .. }
            | Op::Sum(_)
            | Op::Count(_)
            | Op::SumOfSquares(_)
            | Op::Bits(_)
            | Op::Keep { .. }
            | Op::Valid { .. }
            | Op::Take { .. }
            | Op::Compact(_) => {}
            _ => return Ok(None),
        }
        if let Op::Valid { source, column } = &*op {
            let column = source.metadata.columns.get(*column);
            return Err(Error::BodyBits {
                column: column.map(|column| column.name.clone()).unwrap_or_default(),
                bits: 1,
            });
        }
        let Some(linear) = self.forms.of(node) else {
            return Ok(None);
        };
        if is_output && linear.is_exact(self.parameters, node.bits()) {
            return Ok(Some(Way::Sum(vec![linear])));
        }
        if let Some(plan) = self.digits(&linear, node.bits()) {
            let digits = self.part(vec![(linear, node.len())], node.bits(), plan);
            return Ok(Some(Way::Digits(digits)));
        }
        match &*op {
            Op::Sum(of) | Op::Count(of) | Op::SumOfSquares(of) => {
                let bits = match &*op {
                    Op::SumOfSquares(_) => Derivation::Square.bits(of.bits()),
                    _ => of.bits(),
                };
                let linear = self.forms.summand(&op);
                Ok(linear.and_then(|linear| self.groups(&[&linear], bits, of.len())))
            }
            Op::Load { source, column } => {
                let column = source.metadata.columns.get(*column);
                Err(Error::BodyBits {
                    column: column.map(|column| column.name.clone()).unwrap_or_default(),
                    bits: node.bits(),
                })
            }
            Op::Compact(_) => Err(Error::EarlierNoise { bits: node.bits() }),
            _ => Ok(None),
        }
    }

    /// The first of the rows of a node in an order; `are_digits_known` says that the digits of the rows are there anyway.
    fn extremes(&mut self, of: &Arc<Node>, order: Order, are_digits_known: bool) -> Option<Way> {
        let linear = self.forms.of(of)?;
        let digits = self.digits(&linear, of.bits());
        let extremes = Extremes::new(
            self.parameters,
            (&linear, of.len(), of.bits()),
            order,
            digits.as_ref(),
            are_digits_known,
        );
        let functions = vec![(linear, of.len())];
        let part = Part::new(functions, of.bits(), Lookups::Extremes(extremes?));
        let is_same = |known: &Part| known.has_values_of(&part) && known.is_like(&part);
        let known = self.parts.iter().position(is_same);
        let number = match known {
            Some(known) => {
                self.parts[known].is_shared = true;
                known
            }
            None => {
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        Some(Way::Extremes(number))
    }

    /// The plan of the digits of a linear function whose codes have `bits` bits.
    fn digits(&self, linear: &Linear, bits: u32) -> Option<DigitPlan> {
        let headroom = linear.plaintext_bits().checked_sub(bits)?;
        let noise = linear.noise(self.parameters)?;
        digit_plan(self.parameters, bits, headroom, noise)
    }

    /// The truth values of a node whose question is about one column that has flags for it.
    fn flags(&mut self, node: &Arc<Node>) -> Option<Way> {
        let linear = self.forms.truth(node)?;
        let plan = self.digits(&linear, 1)?;
        Some(Way::Digits(self.part(vec![(linear, node.len())], 1, plan)))
    }

    /// Adds a part of the digits of these functions and returns its number.
    fn part(&mut self, functions: Vec<(Linear, usize)>, bits: u32, plan: DigitPlan) -> usize {
        let part = Part::new(functions, bits, Lookups::Digits(plan));
        self.parts.push(part);
        self.parts.len() - 1
    }

    /// The counts of a histogram of `rows` rows of a column that has flags for its bins. A count has `bits`
    /// bits.
    fn histogram(
        &mut self,
        of: &Arc<Node>,
        bins: &[Range<u64>],
        bits: u32,
        is_output: bool,
    ) -> Option<Way> {
        let rows = of.len();
        let bins = self.forms.bins(of, bins)?;
        let flags: Vec<&Linear> = bins.iter().filter_map(Bin::flags).collect();
        let is_exact = |flags: &&Linear| {
            flags
                .summed(rows)
                .is_some_and(|sum| sum.is_exact(self.parameters, bits))
        };
        if is_output && flags.iter().all(is_exact) {
            let sums = bins.iter().map(|bin| match bin {
                Bin::Flags(flags) => flags.summed(rows),
                // The sum takes no row of a column that has a flag, and a number that everybody
                // knows.
                Bin::Constant(all) => {
                    let rows = if *all { rows as u64 } else { 0 };
                    Some(flags.first()?.constantly(rows))
                }
            });
            return Some(Way::Sum(sums.collect::<Option<_>>()?));
        }
        match flags.len() == bins.len() {
            true => self.groups(&flags, 1, rows),
            false => None,
        }
    }

    /// The sums of linear functions of `rows` rows, with codes of `bits` bits, in groups of as many rows as are
    /// exact.
    fn groups(&mut self, of: &[&Linear], bits: u32, rows: usize) -> Option<Way> {
        let headroom = of.iter().map(|linear| linear.plaintext_bits()).min()?;
        let headroom = headroom.checked_sub(bits)?.min(carry_bits(rows).max(1));
        let found = (1..=headroom).rev().find_map(|more| {
            let each = 1usize.checked_shl(more)?;
            let groups = (0..rows)
                .step_by(each)
                .map(|begin| begin..(begin + each).min(rows));
            let groups: Vec<Range<usize>> = groups.collect();
            // One plan for all is that of the noisiest, and the first group is the longest.
            let longest = of.iter().map(|linear| {
                let sum = linear.sum_of(groups.first()?.clone())?;
                let variance = sum.noise(self.parameters)?.variance().0;
                Some((sum, variance))
            });
            let longest: Vec<(Linear, f64)> = longest.collect::<Option<_>>()?;
            let (noisiest, _) = longest.iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
            let bits = bits + more;
            let plan = self.digits(noisiest, bits)?;
            let sums = of.iter().flat_map(|linear| {
                let sums = groups.iter().map(|rows| linear.sum_of(rows.clone()));
                sums.map(|sum| Some((sum?, 1)))
            });
            let sums = sums.collect::<Option<Vec<(Linear, usize)>>>()?;
            Some((sums, vec![groups.len(); of.len()], bits, plan))
        });
        let (sums, counts, bits, plan) = found?;
        Some(Way::Groups(Groups {
            part: self.part(sums, bits, plan),
            counts,
            bits,
        }))
    }

    fn compare_code(
        &mut self,
        comparison: Comparison,
        of: &Arc<Node>,
        code: u64,
        rows: usize,
    ) -> Option<Way> {
        let linear = self.forms.of(of)?;
        let key = |subtracted| (Arc::as_ptr(of), None, subtracted);
        let bits = of.bits() + 1;
        let mut below = |limit: u64| {
            let difference = linear.clone().plus(limit.wrapping_neg());
            self.sign(key(limit), difference, rows, bits)
        };
        // Codes below `code`, or up to `code`.
        let (below, except, negated) = match comparison {
            Comparison::Lt => (below(code)?, None, false),
            Comparison::Ge => (below(code)?, None, true),
            Comparison::Le => (below(code + 1)?, None, false),
            Comparison::Gt => (below(code + 1)?, None, true),
            Comparison::Eq => (below(code + 1)?, Some(below(code)?), false),
            Comparison::Ne => (below(code + 1)?, Some(below(code)?), true),
        };
        Some(Way::Signs(Signs {
            below,
            except,
            negated,
        }))
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        a: &Arc<Node>,
        b: &Arc<Node>,
        rows: usize,
    ) -> Option<Way> {
        let bits = a.bits().max(b.bits()) + 1;
        let (a_form, b_form) = (self.forms.of(a)?, self.forms.of(b)?);
        let (a_key, b_key) = (Arc::as_ptr(a), Arc::as_ptr(b));
        let a_minus_b = a_form.minus(&b_form);
        let mut a_below_b = |more: u64| {
            let difference = a_minus_b.clone()?.plus(more.wrapping_neg());
            self.sign((a_key, Some(b_key), more), difference, rows, bits)
        };
        let (below, except, negated) = match comparison {
            Comparison::Lt => (a_below_b(0)?, None, false),
            Comparison::Ge => (a_below_b(0)?, None, true),
            Comparison::Le => (a_below_b(1)?, None, false),
            Comparison::Gt => (a_below_b(1)?, None, true),
            Comparison::Eq => (a_below_b(1)?, Some(a_below_b(0)?), false),
            Comparison::Ne => (a_below_b(1)?, Some(a_below_b(0)?), true),
        };
        Some(Way::Signs(Signs {
            below,
            except,
            negated,
        }))
    }

    /// Returns the number of the part of the signs of a function whose values have `bits` bits in two's complement.
    fn sign(&mut self, key: SignKey, linear: Linear, rows: usize, bits: u32) -> Option<usize> {
        if let Some(&known) = self.known_signs.get(&key) {
            return Some(known);
        }
        let spare = linear.plaintext_bits().checked_sub(bits)?;
        let noise = linear.noise(self.parameters)?;
        let at_the_top = noise.times(f64::exp2(f64::from(spare)));
        let chunks = sign_chunks(self.parameters, bits, at_the_top)?;
        let part = Part::new(vec![(linear, rows)], bits, Lookups::Sign(chunks));
        self.parts.push(part);
        let number = self.parts.len() - 1;
        self.known_signs.insert(key, number);
        Some(number)
    }
}
