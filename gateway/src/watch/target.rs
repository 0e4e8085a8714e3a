//! The places where answers go.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::files::Table;
use super::influx::Influx;
use super::mqtt::Mqtt;
use super::prometheus::Prometheus;
use super::webhook::Webhook;
use super::{Delivery, http};
use crate::error::{GatewayError, Outcome, code};
use crate::options::Watch;

/// A place where answers go, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Lines of JSON on the standard output.
    Output,
    /// Retained messages of a broker.
    Mqtt {
        /// `mqtt://HOST:PORT` or `mqtts://HOST:PORT`.
        broker: String,
        /// The topic, below which each set of labels has its own.
        topic: String,
    },
    /// A page of metrics that Prometheus reads.
    Prometheus(SocketAddr),
    /// A database of InfluxDB.
    Influx {
        /// `http://HOST:PORT` or `https://HOST:PORT`.
        server: String,
        /// The name of the database.
        database: String,
    },
    /// A file of comma-separated values, to which rows are appended.
    Csv(PathBuf),
    /// A Parquet file, to which rows are added.
    Parquet(PathBuf),
    /// A URL that rows are posted to.
    Webhook(String),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::Output);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            let host = rest.split('/').next().unwrap_or_default();
            if host.contains('@') {
                return Err("a password does not belong on the command line, where others see it: write it into a file, and name \
                            the file with --mqtt-login, --influx-login or --webhook-login".to_owned());
            }
            if host.is_empty() {
                return Err(format!("{text} names no host"));
            }
            let path = rest
                .split_once('/')
                .map(|(_, path)| path)
                .unwrap_or_default();
            return match scheme {
                "mqtt" | "mqtts" => topic(&format!("{scheme}://{host}"), path),
                "prometheus" => match host.parse() {
                    Ok(address) => Ok(Self::Prometheus(address)),
                    Err(_) => Err("write prometheus://127.0.0.1:PORT".to_owned()),
                },
                "influx+http" | "influx+https" => influx(&scheme[7..], host, path),
                "http" | "https" => Ok(Self::Webhook(text.to_owned())),
                _ => Err(format!(
                    "{scheme}:// is unknown: there are mqtt, mqtts, prometheus, influx+http, influx+https, http and https"
                )),
            };
        }
        let path = PathBuf::from(text);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv(path)),
            Some("parquet") => Ok(Self::Parquet(path)),
            _ => Err(format!(
                "{text} is neither a URL nor the name of a .csv or .parquet file"
            )),
        }
    }
}

fn topic(broker: &str, path: &str) -> Result<Target, String> {
    let topic = path.trim_matches('/');
    if topic.is_empty() || topic.contains(['+', '#', '\0']) {
        return Err(format!("write {broker}/TOPIC; a topic has no + and #"));
    }
    Ok(Target::Mqtt {
        broker: broker.to_owned(),
        topic: topic.to_owned(),
    })
}

fn influx(scheme: &str, host: &str, path: &str) -> Result<Target, String> {
    let database = path.trim_matches('/');
    if database.is_empty() || database.contains(['/', '?', '&']) {
        return Err(format!("write influx+{scheme}://{host}/DATABASE"));
    }
    Ok(Target::Influx {
        server: format!("{scheme}://{host}"),
        database: database.to_owned(),
    })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output => f.write_str("the standard output"),
            Self::Mqtt { broker, topic } => write!(f, "{broker}/{topic}"),
            Self::Prometheus(address) => write!(f, "the page of metrics at {address}"),
            Self::Influx { server, database } => write!(f, "InfluxDB at {server}/{database}"),
            Self::Csv(path) | Self::Parquet(path) => write!(f, "{}", path.display()),
            // Some services have a secret in the path.
            Self::Webhook(url) => {
                let host = url.split('/').nth(2).unwrap_or_default();
                write!(f, "the webhook at {host}")
            }
        }
    }
}

/// A target that is ready to take answers.
pub(super) enum Sink {
    Output,
    Mqtt(Mqtt),
    Prometheus(Prometheus),
    Influx(Influx),
    Table(Table),
    Webhook(Webhook),
}

