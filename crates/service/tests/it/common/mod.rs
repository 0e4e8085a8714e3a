//! A server on loopback with a backend that only pretends, and clients for it.

pub(crate) mod former;
#[path = "../../../../cli/tests/it/common/ports.rs"]
mod ports;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) use ports::free_address;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_query::evaluate::StoredUpload;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_service::backend::{
    Backend, BackendError, BackendErrorKind, Evaluation, QueryDescription, Uploader,
};
use tfhe_sbc_service::certificates::{self, TlsFiles};
use tfhe_sbc_service::frames::FramesConfig;
use tfhe_sbc_service::server::{self, Keeping, Limits, ServeError, ServerConfig, StandingConfig};
use tfhe_sbc_service::store::{Description, Retention, Store};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::identity::CertificateFiles;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_transport::tls;
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::pads::PadFile;
use tfhe_sbc_upload::readings::{Column, Compact};
use tokio::sync::oneshot;

/// Takes uploads that start with "readings", and two messages with their checksums; answers a query with the readings
/// and the query. The query "hold" waits until it is released or cancelled,
/// "panic" panics, "costly" is refused until it is released. The rows of an upload are of the moments that stand in it.
#[derive(Default)]
pub(crate) struct FakeBackend {
    pub(crate) released: AtomicBool,
    pub(crate) cancelled: AtomicBool,
    /// The queries that were evaluated.
    pub(crate) asked: Mutex<Vec<String>>,
}

/// What stands between a query and the period that it was narrowed to.
const IN: &str = " in ";

