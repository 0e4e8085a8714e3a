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

/// The allowed difference of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// An absolute difference.
    Absolute(f64),
    /// A difference relative to the published figure.
    Relative(f64),
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figures agree within the tolerance.
    Agrees,
    /// The figures differ by more than the tolerance.
    Differs,
    /// The published figure is known to differ, for the reason in the note.
    Unexplained,
    /// No figure is published, or the published one cannot be compared, for the reason in the
    /// note.
    NotCompared,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the set and of the figure.
    pub name: String,
    /// The figure's unit.
    pub unit: &'static str,
    /// The oracle's figure.
    pub predicted: f64,
    /// The published figure.
    pub published: Option<f64>,
    /// The tolerance, if the figures are compared.
    pub tolerance: Option<Tolerance>,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// A remark on the row, or an empty string.
    pub note: String,
}

impl Row {
    /// Returns a row whose figures are compared.
    pub fn compared(
        name: String,
        unit: &'static str,
        predicted: f64,
        published: f64,
        tolerance: Tolerance,
    ) -> Self {
        let allowed = match tolerance {
            Tolerance::Absolute(by) => by,
            Tolerance::Relative(by) => by * published.abs(),
        };
        // A NaN does not agree.
        let agrees = (predicted - published).abs() <= allowed;
        Self {
            name,
            unit,
            predicted,
            published: Some(published),
            tolerance: Some(tolerance),
            verdict: match agrees {
                true => Verdict::Agrees,
                false => Verdict::Differs,
            },
            note: String::new(),
        }
    }

    /// Returns a row whose figures are not compared.
    pub fn alone(name: String, unit: &'static str, predicted: f64, published: Option<f64>) -> Self {
        Self {
            name,
            unit,
            predicted,
            published,
            tolerance: None,
            verdict: Verdict::NotCompared,
            note: String::new(),
        }
    }

    /// Returns the row with a note.
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// Returns the row as unexplained if there is a reason for which no formula gives the
    /// published figure, else unchanged.
    pub fn unexplained(self, reason: Option<impl Into<String>>) -> Self {
        match reason {
            Some(reason) => Self {
                verdict: Verdict::Unexplained,
                ..self.noted(reason)
            },
            None => self,
        }
    }

    /// Whether the figures agree; `None` if they are not compared.
    pub fn ok(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Agrees => Some(true),
            Verdict::Differs => Some(false),
            Verdict::Unexplained | Verdict::NotCompared => None,
        }
    }
}
