//! Boards that do nothing but upload: as fast as they can, or each at its own pace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use rustls::ClientConfig;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use crate::Failure;
use crate::counters::Counters;
use crate::link::Link;
use crate::readings::{ROWS, Uploads};
use crate::server::{Figures, Server};
use crate::site::Site;

/// The wait before an upload that got no receipt is sent again, unless the server names another.
const RETRY: Duration = Duration::from_millis(500);

/// The outcome of some time under load.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Load {
    pub(crate) boards: usize,
    pub(crate) seconds: f64,
    /// The seconds between two uploads of a board; `None` if it sends the next at once.
    pub(crate) interval_seconds: Option<f64>,
    /// The number of uploads with a receipt.
    pub(crate) uploads: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) uploads_per_second: f64,
    /// The times from the first byte sent to the receipt, retries included.
    pub(crate) latency: Latency,
    /// The number of attempts without receipt, by what came instead.
    pub(crate) without_receipt: BTreeMap<String, u64>,
    /// The number of TLS connections opened.
    pub(crate) connections: u64,
    pub(crate) boards_without_any_receipt: usize,
    pub(crate) server: Figures,
    /// The processor time as a share of one processor.
    pub(crate) server_cpu_share: f64,
    /// The number of uploads in the store's index that this load brought, by the server's own
    /// count.
    pub(crate) counted_by_server: u64,
}

impl Load {
    /// Returns whether every receipt is for an upload that the server counts, and every board has
    /// had one.
    pub(crate) fn passed(&self) -> bool {
        self.uploads > 0
            && self.boards_without_any_receipt == 0
            && self.counted_by_server == self.uploads
    }
}

/// Quantiles in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

impl Latency {
    /// Returns the quantiles of times in microseconds.
    pub(crate) fn of(mut all: Vec<u32>) -> Self {
        all.sort_unstable();
        let quantile = |q: f64| {
            let place = (all.len() as f64 * q) as usize;
            all.get(place.min(all.len().saturating_sub(1)))
                .map_or(0.0, |&us| f64::from(us) / 1000.0)
        };
        Self {
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
        }
    }
}

/// Simulated boards, each with its own certificate.
pub(crate) struct Boards {
    configs: Vec<Arc<ClientConfig>>,
    uploads: Arc<Uploads>,
    /// The number of uploads that each board made in loads before.
    made: Arc<Vec<AtomicU64>>,
}

#[derive(Default)]
struct BoardLog {
    latencies: Vec<u32>,
    bytes: u64,
    without_receipt: BTreeMap<String, u64>,
    connections: u64,
}

impl Boards {
    pub(crate) fn new(site: &Site, count: usize) -> Result<Self, Failure> {
        let configs = (0..count)
            .map(|i| site.client(Some(&site.board(&name(i))?)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            configs,
            uploads: Arc::new(Uploads::new(&site.key("device.tsbc"))?),
            made: Arc::new((0..count).map(|_| AtomicU64::new(0)).collect()),
        })
    }

    /// Lets all boards upload for some time. With an interval, the moments at which the boards start
    /// are spread evenly over it.
    pub(crate) async fn run(
        &self,
        site: &Site,
        server: &Server,
        duration: Duration,
        interval: Option<Duration>,
    ) -> Result<Load, Failure> {
        let mut owner = Link::new(server.address, site.owner()?);
        let counted = |counters: &Counters| counters.get("tfhe_sbc_uploads_total{stored=\"new\"}");
        let before = counted(&Counters::read(&mut owner).await?);
        let cpu = server.figures().cpu_seconds;
        let started = Instant::now();
        let mut boards = JoinSet::new();
        for (i, config) in self.configs.iter().enumerate() {
            let link = Link::new(server.address, Arc::clone(config));
            let (uploads, made) = (Arc::clone(&self.uploads), Arc::clone(&self.made));
            let phase = interval.map(|interval| interval.mul_f64(i as f64 / made.len() as f64));
            boards.spawn(async move {
                if let Some(phase) = phase {
                    sleep(phase).await;
                }
                board(link, i, &uploads, &made[i], started + duration, interval).await
            });
        }
        let mut logs = Vec::new();
        while let Some(ended) = boards.join_next().await {
            logs.push(ended??);
        }
        let seconds = started.elapsed().as_secs_f64();
        let figures = server.figures();
        let after = counted(&Counters::read(&mut owner).await?);

        let mut without_receipt = BTreeMap::new();
        for (what, count) in logs.iter().flat_map(|log| &log.without_receipt) {
            *without_receipt.entry(what.clone()).or_default() += count;
        }
        let silent = logs.iter().filter(|log| log.latencies.is_empty()).count();
        let bytes = logs.iter().map(|log| log.bytes).sum();
        let connections = logs.iter().map(|log| log.connections).sum();
        let latencies: Vec<u32> = logs.into_iter().flat_map(|log| log.latencies).collect();
        let uploads = latencies.len() as u64;
        Ok(Load {
            boards: self.configs.len(),
            seconds,
            interval_seconds: interval.map(|interval| interval.as_secs_f64()),
            uploads,
            rows: uploads * ROWS as u64,
            bytes,
            uploads_per_second: uploads as f64 / seconds,
            latency: Latency::of(latencies),
            without_receipt,
            connections,
            boards_without_any_receipt: silent,
            server: figures,
            server_cpu_share: (figures.cpu_seconds - cpu) / seconds,
            counted_by_server: (after - before) as u64,
        })
    }
}

pub(crate) fn name(board: usize) -> String {
    format!("board-{board:04}")
}

async fn board(
    mut link: Link,
    number: usize,
    uploads: &Uploads,
    made: &AtomicU64,
    end: Instant,
    interval: Option<Duration>,
) -> Result<BoardLog, Failure> {
    let mut log = BoardLog::default();
    let mut next = Instant::now();
    while Instant::now() < end {
        let sequence = made.fetch_add(1, Ordering::Relaxed);
        let upload = Bytes::from(uploads.make(&name(number), sequence)?);
        let started = Instant::now();
        loop {
            let wait = match link.post("/v1/readings", upload.clone()).await {
                Ok(reply) if reply.status == 201 || reply.status == 200 => break,
                Ok(reply) => {
                    let what = format!("HTTP {}", reply.status);
                    *log.without_receipt.entry(what).or_default() += 1;
                    reply.retry_after.map_or(RETRY, Duration::from_secs)
                }
                Err(error) => {
                    *log.without_receipt.entry(error.to_string()).or_default() += 1;
                    RETRY
                }
            };
            if started.elapsed() > Duration::from_secs(120) {
                return Err(format!("board {number} got no receipt in two minutes").into());
            }
            sleep(wait).await;
        }
        let took = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        log.latencies.push(took);
        log.bytes += upload.len() as u64;
        if let Some(interval) = interval {
            next += interval;
            if next >= end {
                break;
            }
            sleep_until(next.into()).await;
        }
    }
    log.connections = link.connections;
    Ok(log)
}
