//! A page of metrics that Prometheus reads: the last answer, a gauge for each column of numbers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tfhe_sbc_transport::exposition::{self, Exposition, Kind};

use super::Delivery;
use crate::answers::Row;
use crate::error::{GatewayError, Outcome};
use crate::options::{self, Watch};
use crate::serve::listen;

/// A page of metrics.
pub(super) struct Prometheus {
    name: String,
    text: Arc<Mutex<String>>,
}

impl Prometheus {
    /// Listens on an address of this machine, and serves the page until the program ends. Says on the standard error where it is.
    ///
    /// # Errors
    /// If other machines can reach the address, or it is taken.
    pub(super) async fn open(address: SocketAddr, arguments: &Watch) -> Outcome<Self> {
        options::local(address, "the page of metrics")?;
        let (listener, address) = listen(address, "--to prometheus://…").await?;
        let text = Arc::new(Mutex::new(String::new()));
        let served = Arc::clone(&text);
        let page = move || {
            let text = served.lock().unwrap_or_else(PoisonError::into_inner);
            std::future::ready(([(CONTENT_TYPE, exposition::CONTENT_TYPE)], text.clone()))
        };
        let router = Router::new().route("/metrics", get(page));
        tokio::spawn(async move { axum::serve(listener, router).await });
        eprintln!("metrics at http://{address}/metrics");
        Ok(Self {
            name: arguments.name.clone(),
            text,
        })
    }

    /// Shows an answer in place of the last one.
    ///
    /// # Errors
    /// If a value is too large for its column's role.
    pub(super) fn deliver(&self, delivery: &Delivery) -> Outcome<()> {
        let rows = delivery.answer.last_of_each();
        let rows = rows.map_err(GatewayError::internal)?;
        let seconds = delivery.answer.asked.unix_ms() as f64 / 1e3;
        let page = page(&self.name, &rows, seconds, delivery.is_alert);
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = page;
        Ok(())
    }
}

/// Returns the text of the page.
fn page(name: &str, rows: &[Row], seconds: f64, is_alert: Option<bool>) -> String {
    let mut page = Exposition::default();
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in rows.iter().flat_map(|row| &row.values) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    let labels: Vec<Vec<(String, String)>> = rows
        .iter()
        .map(|row| {
            let labels = row.labels.iter();
            labels
                .map(|(label, text)| (identifier(label), text.clone()))
                .collect()
        })
        .collect();
    for column in columns {
        let series = rows.iter().zip(&labels).filter_map(|(row, labels)| {
            let (_, value) = row.values.iter().find(|(name, _)| name == column)?;
            Some((labels.as_slice(), *value))
        });
        let metric = format!("tfhe_sbc_{name}_{}", identifier(column));
        let help = format!("The last answer's column {}.", identifier(column));
        page.add_series(&metric, Kind::Gauge, &help, series);
    }
    if let Some(is_alert) = is_alert {
        page.add(
            &format!("tfhe_sbc_{name}_alert"),
            Kind::Gauge,
            "Whether rows of the last answer meet the condition.",
            u8::from(is_alert),
        );
    }
    page.add(
        &format!("tfhe_sbc_{name}_asked_timestamp_seconds"),
        Kind::Gauge,
        "The time of the last answer's question.",
        seconds,
    );
    page.into_text()
}

/// Returns a name with underscores for what a metric's name cannot have.
fn identifier(name: &str) -> String {
    let mut identifier: String = name
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() {
            true => letter,
            false => '_',
        })
        .collect();
    if identifier.starts_with(|first: char| first.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_gauge_for_each_column() {
        let text = |text: &str| text.to_owned();
        let row = |device: &str, values: Vec<(&str, f64)>| Row {
            labels: vec![(text("device"), text(device))],
            time: None,
            values: values
                .into_iter()
                .map(|(name, value)| (text(name), value))
                .collect(),
        };
        let rows = [
            row("a", vec![("avg", 20.8), ("99th", 1.0)]),
            row("b", vec![("avg", -3.0)]),
        ];
        assert_eq!(
            page("means", &rows, 1.5, Some(true)),
            "# HELP tfhe_sbc_means_avg The last answer's column avg.\n\
             # TYPE tfhe_sbc_means_avg gauge\n\
             tfhe_sbc_means_avg{device=\"a\"} 20.8\n\
             tfhe_sbc_means_avg{device=\"b\"} -3\n\
             # HELP tfhe_sbc_means__99th The last answer's column _99th.\n\
             # TYPE tfhe_sbc_means__99th gauge\n\
             tfhe_sbc_means__99th{device=\"a\"} 1\n\
             # HELP tfhe_sbc_means_alert Whether rows of the last answer meet the condition.\n\
             # TYPE tfhe_sbc_means_alert gauge\n\
             tfhe_sbc_means_alert 1\n\
             # HELP tfhe_sbc_means_asked_timestamp_seconds The time of the last answer's question.\n\
             # TYPE tfhe_sbc_means_asked_timestamp_seconds gauge\n\
             tfhe_sbc_means_asked_timestamp_seconds 1.5\n"
        );
    }
}
