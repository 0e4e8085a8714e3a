//! One figure of the oracle beside the published one.

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
    #[must_use]
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// Returns the row as unexplained if there is a reason for which no formula gives the
    /// published figure, else unchanged.
    #[must_use]
    pub fn unexplained(self, reason: Option<impl Into<String>>) -> Self {
        match reason {
            Some(reason) => Self {
                verdict: Verdict::Unexplained,
                ..self.noted(reason)
            },
            None => self,
        }
    }

    /// Returns whether the figures agree; `None` if they are not compared.
    pub fn ok(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Agrees => Some(true),
            Verdict::Differs => Some(false),
            Verdict::Unexplained | Verdict::NotCompared => None,
        }
    }
}
