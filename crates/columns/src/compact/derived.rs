//! Squares and truth values as linear functions of the columns that boards derive.

use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::wire::columns::ElementEncoding;
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
    /// True if the rows without a reading belong to the set. Their code is 0.
    missing: bool,
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

/// The codes of a compact column, `weight` times each and `constant` added, and a number in place of that in rows
/// without a reading.
struct Affine<'a> {
    term: &'a Term,
    bits: u32,
    weight: i128,
    constant: i128,
    missing: i128,
}

impl<'a> Affine<'a> {
    /// Reads a linear function of one column, and of its validity.
    fn of(linear: &'a Linear) -> Option<Self> {
        let (term, valid) = match linear.terms() {
            [term] => (term, 0),
            [term, valid] if is_validity_of(valid, term) => (term, valid.weight),
            [valid, term] if is_validity_of(valid, term) => (term, valid.weight),
            _ => return None,
        };
        let Origin::Column {
            derived: None,
            encoding,
            ..
        } = &term.origin
        else {
            return None;
        };
        // Codes have at most 52 bits, so what is above is a negative number.
        let missing = i128::from(linear.constant() as i64);
        let is_by_row = matches!(term.rows, Rows::Each { .. } | Rows::Picked(_));
        is_by_row.then(|| Self {
            term,
            bits: encoding.bits(),
            weight: term.weight.into(),
            constant: missing + i128::from(valid),
            missing,
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

    /// The rows that a comparison of the function holds in.
    fn rows_where(&self, comparison: Comparison, limit: u64) -> Members {
        let missing = comparison.apply(self.missing, i128::from(limit));
        self.members(self.compared(comparison, limit), missing)
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

    fn members(&self, set: CodeSet, missing: bool) -> Members {
        let term = Term {
            weight: 1,
            ..self.term.clone()
        };
        Members { term, set, missing }
    }
}

/// Returns whether a term is the validity flag of the same column and rows as another term.
fn is_validity_of(valid: &Term, term: &Term) -> bool {
    let (
        Origin::Column {
            source,
            column,
            derived: Some(Derivation::Valid),
            ..
        },
        Origin::Column {
            source: other,
            column: other_column,
            derived: None,
            ..
        },
    ) = (&valid.origin, &term.origin)
    else {
        return false;
    };
    Arc::ptr_eq(source, other) && column == other_column && valid.rows == term.rows
}

impl Members {
    /// A linear function that is 1 in the rows of the set and 0 elsewhere; `None` if the column has no flag
    /// for a cut of the set. A set of all codes or of none has no terms.
    fn flags(&self) -> Option<Linear> {
        let mut linear = Linear::new(Vec::new(), 0);
        // The code of a missing reading is 0, and its flags and its validity are.
        let valid = match (self.has_lowest(), self.missing) {
            (true, false) => 1,
            (false, true) => -1,
            _ => 0,
        };
        if valid != 0 {
            linear = linear.plus(u64::from(self.missing)).and(Term {
                weight: valid,
                ..derived(&self.term, Derivation::Valid)?
            });
        }
        for (place, &cut) in self.set.cuts().iter().enumerate() {
            let sign = if place % 2 == 0 { 1 } else { -1 };
            linear = match cut {
                0 if valid == 0 => linear.plus(1),
                0 => linear,
                _ => linear.and(Term {
                    weight: sign,
                    ..derived(&self.term, Derivation::From(cut))?
                }),
            };
        }
        Some(linear)
    }

    /// Joins the sets of two that are of the same rows.
    fn with(self, logic: Logic, other: &Self) -> Self {
        Self {
            set: self.set.with(logic, &other.set),
            missing: logic.apply(self.missing, other.missing),
            term: self.term,
        }
    }

    /// Returns whether code 0 is in the set.
    fn has_lowest(&self) -> bool {
        self.set.cuts().first() == Some(&0)
    }

    /// Returns whether the set has all rows with a reading, and no others.
    fn is_valid(&self) -> bool {
        self.set == CodeSet::all(self.set.bits(), true) && !self.missing
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
        if (affine.weight, affine.constant, affine.missing) != (1, 0, 0) {
            return None;
        }
        let square = derived(affine.term, Derivation::Square)?;
        Some(Linear::new(vec![square], 0))
    }

    /// Returns the linear function that a number is where a truth value holds, and that is 0 elsewhere, if it holds
    /// wherever the only column of the number has a reading.
    pub(super) fn kept(&mut self, of: &Arc<Node>, mask: &Arc<Node>) -> Option<Linear> {
        let linear = self.of(of)?;
        let affine = Affine::of(&linear)?;
        let Membership::Members(members) = self.membership(mask)? else {
            return None;
        };
        let (a, b) = (affine.term, &members.term);
        if !(members.is_valid() && a.origin.is_same(&b.origin) && a.rows == b.rows) {
            return None;
        }
        // The code of a missing reading is 0 already.
        let kept = Linear::new(vec![affine.term.clone()], 0);
        match i64::try_from(affine.constant).ok()? {
            0 => Some(kept),
            weight => Some(kept.and(Term {
                weight,
                ..derived(&members.term, Derivation::Valid)?
            })),
        }
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
            let (set, missing) = match bin.is_empty() {
                true => (CodeSet::all(affine.bits, false), false),
                false => {
                    let missing = u64::try_from(affine.missing);
                    let missing = missing.is_ok_and(|code| bin.contains(&code));
                    (affine.within(bin), missing)
                }
            };
            let flags = affine.members(set, missing).flags()?;
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
                Some(Membership::Members(affine.rows_where(*comparison, *code)))
            }
            Op::Valid { source, column } => {
                let described = source.metadata.columns.get(*column)?;
                let ElementEncoding::Compact(encoding) = described.element_encoding().ok()? else {
                    return None;
                };
                Some(Membership::Members(Members {
                    term: Term {
                        origin: Origin::Column {
                            source: Arc::clone(source),
                            column: *column,
                            derived: None,
                            encoding,
                        },
                        rows: Rows::Each { first: 0 },
                        weight: 1,
                    },
                    set: CodeSet::all(described.bits, true),
                    missing: false,
                }))
            }
            Op::OneOf(of, list) => {
                let linear = self.of(of)?;
                let affine = Affine::of(&linear)?;
                let none = affine.members(CodeSet::all(affine.bits, false), false);
                let members =
                    list.iter()
                        .try_fold(none, |members, node| match &*node.op() {
                            Op::Public(codes) => {
                                let codes = codes.iter();
                                let equal =
                                    codes.map(|&code| affine.rows_where(Comparison::Eq, code));
                                Some(equal.fold(members, |members, equal| {
                                    members.with(Logic::Or, &equal)
                                }))
                            }
                            _ => None,
                        })?;
                Some(Membership::Members(members))
            }
            Op::Not(of) => Some(match self.membership(of)? {
                Membership::Constant(truth) => Membership::Constant(!truth),
                Membership::Members(members) => Membership::Members(Members {
                    set: members.set.complement(),
                    missing: !members.missing,
                    ..members
                }),
            }),
            Op::Logic(logic, a, b) => {
                let b = self.membership(b)?;
                self.membership(a)?.with(*logic, b)
            }
            Op::AllOf(nodes) => all(self, Logic::And, nodes),
            Op::AnyOf(nodes) => all(self, Logic::Or, nodes),
            Op::Take { of, rows } => Some(match self.membership(of)? {
                Membership::Members(members) => {
                    let taken = Linear::new(vec![members.term.clone()], 0).taken(rows);
                    let term = taken.terms().first()?.clone();
                    Membership::Members(Members { term, ..members })
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
                return Some(Self::Constant(logic.apply(a, b)));
            }
            (Self::Constant(truth), Self::Members(members))
            | (Self::Members(members), Self::Constant(truth)) => {
                let other = Members {
                    set: CodeSet::all(members.set.bits(), truth),
                    missing: truth,
                    term: members.term.clone(),
                };
                (members, other)
            }
            (Self::Members(members), Self::Members(other)) => {
                let (a, b) = (&members.term, &other.term);
                if !(a.origin.is_same(&b.origin) && a.rows == b.rows) {
                    return None;
                }
                (members, other)
            }
        };
        Some(Self::Members(members.with(logic, &other)))
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
                missing: constant.into(),
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
