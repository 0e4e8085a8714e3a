//! The server's metrics, as any client with a certificate reads them.

use std::collections::BTreeMap;

use crate::Failure;
use crate::link::Link;

/// Counters and gauges by name and labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters(BTreeMap<String, f64>);

impl Counters {
    pub(crate) async fn read(link: &mut Link) -> Result<Self, Failure> {
        let reply = link.get("/metrics").await?;
        let text = String::from_utf8_lossy(&reply.body);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        let counters = Self(values.collect());
        if reply.status == 200 && !counters.0.is_empty() {
            Ok(counters)
        } else {
            Err(format!("no metrics: {} {text}", reply.status).into())
        }
    }

    pub(crate) fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }
}
