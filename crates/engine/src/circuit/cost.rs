//! The time of rounds of bootstraps, by which operators choose their forms.

use std::sync::PoisonError;

use super::{Block, Circuit};

/// The time of a single bootstrap, in units of that of one bootstrap of a long batch on one
/// thread. A single bootstrap waits for the key: on the machine of `docs/engine.md` it takes 4.4
/// ms instead of 2.9 ms.
const ALONE: f64 = 1.5;

/// The time of a round of `jobs` bootstraps on `threads` threads, in units of that of one
/// bootstrap of a long batch on one thread.
pub(crate) fn round_cost(jobs: usize, threads: usize) -> f64 {
    match jobs {
        0 => 0.0,
        _ => (jobs.div_ceil(threads.max(1)) as f64).max(ALONE),
    }
}

/// A way to add up columns of blocks until only a few are left of each.
#[derive(Clone, Copy)]
pub(crate) enum Lowering {
    /// Until they fit a lazy integer.
    Roomy,
    /// Until none carries more than 1.
    Ready,
}

impl Circuit {
    /// The lowering of columns of a shape that was found to be the cheaper one.
    pub(crate) fn known_lowering(&self, shape: &[i64]) -> Option<Lowering> {
        let known = self.lowerings.read();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        known.get(shape).copied()
    }

    /// Keeps a lowering for further columns of a shape.
    pub(crate) fn keep_lowering(&self, shape: Box<[i64]>, lowering: Lowering) {
        let known = self.lowerings.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        known.insert(shape, lowering);
    }

    /// The time of the lookups that these blocks need and that were recorded from number `start` on, if `batch` operators that
    /// record the same run side by side. The unit is that of [`round_cost`].
    pub(crate) fn time_since(&self, start: usize, outputs: &[Block], batch: usize) -> f64 {
        let rounds = self.levels_since(start, outputs).into_iter();
        let rounds = rounds.map(|jobs| round_cost(jobs * batch, self.threads()));
        rounds.sum()
    }

    /// Returns whether so many operators are recorded side by side that they keep the threads busy: only the number of their
    /// bootstraps counts then.
    pub(crate) fn is_busy(&self) -> bool {
        self.batch() >= 2 * self.threads()
    }

    /// The number of recorded lookups.
    pub(crate) fn lookup_count(&self) -> usize {
        self.graph().lookups.len()
    }

    /// For each depth, the number of lookups that these blocks need and that were recorded from
    /// number `start` on.
    fn levels_since(&self, start: usize, outputs: &[Block]) -> Vec<usize> {
        let graph = self.graph();
        let mut needed = vec![false; graph.lookups.len().saturating_sub(start)];
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
            let lookup = graph.lookups.at(at);
            let depth = lookup.depth as usize;
            if levels.len() < depth {
                levels.resize(depth, 0);
            }
            levels[depth - 1] += 1;
            wanted.extend(lookup.lookups());
        }
        levels
    }
}
