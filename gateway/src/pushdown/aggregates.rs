//! Functions of all rows of a group, as functions of partial answers.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::functions::core::expr_fn::{coalesce, nullif};
use datafusion::functions::math::expr_fn::{power, sqrt};
use datafusion::functions_aggregate::expr_fn::{first_value, last_value, max, min, sum};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, Sort};
use datafusion::logical_expr::{Case, Cast, Expr, ExprFunctionExt, cast, lit, when};
use tfhe_sbc_query::condition::Condition;
use tfhe_sbc_query::expression::Expression;
use tfhe_sbc_query::{Aggregate, Pair};

use super::Reason;
use super::linear::{Columns, constant};
use super::measures::{End, Measure, ROWS};
use crate::functions::NEAREST_RANK;
use crate::predicates::{self, DEVICE, TIME, columns_of, is_time};

/// How far partial answers must be apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) device: bool,
    /// The length of the periods in milliseconds.
    pub(super) period: Option<i64>,
}

/// The functions of an aggregate.
pub(super) struct Aggregates {
    /// What is asked of the server.
    pub(super) measures: Vec<Measure>,
    /// The functions of partial answers, with names of their own.
    pub(super) inner: Vec<Expr>,
    /// The functions of the aggregate, in its order, as expressions of the inner ones.
    pub(super) outer: Vec<Expr>,
    /// The condition that partial answers meet which are about any row.
    pub(super) rows_condition: Option<Expr>,
    /// A function whose value for a group does not follow from those of parts of the group.
    pub(super) whole: Option<String>,
}

type Found<T> = Result<T, Reason>;

/// The maker of [`Aggregates`].
struct Maker<'a> {
    columns: &'a Columns<'a>,
    /// The condition on readings that rows meet.
    condition: Option<Condition>,
    /// The name of some column of the uploads.
    some: Option<String>,
    place: &'a mut Place,
    found: Aggregates,
}

impl Aggregates {
    /// Finds out how the functions follow from partial answers about the rows that meet the conditions. Has these apart in `place` as
    /// the functions need it.
    pub(super) fn of(
        functions: &[Expr],
        columns: &Columns<'_>,
        conditions: Vec<Condition>,
        some: Option<String>,
        place: &mut Place,
    ) -> Found<Self> {
        let mut maker = Maker {
            columns,
            condition: all(conditions),
            some,
            place,
            found: Self {
                measures: Vec::new(),
                inner: Vec::new(),
                outer: Vec::new(),
                rows_condition: None,
                whole: None,
            },
        };
        if let Some(condition) = maker.condition.clone() {
            let met = maker.value(Measure::Count(condition));
            maker.found.rows_condition = Some(met.gt(lit(0_i64)));
        }
        for function in functions {
            let outer = maker.function(function)?;
            maker.found.outer.push(outer);
        }
        Ok(maker.found)
    }
}

/// Returns the condition that all of these are met.
fn all(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Condition::All(conditions)),
    }
}

fn column(name: impl Into<String>) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn float(expr: Expr) -> Expr {
    cast(expr, DataType::Float64)
}

