//! The sessions of clients. All share the tables, and each has its own settings.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_postgres::datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_postgres::datafusion_pg_catalog::setup_pg_catalog;

use crate::error::{GatewayError, Outcome};
use crate::functions;
use crate::pushdown::LeaveToServer;
use crate::serve::Gateway;
use crate::settings::Settings;
use crate::tables::Tables;

/// The name of the database.
pub(crate) const DATABASE: &str = "tfhe_sbc";

/// Returns the session that those of clients are copies of.
pub(crate) fn base(gateway: &Arc<Gateway>) -> Outcome<SessionContext> {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(DATABASE, "public")
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false);
    config.options_mut().extensions.insert(Settings::default());
    // Times are UTC.
    config.options_mut().execution.time_zone = Some("+00:00".to_owned());
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_optimizer_rules(rules())
        .build();
    let context = SessionContext::new_with_state(state);
    let catalog = Arc::new(MemoryCatalogProvider::new());
    let tables = Arc::new(Tables::new(Arc::clone(gateway)));
    catalog
        .register_schema("public", tables)
        .map_err(GatewayError::internal)?;
    context.register_catalog(DATABASE, catalog);
    setup_pg_catalog(&context, DATABASE, EmptyContextProvider).map_err(GatewayError::internal)?;
    functions::register(&context);
    Ok(context)
}

/// DataFusion's rules and ours, which needs constants folded and DISTINCT ON as an aggregate, and comes before aggregates are taken
/// apart.
fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let before = rules
        .iter()
        .position(|rule| rule.name() == "replace_distinct_aggregate");
    let place = before.map_or(0, |place| place + 1);
    rules.insert(place, Arc::new(LeaveToServer));
    rules
}

/// Returns the session of a client.
pub(crate) fn of_client(base: &SessionContext) -> SessionContext {
    let state = SessionStateBuilder::new_from_existing(base.state()).build();
    SessionContext::new_with_state(state)
}
