//! Progress on stderr. On anything but a terminal it is silent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Runs `work`, and calls `show` every `interval` meanwhile.
pub(crate) fn meanwhile<R>(
    interval: Duration,
    show: impl Fn() + Sync,
    work: impl FnOnce() -> R,
) -> R {
    /// Stops the showing when it is dropped, also by a panic of the work.
    struct Stop<'a>(&'a AtomicBool, Thread);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
            self.1.unpark();
        }
    }

    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shower = scope.spawn(|| {
            while !stopped.load(Ordering::SeqCst) {
                show();
                std::thread::park_timeout(interval);
            }
        });
        let _stop = Stop(&stopped, shower.thread().clone());
        work()
    })
}

/// Returns a bar that counts to `total` and vanishes when it is dropped.
pub(crate) fn bar(what: &'static str, total: u64) -> Vanishing {
    let bar = ProgressBar::new(total).with_message(what);
    if let Ok(style) =
        ProgressStyle::with_template("{msg:>28} [{bar:32}] {percent:>3} %  {elapsed}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    Vanishing(bar)
}

/// Returns a spinner with a text that changes.
pub(crate) fn spinner(what: &'static str) -> Vanishing {
    let bar = ProgressBar::new_spinner().with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg:>28} {spinner}  {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    Vanishing(bar)
}

/// A progress display that leaves nothing behind.
pub(crate) struct Vanishing(ProgressBar);

impl Vanishing {
    /// Counts `steps` more.
    pub(crate) fn inc(&self, steps: u64) {
        self.0.inc(steps);
    }

    /// Shows a share of the total done.
    pub(crate) fn reach_share(&self, share: f64) {
        let total = self.0.length().unwrap_or(0) as f64;
        self.0.set_position((share * total) as u64);
    }

    /// Shows the number of bootstraps done, and, once the total is known, the time that the others
    /// will take.
    pub(crate) fn reach(&self, bootstraps: u64, total: u64) {
        if total > 0 && self.0.length() != Some(total) {
            self.0.set_length(total);
            let template = "{msg:>28} [{bar:32}] {human_pos} of {human_len} bootstraps, \
                            {elapsed}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.0.set_style(style.progress_chars("=> "));
            }
        }
        self.0.set_position(bootstraps);
    }
}

impl Drop for Vanishing {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
