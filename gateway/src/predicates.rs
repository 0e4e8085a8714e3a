//! Filters on devices and time, which the catalogue answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator};
use datafusion::physical_expr::create_physical_expr;
use tfhe_sbc_upload::moments::Moment;

/// The column of the device's name.
pub(crate) const DEVICE: &str = "device";
/// The column of a row's time.
pub(crate) const TIME: &str = "time";

/// A length of time in milliseconds.
pub(crate) const DAY: i64 = 86_400_000;

/// The moments from `since` up to before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) since: Option<Moment>,
    pub(crate) until: Option<Moment>,
}

impl Range {
    /// The moments that are in both.
    pub(crate) fn and(self, other: Self) -> Self {
        let since = [self.since, other.since].into_iter().flatten().max();
        let until = [self.until, other.until].into_iter().flatten().min();
        Self { since, until }
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(self) -> bool {
        matches!((self.since, self.until), (Some(since), Some(until)) if since >= until)
    }

    /// Returns whether it is all of time.
    pub(crate) fn is_all(self) -> bool {
        self == Self::default()
    }
}

/// The names of the columns in an expression.
pub(crate) fn columns_of(expr: &Expr) -> BTreeSet<String> {
    let columns = expr.column_refs().into_iter();
    columns.map(|column: &Column| column.name.clone()).collect()
}

/// Returns whether an expression is about this column only.
pub(crate) fn is_of(expr: &Expr, name: &str) -> bool {
    let columns = columns_of(expr);
    columns.len() == 1 && columns.contains(name) && !expr.is_volatile()
}

/// Returns the parts of a condition that must all hold.
pub(crate) fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    datafusion::logical_expr::utils::split_conjunction(expr)
}

/// Returns whether a type is one of times.
fn is_timestamp(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(..))
}

/// Returns whether an expression is the column of times, perhaps as another type of times.
pub(crate) fn is_time(expr: &Expr) -> bool {
    match expr {
        Expr::Column(column) => column.name == TIME,
        Expr::Alias(alias) => is_time(&alias.expr),
        Expr::Cast(Cast { expr, field, .. }) => is_timestamp(field.data_type()) && is_time(expr),
        _ => false,
    }
}

/// The microseconds since 1970 of a literal time.
pub(crate) fn microseconds(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::TimestampSecond(Some(value), _) => i128::from(*value) * 1_000_000,
        ScalarValue::TimestampMillisecond(Some(value), _) => i128::from(*value) * 1000,
        ScalarValue::TimestampMicrosecond(Some(value), _) => i128::from(*value),
        // A moment is a whole number of milliseconds, so what a division drops matters only for the side of a limit.
        ScalarValue::TimestampNanosecond(Some(value), _) => i128::from(*value).div_euclid(1000),
        _ => return None,
    })
}

/// The first moment that is not before this time.
fn at_or_after(microseconds: i128) -> Option<Moment> {
    let ms = -(-microseconds).div_euclid(1000);
    i64::try_from(ms).ok().map(Moment::from_unix_ms)
}

/// The first moment that is after this time.
fn after(microseconds: i128) -> Option<Moment> {
    let ms = microseconds.div_euclid(1000) + 1;
    i64::try_from(ms).ok().map(Moment::from_unix_ms)
}

/// Returns the range of the rows whose time has this relation to a moment of that many microseconds.
fn compared(op: Operator, value: i128) -> Option<Range> {
    let (since, until) = match op {
        Operator::GtEq => (Some(at_or_after(value)?), None),
        Operator::Gt => (Some(after(value)?), None),
        Operator::Lt => (None, Some(at_or_after(value)?)),
        Operator::LtEq => (None, Some(after(value)?)),
        Operator::Eq => (Some(at_or_after(value)?), Some(after(value)?)),
        _ => return None,
    };
    Some(Range { since, until })
}

/// Returns the range of the rows whose day has this relation to a day.
fn day_compared(op: Operator, day: i32) -> Option<Range> {
    let begins = |day: i64| Some(Moment::from_unix_ms(day.checked_mul(DAY)?));
    let (day, next) = (begins(day.into())?, begins(i64::from(day) + 1)?);
    let (since, until) = match op {
        Operator::GtEq => (Some(day), None),
        Operator::Gt => (Some(next), None),
        Operator::Lt => (None, Some(day)),
        Operator::LtEq => (None, Some(next)),
        Operator::Eq => (Some(day), Some(next)),
        _ => return None,
    };
    Some(Range { since, until })
}

