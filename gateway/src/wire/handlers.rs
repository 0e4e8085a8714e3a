//! The handlers of one connection.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::prelude::SessionContext;
use datafusion_postgres::DfSessionService;
use datafusion_postgres::hooks::cursor::CursorStatementHook;
use datafusion_postgres::hooks::set_show::SetShowHook;
use datafusion_postgres::hooks::transactions::TransactionStatementHook;
use datafusion_postgres::pgwire::api::auth::noop::NoopStartupHandler;
use datafusion_postgres::pgwire::api::auth::sasl::SASLAuthStartupHandler;
use datafusion_postgres::pgwire::api::auth::sasl::scram::{ScramAuth, gen_salted_password};
use datafusion_postgres::pgwire::api::auth::{
    AuthSource, DefaultServerParameterProvider, LoginInfo, Password, StartupHandler,
};
use datafusion_postgres::pgwire::api::cancel::{CancelHandler, DefaultCancelHandler};
use datafusion_postgres::pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use datafusion_postgres::pgwire::api::{
    ClientInfo, ConnectionManager, ErrorHandler, PgWireServerHandlers,
};
use datafusion_postgres::pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use datafusion_postgres::pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use futures::Sink;
use tfhe_sbc_transport::role::{Action, Subject};
use zeroize::Zeroizing;

use super::descriptions::Descriptions;
use super::service::Service;
use super::{errors, hooks};
use crate::error::{GatewayError, Outcome};

/// The iterations of SCRAM-SHA-256, as PostgreSQL has them.
const ITERATIONS: usize = 4096;

/// The handlers of one connection.
pub(super) struct Handlers {
    service: Arc<Service>,
    startup: Arc<Startup>,
    cancel: Arc<DefaultCancelHandler>,
}

impl Handlers {
    pub(super) fn new(
        context: SessionContext,
        manager: Arc<ConnectionManager>,
        password: Option<Arc<Zeroizing<String>>>,
        certificate: Option<&[u8]>,
        guard: Guard,
        allows_clear_constants: bool,
    ) -> Outcome<Self> {
        let hooks: Vec<Arc<dyn datafusion_postgres::QueryHook>> = vec![
            Arc::new(hooks::ReadOnly),
            Arc::new(hooks::OwnSettings {
                allows_clear_constants,
            }),
            Arc::new(Descriptions),
            Arc::new(CursorStatementHook),
            Arc::new(SetShowHook),
            Arc::new(TransactionStatementHook),
        ];
        let service = DfSessionService::new_with_hooks(Arc::new(context), hooks);
        let way = match password {
            None => Way::Open(Open(Arc::clone(&manager))),
            Some(password) => {
                let mut scram = ScramAuth::new(Arc::new(OnePassword(password)));
                scram.set_iterations(ITERATIONS);
                if let Some(certificate) = certificate {
                    scram
                        .configure_certificate(certificate)
                        .map_err(GatewayError::internal)?;
                }
                let parameters = Arc::new(DefaultServerParameterProvider::default());
                let handler = SASLAuthStartupHandler::new(parameters)
                    .with_scram(scram)
                    .with_connection_manager(Arc::clone(&manager));
                Way::Password(Box::new(handler))
            }
        };
        Ok(Self {
            service: Arc::new(Service(Arc::new(service))),
            startup: Arc::new(Startup { guard, way }),
            cancel: Arc::new(DefaultCancelHandler::new(manager)),
        })
    }
}

impl PgWireServerHandlers for Handlers {
    fn simple_query_handler(&self) -> Arc<impl SimpleQueryHandler> {
        Arc::clone(&self.service)
    }

    fn extended_query_handler(&self) -> Arc<impl ExtendedQueryHandler> {
        Arc::clone(&self.service)
    }

    fn startup_handler(&self) -> Arc<impl StartupHandler> {
        Arc::clone(&self.startup)
    }

    fn error_handler(&self) -> Arc<impl ErrorHandler> {
        Arc::new(Explaining)
    }

    fn cancel_handler(&self) -> Arc<impl CancelHandler> {
        Arc::clone(&self.cancel)
    }
}

/// Gives errors the codes of PostgreSQL.
struct Explaining;

impl ErrorHandler for Explaining {
    fn on_error<C: ClientInfo>(&self, _: &C, error: &mut PgWireError) {
        errors::explain(error);
    }
}

/// What a connection must have before it begins.
#[derive(Clone, Copy)]
pub(super) struct Guard {
    /// TLS.
    pub(super) tls: bool,
    /// The certificate of an owner, which TLS has verified.
    pub(super) certificate: bool,
}

impl Guard {
    /// Returns the reason why a client is not let in.
    fn refusal<C: ClientInfo>(self, client: &C) -> Option<&'static str> {
        if self.tls && !client.is_secure() {
            return Some(
                "this gateway answers over TLS only: connect with sslmode=require or verify-full",
            );
        }
        let shown = client.client_certificates().and_then(<[_]>::first);
        let subject = shown.and_then(|shown| Subject::from_certificate(shown));
        let is_owner = subject.is_some_and(|subject| subject.may(Action::Query));
        (self.certificate && !is_owner)
            .then_some("the certificate is not that of an owner: make one with `tfhe-sbc certs --add NAME --role owner`")
    }
}

/// The beginning of a connection.
struct Startup {
    guard: Guard,
    way: Way,
}

/// How a client proves who it is.
enum Way {
    /// Whoever can connect may ask.
    Open(Open),
    /// A client proves that it knows the password.
    Password(Box<SASLAuthStartupHandler<DefaultServerParameterProvider>>),
}

#[async_trait]
impl StartupHandler for Startup {
    async fn on_startup<C>(
        &self,
        client: &mut C,
        message: PgWireFrontendMessage,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if let Some(refusal) = self.guard.refusal(client) {
            let refusal =
                ErrorInfo::new("FATAL".to_owned(), "28000".to_owned(), refusal.to_owned());
            return Err(PgWireError::UserError(Box::new(refusal)));
        }
        match &self.way {
            Way::Open(handler) => handler.on_startup(client, message).await,
            Way::Password(handler) => handler.on_startup(client, message).await,
        }
    }
}

struct Open(Arc<ConnectionManager>);

impl NoopStartupHandler for Open {
    fn connection_manager(&self) -> Option<Arc<ConnectionManager>> {
        Some(Arc::clone(&self.0))
    }
}

/// The password of all users.
struct OnePassword(Arc<Zeroizing<String>>);

impl fmt::Debug for OnePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnePassword")
    }
}

#[async_trait]
impl AuthSource for OnePassword {
    async fn get_password(&self, _: &LoginInfo) -> PgWireResult<Password> {
        let mut salt = vec![0; 16];
        getrandom::fill(&mut salt).map_err(|error| PgWireError::ApiError(Box::new(error)))?;
        let salted = gen_salted_password(&self.0, &salt, ITERATIONS);
        Ok(Password::new(Some(salt), salted))
    }
}
