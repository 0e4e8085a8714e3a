//! Aggregates that the server computes.
//!
//! An optimizer rule finds an aggregate of the table of readings, with filters below it, and replaces it by the same aggregate of
//! *partial answers*: a row for each device and period of time, as far as the groups and filters need them apart, with the sums, counts
//! and extremes that the server computed on ciphertexts. [`periods`] says how long periods may be, [`linear`] makes questions of SQL
//! expressions, [`aggregates`] says how a function of all rows follows from partial answers. [`partials`] is the table of these.
//! [`compute`] asks for them, unless they are kept: [`units`] names the groups.

mod aggregates;
mod compute;
mod linear;
mod measures;
mod partials;
mod periods;
mod standing;
mod units;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, TableScan,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use tfhe_sbc_query::scope::{Grouping, Period};
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::predicates::{self, DEVICE, Range, TIME, columns_of};
use crate::settings::Settings;
use crate::tables::Readings;
use aggregates::{Aggregates, Place};
pub(crate) use compute::Cell;
use linear::Columns;
use measures::BUCKET;
use partials::{Partials, Portion};
use periods::{Dependence, dependence, divisor};
pub(crate) use standing::StandingAnswers;

/// The rule.
#[derive(Debug)]
pub(crate) struct LeaveToServer;

/// The reason why an aggregate is not left to the server.
pub(crate) type Reason = String;

/// Readings with the expressions and filters that stand between them and an aggregate.
struct Source {
    table: Arc<dyn TableProvider>,
    /// The expressions that columns of the aggregate's input stand for; none for columns of the table.
    renamed: HashMap<String, Expr>,
    filters: Vec<Expr>,
}

impl Source {
    fn readings(&self) -> Option<&Readings> {
        let table: &dyn std::any::Any = &*self.table;
        table.downcast_ref()
    }

    /// Returns the source of a plan of filters and renamed columns of the table of readings.
    fn of(plan: &LogicalPlan) -> Option<Self> {
        match plan {
            LogicalPlan::Filter(Filter {
                predicate, input, ..
            }) => {
                let mut source = Self::of(input)?;
                let predicate = source.resolved(predicate.clone())?;
                source.filters.push(predicate);
                Some(source)
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => Self::of(input),
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let mut source = Self::of(input)?;
                let mut renamed = HashMap::new();
                for expr in expr {
                    let name = expr.schema_name().to_string();
                    let (name, expr) = match expr {
                        Expr::Column(column) => (column.name.clone(), expr.clone()),
                        Expr::Alias(alias) => (alias.name.clone(), (*alias.expr).clone()),
                        other => (name, other.clone()),
                    };
                    renamed.insert(name, source.resolved(expr)?);
                }
                source.renamed = renamed;
                Some(source)
            }
            LogicalPlan::TableScan(TableScan {
                source,
                filters,
                fetch: None,
                ..
            }) => {
                let table = source_as_provider(source).ok()?;
                let source = Self {
                    table,
                    renamed: HashMap::new(),
                    filters: filters
                        .iter()
                        .cloned()
                        .map(predicates::unqualified)
                        .collect(),
                };
                source.readings()?;
                Some(source)
            }
            _ => None,
        }
    }

    /// Returns an expression of columns of the table; `None` if it has parts that are none.
    fn resolved(&self, expr: Expr) -> Option<Expr> {
        let transformed = expr.transform_up(|part| {
            Ok(match part {
                Expr::Column(column) => Transformed::yes(match self.renamed.get(&column.name) {
                    Some(expr) => expr.clone(),
                    None => Expr::Column(Column::new_unqualified(column.name)),
                }),
                part => Transformed::no(part),
            })
        });
        let expr = transformed.ok()?.data;
        let is_closed = !expr
            .exists(|part| {
                Ok(matches!(
                    part,
                    Expr::ScalarSubquery(_)
                        | Expr::Exists(_)
                        | Expr::InSubquery(_)
                        | Expr::SetComparison(_)
                        | Expr::OuterReferenceColumn(..)
                ))
            })
            .unwrap_or(true);
        (is_closed && !expr.is_volatile()).then_some(expr)
    }
}

impl OptimizerRule for LeaveToServer {
    fn name(&self) -> &'static str {
        "leave_to_server"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let Some(source) = Source::of(&aggregate.input) else {
            return Ok(Transformed::no(plan));
        };
        let Some(readings) = source.readings() else {
            return Ok(Transformed::no(plan));
        };
        let settings = Settings::of(&config.options());
        match replaced(aggregate, &source, readings, &settings)? {
            Ok(plan) => Ok(Transformed::yes(plan)),
            Err(reason) => {
                readings.note(reason);
                Ok(Transformed::no(plan))
            }
        }
    }
}

/// The filters of an aggregate, by what they are about.
#[derive(Default)]
struct Filters {
    /// Conditions on the device alone, which choose devices.
    devices: Vec<Expr>,
    range: Range,
    /// Whether rows whose labels are no times are left out.
    needs_times: bool,
    /// Conditions on device and time that partial answers meet as a whole or not at all.
    rest: Vec<Expr>,
    /// Conditions on readings.
    readings: Vec<Expr>,
}