impl Sink {
    /// Prepares a target.
    ///
    /// # Errors
    /// If a file that it needs cannot be read, or its address cannot be used.
    pub(super) async fn open(target: &Target, arguments: &Watch) -> Outcome<Self> {
        Ok(match target {
            Target::Output => Self::Output,
            Target::Mqtt { broker, topic } => Self::Mqtt(Mqtt::new(broker, topic, arguments)?),
            Target::Prometheus(address) => {
                Self::Prometheus(Prometheus::open(*address, arguments).await?)
            }
            Target::Influx { server, database } => Self::Influx(Influx::new(
                server,
                database,
                &arguments.name,
                secret(arguments.influx_login.as_deref())?,
            )),
            Target::Csv(path) => Self::Table(Table::csv(path)?),
            Target::Parquet(path) => Self::Table(Table::parquet(path)?),
            Target::Webhook(url) => Self::Webhook(Webhook::new(
                url,
                &arguments.name,
                secret(arguments.webhook_login.as_deref())?,
            )),
        })
    }

    /// Sends an answer.
    ///
    /// # Errors
    /// If the target does not take it now.
    pub(super) async fn deliver(&mut self, delivery: &Delivery) -> Outcome<()> {
        match self {
            Self::Output => print(delivery),
            Self::Mqtt(mqtt) => mqtt.deliver(delivery).await,
            Self::Prometheus(page) => page.deliver(delivery),
            Self::Influx(influx) => http::post(influx.request(delivery)?).await,
            Self::Table(table) => table.append(delivery),
            Self::Webhook(webhook) => http::post(webhook.request(delivery)?).await,
        }
    }
}

/// Reads the only line of a file with a secret.
pub(super) fn secret(path: Option<&Path>) -> Outcome<Option<Zeroizing<String>>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let refused = |problem: &dyn fmt::Display| {
        let message = format_args!("cannot use {}: {problem}", path.display());
        GatewayError::new(code::CONFIGURATION, message).advise("write one line of text into it")
    };
    let text = std::fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| refused(&error))?;
    let line = text.trim_end_matches(['\r', '\n']);
    match line.is_empty() || line.contains('\n') {
        true => Err(refused(&"it is not one line")),
        false => Ok(Some(Zeroizing::new(line.to_owned()))),
    }
}

/// Returns the rows of an answer as JSON.
pub(super) fn objects(delivery: &Delivery) -> Outcome<Vec<Map<String, Value>>> {
    delivery.answer.objects().map_err(GatewayError::internal)
}

/// Prints a line for each row, which begins with the moment of the question.
fn print(delivery: &Delivery) -> Outcome<()> {
    let mut lines = String::new();
    for row in objects(delivery)? {
        let mut line = Map::new();
        line.insert("asked".to_owned(), delivery.answer.asked.to_string().into());
        line.extend(row);
        lines.push_str(&Value::Object(line).to_string());
        lines.push('\n');
    }
    let mut stdout = std::io::stdout().lock();
    let printed = stdout.write_all(lines.as_bytes());
    printed
        .and_then(|()| stdout.flush())
        .map_err(|error| GatewayError::new(code::CONNECTION, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        for (text, target) in [
            ("-", Target::Output),
            (
                "mqtts://broker:8883/home/means",
                Target::Mqtt {
                    broker: "mqtts://broker:8883".to_owned(),
                    topic: "home/means".to_owned(),
                },
            ),
            (
                "prometheus://127.0.0.1:9464",
                Target::Prometheus(([127, 0, 0, 1], 9464).into()),
            ),
            (
                "influx+http://localhost:8086/sensors",
                Target::Influx {
                    server: "http://localhost:8086".to_owned(),
                    database: "sensors".to_owned(),
                },
            ),
            ("a/means.csv", Target::Csv("a/means.csv".into())),
            ("means.parquet", Target::Parquet("means.parquet".into())),
            (
                "https://example.org/hook?key=1",
                Target::Webhook("https://example.org/hook?key=1".to_owned()),
            ),
        ] {
            assert_eq!(text.parse(), Ok(target), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_refused_in_words() {
        for (text, words) in [
            ("means.xlsx", ".csv or .parquet"),
            ("mqtt://broker", "/TOPIC"),
            ("mqtt://broker/a/#", "no + and #"),
            ("mqtt://me:secret@broker/a", "--mqtt-login"),
            ("https://me:secret@example.org/a", "--webhook-login"),
            ("prometheus://nowhere", "prometheus://127.0.0.1:PORT"),
            ("influx+http://localhost:8086", "/DATABASE"),
            ("ftp://example.org/a", "ftp:// is unknown"),
            ("https:///a", "no host"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_webhook_is_named_without_its_secrets() {
        let target: Target = "https://example.org/hook/5ecret".parse().unwrap();
        assert_eq!(target.to_string(), "the webhook at example.org");
    }
}
