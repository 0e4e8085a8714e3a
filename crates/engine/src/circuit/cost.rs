//! How long rounds of bootstraps take.

use super::{Block, Circuit};

/// What a single bootstrap takes, in those of a long batch on one thread: alone, it waits for
/// the key. On the machine of `docs/engine.md` 4.4 ms and 2.9 ms.
const ALONE: f64 = 1.5;

/// The time of a round of `jobs` bootstraps on `threads` threads, in bootstraps of a long
/// batch on one thread.
pub(crate) fn round_cost(jobs: usize, threads: usize) -> f64 {
    match jobs {
        0 => 0.0,
        _ => (jobs.div_ceil(threads.max(1)) as f64).max(ALONE),
    }
}

impl Circuit {
    /// Number of lookups that are recorded.
    pub(crate) fn lookup_count(&self) -> usize {
        self.graph().lookups.len()
    }

    /// How many of the lookups that these blocks need and that were recorded from `start` on
    /// have each depth.
    pub(crate) fn levels_since(&self, start: usize, outputs: &[Block]) -> Vec<usize> {
        let graph = self.graph();
        let recent = &graph.lookups[start.min(graph.lookups.len())..];
        let mut needed = vec![false; recent.len()];
        let places = |block: &Block| block.lookups().collect::<Vec<_>>();
        let mut wanted: Vec<usize> = outputs.iter().flat_map(places).collect();
        let mut levels = Vec::new();
        while let Some(at) = wanted.pop() {
            let Some(recent_at) = at.checked_sub(start) else {
                continue;
            };
            if std::mem::replace(&mut needed[recent_at], true) {
                continue;
            }
            let lookup = &recent[recent_at];
            let depth = lookup.depth as usize;
            if levels.len() < depth {
                levels.resize(depth, 0);
            }
            levels[depth - 1] += 1;
            wanted.extend(lookup.terms.iter().filter_map(|term| term.source.lookup()));
        }
        levels
    }
}
