//! The table of the engine: gates, lookups and keys beside those of TFHE-rs, then the engine's
//! bootstraps by batch size and threads beside the limits of the machine.

mod cases;
mod contestant;
pub(crate) mod instructions;
mod limits;
mod ours;
#[cfg_attr(feature = "tfhe-rs", path = "engine/tfhe_rs.rs")]
#[cfg_attr(not(feature = "tfhe-rs"), path = "engine/no_peer.rs")]
mod peer;
mod picture;
pub(crate) mod sets;
mod sweep;

use std::path::Path;
use std::time::Duration;

use rayon::ThreadPool;
use serde::Serialize;
use tfhe_sbc_core::parameter_sets::{
    GATES, MESSAGE_1_CARRY_1_P_FAIL_2M40, MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40,
};
use tfhe_sbc_core::parameters::ParameterSet;

use crate::engine::cases::{Cases, batch_sizes};
use crate::engine::contestant::{Contestant, Peer, pool, sides};
use crate::engine::limits::Limits;
use crate::engine::ours::{OurLookups, OurNands};
use crate::engine::sweep::Batch;
use crate::error::BenchError;
use crate::keys::{KeyCosts, Keys};
use crate::machine::Machine;
use crate::report::{Report, Row, Unit};
use crate::timing::interleave;

/// Bootstraps of the rows that time a batch.
const BATCH: usize = 32;

/// Threads of the row for the shortest time to one answer.
const LATENCY_THREADS: usize = 2;

/// The published figures of others for that row.
const LATENCY_SOURCE: &str = "published for TFHE-rs, 4 bits at 2^-40 on an EPYC 9R14: 12.72 ms \
     sequentially, 6.01 ms by multi-bit with groups of 3";

/// Comparisons of [`EngineReport::measure`], the shares of the budget that each gets, and
/// the sets whose batches are timed, each of which gets one share.
const COMPARISONS: usize = 7;
const COMPARISON_SHARES: u32 = 3;
const SWEPT_SETS: usize = 2;

/// Everything about the engine.
#[derive(Serialize)]
pub(crate) struct EngineReport {
    #[serde(flatten)]
    report: Report,
    /// The limits of the machine, by threads.
    limits: Vec<Limits>,
    /// Bootstraps by set, threads and size of batch.
    batches: Vec<Batch>,
}

impl EngineReport {
    /// Measures everything. Keys are made on every core.
    pub(crate) fn measure(machine: Machine, budget: Duration) -> Result<Self, BenchError> {
        let cores = machine.cores;
        eprintln!("limits of the machine");
        let limits = thread_counts(cores)
            .map(|threads| Limits::measure(&pool(threads)?, machine.largest_cache()))
            .collect::<Result<Vec<_>, BenchError>>()?;
        let sizes = batch_sizes(cores);
        let sweeps = SWEPT_SETS * limits.len() * sizes.len();
        let share = budget / (COMPARISONS as u32 * COMPARISON_SHARES + sweeps as u32);
        let mut table = Table {
            rows: Vec::new(),
            batches: Vec::new(),
            limits,
            sizes,
            key_maker: pool(cores)?,
            share,
        };
        table.gates()?;
        table.lookups(cores)?;
        table.batch_of_lookups(
            "pbs_2_2_2m40_batch32",
            MESSAGE_2_CARRY_2_P_FAIL_2M40,
            peer::lookups_2_2_p_fail_2m40,
        )?;
        table.batch_of_lookups(
            "pbs_1_1_2m40_batch32",
            MESSAGE_1_CARRY_1_P_FAIL_2M40,
            peer::lookups_1_1_p_fail_2m40,
        )?;
        Ok(Self {
            report: Report {
                machine,
                rows: table.rows,
            },
            limits: table.limits,
            batches: table.batches,
        })
    }

    /// The report as text.
    pub(crate) fn to_text(&self) -> String {
        format!(
            "{}\n\n{}\n\n{}",
            self.report.to_tables(),
            limits::to_table(&self.limits),
            sweep::to_table(&self.batches)
        )
    }

    /// Draws the batches into an SVG file.
    pub(crate) fn plot(&self, path: &Path) -> Result<(), BenchError> {
        let picture = picture::svg(&self.report.machine.summary(), &self.batches);
        let picture = picture.map_err(BenchError::Picture)?;
        std::fs::write(path, picture).map_err(BenchError::PictureFile)
    }
}

struct Table {
    rows: Vec<Row>,
    batches: Vec<Batch>,
    limits: Vec<Limits>,
    /// The sizes of the batches.
    sizes: Vec<usize>,
    key_maker: ThreadPool,
    share: Duration,
}

impl Table {
    fn gates(&mut self) -> Result<(), BenchError> {
        let mut keys = self.make_keys(GATES)?;
        let cases = Cases::signs(&mut keys, self.largest_batch())?;
        let ours = OurNands::new(&keys, &cases);
        let peer = self.key_maker.install(peer::nands)?;
        let peer = peer.as_deref();
        self.compare("nand", 1, 1, &ours, peer)?;
        self.compare("nand_batch32", 1, BATCH, &ours, peer)?;
        self.compare_keys("nand_server_key", &ours, peer);
        self.sweep(&keys, &cases)
    }

