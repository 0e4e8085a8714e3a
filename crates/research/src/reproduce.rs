//! Rows that compare the oracle's figures for published sets with the published figures.
//!
//! - [`published`]: TFHE-rs's sets, failure probability and cost.
//! - [`klemsa`]: Table 1 of Klemsa's guide: errors, procedure, security, time and
//!   keys, and sets of this project for the same tasks.
//! - [`paper`]: the security of the TFHE-SBC paper's Table 3.
//!
//! If the two figures of a row differ by more than its tolerance, the row
//! [differs](Verdict::Differs): a formula here is wrong. If it is the published figure that no
//! formula gives, the row is [unexplained](Verdict::Unexplained) and states the reason.

pub mod klemsa;
pub mod paper;
pub mod published;
mod row;

pub use row::{Row, Tolerance, Verdict};

/// The source of published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// TFHE-rs's sets.
    Published,
    /// Klemsa's guide.
    Klemsa,
    /// The TFHE-SBC paper.
    Paper,
}

impl Source {
    /// All sources, in the order of the output.
    pub const ALL: [Self; 3] = [Self::Published, Self::Klemsa, Self::Paper];

    /// Computes the rows of the source.
    pub fn rows(self) -> Vec<Row> {
        match self {
            Self::Published => published::rows(crate::published::published_sets()),
            Self::Klemsa => {
                let table = &crate::klemsa::TABLE_1;
                let ours = table.iter().flat_map(klemsa::rows_of_ours);
                klemsa::rows_of_table(table)
                    .into_iter()
                    .chain(ours)
                    .collect()
            }
            Self::Paper => paper::rows(paper::LOG2_SIGMA),
        }
    }
}