impl Filters {
    fn of(filters: &[Expr]) -> std::result::Result<Self, Reason> {
        let mut found = Self::default();
        for part in filters.iter().flat_map(predicates::conjuncts) {
            let columns = columns_of(part);
            let is_about = |name: &str| columns.contains(name);
            let of_rows = is_about(DEVICE) || is_about(TIME);
            if let Some(range) = predicates::range(part) {
                found.range = found.range.and(range);
            } else if matches!(part, Expr::IsNotNull(of) if predicates::is_time(of)) {
                found.needs_times = true;
            } else if predicates::is_of(part, DEVICE) {
                found.devices.push(part.clone());
            } else if columns.iter().all(|name| name == DEVICE || name == TIME) {
                found.rest.push(part.clone());
            } else if of_rows {
                return Err(format!(
                    "the condition {part} is about readings together with device or time"
                ));
            } else {
                found.readings.push(part.clone());
            }
        }
        Ok(found)
    }
}

/// Returns the plan that replaces an aggregate, or the reason why none does.
fn replaced(
    aggregate: &Aggregate,
    source: &Source,
    readings: &Readings,
    settings: &Settings,
) -> Result<std::result::Result<LogicalPlan, Reason>> {
    let resolve = |expr: &Expr| {
        source
            .resolved(expr.clone())
            .ok_or_else(|| format!("{expr} has a subquery or is random"))
    };
    let groups = aggregate.group_expr.iter().map(resolve);
    let groups = match groups.collect::<std::result::Result<Vec<Expr>, Reason>>() {
        Ok(groups) => groups,
        Err(reason) => return Ok(Err(reason)),
    };
    let functions = aggregate.aggr_expr.iter().map(resolve);
    let functions = match functions.collect::<std::result::Result<Vec<Expr>, Reason>>() {
        Ok(functions) => functions,
        Err(reason) => return Ok(Err(reason)),
    };
    let filters = match Filters::of(&source.filters) {
        Ok(filters) => filters,
        Err(reason) => return Ok(Err(reason)),
    };
    match Question::of(&groups, &functions, filters, readings, settings)? {
        Ok(question) => question.plan(aggregate).map(Ok),
        Err(reason) => Ok(Err(reason)),
    }
}

/// What is asked of the server in place of an aggregate.
struct Question {
    groups: Vec<Expr>,
    aggregates: Aggregates,
    /// Conditions on partial answers.
    rest: Vec<Expr>,
    table: Arc<Partials>,
}

