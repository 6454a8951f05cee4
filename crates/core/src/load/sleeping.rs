//! Sleeping by the machine's clock: a client on a carrier lets others go on meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use super::carrier;
use crate::clock::{Clock, Monotonic, Nanos};

/// Longest sleep before looking for a request to stop: at most one extra wake-up in 50 ms.
pub(super) const SLICE: Nanos = 50_000_000;

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        Self::now(*self)
    }

    fn sleep_until(&self, at: Nanos, stop: &AtomicBool) {
        loop {
            let now = self.now();
            if now >= at || stop.load(Ordering::Relaxed) {
                return;
            }
            carrier::pause_until(at.min(now + SLICE));
        }
    }
}
