//! The removal of uploads that are beyond the bounds of what the server keeps, and the room of those that were removed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tfhe_sbc_transport::human::Bytes;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::metrics::Metrics;
use crate::store::{Expired, Retention, Store};

/// The time between two looks at the store.
const EVERY: Duration = Duration::from_secs(60);

/// The time between two slices of removals, in which uploads are stored.
const PAUSE: Duration = Duration::from_millis(20);

/// The keeper of a store's bounds.
pub(super) struct Keeper {
    pub(super) retention: Retention,
    pub(super) store: Arc<Store>,
    pub(super) metrics: Arc<Metrics>,
}

impl Keeper {
    /// Removes what is beyond the bounds and gives room back, at once and then every minute, until the server stops.
    pub(super) async fn run(self, mut stopping: watch::Receiver<bool>) {
        let mut minute = interval(EVERY);
        minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = minute.tick() => {}
                _ = stopping.wait_for(|stopping| *stopping) => return,
            }
            if !self.retention.is_unbounded() {
                self.look(&mut stopping).await;
            }
            self.give_back(&mut stopping).await;
        }
    }

    /// Gives back the room of uploads that were removed, slice by slice.
    async fn give_back(&self, stopping: &mut watch::Receiver<bool>) {
        loop {
            let store = Arc::clone(&self.store);
            let slice = tokio::task::spawn_blocking(move || store.compact());
            let failed: Box<dyn std::fmt::Display + Send> = match slice.await {
                Ok(Ok(false)) => return,
                Ok(Ok(true)) => {
                    let stops = timeout(PAUSE, stopping.wait_for(|stopping| *stopping)).await;
                    match stops {
                        Ok(_) => return,
                        Err(_) => continue,
                    }
                }
                Ok(Err(error)) => Box::new(error),
                Err(panicked) => Box::new(panicked),
            };
            self.metrics.count_retention_error();
            tracing::error!(error = %failed, "the room of removed uploads was not given back; it is tried again in a minute");
            return;
        }
    }

    /// Removes all that is beyond the bounds now, slice by slice, and says in the log what it removed.
    async fn look(&self, stopping: &mut watch::Receiver<bool>) {
        let mut all = Expired::default();
        loop {
            let (store, retention) = (Arc::clone(&self.store), self.retention);
            // Away from the threads of the network, for it waits for the disk.
            let slice =
                tokio::task::spawn_blocking(move || store.expire(&retention, SystemTime::now()));
            let failed: Box<dyn std::fmt::Display + Send> = match slice.await {
                Ok(Ok(expired)) => {
                    self.metrics.count_expired(&expired);
                    all.by_age += expired.by_age;
                    all.by_bytes += expired.by_bytes;
                    let stops = expired.more
                        && timeout(PAUSE, stopping.wait_for(|stopping| *stopping))
                            .await
                            .is_ok();
                    if stops || !expired.more {
                        break;
                    }
                    continue;
                }
                Ok(Err(error)) => Box::new(error),
                Err(panicked) => Box::new(panicked),
            };
            self.metrics.count_retention_error();
            tracing::error!(error = %failed, "retention failed; it is tried again in a minute");
            break;
        }
        if all.by_age.uploads + all.by_bytes.uploads > 0 {
            tracing::info!(
                too_old = all.by_age.uploads,
                too_many = all.by_bytes.uploads,
                removed = %Bytes(all.by_age.bytes + all.by_bytes.bytes),
                kept = %Bytes(self.store.bytes()),
                "retention has removed uploads"
            );
        }
    }
}