impl Maker<'_> {
    /// Returns the column of a measure of partial answers.
    fn value(&mut self, measure: Measure) -> Expr {
        let place = self.measure(measure);
        column(self.found.measures[place].value(place))
    }

    /// Returns the columns of a measure that has two.
    fn both(&mut self, measure: Measure) -> (Expr, Expr) {
        let place = self.measure(measure);
        let measure = &self.found.measures[place];
        let beside = measure.beside(place).unwrap_or_default();
        (column(measure.value(place)), column(beside))
    }

    fn measure(&mut self, measure: Measure) -> usize {
        let known = self
            .found
            .measures
            .iter()
            .position(|known| *known == measure);
        known.unwrap_or_else(|| {
            self.found.measures.push(measure);
            self.found.measures.len() - 1
        })
    }

    /// Adds a function of partial answers and returns the column of its value.
    fn inner(&mut self, function: Expr, filter: Option<&Expr>) -> Found<Expr> {
        let function = match filter {
            Some(filter) => function
                .filter(filter.clone())
                .build()
                .map_err(|error| error.to_string())?,
            None => function,
        };
        let known = self.found.inner.iter().position(|known| match known {
            Expr::Alias(alias) => *alias.expr == function,
            _ => false,
        });
        let place = known.unwrap_or(self.found.inner.len());
        let name = format!("partial_{place}");
        if known.is_none() {
            self.found.inner.push(function.alias(&name));
        }
        Ok(column(name))
    }

    /// Returns a function of the aggregate as an expression of functions of partial answers.
    fn function(&mut self, function: &Expr) -> Found<Expr> {
        let shown = function.to_string();
        let aggregate = match function {
            Expr::Alias(alias) => return self.function(&alias.expr),
            Expr::AggregateFunction(aggregate) => aggregate,
            other => return Err(format!("{other} is no aggregate")),
        };
        let AggregateFunction { func, params } = aggregate;
        let AggregateFunctionParams {
            args,
            distinct,
            filter,
            order_by,
            ..
        } = params;
        let (of_rows, of_readings) = self.filters(filter.as_deref())?;
        let of_rows = of_rows.as_ref();
        let condition = all(self.condition.iter().chain(&of_readings).cloned().collect());
        let about: std::collections::BTreeSet<String> = args.iter().flat_map(columns_of).collect();
        let name = func.name();
        let is_of_place = !about.is_empty() && about.iter().all(|it| it == DEVICE || it == TIME);
        if is_of_place && of_readings.is_none() && (*distinct || name != "count") {
            return self.of_place(aggregate, of_rows);
        }
        if *distinct {
            return Err(format!("{shown} needs the different values"));
        }
        if name == "count" {
            return self.count(args, condition, of_rows);
        }
        if let [arg] = &args[..]
            && let Some(found) = self.of_case(name, arg, condition.as_ref(), of_rows)?
        {
            return Ok(found);
        }
        if condition.is_some() {
            return Err(format!(
                "{name} is asked of rows that meet a condition on readings, of which the server tells only the number"
            ));
        }
        let expression = |maker: &Self, place: usize| {
            let arg = args
                .get(place)
                .ok_or_else(|| format!("{shown} lacks an argument"))?;
            let found = maker.columns.expression(arg);
            found.ok_or_else(|| format!("{arg} is no linear sum of readings"))
        };
        match name {
            "sum" => {
                let (total, _) = self.both(Measure::Sum(expression(self, 0)?));
                self.inner(sum(total), of_rows)
            }
            "avg" => {
                let (total, present) = self.both(Measure::Sum(expression(self, 0)?));
                let total = self.inner(sum(total), of_rows)?;
                let present = self.inner(sum(present), of_rows)?;
                Ok(total / float(present))
            }
            "min" => {
                let least = self.value(Measure::Of(Aggregate::Min, expression(self, 0)?));
                self.inner(min(least), of_rows)
            }
            "max" => {
                let most = self.value(Measure::Of(Aggregate::Max, expression(self, 0)?));
                self.inner(max(most), of_rows)
            }
            "var" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop" => {
                self.spread(name, expression(self, 0)?, of_rows)
            }
            "approx_median" => {
                let of = expression(self, 0)?;
                self.whole(shown, Measure::Of(Aggregate::Median, of), of_rows)
            }
            "approx_percentile_cont" | NEAREST_RANK => {
                let of = expression(self, 0)?;
                let fraction = args.get(1).and_then(constant);
                let fraction = fraction.ok_or("the fraction of a percentile is a number")?;
                if order_by.iter().any(|sort| !sort.asc) {
                    return Err("the percentile is from the largest value down".to_owned());
                }
                let percent = fraction * 100.0;
                if !(0.0..=100.0).contains(&percent) {
                    return Err("the fraction of a percentile is from 0 to 1".to_owned());
                }
                self.whole(shown, Measure::Percentile(of, percent), of_rows)
            }
            "median" | "percentile_cont" => Err(format!(
                "{name} is between two values, which are not asked for: approx_percentile_cont and percentile_disc are values that there are, and the server computes them"
            )),
            "corr" | "covar_samp" => {
                let function = match name {
                    "corr" => Pair::Corr,
                    _ => Pair::Cov,
                };
                let (a, b) = (expression(self, 0)?, expression(self, 1)?);
                self.whole(shown, Measure::Pair(function, a, b), of_rows)
            }
            "first_value" | "last_value" => {
                let end = end(name == "last_value", order_by)
                    .ok_or_else(|| format!("{shown} is not in the order of time"))?;
                let of = expression(self, 0)?;
                self.end(end, of, of_rows)
            }
            other => Err(format!("the server has no {other}")),
        }
    }

    /// Splits the filter of a function into a condition on device and time and one on readings.
    fn filters(&mut self, filter: Option<&Expr>) -> Found<(Option<Expr>, Option<Condition>)> {
        let (mut of_rows, mut of_readings) = (None, Vec::new());
        for part in filter.into_iter().flat_map(predicates::conjuncts) {
            let columns = columns_of(part);
            if columns.iter().all(|name| name == DEVICE || name == TIME) {
                self.place.add(part)?;
                of_rows = Some(match of_rows {
                    Some(before) => Expr::and(before, part.clone()),
                    None => part.clone(),
                });
            } else {
                let condition = self.columns.condition(part);
                of_readings.push(condition.ok_or_else(|| {
                    format!("the condition {part} is not one of linear sums of readings")
                })?);
            }
        }
        Ok((of_rows, all(of_readings)))
    }

    /// Functions of devices and times.
    fn of_place(&mut self, aggregate: &AggregateFunction, of_rows: Option<&Expr>) -> Found<Expr> {
        let AggregateFunction { func, params } = aggregate;
        let is_end = matches!(func.name(), "min" | "max" | "first_value" | "last_value");
        // The time itself is that of the first or of the last row.
        if let [arg] = &params.args[..]
            && is_time(arg)
            && is_end
        {
            let end = match func.name() {
                "min" => Some(End::First),
                "max" => Some(End::Last),
                name => end(name == "last_value", &params.order_by),
            };
            let end = end.ok_or("rows are not in the order of time")?;
            if self.condition.is_some() {
                return Err("the time of the rows that meet a condition is asked for".to_owned());
            }
            let of = self.some()?;
            let (_, time) = self.both(Measure::End(end, of));
            let function = match end {
                End::First => min(time),
                End::Last => max(time),
            };
            return self.inner(function, of_rows);
        }
        // Functions that do not mind how many rows a partial answer is about.
        let is_same = params.distinct
            || matches!(
                func.name(),
                "min" | "max" | "bool_and" | "bool_or" | "first_value" | "last_value" | "any_value"
            );
        if !is_same {
            return Err(format!("{} of devices or times counts rows", func.name()));
        }
        for arg in &params.args {
            self.place.add(arg)?;
        }
        let mut params = params.clone();
        // All rows of a partial answer are of the same device.
        params
            .order_by
            .retain(|sort| !columns_of(&sort.expr).contains(TIME));
        params.filter = None;
        let function = Expr::AggregateFunction(AggregateFunction {
            func: func.clone(),
            params,
        });
        self.inner(function, of_rows)
    }

    /// Some expression of readings, for questions about rows.
    fn some(&self) -> Found<Expression> {
        let some = self.some.as_deref().map(Expression::from);
        some.ok_or_else(|| "there are no columns".to_owned())
    }

    /// `count(*)`, `count(1)` and `count(reading)`.
    fn count(
        &mut self,
        args: &[Expr],
        condition: Option<Condition>,
        of_rows: Option<&Expr>,
    ) -> Found<Expr> {
        let is_of_rows = |arg: &Expr| match arg {
            Expr::Literal(value, _) => !value.is_null(),
            Expr::Column(column) => column.name == DEVICE,
            _ => false,
        };
        let counted = match (&args, condition) {
            ([arg], None) if is_of_rows(arg) || is_time(arg) => column(ROWS),
            ([arg], Some(condition)) if is_of_rows(arg) => self.value(Measure::Count(condition)),
            ([Expr::Case(case)], condition) => {
                let branch = Branch::of(case, self.columns)?;
                if branch.otherwise.is_some() {
                    return self.count(&[lit(1)], condition, of_rows);
                }
                let both = condition.into_iter().chain([branch.condition]).collect();
                let both = all(both).ok_or("no condition")?;
                self.value(Measure::Count(both))
            }
            ([arg], None) => {
                let of = self.columns.expression(arg);
                let of = of.ok_or_else(|| format!("{arg} is no linear sum of readings"))?;
                self.value(Measure::Present(of))
            }
            ([arg], Some(_)) => {
                return Err(format!(
                    "values of {arg} are counted where a condition is met"
                ));
            }
            _ => return Err("count has one argument".to_owned()),
        };
        let counted = self.inner(sum(counted), of_rows)?;
        Ok(coalesce(vec![counted, lit(0_i64)]))
    }

    /// Sums and means of CASE, whose values are constants.
    fn of_case(
        &mut self,
        name: &str,
        arg: &Expr,
        condition: Option<&Condition>,
        of_rows: Option<&Expr>,
    ) -> Found<Option<Expr>> {
        let mut arg = arg;
        while let Expr::Cast(Cast { expr, .. }) = arg {
            arg = expr;
        }
        let Expr::Case(case) = arg else {
            return Ok(None);
        };
        let branch = Branch::of(case, self.columns)?;
        let both = condition
            .cloned()
            .into_iter()
            .chain([branch.condition.clone()]);
        let both = all(both.collect()).ok_or("no condition")?;
        let met = self.value(Measure::Count(both));
        let met = self.inner(sum(met), of_rows)?;
        let rows = match condition {
            Some(condition) => self.value(Measure::Count(condition.clone())),
            None => column(ROWS),
        };
        let rows = self.inner(sum(rows), of_rows)?;
        let (total, count) = match branch.otherwise {
            None => (
                nullif(float(met.clone()), lit(0.0)) * lit(branch.then),
                nullif(float(met), lit(0.0)),
            ),
            Some(otherwise) => (
                float(met.clone()) * lit(branch.then) + float(rows.clone() - met) * lit(otherwise),
                float(rows),
            ),
        };
        Ok(match name {
            "sum" => Some(total),
            "avg" => Some(total / count),
            _ => None,
        })
    }

    fn whole(&mut self, shown: String, measure: Measure, of_rows: Option<&Expr>) -> Found<Expr> {
        self.found.whole = Some(shown);
        let value = self.value(measure);
        // Of one partial answer, any function that keeps it.
        self.inner(max(value), of_rows)
    }

    /// The variances and deviations of parts make that of all: the squares of the differences to the common mean.
    fn spread(&mut self, name: &str, of: Expression, of_rows: Option<&Expr>) -> Found<Expr> {
        let (total, present) = self.both(Measure::Sum(of.clone()));
        let variance = self.value(Measure::Of(Aggregate::Variance, of));
        let of_part = float(present.clone());
        let squares =
            variance * of_part.clone() + power(total.clone(), lit(2.0)) / nullif(of_part, lit(0.0));
        let squares = self.inner(sum(squares), of_rows)?;
        let total = self.inner(sum(total), of_rows)?;
        let present = self.inner(sum(present), of_rows)?;
        let present = float(present);
        let squares = squares - power(total, lit(2.0)) / nullif(present.clone(), lit(0.0));
        // Rounding does not make them negative.
        let none = lit(0.0);
        let squares = when(squares.clone().lt(none.clone()), none)
            .otherwise(squares)
            .map_err(|error| error.to_string())?;
        let divisor = match name {
            "var_pop" | "stddev_pop" => present,
            _ => present - lit(1.0),
        };
        let null = lit(ScalarValue::Float64(None));
        let variance = when(divisor.clone().gt(lit(0.0)), squares / divisor)
            .otherwise(null)
            .map_err(|error| error.to_string())?;
        Ok(match name.starts_with("stddev") {
            true => sqrt(variance),
            false => variance,
        })
    }

    /// The value of the first row or of the last one of all parts.
    fn end(&mut self, end: End, of: Expression, of_rows: Option<&Expr>) -> Found<Expr> {
        let (value, time) = self.both(Measure::End(end, of));
        let order = vec![Sort::new(time, true, true)];
        let function = match end {
            End::First => first_value(value, order),
            End::Last => last_value(value, order),
        };
        self.inner(function, of_rows)
    }
}

