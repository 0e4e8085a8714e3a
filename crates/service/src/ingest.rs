//! The server's end of a broker: it puts the parts of uploads together, within bounds of memory and
//! time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::listening::{self, KEEP_ALIVE, Pauses, Pulse, RETRY_AFTER_SECONDS};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::mqtt::answer::{Answer, CONTINUE};
use tfhe_sbc_transport::mqtt::connection::{Broker, Connection, MqttError};
use tfhe_sbc_transport::mqtt::packet::{Incoming, Outgoing};
use tfhe_sbc_transport::mqtt::part::{Assembly, Part, PartError};
use tfhe_sbc_transport::mqtt::topics::device_of;

/// The fewest bytes of a part that is not the last.
const MIN_PART: usize = 64;
/// The number of new parts after which a device is told how many are there, so that it does not run
/// ahead of the server: brokers drop what they cannot queue.
const TELL_EVERY: u32 = 32;
/// The most uploads that are checked and stored at a time. The broker waits meanwhile.
const STORED_AT_A_TIME: usize = 4;

/// A broker that the server listens to.
#[derive(Clone)]
pub struct IngestConfig {
    /// The broker, with the certificate that the server shows it.
    pub broker: Broker,
    /// The beginning of the topics.
    pub prefix: String,
    /// The server's name at the broker, which no other client may have.
    pub client: String,
}

impl std::fmt::Debug for IngestConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IngestConfig")
            .field("prefix", &self.prefix)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// The bounds of ingest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IngestLimits {
    /// The largest upload in bytes.
    pub(crate) upload_bytes: usize,
    /// The memory for all uploads in bytes, those that are being stored included.
    pub(crate) buffered_bytes: usize,
    /// The time that the next part of an upload has to arrive.
    pub(crate) idle: Duration,
}

/// Takes uploads from a broker until it is time to stop. `take_in` checks and stores an upload of a
/// device.
pub(crate) async fn run<F, T>(
    config: IngestConfig,
    limits: IngestLimits,
    take_in: F,
    mut stopping: watch::Receiver<bool>,
) where
    F: Fn(Arc<str>, BlobId, Vec<u8>) -> T + Send + Sync + 'static,
    T: Future<Output = Answer> + Send + 'static,
{
    let take_in = Arc::new(take_in);
    let mut storing = Storing::default();
    let mut pauses = Pauses::new();
    loop {
        let began = Instant::now();
        tokio::select! {
            ended = session(&config, limits, &take_in, &mut storing) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "no uploads from the broker for now");
                }
            }
            _ = stopping.wait_for(|stopping| *stopping) => break,
        }
        if !pauses.wait(began, &mut stopping).await {
            break;
        }
    }
    storing.tasks.detach_all();
}

async fn session<F, T>(
    config: &IngestConfig,
    limits: IngestLimits,
    take_in: &Arc<F>,
    storing: &mut Storing,
) -> Result<(), MqttError>
where
    F: Fn(Arc<str>, BlobId, Vec<u8>) -> T + Send + Sync + 'static,
    T: Future<Output = Answer> + Send + 'static,
{
    let all = format!("{}/+/up", config.prefix);
    let (broker, client) = (&config.broker, &config.client);
    let mut connection = Connection::open(broker, client, KEEP_ALIVE, &[&all]).await?;
    tracing::info!(topic = all, "listening to the broker");
    let mut pending = Pending::new(limits, Arc::clone(&storing.bytes));
    let mut pulse = Pulse::new();
    loop {
        let mut outgoing = Vec::new();
        let mut acknowledge = None;
        let is_full = storing.tasks.len() >= STORED_AT_A_TIME;
        tokio::select! {
            packet = connection.next(), if !is_full => {
                pulse.heard();
                if let Incoming::Publish { topic, payload, id } = packet? {
                    acknowledge = id;
                    if let Some(device) = device_of(&config.prefix, topic) {
                        let device: Arc<str> = device.into();
                        match pending.add(&device, payload) {
                            Added::Nothing => {}
                            Added::Whole(id, upload) => storing.begin(take_in, device, id, upload),
                            Added::Answers(answers) => outgoing = answers,
                        }
                    }
                }
            }
            Some(stored) = storing.tasks.join_next() => {
                // The server did not read from the broker while there were enough uploads.
                if is_full {
                    pulse.heard();
                }
                match stored {
                    Ok(answer) => outgoing.push(answer),
                    Err(error) => log_panic(&error),
                }
            }
            () = pulse.tick() => {
                pending.forget_idle();
                pulse.beat(&mut connection, !is_full).await?;
            }
        }
        if let Some(id) = acknowledge {
            connection.send(Outgoing::PubAck { id }).await?;
        }
        for (device, answer) in outgoing {
            listening::publish(&mut connection, &config.prefix, &device, &answer).await?;
        }
    }
}

/// The uploads that are being checked and stored. They go on when the broker is lost.
#[derive(Default)]
struct Storing {
    tasks: JoinSet<(Arc<str>, Answer)>,
    /// The bytes of all of them.
    bytes: Arc<AtomicUsize>,
}

impl Storing {
    fn begin<F, T>(&mut self, take_in: &Arc<F>, device: Arc<str>, id: BlobId, upload: Vec<u8>)
    where
        F: Fn(Arc<str>, BlobId, Vec<u8>) -> T + Send + Sync + 'static,
        T: Future<Output = Answer> + Send + 'static,
    {
        let held = Held::new(&self.bytes, upload.len());
        let take_in = Arc::clone(take_in);
        self.tasks.spawn(async move {
            let answer = take_in(Arc::clone(&device), id, upload).await;
            drop(held);
            (device, answer)
        });
    }
}

