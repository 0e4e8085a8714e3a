//! `time_bucket`, TimescaleDB's `date_bin`.

use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions::datetime::date_bin;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Monday, 3 January 2000, from which TimescaleDB counts, in microseconds since 1970.
const MONDAY: i64 = 946_857_600_000_000;
/// 1 January 2000, from which it counts months.
const FIRST_OF_MONTH: i64 = 946_684_800_000_000;

/// `time_bucket(width, time [, origin])`: the beginning of the period that a time is in.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeBucket {
    signature: Signature,
}

impl TimeBucket {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

fn timestamp(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Timestamp(_, zone) => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
        }
        DataType::Date32 | DataType::Date64 | DataType::Utf8 | DataType::Utf8View => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, None))
        }
        _ => None,
    }
}

/// `date_bin` counts from nanoseconds, in the zone of what is counted.
fn origin_type(time: &DataType) -> DataType {
    match time {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        other => other.clone(),
    }
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &'static str {
        "time_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let refused = || {
            DataFusionError::Plan(
                "No function matches 'time_bucket' with these arguments: write time_bucket('5 minutes', time)".to_owned(),
            )
        };
        let (width, rest) = types.split_first().ok_or_else(refused)?;
        let width = match width {
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Interval(_) => {
                DataType::Interval(IntervalUnit::MonthDayNano)
            }
            _ => return Err(refused()),
        };
        let time = match rest {
            [time] | [time, _] => timestamp(time).ok_or_else(refused)?,
            _ => return Err(refused()),
        };
        let mut types = vec![width, time.clone()];
        if rest.len() == 2 {
            types.push(origin_type(&time));
        }
        Ok(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types
            .get(1)
            .cloned()
            .ok_or_else(|| DataFusionError::Plan("time_bucket takes a width and a time".to_owned()))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Plan(
            "the width of time_bucket is a constant, like '5 minutes'".to_owned(),
        ))
    }

    /// It is `date_bin` with another origin.
    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_constant = matches!(args.first(), Some(Expr::Literal(..)));
        if !is_constant {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let mut args = args;
        if args.len() == 2 {
            let months = match args.first() {
                Some(Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(width)), _)) => {
                    width.months
                }
                _ => 0,
            };
            let origin = match months {
                0 => MONDAY,
                _ => FIRST_OF_MONTH,
            };
            let zone = match args.get(1).map(|time| context.get_data_type(time)) {
                Some(Ok(DataType::Timestamp(_, zone))) => zone,
                _ => None,
            };
            let origin = ScalarValue::TimestampNanosecond(Some(origin * 1000), zone);
            args.push(Expr::Literal(origin, None));
        }
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(
            ScalarFunction::new_udf(date_bin(), args),
        )))
    }
}
