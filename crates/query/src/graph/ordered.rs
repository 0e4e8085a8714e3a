//! Questions about rows in their order.

use std::borrow::Cow;

use tfhe_sbc_columns::{OptionalNumber, Table};
use tfhe_sbc_upload::readings::Column;

use super::{Asked, Graph};
use crate::Ordered;
use crate::error::EvaluateError;
use crate::expression::Expression;
use crate::results::{Gaps, Meaning};

impl Graph<'_> {
    /// The table with its rows in the order of their moments.
    fn in_time(&self) -> Result<Cow<'_, Table>, EvaluateError> {
        let Some(order) = self.order else {
            return Ok(Cow::Borrowed(self.table));
        };
        let labels = order.iter().filter_map(|&row| self.table.labels().get(row));
        let table = self.table.rows(order, labels.cloned().collect())?;
        Ok(Cow::Owned(table))
    }

    /// Returns the values of a function for each row, in the order of their moments.
    ///
    /// # Errors
    /// Values that have no encoding.
    pub(super) fn ordered(
        &self,
        function: Ordered,
        of: &Expression,
        name: String,
    ) -> Result<Asked, EvaluateError> {
        let table = self.in_time()?;
        let graph = Graph {
            table: &table,
            ends: self.ends,
            order: None,
            thresholds: self.thresholds,
            parameters: self.parameters,
        };
        let (number, column) = graph.values(of)?;
        let values = match graph.valid(of)? {
            Some(valid) => OptionalNumber::new(number, valid)?,
            None => OptionalNumber::whole(number),
        };
        let rolling = |window: crate::Window| {
            let min_periods = window.min_periods.map(|least| least as usize);
            values.rolling(window.rows as usize, min_periods)
        };
        let found = match function {
            Ordered::RollingSum(window) => rolling(window)?.sum()?,
            Ordered::RollingMean(window) => rolling(window)?.mean()?,
            Ordered::RollingMin(window) => rolling(window)?.min()?,
            Ordered::RollingMax(window) => rolling(window)?.max()?,
            Ordered::Cumsum => values.cumsum()?,
            Ordered::Cummin => values.cummin()?,
            Ordered::Cummax => values.cummax()?,
            Ordered::Shift(rows) => values.shift(rows.into())?,
            Ordered::Diff(rows) => values.diff(rows.into())?,
        };
        let number = found.number();
        number.encoding()?;
        let column = Column {
            name,
            offset: number.offset(),
            scale: number.scale(),
            bits: number.bits(),
            ..column
        };
        let labels = table.labels();
        let Some(known) = found.known_rows() else {
            let meaning = Meaning::Scores(column, labels.to_vec());
            let parts = [found.notna().as_number(), number.clone()];
            return Ok(Asked::new(parts, meaning.with_gaps(Gaps::Flagged)));
        };
        let of = |wanted: bool| {
            let rows = known.iter().zip(labels);
            let rows = rows.filter(move |(there, _)| **there == wanted);
            rows.map(|(_, label)| label.clone())
                .collect::<Vec<String>>()
        };
        let (there, missing) = (of(true), of(false));
        let meaning = Meaning::Scores(column, there);
        if missing.is_empty() {
            return Ok(Asked::new([number.clone()], meaning));
        }
        let rows = known.iter().enumerate().filter(|(_, there)| !**there);
        let gaps = Gaps::KnownRows {
            places: rows.map(|(row, _)| row as u32).collect(),
            labels: missing,
        };
        Ok(Asked::new(found.present()?, meaning.with_gaps(gaps)))
    }
}
