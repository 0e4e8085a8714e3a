//! Squares and truth values as linear functions of the columns that boards derive.

use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_engine::integer::Comparison;

use super::code_set::CodeSet;
use super::linear::{Linear, LinearForms, Origin, Rows, Term};
use crate::node::{Kind, Logic, Node, Op};

/// The rows of a column whose codes are in a set.
#[derive(Clone)]
pub(crate) struct Members {
    /// The codes; its weight is 1.
    term: Term,
    set: CodeSet,
}

/// Truth values whose question is about one column, or about none.
#[derive(Clone)]
pub(crate) enum Membership {
    Constant(bool),
    Members(Members),
}

/// A bin of a histogram.
pub(crate) enum Bin {
    /// The linear function that is 1 for codes in the bin and 0 for others.
    Flags(Linear),
    /// True if all codes are in the bin, false if none is.
    Constant(bool),
}

impl Bin {
    /// The linear function, if the bin has some codes and not all.
    pub(crate) fn flags(&self) -> Option<&Linear> {
        match self {
            Self::Flags(flags) => Some(flags),
            Self::Constant(_) => None,
        }
    }
}

/// The codes of a compact column, `weight` times each and `constant` added.
struct Affine<'a> {
    term: &'a Term,
    bits: u32,
    weight: i128,
    constant: i128,
}

impl<'a> Affine<'a> {
    /// Reads a linear function of one column.
    fn of(linear: &'a Linear) -> Option<Self> {
        let [term] = linear.terms() else {
            return None;
        };
        let Origin::Column {
            derived: None,
            encoding,
            ..
        } = &term.origin
        else {
            return None;
        };
        let is_by_row = matches!(term.rows, Rows::Each { .. } | Rows::Picked(_));
        is_by_row.then(|| Self {
            term,
            bits: encoding.bits(),
            weight: term.weight.into(),
            // Codes have at most 52 bits, so what is above is a negative number.
            constant: i128::from(linear.constant() as i64),
        })
    }

    /// The codes of the column for which the function is at least `limit`. The weight is not 0.
    fn at_least(&self, limit: u64) -> CodeSet {
        let above = i128::from(limit) - self.constant;
        match self.weight > 0 {
            true => CodeSet::from(self.bits, -(-above).div_euclid(self.weight)),
            // `code ≤ above / weight`: all below the next one.
            false => CodeSet::from(self.bits, (-above).div_euclid(-self.weight) + 1).complement(),
        }
    }

    fn compared(&self, comparison: Comparison, limit: u64) -> CodeSet {
        let equal = || self.within(&(limit..limit + 1));
        match comparison {
            Comparison::Ge => self.at_least(limit),
            Comparison::Lt => self.at_least(limit).complement(),
            Comparison::Gt => self.at_least(limit + 1),
            Comparison::Le => self.at_least(limit + 1).complement(),
            Comparison::Eq => equal(),
            Comparison::Ne => equal().complement(),
        }
    }

    /// The codes of the column for which the function is in a range.
    fn within(&self, range: &Range<u64>) -> CodeSet {
        let (from, until) = (self.at_least(range.start), self.at_least(range.end));
        from.with(Logic::And, &until.complement())
    }

    fn members(&self, set: CodeSet) -> Members {
        let term = Term {
            weight: 1,
            ..self.term.clone()
        };
        Members { term, set }
    }
}

impl Members {
    /// A linear function that is 1 in the rows of the set and 0 elsewhere; `None` if the column has no flag
    /// for a cut of the set. A set of all codes or of none has no terms.
    fn flags(&self) -> Option<Linear> {
        let mut linear = Linear::new(Vec::new(), 0);
        for (place, &cut) in self.set.cuts().iter().enumerate() {
            let sign = if place % 2 == 0 { 1 } else { -1 };
            linear = match cut {
                0 => linear.plus(1),
                _ => linear.and(Term {
                    weight: sign,
                    ..derived(&self.term, Derivation::From(cut))?
                }),
            };
        }
        Some(linear)
    }
}

