//! Statements, whose rows can be called off, and whose columns have the names that PostgreSQL would give them.
//!
//! The protocol's library lets a statement be cancelled while it is planned; this does so while its rows are computed and sent.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion_postgres::pgwire::api::portal::{Format, Portal};
use datafusion_postgres::pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use datafusion_postgres::pgwire::api::results::{FieldInfo, QueryResponse, Response};
use datafusion_postgres::pgwire::api::stmt::QueryParser;
use datafusion_postgres::pgwire::api::store::PortalStore;
use datafusion_postgres::pgwire::api::{ClientInfo, ClientPortalStore, ConnectionHandle, Type};
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};
use datafusion_postgres::pgwire::messages::PgWireBackendMessage;
use datafusion_postgres::{DfSessionService, Parser};
use futures::future::{BoxFuture, Either, select};
use futures::{FutureExt, Sink, StreamExt, stream};

use crate::error::{GatewayError, code};
use crate::names::postgres_name;

/// The statements of a client.
pub(super) struct Service(pub(super) Arc<DfSessionService>);

/// What ends the rows of a statement.
struct Ends {
    #[allow(
        clippy::redundant_allocation,
        reason = "the protocol's library keeps it so among the extensions of a session"
    )]
    handle: Option<Arc<Arc<ConnectionHandle>>>,
    timeout: Option<Duration>,
}

impl Ends {
    fn of<C: ClientInfo>(client: &C) -> Self {
        let timeout = client.metadata().get("statement_timeout_ms");
        Self {
            handle: client.session_extensions().get(),
            timeout: timeout
                .and_then(|ms| ms.parse().ok())
                .map(Duration::from_millis),
        }
    }

    /// Waits for the end, and says why it is one.
    async fn wait(self) -> PgWireError {
        let cancelled = async {
            if let Some(handle) = self.handle {
                // A sender that is replaced belongs to the next statement.
                if handle.start_query().await.await.is_ok() {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        let too_late = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancelled => PgWireError::QueryCanceled,
            () = too_late => {
                let message = "canceling statement due to statement timeout";
                PgWireError::ApiError(Box::new(GatewayError::new(code::CANCELED, message)))
            }
        }
    }

    /// Returns the rows of the statement `sql` until one of the ends.
    fn bound(self, response: Response, sql: &str) -> Response {
        let Response::Query(response) = response else {
            return response;
        };
        let QueryResponse {
            command_tag,
            row_schema,
            data_rows,
            ..
        } = response;
        let end: BoxFuture<'static, PgWireError> = self.wait().boxed();
        let rows = stream::unfold(Some((data_rows, end)), |state| async {
            let (mut rows, end) = state?;
            match select(rows.next(), end).await {
                Either::Left((row, end)) => Some((row?, Some((rows, end)))),
                Either::Right((error, _)) => Some((Err(error), None)),
            }
        });
        let mut bound = QueryResponse::new(Arc::new(named(&row_schema, sql)), rows);
        bound.set_command_tag(&command_tag);
        Response::Query(bound)
    }
}

/// Returns the columns of the statement `sql` under the names that PostgreSQL would give them.
fn named(columns: &[FieldInfo], sql: &str) -> Vec<FieldInfo> {
    let named = columns.iter().map(|column| {
        FieldInfo::new(
            postgres_name(column.name(), sql, "?column?"),
            column.table_id(),
            column.column_id(),
            column.datatype().clone(),
            column.format(),
        )
        .with_format_options(Arc::clone(column.format_options()))
        .with_type_size(column.type_size())
        .with_type_modifier(column.type_modifier())
    });
    named.collect()
}

/// A parser whose statements have columns with the names that PostgreSQL would give them.
pub(super) struct NamingParser(Arc<Parser>);

#[async_trait]
impl QueryParser for NamingParser {
    type Statement = <Parser as QueryParser>::Statement;

    async fn parse_sql<C>(
        &self,
        client: &C,
        sql: &str,
        types: &[Option<Type>],
    ) -> PgWireResult<Option<Self::Statement>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        self.0.parse_sql(client, sql, types).await
    }

    fn get_parameter_types(&self, statement: &Self::Statement) -> PgWireResult<Vec<Type>> {
        self.0.get_parameter_types(statement)
    }

    fn get_result_schema(
        &self,
        statement: &Self::Statement,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        let columns = self.0.get_result_schema(statement, format)?;
        Ok(named(&columns, &statement.0))
    }
}

#[async_trait]
impl SimpleQueryHandler for Service {
    async fn do_query<C>(&self, client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let responses = SimpleQueryHandler::do_query(&*self.0, client, query).await?;
        let responses = responses.into_iter();
        Ok(responses
            .map(|response| Ends::of(client).bound(response, query))
            .collect())
    }
}

#[async_trait]
impl ExtendedQueryHandler for Service {
    type Statement = <DfSessionService as ExtendedQueryHandler>::Statement;
    type QueryParser = NamingParser;

    fn query_parser(&self) -> Arc<Self::QueryParser> {
        Arc::new(NamingParser(self.0.query_parser()))
    }

    async fn do_query<C>(
        &self,
        client: &mut C,
        portal: &Portal<Self::Statement>,
        max_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Self::Statement>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let response = ExtendedQueryHandler::do_query(&*self.0, client, portal, max_rows).await?;
        Ok(Ends::of(client).bound(response, &portal.statement.statement.0))
    }
}
