//! Time on the load path: integer nanoseconds of the monotonic clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Nanoseconds: a point on the monotonic clock or a length of time.
pub type Nanos = u64;

/// A clock the loop reads and waits by.
pub trait Clock {
    /// Nanoseconds since an arbitrary fixed point; never goes back.
    fn now(&self) -> Nanos;

    /// Waits until `at`, or shortly after `stop` is set.
    fn sleep_until(&self, at: Nanos, stop: &AtomicBool);
}

/// The machine's monotonic clock; on Unix its values agree between processes of one machine.
/// How clients sleep by it is in `load/sleeping.rs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monotonic;

impl Monotonic {
    /// Nanoseconds of the machine's clock.
    #[cfg(unix)]
    #[inline]
    pub fn now(self) -> Nanos {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place to write to; CLOCK_MONOTONIC always exists.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        time.tv_sec as Nanos * 1_000_000_000 + time.tv_nsec as Nanos
    }

    /// Nanoseconds of the machine's clock.
    #[cfg(not(unix))]
    pub fn now(self) -> Nanos {
        static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        ORIGIN.get_or_init(std::time::Instant::now).elapsed().as_nanos() as Nanos
    }
}

/// Asks the kernel to wake this thread's sleeps on time instead of up to 50 µs late (Linux only).
pub fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    // SAFETY: sets one number of the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize);
    }
}

/// A clock that moves only when told, for exact tests: a loop and its engine share it (`Arc`).
#[derive(Debug, Default)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
    /// Moves the clock on.
    pub fn advance(&self, by: Nanos) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, at: Nanos, _stop: &AtomicBool) {
        self.0.fetch_max(at, Ordering::SeqCst);
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Nanos {
        (**self).now()
    }

    fn sleep_until(&self, at: Nanos, stop: &AtomicBool) {
        (**self).sleep_until(at, stop);
    }
}
