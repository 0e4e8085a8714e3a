//! Tests of stopping: work under way is finished, and no new work is begun.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::common::{ALL, ANY_LENGTH, FakeBackend, Site, TestServer, eventually, metric};
use tfhe_sbc_service::certificates::TlsFiles;
use tfhe_sbc_service::frames::FramesConfig;
use tfhe_sbc_service::server::{self, Keeping, Limits, ServeError, ServerConfig, StandingConfig};
use tfhe_sbc_service::store::{Retention, Store};
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::protocol::Selection;

#[test]
fn a_query_under_way_is_finished() {
    let mut server = TestServer::start();
    let owner = server.owner();
    owner.upload(b"readings").unwrap();
    let backend = Arc::clone(&server.backend);
    let (url, identity) = (server.url(), server.site.identity(&server.site.tls.owner));
    thread::scope(|scope| {
        let held = scope.spawn(|| owner.query(&Selection::Latest, b"hold", ANY_LENGTH));
        eventually("it runs", || {
            metric(&owner, "tfhe_sbc_evaluations_running") == 1
        });
        server.begin_stop();
        eventually("nobody new gets in", || {
            matches!(
                Client::connect(&url, &identity),
                Err(ClientError::Unreachable { .. })
            )
        });
        assert!(!held.is_finished());
        backend.released.store(true, Ordering::SeqCst);
        assert_eq!(held.join().unwrap().unwrap().result, b"readingshold");
    });
    server.join().unwrap();
}

#[test]
fn waiting_for_what_is_under_way_has_an_end() {
    let mut server = TestServer::with_limits(Limits {
        drain_timeout: Duration::from_millis(100),
        ..Limits::default()
    });
    let owner = server.owner();
    owner.upload(b"readings").unwrap();
    let backend = Arc::clone(&server.backend);
    thread::scope(|scope| {
        let held = scope.spawn(|| owner.query(&Selection::Latest, b"hold", ANY_LENGTH));
        eventually("it runs", || {
            metric(&owner, "tfhe_sbc_evaluations_running") == 1
        });
        assert!(matches!(
            server.join(),
            Err(ServeError::DrainTimeout { .. })
        ));
        assert!(backend.cancelled.load(Ordering::SeqCst));
        let broken = held.join().unwrap().unwrap_err();
        assert!(
            matches!(broken, ClientError::BrokenOff { .. }),
            "{broken:?}"
        );
    });
}

const SERVING: &str = "TFHE_SBC_TEST_SITE_TO_SERVE";

/// Runs itself in a child process that serves until it gets a signal.
#[cfg(unix)]
#[test]
fn sigterm_stops_gently() {
    if let Ok(directory) = std::env::var(SERVING) {
        serve_until_told(Path::new(&directory));
    }
    let site = Site::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shutdown::sigterm_stops_gently", "--nocapture"])
        .env(SERVING, site.directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines
        .find_map(|line| Some(line.unwrap().split_once("listening ")?.1.to_owned()))
        .unwrap();
    let owner = Client::connect(&url, &site.identity(&site.tls.owner)).unwrap();
    owner.upload(b"readings").unwrap();
    thread::scope(|scope| {
        let held = scope.spawn(|| owner.query(&Selection::Latest, b"hold", ANY_LENGTH));
        eventually("it runs", || {
            metric(&owner, "tfhe_sbc_evaluations_running") == 1
        });
        let killed = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
        assert_eq!(held.join().unwrap().unwrap().result, b"readingshold");
    });
    assert!(child.wait().unwrap().success());
    let store = Store::open(&site.store_directory()).unwrap();
    assert_eq!(store.list(&ALL).unwrap().readings.len(), 1);
}

fn serve_until_told(directory: &Path) -> ! {
    let tls = TlsFiles::in_directory(&directory.join("tls"));
    let identity = Identity::load(&tls.ca.certificate, &tls.server).unwrap();
    let store = Arc::new(Store::open(&directory.join("store")).unwrap());
    let backend = Arc::new(FakeBackend::default());
    let release = Arc::clone(&backend);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(1500));
        release.released.store(true, Ordering::SeqCst);
    });
    let config = ServerConfig {
        identity,
        revoked: None,
        status: None,
        broker: None,
        frames: FramesConfig::default(),
        retention: Retention::default(),
        keeping: Keeping::default(),
        standing: StandingConfig::default(),
        limits: Limits::default(),
    };
    let served = server::run(
        &config,
        ([127, 0, 0, 1], 0).into(),
        store,
        backend,
        |address| {
            println!("listening https://{address}");
        },
    );
    std::process::exit(i32::from(served.is_err()))
}
