//! The tasks of the rows: operands, and expected results.

/// An operator on two integers of one width, mod 2^width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// The sum.
    Add,
    /// The equality.
    Eq,
    /// The comparison that tells whether the first is smaller.
    Lt,
    /// The larger one.
    Max,
    /// The conjunction, bit by bit.
    BitAnd,
    /// The first, shifted up by the second.
    Shl,
    /// The product.
    Mul,
    /// Quotient and remainder.
    DivRem,
}

/// The task of one run of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// An operator on `count` pairs at once.
    Pairs {
        /// The operator.
        operator: Operator,
        /// The width.
        bits: u32,
        /// The number of pairs.
        count: usize,
    },
    /// The largest of a list.
    Largest {
        /// The width.
        bits: u32,
        /// The length.
        count: usize,
    },
    /// Sum, comparison and maximum of every row of two columns.
    Columns {
        /// The width.
        bits: u32,
        /// The number of rows.
        count: usize,
    },
}

impl Task {
    /// The width of its operands.
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Pairs { bits, .. } | Self::Largest { bits, .. } | Self::Columns { bits, .. } => {
                bits
            }
        }
    }

    /// The width of the second operands: an amount of a shift is below the width.
    pub(super) fn second_bits(self) -> u32 {
        match self {
            Self::Pairs {
                operator: Operator::Shl,
                bits,
                ..
            } => bits.ilog2(),
            _ => self.bits(),
        }
    }

    /// A remark on the task, for the note of its row.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            Self::Pairs {
                operator: Operator::Shl,
                ..
            } => Some(
                "The amount is encrypted, as a number below the width: more the peer does not read",
            ),
            Self::Largest { .. } => Some("A tournament; the peer's pairs of a round in parallel"),
            Self::Columns { .. } => {
                Some("Sum, comparison and maximum of every row; the peer's rows in parallel")
            }
            Self::Pairs { .. } => None,
        }
    }

    /// The number of operations by which the time of a run is divided.
    pub(super) fn operations(self) -> usize {
        match self {
            Self::Pairs { count, .. } => count,
            Self::Largest { .. } | Self::Columns { .. } => 1,
        }
    }

    /// The operators on every pair; none for a list.
    pub(super) fn operators(&self) -> &[Operator] {
        match self {
            Self::Pairs { operator, .. } => std::slice::from_ref(operator),
            Self::Largest { .. } => &[],
            Self::Columns { .. } => &[Operator::Add, Operator::Lt, Operator::Max],
        }
    }

    /// The operands: the elements of a list are its first ones.
    pub(super) fn operands(self) -> Vec<(u64, u64)> {
        let (count, operator) = match self {
            Self::Pairs {
                count, operator, ..
            } => (count, Some(operator)),
            Self::Largest { count, .. } | Self::Columns { count, .. } => (count, None),
        };
        let bits = self.bits();
        let mut numbers = Numbers(0);
        let mut number = || numbers.next() >> (64 - bits);
        (0..count)
            .map(|_| {
                let (a, b) = (number(), number());
                match operator {
                    // Wrong digits are hardly ever equal, so equal operands make the test strict.
                    Some(Operator::Eq) => (a, a),
                    Some(Operator::Shl) => (a, b >> (bits - self.second_bits())),
                    // Quotients of half the width.
                    Some(Operator::DivRem) => (a, (b >> (bits / 2)).max(1)),
                    _ => (a, b),
                }
            })
            .collect()
    }

    /// The expected results for the operands, one number after the other; 1 is true.
    pub(super) fn outcome(&self, operands: &[(u64, u64)]) -> Vec<u64> {
        if matches!(self, Self::Largest { .. }) {
            return operands.iter().map(|&(a, _)| a).max().into_iter().collect();
        }
        let apply = |&(a, b): &(u64, u64)| {
            let operators = self.operators().iter();
            operators.flat_map(move |operator| operator.apply(self.bits(), a, b))
        };
        operands.iter().flat_map(apply).collect()
    }
}

impl Operator {
    /// Applies the operator to clear operands.
    fn apply(self, bits: u32, a: u64, b: u64) -> Vec<u64> {
        let mask = u64::MAX >> (64 - bits);
        match self {
            Self::Add => vec![a.wrapping_add(b) & mask],
            Self::Eq => vec![u64::from(a == b)],
            Self::Lt => vec![u64::from(a < b)],
            Self::Max => vec![a.max(b)],
            Self::BitAnd => vec![a & b],
            Self::Shl => vec![(a << b) & mask],
            Self::Mul => vec![a.wrapping_mul(b) & mask],
            Self::DivRem => vec![a / b, a % b],
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators): operands are the
/// same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_those_of_clear_numbers() {
        let pairs = |operator, bits| Task::Pairs {
            operator,
            bits,
            count: 1,
        };
        let all = [(200, 100)];
        for (operator, outcome) in [
            (Operator::Add, vec![44]),
            (Operator::Eq, vec![0]),
            (Operator::Lt, vec![0]),
            (Operator::Max, vec![200]),
            (Operator::BitAnd, vec![64]),
            (Operator::Mul, vec![32]),
            (Operator::DivRem, vec![2, 0]),
        ] {
            assert_eq!(pairs(operator, 8).outcome(&all), outcome, "{operator:?}");
        }
        assert_eq!(pairs(Operator::Shl, 8).outcome(&[(200, 1)]), [144]);
        assert_eq!(pairs(Operator::Add, 64).outcome(&[(u64::MAX, 1)]), [0]);
        let largest = Task::Largest { bits: 8, count: 3 };
        assert_eq!(largest.outcome(&[(3, 0), (7, 0), (5, 9)]), [7]);
        let columns = Task::Columns { bits: 8, count: 2 };
        assert_eq!(columns.outcome(&[(255, 2), (3, 4)]), [1, 0, 255, 7, 1, 4]);
    }

    #[test]
    fn operands_fit_their_width_and_their_operator() {
        for bits in [8, 16, 32, 64] {
            let operands = |operator| {
                let task = Task::Pairs {
                    operator,
                    bits,
                    count: 50,
                };
                task.operands()
            };
            let fits = |x: u64| bits == 64 || x >> bits == 0;
            let all = operands(Operator::Add);
            assert!(all.iter().all(|&(a, b)| fits(a) && fits(b)));
            assert!(all.windows(2).any(|w| w[0] != w[1]));
            assert!(operands(Operator::Eq).iter().all(|(a, b)| a == b));
            let shifts = operands(Operator::Shl);
            assert!(shifts.iter().all(|&(_, b)| b < u64::from(bits)));
            assert!(operands(Operator::DivRem).iter().all(|&(_, b)| b != 0));
        }
    }
}
