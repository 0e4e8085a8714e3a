//! A heap that ends the process when a reader asks for far more memory than its input has
//! bytes: what a forged size would do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most bytes at a time. The largest honest use is a server key of small parameters.
const LIMIT: usize = 64 << 20;

/// Bytes that are in use since the target was entered, on all threads.
static USED: AtomicUsize = AtomicUsize::new(0);
static COUNTS: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static HEAP: Limited = Limited;

/// Runs `target` with the limit.
pub(crate) fn limited(target: impl FnOnce()) {
    USED.store(0, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    target();
    COUNTS.store(false, Ordering::Relaxed);
}

struct Limited;

impl Limited {
    fn count(size: usize) {
        if !COUNTS.load(Ordering::Relaxed) {
            return;
        }
        let used = USED.fetch_add(size, Ordering::Relaxed).wrapping_add(size);
        // Memory that was allocated before the target may be freed while it runs.
        if (used as isize) > LIMIT as isize || size > LIMIT {
            COUNTS.store(false, Ordering::Relaxed);
            eprintln!("a target asks for {size} bytes and has {used} then");
            std::process::abort();
        }
    }

    fn uncount(size: usize) {
        if COUNTS.load(Ordering::Relaxed) {
            USED.fetch_sub(size, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size);
        Self::uncount(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::uncount(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