/// Bytes that count as taken as long as this value lives.
struct Held {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Held {
    fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        let all = Arc::clone(all);
        Self { all, bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn log_panic(error: &JoinError) {
    if error.is_panic() {
        tracing::error!(%error, "storing an upload of the broker failed; report this as an error");
    }
}

/// The effect of a part.
enum Added {
    Nothing,
    Whole(BlobId, Vec<u8>),
    Answers(Vec<(Arc<str>, Answer)>),
}

/// The uploads that are not whole, one per device.
struct Pending {
    limits: IngestLimits,
    uploads: HashMap<Arc<str>, Upload>,
    /// The bytes of the uploads that are being stored.
    storing: Arc<AtomicUsize>,
}

struct Upload {
    id: BlobId,
    assembly: Assembly,
    told: u32,
    last: Instant,
}

impl Pending {
    fn new(limits: IngestLimits, storing: Arc<AtomicUsize>) -> Self {
        Self {
            limits,
            storing,
            uploads: HashMap::new(),
        }
    }

    fn add(&mut self, device: &Arc<str>, payload: &[u8]) -> Added {
        let answer = |id, status: u16, error: String, hint: &str| {
            let answer = Answer {
                error,
                hint: hint.to_owned(),
                ..Answer::new(id, status)
            };
            Added::Answers(vec![(Arc::clone(device), answer)])
        };
        let part = match Part::parse(payload) {
            Ok(part) => part,
            // The upload that the part belongs to is unknown.
            Err(error) => {
                tracing::warn!(?device, %error, "a message of the broker is no part of an upload");
                return Added::Nothing;
            }
        };
        let limit = self.limits.upload_bytes.min(self.limits.buffered_bytes);
        let id = BlobId::from_hash(part.hash);
        if part.len as usize > limit {
            let error =
                format!("the upload is larger than the {limit} bytes that this server takes");
            let hint = "send fewer readings at a time, or raise the server's limit";
            return answer(id, 413, error, hint);
        }
        if part.index + 1 < part.count && part.bytes.len() < MIN_PART {
            let error = format!("a part has less than {MIN_PART} bytes");
            return answer(id, 422, error, "raise mqtt.max_packet of the agent");
        }
        let fresh = || Upload {
            id,
            assembly: Assembly::default(),
            told: 0,
            last: Instant::now(),
        };
        let upload = self.uploads.entry(Arc::clone(device)).or_insert_with(fresh);
        if upload.id != id {
            *upload = fresh();
        }
        upload.last = Instant::now();
        let before = upload.assembly.count();
        match upload.assembly.add(&part) {
            Ok(Some(whole)) => {
                self.uploads.remove(device);
                return Added::Whole(id, whole);
            }
            Ok(None) => {}
            Err(error @ (PartError::Hash | PartError::Mismatch)) => {
                self.uploads.remove(device);
                return answer(id, 500, error.to_string(), "send the upload again");
            }
            Err(error) => {
                self.uploads.remove(device);
                return answer(id, 422, error.to_string(), "report this as an error");
            }
        }
        let count = upload.assembly.count();
        let mut answers = Vec::new();
        // A device that was started again begins at its first part, and is told at once how many
        // parts are there.
        let is_again = count == before && part.index % TELL_EVERY == 0;
        if is_again || count >= upload.told + TELL_EVERY {
            upload.told = count;
            let parts = count;
            let answer = Answer {
                parts,
                ..Answer::new(id, CONTINUE)
            };
            answers.push((Arc::clone(device), answer));
        }
        answers.extend(self.make_room(device));
        match answers.is_empty() {
            true => Added::Nothing,
            false => Added::Answers(answers),
        }
    }

    /// Gives up uploads until the rest fits: first those that were silent for longest, at last the
    /// newest.
    fn make_room(&mut self, newest: &Arc<str>) -> Vec<(Arc<str>, Answer)> {
        let mut answers = Vec::new();
        loop {
            let uploads = self.uploads.values();
            let memory: usize = uploads.map(|upload| upload.assembly.memory()).sum();
            let storing = self.storing.load(Ordering::Relaxed);
            if memory + storing <= self.limits.buffered_bytes {
                return answers;
            }
            let oldest = self
                .uploads
                .iter()
                .min_by_key(|(device, upload)| (*device == newest, upload.last));
            let Some(device) = oldest.map(|(device, _)| Arc::clone(device)) else {
                return answers;
            };
            let Some(upload) = self.uploads.remove(&device) else {
                return answers;
            };
            let answer = if upload.assembly.memory() > self.limits.buffered_bytes {
                Answer {
                    error: "the upload in parts takes more memory than this server has for it"
                        .to_owned(),
                    hint: "send fewer readings at a time, or larger parts".to_owned(),
                    ..Answer::new(upload.id, 413)
                }
            } else {
                Answer {
                    error: "the server takes in as many uploads as it has memory for".to_owned(),
                    retry_after: Some(RETRY_AFTER_SECONDS),
                    ..Answer::new(upload.id, 503)
                }
            };
            let status = answer.status;
            tracing::warn!(
                ?device,
                status,
                "there is no memory for an upload of the broker, which is given up"
            );
            answers.push((device, answer));
        }
    }

    fn forget_idle(&mut self) {
        let idle = self.limits.idle;
        self.uploads
            .retain(|_, upload| upload.last.elapsed() < idle);
    }
}

#[cfg(test)]
mod tests;
