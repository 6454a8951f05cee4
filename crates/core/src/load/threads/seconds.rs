//! The course of a cycle by second, collected while it goes on.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Shared, SECOND};
use crate::clock::{Clock, Monotonic, Nanos};
use crate::course::{collect, Found, Second};
use crate::load::sleeping::SLICE;
use crate::locking::lock;
use crate::workload::KindId;

pub(super) fn collecting(shared: &Arc<Shared>, kinds: usize, last: Option<u64>) -> JoinHandle<Vec<(usize, Second)>> {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let Some(start) = shared.wait_for_start() else { return Vec::new() };
        let mut seconds = Vec::new();
        for second in 0.. {
            // A slot is emptied a second after its second ended; by then no client is late.
            wait_for_second(&shared, start, second, last);
            let under_way = last.map_or(shared.running.load(Ordering::Acquire) > 0, |last| second < last);
            if under_way && !shared.stop.load(Ordering::Relaxed) {
                drain(&shared, kinds, second, &mut seconds);
                continue;
            }
            // The end: whatever is left, once no client writes any more.
            while shared.running.load(Ordering::Acquire) > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let last = last.unwrap_or_else(|| Monotonic.now().saturating_sub(start + 1) / SECOND);
            (second..=last.min(second + 3)).for_each(|rest| drain(&shared, kinds, rest, &mut seconds));
            break;
        }
        seconds
    })
}

/// Waits until the slots of `second` can be emptied. A stage whose end is not known may be over before.
fn wait_for_second(shared: &Shared, start: Nanos, second: u64, last: Option<u64>) {
    let at = start + (second + 2) * SECOND;
    while last.is_none() && shared.running.load(Ordering::Acquire) > 0 && Monotonic.now() + SLICE < at {
        Monotonic.sleep_until(Monotonic.now() + SLICE, &shared.stop);
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
    }
    if last.is_some() || shared.running.load(Ordering::Acquire) > 0 {
        Monotonic.sleep_until(at, &shared.stop);
    }
}

fn drain(shared: &Shared, kinds: usize, second: u64, into: &mut Vec<(usize, Second)>) {
    let mut all = Found::default();
    for (group, boards) in shared.boards.iter().enumerate() {
        for kind in 0..kinds {
            let found = collect(boards.all().map(|board| &board.course), kind as KindId, second as u32);
            into.push((group, found.second(second as u32, kind as KindId)));
            all.add(&found);
        }
    }
    // No client takes this lock: whoever looks at the cycle is told of the seconds by it.
    lock(&shared.seconds).push(all.second(second as u32, 0));
}
