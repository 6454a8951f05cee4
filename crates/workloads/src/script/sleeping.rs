//! `\sleep`: a pause that ends with its cycle.

use std::sync::atomic::AtomicBool;

use dsbench_core::clock::{Clock, Monotonic, Nanos};
use dsbench_core::workload::Bell;
use dsbench_script::{Memory, Pause, Wrong};

/// Never set: a client that sleeps looks at its bell.
static NEVER: AtomicBool = AtomicBool::new(false);

/// How long a pause goes on before it looks whether the cycle is over.
const SLICE: Nanos = 50_000_000;

/// Waits, or until the bell rings.
pub(super) fn sleep(pause: Pause, memory: &Memory, bell: Option<&dyn Bell>) -> std::result::Result<(), Wrong> {
    let nanos = pause.microseconds(memory)?.saturating_mul(1000);
    let until = Monotonic.now().saturating_add(nanos);
    loop {
        let now = Monotonic.now();
        if now >= until || bell.is_some_and(Bell::rung) {
            return Ok(());
        }
        Monotonic.sleep_until(until.min(now + SLICE), &NEVER);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use dsbench_script::{Scripts, Source, Unit};

    use super::*;

    struct After(AtomicU32);

    impl Bell for After {
        fn rung(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 2
        }
    }

    #[test]
    fn a_sleep_ends_when_the_bell_rings() {
        let source = Source { name: "own".into(), weight: 1, text: "SELECT 1;".into() };
        let memory = Scripts::parse(&[source], &[]).unwrap().memory();
        let bell = After(AtomicU32::new(0));
        // A million seconds: without a bell it does not end.
        sleep(Pause::Of(1_000_000, Unit::S), &memory, Some(&bell)).unwrap();
        assert_eq!(bell.0.into_inner(), 3);
        sleep(Pause::Of(1, Unit::Us), &memory, None).unwrap();
    }
}
