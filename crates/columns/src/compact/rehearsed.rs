//! The values of linear functions of compact columns in rehearsals.

use super::linear::{Linear, Origin, Rows, Term, element, window_of};
use crate::node::Content;

/// Computes a linear function of the codes of a rehearsal; 0 where there are none.
pub(crate) fn rehearse(linear: &Linear, rows: usize) -> Vec<u64> {
    let terms: Vec<&Term> = (linear.terms().iter())
        .filter(|term| !term.origin.is_public())
        .collect();
    let codes = terms.iter().map(|term| RehearsedTerm::new(term));
    let codes: Vec<RehearsedTerm> = codes.collect();
    let code = |row: usize| {
        let of_terms = codes.iter().map(|codes| codes.at(row));
        of_terms.fold(linear.clear_at(row), u64::wrapping_add)
    };
    match linear
        .terms()
        .iter()
        .all(|term| matches!(term.rows, Rows::Sum(_)))
    {
        // Every row is the same; there is one unless a caller broadcasts it.
        true => vec![code(0); rows],
        false => (0..rows).map(code).collect(),
    }
}

/// The codes of a term in a rehearsal.
struct RehearsedTerm<'a> {
    term: &'a Term,
    /// Those of computed values.
    computed: Vec<u64>,
    /// The sums of the first rows of the list of windows, for each number of rows.
    before: Vec<u64>,
}

impl<'a> RehearsedTerm<'a> {
    fn new(term: &'a Term) -> Self {
        let mut of = Self {
            term,
            computed: match &term.origin {
                Origin::Values(values) => values.trivial_codes(),
                Origin::Column { .. } | Origin::Public(_) => Vec::new(),
            },
            before: vec![0],
        };
        if let Rows::Windows { rows, .. } = &term.rows {
            let mut sum = 0u64;
            for &row in rows.iter() {
                sum = sum.wrapping_add(of.code(row));
                of.before.push(sum);
            }
        }
        of
    }

    fn code(&self, row: usize) -> u64 {
        match &self.term.origin {
            Origin::Column {
                source,
                column,
                derived,
                ..
            } => match &source.content {
                Content::Codes(codes) => codes[*column].at(row, *derived),
                Content::Ciphertexts(_) | Content::Unknown => 0,
            },
            Origin::Values(_) => self.computed[row],
            Origin::Public(codes) => codes[row],
        }
    }

    /// The weighted code of a row of the result.
    fn at(&self, row: usize) -> u64 {
        let code = match &self.term.rows {
            Rows::Each { first } => self.code(first + row),
            Rows::Picked(picked) => self.code(element(picked, row)),
            Rows::Sum(range) => {
                let codes = range.clone().map(|row| self.code(row));
                codes.fold(0u64, u64::wrapping_add)
            }
            Rows::Windows { ends, window, .. } => {
                let places = window_of(element(ends, row), *window);
                self.before[places.end].wrapping_sub(self.before[places.start])
            }
        };
        code.wrapping_mul(self.term.weight as u64)
    }
}
