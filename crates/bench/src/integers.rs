//! The table of integers: operators on encrypted integers beside TFHE-rs' high-level ones, and
//! computations on many integers at once, both sides on two threads.
//!
//! Our side computes all elements of a row as one batch. The peer, which has no batches, computes
//! elements in parallel, and by itself the blocks of one element in parallel.

mod contestant;
mod ours;
#[cfg_attr(feature = "tfhe-rs", path = "integers/tfhe_rs.rs")]
#[cfg_attr(not(feature = "tfhe-rs"), path = "integers/no_peer.rs")]
mod peer;
mod rows;
mod tasks;

use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::error::BenchError;
use crate::integers::contestant::Peer;
use crate::integers::ours::Ours;
use crate::integers::rows::{Bar, Definition, PUBLISHED_SOURCE};
use crate::keys::{Keys, describe};
use crate::machine::Machine;
use crate::report::{Report, Row};
use crate::text_table::{align_right, table};
use crate::timing::interleave;

/// Threads of both sides.
const THREADS: usize = 2;

/// The figures of a row besides its times.
#[derive(Serialize)]
struct Counts {
    /// Our bootstraps for one operation.
    bootstraps: u64,
    /// The published bootstraps of TFHE-rs.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_bootstraps: Option<u64>,
    /// The ratio that must not be exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<f64>,
    /// The ratio that is aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<f64>,
}

/// Everything about the integers.
#[derive(Serialize)]
pub(crate) struct IntegersReport {
    #[serde(flatten)]
    report: Report<Counts>,
}

impl IntegersReport {
    /// Measures the rows of these names, or all of them.
    pub(crate) fn measure(
        machine: Machine,
        budget: Duration,
        names: &[String],
    ) -> Result<Self, BenchError> {
        let definitions = rows::chosen(names).map_err(BenchError::Rows)?;
        let share = budget / definitions.len().max(1) as u32;
        let pool = ThreadPoolBuilder::new().num_threads(THREADS).build()?;
        let peer = match definitions.iter().any(|row| row.bar.is_some()) {
            true => pool.install(peer::generate)?,
            false => None,
        };
        let mut keys: Option<Keys<u64>> = None;
        let mut rows = Vec::new();
        for definition in definitions {
            let keys = match &mut keys {
                Some(keys) if *keys.parameters().as_set() == definition.set => keys,
                keys => {
                    eprintln!("{}: making keys", definition.set.name);
                    keys.insert(pool.install(|| Keys::generate(definition.set))?)
                }
            };
            rows.push(measure(&definition, keys, peer.as_deref(), &pool, share)?);
        }
        Ok(Self {
            report: Report { machine, rows },
        })
    }

    /// The report as text.
    pub(crate) fn to_text(&self) -> String {
        let mut bars = table();
        bars.set_header(["", "ours/peer", "at most", "aim", "bootstraps", "TFHE-rs'"]);
        for row in &self.report.rows {
            let two = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.2}"));
            let whole = |x: Option<u64>| x.map_or(String::new(), |x| x.to_string());
            let counts = &row.more;
            bars.add_row([
                row.name().to_owned(),
                two(row.ratio()),
                two(counts.floor),
                two(counts.target),
                counts.bootstraps.to_string(),
                whole(counts.published_bootstraps),
            ]);
        }
        align_right(&mut bars, 1..6);
        format!(
            "{}\n\n{bars}\n\nBootstraps are ours, for one operation. TFHE-rs' are as published, in {PUBLISHED_SOURCE}.",
            self.report.to_tables()
        )
    }
}

/// One row.
fn measure(
    definition: &Definition,
    keys: &mut Keys<u64>,
    peer: Option<&dyn Peer>,
    pool: &ThreadPool,
    share: Duration,
) -> Result<Row<Counts>, BenchError> {
    let Definition { name, task, .. } = *definition;
    eprintln!("{name}: timing");
    let peer = peer.filter(|_| definition.bar.is_some());
    let ours = Ours::new(keys, task)?;
    let operations = task.operations();
    let (our_times, peer_times) = pool.install(|| {
        let mut subject = ours.subject();
        match peer {
            None => {
                let [ours] = interleave([(&mut *subject, operations)], share)?;
                Ok::<_, BenchError>((ours, None))
            }
            Some(peer) => {
                let mut peer = peer.subject(task)?;
                let [ours, peer] = interleave(
                    [(&mut *subject, operations), (&mut *peer, operations)],
                    share,
                )?;
                Ok((ours, Some(peer)))
            }
        }
    })?;
    let mut note = describe(ours.parameters());
    if let Some(peer) = peer {
        note = format!("{note} / {}", peer.description());
    }
    if let Some(more) = task.note() {
        note = format!("{note}. {more}");
    }
    if operations > 1 {
        note = format!("{note}. Time of one of {operations} that are computed together");
    }
    if our_times.runs == 1 || peer_times.is_some_and(|times| times.runs == 1) {
        note = format!("{note}. A single run, for it takes so long; more with more --seconds");
    }
    let bar = definition.bar;
    let counts = Counts {
        bootstraps: ours.bootstraps() / operations as u64,
        published_bootstraps: definition.published_bootstraps,
        floor: bar.map(|Bar { floor, .. }| floor),
        target: bar.map(|Bar { target, .. }| target),
    };
    Ok(Row::times(name, our_times, peer_times, THREADS, note).with(counts))
}
