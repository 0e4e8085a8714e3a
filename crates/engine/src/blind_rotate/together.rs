//! The blind rotation of one ciphertext on several threads, for the shortest latency. Each thread
//! owns some components of the accumulator: it decomposes and transforms their digits, and brings
//! their sums back.
//!
//! In between, every thread needs the digits of all components. There are two sets of buffers for
//! the digits, so that threads wait for each other only once per step: a thread that is ahead
//! fills the set that no thread reads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tfhe_sbc_core::glwe_product::ProductTorus;

use crate::bootstrap_key::{BootstrapKey, bytes_of};
use crate::cache_aligned::{CacheAligned, cache_aligned};
use crate::gadget_product::{GadgetProduct, MAX_OUTPUTS, Parts, gathered};

/// The buffers for the digits of every component.
type Digits = Vec<RwLock<CacheAligned<f64>>>;

/// Rotates `acc` by all exponents, on one thread for each component or on `threads` threads,
/// whichever is less. The result is that of one thread, bit for bit.
pub(super) fn turn_by_all_blocks<T: ProductTorus>(
    key: &BootstrapKey,
    exponents: &[u32],
    acc: &mut [T],
    threads: usize,
) {
    let product = key.product();
    let size = product.polynomial_size();
    let components = acc.len() / size;
    let each = components.div_ceil(threads.clamp(1, components));
    let digits: [Digits; 2] = std::array::from_fn(|_| {
        (0..components)
            .map(|c| RwLock::new(cache_aligned(0.0, product.digit_count(c) * size)))
            .collect()
    });
    let meeting = Meeting::new(components.div_ceil(each));
    let (digits, meeting) = (&digits, &meeting);
    std::thread::scope(|scope| {
        // If a thread cannot be started, this thread panics while others already wait.
        let _left = meeting.attend();
        let mut parts = acc.chunks_mut(each * size).enumerate();
        let own = parts.next();
        for (part, acc) in parts {
            scope.spawn(move || turn_part(key, exponents, part * each, acc, digits, meeting));
        }
        if let Some((_, acc)) = own {
            turn_part(key, exponents, 0, acc, digits, meeting);
        }
    });
}

/// Rotates the components of `acc`, the first of which is component `first` of the accumulator.
fn turn_part<T: ProductTorus>(
    key: &BootstrapKey,
    exponents: &[u32],
    first: usize,
    acc: &mut [T],
    digits: &[Digits; 2],
    meeting: &Meeting,
) {
    let product: &GadgetProduct = key.product();
    let size = product.polynomial_size();
    let block_size = product.shape().block_size;
    let _left = meeting.attend();
    let mut sums = cache_aligned(0.0, acc.len());
    let mut blocks = key.blocks().peekable();
    let mut steps = exponents
        .chunks_exact(block_size)
        .zip(digits.iter().cycle());
    while let (Some(block), Some((exponents, digits))) = (blocks.next(), steps.next()) {
        let next_key = blocks.peek().map_or(&[][..], |next| bytes_of(*next));
        let next_key = product.part_of(next_key, first, acc.len() / size);
        let [while_down, while_up] = product.share_out(next_key);
        let own_digits = acc.chunks_exact(size).enumerate();
        let row_count = own_digits
            .clone()
            .map(|(c, _)| product.digit_count(first + c))
            .sum();
        let mut while_down = Parts::of(while_down, row_count);
        for (c, component) in own_digits {
            let mut buffer = digits[first + c]
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let mut buffers = buffer.chunks_exact_mut(size);
            product.take_digits(first + c, component, &mut buffers, &mut while_down);
        }
        meeting.wait();
        let all: [Option<RwLockReadGuard<'_, _>>; MAX_OUTPUTS] = std::array::from_fn(|c| {
            let buffer = digits.get(c);
            buffer.map(|buffer| buffer.read().unwrap_or_else(PoisonError::into_inner))
        });
        let rows = all
            .iter()
            .flatten()
            .flat_map(|digits| digits.chunks_exact(size));
        let rows = gathered(rows);
        let (key, exponents) = ((block, while_up), Some([exponents]));
        product.add_rows([&mut *acc], first, [&rows], key, exponents, [&mut sums]);
    }
}

/// The number of times that a thread checks for the others before it yields its core: some
/// microseconds.
const LOOKS: u32 = 128;

/// A reusable barrier. The threads arrive within microseconds of each other, less than it takes to
/// wake a thread, so they spin. If that is not enough, a thread may be without a core, and the
/// waiting threads yield theirs.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// A guard that marks the barrier as broken if its thread panics, so that the others panic too.
struct Attendance<'m>(&'m Meeting);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

impl Meeting {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }

    /// Waits until all threads have called this as often as the current thread.
    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut spins = 0u32;
        while self.round.load(Ordering::Acquire) == round {
            assert!(
                !self.broken.load(Ordering::Acquire),
                "another thread of the blind rotation panicked"
            );
            spins = spins.saturating_add(1);
            if spins > LOOKS {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
