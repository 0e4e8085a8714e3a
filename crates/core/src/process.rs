//! The process that holds a secret state, so that a copy which `fork()` made is told apart from the original.
//!
//! Parent and child begin with the same memory. If both went on with one [session of
//! seeds](crate::random::SeedSequence), each would draw the same seeds for other plaintexts, and the differences of
//! all plaintexts would be public. A session therefore remembers the [`Process`] that made it.
//!
//! On Linux, a page of memory that the kernel clears in a child (`MADV_WIPEONFORK`) tells of every kind of `fork()` and
//! `clone()`, in children of children too, for the price of a load. Emulators of processes, such as QEMU's, may accept the
//! advice and not follow it, so a handler (`pthread_atfork`) clears the page in every child of the C library's `fork()`, too;
//! what forks past the C library within such an emulator is not seen. Elsewhere on Unix, and where there is no page or no
//! handler, the process id tells, at the cost of a system call; a grandchild that gets the id of its dead grandparent is then
//! not told apart. Boards without processes cost nothing. Copies of a whole machine, such as snapshots of virtual machines, are
//! not seen.

/// A process, as far as it can be told from those that it was forked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(system::Id);

impl Process {
    /// Returns the process that this code runs in. Constant-time.
    pub fn current() -> Self {
        Self(system::current())
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    #![expect(unsafe_code, reason = "a page of memory with a property of its own")]

    use core::ptr;
    use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    /// A process.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Id {
        /// The number of forks that the page told of between the first process and this one.
        Generation(usize),
        /// The process id, without a page.
        Number(libc::pid_t),
    }

    /// The page, which holds 1 in the process that wrote it last and 0 in its children. Null before the first look.
    static PAGE: AtomicPtr<AtomicUsize> = AtomicPtr::new(ptr::null_mut());
    /// The number of forks, as far as they were looked for. Children inherit it.
    static GENERATION: AtomicUsize = AtomicUsize::new(0);
    /// The address that stands for a page that could not be had.
    static NO_PAGE: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn current() -> Id {
        match page() {
            Some(page) => Id::Generation(generation(page)),
            // SAFETY: the function has no preconditions and cannot fail.
            None => Id::Number(unsafe { libc::getpid() }),
        }
    }

    /// Counts this process, if it is a child that has not looked yet.
    fn generation(page: &AtomicUsize) -> usize {
        // Of several threads that look for the first time, one counts, and the others may see the number before: they
        // are refused once too often, and never once too rarely.
        if page.load(Ordering::Acquire) == 0 {
            GENERATION.fetch_add(1, Ordering::AcqRel);
            page.store(1, Ordering::Release);
        }
        GENERATION.load(Ordering::Acquire)
    }

    fn page() -> Option<&'static AtomicUsize> {
        let known = PAGE.load(Ordering::Acquire);
        let page = match known.is_null() {
            true => first_page(),
            false => known,
        };
        // SAFETY: `first_page` made the pointer: of a static, or of a page that is never unmapped, is aligned, writable
        // and all zeros, which is an `AtomicUsize`.
        (!ptr::eq(page, &raw const NO_PAGE)).then(|| unsafe { &*page })
    }

    #[cold]
    fn first_page() -> *mut AtomicUsize {
        // SAFETY: the handler may run in a child: it takes no lock and allocates nothing.
        let handled = unsafe { libc::pthread_atfork(None, None, Some(clear_page)) } == 0;
        let page = match handled {
            true => new_page(),
            false => None,
        };
        let page = page.unwrap_or((&raw const NO_PAGE).cast_mut());
        let swapped =
            PAGE.compare_exchange(ptr::null_mut(), page, Ordering::AcqRel, Ordering::Acquire);
        // A page that another thread made at the same time stays; this one is then never used.
        swapped.err().unwrap_or(page)
    }

    /// Clears the page in a child, where the kernel may not have done it.
    extern "C" fn clear_page() {
        let page = PAGE.load(Ordering::Acquire);
        if !page.is_null() {
            // SAFETY: a page that `first_page` made, or the static that stands for none.
            unsafe { &*page }.store(0, Ordering::Release);
        }
    }

    /// Maps a page that children find cleared.
    fn new_page() -> Option<*mut AtomicUsize> {
        const BYTES: usize = 4096;
        // SAFETY: a new private mapping of memory touches no other memory.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the page was mapped above, and nothing else knows it.
        let advised = unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) };
        if advised != 0 {
            // SAFETY: as above. Without the advice the page is of no use.
            unsafe { libc::munmap(page, BYTES) };
            return None;
        }
        Some(page.cast())
    }
}

#[cfg(all(
    unix,
    not(any(target_os = "linux", target_os = "android", target_os = "espidf"))
))]
mod system {
    #![expect(unsafe_code, reason = "the process id without the standard library")]

    /// The process id.
    pub(super) type Id = libc::pid_t;

    pub(super) fn current() -> Id {
        // SAFETY: the function has no preconditions and cannot fail.
        unsafe { libc::getpid() }
    }
}

#[cfg(any(not(unix), target_os = "espidf"))]
mod system {
    /// The only process.
    pub(super) type Id = ();

    pub(super) const fn current() -> Id {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(unsafe_code, reason = "fork() is what is tested")]

    use super::*;
    use crate::random::{EntropyError, Seed, SeedSequence};

    /// Runs a check in a child, and returns whether it held there.
    fn in_child(check: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls the check, which takes no lock and allocates nothing, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let held = check();
            // SAFETY: ends the child at once, without running what the test harness left to run.
            unsafe { libc::_exit(i32::from(!held)) };
        }
        let mut status = -1;
        // SAFETY: `status` outlives the call.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    #[test]
    fn children_and_their_children_are_other_processes() {
        let own = Process::current();
        assert_eq!(own, Process::current());
        assert!(in_child(|| own != Process::current()));
        // The child does not look before it forks again.
        assert!(in_child(|| in_child(|| own != Process::current())));
        assert!(in_child(|| {
            let child = Process::current();
            child == Process::current() && in_child(|| child != Process::current())
        }));
        assert_eq!(own, Process::current());
    }

    #[test]
    fn a_session_gives_no_seeds_to_a_child() {
        let mut seeds = SeedSequence::new(Seed::from_bytes([7; 32]));
        seeds.next_pair().unwrap();
        assert!(in_child(|| {
            let refused = seeds.next_pair().err() == Some(EntropyError::Forked);
            let again = seeds.next_pair().err() == Some(EntropyError::Forked);
            let reseeded = seeds.reseed().err() == Some(EntropyError::Forked);
            let fresh = SeedSequence::new(Seed::from_bytes([8; 32])).next_pair();
            refused && again && reseeded && fresh.is_ok()
        }));
        assert!(seeds.next_pair().is_ok());
    }
}
