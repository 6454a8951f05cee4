//! Where the operating system is not Linux every client has its own thread; see `mod.rs`.

use std::time::Duration;

use crate::clock::{Monotonic, Nanos};

/// Sleeps.
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Sleeps until `at`.
pub fn pause_until(at: Nanos) {
    std::thread::sleep(Duration::from_nanos(at.saturating_sub(Monotonic.now())));
}

/// False: no client is carried here.
#[inline]
pub fn carried() -> bool {
    false
}
