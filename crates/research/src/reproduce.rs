//! What the oracle says about sets that others published, beside what they say: rows of figures.
//!
//! - [`published`]: TFHE-rs's sets, failure probability and cost.
//! - [`klemsa`]: Table 1 of Klemsa's guide: errors, procedure, security, time and
//!   keys, and sets of this project for the same tasks.
//! - [`paper`]: the security of the TFHE-SBC paper's Table 3.
//!
//! A row whose two figures are further apart than its tolerance [`Verdict::Differs`]: then a
//! formula here is wrong. Where it is the published figure that no formula gives, the row
//! says so and why ([`Verdict::Unexplained`]).

pub mod klemsa;
pub mod paper;
pub mod published;

/// Where figures are from.
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
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Published, Self::Klemsa, Self::Paper];

    /// Its rows.
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

/// How far apart two figures may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// By so much.
    Absolute(f64),
    /// By so much of the published one.
    Relative(f64),
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figures agree within the tolerance.
    Agrees,
    /// They do not.
    Differs,
    /// The published figure is known to differ, for the reason in the note.
    Unexplained,
    /// Nothing is published, or what is is not to be compared, for the reason in the note.
    NotCompared,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Of which set, and which figure of it.
    pub name: String,
    /// The figure's unit.
    pub unit: &'static str,
    /// What the oracle says.
    pub predicted: f64,
    /// What is published.
    pub published: Option<f64>,
    /// How far apart they may be, where they are compared.
    pub tolerance: Option<Tolerance>,
    /// Whether they are.
    pub verdict: Verdict,
    /// What is to be said about it, or nothing.
    pub note: String,
}

impl Row {
    /// A figure that is compared.
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
        // Not so for what is no number.
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

    /// A figure that is not compared.
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

    /// The row with something said about it.
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// The row if there is a reason why the published figure is not to be had.
    pub fn unexplained(self, reason: Option<impl Into<String>>) -> Self {
        match reason {
            Some(reason) => Self {
                verdict: Verdict::Unexplained,
                ..self.noted(reason)
            },
            None => self,
        }
    }

    /// Whether the figures agree; `None` where that cannot be asked.
    pub fn ok(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Agrees => Some(true),
            Verdict::Differs => Some(false),
            Verdict::Unexplained | Verdict::NotCompared => None,
        }
    }
}
