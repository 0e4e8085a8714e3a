//! The engine's table: gates and lookups beside TFHE-rs, the keys of both, and where
//! our time goes.

mod breakdown;
mod cases;
mod ours;
#[cfg_attr(feature = "tfhe-rs", path = "engine/tfhe_rs.rs")]
#[cfg_attr(not(feature = "tfhe-rs"), path = "engine/no_peer.rs")]
mod peer;

use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};

use crate::engine::breakdown::BATCHES;
use crate::engine::cases::Cases;
use crate::engine::ours::{OurLookups, OurNands};
use crate::error::BenchError;
use crate::keys::{KeyCosts, Keys};
use crate::report::{Row, Unit};
use crate::timing::{Subject, interleave};

/// Bootstraps of the rows that time a batch.
const BATCH: usize = 32;

/// Comparisons of [`rows`], and the shares of the budget that each gets; a batch of a
/// breakdown gets one share.
const COMPARISONS: u32 = 5;
const COMPARISON_SHARES: u32 = 3;

/// One side of a comparison: a key, and the bootstraps that it does.
trait Contestant: Send + Sync {
    /// The parameters, in a line.
    fn description(&self) -> String;
    /// What the key takes.
    fn key_costs(&self) -> KeyCosts;
    /// Runs of `batch` bootstraps on the threads of the current rayon pool.
    fn subject(&self, batch: usize) -> Box<dyn Subject + '_>;
}

/// All rows. Keys are made by `cores` threads.
pub(crate) fn rows(cores: usize, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let share = budget / (COMPARISONS * COMPARISON_SHARES + 2 * BATCHES.len() as u32);
    let mut table = Table {
        rows: Vec::new(),
        key_maker: pool(cores)?,
        budget: share * COMPARISON_SHARES,
    };
    table.gates(share)?;
    table.lookups(share)?;
    Ok(table.rows)
}

struct Table {
    rows: Vec<Row>,
    key_maker: ThreadPool,
    budget: Duration,
}

impl Table {
    fn gates(&mut self, share: Duration) -> Result<(), BenchError> {
        eprintln!("gates: making keys");
        let mut keys = self.key_maker.install(|| Keys::<u64>::generate(GATES))?;
        let cases = Cases::signs(&mut keys, BATCH)?;
        let ours = OurNands::new(&keys, &cases);
        let peer = self.key_maker.install(peer::nands)?;
        self.compare("nand", 1, 1, &ours, peer.as_deref())?;
        self.compare_keys("nand", &ours, peer.as_deref());
        drop(peer);
        if let Some(peer) = self.key_maker.install(peer::nands_key_switch_first)? {
            self.compare("nand_key_switch_first", 1, 1, &ours, Some(&*peer))?;
            self.compare_keys("nand_key_switch_first", &ours, Some(&*peer));
        }
        self.break_down("gates", &keys, &cases, share)
    }

    fn lookups(&mut self, share: Duration) -> Result<(), BenchError> {
        eprintln!("message_2_carry_2: making keys");
        let generate = || Keys::<u64>::generate(MESSAGE_2_CARRY_2);
        let mut keys = self.key_maker.install(generate)?;
        let cases = Cases::squares(&mut keys, BATCH)?;
        let ours = OurLookups::new(&keys, &cases);
        let peer = self.key_maker.install(peer::lookups)?;
        for (name, threads, batch) in [
            ("pbs_2_2_single", 1, 1),
            ("pbs_2_2_batch32", 1, BATCH),
            ("pbs_2_2_batch32_2_threads", 2, BATCH),
        ] {
            self.compare(name, threads, batch, &ours, peer.as_deref())?;
        }
        self.compare_keys("pbs_2_2", &ours, peer.as_deref());
        self.break_down("2_2", &keys, &cases, share)
    }

    /// The time of one bootstrap out of `batch`.
    fn compare(
        &mut self,
        name: &str,
        threads: usize,
        batch: usize,
        ours: &dyn Contestant,
        peer: Option<&dyn Contestant>,
    ) -> Result<(), BenchError> {
        eprintln!("{name}: timing");
        let budget = self.budget;
        let times = pool(threads)?.install(|| {
            let mut ours = ours.subject(batch);
            match peer {
                None => {
                    let [ours] = interleave([&mut *ours], batch, budget)?;
                    Ok::<_, BenchError>((ours, None))
                }
                Some(peer) => {
                    let mut peer = peer.subject(batch);
                    let [ours, peer] = interleave([&mut *ours, &mut *peer], batch, budget)?;
                    Ok((ours, Some(peer)))
                }
            }
        })?;
        let mut note = sides(ours, peer);
        if batch > 1 {
            note = format!("per bootstrap of {batch}. {note}");
        }
        self.rows
            .push(Row::times(name, times.0, times.1, threads, note));
        Ok(())
    }

    /// What the keys of both in the comparison of that name take.
    fn compare_keys(&mut self, row: &str, ours: &dyn Contestant, peer: Option<&dyn Contestant>) {
        let our_costs = ours.key_costs();
        let peer_costs = peer.map(Contestant::key_costs);
        let mut push = |what: &str, unit, of: fn(&KeyCosts) -> f64, note: &str| {
            self.rows.push(Row::figures(
                format!("{row}_{what}"),
                unit,
                of(&our_costs),
                peer_costs.as_ref().map(of),
                note,
            ));
        };
        push(
            "server_key_memory",
            Unit::Bytes,
            |costs| costs.memory as f64,
            "ready to compute; parameters as in the rows above",
        );
        push(
            "server_key_wire",
            Unit::Bytes,
            |costs| costs.wire as f64,
            "ours seeded, the peer's compressed (bincode)",
        );
        push(
            "server_key_generation",
            Unit::Seconds,
            |costs| costs.generation.as_secs_f64(),
            "one run on every core: seeded key, then ready to compute",
        );
    }

    fn break_down<T: MaskTorus>(
        &mut self,
        set: &str,
        keys: &Keys<T>,
        cases: &Cases<T>,
        share: Duration,
    ) -> Result<(), BenchError> {
        eprintln!("{set}: timing the parts of a bootstrap");
        let rows = pool(1)?.install(|| breakdown::rows(set, keys, cases, share))?;
        self.rows.extend(rows);
        Ok(())
    }
}

/// Who is compared with whom.
fn sides(ours: &dyn Contestant, peer: Option<&dyn Contestant>) -> String {
    match peer {
        None => ours.description(),
        Some(peer) => format!("{} / {}", ours.description(), peer.description()),
    }
}

fn pool(threads: usize) -> Result<ThreadPool, BenchError> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}
