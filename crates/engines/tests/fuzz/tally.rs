//! Counts inputs, and finds what no input may do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use dsbench_core::error::Error;
use dsbench_core::random::Stream;

/// Most memory that an input may take, in bytes; none has a tenth of it.
const MOST_BYTES: isize = 32 << 20;
/// Most time of a processor that an input may take.
const MOST_CPU: Duration = Duration::from_secs(1);
/// After this time an input counts as one that never ends. The process is ended then, since nothing else would.
const ENDLESS: Duration = Duration::from_secs(120);
/// Most letters of an error: a page, and what was done.
const LONGEST: usize = 4_100;

/// The system's allocator, which knows how much a thread has.
struct Measuring;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: isize) {
    // A thread that ends has no counter left.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

/// Inputs of one kind, and what came of them.
pub struct Tally {
    kind: &'static str,
    seed: u64,
    inputs: u64,
    done: u64,
    accepted: u64,
    findings: Vec<String>,
    watched: Arc<AtomicU64>,
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

impl Tally {
    /// `sample` inputs of a fixed seed, unless the environment asks for others.
    pub fn new(kind: &'static str, sample: u64) -> Self {
        let inputs = from_environment("DSBENCH_FUZZ_INPUTS").unwrap_or(sample);
        let seed = from_environment("DSBENCH_FUZZ_SEED").unwrap_or(1);
        let watched = Arc::new(AtomicU64::new(0));
        let done = from_environment("DSBENCH_FUZZ_FROM").unwrap_or(0);
        watch(kind, seed, Arc::clone(&watched));
        Self { kind, seed, inputs, done, accepted: 0, findings: Vec::new(), watched }
    }

    /// What the next input is drawn from.
    pub fn next(&mut self) -> Option<Stream> {
        (self.done < self.inputs).then(|| Stream::new(self.seed, 0, self.done))
    }

    /// Tries the input; gives it to the client, which has refused it when there is an error.
    pub fn tried(&mut self, name: &str, input: impl FnOnce() -> Vec<Error>) {
        self.watched.store(self.done + 1, Ordering::Relaxed);
        MOST.set(NOW.get());
        let (bytes, cpu) = (NOW.get(), cpu_time());
        let done = panic::catch_unwind(AssertUnwindSafe(input));
        let (bytes, cpu) = (MOST.get() - bytes, cpu_time() - cpu);
        let mut found = |what: String| {
            let found = format!("{} seed {} input {} ({name:?}): {what}", self.kind, self.seed, self.done);
            self.findings.push(found);
        };
        match done {
            Ok(errors) => {
                self.accepted += u64::from(errors.is_empty());
                let texts = errors.iter().map(Error::to_string);
                texts.filter_map(|text| fault(&text).map(|fault| format!("{fault}: {text:?}"))).for_each(&mut found);
            }
            Err(_) => found("a panic".into()),
        }
        if bytes > MOST_BYTES {
            found(format!("{bytes} bytes of memory"));
        }
        if cpu > MOST_CPU {
            found(format!("{cpu:?} of a processor"));
        }
        self.done += 1;
    }

    /// Says what came of them; fails when there is a finding.
    pub fn end(self) {
        self.watched.store(0, Ordering::Relaxed);
        let (refused, findings) = (self.done - self.accepted, self.findings.len());
        println!(
            "{}: {} inputs, {} accepted, {refused} refused, {findings} findings",
            self.kind, self.done, self.accepted
        );
        assert!(self.findings.is_empty(), "{}", self.findings[..findings.min(20)].join("\n"));
    }
}

/// What is wrong with the words of an error.
fn fault(text: &str) -> Option<&'static str> {
    match text {
        text if text.chars().count() > LONGEST => Some("a long error"),
        text if text.chars().any(|letter| letter.is_control()) => Some("control characters"),
        text if text.contains(super::session::PASSWORD) => Some("the password"),
        _ => None,
    }
}

/// Time that a processor spent on this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid, and every thread has this clock.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ends the process when an input never ends.
fn watch(kind: &'static str, seed: u64, watched: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut last = 0;
        loop {
            std::thread::sleep(ENDLESS);
            match watched.load(Ordering::Relaxed) {
                0 => return,
                now if now == last => {
                    eprintln!("{kind} seed {seed} input {}: does not end", now - 1);
                    std::process::abort();
                }
                now => last = now,
            }
        }
    });
}