/// The rows of a term in a column that is derived from its own.
fn derived(term: &Term, derivation: Derivation) -> Option<Term> {
    let Origin::Column {
        source,
        column,
        derived: None,
        ..
    } = &term.origin
    else {
        return None;
    };
    let described = source.metadata.columns.get(*column)?;
    let (_, compact) = described.derived.find(derivation)?;
    let encoding = compact.encoding(derivation.bits(described.bits)).ok()?;
    Some(Term {
        origin: Origin::Column {
            source: Arc::clone(source),
            column: *column,
            derived: Some(derivation),
            encoding,
        },
        rows: term.rows.clone(),
        weight: 1,
    })
}

impl LinearForms {
    /// Returns the linear function of derived columns that the square of a code is.
    pub(crate) fn square(&mut self, of: &Arc<Node>) -> Option<Linear> {
        let linear = self.of(of)?;
        let affine = Affine::of(&linear)?;
        // Other multiples and summands have terms that leave no headroom, and none of them is
        // needed: variances are about the codes of columns.
        if (affine.weight, affine.constant) != (1, 0) {
            return None;
        }
        let square = derived(affine.term, Derivation::Square)?;
        Some(Linear::new(vec![square], 0))
    }

    /// Returns the linear function of derived columns that is 1 where a truth value holds and 0 elsewhere.
    pub(crate) fn truth(&mut self, of: &Arc<Node>) -> Option<Linear> {
        match self.membership(of)? {
            Membership::Constant(_) => None,
            Membership::Members(members) => {
                let flags = members.flags()?;
                (!flags.terms().is_empty()).then_some(flags)
            }
        }
    }

    /// Returns for each bin what is 1 where a code is in it; `None` if a bin is not made of flags.
    pub(crate) fn bins(&mut self, of: &Arc<Node>, bins: &[Range<u64>]) -> Option<Vec<Bin>> {
        let linear = self.of(of)?;
        let affine = Affine::of(&linear)?;
        let flags = |bin: &Range<u64>| {
            let set = match bin.is_empty() {
                true => CodeSet::all(affine.bits, false),
                false => affine.within(bin),
            };
            let flags = affine.members(set).flags()?;
            Some(match flags.terms() {
                [] => Bin::Constant(flags.constant() == 1),
                _ => Bin::Flags(flags),
            })
        };
        bins.iter().map(flags).collect()
    }

    /// Returns the rows of one column that a truth value holds in, if it is about no other.
    fn membership(&mut self, of: &Arc<Node>) -> Option<Membership> {
        if of.kind != Kind::Truth {
            return None;
        }
        if let Some(known) = self.memberships.get(&Arc::as_ptr(of)) {
            return known.clone();
        }
        let found = self.find_membership(of);
        self.memberships.insert(Arc::as_ptr(of), found.clone());
        found
    }

