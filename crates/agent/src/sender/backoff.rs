//! Pauses that grow, and that differ from board to board.

use std::time::Duration;

/// The pauses between tries. They double and have a random part, so that a fleet that lost its
/// server does not come back all at once.
pub(super) struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            next: first,
        }
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Returns the next pause: a random one between half of the current length and all of it.
    pub(super) fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.most);
        Self::shortened(whole)
    }

    /// Returns the longest pause, for failures that time alone does not mend.
    pub(super) fn longest(&mut self) -> Duration {
        self.next = self.most;
        self.pause()
    }

    fn shortened(whole: Duration) -> Duration {
        let mut random = [0; 4];
        // Without randomness it is the whole pause.
        let _ = getrandom::fill(&mut random).map_err(|_| random = [0; 4]);
        whole - whole.mul_f64(f64::from(u32::from_le_bytes(random)) / 2f64.powi(33))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_vary() {
        let (first, most) = (Duration::from_secs(1), Duration::from_secs(300));
        let mut backoff = Backoff::new(first, most);
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let whole = Duration::from_secs(expected);
            let pause = backoff.pause();
            assert!(pause <= whole && pause >= whole / 2, "{pause:?}");
        }
        let pauses: Vec<_> = (0..8).map(|_| backoff.pause()).collect();
        assert!(pauses.iter().any(|pause| pause.abs_diff(pauses[0]) > first));
        backoff.reset();
        assert!(backoff.pause() <= first);
    }
}
