//! The periods of time in which expressions of time do not change.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator};

use super::linear::constant;
use crate::predicates::{DAY, TIME, is_time, microseconds};

/// Monday, 5 January 1970, from which the server counts periods, in milliseconds since 1970.
const ANCHOR: i64 = 4 * DAY;

/// The way in which an expression depends on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependence {
    /// It does not.
    None,
    /// It is the same in each of the server's periods of this many milliseconds.
    Period(i64),
    /// Each of the server's periods of this many milliseconds has a value of its own.
    Each(i64),
    /// It may be another one at each moment.
    Moment,
}

impl Dependence {
    /// The dependence of something that depends on both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, other) => other.loose(),
            (other, Self::None) => other.loose(),
            (Self::Moment, _) | (_, Self::Moment) => Self::Moment,
            (Self::Period(a) | Self::Each(a), Self::Period(b) | Self::Each(b)) => {
                Self::Period(divisor(a, b))
            }
        }
    }

    fn loose(self) -> Self {
        match self {
            Self::Each(ms) => Self::Period(ms),
            other => other,
        }
    }

    /// The length of the period, if there is one.
    pub(super) fn period(self) -> Option<i64> {
        match self {
            Self::Period(ms) | Self::Each(ms) => Some(ms),
            Self::None | Self::Moment => None,
        }
    }
}

/// The greatest common divisor.
pub(super) fn divisor(a: i64, b: i64) -> i64 {
    match b {
        0 => a.abs(),
        _ => divisor(b, a % b),
    }
}

/// The periods of a stride that are counted from an origin, as those of the server.
fn stride(ms: i64, origin: i64) -> Dependence {
    let shift = (origin - ANCHOR).rem_euclid(ms);
    match shift {
        0 => Dependence::Each(ms),
        shift => Dependence::Period(divisor(ms, shift)),
    }
}

/// Returns how an expression depends on time.
pub(super) fn dependence(expr: &Expr) -> Dependence {
    if !uses_time(expr) {
        return Dependence::None;
    }
    if let Some(known) = known(expr) {
        return known;
    }
    let children = match expr {
        Expr::Column(_) => return Dependence::Moment,
        expr => {
            let mut children = Dependence::None;
            let walked = expr.apply_children(|child| {
                children = children.and(dependence(child));
                Ok(TreeNodeRecursion::Continue)
            });
            match walked {
                Ok(_) => children,
                Err(_) => Dependence::Moment,
            }
        }
    };
    children.loose()
}

fn uses_time(expr: &Expr) -> bool {
    expr.column_refs().iter().any(|column| column.name == TIME)
}

/// The dependence of functions that are known.
fn known(expr: &Expr) -> Option<Dependence> {
    match expr {
        Expr::Alias(alias) => Some(dependence(&alias.expr)),
        Expr::Cast(Cast { expr, field, .. }) if *field.data_type() == DataType::Date32 => {
            is_time(expr).then_some(Dependence::Each(DAY))
        }
        // A bucket is the same moment in another unit.
        Expr::Cast(Cast { expr, field, .. })
            if matches!(field.data_type(), DataType::Timestamp(..)) && !is_time(expr) =>
        {
            Some(dependence(expr))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => match func.name() {
            "date_trunc" => truncated(args),
            "date_bin" => binned(args),
            "date_part" => part(args),
            "floor" => floored(args),
            _ => None,
        },
        // floor(extract(epoch from time) / n) * n has one value for each floor.
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Multiply,
            right,
        }) => match (constant(left), constant(right)) {
            (None, Some(factor)) if factor != 0.0 => Some(dependence(left)),
            (Some(factor), None) if factor != 0.0 => Some(dependence(right)),
            _ => None,
        },
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_lowercase),
        _ => None,
    }
}

fn truncated(args: &[Expr]) -> Option<Dependence> {
    let [unit, time] = args else { return None };
    if !is_time(time) {
        return None;
    }
    Some(match text(unit)?.as_str() {
        "second" => Dependence::Each(1000),
        "minute" => Dependence::Each(60_000),
        "hour" => Dependence::Each(3_600_000),
        "day" => Dependence::Each(DAY),
        "week" => Dependence::Each(7 * DAY),
        "month" | "quarter" | "year" => Dependence::Period(DAY),
        _ => return None,
    })
}

/// The milliseconds of a width, and whether it is one of months.
fn width(value: &ScalarValue) -> Option<(i64, bool)> {
    let whole = |nanoseconds: i64| match nanoseconds % 1_000_000 {
        0 => Some(nanoseconds / 1_000_000),
        _ => None,
    };
    match value {
        ScalarValue::IntervalMonthDayNano(Some(width)) => {
            let rest = i64::from(width.days).checked_mul(DAY)? + whole(width.nanoseconds)?;
            match (width.months, rest) {
                (0, ms) if ms > 0 => Some((ms, false)),
                (1.., 0) => Some((DAY, true)),
                _ => None,
            }
        }
        ScalarValue::IntervalDayTime(Some(width)) => {
            let ms = i64::from(width.days).checked_mul(DAY)? + i64::from(width.milliseconds);
            (ms > 0).then_some((ms, false))
        }
        ScalarValue::DurationSecond(Some(seconds)) => Some((seconds.checked_mul(1000)?, false)),
        ScalarValue::DurationMillisecond(Some(ms)) => Some((*ms, false)),
        _ => None,
    }
}

