//! Precautions for the secret key: no core dumps, no debugger, no swap.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Has the system write no memory of this process to a disk, as far as it permits that. What it does not permit is logged.
pub(crate) fn harden() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!("core dumps cannot be switched off: {error}");
    }
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("other programs of this user may read the memory of this one: {error}");
    }
    // With a limit, locking all memory would have later allocations fail.
    let is_unlimited = getrlimit(Resource::Memlock).current.is_none();
    let locked = match is_unlimited {
        true => mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE),
        false => Err(rustix::io::Errno::PERM),
    };
    if let Err(error) = locked {
        tracing::info!(
            "memory is not locked ({error}), so that the key may get into the swap: encrypt the swap, or start the gateway with `ulimit -l unlimited`"
        );
    }
}
