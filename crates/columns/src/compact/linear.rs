//! Linear functions of the rows of compact columns.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::{CompactEncoding, Derivation};
use tfhe_sbc_core::wire::columns::ElementEncoding;

use super::derived::Membership;
use super::values::CompactValues;
use crate::node::{Kind, Node, Op, Source, WindowFunction, runs_of};

/// A linear function, with integer weights, of the codes of compact columns: a code for each row, or a
/// single one.
#[derive(Clone)]
pub(crate) struct Linear {
    terms: Vec<Term>,
    /// The number that is added to every code, mod 2^64.
    constant: u64,
}

/// One term of a [`Linear`].
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) origin: Origin,
    pub(crate) rows: Rows,
    /// The factor of the codes.
    pub(crate) weight: i64,
}

/// The codes that a term is about.
#[derive(Clone)]
pub(crate) enum Origin {
    /// A column of uploads, or one that is derived from it.
    Column {
        source: Arc<Source>,
        column: usize,
        derived: Option<Derivation>,
        encoding: CompactEncoding,
    },
    /// Values that were computed before.
    Values(Arc<CompactValues>),
    /// Numbers that are no secret, mod 2^64.
    Public(Arc<[u64]>),
}

/// The rows of a term.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Row `r` of the result takes row `first + r`.
    Each { first: usize },
    /// Row `r` of the result takes the row at place `r`; a single one is in all rows of the result.
    Picked(Arc<[usize]>),
    /// Every row of the result takes the sum of these.
    Sum(Range<usize>),
    /// Row `r` of the result takes the sum of the [window](window_of) that ends at place `ends[r]` of a list of rows; a
    /// single window is in all rows of the result.
    Windows {
        rows: Arc<[usize]>,
        ends: Arc<[usize]>,
        window: usize,
    },
}

/// The element of a list for a row of a result; a single one is in all rows.
pub(super) fn element(list: &[usize], row: usize) -> usize {
    match list {
        [only] => *only,
        _ => list[row],
    }
}

/// The places of the last `window` rows up to `end`, as far as there are so many.
pub(super) fn window_of(end: usize, window: usize) -> Range<usize> {
    (end + 1).saturating_sub(window)..end + 1
}

impl Rows {
    /// Returns whether all rows of the result take the same.
    pub(super) fn are_common(&self) -> bool {
        match self {
            Self::Each { .. } => false,
            Self::Picked(list) | Self::Windows { ends: list, .. } => list.len() == 1,
            Self::Sum(_) => true,
        }
    }
}

impl Origin {
    /// The number of bits of code and headroom: a code has the phase `code / 2^plaintext_bits`. `None` of numbers that
    /// are no secret, which are added to any phase.
    fn plaintext_bits(&self) -> Option<u32> {
        match self {
            Self::Column { encoding, .. } => Some(encoding.plaintext_bits()),
            Self::Values(values) => Some(values.plaintext_bits),
            Self::Public(_) => None,
        }
    }

    pub(super) fn is_public(&self) -> bool {
        matches!(self, Self::Public(_))
    }

    /// The place of its column, or another number, which the same ones have in common, and few others.
    pub(super) fn place(&self) -> u64 {
        match self {
            Self::Column { column, .. } => *column as u64,
            Self::Values(_) => u64::MAX,
            Self::Public(_) => u64::MAX - 1,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Column {
                    source,
                    column,
                    derived,
                    ..
                },
                Self::Column {
                    source: other,
                    column: other_column,
                    derived: other_derived,
                    ..
                },
            ) => {
                let place = (column, derived) == (other_column, other_derived);
                place && Arc::ptr_eq(source, other)
            }
            (Self::Values(values), Self::Values(other)) => Arc::ptr_eq(values, other),
            (Self::Public(codes), Self::Public(other)) => codes == other,
            _ => false,
        }
    }
}

impl Term {
    /// The place of its column and a number of its rows, which the same terms have in common, and few others.
    fn place(&self) -> (u64, usize) {
        let rows = match &self.rows {
            Rows::Each { first } => *first,
            Rows::Picked(rows) => rows.first().copied().unwrap_or(0),
            Rows::Sum(rows) => rows.start ^ rows.end.rotate_left(16),
            Rows::Windows { ends, window, .. } => {
                ends.first().map_or(0, |end| end ^ window.rotate_left(24))
            }
        };
        (self.origin.place(), rows)
    }
}

impl Linear {
    /// The sum of these terms and a number that is added to every code, mod 2^64.
    pub(super) fn new(terms: Vec<Term>, constant: u64) -> Self {
        Self { terms, constant }
    }

    /// The function plus a term of another column or of other rows.
    pub(super) fn and(mut self, term: Term) -> Self {
        self.terms.push(term);
        self
    }