    fn find_membership(&mut self, of: &Arc<Node>) -> Option<Membership> {
        let op = of.op();
        let all = |forms: &mut Self, logic, nodes: &[Arc<Node>]| {
            let mut nodes = nodes.iter();
            let first = forms.membership(nodes.next()?)?;
            nodes.try_fold(first, |so_far, node| {
                forms
                    .membership(node)
                    .and_then(|more| so_far.with(logic, more))
            })
        };
        match &*op {
            Op::Constant(truth) => Some(Membership::Constant(*truth)),
            Op::CompareCode(comparison, of, code) => {
                let linear = self.of(of)?;
                let affine = Affine::of(&linear)?;
                let set = affine.compared(*comparison, *code);
                Some(Membership::Members(affine.members(set)))
            }
            Op::OneOf(of, list) => {
                let linear = self.of(of)?;
                let affine = Affine::of(&linear)?;
                let none = CodeSet::all(affine.bits, false);
                let set = list.iter().try_fold(none, |set, node| match &*node.op() {
                    Op::Public(codes) => {
                        let codes = codes.iter();
                        let equal = codes.map(|&code| affine.compared(Comparison::Eq, code));
                        Some(equal.fold(set, |set, equal| set.with(Logic::Or, &equal)))
                    }
                    _ => None,
                })?;
                Some(Membership::Members(affine.members(set)))
            }
            Op::Not(of) => Some(match self.membership(of)? {
                Membership::Constant(truth) => Membership::Constant(!truth),
                Membership::Members(Members { term, set }) => Membership::Members(Members {
                    term,
                    set: set.complement(),
                }),
            }),
            Op::Logic(logic, a, b) => {
                let b = self.membership(b)?;
                self.membership(a)?.with(*logic, b)
            }
            Op::AllOf(nodes) => all(self, Logic::And, nodes),
            Op::AnyOf(nodes) => all(self, Logic::Or, nodes),
            Op::Take { of, rows } => Some(match self.membership(of)? {
                Membership::Members(Members { term, set }) => {
                    let taken = Linear::new(vec![term], 0).taken(rows);
                    let term = taken.terms().first()?.clone();
                    Membership::Members(Members { term, set })
                }
                constant => constant,
            }),
            _ => None,
        }
    }
}

impl Membership {
    /// Joins two; `None` if they are about two columns, or about other rows.
    fn with(self, logic: Logic, other: Self) -> Option<Self> {
        let (members, other) = match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => {
                return Some(Self::Constant(match logic {
                    Logic::And => a && b,
                    Logic::Or => a || b,
                    Logic::Xor => a != b,
                }));
            }
            (Self::Constant(truth), Self::Members(members))
            | (Self::Members(members), Self::Constant(truth)) => {
                let other = CodeSet::all(members.set.bits(), truth);
                (members, other)
            }
            (Self::Members(members), Self::Members(other)) => {
                let (a, b) = (&members.term, &other.term);
                if !(a.origin.is_same(&b.origin) && a.rows == b.rows) {
                    return None;
                }
                (members, other.set)
            }
        };
        Some(Self::Members(Members {
            set: members.set.with(logic, &other),
            term: members.term,
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compact::values::CompactValues;

    proptest! {
        /// The reference compares all values of the function.
        #[test]
        fn a_comparison_of_a_function_is_one_of_codes(
            weight in (-5i64..=5).prop_filter("a weight", |&weight| weight != 0),
            constant in -40i64..40,
            limit in 0u64..120,
        ) {
            let term = Term {
                origin: Origin::Values(Arc::new(
                    CompactValues::received(4, 4, Vec::new(), -60.0).unwrap(),
                )),
                rows: Rows::Each { first: 0 },
                weight,
            };
            let affine = Affine {
                term: &term,
                bits: 4,
                weight: weight.into(),
                constant: constant.into(),
            };
            for comparison in [
                Comparison::Lt,
                Comparison::Le,
                Comparison::Gt,
                Comparison::Ge,
                Comparison::Eq,
                Comparison::Ne,
            ] {
                let set = affine.compared(comparison, limit);
                for code in 0..16i64 {
                    let value = weight * code + constant;
                    let inside = set.cuts().iter().filter(|&&cut| cut <= code as u64).count() % 2 == 1;
                    let expected = comparison.apply(value, limit as i64);
                    prop_assert_eq!(inside, expected, "{} {:?} {}", value, comparison, limit);
                }
            }
        }
    }

    #[test]
    fn functions_of_computed_values_or_of_two_columns_have_no_flags() {
        let values = CompactValues::received(4, 4, Vec::new(), -60.0).unwrap();
        let term = Term {
            origin: Origin::Values(Arc::new(values)),
            rows: Rows::Each { first: 0 },
            weight: 1,
        };
        assert!(Affine::of(&Linear::new(vec![term.clone()], 0)).is_none());
        assert!(Affine::of(&Linear::new(vec![term.clone(), term], 0)).is_none());
    }
}
