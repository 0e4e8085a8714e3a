//! The blind rotation of one ciphertext on several threads, for the shortest latency. Each thread
//! owns some components of the accumulator: it decomposes and transforms their digits, and brings
//! their sums back.
//!
//! In between, every thread needs the digits of all components. There are two sets of buffers for
//! the digits, so that threads wait for each other only once per step: a thread that is ahead
//! fills the set that no thread reads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use tfhe_sbc_core::fft::external_product::Coefficient;

use crate::bootstrap_key::BootstrapKey;
use crate::cache_aligned::{CacheAligned, cache_aligned};
use crate::gadget_product::{GadgetProduct, MAX_OUTPUTS, Pieces, gathered};
use crate::processors;
use crate::requests::Outputs;

/// The buffers for the digits of every component.
type Digits = Vec<OwnLines<RwLock<CacheAligned<f64>>>>;

/// A value that shares no cache line with what lies beside it, nor the line that a processor fetches together with its own.
#[repr(align(128))]
struct OwnLines<T>(T);

/// Rotates `acc` by all exponents, on one thread for each component or on `threads` threads,
/// whichever is less. The result is that of one thread, bit for bit.
pub(super) fn turn_by_all_blocks<X: Coefficient>(
    key: &BootstrapKey,
    exponents: &[u32],
    acc: &mut [X],
    threads: usize,
) {
    let product = key.product();
    let size = product.polynomial_size();
    let components = acc.len() / size;
    let each = components.div_ceil(threads.clamp(1, components));
    let digits: [Digits; 2] = std::array::from_fn(|_| {
        (0..components)
            .map(|c| cache_aligned(0.0, product.digit_count(c) * size))
            .map(|buffer| OwnLines(RwLock::new(buffer)))
            .collect()
    });
    let meeting = Meeting::new(components.div_ceil(each));
    let (digits, meeting, taken) = (&digits, &meeting, &Taken::by_this_thread());
    std::thread::scope(|scope| {
        // If a thread cannot be started, this thread panics while others already wait.
        let _left = meeting.attend();
        let mut parts = acc.chunks_mut(each * size).enumerate();
        let own = parts.next();
        for (part, acc) in parts {
            scope.spawn(move || {
                taken.add_this_thread();
                turn_part(key, exponents, part * each, acc, digits, meeting);
            });
        }
        if let Some((_, acc)) = own {
            turn_part(key, exponents, 0, acc, digits, meeting);
        }
    });
}

/// Rotates the components of `acc`, the first of which is component `first` of the accumulator.
fn turn_part<X: Coefficient>(
    key: &BootstrapKey,
    exponents: &[u32],
    first: usize,
    acc: &mut [X],
    digits: &[Digits; 2],
    meeting: &Meeting,
) {
    let product: &GadgetProduct = key.product();
    let size = product.polynomial_size();
    let block_size = product.shape().block_size;
    let _left = meeting.attend();
    let outputs = Outputs {
        product,
        first,
        count: acc.len() / size,
    };
    let mut sums = cache_aligned(0.0, acc.len());
    let mut blocks = key.blocks().peekable();
    let mut steps = exponents
        .chunks_exact(block_size)
        .zip(digits.iter().cycle());
    while let (Some(block), Some((exponents, digits))) = (blocks.next(), steps.next()) {
        let requests = outputs.requests((block, blocks.peek().copied()), 0, 1);
        let own_digits = acc.chunks_exact(size).enumerate();
        let row_count = own_digits
            .clone()
            .map(|(c, _)| product.digit_count(first + c))
            .sum();
        let mut while_down = Pieces::of(requests.down, row_count);
        for (c, component) in own_digits {
            let OwnLines(buffer) = &digits[first + c];
            let mut buffer = buffer.write().unwrap_or_else(PoisonError::into_inner);
            let mut buffers = buffer.chunks_exact_mut(size);
            product.take_digits(first + c, component, &mut buffers, &mut while_down);
        }
        meeting.wait();
        let all: [Option<RwLockReadGuard<'_, _>>; MAX_OUTPUTS] = std::array::from_fn(|c| {
            let buffer = digits.get(c);
            buffer.map(|OwnLines(buffer)| buffer.read().unwrap_or_else(PoisonError::into_inner))
        });
        let rows = all
            .iter()
            .flatten()
            .flat_map(|digits| digits.chunks_exact(size));
        let rows = gathered(rows);
        let (key, exponents) = ((block, requests), Some([exponents]));
        product.add_rows([&mut *acc], first, [&rows], key, exponents, [&mut sums]);
    }
}

/// The processors on which the threads of a rotation began.
///
/// Threads that meet at every step take as long as one if they share a processor. Some schedulers start a thread on the processor of the
/// one that made it, to leave others asleep, and look for another only after some milliseconds: longer than a rotation.
struct Taken(Mutex<Vec<usize>>);

impl Taken {
    fn by_this_thread() -> Self {
        Self(Mutex::new(vec![processors::current()]))
    }

    /// Adds the processor of the calling thread. If that is taken, the thread moves to one that is not, if there is any.
    fn add_this_thread(&self) {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = processors::current();
        if taken.contains(&own) {
            own = processors::leave(&taken).unwrap_or(own);
        }
        taken.push(own);
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
    broken: AtomicBool,
    /// The number of arrivals since the beginning, which every thread watches and changes.
    arrivals: OwnLines<AtomicUsize>,
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
            broken: AtomicBool::new(false),
            arrivals: OwnLines(AtomicUsize::new(0)),
        }
    }

    fn attend(&self) -> Attendance<'_> {
        Attendance(self)
    }

    /// Waits until all threads have called this as often as the current thread.
    fn wait(&self) {
        let OwnLines(arrivals) = &self.arrivals;
        let own = arrivals.fetch_add(1, Ordering::AcqRel) + 1;
        let all = own.next_multiple_of(self.threads);
        let mut spins = 0u32;
        while arrivals.load(Ordering::Acquire) < all {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_begin_on_processors_of_their_own_where_there_are_enough() {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let taken = Taken::by_this_thread();
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| taken.add_this_thread());
            }
        });
        let mut taken = taken.0.into_inner().unwrap();
        taken.sort_unstable();
        let mut distinct = taken.clone();
        distinct.dedup();
        assert_eq!(taken.len(), threads);
        if cfg!(target_os = "linux") {
            assert_eq!(taken, distinct);
        }
    }
}
