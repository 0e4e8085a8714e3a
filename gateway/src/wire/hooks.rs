//! What is decided about a statement before DataFusion plans it.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::{DFSchema, ParamValues};
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{Expr, Set, Statement};
use datafusion_postgres::QueryHook;
use datafusion_postgres::hooks::HookClient;
use datafusion_postgres::pgwire::api::ClientInfo;
use datafusion_postgres::pgwire::api::results::{Response, Tag};
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};

use crate::error::{GatewayError, Outcome, code};
use crate::settings::Settings;

fn refused(error: GatewayError) -> PgWireError {
    PgWireError::ApiError(Box::new(error))
}

/// Refuses statements that change something.
pub(super) struct ReadOnly;

impl ReadOnly {
    fn check(statement: &Statement) -> Outcome<()> {
        let verb = match statement {
            Statement::Explain { statement, .. } => return Self::check(statement),
            Statement::Prepare { statement, .. } => return Self::check(statement),
            Statement::Insert(_)
            | Statement::Update { .. }
            | Statement::Delete(_)
            | Statement::Merge { .. }
            | Statement::Truncate { .. }
            | Statement::Copy { .. }
            | Statement::CreateTable(_)
            | Statement::CreateView { .. }
            | Statement::Drop { .. } => statement.to_string(),
            Statement::Query(query) => match has_into(query) {
                true => "SELECT INTO".to_owned(),
                false => return Ok(()),
            },
            Statement::ExplainTable { .. }
            | Statement::Set(_)
            | Statement::Reset { .. }
            | Statement::Discard { .. }
            | Statement::StartTransaction { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint { .. }
            | Statement::ReleaseSavepoint { .. }
            | Statement::Declare { .. }
            | Statement::Fetch { .. }
            | Statement::Close { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate { .. }
            | Statement::ShowVariable { .. }
            | Statement::ShowVariables { .. }
            | Statement::ShowStatus { .. }
            | Statement::ShowTables { .. }
            | Statement::ShowColumns { .. }
            | Statement::ShowSchemas { .. }
            | Statement::ShowDatabases { .. }
            | Statement::ShowCatalogs { .. } => return Ok(()),
            other => other.to_string(),
        };
        let verb = verb.split_whitespace().next().unwrap_or_default();
        let message = format_args!(
            "cannot execute {} in a read-only transaction",
            verb.to_uppercase()
        );
        Err(GatewayError::new(code::NOT_READ_ONLY, message)
            .advise("the gateway answers questions; boards send readings to the server"))
    }
}

fn has_into(query: &datafusion::sql::sqlparser::ast::Query) -> bool {
    use datafusion::sql::sqlparser::ast::SetExpr;
    match &*query.body {
        SetExpr::Select(select) => select.into.is_some(),
        SetExpr::Query(query) => has_into(query),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => true,
        _ => false,
    }
}

#[async_trait]
impl QueryHook for ReadOnly {
    async fn handle_simple_query(
        &self,
        statement: &Statement,
        _: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        let checked = Self::check(statement);
        checked.err().map(|error| Err(refused(error)))
    }

    async fn handle_extended_parse_query(
        &self,
        statement: &Statement,
        _: &SessionContext,
        _: &(dyn ClientInfo + Send + Sync),
    ) -> Option<PgWireResult<LogicalPlan>> {
        let checked = Self::check(statement);
        checked.err().map(|error| Err(refused(error)))
    }

    async fn handle_extended_query(
        &self,
        statement: &Statement,
        _: &LogicalPlan,
        _: &ParamValues,
        _: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        let checked = Self::check(statement);
        checked.err().map(|error| Err(refused(error)))
    }
}

/// Sets the settings of the gateway. Others are left to the protocol's library, which takes what clients send at their start and says
/// nothing about values that it does not know.
pub(super) struct OwnSettings {
    pub(super) allows_clear_constants: bool,
}

impl OwnSettings {
    /// Returns the answer to a statement about what sessions remember: prepared statements are forgotten with their connection, and there
    /// is nothing to go back to.
    fn forgotten(statement: &Statement) -> Option<Response> {
        let tag = match statement {
            Statement::Deallocate { .. } => "DEALLOCATE",
            Statement::Discard { .. } => "DISCARD",
            Statement::Reset { .. } => "RESET",
            Statement::Savepoint { .. } => "SAVEPOINT",
            Statement::ReleaseSavepoint { .. } => "RELEASE",
            Statement::Rollback {
                savepoint: Some(_), ..
            } => "ROLLBACK",
            _ => return None,
        };
        Some(Response::Execution(Tag::new(tag)))
    }

    /// Returns the name and the value of a setting of the gateway.
    fn assignment(statement: &Statement) -> Option<(String, String)> {
        let Statement::Set(Set::SingleAssignment {
            variable, values, ..
        }) = statement
        else {
            return None;
        };
        let name = variable.to_string().to_lowercase();
        name.strip_prefix("tfhe_sbc.")?;
        let value = match values.first() {
            Some(Expr::Value(value)) => value.clone().into_string(),
            Some(Expr::Identifier(word)) => Some(word.value.clone()),
            other => other.map(ToString::to_string),
        };
        let value = value.or_else(|| values.first().map(ToString::to_string));
        Some((name, value.unwrap_or_default()))
    }

    fn set(&self, context: &SessionContext, name: &str, value: &str) -> Outcome<()> {
        let value = match value.to_lowercase().as_str() {
            "on" | "yes" => "true".to_owned(),
            "off" | "no" => "false".to_owned(),
            _ => value.trim_matches('\'').to_owned(),
        };
        let state = context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        let before = Settings::of(options);
        options.set(name, &value).map_err(|error| {
            GatewayError::new(
                code::INVALID_PARAMETER,
                format_args!("invalid value for parameter \"{name}\": {error}"),
            )
            .advise("there are tfhe_sbc.max_bootstraps, a number, and tfhe_sbc.clear_constants, on or off")
        })?;
        let is_refused = Settings::of(options).clear_constants && !self.allows_clear_constants;
        if is_refused {
            options.extensions.insert(before);
            let message = "the owner has not allowed clear constants";
            return Err(GatewayError::new(code::DENIED, message)
                .advise("start the gateway with --allow-clear-constants"));
        }
        Ok(())
    }

    fn respond(
        &self,
        statement: &Statement,
        context: &SessionContext,
    ) -> Option<PgWireResult<Response>> {
        if let Some(response) = Self::forgotten(statement) {
            return Some(Ok(response));
        }
        let (name, value) = Self::assignment(statement)?;
        let set = self.set(context, &name, &value);
        let response = set.map(|()| Response::Execution(Tag::new("SET")));
        Some(response.map_err(refused))
    }
}

#[async_trait]
impl QueryHook for OwnSettings {
    async fn handle_simple_query(
        &self,
        statement: &Statement,
        context: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        self.respond(statement, context)
    }

    async fn handle_extended_parse_query(
        &self,
        statement: &Statement,
        _: &SessionContext,
        _: &(dyn ClientInfo + Send + Sync),
    ) -> Option<PgWireResult<LogicalPlan>> {
        if Self::forgotten(statement).is_none() {
            Self::assignment(statement)?;
        }
        Some(Ok(LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(DFSchema::empty()),
        })))
    }

    async fn handle_extended_query(
        &self,
        statement: &Statement,
        _: &LogicalPlan,
        _: &ParamValues,
        context: &SessionContext,
        _: &mut dyn HookClient,
    ) -> Option<PgWireResult<Response>> {
        self.respond(statement, context)
    }
}
