//! Errors as PostgreSQL reports them.

use std::error::Error;

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion_postgres::pgwire::error::{ErrorInfo, PgWireError};
use tfhe_sbc_columns::nearest::nearest;

use crate::error::{GatewayError, code};

/// Returns the error that a client sees.
pub(crate) fn info(error: &(dyn Error + 'static)) -> ErrorInfo {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(ours) = error.downcast_ref::<GatewayError>() {
            let mut info = new(ours.code(), ours.to_string());
            info.hint = ours.hint().map(str::to_owned);
            return info;
        }
        if let Some(error) = error.downcast_ref::<ParserError>() {
            return new("42601", format!("syntax error: {error}"));
        }
        if let Some(error) = error.downcast_ref::<DataFusionError>() {
            return of_datafusion(error);
        }
        at = error.source();
    }
    new(code::INTERNAL, error.to_string())
}

/// Returns an error as one of the gateway's own, for those who are no client of the protocol.
pub(crate) fn plain(error: &(dyn Error + 'static)) -> GatewayError {
    let info = info(error);
    let code = match info.code.as_str() {
        code::CONNECTION => code::CONNECTION,
        code::NOT_CONNECTED => code::NOT_CONNECTED,
        code::INTERNAL => code::INTERNAL,
        _ => code::DATA,
    };
    let plain = GatewayError::new(code, info.message);
    match info.hint {
        Some(hint) => plain.advise(hint),
        None => plain,
    }
}

fn new(code: &str, message: String) -> ErrorInfo {
    ErrorInfo::new("ERROR".to_owned(), code.to_owned(), message)
}

fn of_datafusion(error: &DataFusionError) -> ErrorInfo {
    match error {
        DataFusionError::External(error) => info(error.as_ref()),
        DataFusionError::Shared(error) => of_datafusion(error),
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => {
            of_datafusion(error)
        }
        DataFusionError::ArrowError(error, _) => of_arrow(error),
        DataFusionError::SQL(error, _) => new("42601", format!("syntax error: {error}")),
        DataFusionError::SchemaError(error, _) => match &**error {
            SchemaError::FieldNotFound {
                field,
                valid_fields,
            } => {
                let name = &field.name;
                let mut info = new("42703", format!("column \"{name}\" does not exist"));
                let known = valid_fields.iter().map(|field| field.name.as_str());
                info.hint = nearest(name, known)
                    .map(|near| format!("Perhaps you meant to reference the column \"{near}\"."));
                info
            }
            SchemaError::AmbiguousReference { field } => {
                let name = &field.name;
                new("42702", format!("column reference \"{name}\" is ambiguous"))
            }
            other => new("42000", other.to_string()),
        },
        DataFusionError::Plan(message) => of_plan(message),
        DataFusionError::NotImplemented(message) => new(code::UNSUPPORTED, message.clone()),
        DataFusionError::ResourcesExhausted(message) => new("53200", message.clone()),
        DataFusionError::Execution(message) => of_execution(message),
        other => {
            // Some layers wrap an error of ours as a source.
            let mut at = other.source();
            while let Some(error) = at {
                if error.is::<GatewayError>() {
                    return info(error);
                }
                at = error.source();
            }
            new(code::INTERNAL, other.strip_backtrace())
        }
    }
}

fn of_arrow(error: &ArrowError) -> ErrorInfo {
    match error {
        ArrowError::ExternalError(error) => info(error.as_ref()),
        ArrowError::DivideByZero => new("22012", "division by zero".to_owned()),
        ArrowError::ArithmeticOverflow(message) => new("22003", message.clone()),
        ArrowError::ParseError(message) | ArrowError::CastError(message) => {
            of_text(message, "22P02")
        }
        other => new(code::DATA, other.to_string()),
    }
}

/// DataFusion has one error for all that it cannot plan.
fn of_plan(message: &str) -> ErrorInfo {
    let quoted = || message.split('\'').nth(1).unwrap_or_default();
    if message.contains("table '") && message.contains("not found") {
        let name = quoted().rsplit('.').next().unwrap_or_default();
        return new("42P01", format!("relation \"{name}\" does not exist"));
    }
    if message.contains("Invalid function '") || message.contains("No function matches") {
        let name = quoted();
        let mut info = new("42883", message.to_owned());
        info.hint = crate::functions::instead_of(name).map(str::to_owned);
        return info;
    }
    if message.contains("must be in GROUP BY") || message.contains("must appear in the GROUP BY") {
        return new("42803", message.to_owned());
    }
    new("42000", message.to_owned())
}

fn of_execution(message: &str) -> ErrorInfo {
    of_text(message, code::DATA)
}

/// The error of a text that is no value of its type. Other messages get `code`.
fn of_text(message: &str, code: &str) -> ErrorInfo {
    if !message.contains("Error parsing timestamp") {
        return new(code, message.to_owned());
    }
    let mut info = new("22007", message.to_owned());
    let hint = "Write a date, or a time with its seconds: '2026-11-16' or '2026-11-16T06:30:00Z'.";
    info.hint = Some(hint.to_owned());
    info
}

/// Gives an error of the protocol's library its code.
pub(super) fn explain(error: &mut PgWireError) {
    let explained = match error {
        PgWireError::ApiError(error) => info(error.as_ref()),
        PgWireError::QueryCanceled => new(
            code::CANCELED,
            "canceling statement due to user request".to_owned(),
        ),
        _ => return,
    };
    *error = PgWireError::UserError(Box::new(explained));
}
