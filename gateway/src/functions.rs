//! Functions of PostgreSQL and TimescaleDB that DataFusion has under other names.

mod buckets;
mod places;
mod server;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

pub(crate) use places::NEAREST_RANK;

/// Adds the functions to a session.
pub(crate) fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::from(buckets::TimeBucket::new()));
    context.register_udf(server::version());
    context.register_udf(server::current_setting());
    context.register_udf(server::to_regtype());
    context.register_udaf(AggregateUDF::from(places::OfTime::first()));
    context.register_udaf(AggregateUDF::from(places::OfTime::last()));
    context.register_udaf(AggregateUDF::from(places::NearestRank::new()));
}

/// Says what to use in place of a function that there is not.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "time_bucket_gapfill" | "locf" | "interpolate" => {
            "there is no filling of gaps: use time_bucket, and have the client fill them"
        }
        "approx_percentile" | "percentile_agg" | "tdigest" | "uddsketch" => {
            "use approx_percentile_cont(column, 0.9), which the server computes"
        }
        "mode" => "use histogram conditions: count(*) FILTER (WHERE column BETWEEN 0 AND 10)",
        "counter_agg" | "rate" | "delta" => {
            "use last(column, time) - first(column, time), which the server computes"
        }
        "time_weight" | "average" => "use avg(column) by time_bucket",
        "first_row" | "last_row" => "use first(column, time) and last(column, time)",
        _ => return None,
    })
}
