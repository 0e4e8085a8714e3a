//! Real agents send readings to the real server while everything goes wrong that can: `kill -9` of
//! both, a network that cuts, delays and throttles, full disks at both ends, clocks that jump,
//! files that are rotated, and a third party that sends copies of old uploads again in any order.
//! In the end the key owner decrypts what the server has, and it must be what the agents were
//! given: each row once.

mod clock;
mod disk;
mod events;
mod feeder;
mod fleet;
mod proxy;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tfhe_sbc_service::store::Store;
use tfhe_sbc_service::store::segments::uploads_in;
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::Failure;
use crate::link::Link;
use crate::random::Random;
use crate::readings::{Owner, readings_of};
use crate::server::Server;
use crate::site::Site;
use clock::Clock;
use disk::Disk;
use events::{Deck, Event};
use feeder::Rotation;
use fleet::Fleet;
use proxy::Proxy;

/// The time that the agents may take to send what waits, once all is well again.
const RECOVERY: Duration = Duration::from_secs(120);

/// The size of the disk of the server's store, as `mount` takes it.
const STORE_DISK: &str = "size=96m";

/// The hours that clocks are wrong by. Two days too early, no certificate is valid.
const CLOCKS: [f64; 6] = [-48.0, -12.0, -0.5, 0.0, 1.0, 700.0];

/// The outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Chaos {
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    pub(crate) agents: usize,
    /// The mischances, and how often each happened.
    pub(crate) events: BTreeMap<&'static str, u64>,
    /// True if events that are not possible here may be left out.
    pub(crate) may_skip: bool,
    /// The mischances that could not be made here, and why.
    pub(crate) skipped: Vec<String>,
    /// Connections by what the network did to them.
    pub(crate) network: BTreeMap<&'static str, u64>,
    /// Answers that the server's log has, by status.
    pub(crate) answers: BTreeMap<String, usize>,
    /// The number of old uploads that a third party sent again and that the server recognised.
    pub(crate) replayed: u64,
    /// The number of rows that the agents were given.
    pub(crate) rows: usize,
    pub(crate) uploads: usize,
    /// The number of rows that are not at the server, or more than once, or with other readings, or
    /// that no agent was given.
    pub(crate) lost: usize,
    pub(crate) twice: usize,
    pub(crate) wrong: usize,
    pub(crate) foreign: usize,
    /// The seconds from the end of mischance until the server had all; `None` if it never had.
    pub(crate) recovered_in: Option<f64>,
}

impl Chaos {
    pub(crate) fn passed(&self) -> bool {
        self.rows > 0
            && self.uploads > 0
            && (self.may_skip || undone(&self.events).is_empty())
            && self.recovered_in.is_some()
            && self.lost + self.twice + self.wrong + self.foreign == 0
    }
}

/// The server, which does not run all the time.
struct Host {
    site: Arc<Site>,
    store: PathBuf,
    log: PathBuf,
    address: SocketAddr,
    clock: Option<Clock>,
    server: Option<Server>,
}

impl Host {
    fn start(&mut self) -> Result<(), Failure> {
        let mut program = Command::new(&self.site.program);
        if let Some(clock) = &self.clock {
            clock.rule(&mut program);
        }
        let started = block_in_place(|| {
            Server::start_with(
                program,
                &self.site,
                self.address,
                &self.store,
                &self.log,
                &["--body-idle-timeout", "5", "--header-timeout", "5"],
            )
        })?;
        self.address = started.address;
        self.server = Some(started);
        Ok(())
    }

    fn kill(&mut self) -> Result<(), Failure> {
        self.server
            .take()
            .map_or(Ok(()), |mut server| server.kill())
    }
}