fn binned(args: &[Expr]) -> Option<Dependence> {
    let (stride_of, rest) = args.split_first()?;
    let Expr::Literal(value, _) = stride_of else {
        return None;
    };
    let origin = match rest {
        [time] if is_time(time) => 0,
        [time, Expr::Literal(origin, _)] if is_time(time) => {
            let microseconds = microseconds(origin)?;
            match microseconds % 1000 {
                0 => i64::try_from(microseconds / 1000).ok()?,
                _ => return None,
            }
        }
        _ => return None,
    };
    match width(value)? {
        (ms, true) => Some(match origin.rem_euclid(DAY) {
            0 => Dependence::Period(ms),
            _ => return None,
        }),
        (ms, false) => Some(stride(ms, origin)),
    }
}

/// The part of `date_part` that is asked for, of the time of rows.
fn asked_part(args: &[Expr]) -> Option<String> {
    match args {
        [part, time] if is_time(time) => text(part),
        _ => None,
    }
}

fn part(args: &[Expr]) -> Option<Dependence> {
    Some(Dependence::Period(match asked_part(args)?.as_str() {
        "hour" => 3_600_000,
        "minute" => 60_000,
        "day" | "dow" | "isodow" | "doy" | "week" | "month" | "quarter" | "year" | "isoyear" => DAY,
        _ => return None,
    }))
}

/// `floor(extract(epoch from time) / n)`.
fn floored(args: &[Expr]) -> Option<Dependence> {
    let [of] = args else { return None };
    let seconds = |expr: &Expr| {
        let mut expr = expr;
        while let Expr::Cast(Cast { expr: of, .. })
        | Expr::Alias(datafusion::logical_expr::expr::Alias { expr: of, .. }) = expr
        {
            expr = of;
        }
        match expr {
            Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "date_part" => {
                asked_part(args).is_some_and(|part| part == "epoch")
            }
            _ => false,
        }
    };
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Divide,
        right,
    }) = of
    else {
        return None;
    };
    let ms = constant(right)? * 1000.0;
    let is_whole = ms.fract() == 0.0 && (1000.0..1e15).contains(&ms);
    (is_whole && seconds(left)).then(|| stride(ms as i64, 0))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::IntervalMonthDayNano;
    use datafusion::functions::expr_fn::{date_bin, date_part, date_trunc, floor};
    use datafusion::prelude::{cast, col, lit};

    use super::*;

    fn bins(days: i32, seconds: i64, origin: Option<i64>) -> Dependence {
        let width = IntervalMonthDayNano::new(0, days, seconds * 1_000_000_000);
        let width = lit(ScalarValue::IntervalMonthDayNano(Some(width)));
        let origin = lit(ScalarValue::TimestampMillisecond(origin.or(Some(0)), None));
        dependence(&date_bin(width, col(TIME), origin))
    }

    #[test]
    fn buckets_are_periods_of_the_server() {
        let truncated = |unit: &str| dependence(&date_trunc(lit(unit), col(TIME)));
        assert_eq!(truncated("hour"), Dependence::Each(3_600_000));
        assert_eq!(truncated("week"), Dependence::Each(7 * DAY));
        assert_eq!(truncated("month"), Dependence::Period(DAY));
        assert_eq!(bins(0, 900, None), Dependence::Each(900_000));
        // Weeks from Thursday, the first of 1970, consist of days.
        assert_eq!(bins(7, 0, None), Dependence::Period(DAY));
        assert_eq!(bins(7, 0, Some(ANCHOR)), Dependence::Each(7 * DAY));
        assert_eq!(bins(0, 3600, Some(60_000)), Dependence::Period(60_000));
        let epoch = date_part(lit("epoch"), col(TIME));
        let grafana = floor(epoch.clone() / lit(300.0)) * lit(300.0);
        assert_eq!(dependence(&grafana), Dependence::Each(300_000));
        assert_eq!(dependence(&epoch), Dependence::Moment);
        assert_eq!(dependence(&col(TIME)), Dependence::Moment);
        let hour = date_part(lit("hour"), col(TIME)).gt(lit(6));
        assert_eq!(dependence(&hour), Dependence::Period(3_600_000));
        let day = cast(col(TIME), DataType::Date32);
        assert_eq!(dependence(&day), Dependence::Each(DAY));
        assert_eq!(dependence(&col("device")), Dependence::None);
    }
}