    /// A function that is the same number everywhere, of the columns and rows of this one.
    pub(super) fn constantly(&self, constant: u64) -> Self {
        let terms = self.terms.iter().map(|term| Term {
            weight: 0,
            ..term.clone()
        });
        Self {
            terms: terms.collect(),
            constant,
        }
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(crate) fn constant(&self) -> u64 {
        self.constant
    }

    /// The number of bits of code and headroom that the result has: the fewest of all terms, because a
    /// multiplication makes headroom smaller and nothing makes it larger.
    pub(crate) fn plaintext_bits(&self) -> u32 {
        let bits = self.terms.iter();
        let bits = bits.filter_map(|term| term.origin.plaintext_bits());
        bits.min().unwrap_or(0)
    }

    /// The factor of the phases of a term in the phase of the result.
    pub(crate) fn phase_factor(&self, term: &Term) -> i64 {
        let own = self.plaintext_bits();
        let more = term.origin.plaintext_bits().unwrap_or(own) - own;
        term.weight.wrapping_shl(more)
    }

    /// The part of a row that is no secret, mod 2^64: the constant and numbers that everybody knows.
    pub(super) fn clear_at(&self, row: usize) -> u64 {
        let parts = self.terms.iter().map(|term| {
            let Origin::Public(codes) = &term.origin else {
                return 0;
            };
            let sum = |places: &mut dyn Iterator<Item = usize>| {
                places.fold(0u64, |sum, place| sum.wrapping_add(codes[place]))
            };
            let code = match &term.rows {
                Rows::Each { first } => codes[first + row],
                Rows::Picked(picked) => codes[element(picked, row)],
                Rows::Sum(range) => sum(&mut range.clone()),
                Rows::Windows { rows, ends, window } => {
                    let places = window_of(element(ends, row), *window);
                    sum(&mut rows[places].iter().copied())
                }
            };
            code.wrapping_mul(term.weight as u64)
        });
        parts.fold(self.constant, u64::wrapping_add)
    }

    fn scaled(&self, factor: i64) -> Option<Self> {
        let terms = self.terms.iter().map(|term| {
            Some(Term {
                weight: term.weight.checked_mul(factor)?,
                ..term.clone()
            })
        });
        Some(Self {
            terms: terms.collect::<Option<_>>()?,
            constant: self.constant.wrapping_mul(factor as u64),
        })
    }

    /// Adds another function; terms of the same rows are joined.
    fn add(&mut self, other: Self) -> Option<()> {
        self.constant = self.constant.wrapping_add(other.constant);
        // Terms of different places are different; those of one place are compared.
        let mut known: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, term) in self.terms.iter().enumerate() {
            known.entry(term.place()).or_default().push(at);
        }
        for term in other.terms {
            let alike = known.entry(term.place()).or_default();
            let is_same =
                |known: &Term| known.origin.is_same(&term.origin) && known.rows == term.rows;
            match alike.iter().find(|at| is_same(&self.terms[**at])) {
                Some(&at) => {
                    let weight = &mut self.terms[at].weight;
                    *weight = weight.checked_add(term.weight)?;
                }
                None => {
                    alike.push(self.terms.len());
                    self.terms.push(term);
                }
            }
        }
        self.terms.retain(|term| term.weight != 0);
        (!self.terms.is_empty()).then_some(())
    }

    /// The difference to another function.
    pub(crate) fn minus(&self, other: &Self) -> Option<Self> {
        let mut difference = self.clone();
        difference.add(other.scaled(-1)?)?;
        Some(difference)
    }

    /// The function plus a constant, mod 2^64.
    pub(crate) fn plus(mut self, constant: u64) -> Self {
        self.constant = self.constant.wrapping_add(constant);
        self
    }

    /// The sum over `rows` rows.
    pub(super) fn summed(&self, rows: usize) -> Option<Self> {
        let mut sum = Self {
            terms: Vec::new(),
            constant: self.constant.wrapping_mul(rows as u64),
        };
        for term in &self.terms {
            let of = |rows, weight| Term {
                origin: term.origin.clone(),
                rows,
                weight,
            };
            let times_rows = || term.weight.checked_mul(i64::try_from(rows).ok()?);
            let terms = match &term.rows {
                Rows::Each { first } => vec![of(Rows::Sum(*first..first + rows), term.weight)],
                Rows::Sum(range) => vec![of(Rows::Sum(range.clone()), times_rows()?)],
                Rows::Picked(picked) if picked.len() == 1 => {
                    vec![of(Rows::Picked(Arc::clone(picked)), times_rows()?)]
                }
                Rows::Picked(picked) => {
                    let runs = runs_of(picked).map(|run| of(Rows::Sum(run), term.weight));
                    runs.collect()
                }
                Rows::Windows { ends, .. } if ends.len() == 1 => {
                    vec![of(term.rows.clone(), times_rows()?)]
                }
                Rows::Windows { .. } => return None,
            };
            sum.add(Self { terms, constant: 0 })?;
        }
        Some(sum)
    }

