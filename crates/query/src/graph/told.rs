//! Questions about columns whose gaps are told in clear.
//!
//! Rows without a value are left out before anything is computed, so that such a column takes no more bootstraps than one that has
//! all its readings. Where a condition can be true although a value is missing, the gaps are clear truth values instead.

use super::{Asked, Graph};
use crate::error::EvaluateError;
use crate::expression::Expression;
use crate::results::{Gaps, Meaning, Spread};
use crate::{Aggregate, Question};

impl Graph<'_> {
    /// Returns the values that answer a question about the rows that have a value, and the number of the others; `None` if no
    /// gap of the columns in the question is told, or the rows with gaps matter to the answer.
    ///
    /// # Errors
    /// As [`answer`](Graph::answer).
    pub(super) fn answer_beside_gaps(
        &self,
        question: &Question,
    ) -> Result<Option<Asked>, EvaluateError> {
        let names = question.columns();
        let readings = self.table.metadata();
        let tells = |name: &&str| {
            let column = readings.column(name);
            column.is_some_and(|(_, column)| column.derived.tells_gaps())
        };
        if !names.iter().any(tells) {
            return Ok(None);
        }
        let of = match question {
            Question::Aggregate(_, of)
            | Question::Pair(_, of, _)
            | Question::Percentile(of, _)
            | Question::Histogram(of, _)
            | Question::Sort(of)
            | Question::TopK(of, _)
            | Question::Score(of)
            | Question::Logistic(of) => Some(of),
            Question::Count(condition) | Question::Rows(condition)
                if condition.needs_all_values() =>
            {
                None
            }
            // A row without a value has its place in the order.
            Question::Ordered(..) | Question::Count(_) | Question::Rows(_) | Question::Tree(_) => {
                return Ok(None);
            }
        };
        let (table, gaps) = self.table.without_gaps(&names)?;
        let Some(table) = &table else {
            return of.map(|of| self.nothing(question, of, &gaps)).transpose();
        };
        let graph = |ends| Graph {
            table,
            ends,
            order: None,
            thresholds: self.thresholds,
            parameters: self.parameters,
        };
        let Some(of) = of else {
            return graph((0, 0)).answer_of_all_rows(question).map(Some);
        };
        let end = match question {
            Question::Aggregate(Aggregate::First, _) => Some(self.ends.0),
            Question::Aggregate(Aggregate::Last, _) => Some(self.ends.1),
            _ => None,
        };
        if let Some(end) = end {
            let Err(before) = gaps.binary_search(&end) else {
                return self.nothing(question, of, &gaps).map(Some);
            };
            let asked = graph((end - before, end - before)).answer_of_all_rows(question)?;
            return Ok(Some(asked.with_gaps(Gaps::Known(0))));
        }
        let rows = table.row_count() as u32;
        let asked = match question {
            // There are fewer largest values where fewer rows have one.
            Question::TopK(of, count) if *count > rows => {
                graph((0, 0)).answer_of_all_rows(&Question::TopK(of.clone(), rows))?
            }
            Question::Aggregate(Aggregate::SampleVariance | Aggregate::SampleStd, _)
                if rows == 1 =>
            {
                return self.nothing(question, of, &gaps).map(Some);
            }
            question => graph((0, 0)).answer_of_all_rows(question)?,
        };
        Ok(Some(asked.with_gaps(self.known(question, &gaps))))
    }

    /// The form of gaps that are told.
    fn known(&self, question: &Question, gaps: &[usize]) -> Gaps {
        match question {
            Question::Score(_) | Question::Logistic(_) => {
                let labels = self.table.labels();
                Gaps::KnownRows {
                    places: gaps.iter().map(|&row| row as u32).collect(),
                    labels: gaps.iter().map(|&row| labels[row].clone()).collect(),
                }
            }
            _ => Gaps::Known(gaps.len() as u32),
        }
    }

    /// Returns the answer to a question about an expression that has no value to answer it with.
    fn nothing(
        &self,
        question: &Question,
        of: &Expression,
        gaps: &[usize],
    ) -> Result<Asked, EvaluateError> {
        let (_, column) = self.values(of)?;
        let spread = |sample, root, column| Meaning::Spread {
            column,
            rows: 0,
            sum_blocks: 0,
            measure: Spread { sample, root },
        };
        let row = |place: usize, column| {
            let label = self.table.labels().get(place).cloned();
            Meaning::Row(column, label.unwrap_or_default())
        };
        let mut known = self.known(question, gaps);
        let meaning = match question {
            Question::Aggregate(aggregate, _) => match aggregate {
                Aggregate::Sum => Meaning::Sum(column, 0),
                Aggregate::Mean => Meaning::Mean(column, 0),
                Aggregate::Count => Meaning::Present(0),
                Aggregate::Variance => spread(false, false, column),
                Aggregate::Std => spread(false, true, column),
                Aggregate::SampleVariance => spread(true, false, column),
                Aggregate::SampleStd => spread(true, true, column),
                Aggregate::First | Aggregate::Last => {
                    known = Gaps::Known(1);
                    let place = match aggregate {
                        Aggregate::First => self.ends.0,
                        _ => self.ends.1,
                    };
                    row(place, column)
                }
                Aggregate::Min
                | Aggregate::Max
                | Aggregate::Range
                | Aggregate::Argmin
                | Aggregate::Argmax
                | Aggregate::Median => Meaning::Reading(column),
            },
            Question::Pair(function, _, other) => Meaning::Pair {
                columns: Box::new([column, self.values(other)?.1]),
                rows: 0,
                blocks: Vec::new(),
                function: *function,
            },
            Question::Histogram(_, edges) => Meaning::Histogram {
                column,
                edges: edges.clone(),
                rows: 0,
            },
            Question::Sort(_) => Meaning::Readings(column, 0),
            Question::TopK(..) => Meaning::Places {
                column,
                count: 0,
                code_blocks: 0,
                labels: Vec::new(),
            },
            Question::Score(_) => Meaning::Scores(column, Vec::new()),
            Question::Logistic(_) => Meaning::Logistic(column, Vec::new()),
            Question::Percentile(..)
            | Question::Count(_)
            | Question::Rows(_)
            | Question::Ordered(..)
            | Question::Tree(_) => Meaning::Reading(column),
        };
        Ok(Asked::new([], meaning).with_gaps(known))
    }
}

impl Asked {
    fn with_gaps(self, gaps: Gaps) -> Self {
        Self {
            meaning: self.meaning.with_gaps(gaps),
            ..self
        }
    }
}