/// The moments that stand in an upload, between spaces.
fn moments(upload: &[u8]) -> Vec<Moment> {
    let text = String::from_utf8_lossy(upload);
    let words = text.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

impl Backend for FakeBackend {
    fn open<'a>(&self, sent: &'a [u8], _: Uploader<'_>) -> Result<&'a [u8], BackendError> {
        Ok(sent)
    }

    fn check_upload(&self, bytes: &[u8], _: Uploader<'_>) -> Result<UploadSummary, BackendError> {
        if bytes.starts_with(b"readings") || is_upload(bytes) {
            Ok(UploadSummary {
                span: Span::of_moments(moments(bytes)),
                ..summary(bytes.len() as u64)
            })
        } else if bytes.starts_with(b"foreign") {
            Err(error(
                "made under key 2, not key 1",
                "encrypt with key 1",
                BackendErrorKind::WrongKey,
            ))
        } else {
            Err(error(
                "these are no readings",
                "send readings",
                BackendErrorKind::BadInput,
            ))
        }
    }

    fn describe(&self, upload: &[u8]) -> Result<Description, BackendError> {
        let summary = self.check_upload(upload, Uploader::Owner)?;
        Ok(Description {
            summary,
            device: None,
        })
    }

    fn check_pads(&self, file: &[u8]) -> Result<PadFile, BackendError> {
        PadFile::read(file)
            .map_err(|_| error("these are no pads", "send pads", BackendErrorKind::BadInput))
    }

    fn columns(&self, upload: &[u8]) -> Result<Vec<Column>, BackendError> {
        Ok(vec![column(upload.len() as u32)])
    }

    fn moments(&self, upload: &[u8]) -> Result<Vec<Moment>, BackendError> {
        Ok(moments(upload))
    }

    fn describe_query(&self, query: &[u8]) -> Result<QueryDescription, BackendError> {
        let text = String::from_utf8_lossy(query);
        if text == "nonsense" {
            return Err(error(
                "no query",
                "send a query",
                BackendErrorKind::BadInput,
            ));
        }
        Ok(QueryDescription {
            scope: Scope {
                newest: text.contains("newest").then_some(1),
                by: match text.contains("daily") {
                    true => "day".parse().unwrap(),
                    false => "hour".parse().unwrap(),
                },
                ..Scope::default()
            },
            questions: vec![text.into_owned()],
        })
    }

    fn within(
        &self,
        query: &[u8],
        (from, until): (Moment, Moment),
    ) -> Result<Vec<u8>, BackendError> {
        let period = format!("{IN}{from} {until}");
        Ok([query, period.as_bytes()].concat())
    }

    fn evaluate(
        &self,
        readings: &[StoredUpload<'_>],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError> {
        let text = String::from_utf8_lossy(query);
        self.asked.lock().unwrap().push(text.clone().into_owned());
        if let Some((_, period)) = text.split_once(IN) {
            let ends = moments(period.as_bytes());
            let mut all = readings.iter().flat_map(|readings| moments(readings.bytes));
            if !all.any(|moment| ends[0] <= moment && moment < ends[1]) {
                return Err(error("no rows", "ask otherwise", BackendErrorKind::NoRows));
            }
        }
        let plain = text.split(IN).next().unwrap_or_default().to_owned();
        match plain.as_bytes() {
            b"costly" if !self.released.load(Ordering::SeqCst) => {
                return Err(error("too costly", "ask less", BackendErrorKind::BadInput));
            }
            b"panic" => panic!("as asked"),
            b"nonsense" => {
                return Err(error(
                    "no query",
                    "send a query",
                    BackendErrorKind::BadInput,
                ));
            }
            b"hold" => {
                progress.expect_bootstraps(42);
                progress.add_bootstraps(7);
                while !self.released.load(Ordering::SeqCst) {
                    if progress.is_cancelled() {
                        self.cancelled.store(true, Ordering::SeqCst);
                        return Err(error("called off", "", BackendErrorKind::Cancelled));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            }
            _ => {}
        }
        Ok(Evaluation {
            result: {
                let readings = readings.iter().map(|readings| readings.bytes);
                [&readings.collect::<Vec<_>>().concat(), query].concat()
            },
            bootstraps: 42,
        })
    }
}

fn is_upload(bytes: &[u8]) -> bool {
    let metadata = Message::parse(bytes);
    let list = metadata.and_then(|(_, list)| Message::parse(list));
    list.is_ok_and(|(_, rest)| rest.is_empty())
}

fn error(message: &str, hint: &str, kind: BackendErrorKind) -> BackendError {
    BackendError {
        message: message.to_owned(),
        hint: hint.to_owned(),
        kind,
    }
}

/// The column that the pretending backend sees in an upload of `bytes` bytes.
pub(crate) fn column(bytes: u32) -> Column {
    Column {
        name: "temperature".to_owned(),
        unit: "K".to_owned(),
        offset: -0.1,
        scale: 0.3,
        bits: bytes,
        compact: Some(Compact {
            headroom: 14,
            body_bits: 30,
            feedback: true,
        }),
        derived: Default::default(),
    }
}

/// The filter that all uploads meet.
pub(crate) const ALL: Filter = Filter::ALL;

pub(crate) fn summary(elements: u64) -> UploadSummary {
    UploadSummary {
        elements,
        rows: elements / 2,
        columns: vec!["temperature".to_owned(), "humidity".to_owned()],
        ..UploadSummary::default()
    }
}

/// Everything one test needs, in a directory that goes away with it.
pub(crate) struct Site {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) tls: TlsFiles,
}

impl Site {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let tls = certificates::write_tls_directory(
            &directory.path().join("tls"),
            &names,
            "pi-1",
            "alice",
        )
        .unwrap();
        Self { directory, tls }
    }

    pub(crate) fn identity(&self, own: &CertificateFiles) -> Identity {
        Identity::load(&self.tls.ca.certificate, own).unwrap()
    }

    pub(crate) fn store_directory(&self) -> PathBuf {
        self.directory.path().join("store")
    }
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) site: Site,
    pub(crate) store: Arc<Store>,
    pub(crate) backend: Arc<FakeBackend>,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::with_limits(Limits::default())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::with_status(limits, None)
    }

    /// Starts a server with the status page on an address of its own.
    pub(crate) fn with_status(limits: Limits, status: Option<SocketAddr>) -> Self {
        Self::with_all(
            Site::new(),
            limits,
            status,
            Retention::default(),
            Keeping::default(),
            StandingConfig::default(),
        )
    }

    /// Starts a server that keeps results and takes jobs, on a store that may have some.
    pub(crate) fn with_jobs(site: Site, keeping: Keeping) -> Self {
        let keeping = Keeping {
            directory: Some(site.store_directory()),
            ..keeping
        };
        let none = StandingConfig::default();
        Self::with_all(
            site,
            Limits::default(),
            None,
            Retention::default(),
            keeping,
            none,
        )
    }

    /// Starts a server that takes standing queries, on a store that may have some.
    pub(crate) fn with_standing(
        site: Site,
        retention: Retention,
        standing: StandingConfig,
    ) -> Self {
        let standing = StandingConfig {
            directory: Some(site.store_directory().join("standing")),
            ..standing
        };
        let keeping = Keeping::default();
        Self::with_all(site, Limits::default(), None, retention, keeping, standing)
    }

    /// Stops it, and returns its site.
    pub(crate) fn stopped(mut self) -> Site {
        self.join().unwrap();
        // A store is open to one process at a time: it is dropped with the rest.
        std::mem::replace(&mut self.site, Site::new())
    }

    /// Stops it, and starts another one on the same store.
    pub(crate) fn again(self, keeping: Keeping) -> Self {
        Self::with_jobs(self.stopped(), keeping)
    }

    /// Starts a server on a store that may have uploads.
    pub(crate) fn with_retention(site: Site, limits: Limits, retention: Retention) -> Self {
        let (keeping, standing) = (Keeping::default(), StandingConfig::default());
        Self::with_all(site, limits, None, retention, keeping, standing)
    }

    fn with_all(
        site: Site,
        limits: Limits,
        status: Option<SocketAddr>,
        retention: Retention,
        keeping: Keeping,
        standing: StandingConfig,
    ) -> Self {
        let store = Arc::new(Store::open(&site.store_directory()).unwrap());
        let backend = Arc::new(FakeBackend::default());
        let config = ServerConfig {
            identity: site.identity(&site.tls.server),
            revoked: Some(site.tls.revoked.clone()),
            status,
            broker: None,
            frames: FramesConfig::default(),
            retention,
            keeping,
            standing,
            limits,
        };
        let (stop, stopped) = oneshot::channel();
        let (listening, address) = mpsc::channel();
        let thread = {
            let (store, backend) = (Arc::clone(&store), Arc::clone(&backend));
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                    listening.send(listener.local_addr().unwrap()).unwrap();
                    let shutdown = async {
                        let _ = stopped.await;
                    };
                    server::serve(&config, listener, store, backend, shutdown).await
                })
            })
        };
        let address = address.recv().unwrap();
        Self {
            site,
            store,
            backend,
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Tries to start a server for this site.
    pub(crate) fn try_start(site: &Site) -> Result<(), ServeError> {
        Self::try_start_with(site, None)
    }

    pub(crate) fn try_start_with(
        site: &Site,
        status: Option<SocketAddr>,
    ) -> Result<(), ServeError> {
        Self::try_start_with_all(site, status, Retention::default())
    }

    /// Tries to start a server that retains so many bytes.
    pub(crate) fn try_start_to_retain(site: &Site, bytes: u64) -> Result<(), ServeError> {
        let retention = Retention {
            bytes: Some(bytes),
            ..Retention::default()
        };
        Self::try_start_with_all(site, None, retention)
    }

    fn try_start_with_all(
        site: &Site,
        status: Option<SocketAddr>,
        retention: Retention,
    ) -> Result<(), ServeError> {
        let store = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(store.path()).unwrap());
        let config = ServerConfig {
            identity: site.identity(&site.tls.server),
            revoked: Some(site.tls.revoked.clone()),
            status,
            broker: None,
            frames: FramesConfig::default(),
            retention,
            keeping: Keeping::default(),
            standing: StandingConfig::default(),
            limits: Limits::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let backend = Arc::new(FakeBackend::default());
            server::serve(&config, listener, store, backend, async {}).await
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn connect(&self, own: &CertificateFiles) -> Result<Client, ClientError> {
        Client::connect(&self.url(), &self.site.identity(own))
    }

    pub(crate) fn device(&self) -> Client {
        self.connect(&self.site.tls.device).unwrap()
    }

    pub(crate) fn owner(&self) -> Client {
        self.connect(&self.site.tls.owner).unwrap()
    }

    pub(crate) fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub(crate) fn join(&mut self) -> Result<(), ServeError> {
        self.begin_stop();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Sends bytes as the owner would and reads until the server closes.
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.raw_stream();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn raw_stream(&self) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
        let config = tls::client_config(&self.site.identity(&self.site.tls.owner)).unwrap();
        let name = "localhost".try_into().unwrap();
        let connection = rustls::ClientConnection::new(config, name).unwrap();
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        rustls::StreamOwned::new(connection, stream)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.backend.released.store(true, Ordering::SeqCst);
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The most bytes of a result that tests read.
pub(crate) const ANY_LENGTH: u64 = 1 << 20;

/// Waits for something to come true.
#[track_caller]
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The value of a line of the metrics.
#[track_caller]
pub(crate) fn metric(client: &Client, line: &str) -> u64 {
    let text = client.metrics().unwrap();
    let value = text
        .lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("no {line} in:\n{text}"))
        .parse()
        .unwrap()
}

pub(crate) fn file_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Flips a bit in the middle of the record that has an upload.
#[track_caller]
pub(crate) fn damage(store: &Store, id: &BlobId) {
    let (path, record) = store.place(id).unwrap().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::midpoint(record.start as usize, record.end as usize)] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

/// Removes the index of a store, which nobody uses.
pub(crate) fn lose_index(directory: &Path) {
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = std::fs::remove_file(directory.join(name));
    }
}

/// Gives back all room that can be.
pub(crate) fn compact(store: &Store) {
    while store.compact().unwrap() {}
}

/// The number of bytes of all segments.
pub(crate) fn segment_bytes(directory: &Path) -> u64 {
    let segments = directory.join("segments");
    let length = |name: &String| segments.join(name).metadata().unwrap().len();
    file_names(&segments).iter().map(length).sum()
}

/// Returns the message and the hint of a refusal with a status.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(
    result: Result<T, ClientError>,
    expected_status: u16,
) -> String {
    match result {
        Err(ClientError::Refused {
            status,
            message,
            hint,
        }) if status == expected_status => {
            assert!(!hint.is_empty(), "{message} has no hint");
            format!("{message} | {hint}")
        }
        other => panic!("expected a refusal with {expected_status}, got {other:?}"),
    }
}