    /// The sum of some of its rows.
    pub(crate) fn sum_of(&self, rows: Range<usize>) -> Option<Self> {
        let count = rows.len();
        let rows: Vec<usize> = rows.collect();
        self.taken(&rows).summed(count)
    }

    /// Returns the same function of only these rows.
    pub(super) fn taken(&self, rows: &[usize]) -> Self {
        // One that is taken alone may be an operand of numbers in rows.
        let neighbours = rows.len() > 1 && rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let terms = self.terms.iter().map(|term| Term {
            rows: match &term.rows {
                Rows::Each { first } if neighbours => Rows::Each {
                    first: first + rows.first().copied().unwrap_or(0),
                },
                Rows::Each { first } => Rows::Picked(rows.iter().map(|row| first + row).collect()),
                Rows::Picked(picked) if picked.len() > 1 => {
                    Rows::Picked(rows.iter().map(|&row| picked[row]).collect())
                }
                Rows::Windows {
                    rows: list,
                    ends,
                    window,
                } if ends.len() > 1 => Rows::Windows {
                    rows: Arc::clone(list),
                    ends: rows.iter().map(|&row| ends[row]).collect(),
                    window: *window,
                },
                same => same.clone(),
            },
            ..term.clone()
        });
        Self {
            terms: terms.collect(),
            constant: self.constant,
        }
    }

    /// Splits off the terms that are the same in all rows; `None` if all terms are, or none.
    pub(crate) fn without_common(&self) -> Option<(Self, Self)> {
        let is_common = |term: &Term| term.rows.are_common() && !term.origin.is_public();
        let (common, by_row): (Vec<Term>, Vec<Term>) =
            self.terms.iter().cloned().partition(is_common);
        let of = |terms, constant| Self { terms, constant };
        let has_rows = by_row.iter().any(|term| !term.origin.is_public());
        (!common.is_empty() && has_rows).then(|| (of(by_row, self.constant), of(common, 0)))
    }
}

/// The linear functions that nodes are, found once for each.
#[derive(Default)]
pub(crate) struct LinearForms {
    known: HashMap<*const Node, Option<Linear>>,
    pub(super) memberships: HashMap<*const Node, Option<Membership>>,
}

impl LinearForms {
    /// Returns the linear function of compact columns that a node is; `None` if it is none.
    pub(crate) fn of(&mut self, node: &Arc<Node>) -> Option<Linear> {
        if let Some(known) = self.known.get(&Arc::as_ptr(node)) {
            return known.clone();
        }
        let form = self.find(node);
        self.known.insert(Arc::as_ptr(node), form.clone());
        form
    }

    /// Returns the function whose sum over all rows an operator is.
    pub(crate) fn summand(&mut self, op: &Op) -> Option<Linear> {
        match op {
            Op::Sum(of) => self.of(of),
            Op::Count(of) => self.truth(of),
            Op::SumOfSquares(of) => self.square(of),
            _ => None,
        }
    }

    fn find(&mut self, node: &Arc<Node>) -> Option<Linear> {
        if node.kind == Kind::Truth {
            return None;
        }
        let each = |origin| Linear {
            terms: vec![Term {
                origin,
                rows: match node.rows {
                    Some(_) => Rows::Each { first: 0 },
                    None => Rows::Picked([0].into()),
                },
                weight: 1,
            }],
            constant: 0,
        };
        match &*node.op() {
            Op::Load { source, column } => {
                let described = source.metadata.columns.get(*column)?;
                match described.element_encoding().ok()? {
                    ElementEncoding::Radix => None,
                    ElementEncoding::Compact(encoding) => Some(each(Origin::Column {
                        source: Arc::clone(source),
                        column: *column,
                        derived: None,
                        encoding,
                    })),
                }
            }
            Op::Compact(values) => Some(each(Origin::Values(Arc::clone(values)))),
            Op::Linear { terms, shift } => {
                // The code is the sum less the smallest that it can be, plus the shift.
                let mut sum = Linear {
                    terms: Vec::new(),
                    constant: *shift,
                };
                for (of, factor) in terms {
                    sum.add(self.of(of)?.scaled(*factor)?)?;
                    if *factor < 0 {
                        let largest = 1u64.checked_shl(of.bits())?.wrapping_sub(1);
                        let lowest = largest.wrapping_mul(factor.unsigned_abs());
                        sum.constant = sum.constant.wrapping_add(lowest);
                    }
                }
                Some(sum)
            }
            Op::Sum(of) | Op::Count(of) | Op::SumOfSquares(of) => {
                self.summand(&node.op())?.summed(of.len())
            }
            Op::Bits(of) => self.truth(of),
            Op::Keep { of, mask } => self.kept(of, mask),
            Op::Windows {
                of,
                function: WindowFunction::Sum,
                window,
                first,
            } => self.of(of)?.windowed(of.len(), *window, *first),
            Op::Public(codes) => Some(each(Origin::Public(codes.as_slice().into()))),
            Op::Take { of, rows } => Some(self.of(of)?.taken(rows)),
            _ => None,
        }
    }
}
