//! The gateway's page: tables, statements, charts over time and what questions cost, for a browser on this machine.
//!
//! The page is three files without anything from elsewhere. Its only interface is `POST /api/ask`. Other sites that the browser has open
//! cannot use it: a request has to name this machine as its host (so that no name of another site that leads here is taken), has to be
//! of this page's origin where the browser says one, and has to be JSON, which sites may not send elsewhere unasked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use datafusion::prelude::SessionContext;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use crate::answers::{self, Answer};
use crate::error::{GatewayError, Outcome};
use crate::session;
use crate::settings::Settings;
use crate::wire::errors;

/// The most rows that the page shows.
const MOST_ROWS: usize = 10_000;

/// The content security policy: the page may load its own files only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The page and the listener that it is served by.
pub(crate) struct Page {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    context: SessionContext,
    /// The names that this machine goes by in requests.
    hosts: Vec<String>,
    password: Option<Arc<Zeroizing<String>>>,
}

/// A statement of the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    sql: String,
    /// The most bootstraps; 0 leaves the limit to the server.
    #[serde(default)]
    max_bootstraps: u64,
}

impl Page {
    /// Returns the page about the tables of a session. `address` is the listener's.
    pub(crate) fn new(
        context: SessionContext,
        listener: TcpListener,
        address: SocketAddr,
        password: Option<Arc<Zeroizing<String>>>,
    ) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
        }
        Self {
            listener,
            shared: Arc::new(Shared {
                context,
                hosts,
                password,
            }),
        }
    }

    /// Serves the page until the program ends.
    ///
    /// # Errors
    /// If no connections can be accepted any more.
    pub(crate) async fn serve(self) -> Outcome<()> {
        let served = axum::serve(self.listener, router(&self.shared)).await;
        served.map_err(GatewayError::internal)
    }
}

fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(file("text/html", include_str!("page/page.html"))))
        .route(
            "/page.css",
            get(file("text/css", include_str!("page/page.css"))),
        )
        .route(
            "/page.js",
            get(file("text/javascript", include_str!("page/page.js"))),
        )
        .route(
            "/chart.js",
            get(file("text/javascript", include_str!("page/chart.js"))),
        )
        .route("/api/ask", post(ask))
        .layer(from_fn_with_state(Arc::clone(shared), guard))
        .with_state(Arc::clone(shared))
}

/// Returns a handler that answers with a file of the page.
fn file(
    kind: &'static str,
    text: &'static str,
) -> impl Fn() -> std::future::Ready<([(HeaderName, String); 1], &'static str)> + Clone + Send {
    move || std::future::ready(([(CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text))
}

/// Turns away requests that other sites or other people have made.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let mut response = if !shared.is_own(headers) {
        let words = "this page answers to the name of this machine only: open http://127.0.0.1";
        (StatusCode::FORBIDDEN, words).into_response()
    } else if !shared.is_known(headers) {
        let challenge = [(WWW_AUTHENTICATE, "Basic realm=\"tfhe-sbc gateway\"")];
        let words = "the gateway's password, with any user";
        (StatusCode::UNAUTHORIZED, challenge, words).into_response()
    } else {
        next.run(request).await
    };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        response
            .headers_mut()
            .insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}

impl Shared {
    /// Returns whether the header `Host` names this machine and the header `Origin`, if there is one, this page.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let is_host = |host: &str| self.hosts.iter().any(|own| own == host);
        let is_here = text(HOST).is_some_and(is_host);
        let is_of_page = match headers.contains_key(ORIGIN) {
            true => text(ORIGIN)
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(is_host),
            false => true,
        };
        is_here && is_of_page
    }

    /// Returns whether a request has the gateway's password. Without a password, every request is let in.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let Some(password) = &self.password else {
            return true;
        };
        let given = headers.get(AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
        let given = given.and_then(|text| BASE64_STANDARD.decode(text).ok());
        let given = Zeroizing::new(given.unwrap_or_default());
        let colon = given.iter().position(|byte| *byte == b':');
        let given = colon.and_then(|colon| given.get(colon + 1..));
        given.is_some_and(|given| verify_slices_are_equal(given, password.as_bytes()).is_ok())
    }
}

/// Answers a statement. Its work is called off when the browser goes away.
async fn ask(State(shared): State<Arc<Shared>>, Json(asked): Json<Asked>) -> Response {
    let context = session::of_client(&shared.context);
    set_limit(&context, asked.max_bootstraps);
    let started = Instant::now();
    let answer = answers::ask(&context, &asked.sql).await;
    match answer.and_then(|answer| shown(&answer, started)) {
        Ok(shown) => Json(shown).into_response(),
        Err(error) => {
            let info = errors::info(&error);
            let words = json!({"code": info.code, "message": info.message, "hint": info.hint});
            (StatusCode::UNPROCESSABLE_ENTITY, Json(words)).into_response()
        }
    }
}

/// Limits the bootstraps of a session's statements; 0 leaves the limit to the server.
pub(crate) fn set_limit(context: &SessionContext, max_bootstraps: u64) {
    let state = context.state_ref();
    let mut state = state.write();
    let options = state.config_mut().options_mut();
    let settings = Settings {
        max_bootstraps,
        ..Settings::of(options)
    };
    options.extensions.insert(settings);
}

/// An answer as the page reads it.
fn shown(answer: &Answer, started: Instant) -> datafusion::error::Result<Value> {
    let columns = answer.columns();
    let all = answer.rows.num_rows();
    let first = Answer {
        asked: answer.asked,
        rows: answer.rows.slice(0, all.min(MOST_ROWS)),
    };
    let rows: Vec<Vec<Value>> = first
        .objects()?
        .into_iter()
        .map(|mut row| {
            let cells = columns.iter();
            cells
                .map(|(name, _)| row.remove(name).unwrap_or_default())
                .collect()
        })
        .collect();
    let columns = columns
        .iter()
        .map(|(name, role)| json!({"name": name, "role": role.name(), "unit": answer.unit(name)}));
    Ok(json!({
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows,
        "all_rows": all,
        "seconds": started.elapsed().as_secs_f64(),
    }))
}
