//! How the machine's clock is slept by: a client on a carrier lets others go on meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use super::carrier;
use crate::clock::{Clock, Monotonic, Nanos};

/// A wish to stop is seen within a slice; a slice costs one wake-up in 50 ms at most.
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
