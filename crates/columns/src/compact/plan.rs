//! The plan of a computation: which nodes are computed on compact values, and in which way.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::chunks::DigitPlan;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::compact::{digit_bootstraps, sign_bootstraps};
use tfhe_sbc_engine::integer::Comparison;
use tfhe_sbc_oracle::compact::{digit_plan, sign_chunks};

use super::linear::{Linear, LinearForms};
use crate::cost::Cost;
use crate::error::Error;
use crate::node::{Node, Op};
use crate::record::loads_itself;

/// The way in which a node is computed before the circuit is recorded.
pub(crate) enum Way {
    /// It is added up on polynomials, and is an output.
    Sum(Linear),
    /// Truth values from the signs of differences.
    Signs(Signs),
    /// Radix digits of a linear function, for each row.
    Digits(Digits),
    /// Radix digits of the sums of some rows each, which the circuit adds up: a sum of all would leave
    /// the headroom, or show the rounding.
    Groups(Groups),
}

/// Truth values that are a sign, or the difference of two.
pub(crate) struct Signs {
    /// The number of a sign that is 1 where the truth value may be 1.
    pub(crate) below: usize,
    /// The number of a sign that is 1 only where the first is 1 too, and where the truth value is 0.
    pub(crate) except: Option<usize>,
    /// Whether the truth value is negated.
    pub(crate) negated: bool,
}

/// Radix digits of a linear function.
pub(crate) struct Digits {
    pub(crate) linear: Linear,
    pub(crate) plan: DigitPlan,
}

/// Radix digits of the sums of groups of rows.
pub(crate) struct Groups {
    pub(crate) sums: Vec<Linear>,
    /// The number of bits of a sum.
    pub(crate) bits: u32,
    pub(crate) plan: DigitPlan,
}

/// The signs of a linear function.
pub(crate) struct Sign {
    pub(crate) linear: Linear,
    pub(crate) rows: usize,
    /// The number of bits in two's complement.
    pub(crate) bits: u32,
    pub(crate) chunks: Vec<u32>,
}

/// What a sign is of: a node and the number that is subtracted, or the difference of two nodes and the
/// number.
type SignKey = (*const Node, Option<*const Node>, u64);

/// The plan of the computation of some nodes.
pub(crate) struct Plan {
    /// The nodes that are recorded or computed before, each after those that it is made of.
    pub(crate) order: Vec<Arc<Node>>,
    pub(crate) ways: HashMap<*const Node, Way>,
    pub(crate) signs: Vec<Sign>,
}

struct Planner<'p> {
    parameters: &'p Parameters,
    forms: LinearForms,
    ways: HashMap<*const Node, Way>,
    signs: Vec<Sign>,
    known_signs: HashMap<SignKey, usize>,
}

impl Plan {
    /// Plans the computation of `outputs`.
    ///
    /// # Errors
    /// [`Error::BodyBits`] for a compact column whose rounding is too coarse for what is asked.
    pub(crate) fn new(parameters: &Parameters, outputs: &[Arc<Node>]) -> Result<Self, Error> {
        let mut planner = Planner {
            parameters,
            forms: LinearForms::default(),
            ways: HashMap::new(),
            signs: Vec::new(),
            known_signs: HashMap::new(),
        };
        let is_output: HashSet<*const Node> = outputs.iter().map(Arc::as_ptr).collect();
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
        Ok(Self {
            order,
            ways: planner.ways,
            signs: planner.signs,
        })
    }

    /// The way of a node that is computed before the circuit is recorded.
    pub(crate) fn way(&self, node: &Arc<Node>) -> Option<&Way> {
        self.ways.get(&Arc::as_ptr(node))
    }

    /// Whether the circuit has no part in an output, because it is added up on polynomials.
    pub(crate) fn is_sum(&self, node: &Arc<Node>) -> bool {
        matches!(self.way(node), Some(Way::Sum(_)))
    }

    /// The cost of what is computed before the circuit.
    pub(crate) fn cost(&self) -> Cost {
        let mut cost = Cost {
            bootstraps: 0,
            depth: 0,
        };
        let mut add = |count: usize, each: u64| {
            cost.bootstraps += count as u64 * each;
            cost.depth = cost.depth.max(each as u32);
        };
        for sign in &self.signs {
            add(sign.rows, sign_bootstraps(&sign.chunks));
        }
        for node in &self.order {
            match self.way(node) {
                Some(Way::Digits(digits)) => add(node.len(), digit_bootstraps(&digits.plan)),
                Some(Way::Groups(groups)) => {
                    add(groups.sums.len(), digit_bootstraps(&groups.plan));
                }
                Some(Way::Sum(_) | Way::Signs(_)) | None => {}
            }
        }
        cost
    }

