//! Linear functions of the rows of compact columns.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::{CompactEncoding, Derivation};
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::wire::columns::ElementEncoding;
use tfhe_sbc_oracle::compact::{CompactNoise, SumRows, exact_sum_log2_p_fail};
use tfhe_sbc_oracle::upload::{TARGET_LOG2_P_FAIL, UploadKind};

use super::derived::Membership;
use super::values::CompactValues;
use crate::node::{Content, Kind, Node, Op, Source, runs_of};

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
}

impl Origin {
    /// The number of bits of code and headroom: a code has the phase `code / 2^plaintext_bits`.
    pub(crate) fn plaintext_bits(&self) -> u32 {
        match self {
            Self::Column { encoding, .. } => encoding.plaintext_bits(),
            Self::Values(values) => values.plaintext_bits,
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
            _ => false,
        }
    }
}

impl Linear {
    /// The sum of these terms and a number that is added to every code, mod 2^64.
    pub(super) fn new(terms: Vec<Term>, constant: u64) -> Self {
        Self { terms, constant }
    }

    /// Returns whether the other function is written with the same terms in the same order.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |(one, two): (&Term, &Term)| {
            (one.weight, &one.rows) == (two.weight, &two.rows) && one.origin.is_same(&two.origin)
        };
        (self.constant, self.terms.len()) == (other.constant, other.terms.len())
            && self.terms.iter().zip(&other.terms).all(same)
    }

    /// A number that [same](Self::is_same) functions have in common, and few others.
    pub(super) fn key(&self) -> u64 {
        let terms = self.terms.iter().map(|term| {
            let rows = match &term.rows {
                Rows::Each { first } => *first,
                Rows::Picked(rows) => rows.first().copied().unwrap_or(0),
                Rows::Sum(rows) => rows.start ^ rows.end.rotate_left(16),
            };
            let column = match &term.origin {
                Origin::Column { column, .. } => *column,
                Origin::Values(_) => usize::MAX,
            };
            (column as u64, rows as u64, term.weight as u64)
        });
        terms.fold(self.constant, |key, (column, rows, weight)| {
            let mixed = key.rotate_left(7) ^ column;
            (mixed.rotate_left(7) ^ rows).rotate_left(7) ^ weight
        })
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
        let bits = self.terms.iter().map(|term| term.origin.plaintext_bits());
        bits.min().unwrap_or(0)
    }

    /// The factor of the phases of a term in the phase of the result.
    pub(crate) fn phase_factor(&self, term: &Term) -> i64 {
        let more = term.origin.plaintext_bits() - self.plaintext_bits();
        term.weight.wrapping_shl(more)
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
        for term in other.terms {
            let same =
                |known: &&mut Term| known.origin.is_same(&term.origin) && known.rows == term.rows;
            match self.terms.iter_mut().find(same) {
                Some(known) => known.weight = known.weight.checked_add(term.weight)?,
                None => self.terms.push(term),
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
        let is_common = |term: &Term| match &term.rows {
            Rows::Each { .. } => false,
            Rows::Picked(picked) => picked.len() == 1,
            Rows::Sum(_) => true,
        };
        let (common, by_row): (Vec<Term>, Vec<Term>) =
            self.terms.iter().cloned().partition(is_common);
        let of = |terms, constant| Self { terms, constant };
        (!common.is_empty() && !by_row.is_empty())
            .then(|| (of(by_row, self.constant), of(common, 0)))
    }

    /// The noise of every row of the result, and of a single one, under the evaluation key.
    pub(crate) fn noise(&self, parameters: &Parameters) -> Option<CompactNoise> {
        // Terms of one column may have errors in common, so that they are added linearly: as one value
        // with the sum of the factors. Those of different columns are independent.
        let mut groups: Vec<(&Term, Vec<CompactNoise>)> = Vec::new();
        for term in &self.terms {
            let noise = term_noise(parameters, term)?.times(self.phase_factor(term) as f64);
            let same = |(known, _): &&mut (&Term, _)| known.origin.is_same(&term.origin);
            match groups.iter_mut().find(same) {
                Some((_, noises)) => noises.push(noise),
                None => groups.push((term, vec![noise])),
            }
        }
        let groups = groups.into_iter().map(|(_, noises)| {
            let count = noises.len() as f64;
            // (Σ σ)² ≤ n·Σ σ², for n terms.
            let sum = noises.into_iter().reduce(CompactNoise::and)?;
            Some(match count {
                1.0 => sum,
                _ => sum.times(count.sqrt()),
            })
        });
        let groups: Vec<CompactNoise> = groups.collect::<Option<_>>()?;
        groups.into_iter().reduce(CompactNoise::and)
    }

    /// Returns whether codes of `bits` bits fit into code and headroom, and decode wrongly with a probability
    /// of at most 2^-128.
    pub(crate) fn is_exact(&self, parameters: &Parameters, bits: u32) -> bool {
        let plaintext_bits = self.plaintext_bits();
        bits <= plaintext_bits
            && self.noise(parameters).is_some_and(|noise| {
                exact_sum_log2_p_fail(plaintext_bits, noise) <= TARGET_LOG2_P_FAIL
            })
    }
}

/// The noise of one term of weight 1.
fn term_noise(parameters: &Parameters, term: &Term) -> Option<CompactNoise> {
    let (source, encoding) = match &term.origin {
        Origin::Column {
            source, encoding, ..
        } => (source, encoding),
        Origin::Values(values) => {
            let rows = match &term.rows {
                Rows::Each { .. } | Rows::Picked(_) => 1,
                Rows::Sum(range) => range.len(),
            };
            // Computed values may have errors in common.
            return Some(values.noise.times(rows as f64));
        }
    };
    let mut kind = UploadKind::Symmetric;
    // The keys that uploads are switched from, each once, with what the switch decomposes to.
    let mut switches: Vec<(_, Decomposition)> = Vec::new();
    let mut uploads = 1;
    if let Content::Ciphertexts(_) = &source.content {
        let range = match &term.rows {
            Rows::Sum(range) => range.clone(),
            Rows::Picked(picked) => match (picked.iter().min(), picked.iter().max()) {
                (Some(first), Some(last)) => *first..last + 1,
                _ => 0..0,
            },
            Rows::Each { first } => *first..source.metadata.rows.len(),
        };
        let loaded = source.uploads_of(&range);
        uploads = loaded.len() as u64;
        for upload in loaded {
            if upload.is_masked {
                kind = UploadKind::PublicKey;
            }
            if let Some(switch) = &upload.switch
                && switches.iter().all(|(key, _)| *key != upload.key)
            {
                switches.push((upload.key, switch.decomposition()));
            }
        }
    }
    let switches = switches.iter().map(|(_, switch)| *switch);
    let switched = |noise: CompactNoise, switch| noise.switched(parameters, switch);
    Some(match &term.rows {
        // A value is of one upload, maybe of that with the noisiest switch.
        Rows::Each { .. } | Rows::Picked(_) => {
            let noise = CompactNoise::upload(parameters, kind, encoding);
            let all = switches.map(|switch| switched(noise, switch));
            let variance = |noise: &CompactNoise| noise.variance().0;
            all.max_by(|a, b| variance(a).total_cmp(&variance(b)))
                .unwrap_or(noise)
        }
        Rows::Sum(range) => {
            let rows = SumRows::Neighbours {
                rows: range.len() as u64,
                uploads,
            };
            let noise = CompactNoise::sum(parameters, kind, encoding, rows);
            // A sum is switched once from every key.
            switches.fold(noise, switched)
        }
    })
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
            Op::Take { of, rows } => Some(self.of(of)?.taken(rows)),
            _ => None,
        }
    }
}