/// Returns the range of times that a condition stands for, if it is one.
pub(crate) fn range(expr: &Expr) -> Option<Range> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => Some(range(left)?.and(range(right)?)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (of, Expr::Literal(value, _)) => limit(of, *op, value),
            (Expr::Literal(value, _), of) => limit(of, op.swap()?, value),
            _ => None,
        },
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => match (&**low, &**high) {
            (Expr::Literal(low, _), Expr::Literal(high, _)) => {
                let low = limit(expr, Operator::GtEq, low)?;
                Some(low.and(limit(expr, Operator::LtEq, high)?))
            }
            _ => None,
        },
        _ => None,
    }
}

fn limit(of: &Expr, op: Operator, value: &ScalarValue) -> Option<Range> {
    if is_time(of) {
        return compared(op, microseconds(value)?);
    }
    match (of, value) {
        (Expr::Cast(Cast { expr, field, .. }), ScalarValue::Date32(Some(day)))
            if *field.data_type() == DataType::Date32 && is_time(expr) =>
        {
            day_compared(op, *day)
        }
        _ => None,
    }
}

/// Returns those of the names that meet all conditions, which are about the device only.
pub(crate) fn devices<'n>(
    names: impl Iterator<Item = &'n Arc<str>>,
    conditions: &[Expr],
) -> Result<Vec<Arc<str>>> {
    let mut names: Vec<Arc<str>> = names.cloned().collect();
    let schema = Arc::new(Schema::new(vec![Field::new(DEVICE, DataType::Utf8, false)]));
    let of_names = DFSchema::try_from(Arc::clone(&schema))?;
    for condition in conditions {
        let condition = unqualified(condition.clone());
        let condition = create_physical_expr(
            &condition,
            &of_names,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )?;
        let column: StringArray = names.iter().map(|name| Some(&**name)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)])?;
        let met = condition.evaluate(&batch)?.into_array(names.len())?;
        let met = met.as_boolean();
        let mut place = 0;
        names.retain(|_| {
            place += 1;
            met.is_valid(place - 1) && met.value(place - 1)
        });
    }
    Ok(names)
}

/// Returns an expression whose columns have no table's name.
pub(crate) fn unqualified(expr: Expr) -> Expr {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let transformed = expr.clone().transform(|part| {
        Ok(match part {
            Expr::Column(column) if column.relation.is_some() => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            part => Transformed::no(part),
        })
    });
    transformed.map_or(expr, |transformed| transformed.data)
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    fn at(ms: i64) -> Expr {
        Expr::Literal(
            ScalarValue::TimestampMicrosecond(Some(ms * 1000), Some("+00:00".into())),
            None,
        )
    }

    fn moments(since: Option<i64>, until: Option<i64>) -> Option<Range> {
        Some(Range {
            since: since.map(Moment::from_unix_ms),
            until: until.map(Moment::from_unix_ms),
        })
    }

    #[test]
    fn comparisons_of_time_are_ranges() {
        let time = || col(TIME);
        assert_eq!(range(&time().gt_eq(at(5))), moments(Some(5), None));
        assert_eq!(range(&time().gt(at(5))), moments(Some(6), None));
        assert_eq!(range(&at(5).gt(time())), moments(None, Some(5)));
        assert_eq!(range(&time().lt_eq(at(5))), moments(None, Some(6)));
        assert_eq!(range(&time().eq(at(5))), moments(Some(5), Some(6)));
        assert_eq!(
            range(&time().between(at(5), at(9))),
            moments(Some(5), Some(10))
        );
        let both = time().gt(at(5)).and(time().lt(at(9)));
        assert_eq!(range(&both), moments(Some(6), Some(9)));
        assert_eq!(range(&time().not_eq(at(5))), None);
        assert_eq!(range(&col(DEVICE).eq(lit("hill"))), None);
        let half = ScalarValue::TimestampMicrosecond(Some(5500), None);
        let half = time().gt_eq(Expr::Literal(half, None));
        assert_eq!(range(&half), moments(Some(6), None));
    }

    #[test]
    fn conditions_on_devices_choose_names() {
        let names: Vec<Arc<str>> = ["hill", "lake-1", "lake-2"].map(Arc::from).into();
        let chosen = |condition: Expr| {
            let chosen = devices(names.iter(), &[condition]).unwrap();
            chosen.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            chosen(col(DEVICE).like(lit("lake-%"))),
            ["lake-1", "lake-2"]
        );
        assert_eq!(chosen(col("readings.device").eq(lit("hill"))), ["hill"]);
        assert!(chosen(col(DEVICE).gt(lit("z"))).is_empty());
    }
}