    /// The number of LWE ciphertexts that are held at once before the circuit is recorded.
    pub(crate) fn loaded(&self) -> u64 {
        let signs = self.signs.iter().map(|sign| sign.rows as u64);
        let digits = self.order.iter().map(|node| match self.way(node) {
            Some(Way::Digits(digits)) => (node.len() * digits.plan.digit_count()) as u64,
            Some(Way::Groups(groups)) => (groups.sums.len() * groups.plan.digit_count()) as u64,
            Some(Way::Sum(_) | Way::Signs(_)) | None => 0,
        });
        signs.chain(digits).sum()
    }
}

impl Planner<'_> {
    /// The way of a node; `None` if the circuit records it.
    fn way(&mut self, node: &Arc<Node>, is_output: bool) -> Result<Option<Way>, Error> {
        let op = node.op();
        match &*op {
            Op::CompareCode(comparison, of, code) => {
                return Ok(self.compare_code(*comparison, of, *code, node.len()));
            }
            Op::Compare(comparison, a, b) => {
                return Ok(self.compare(*comparison, a, b, node.len()));
            }
            Op::Load { .. } | Op::Linear { .. } | Op::Sum(_) | Op::Take { .. } | Op::Compact(_) => {
            }
            _ => return Ok(None),
        }
        let Some(linear) = self.forms.of(node) else {
            return Ok(None);
        };
        if is_output && linear.is_exact(self.parameters, node.bits()) {
            return Ok(Some(Way::Sum(linear)));
        }
        if let Some(plan) = self.digits(&linear, node.bits()) {
            return Ok(Some(Way::Digits(Digits { linear, plan })));
        }
        match &*op {
            Op::Sum(of) => Ok(self.groups(of)),
            Op::Load { source, column } => {
                let column = source.metadata.columns.get(*column);
                Err(Error::BodyBits {
                    column: column.map(|column| column.name.clone()).unwrap_or_default(),
                    bits: node.bits(),
                })
            }
            _ => Ok(None),
        }
    }

    /// The plan of the digits of a linear function whose codes have `bits` bits.
    fn digits(&self, linear: &Linear, bits: u32) -> Option<DigitPlan> {
        let headroom = linear.plaintext_bits().checked_sub(bits)?;
        let noise = linear.noise(self.parameters)?;
        digit_plan(self.parameters, bits, headroom, noise)
    }

    /// The sum of a node in groups of as many rows as are exact.
    fn groups(&mut self, of: &Arc<Node>) -> Option<Way> {
        let linear = self.forms.of(of)?;
        let rows = of.len();
        let headroom = linear.plaintext_bits().checked_sub(of.bits())?;
        (1..=headroom).rev().find_map(|more| {
            let each = 1usize.checked_shl(more)?;
            let groups = (0..rows)
                .step_by(each)
                .map(|begin| begin..(begin + each).min(rows));
            let groups: Vec<Range<usize>> = groups.collect();
            let sum = |rows: &Range<usize>| linear.sum_of(rows.clone());
            let longest = sum(groups.first()?)?;
            let bits = of.bits() + more;
            let plan = self.digits(&longest, bits)?;
            let sums = groups.iter().map(sum).collect::<Option<_>>()?;
            Some(Way::Groups(Groups { sums, bits, plan }))
        })
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

    /// Returns the number of a sign, of a function whose values have `bits` bits in two's complement.
    fn sign(&mut self, key: SignKey, linear: Linear, rows: usize, bits: u32) -> Option<usize> {
        if let Some(&known) = self.known_signs.get(&key) {
            return Some(known);
        }
        let spare = linear.plaintext_bits().checked_sub(bits)?;
        let noise = linear.noise(self.parameters)?;
        let at_the_top = noise.times(f64::exp2(f64::from(spare)));
        let chunks = sign_chunks(self.parameters, bits, at_the_top)?;
        self.signs.push(Sign {
            linear,
            rows,
            bits,
            chunks,
        });
        let number = self.signs.len() - 1;
        self.known_signs.insert(key, number);
        Some(number)
    }
}
