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

/// The CPU on which the thread should go on; false, as threads are not bound here.
///
/// # Safety
/// As where clients are carried: nothing that the client holds may be bound to its thread.
pub unsafe fn go_on_at(_cpu: usize) -> bool {
    false
}

/// False: threads are not bound here.
pub fn goes_to(_cpu: usize) -> bool {
    false
}

/// False: no client is carried here.
#[inline]
pub fn carried() -> bool {
    false
}
