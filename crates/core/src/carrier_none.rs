//! Where the operating system is not Linux every client has a thread of its own; see `carrier.rs`.

use std::time::Duration;

/// Sleeps.
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Nobody is.
#[inline]
pub fn carried() -> bool {
    false
}
