//! Refusals about standing queries.

use axum::http::StatusCode;
use tfhe_sbc_transport::standing::{Length, StandingName, TermsError};
use tfhe_sbc_upload::moments::Moment;

use crate::metrics::Rejection;
use crate::server::error::Refusal;

const TERMS: &str =
    "terms are like every=1h, device=hill,lake-*, since=2026-11-23, grace=10m and keep=5y";

fn not_found(message: String, hint: &str) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, Rejection::NotFound, message, hint)
}

fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, Rejection::Invalid, message, hint)
}

impl Refusal {
    pub(super) fn no_standing_here() -> Self {
        not_found(
            "this server takes no standing queries".to_owned(),
            "ask in a query, or start the server without --standing-bytes 0",
        )
    }

    /// Refuses a standing query that is not there, or another owner's: whether it is there is not said.
    pub(super) fn no_such_standing(name: &StandingName) -> Self {
        not_found(
            format!("you have no standing query '{name}'"),
            "GET /v1/standing lists your standing queries",
        )
    }

    pub(super) fn no_result_of_period(name: &StandingName, from: Moment) -> Self {
        not_found(
            format!("'{name}' has no result of a period that begins at {from}"),
            "GET /v1/standing/NAME/periods lists the periods that have results",
        )
    }

    pub(super) fn standing_is_there(name: &StandingName) -> Self {
        invalid(
            format!("you have another standing query '{name}'"),
            "choose another name, or remove that one with its results first",
        )
    }

    pub(super) fn too_many_standing(most: usize) -> Self {
        invalid(
            format!("the server has {most} standing queries, the most that it keeps"),
            "remove one that nobody needs, or ask several questions in one",
        )
    }

    pub(super) fn bad_terms(message: impl ToString) -> Self {
        invalid(message.to_string(), TERMS)
    }

    pub(super) fn bad_period_filter(error: &TermsError) -> Self {
        invalid(
            error.to_string(),
            "filter by since=TIME and until=TIME, and ask for pages of the list with limit=NUMBER and before=TIME",
        )
    }

    pub(super) fn bad_period(every: Length) -> Self {
        invalid(
            format!("there are no periods of {every}"),
            "periods are from 1m to 100 years, like 15m, 1h or 1d",
        )
    }

    pub(super) fn scope_of_its_own() -> Self {
        invalid(
            "a standing query is about all rows of each period, and the request chooses among them",
            "leave the request's own time and newest rows out; since=TIME and until=TIME say which periods there are",
        )
    }

    pub(super) fn groups_beyond_period(every: Length) -> Self {
        invalid(
            format!(
                "the groups of the request are not of {every}, or of parts that make up {every}"
            ),
            format!("seal the request with groups by {every}, or by device,{every}"),
        )
    }

    pub(super) fn kept_too_short(every: Length) -> Self {
        invalid(
            format!("the results of periods of {every} are kept for at least that time"),
            "choose a longer keep=TIME, or leave it out to keep all",
        )
    }

    pub(super) fn standing_is_over(until: Moment) -> Self {
        invalid(
            format!("the last period would end at {until}, before there is any to come"),
            "leave until=TIME out, or ask about the past in a query with --since, --until and --by",
        )
    }

    pub(super) fn too_many_periods(periods: u128, most: usize) -> Self {
        invalid(
            format!("these are {periods} periods, more than the {most} that a standing query has"),
            "choose longer periods, a later since=TIME, or a shorter keep=TIME",
        )
    }
}
