//! The operating system's limit on the open files of this process: each connection is one.

use super::Limits;

/// The number of files that are open besides connections and uploads under way: store, logs, and
/// those of libraries.
const OTHERS: u64 = 64;
/// The number of files of uploads that are being written.
const WRITERS: u64 = super::BLOCKING_THREADS as u64;

/// Raises the limit to what the connections need, as far as allowed, and lowers the number of
/// connections to what the limit leaves.
#[cfg(unix)]
pub(super) fn fit(limits: &Limits) -> Limits {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let besides = OTHERS + WRITERS;
    let needed = limits.connections as u64 + besides;
    let limit = getrlimit(Resource::Nofile);
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < needed {
        let raised = limit.maximum.map_or(needed, |maximum| needed.min(maximum));
        let wanted = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, wanted).is_ok() {
            current = raised;
        }
    }
    if current >= needed {
        return limits.clone();
    }
    let connections = usize::try_from(current.saturating_sub(besides)).map_or(1, |n| n.max(1));
    tracing::warn!(
        files = current,
        connections,
        "the limit of open files leaves room for fewer connections; raise it with ulimit -n or LimitNOFILE="
    );
    Limits {
        connections,
        ..limits.clone()
    }
}

#[cfg(not(unix))]
pub(super) fn fit(limits: &Limits) -> Limits {
    limits.clone()
}