impl Question {
    fn of(
        groups: &[Expr],
        functions: &[Expr],
        filters: Filters,
        readings: &Readings,
        settings: &Settings,
    ) -> Result<std::result::Result<Self, Reason>> {
        for group in groups {
            if matches!(group, Expr::GroupingSet(_)) {
                return Ok(Err("grouping sets are computed here".to_owned()));
            }
            let others = columns_of(group)
                .into_iter()
                .find(|name| name != DEVICE && name != TIME);
            if let Some(name) = others {
                return Ok(Err(format!(
                    "rows are grouped by {name}, which is encrypted"
                )));
            }
        }
        let portions = match Portion::of(readings, &filters)? {
            Ok(portions) => portions,
            Err(reason) => return Ok(Err(reason)),
        };
        // The definitions by which thresholds are encoded: those of a class, if all have the same.
        let classes: BTreeSet<usize> = portions.iter().map(|portion| portion.class).collect();
        let mut definitions = ReadingsMetadata {
            columns: Vec::new(),
            rows: Vec::new(),
            gaps: Default::default(),
        };
        for class in &classes {
            let columns = readings.snapshot.classes.get(*class);
            for column in columns.into_iter().flat_map(|columns| columns.iter()) {
                match definitions.column(&column.name) {
                    None => definitions.columns.push(column.clone()),
                    Some((_, known)) if known == column => {}
                    Some(_) => {
                        return Ok(Err(format!(
                            "{} has different definitions among these devices: ask about the tables that `devices` names",
                            column.name
                        )));
                    }
                }
            }
        }
        if classes.is_empty() {
            // No rows: the names are those of the table.
            let classes = readings.snapshot.classes.iter();
            let columns = classes.flat_map(|columns| columns.iter());
            for column in columns {
                if definitions.column(&column.name).is_none() {
                    definitions.columns.push(column.clone());
                }
            }
        }
        let columns = Columns {
            names: &readings.columns,
            readings: &definitions,
            clear: settings.clear_constants,
        };
        let conditions = filters.readings.iter().map(|filter| {
            let condition = columns.condition(filter);
            condition.ok_or_else(|| {
                format!("the condition {filter} is not one of linear sums of readings")
            })
        });
        let conditions = match conditions.collect::<std::result::Result<Vec<_>, Reason>>() {
            Ok(conditions) => conditions,
            Err(reason) => return Ok(Err(reason)),
        };
        // The groups in which answers must be apart.
        let mut place = Place::default();
        for expr in groups.iter().chain(&filters.rest) {
            if let Err(reason) = place.add(expr) {
                return Ok(Err(reason));
            }
        }
        let exact = Exactness {
            device: groups.iter().any(is_device),
            period: groups.iter().find_map(|group| match dependence(group) {
                Dependence::Each(ms) => Some(ms),
                _ => None,
            }),
        };
        let first = definitions
            .columns
            .first()
            .map(|column| column.name.clone());
        let aggregates = Aggregates::of(functions, &columns, conditions, first, &mut place);
        let aggregates = match aggregates {
            Ok(aggregates) => aggregates,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(function) = &aggregates.whole {
            let is_whole = (exact.device || (!place.device && portions.len() <= 1))
                && (exact.period == place.period || place.period.is_none());
            if !is_whole {
                return Ok(Err(format!(
                    "{function} of a group does not follow from those of its parts: group by device and by periods as date_trunc makes them"
                )));
            }
        }
        let period = match place.period {
            None => None,
            Some(ms) => {
                let length = u64::try_from(ms).map(std::time::Duration::from_millis);
                match length.ok().and_then(Period::new) {
                    Some(period) => Some(period),
                    None => return Ok(Err("periods are shorter than a second".to_owned())),
                }
            }
        };
        let by = Grouping {
            device: place.device,
            period,
        };
        let needs_times = filters.needs_times || period.is_some() || !filters.range.is_all();
        let table = Partials::new(
            Arc::clone(&readings.gateway),
            Arc::clone(&readings.snapshot),
            portions,
            filters.range,
            by,
            aggregates.measures.clone(),
            settings.max_bootstraps,
        );
        if needs_times && let Some(device) = table.without_times() {
            return Ok(Err(format!(
                "rows of {device} have labels that are no times"
            )));
        }
        if let Some(groups) = table.too_many_groups() {
            return Ok(Err(format!(
                "there would be {groups} groups, more than the server answers at once"
            )));
        }
        Ok(Ok(Self {
            groups: groups.to_vec(),
            aggregates,
            rest: filters.rest,
            table: Arc::new(table),
        }))
    }

    /// Returns the plan: the aggregate of partial answers.
    fn plan(self, aggregate: &Aggregate) -> Result<LogicalPlan> {
        let source = provider_as_source(self.table);
        let mut plan = LogicalPlanBuilder::scan("partial_answers", source, None)?;
        for condition in self
            .rest
            .into_iter()
            .chain(self.aggregates.rows_condition.clone())
        {
            plan = plan.filter(of_partials(condition)?)?;
        }
        let groups = self.groups.into_iter().enumerate().map(|(place, group)| {
            let group = of_partials(group)?;
            Ok(group.alias(format!("group_{place}")))
        });
        let groups = groups.collect::<Result<Vec<Expr>>>()?;
        let names: Vec<String> = (0..groups.len())
            .map(|place| format!("group_{place}"))
            .collect();
        let inner = self.aggregates.inner.into_iter().map(of_partials);
        let inner = inner.collect::<Result<Vec<Expr>>>()?;
        let plan = plan.aggregate(groups, inner)?;
        let outer = names
            .iter()
            .map(|name| Expr::Column(Column::new_unqualified(name)));
        let outer = outer.chain(self.aggregates.outer);
        let schema: &DFSchema = &aggregate.schema;
        let outer = outer.zip(schema.iter()).map(|(expr, (qualifier, field))| {
            let input = plan.schema();
            let expr =
                datafusion::logical_expr::ExprSchemable::cast_to(expr, field.data_type(), input)?;
            Ok(expr.alias_qualified(qualifier.cloned(), field.name()))
        });
        let outer = outer.collect::<Result<Vec<Expr>>>()?;
        plan.project(outer)?.build()
    }
}

/// The groups that partial answers are of, one for one, if they are.
struct Exactness {
    device: bool,
    period: Option<i64>,
}

fn is_device(expr: &Expr) -> bool {
    match expr {
        Expr::Column(column) => column.name == DEVICE,
        Expr::Alias(alias) => is_device(&alias.expr),
        _ => false,
    }
}

/// Returns an expression of device and time as one of the columns of partial answers.
fn of_partials(expr: Expr) -> Result<Expr> {
    let transformed = expr.transform_up(|part| {
        Ok(match part {
            Expr::Column(column) if column.name == TIME => {
                Transformed::yes(Expr::Column(Column::new_unqualified(BUCKET)))
            }
            part => Transformed::no(part),
        })
    });
    Ok(transformed?.data)
}

impl Place {
    /// Has answers apart for all values of an expression of device and time.
    fn add(&mut self, expr: &Expr) -> std::result::Result<(), Reason> {
        self.device |= columns_of(expr).contains(DEVICE);
        match dependence(expr) {
            Dependence::None => Ok(()),
            Dependence::Moment => Err(format!(
                "{expr} differs from row to row: use date_trunc, date_bin or time_bucket"
            )),
            dependence => {
                let period = dependence.period();
                self.period = match (self.period, period) {
                    (Some(a), Some(b)) => Some(divisor(a, b)),
                    (a, b) => a.or(b),
                };
                Ok(())
            }
        }
    }
}