/// Lets `agents` agents run through mischance for some time.
pub(crate) async fn run(
    site: Arc<Site>,
    seed: u64,
    duration: Duration,
    agents: usize,
    may_skip: bool,
) -> Result<Chaos, Failure> {
    let mut random = Random::new(seed);
    let mut skipped = Vec::new();
    let disk = Disk::small(&site.directory.join("chaos-disk"), STORE_DISK)
        .inspect_err(|error| skipped.push(format!("full disks: {error}")))
        .ok();
    let server_clock = Clock::new(&site.directory.join("server-clock"))
        .inspect_err(|error| skipped.push(format!("clock jumps: {error}")))
        .ok();
    let store = match &disk {
        Some(disk) => disk.directory.join("store"),
        None => site.directory.join("chaos-store"),
    };
    let mut host = Host {
        store: store.clone(),
        log: site.directory.join("chaos.log"),
        address: ([127, 0, 0, 1], 0).into(),
        clock: server_clock,
        server: None,
        site: Arc::clone(&site),
    };
    host.start()?;
    let proxy = Proxy::start(host.address, random.next()).await?;
    let mut fleet = Fleet::start(&site, proxy.address, agents)?;
    let mut replayer = Link::new(host.address, site.client(Some(&site.board("replayer")?))?);

    let mut events: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut replayed = 0;
    let started = Instant::now();
    proxy.set_wild(true);
    let mut deck = Deck::default();
    while started.elapsed() < duration || wants_more(&deck, &events) {
        let pause = Duration::from_secs_f64(random.between(0.2, 1.5));
        sleep(pause).await;
        let event = deck.draw(&mut random);
        match event {
            Event::ServerKilled => {
                host.kill()?;
                sleep(Duration::from_secs_f64(random.between(0.0, 1.5))).await;
                host.start()?;
            }
            Event::AgentKilled => {
                fleet.kill(random.below(agents))?;
                sleep(Duration::from_secs_f64(random.between(0.0, 0.5))).await;
            }
            Event::ServerDiskFull => {
                let Some(disk) = &disk else { continue };
                disk.fill()?;
                sleep(Duration::from_secs_f64(random.between(0.5, 3.0))).await;
                if random.below(2) == 0 {
                    host.kill()?;
                }
                disk.free()?;
            }
            Event::AgentDiskFull => {
                let Some(disk) = fleet.spool_disk() else {
                    continue;
                };
                disk.fill()?;
                // Agents that end because of it are started again, as systemd does.
                for _ in 0..4 {
                    sleep(Duration::from_secs_f64(random.between(0.3, 1.0))).await;
                    fleet.revive()?;
                }
                if let Some(disk) = fleet.spool_disk() {
                    disk.free()?;
                }
            }
            Event::ServerClock => match &host.clock {
                Some(clock) => clock.set(CLOCKS[random.below(CLOCKS.len())])?,
                None => continue,
            },
            Event::AgentClock => {
                let hours = CLOCKS[random.below(CLOCKS.len())];
                if !fleet.set_clock(random.below(agents), hours)? {
                    continue;
                }
            }
            Event::Cut => proxy.cut_all(),
            Event::Replay => {
                let sent = replay(&store, &mut replayer, &mut random).await;
                replayed += sent;
                // Nothing was there yet, or the server was gone.
                if sent == 0 {
                    continue;
                }
            }
            Event::Renamed => fleet.rotate(random.below(agents), Rotation::Rename),
            Event::Truncated => fleet.rotate(random.below(agents), Rotation::CopyAndTruncate),
        }
        *events.entry(event.name()).or_default() += 1;
        fleet.revive()?;
        if host.server.as_mut().is_none_or(|server| !server.is_alive()) {
            host.start()?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();

    // All is well again.
    proxy.set_wild(false);
    proxy.cut_all();
    if let Some(clock) = &host.clock {
        clock.set(0.0)?;
    }
    fleet.reset_clocks()?;
    let given = fleet.stop_feeding()?;
    let recovered = settle(&mut fleet, &mut host).await?;
    replayed += replay(&store, &mut replayer, &mut random).await;
    let network = proxy.counts();
    let answers = answers(&host.log)?;
    fleet.stop()?;
    if let Some(server) = host.server.take() {
        block_in_place(|| server.stop())?;
    }
    let mut chaos = Chaos {
        seed,
        seconds,
        agents,
        events,
        may_skip,
        skipped,
        network,
        answers,
        replayed,
        rows: given.len(),
        uploads: 0,
        lost: 0,
        twice: 0,
        wrong: 0,
        foreign: 0,
        recovered_in: recovered.map(|after| after.as_secs_f64()),
    };
    compare(&mut chaos, &site, &store, &given)?;
    if !chaos.passed() {
        let undone = undone(&chaos.events);
        eprintln!(
            "FAIL mischance: lost {}, twice {}, wrong {}, foreign {}, never done: {undone:?}",
            chaos.lost, chaos.twice, chaos.wrong, chaos.foreign
        );
    }
    drop(disk);
    Ok(chaos)
}

/// The mischances that never happened.
fn undone(events: &BTreeMap<&'static str, u64>) -> Vec<&'static str> {
    let names = Event::ALL.into_iter().map(Event::name);
    names.filter(|name| !events.contains_key(name)).collect()
}

/// Returns whether a mischance has not happened that may still happen: the first deck is for all of
/// them, and two more for those that found nothing to do.
fn wants_more(deck: &Deck, events: &BTreeMap<&'static str, u64>) -> bool {
    deck.rounds() < 1 || (deck.rounds() < 3 && !undone(events).is_empty())
}

/// Waits until no agent has anything left, for as long as it could have more to read. Returns the
/// time at which that was, unless it took too long.
async fn settle(fleet: &mut Fleet, host: &mut Host) -> Result<Option<Duration>, Failure> {
    let started = Instant::now();
    let mut empty_since: Option<Instant> = None;
    while started.elapsed() < RECOVERY {
        fleet.revive()?;
        if host.server.as_mut().is_none_or(|server| !server.is_alive()) {
            host.start()?;
        }
        let empty = block_in_place(|| fleet.waiting()).is_ok_and(|batches| batches == 0);
        empty_since = empty.then(|| empty_since.unwrap_or_else(Instant::now));
        if let Some(since) = empty_since
            && since.elapsed() > fleet::UNREAD
        {
            return Ok(Some(since - started));
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(None)
}

/// Sends copies of some stored uploads, in any order, as a third party that has got hold of them.
async fn replay(store: &std::path::Path, link: &mut Link, random: &mut Random) -> u64 {
    // The server goes on meanwhile.
    let uploads = block_in_place(|| uploads_in(store)).unwrap_or_default();
    let mut taken = 0;
    for _ in 0..8.min(uploads.len()) {
        let (_, upload) = uploads[random.below(uploads.len())].clone();
        if let Ok(reply) = link.post("/v1/readings", upload.into()).await {
            taken += u64::from(reply.status == 200 || reply.status == 201);
        }
    }
    taken
}

/// Returns the number of the server's answers by status.
fn answers(log: &std::path::Path) -> Result<BTreeMap<String, usize>, Failure> {
    let log = std::fs::read(log)?;
    let mut answers = BTreeMap::new();
    for line in String::from_utf8_lossy(&log).lines() {
        let uploads = line.contains("path=\"/v1/readings\"");
        let status = line
            .split_once(" status=")
            .and_then(|(_, rest)| rest.split(' ').next());
        if let (true, Some(status)) = (uploads, status) {
            *answers.entry(status.to_owned()).or_default() += 1;
        }
    }
    Ok(answers)
}

/// Decrypts all that the server has and compares it with what the agents were given.
fn compare(
    chaos: &mut Chaos,
    site: &Site,
    store: &std::path::Path,
    given: &[String],
) -> Result<(), Failure> {
    let owner = Owner::new(&site.key("secret.tsbc"))?;
    let store = Store::open(store)?;
    let mut found: HashMap<String, usize> = HashMap::new();
    for stored in store.all()? {
        chaos.uploads += 1;
        for (label, readings) in owner.decrypt(&store.get(&stored.id)?)? {
            chaos.wrong += usize::from(!are_same(&readings, &readings_of(&label)));
            *found.entry(label).or_default() += 1;
        }
    }
    tally(chaos, given, found);
    Ok(())
}

fn are_same(found: &[f64], expected: &[f64]) -> bool {
    let mut pairs = found.iter().zip(expected);
    found.len() == expected.len() && pairs.all(|(a, b)| (a - b).abs() < 1e-6)
}

/// Counts rows that are missing, that are there too often, and that no agent was given.
fn tally(chaos: &mut Chaos, given: &[String], mut found: HashMap<String, usize>) {
    for label in given {
        match found.remove(label) {
            None => chaos.lost += 1,
            Some(1) => {}
            Some(_) => chaos.twice += 1,
        }
    }
    chaos.foreign = found.len();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{ROWS, Uploads, columns};
    use tfhe_sbc_core::keys::SecretKey;
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
    use tfhe_sbc_upload::fresh_seeds;
    use tfhe_sbc_upload::readings::Compact;

    fn nothing() -> Chaos {
        Chaos {
            seed: 0,
            seconds: 0.0,
            agents: 0,
            events: Event::ALL.map(|event| (event.name(), 1)).into(),
            may_skip: false,
            skipped: Vec::new(),
            network: BTreeMap::new(),
            answers: BTreeMap::new(),
            replayed: 0,
            rows: 3,
            uploads: 1,
            lost: 0,
            twice: 0,
            wrong: 0,
            foreign: 0,
            recovered_in: Some(1.0),
        }
    }

    #[test]
    fn lost_doubled_and_foreign_rows_are_told_apart() {
        let given = ["a", "b", "c"].map(str::to_owned);
        for (found, lost, twice, foreign) in [
            (&["a", "b", "c"][..], 0, 0, 0),
            (&["a", "c"], 1, 0, 0),
            (&["a", "b", "b", "c"], 0, 1, 0),
            (&["a", "b", "c", "d"], 0, 0, 1),
        ] {
            let mut chaos = nothing();
            let mut counts = HashMap::new();
            for label in found {
                *counts.entry((*label).to_owned()).or_default() += 1;
            }
            tally(&mut chaos, &given, counts);
            assert_eq!(
                (chaos.lost, chaos.twice, chaos.foreign),
                (lost, twice, foreign)
            );
            assert_eq!(chaos.passed(), found.len() == 3 && lost == 0);
        }
    }

    #[test]
    fn what_was_not_done_or_not_read_does_not_pass() {
        assert!(nothing().passed());
        for event in Event::ALL {
            let mut chaos = nothing();
            chaos.events.remove(event.name());
            assert!(!chaos.passed(), "{event:?}");
            chaos.may_skip = true;
            assert!(chaos.passed());
        }
        assert!(are_same(&[1.0, 2.0], &[1.0, 2.0]));
        assert!(!are_same(&[1.0], &[1.0, 2.0]));
        assert!(!are_same(&[], &[1.0, 2.0]));
        assert!(!are_same(&[1.0, 2.1], &[1.0, 2.0]));
    }

    #[test]
    fn what_boards_encrypt_is_what_the_owner_decrypts() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let secret = SecretKey::generate(parameters, &mut fresh_seeds().unwrap()).unwrap();
        let device = secret.device_key().to_bytes().unwrap();
        let upload = Uploads::of_bytes(device).unwrap().make("board", 7).unwrap();
        let rows = Owner::of_key(&secret).unwrap().decrypt(&upload).unwrap();
        assert_eq!(rows.len(), ROWS);
        let mut readings = std::collections::HashSet::new();
        for (row, (label, found)) in rows.iter().enumerate() {
            assert_eq!(*label, format!("board/7/{row}"));
            for (a, b) in found.iter().zip(readings_of(label)) {
                assert!((a - b).abs() < 1e-6, "{label}: {a} is not {b}");
            }
            readings.insert(found[0].to_bits());
        }
        assert!(readings.len() > ROWS / 2, "readings should differ");
    }

    #[test]
    fn compact_columns_are_decrypted_as_agents_encrypt_them() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let secret = SecretKey::generate(parameters, &mut fresh_seeds().unwrap()).unwrap();
        let uploads = Uploads::of_bytes(secret.device_key().to_bytes().unwrap()).unwrap();
        let mut columns = columns();
        columns[0].compact = Some(Compact {
            headroom: 14,
            body_bits: 31,
            feedback: true,
        });
        let labels: Vec<String> = (0..ROWS).map(|row| format!("agent/{row}")).collect();
        let upload = uploads.encrypt(&columns, &labels).unwrap();
        let rows = Owner::of_key(&secret).unwrap().decrypt(&upload).unwrap();
        assert_eq!(rows.len(), ROWS);
        for (label, found) in rows {
            assert!(are_same(&found, &readings_of(&label)), "{label}: {found:?}");
        }
    }
}
