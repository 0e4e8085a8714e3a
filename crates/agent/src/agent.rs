//! The agent's loop: rows become batches, and batches go to the spool.

mod encryptor;
mod frames;
mod signals;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tfhe_sbc_core::description::{MAX_TEXT, is_plain_text};
use tfhe_sbc_upload::readings::Column;
use zeroize::Zeroizing;

use crate::batch::{Batch, Row};
use crate::clock::{Schedule, Stop, label};
use crate::config::{Config, Transport};
use crate::error::AgentError;
use crate::metrics::{self, Metrics};
use crate::range::Gate;
use crate::sender::{self, Drained, Link};
use crate::source::{RawRow, Source};
use crate::spool::{Pushed, Spool};
use encryptor::Encryptor;
pub(crate) use frames::board_file;

/// The time that an upload under way has to end when the agent stops.
const GRACE: Duration = Duration::from_secs(5);
/// The time between two writes of the metrics file.
const METRICS_EVERY: Duration = Duration::from_secs(5);
/// The longest wait for room in a full spool before the next look.
const BLOCKED: Duration = Duration::from_secs(1);

/// The result of [`once`].
#[derive(Debug)]
pub struct Once {
    /// The number of rows that were read and are in the spool or at the server.
    pub rows: usize,
    /// The number of batches that the server acknowledged, those of earlier runs included.
    pub sent: u64,
    /// The bytes of these batches.
    pub bytes: u64,
    /// The server's words for batches that it refused for good.
    pub refused: Vec<String>,
    /// The number of batches that wait.
    pub waiting: usize,
    /// The reason why they wait.
    pub failed: Option<String>,
}

/// The result of [`test()`].
#[derive(Debug)]
pub struct Test {
    /// The columns, each with its reading in the first row, or why there is none.
    pub columns: Vec<(Column, Result<f64, String>)>,
    /// The bytes of an upload of one row.
    pub one_row: usize,
    /// The number of rows of a full batch.
    pub batch_rows: usize,
    /// The bytes of an upload of a full batch.
    pub full_batch: usize,
}

/// A source, and the checks of its rows.
struct Reader {
    source: Source,
    gates: Vec<Gate>,
    /// For each column the factor that values are multiplied by, and the summand that is added
    /// then.
    linear: Vec<(f64, f64)>,
    metrics: Arc<Metrics>,
}

impl Reader {
    fn new(
        config: &Config,
        cursor: Option<&[u8]>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, AgentError> {
        let gates = config.columns.iter();
        let gates = gates.map(|column| Gate::new(&column.definition, column.out_of_range));
        Ok(Self {
            gates: gates.collect::<Result<_, _>>()?,
            linear: config.columns.iter().map(|c| (c.factor, c.add)).collect(),
            source: Source::open(config, cursor, metrics)?,
            metrics: Arc::clone(metrics),
        })
    }

    fn raw(&mut self, most: usize) -> Result<Vec<RawRow>, AgentError> {
        let mut rows = self.source.rows(most, &self.metrics)?;
        for row in &mut rows {
            for (value, (factor, add)) in row.values.iter_mut().zip(&self.linear) {
                if let Ok(value) = value {
                    *value = *value * factor + add;
                }
            }
        }
        Ok(rows)
    }

    /// Reads at most `most` rows into a batch. A row without a value in a column that is not optional stays out. After an error
    /// the batch has the rows before it, and its cursor is behind those.
    fn fill(&mut self, batch: &mut Batch, most: usize) -> Result<(), AgentError> {
        for raw in self.raw(most)? {
            let mut values = Zeroizing::new(Vec::with_capacity(self.gates.len()));
            for (gate, value) in self.gates.iter_mut().zip(raw.values) {
                values.extend(gate.pass(value, &self.metrics)?);
            }
            if let Some(cursor) = raw.cursor {
                batch.moved_to(cursor);
            }
            if values.len() == self.gates.len() {
                let label = match raw.label {
                    Some(label) => plain_label(label),
                    None => label(SystemTime::now()),
                };
                batch.push(Row { label, values }, Instant::now());
                self.metrics.row();
            }
        }
        batch.moved_to(self.source.cursor());
        Ok(())
    }
}

/// Returns the part of a text that can be a row's label.
fn plain_label(text: String) -> String {
    if is_plain_text(&text) {
        return text;
    }
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(MAX_TEXT).collect()
}

/// An agent, ready to run.
pub struct Agent {
    config: Config,
    encryptor: Encryptor,
    reader: Reader,
    batch: Batch,
    spool: Arc<Spool>,
    link: Option<Link>,
    metrics: Arc<Metrics>,
    stop: Stop,
}

impl Agent {
    /// Opens key, certificates, spool and sources.
    ///
    /// # Errors
    /// If one of them is not as the settings say.
    pub fn open(config: Config) -> Result<Self, AgentError> {
        let metrics = Arc::<Metrics>::default();
        let mut encryptor = Encryptor::new(&config)?;
        let link = Link::new(&config)?;
        let rows = encryptor.batch_rows(&config);
        let full = encryptor.trial(&config, rows)? as u64;
        if config.spool.max_bytes < 2 * full {
            return Err(AgentError::setting(
                "spool.max_bytes",
                format_args!("it has no room for two batches of {full} bytes"),
                "give more bytes, or fewer batch.rows",
            ));
        }
        let (max_bytes, when_full) = (config.spool.max_bytes, config.spool.when_full);
        let directory = config.spool_directory();
        let spool = Spool::open(&directory, max_bytes, when_full, Arc::clone(&metrics))?;
        if config.reads_csv() {
            spool.require_cursor()?;
        }
        encryptor.open(&config, &spool)?;
        let reader = Reader::new(&config, spool.cursor().as_deref(), &metrics)?;
        let every = (!encryptor.takes_full_batches_only()).then_some(config.batch.every);
        let mut batch = Batch::new(config.columns.len(), rows, every);
        batch.moved_to(reader.source.cursor());
        Ok(Self {
            batch,
            encryptor,
            reader,
            spool: Arc::new(spool),
            link: Some(link),
            metrics,
            stop: Stop::default(),
            config,
        })
    }

