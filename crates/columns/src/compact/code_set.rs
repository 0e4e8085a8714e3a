//! Sets of codes of one column, as the cuts between the codes that are in and those that are not.

use crate::node::Logic;

/// A set of the codes below `2^bits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeSet {
    bits: u32,
    /// The cuts, in increasing order and each below `2^bits`. A code is in the set if the number of cuts
    /// that are not above it is odd.
    cuts: Vec<u64>,
}

impl CodeSet {
    /// All codes or none.
    pub(crate) fn all(bits: u32, all: bool) -> Self {
        let cuts = if all { vec![0] } else { Vec::new() };
        Self { bits, cuts }
    }

    /// The codes from `first` on.
    pub(crate) fn from(bits: u32, first: i128) -> Self {
        let cuts = match u64::try_from(first) {
            Err(_) if first < 0 => vec![0],
            Ok(first) if first.checked_shr(bits).unwrap_or(0) == 0 => vec![first],
            _ => Vec::new(),
        };
        Self { bits, cuts }
    }

    /// The width of the codes.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The cuts.
    pub(crate) fn cuts(&self) -> &[u64] {
        &self.cuts
    }

    /// The codes that are not in the set.
    pub(crate) fn complement(&self) -> Self {
        self.with(Logic::Xor, &Self::all(self.bits, true))
    }

    /// The codes that are in both sets, in either, or in exactly one; the sets are of one width.
    pub(crate) fn with(&self, logic: Logic, other: &Self) -> Self {
        let (mut a, mut b) = (self.cuts.iter().peekable(), other.cuts.iter().peekable());
        let (mut in_a, mut in_b, mut inside) = (false, false, false);
        let mut cuts = Vec::new();
        loop {
            let cut = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(&&cut), None) | (None, Some(&&cut)) => cut,
                (Some(&&a), Some(&&b)) => a.min(b),
            };
            in_a ^= a.next_if(|&&next| next == cut).is_some();
            in_b ^= b.next_if(|&&next| next == cut).is_some();
            let now = logic.apply(in_a, in_b);
            if now != inside {
                cuts.push(cut);
                inside = now;
            }
        }
        Self {
            bits: self.bits,
            cuts,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BITS: u32 = 4;

    impl CodeSet {
        fn has(&self, code: u64) -> bool {
            self.cuts.iter().filter(|&&cut| cut <= code).count() % 2 == 1
        }
    }

    /// The set of the codes whose bits are set.
    fn of(codes: u16) -> CodeSet {
        let one =
            |code: i128| CodeSet::from(BITS, code).with(Logic::Xor, &CodeSet::from(BITS, code + 1));
        let codes = (0..16).filter(|code| codes >> code & 1 == 1);
        codes.fold(CodeSet::all(BITS, false), |set, code| {
            set.with(Logic::Or, &one(code))
        })
    }

    proptest! {
        #[test]
        fn sets_have_the_codes_of_plain_sets(a in any::<u16>(), b in any::<u16>(), first in -3i128..20) {
            let (set_a, set_b) = (of(a), of(b));
            let from = CodeSet::from(BITS, first);
            let both = set_a.with(Logic::And, &set_b);
            let either = set_a.with(Logic::Or, &set_b);
            let one = set_a.with(Logic::Xor, &set_b);
            let others = set_a.complement();
            for code in 0..16 {
                let (a, b) = (a >> code & 1 == 1, b >> code & 1 == 1);
                prop_assert_eq!(both.has(code), a && b);
                prop_assert_eq!(either.has(code), a || b);
                prop_assert_eq!(one.has(code), a != b);
                prop_assert_eq!(others.has(code), !a);
                prop_assert_eq!(from.has(code), i128::from(code) >= first);
            }
            for set in [both, either, one, others, from] {
                prop_assert!(set.cuts.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(set.cuts.iter().all(|&cut| cut < 16));
            }
        }
    }
}
