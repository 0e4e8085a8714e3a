//! The network between agents and server. It passes bytes on, and while it is wild it delays,
//! throttles, swallows and cuts at random.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::Failure;
use crate::random::Random;

/// The proxy between agents and server.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: SocketAddr,
    wild: AtomicBool,
    random: Mutex<Random>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Changes when all connections are to end.
    epoch: watch::Sender<u64>,
}

/// The fate of a connection.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Passed,
    /// Each piece is delayed by this time.
    Delayed(Duration),
    /// Passes this number of bytes on ten times a second.
    Throttled(usize),
    /// Ends after this number of bytes from the agent, or from the server.
    CutAsking(usize),
    CutAnswering(usize),
    /// Nothing arrives.
    Swallowed,
}

impl Fate {
    fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Delayed(_) => "delayed",
            Self::Throttled(_) => "throttled",
            Self::CutAsking(_) => "cut while the agent sent",
            Self::CutAnswering(_) => "cut while the server answered",
            Self::Swallowed => "swallowed",
        }
    }

    fn drawn(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::Delayed(Duration::from_secs_f64(random.between(0.01, 0.3))),
            1 => Self::Throttled(128 << random.below(5)),
            2 | 3 => Self::CutAsking(random.below(6000)),
            // The receipt is the last that comes: often it is lost when all is stored.
            4 | 5 => Self::CutAnswering(random.below(4000)),
            6 => Self::Swallowed,
            _ => Self::Passed,
        }
    }
}

impl Proxy {
    pub(super) async fn start(target: SocketAddr, seed: u64) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target,
            wild: AtomicBool::new(false),
            random: Mutex::new(Random::new(seed)),
            counts: Mutex::default(),
            epoch: watch::Sender::new(0),
        });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((agent, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&accepting).pass(agent));
            }
        });
        Ok(Self { address, shared })
    }

    pub(super) fn set_wild(&self, wild: bool) {
        self.shared.wild.store(wild, Ordering::Relaxed);
    }

    pub(super) fn cut_all(&self) {
        self.shared.epoch.send_modify(|epoch| *epoch += 1);
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.shared.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    async fn pass(self: Arc<Self>, agent: TcpStream) {
        let fate = if self.wild.load(Ordering::Relaxed) {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            Fate::drawn(&mut random)
        } else {
            Fate::Passed
        };
        let counts = self.counts.lock();
        *counts
            .unwrap_or_else(PoisonError::into_inner)
            .entry(fate.name())
            .or_default() += 1;
        let mut epoch = self.epoch.subscribe();
        tokio::select! {
            () = self.forward(agent, fate) => {}
            _ = epoch.changed() => {}
        }
    }

    async fn forward(&self, agent: TcpStream, fate: Fate) {
        if let Fate::Swallowed = fate {
            sleep(Duration::from_secs(5)).await;
            return;
        }
        let Ok(server) = TcpStream::connect(self.target).await else {
            return;
        };
        let (from_agent, to_agent) = agent.into_split();
        let (from_server, to_server) = server.into_split();
        let (asking, answering) = match fate {
            Fate::CutAsking(bytes) => (bytes, usize::MAX),
            Fate::CutAnswering(bytes) => (usize::MAX, bytes),
            _ => (usize::MAX, usize::MAX),
        };
        // The direction that ends first ends both, as a cut does.
        tokio::select! {
            () = copy(from_agent, to_server, fate, asking) => {}
            () = copy(from_server, to_agent, fate, answering) => {}
        }
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    fate: Fate,
    mut left: usize,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let most = match fate {
            Fate::Throttled(bytes) => bytes,
            _ => buffer.len(),
        };
        let Ok(read @ 1..) = from.read(&mut buffer[..most]).await else {
            return;
        };
        match fate {
            Fate::Delayed(delay) => sleep(delay).await,
            Fate::Throttled(_) => sleep(Duration::from_millis(100)).await,
            _ => {}
        }
        let passed = read.min(left);
        if to.write_all(&buffer[..passed]).await.is_err() {
            return;
        }
        left -= passed;
        if left == 0 {
            return;
        }
    }
}
