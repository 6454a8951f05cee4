//! The course of a cycle by second, collected while it goes on.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::stalls::Stalls;
use super::{LoadPlan, Shared, SECOND};
use crate::clock::{Clock, Monotonic, Nanos};
use crate::course::{collect, Found, Second};
use crate::load::sleeping::SLICE;
use crate::locking::lock;
use crate::workload::KindId;

pub(super) fn collecting(shared: &Arc<Shared>, plan: &LoadPlan) -> JoinHandle<Vec<(usize, Second)>> {
    let (kinds, last, mut stalls) = (plan.workload.kinds().len(), plan.last_second(), Stalls::new(plan));
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let Some(start) = shared.wait_for_start() else { return Vec::new() };
        let mut seconds = Vec::new();
        for second in 0.. {
            // A slot is emptied a second after its second ended; by then no client is late.
            wait_for_second(&shared, start, second, last);
            let under_way = last.map_or(shared.running.load(Ordering::Acquire) > 0, |last| second < last);
            if under_way && !shared.stop.load(Ordering::Relaxed) {
                let late = Monotonic.now() >= start + (second + 3) * SECOND;
                let done = drain(&shared, kinds, second, &mut seconds);
                stalls.pass(&done, late, &shared);
                continue;
            }
            // The end: whatever is left, once no client writes any more.
            while shared.running.load(Ordering::Acquire) > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let last = last.unwrap_or_else(|| Monotonic.now().saturating_sub(start + 1) / SECOND);
            for rest in second..=last.min(second + 3) {
                drain(&shared, kinds, rest, &mut seconds);
            }
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

/// Gives of each group how many transactions were done, and how many attempts failed.
fn drain(shared: &Shared, kinds: usize, second: u64, into: &mut Vec<(usize, Second)>) -> Vec<(u64, u64)> {
    let mut all = Found::default();
    let mut groups = vec![(0, 0); shared.boards.len()];
    for (group, boards) in shared.boards.iter().enumerate() {
        for kind in 0..kinds {
            let found = collect(boards.all().map(|board| &board.course), kind as KindId, second as u32);
            let told = found.second(second as u32, kind as KindId);
            groups[group] = (groups[group].0 + told.count, groups[group].1 + told.failed);
            into.push((group, told));
            all.add(&found);
        }
    }
    // No client takes this lock: whoever looks at the cycle is told of the seconds by it.
    lock(&shared.seconds).push(all.second(second as u32, 0));
    groups
}
