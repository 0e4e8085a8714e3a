//! The groups of rows that questions are asked about, as tables.

use std::borrow::Cow;
use std::ops::Range;

use tfhe_sbc_columns::Table;
use tfhe_sbc_core::parameters::Parameters;

use crate::Question;
use crate::error::{EvaluateError, RequestError};
use crate::graph::{Asked, Graph, Thresholds};
use crate::scope::{About, Group, GroupKey, Scope, ScopeError, Scoped, UploadRows};

/// The groups of rows of uploads.
pub(crate) struct Groups {
    each: Vec<(Group, Vec<String>)>,
    pub(crate) about: About,
}

/// The values that answer a question about a group.
pub(crate) struct AskedOf {
    /// The group; `None` if there are none.
    pub(crate) group: Option<GroupKey>,
    /// The values.
    pub(crate) asked: Asked,
}

/// The table of a group.
pub(crate) struct GroupTable<'g> {
    group: &'g Group,
    table: Table,
}

impl Groups {
    /// Returns the groups of a scope. The rows have their labels only if one of the questions names rows.
    ///
    /// # Errors
    /// As [`Scope::of`].
    pub(crate) fn new(
        scope: &Scope,
        uploads: &[UploadRows<'_>],
        questions: &[&Question],
    ) -> Result<Self, ScopeError> {
        let Scoped { groups, about } = scope.of(uploads)?;
        let names_rows = questions.iter().any(|question| question.names_rows());
        let each = groups.into_iter().map(|group| {
            let labels = match names_rows {
                true => group.labels(uploads),
                false => vec![String::new(); group.rows.len()],
            };
            (group, labels)
        });
        Ok(Self {
            each: each.collect(),
            about,
        })
    }

    /// The number of rows of each group.
    pub(crate) fn row_counts(&self) -> impl Iterator<Item = usize> {
        self.each.iter().map(|(group, _)| group.rows.len())
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Returns the tables of some groups, by their places, in the table of all uploads.
    ///
    /// # Errors
    /// Rows that are not there.
    pub(crate) fn tables(
        &self,
        places: Range<usize>,
        all: &Table,
    ) -> Result<Vec<GroupTable<'_>>, EvaluateError> {
        let groups = self.each.get(places).unwrap_or_default();
        let tables = groups.iter().map(|(group, labels)| {
            Ok(GroupTable {
                group,
                table: all.rows(&group.rows, labels.clone())?,
            })
        });
        tables.collect()
    }
}

impl GroupTable<'_> {
    /// The graphs of questions about the group.
    pub(crate) fn graph<'t>(
        &'t self,
        thresholds: &'t Thresholds,
        parameters: &Parameters,
    ) -> Graph<'t> {
        Graph {
            table: &self.table,
            ends: (self.group.earliest, self.group.latest),
            order: self.group.order.as_deref(),
            thresholds,
            parameters: *parameters,
        }
    }

    /// Returns the values that answer a question about the group.
    ///
    /// # Errors
    /// As [`Graph::answer`].
    pub(crate) fn ask(
        &self,
        question: &Question,
        thresholds: &Thresholds,
        parameters: &Parameters,
    ) -> Result<AskedOf, EvaluateError> {
        let question = self.fitting(question);
        Ok(AskedOf {
            group: self.group.key.clone(),
            asked: self.graph(thresholds, parameters).answer(&question)?,
        })
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.group.rows.len()
    }

    /// Checks that a question can be asked about the group.
    ///
    /// # Errors
    /// As [`Question::check`], with the group.
    pub(crate) fn check(&self, question: &Question) -> Result<(), EvaluateError> {
        let checked = self.fitting(question).check(self.table.metadata());
        checked.map_err(|error| match (&self.group.key, error) {
            (Some(group), error @ (RequestError::TopK { .. } | RequestError::Sample)) => {
                EvaluateError::Group {
                    group: group.to_string(),
                    error: Box::new(error),
                }
            }
            (_, error) => error.into(),
        })
    }

    /// Returns a question that the group has enough rows for: a group of fewer rows has fewer largest values.
    pub(crate) fn fitting<'q>(&self, question: &'q Question) -> Cow<'q, Question> {
        match (question, &self.group.key) {
            (Question::TopK(of, count), Some(group)) if *count > group.rows => {
                Cow::Owned(Question::TopK(of.clone(), group.rows))
            }
            _ => Cow::Borrowed(question),
        }
    }
}
