//! What psql asks of the catalogue behind `\d+`, `\dt+` and `\du`, beyond what the protocol's library knows: units of readings as
//! comments of columns, and sizes and roles, of which there are none.

use std::fmt::Write;
use std::ops::ControlFlow;

use async_trait::async_trait;
use datafusion::common::ParamValues;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement,
    visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion_postgres::QueryHook;
use datafusion_postgres::arrow_pg::datatypes::df::encode_dataframe;
use datafusion_postgres::hooks::HookClient;
use datafusion_postgres::pgwire::api::ClientInfo;
use datafusion_postgres::pgwire::api::portal::Format;
use datafusion_postgres::pgwire::api::results::Response;
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};

/// Answers statements about the catalogue that need more than the protocol's library has.
pub(super) struct Descriptions;

impl Descriptions {
    /// Rewrites a statement; `false` if it needs nothing. `units` are the names and units of readings.
    fn rewrite(statement: &mut Statement, units: &[(String, String)]) -> bool {
        let mut is_other = false;
        let _ = visit_expressions_mut(statement, |expression| {
            if let Expr::Function(function) = expression
                && let Some(text) = Self::instead(function, units)
                && let Some(other) = parsed(&text)
            {
                *expression = other;
                is_other = true;
            }
            ControlFlow::<()>::Continue(())
        });
        is_other
    }

    /// Returns what takes the place of a function, if it is one that there is not.
    fn instead(function: &Function, units: &[(String, String)]) -> Option<String> {
        const NOTHING: &str = "CAST(NULL AS TEXT)";
        let name = function.name.to_string().to_lowercase();
        let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
        let is_nothing = match name {
            "array" => matches!(function.args, FunctionArguments::Subquery(_)),
            // Its array has become nothing already.
            "array_to_string" => function.args.to_string().contains(NOTHING),
            "pg_size_pretty" | "obj_description" | "shobj_description" => true,
            "col_description" => return comment(function, units),
            _ => false,
        };
        is_nothing.then(|| NOTHING.to_owned())
    }
}

/// Returns the comment of the column that the arguments name: its unit.
fn comment(function: &Function, units: &[(String, String)]) -> Option<String> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(path))) =
        list.args.first()?
    else {
        return None;
    };
    let quoted = |text: &str| text.replace('\'', "''");
    let table = path.first()?;
    let mut case = format!("CASE CAST({table}.attname AS TEXT)");
    for (name, unit) in units {
        // Writing to a String cannot fail.
        let _ = write!(case, " WHEN '{}' THEN '{}'", quoted(name), quoted(unit));
    }
    case.push_str(" WHEN '' THEN '' END");
    Some(case)
}

fn parsed(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?;
    parser.parse_expr().ok()
}

/// The names and units of the readings that have units.
async fn units(context: &SessionContext) -> Vec<(String, String)> {
    let Ok(readings) = context.table_provider("readings").await else {
        return Vec::new();
    };
    let schema = readings.schema();
    let fields = schema.fields().iter();
    let units = fields.filter_map(|field| {
        let unit = field
            .metadata()
            .get("unit")
            .filter(|unit| !unit.is_empty())?;
        Some((field.name().clone(), unit.clone()))
    });
    units.collect()
}

#[async_trait]
impl QueryHook for Descriptions {
    async fn handle_simple_query(
        &self,
        statement: &Statement,
        context: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        // Statements about readings are left as they are.
        if !statement.to_string().contains("pg_catalog.") {
            return None;
        }
        let mut statement = statement.clone();
        if !Self::rewrite(&mut statement, &units(context).await) {
            return None;
        }
        let frame = match context.sql(&statement.to_string()).await {
            Ok(frame) => frame,
            Err(error) => return Some(Err(PgWireError::ApiError(Box::new(error)))),
        };
        let rows = encode_dataframe(frame, &Format::UnifiedText, None).await;
        Some(rows.map(Response::Query))
    }

    async fn handle_extended_parse_query(
        &self,
        _: &Statement,
        _: &SessionContext,
        _: &(dyn ClientInfo + Send + Sync),
    ) -> Option<PgWireResult<LogicalPlan>> {
        None
    }

    async fn handle_extended_query(
        &self,
        _: &Statement,
        _: &LogicalPlan,
        _: &ParamValues,
        _: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        None
    }
}
