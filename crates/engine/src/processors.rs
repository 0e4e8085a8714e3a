//! The processors of this process and of the calling thread.

pub(crate) use system::{allowed, bind, current, leave};

/// System calls of Linux.
#[cfg(target_os = "linux")]
mod system {
    use std::io;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// Returns whether this process may run on a processor; `None` if the system does not tell.
    pub(crate) fn allowed() -> Option<impl Fn(usize) -> bool> {
        let allowed = sched_getaffinity(None).ok()?;
        Some(move |processor| processor < CpuSet::MAX_CPU && allowed.is_set(processor))
    }

    /// Binds the calling thread to some processors.
    ///
    /// # Errors
    /// If the thread may run on none of them.
    pub(crate) fn bind(processors: &[usize]) -> io::Result<()> {
        let mut set = CpuSet::new();
        let known = processors.iter().filter(|&&p| p < CpuSet::MAX_CPU);
        known.for_each(|&processor| set.set(processor));
        Ok(sched_setaffinity(None, &set)?)
    }

    /// The processor on which the calling thread runs.
    pub(crate) fn current() -> usize {
        sched_getcpu()
    }

    /// Moves the calling thread to a processor that is none of `taken` and returns that one. Afterwards, the thread may run where it
    /// could before. Returns `None`, and has moved nothing, if it may run on no other processor or the system refuses.
    pub(crate) fn leave(taken: &[usize]) -> Option<usize> {
        let allowed = sched_getaffinity(None).ok()?;
        let mut rest = allowed;
        let known = taken.iter().filter(|&&p| p < CpuSet::MAX_CPU);
        known.for_each(|&processor| rest.unset(processor));
        if rest.count() == 0 {
            return None;
        }
        sched_setaffinity(None, &rest).ok()?;
        let processor = current();
        // Only a set of processors that has changed meanwhile is refused. The thread then stays bound to those that it moved to.
        let _ = sched_setaffinity(None, &allowed);
        Some(processor)
    }
}

/// A stand-in for systems without these calls: no thread is bound or moved, and all run on one processor.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    pub(crate) fn allowed() -> Option<fn(usize) -> bool> {
        None
    }

    pub(crate) fn bind(_: &[usize]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn current() -> usize {
        0
    }

    pub(crate) fn leave(_: &[usize]) -> Option<usize> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn a_thread_leaves_its_processor_and_may_return_to_it() {
        let thread = || {
            let before = sched_getaffinity(None).unwrap();
            let here = current();
            bind(&[here]).unwrap();
            // Bound to one processor, it may run on no other.
            assert_eq!(leave(&[here]), None);
            rustix::thread::sched_setaffinity(None, &before).unwrap();
            let moved = leave(&[here, usize::MAX]);
            assert!(sched_getaffinity(None).unwrap() == before);
            match before.count() {
                1 => assert_eq!(moved, None),
                _ => assert!(moved.is_some_and(|there| there != here && before.is_set(there))),
            }
        };
        std::thread::spawn(thread).join().unwrap();
    }
}