    fn lookups(&mut self, cores: usize) -> Result<(), BenchError> {
        let mut keys = self.make_keys(MESSAGE_2_CARRY_2)?;
        let cases = Cases::squares(&mut keys, self.largest_batch())?;
        let ours = OurLookups::new(&keys, &cases);
        let peer = self.key_maker.install(peer::lookups_2_2)?;
        self.compare("pbs_2_2_single", 1, 1, &ours, peer.as_deref())?;
        self.compare("pbs_2_2_batch32", 1, BATCH, &ours, peer.as_deref())?;
        self.compare_keys("server_key", &ours, peer.as_deref());
        drop(peer);
        if cores >= LATENCY_THREADS {
            let peer = || peer::multi_bit_lookups_2_2(LATENCY_THREADS);
            let peer = self.key_maker.install(peer)?;
            let name = "pbs_2_2_latency_2_threads";
            self.compare(name, LATENCY_THREADS, 1, &ours, peer.as_deref())?;
            if let Some(row) = self.rows.last_mut() {
                row.add_note(LATENCY_SOURCE);
            }
        }
        self.sweep(&keys, &cases)
    }

    /// A row for a set of which nothing else is asked.
    fn batch_of_lookups(
        &mut self,
        name: &str,
        set: ParameterSet,
        peer: fn() -> Result<Peer, BenchError>,
    ) -> Result<(), BenchError> {
        let mut keys = self.make_keys(set)?;
        let cases = Cases::squares(&mut keys, BATCH)?;
        let ours = OurLookups::new(&keys, &cases);
        let peer = self.key_maker.install(peer)?;
        self.compare(name, 1, BATCH, &ours, peer.as_deref())
    }

    fn largest_batch(&self) -> usize {
        self.sizes.last().copied().unwrap_or(1)
    }

    fn make_keys(&self, set: ParameterSet) -> Result<Keys<u64>, BenchError> {
        eprintln!("{}: making keys", set.name.as_str());
        self.key_maker.install(|| Keys::generate(set))
    }

    /// The time of one bootstrap of ours out of `batch`, beside one of the peer's, which
    /// has no batches.
    fn compare(
        &mut self,
        name: &str,
        threads: usize,
        batch: usize,
        ours: &dyn Contestant,
        peer: Option<&dyn Contestant>,
    ) -> Result<(), BenchError> {
        eprintln!("{name}: timing");
        let budget = self.share * COMPARISON_SHARES;
        let times = pool(threads)?.install(|| {
            let mut ours = ours.subject(batch);
            match peer {
                None => {
                    let [ours] = interleave([(&mut *ours, batch)], budget)?;
                    Ok::<_, BenchError>((ours, None))
                }
                Some(peer) => {
                    let mut peer = peer.subject(1);
                    let [ours, peer] = interleave([(&mut *ours, batch), (&mut *peer, 1)], budget)?;
                    Ok((ours, Some(peer)))
                }
            }
        })?;
        let mut note = sides(ours, peer);
        if batch > 1 {
            note = format!("ours per bootstrap of {batch}, the peer's one at a time. {note}");
        }
        self.rows
            .push(Row::times(name, times.0, times.1, threads, note));
        Ok(())
    }

    /// Adds the rows of the costs of the keys of both sides.
    fn compare_keys(&mut self, name: &str, ours: &dyn Contestant, peer: Option<&dyn Contestant>) {
        let our_costs = ours.key_costs();
        let peer_costs = peer.map(Contestant::key_costs);
        let mut push = |what: &str, unit, of: fn(&KeyCosts) -> f64, note: &str| {
            self.rows.push(Row::figures(
                format!("{name}_{what}"),
                unit,
                of(&our_costs),
                peer_costs.as_ref().map(of),
                note,
            ));
        };
        push(
            "memory",
            Unit::Bytes,
            |costs| costs.memory as f64,
            "bootstrapping and key-switching key, ready to compute; parameters as in the rows above",
        );
        push(
            "wire",
            Unit::Bytes,
            |costs| costs.wire as f64,
            "ours seeded, the peer's compressed (bincode)",
        );
        push(
            "generation",
            Unit::Seconds,
            |costs| costs.generation.as_secs_f64(),
            "one run on every core: seeded key, then ready to compute",
        );
    }

    /// Our bootstraps by threads and size of batch.
    fn sweep(&mut self, keys: &Keys<u64>, cases: &Cases<u64>) -> Result<(), BenchError> {
        for limits in &self.limits {
            let name = keys.parameters().name();
            eprintln!(
                "{}: timing batches, threads: {}",
                name.as_str(),
                limits.threads
            );
            let pool = pool(limits.threads)?;
            let batches =
                pool.install(|| sweep::batches(keys, cases, (limits, &self.sizes), self.share))?;
            self.batches.extend(batches);
        }
        Ok(())
    }
}

/// 1, 2, 4 and so on, and the number of cores.
fn thread_counts(cores: usize) -> impl Iterator<Item = usize> {
    let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
    doubled
        .take_while(move |&threads| threads < cores)
        .chain([cores])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_the_cores() {
        let counts = |cores| thread_counts(cores).collect::<Vec<_>>();
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(8), [1, 2, 4, 8]);
    }
}
