//! The server's end of a broker: parts become uploads, within bounds of memory and time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, interval};

use super::answer::{Answer, CONTINUE};
use super::connection::{Broker, Connection, MqttError};
use super::packet::{Incoming, Outgoing};
use super::part::{Assembly, Part, PartError};
use super::{answer_topic, device_of};
use crate::store::BlobId;

/// After so many new parts a device hears how many are there, so that it does not run away from
/// the server: brokers drop what they cannot queue.
const TELL_EVERY: u32 = 32;
/// Uploads that are checked and stored at a time. Meanwhile the broker waits.
const STORED_AT_A_TIME: usize = 4;
const KEEP_ALIVE: Duration = Duration::from_secs(60);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const RETRY_AFTER_SECONDS: u32 = 10;

/// A broker that the server listens to.
#[derive(Clone)]
pub struct IngestConfig {
    /// The broker, with the certificate that the server shows it.
    pub broker: Broker,
    /// What topics begin with.
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

/// How much is taken on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IngestLimits {
    /// The largest upload.
    pub(crate) upload_bytes: usize,
    /// Memory for the parts of all uploads.
    pub(crate) buffered_bytes: usize,
    /// For the next part of an upload to arrive.
    pub(crate) idle: Duration,
}

/// Takes uploads from a broker until it is time to stop. `take_in` checks and stores one of that
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
    let mut pause = SHORTEST_PAUSE;
    loop {
        let began = Instant::now();
        tokio::select! {
            ended = session(&config, limits, &take_in) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "no uploads from the broker for now");
                }
            }
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        pause = match began.elapsed() > LONGEST_PAUSE {
            true => SHORTEST_PAUSE,
            false => (pause * 2).min(LONGEST_PAUSE),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

async fn session<F, T>(
    config: &IngestConfig,
    limits: IngestLimits,
    take_in: &Arc<F>,
) -> Result<(), MqttError>
where
    F: Fn(Arc<str>, BlobId, Vec<u8>) -> T + Send + Sync + 'static,
    T: Future<Output = Answer> + Send + 'static,
{
    let all = format!("{}/+/up", config.prefix);
    let (broker, client) = (&config.broker, &config.client);
    let mut connection = Connection::open(broker, client, KEEP_ALIVE, &[&all]).await?;
    tracing::info!(topic = all, "listening to the broker");
    let mut pending = Pending::new(limits);
    let slots = Arc::new(Semaphore::new(STORED_AT_A_TIME));
    let (answered, mut answers) = mpsc::channel::<(Arc<str>, Answer)>(STORED_AT_A_TIME);
    let mut tick = interval(KEEP_ALIVE / 3);
    loop {
        let mut outgoing = Vec::new();
        let mut acknowledge = None;
        tokio::select! {
            packet = connection.next() => {
                if let Incoming::Publish { topic, payload, id } = packet? {
                    acknowledge = id;
                    if let Some(device) = device_of(&config.prefix, topic) {
                        let device: Arc<str> = device.into();
                        match pending.add(&device, payload) {
                            Added::Nothing => {}
                            Added::Whole(id, upload) => {
                                // Never closed.
                                let slot = Arc::clone(&slots).acquire_owned().await.ok();
                                let (answered, take_in) = (answered.clone(), Arc::clone(take_in));
                                tokio::spawn(async move {
                                    let answer = take_in(Arc::clone(&device), id, upload).await;
                                    let _ = answered.send((device, answer)).await;
                                    drop(slot);
                                });
                            }
                            Added::Answers(answers) => outgoing = answers,
                        }
                    }
                }
            }
            Some(answer) = answers.recv() => outgoing.push(answer),
            _ = tick.tick() => {
                pending.forget_idle();
                connection.send(Outgoing::Ping).await?;
            }
        }
        if let Some(id) = acknowledge {
            connection.send(Outgoing::PubAck { id }).await?;
        }
        for (device, answer) in outgoing {
            let topic = answer_topic(&config.prefix, &device);
            let payload = serde_json::to_vec(&answer).unwrap_or_default();
            let id = connection.id();
            let (topic, payload) = (topic.as_str(), payload.as_slice());
            connection
                .send(Outgoing::Publish { topic, payload, id })
                .await?;
        }
    }
}

/// What a part did.
enum Added {
    Nothing,
    Whole(BlobId, Vec<u8>),
    Answers(Vec<(Arc<str>, Answer)>),
}

/// Uploads that are not whole, one a device.
struct Pending {
    limits: IngestLimits,
    uploads: HashMap<Arc<str>, Upload>,
}

struct Upload {
    id: BlobId,
    assembly: Assembly,
    told: u32,
    last: Instant,
}

impl Pending {
    fn new(limits: IngestLimits) -> Self {
        Self {
            limits,
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
            // Nobody knows of which upload.
            Err(error) => {
                tracing::warn!(%device, %error, "a message of the broker is no part of an upload");
                return Added::Nothing;
            }
        };
        let (id, limit) = (BlobId::from_hash(part.hash), self.limits.upload_bytes);
        if part.len as usize > limit {
            let error =
                format!("the upload is larger than the {limit} bytes that this server takes");
            let hint = "send fewer readings at a time, or raise the server's limit";
            return answer(id, 413, error, hint);
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
        if count >= upload.told + TELL_EVERY {
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

    /// Gives up the uploads that were silent for longest, until the rest fits.
    fn make_room(&mut self, newest: &Arc<str>) -> Vec<(Arc<str>, Answer)> {
        let mut answers = Vec::new();
        let memory = |uploads: &HashMap<Arc<str>, Upload>| -> usize {
            uploads
                .values()
                .map(|upload| upload.assembly.memory())
                .sum()
        };
        while self.uploads.len() > 1 && memory(&self.uploads) > self.limits.buffered_bytes {
            let others = self.uploads.iter().filter(|(device, _)| *device != newest);
            let oldest = others.min_by_key(|(_, upload)| upload.last);
            let Some(device) = oldest.map(|(device, _)| Arc::clone(device)) else {
                break;
            };
            if let Some(upload) = self.uploads.remove(&device) {
                tracing::warn!(%device, "too many uploads at a time come from the broker: one is given up");
                let answer = Answer {
                    error: "the server takes in as many uploads as it has memory for".to_owned(),
                    retry_after: Some(RETRY_AFTER_SECONDS),
                    ..Answer::new(upload.id, 503)
                };
                answers.push((device, answer));
            }
        }
        answers
    }

    fn forget_idle(&mut self) {
        let idle = self.limits.idle;
        self.uploads
            .retain(|_, upload| upload.last.elapsed() < idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: IngestLimits = IngestLimits {
        upload_bytes: 10_000,
        buffered_bytes: 20_000,
        idle: Duration::from_secs(60),
    };

    fn parts(upload: &[u8]) -> Vec<Vec<u8>> {
        Part::cut(upload, 100).map(|part| part.to_bytes()).collect()
    }

    fn statuses(added: Added) -> Vec<(String, u16)> {
        match added {
            Added::Nothing => Vec::new(),
            Added::Whole(..) => panic!("it is whole"),
            Added::Answers(answers) => {
                let mut answers = answers.into_iter();
                let one =
                    |(device, answer): (Arc<str>, Answer)| (device.to_string(), answer.status);
                answers.by_ref().map(one).collect()
            }
        }
    }

    #[test]
    fn a_device_hears_how_far_its_upload_is() {
        let mut pending = Pending::new(LIMITS);
        let device: Arc<str> = "hill".into();
        let upload = vec![5; 6550];
        let mut told = 0;
        for (place, part) in parts(&upload).iter().enumerate() {
            match pending.add(&device, part) {
                Added::Whole(id, whole) => {
                    assert_eq!((id, place), (BlobId::of(&upload), 65));
                    assert_eq!(whole, upload);
                }
                added => told += statuses(added).len(),
            }
        }
        assert_eq!(told, 2);
        assert!(pending.uploads.is_empty());
    }

    #[test]
    fn what_is_too_large_or_too_much_is_refused() {
        let mut pending = Pending::new(LIMITS);
        let large = parts(&vec![1; 10_001]);
        let answer = statuses(pending.add(&"hill".into(), &large[0]));
        assert_eq!(answer, [("hill".to_owned(), 413)]);
        assert!(statuses(pending.add(&"hill".into(), b"TSBP?")).is_empty());
        // Three uploads of which two fit, but for their last parts.
        let mut given_up = Vec::new();
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            for part in parts(&vec![number as u8; 9950]).split_last().unwrap().1 {
                given_up.extend(statuses(pending.add(&name.into(), part)));
            }
        }
        given_up.retain(|(_, status)| *status != CONTINUE);
        assert_eq!(given_up, [("a".to_owned(), 503), ("b".to_owned(), 503)]);
        let memory: usize = pending.uploads.values().map(|u| u.assembly.memory()).sum();
        assert!(memory <= LIMITS.buffered_bytes);
        pending.limits.idle = Duration::ZERO;
        pending.forget_idle();
        assert!(pending.uploads.is_empty());
    }

    #[test]
    fn a_devices_next_upload_takes_the_place_of_the_one_before() {
        let mut pending = Pending::new(LIMITS);
        let device: Arc<str> = "hill".into();
        pending.add(&device, &parts(&[1; 500])[0]);
        let next = parts(&[2; 150]);
        pending.add(&device, &next[1]);
        assert!(
            matches!(pending.add(&device, &next[0]), Added::Whole(_, upload) if upload == [2; 150])
        );
    }
}