    /// Returns the handle that ends [`Agent::run`].
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Reads, encrypts and sends until SIGTERM, ctrl-c or [`Stop::stop`]. Then the rows in memory
    /// go to the spool.
    ///
    /// # Errors
    /// If a source or the disk fails, or a reading does not fit a column with `out_of_range =
    /// "fail"`.
    pub fn run(mut self) -> Result<(), AgentError> {
        signals::stop_on_signal(&self.stop)?;
        if let Some(address) = self.config.metrics.listen {
            metrics::listen(address, Arc::clone(&self.metrics))?;
        }
        let writer = self.start_metrics_file();
        let sender = self.link.take().map(|link| {
            let settings = self.config.send.clone();
            let (spool, metrics) = (Arc::clone(&self.spool), Arc::clone(&self.metrics));
            sender::start(spool, link, settings, self.stop.clone(), metrics)
        });
        tracing::info!(spool = %self.config.spool_directory().display(), "the agent runs");
        let ended = self.read_until_stopped();
        // The rows in memory go to the spool after an error too.
        let sealed = self.seal();
        self.stop.stop();
        let deadline = Instant::now() + GRACE;
        for thread in [sender, writer].into_iter().flatten() {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.write_metrics();
        tracing::info!(waiting = self.spool.depth().0, "the agent stops");
        ended.and(sealed.map(drop))
    }

    fn read_until_stopped(&mut self) -> Result<(), AgentError> {
        let mut schedule = Schedule::new(self.reader.source.every(), Instant::now());
        loop {
            let due = self.batch.due().unwrap_or(schedule.next());
            if self.stop.wait_until(schedule.next().min(due)) {
                return Ok(());
            }
            if Instant::now() >= schedule.next() {
                self.read()?;
                schedule.advance(Instant::now());
            }
            if self.batch.due().is_some_and(|due| due <= Instant::now()) {
                self.seal()?;
            }
        }
    }

    /// Reads the rows that there are; from a file, as many batches as it has.
    fn read(&mut self) -> Result<(), AgentError> {
        loop {
            let room = self.batch.room();
            self.fill(room)?;
            if self.batch.room() > 0 || self.stop.is_stopped() || !self.seal()? {
                return Ok(());
            }
            if !self.reader.source.is_file() {
                return Ok(());
            }
        }
    }

    /// Reads at most `most` rows into the batch. The place where a file begins is on the disk before
    /// the first row of it is read.
    fn fill(&mut self, most: usize) -> Result<(), AgentError> {
        if self.reader.source.is_file() && self.spool.is_new() {
            self.reader.source.look(&self.metrics)?;
            let cursor = self.reader.source.cursor();
            if !cursor.is_empty() {
                self.spool.begin(&cursor);
            }
        }
        self.reader.fill(&mut self.batch, most)
    }

    /// Encrypts the batch into the spool. Returns false if there was no room until it was time to
    /// stop.
    fn seal(&mut self) -> Result<bool, AgentError> {
        if self.batch.is_empty() {
            return Ok(true);
        }
        let (labels, readings) = (self.batch.labels(), self.batch.readings());
        if self.encryptor.takes_full_batches_only() && self.batch.room() > 0 {
            let (rows, of) = (labels.len(), labels.len() + self.batch.room());
            match self.reader.source.is_file() {
                true => tracing::info!(
                    rows,
                    of,
                    "too few rows for a frame: they are read again at the next start"
                ),
                false => tracing::warn!(rows, of, "too few rows for a frame: they are lost"),
            }
            return Ok(false);
        }
        let upload = self.encryptor.encrypt(&self.config, labels, &readings)?;
        let rows = u32::try_from(labels.len()).unwrap_or(u32::MAX);
        self.batch.clear();
        let cursor = self.batch.cursor().to_vec();
        let mut told = false;
        loop {
            let seen = self.stop.news();
            if self.spool.push(&upload, rows, &cursor)? != Pushed::Full {
                self.stop.notify();
                return Ok(true);
            }
            if !told {
                tracing::warn!("the spool is full: nothing is read until there is room");
                told = true;
            }
            if self.stop.wait_news(seen, BLOCKED) {
                if !self.reader.source.is_file() {
                    tracing::error!(rows, "the spool is full, and rows in memory are lost");
                }
                return Ok(false);
            }
        }
    }

    fn start_metrics_file(&self) -> Option<std::thread::JoinHandle<()>> {
        let path = self.config.path(self.config.metrics.file.as_ref()?);
        let (metrics, stop) = (Arc::clone(&self.metrics), self.stop.clone());
        Some(std::thread::spawn(move || {
            loop {
                write_metrics(&metrics, &path);
                if stop.wait_until(Instant::now() + METRICS_EVERY) {
                    return;
                }
            }
        }))
    }

    fn write_metrics(&self) {
        if let Some(path) = &self.config.metrics.file {
            write_metrics(&self.metrics, &self.config.path(path));
        }
    }
}

fn write_metrics(metrics: &Metrics, path: &std::path::Path) {
    if let Err(error) = metrics.write(path) {
        tracing::warn!(%error, "the metrics were not written");
    }
}

/// Reads once (from a file, up to one batch), and sends what is in the spool, trying each batch
/// once.
///
/// # Errors
/// If something is not as the settings say, or cannot be read or written.
pub fn once(mut config: Config) -> Result<Once, AgentError> {
    // There is one frame at most, so that no counter is skipped.
    config.frames.leap = 1;
    let mut agent = Agent::open(config)?;
    let most = match agent.reader.source.is_file() {
        true => agent.batch.room(),
        false => 1,
    };
    let needed = agent.batch.room();
    let whole_frames = agent.encryptor.takes_full_batches_only();
    if whole_frames && most < needed {
        return Err(AgentError::new(
            format_args!("--once reads one row, and a frame of this board has {needed}"),
            "let the agent run, or make pads for frames of one row (`tfhe-sbc pads make --frame 1`)",
        ));
    }
    let filled = agent.fill(most);
    if whole_frames && agent.batch.room() > 0 {
        // The file's cursor stays where it was, so the rows are read again.
        agent.batch.clear();
    }
    let rows = agent.batch.labels().len();
    let mut drained = Drained::default();
    let mut link = agent.link.take();
    let mut drain = |agent: &Agent| {
        if let Some(link) = &mut link {
            sender::drain(&agent.spool, link, &agent.metrics, &mut drained);
        }
    };
    // The waiting batches are sent first, to make room.
    drain(&agent);
    // No thread makes more room.
    agent.stop.stop();
    let sealed = agent.seal();
    drain(&agent);
    agent.write_metrics();
    filled?;
    let stored = sealed?;
    if !stored {
        let words = "the spool is full, and what was read is not in it";
        drained.failed.get_or_insert_with(|| words.to_owned());
    }
    Ok(Once {
        rows: if stored { rows } else { 0 },
        sent: drained.sent,
        bytes: drained.bytes,
        refused: drained.refused,
        waiting: agent.spool.depth().0,
        failed: drained.failed,
    })
}

/// Reads once and encrypts. Sends and stores nothing, and does not move a file's cursor.
///
/// # Errors
/// If something is not as the settings say.
pub fn test(config: &Config) -> Result<Test, AgentError> {
    let metrics = Arc::<Metrics>::default();
    let mut encryptor = Encryptor::new(config)?;
    Link::new(config)?;
    let mut reader = Reader::new(config, None, &metrics)?;
    let Some(row) = reader.raw(1)?.into_iter().next() else {
        return Err(AgentError::setting(
            "csv.path",
            "there is no line to read in the file",
            "start the program that writes it, or correct the path",
        ));
    };
    let columns = encryptor.columns().iter().cloned().zip(row.values);
    let (columns, batch_rows) = (columns.collect(), encryptor.batch_rows(config));
    Ok(Test {
        columns,
        one_row: encryptor.trial(config, 1)?,
        batch_rows,
        full_batch: encryptor.trial(config, batch_rows)?,
    })
}

/// Begins with the pads of a new key: writes the counter of frames into the spool, once for each key.
///
/// # Errors
/// If the settings are for uploads, the board has a counter for its key already, another agent uses the spool, or the
/// disk fails.
pub fn begin(config: &Config) -> Result<(), AgentError> {
    if config.server.transport != Transport::Frames {
        return Err(AgentError::setting(
            "server.transport",
            "only frames have a counter",
            "set it to \"frames\", or start the agent, which sends uploads",
        ));
    }
    let spool = Spool::open(
        &config.spool_directory(),
        config.spool.max_bytes,
        config.spool.when_full,
        Arc::default(),
    )?;
    frames::begin(config, &spool)
}

#[cfg(test)]
#[path = "agent/tests.rs"]
mod tests;
