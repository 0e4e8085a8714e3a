//! Time: schedules by the monotonic clock, labels by the wall clock.
//!
//! A board without a battery-backed clock starts in the past, and its clock jumps when the network
//! comes up. So nothing waits for a time of day: labels jump, the schedule does not.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use time::OffsetDateTime;

/// Ticks at a fixed distance. Missed ticks are left out and not made up for.
pub(crate) struct Schedule {
    every: Duration,
    next: Instant,
}

impl Schedule {
    /// Returns the schedule whose first tick is at `start`.
    pub(crate) fn new(every: Duration, start: Instant) -> Self {
        Self { every, next: start }
    }

    /// Returns the time of the next tick.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Moves on to the first tick after `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        let late = now.saturating_duration_since(self.next);
        let missed = late.as_nanos() / self.every.as_nanos().max(1);
        let ticks = u32::try_from(missed + 1).unwrap_or(u32::MAX);
        self.next += self.every * ticks;
    }
}

/// Returns the wall clock's time as RFC 3339 in UTC, with three digits for the milliseconds, so that all labels
/// of an upload have one form and travel as a start and steps.
pub(crate) fn label(now: SystemTime) -> String {
    let now = OffsetDateTime::from(now);
    let (date, time) = (now.date(), now.time());
    let (hour, minute, second, millisecond) = time.as_hms_milli();
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// A flag that says when to stop, on which any number of threads wait.
#[derive(Clone, Default)]
pub struct Stop(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    stopped: bool,
    /// A counter that grows when there is something to do.
    news: u64,
}

impl Stop {
    /// Sets the flag and ends all waiting.
    pub fn stop(&self) {
        self.0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stopped = true;
        self.0.1.notify_all();
    }

    /// Wakes the threads that wait for news.
    pub(crate) fn notify(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).news += 1;
        self.0.1.notify_all();
    }

    /// Returns whether [`Stop::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stopped
    }

    /// Waits until `until`. Returns true at once when it is time to stop.
    pub(crate) fn wait_until(&self, then: Instant) -> bool {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = then.saturating_duration_since(Instant::now());
            if state.stopped || left.is_zero() {
                return state.stopped;
            }
            state = self
                .0
                .1
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Returns the counter of news.
    pub(crate) fn news(&self) -> u64 {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).news
    }

    /// Waits until the counter is above `seen`, for at most `most`. Returns true if it is time to
    /// stop.
    pub(crate) fn wait_news(&self, seen: u64, most: Duration) -> bool {
        let until = Instant::now() + most;
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.stopped || state.news != seen || left.is_zero() {
                return state.stopped;
            }
            state = self
                .0
                .1
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_schedule_leaves_ticks_out() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut schedule = Schedule::new(second, start);
        schedule.advance(start);
        assert_eq!(schedule.next(), start + second);
        // The board slept for an hour.
        schedule.advance(start + second * 3600 + second / 2);
        assert_eq!(schedule.next(), start + second * 3601);
        schedule.advance(start + second * 3601);
        assert_eq!(schedule.next(), start + second * 3602);
    }

    #[test]
    fn labels_are_utc_to_the_millisecond() {
        let at = |millis| label(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(1_767_225_600_250), "2026-01-01T00:00:00.250Z");
    }

    #[test]
    fn waiting_ends_by_time_news_or_stop() {
        let stop = Stop::default();
        assert!(!stop.wait_until(Instant::now() + Duration::from_millis(5)));
        let seen = stop.news();
        let other = stop.clone();
        let thread = std::thread::spawn(move || other.wait_news(seen, Duration::from_secs(60)));
        stop.notify();
        assert!(!thread.join().unwrap());
        stop.stop();
        assert!(stop.wait_until(Instant::now() + Duration::from_secs(60)));
    }
}
