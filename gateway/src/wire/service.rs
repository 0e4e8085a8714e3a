//! Statements, whose rows can be called off. The protocol's library lets a statement be cancelled while it is planned; this does so while its
//! rows are computed and sent.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion_postgres::pgwire::api::portal::Portal;
use datafusion_postgres::pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use datafusion_postgres::pgwire::api::results::{QueryResponse, Response};
use datafusion_postgres::pgwire::api::store::PortalStore;
use datafusion_postgres::pgwire::api::{ClientInfo, ClientPortalStore, ConnectionHandle};
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};
use datafusion_postgres::pgwire::messages::PgWireBackendMessage;
use datafusion_postgres::{DfSessionService, Parser};
use futures::future::{BoxFuture, Either, select};
use futures::{FutureExt, Sink, StreamExt, stream};

use crate::error::{GatewayError, code};

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

    fn bound(self, response: Response) -> Response {
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
        let mut bound = QueryResponse::new(row_schema, rows);
        bound.set_command_tag(&command_tag);
        Response::Query(bound)
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
            .map(|response| Ends::of(client).bound(response))
            .collect())
    }
}

#[async_trait]
impl ExtendedQueryHandler for Service {
    type Statement = <DfSessionService as ExtendedQueryHandler>::Statement;
    type QueryParser = Parser;

    fn query_parser(&self) -> Arc<Self::QueryParser> {
        self.0.query_parser()
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
        Ok(Ends::of(client).bound(response))
    }
}
