//! The server's end of a broker: parts become uploads, within bounds of memory and time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, interval};

use super::answer::{Answer, CONTINUE};
use super::connection::{Broker, Connection, MqttError};
use super::packet::{Incoming, Outgoing};
use super::part::{Assembly, Part, PartError};
use super::{answer_topic, device_of};
use crate::store::BlobId;

/// Fewest bytes of a part, unless it is the last.
const MIN_PART: usize = 64;
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
    /// Memory for all uploads, those that are being stored included.
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
    let mut storing = Storing::default();
    let mut pause = SHORTEST_PAUSE;
    loop {
        let began = Instant::now();
        tokio::select! {
            ended = session(&config, limits, &take_in, &mut storing) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "no uploads from the broker for now");
                }
            }
            _ = stopping.wait_for(|stopping| *stopping) => return storing.tasks.detach_all(),
        }
        pause = match began.elapsed() > LONGEST_PAUSE {
            true => SHORTEST_PAUSE,
            false => (pause * 2).min(LONGEST_PAUSE),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return storing.tasks.detach_all(),
        }
    }
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
    let mut tick = interval(KEEP_ALIVE / 3);
    let mut heard = Instant::now();
    loop {
        let mut outgoing = Vec::new();
        let mut acknowledge = None;
        let is_full = storing.tasks.len() >= STORED_AT_A_TIME;
        tokio::select! {
            packet = connection.next(), if !is_full => {
                heard = Instant::now();
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
                // Nobody listened to the broker while there were enough.
                if is_full {
                    heard = Instant::now();
                }
                match stored {
                    Ok(answer) => outgoing.push(answer),
                    Err(error) => log_panic(&error),
                }
            }
            _ = tick.tick() => {
                pending.forget_idle();
                connection.send(Outgoing::Ping).await?;
                if !is_full && heard.elapsed() > KEEP_ALIVE * 3 / 2 {
                    return Err(connection.silent());
                }
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

/// Uploads that are checked and stored. They go on when the broker is lost.
#[derive(Default)]
struct Storing {
    tasks: JoinSet<(Arc<str>, Answer)>,
    /// Of all of them.
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

/// Bytes that count as long as this is held.
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
    /// Bytes of the uploads that are being stored.
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
            // Nobody knows of which upload.
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
        // A device that was started again begins at its first part, and hears at once how far it is.
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

    /// Gives up the uploads that were silent for longest, and at last the newest, until the rest
    /// fits.
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
        let mut pending = Pending::new(LIMITS, Arc::default());
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
        let mut pending = Pending::new(LIMITS, Arc::default());
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
        let mut pending = Pending::new(LIMITS, Arc::default());
        let device: Arc<str> = "hill".into();
        pending.add(&device, &parts(&[1; 500])[0]);
        let next = parts(&[2; 150]);
        pending.add(&device, &next[1]);
        assert!(
            matches!(pending.add(&device, &next[0]), Added::Whole(_, upload) if upload == [2; 150])
        );
    }

    #[test]
    fn one_upload_alone_stays_within_the_memory() {
        let mut pending = Pending::new(LIMITS, Arc::default());
        let device: Arc<str> = "hill".into();
        let most = |pending: &Pending| pending.uploads.values().map(|u| u.assembly.memory()).sum();
        // In parts of 64 bytes, 9600 bytes take 24000 with what each part costs.
        let upload = vec![5; 9600];
        let mut answers = Vec::new();
        for part in Part::cut(&upload, 64) {
            answers.extend(statuses(pending.add(&device, &part.to_bytes())));
            let memory: usize = most(&pending);
            assert!(memory <= LIMITS.buffered_bytes);
        }
        assert!(answers.contains(&("hill".to_owned(), 413)), "{answers:?}");
        // Smaller parts are none.
        let mut tiny = Part::cut(&upload, 63);
        let added = pending.add(&device, &tiny.next().unwrap().to_bytes());
        assert_eq!(statuses(added), [("hill".to_owned(), 422)]);
        // What is being stored counts.
        pending.uploads.clear();
        let held = Held::new(&pending.storing, LIMITS.buffered_bytes - 100);
        let part = &parts(&[1; 500])[0];
        assert_eq!(
            statuses(pending.add(&device, part)),
            [("hill".to_owned(), 503)]
        );
        drop(held);
        assert!(statuses(pending.add(&device, part)).is_empty());
    }

    #[test]
    fn a_device_that_begins_again_hears_how_far_it_was() {
        let mut pending = Pending::new(LIMITS, Arc::default());
        let device: Arc<str> = "hill".into();
        let parts = parts(&vec![5; 9950]);
        for part in &parts[..60] {
            pending.add(&device, part);
        }
        let mut told = Vec::new();
        for (place, part) in parts[..60].iter().enumerate() {
            if let Added::Answers(answers) = pending.add(&device, part) {
                told.extend(answers.iter().map(|(_, answer)| (place, answer.parts)));
            }
        }
        assert_eq!(told, [(0, 60), (32, 60)]);
    }

    /// A broker of one connection, which has a backlog.
    async fn backlog(uploads: Vec<Vec<u8>>) -> (String, tokio::task::JoinHandle<usize>) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("mqtt://{}", listener.local_addr().unwrap());
        let broker = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = b"\x20\x02\0\0\x90\x03\0\x01\x01".to_vec();
            for (number, upload) in uploads.iter().enumerate() {
                for part in Part::cut(upload, 1000) {
                    let (topic, payload) = (format!("t/d{number}/up"), part.to_bytes());
                    let packet = Outgoing::Publish {
                        topic: &topic,
                        payload: &payload,
                        id: 1,
                    };
                    bytes.extend(packet.to_bytes());
                }
            }
            stream.write_all(&bytes).await.unwrap();
            let (mut received, mut answers) = (Vec::new(), 0);
            while answers < uploads.len() {
                assert!(stream.read_buf(&mut received).await.unwrap() > 0);
                let words = b"\"status\":201";
                answers = received
                    .windows(words.len())
                    .filter(|window| window == words)
                    .count();
            }
            answers
        });
        (url, broker)
    }

    #[tokio::test]
    async fn a_backlog_is_taken_in_to_its_end() {
        let uploads = (0..100).map(|number| vec![number; 500]).collect();
        let (url, broker) = backlog(uploads).await;
        let config = IngestConfig {
            broker: Broker::new(&url, None, None).unwrap(),
            prefix: "t".to_owned(),
            client: "server".to_owned(),
        };
        let (stop, stopping) = watch::channel(false);
        let take_in = |_: Arc<str>, id, _: Vec<u8>| async move { Answer::new(id, 201) };
        let ingest = tokio::spawn(run(config, LIMITS, take_in, stopping));
        let answers = tokio::time::timeout(Duration::from_secs(20), broker).await;
        assert_eq!(answers.expect("it hangs").unwrap(), 100);
        stop.send(true).unwrap();
        ingest.await.unwrap();
    }
}
