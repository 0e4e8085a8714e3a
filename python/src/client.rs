//! Bindings of the client of a server that runs elsewhere.

use std::path::PathBuf;

use pyo3::exceptions::{PyConnectionError, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_python_shared::errors::{TfheSbcError, refused};
use tfhe_sbc_query::scope::{NoPart, Period, Scope};
use tfhe_sbc_transport::catalogue::{FilterError, Names};
use tfhe_sbc_transport::client::{self, ClientError};
use tfhe_sbc_transport::human::before_now;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::standing::{
    self, GRACE, LARGEST_RESULT, Length, NoStandingName, PeriodFilter, StandingName, Terms,
    TermsError,
};
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::sealing::{self, KeysTuple};
use crate::watch::watched;

/// The terms of a standing query as Python gives them: the period, the devices, the beginning and the end in milliseconds since 1970,
/// the grace, and the time for which results are kept.
type TermsTuple = (
    String,
    Option<String>,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<String>,
);

/// The client of one server.
#[pyclass(frozen)]
pub(crate) struct Client(client::Client);

/// A standing query, as the server told it.
#[pyclass(frozen)]
pub(crate) struct Standing(standing::Standing);

fn client_error(error: ClientError) -> PyErr {
    let text = error.to_string();
    match error {
        ClientError::Unreachable { .. } | ClientError::BrokenOff { .. } => {
            PyConnectionError::new_err(text)
        }
        ClientError::Timeout { .. } => PyTimeoutError::new_err(text),
        _ => TfheSbcError::new_err(text),
    }
}

fn name(text: &str) -> PyResult<StandingName> {
    text.parse()
        .map_err(|error: NoStandingName| TfheSbcError::new_err(format!("'{text}': {error}")))
}

fn length(what: &str, text: &str) -> PyResult<Length> {
    text.parse()
        .map_err(|error: TermsError| TfheSbcError::new_err(format!("{what}='{text}': {error}")))
}

fn terms((every, names, since, until, grace, keep): TermsTuple) -> PyResult<(Terms, Period)> {
    let period: Option<Period> = every.parse().ok();
    let period = period.ok_or_else(|| {
        refused(
            format_args!("every='{every}' is no length of a period"),
            "give a number and a unit, like \"15m\", \"1h\" or \"1d\"",
        )
    })?;
    let names = names.as_deref().map(str::parse::<Names>).transpose();
    let names = names.map_err(|error: FilterError| TfheSbcError::new_err(error.to_string()))?;
    let length_of = |what, text: Option<String>| text.map(|text| length(what, &text)).transpose();
    let terms = Terms {
        names: names.unwrap_or_default(),
        every: Length(period.length()),
        grace: length_of("grace", grace)?.unwrap_or(Length(GRACE)),
        since: since.map(Moment::from_unix_ms),
        until: until.map(Moment::from_unix_ms),
        keep: length_of("keep", keep)?,
    };
    Ok((terms, period))
}

impl Client {
    /// Does something with the server while other threads of Python run.
    fn ask<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&client::Client) -> Result<R, ClientError> + Send,
    ) -> PyResult<R> {
        py.detach(|| work(&self.0)).map_err(client_error)
    }
}

#[pymethods]
impl Client {
    /// Connects with the certificate `identity` of the directory `tls`.
    #[new]
    fn new(py: Python<'_>, url: &str, tls: PathBuf, identity: &str) -> PyResult<Self> {
        let identity = Identity::in_directory(&tls, identity).map_err(|error| {
            refused(
                error,
                "make certificates with `tfhe-sbc certs`, and give their directory as tls",
            )
        })?;
        let client = py.detach(|| client::Client::connect(url, &identity));
        Ok(Self(client.map_err(client_error)?))
    }

    /// Leaves questions with the server. Returns the standing query, and those of the devices that nothing is stored of yet.
    fn leave(
        &self,
        py: Python<'_>,
        called: Option<&str>,
        asked: (Vec<String>, TermsTuple, Option<String>),
        keys: KeysTuple,
    ) -> PyResult<(Standing, Vec<String>)> {
        let (questions, terms, by) = asked;
        let questions = sealing::questions(&questions)?;
        let (terms, period) = self::terms(terms)?;
        let by = sealing::groups(by.as_deref())?.in_each(period);
        let by = by.map_err(|error: NoPart| {
            refused(
                error,
                "leave the time out of by for one answer a period, or take a part of the period, like every=\"1d\" and by=\"hour\"",
            )
        })?;
        let called = match called {
            Some(called) => name(called)?,
            None => StandingName::usual(terms.every),
        };
        let (Some(session), ..) = &keys else {
            return Err(refused(
                "there is no key",
                "seal the questions with a device key",
            ));
        };
        let (parameters, key_set) = (session.get().parameters(), session.get().key());
        let columns = self.ask(py, |client| client.columns_of(&terms.names))?;
        let columns = columns.ok_or_else(|| {
            refused(
                "nothing of these devices is stored yet, so that their columns are not known",
                "leave the standing query once there are readings",
            )
        })?;
        let readings = ReadingsMetadata {
            columns,
            rows: Vec::new(),
            gaps: Default::default(),
        };
        let scope = Scope {
            by,
            ..Scope::default()
        };
        let under = (&parameters, key_set);
        let request = sealing::seal(&questions, &readings, scope, under, &keys)?;
        self.ask(py, |client| {
            let standing = client.leave(&called, &terms, &request)?;
            let unknown = client.unknown(&terms.names)?;
            let unknown = unknown.into_iter().map(str::to_owned);
            Ok((Standing(standing), unknown.collect()))
        })
    }