/// Returns the end of the rows that is the first one or, if `is_last`, the last one of such an order.
fn end(is_last: bool, order: &[Sort]) -> Option<End> {
    let mut order = order
        .iter()
        .filter(|sort| !predicates::is_of(&sort.expr, DEVICE));
    let (sort, rest) = (order.next()?, order.next());
    (is_time(&sort.expr) && rest.is_none()).then_some(match sort.asc == is_last {
        true => End::Last,
        false => End::First,
    })
}

/// CASE WHEN condition THEN number [ELSE number] END.
struct Branch {
    condition: Condition,
    then: f64,
    otherwise: Option<f64>,
}

impl Branch {
    fn of(case: &Case, columns: &Columns<'_>) -> Found<Self> {
        let refused = || "CASE has other branches than one condition and two constants".to_owned();
        let ([(when, then)], None) = (&case.when_then_expr[..], &case.expr) else {
            return Err(refused());
        };
        let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
        let otherwise = match case.else_expr.as_deref() {
            Some(expr) if !is_null(expr) => Some(constant(expr).ok_or_else(refused)?),
            _ => None,
        };
        // What is counted need not be a number.
        let then = match &**then {
            Expr::Literal(value, _) if !value.is_null() => constant(then).unwrap_or(1.0),
            then => constant(then).ok_or_else(refused)?,
        };
        Ok(Self {
            condition: columns.condition(when).ok_or_else(|| {
                format!("the condition {when} is not one of linear sums of readings")
            })?,
            then,
            otherwise,
        })
    }
}