    /// The standing queries of the certificate.
    fn standing_queries(&self, py: Python<'_>) -> PyResult<Vec<Standing>> {
        let all = self.ask(py, client::Client::standing_queries)?;
        Ok(all.into_iter().map(Standing).collect())
    }

    fn standing(&self, py: Python<'_>, called: &str) -> PyResult<Standing> {
        let called = name(called)?;
        self.ask(py, |client| client.standing(&called))
            .map(Standing)
    }

    fn pause_standing(&self, py: Python<'_>, called: &str) -> PyResult<Standing> {
        let called = name(called)?;
        self.ask(py, |client| client.pause_standing(&called))
            .map(Standing)
    }

    fn resume_standing(&self, py: Python<'_>, called: &str) -> PyResult<Standing> {
        let called = name(called)?;
        self.ask(py, |client| client.resume_standing(&called))
            .map(Standing)
    }

    fn remove_standing(&self, py: Python<'_>, called: &str) -> PyResult<Standing> {
        let called = name(called)?;
        self.ask(py, |client| client.remove_standing(&called))
            .map(Standing)
    }

    /// The bytes of the results of the periods of a time, the earliest first: between two moments in milliseconds since 1970, or of
    /// this time up to now.
    fn standing_results<'py>(
        &self,
        py: Python<'py>,
        called: &str,
        times: (Option<i64>, Option<i64>, Option<String>),
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let called = name(called)?;
        let (since, until, last) = times;
        let last = last.map(|last| length("last", &last)).transpose()?;
        let last = last.map(|Length(last)| last);
        let filter = PeriodFilter {
            since: last.map(before_now).or(since.map(Moment::from_unix_ms)),
            until: until.map(Moment::from_unix_ms),
            ..PeriodFilter::default()
        };
        let mut periods = self.ask(py, |client| client.all_periods(&called, filter))?;
        periods.retain(|period| period.result.is_some());
        if periods.is_empty() {
            let standing = self.ask(py, |client| client.standing(&called))?;
            return Err(refused(
                format_args!("'{called}' has no results of that time"),
                format_args!(
                    "it is about periods from {} on and computed until {}, and its state is: {}",
                    standing.since,
                    standing.computed_until,
                    standing.state()
                ),
            ));
        }
        let fetched = watched(py, progress, |progress| {
            progress.expect_bootstraps(periods.len() as u64);
            let mut results = Vec::new();
            // The server lists the latest first.
            for period in periods.iter().rev() {
                if progress.is_cancelled() {
                    break;
                }
                let reply = self.0.period_result(&called, period.from, LARGEST_RESULT)?;
                results.extend(reply.result);
                progress.add_bootstraps(1);
            }
            Ok(results)
        })?;
        Ok(PyBytes::new(py, &fetched.map_err(client_error)?))
    }
}

#[pymethods]
impl Standing {
    #[getter]
    fn name(&self) -> String {
        self.0.name.to_string()
    }

    #[getter]
    fn questions(&self) -> Vec<String> {
        self.0.questions.clone()
    }

    #[getter]
    fn every(&self) -> String {
        self.0.every.to_string()
    }

    #[getter]
    fn by(&self) -> &str {
        &self.0.by
    }

    #[getter]
    fn devices(&self) -> &str {
        &self.0.devices
    }

    /// The beginning of the first period, in milliseconds since 1970.
    #[getter]
    fn since(&self) -> i64 {
        self.0.since.unix_ms()
    }

    #[getter]
    fn until(&self) -> Option<i64> {
        self.0.until.map(Moment::unix_ms)
    }

    #[getter]
    fn grace(&self) -> String {
        self.0.grace.to_string()
    }

    #[getter]
    fn keep(&self) -> Option<String> {
        self.0.keep.map(|keep| keep.to_string())
    }

    #[getter]
    fn state(&self) -> String {
        self.0.state()
    }

    #[getter]
    fn paused(&self) -> bool {
        self.0.paused
    }

    #[getter]
    fn computed_until(&self) -> i64 {
        self.0.computed_until.unix_ms()
    }

    #[getter]
    fn waiting(&self) -> u64 {
        self.0.waiting
    }

    #[getter]
    fn failed(&self) -> u64 {
        self.0.failed
    }

    /// The reason why nothing is computed at the moment, or why the last period failed.
    #[getter]
    fn problem(&self) -> Option<String> {
        let own = self.0.problem.as_ref();
        let own = own.map(|body| format!("{}. {}", body.error, body.hint));
        let of_period = || {
            let failure = self.0.last_failure.as_ref()?;
            let (from, reason) = (failure.from, &failure.reason);
            Some(format!("{from}: {}. {}", reason.error, reason.hint))
        };
        own.or_else(of_period)
    }

    #[getter]
    fn results(&self) -> u64 {
        self.0.results
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn late(&self) -> u64 {
        self.0.late
    }
}
