//! Servers that tests use one after another: a start takes longer than most tests.

use std::fs;
use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// Root, whom servers refuse, runs them as `user`, else as nobody; `None` for everybody else.
fn runner(user: &'static str) -> Option<&'static str> {
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let known = fs::read_to_string("/etc/passwd").unwrap();
    let known = known.lines().any(|line| line.starts_with(&format!("{user}:")));
    root.then_some(if known { user } else { "nobody" })
}

/// A program of a server's, run by somebody without privileges.
pub fn unprivileged(program: &Path, user: &'static str) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(user) = runner(user) {
        command.args([&format!("--reuid={user}"), "--regid=nogroup", "--clear-groups"]).current_dir("/");
    }
    // Also where this process is killed, and drops nothing.
    command.arg("--pdeathsig=TERM").arg(program);
    command
}

/// Starts a server. The kernel ties its end to that of the thread that started it, which is one that stays.
pub fn start(command: Command) -> Child {
    type Wish = (Command, Sender<Child>);
    static STARTING: OnceLock<Mutex<Sender<Wish>>> = OnceLock::new();
    let starting = STARTING.get_or_init(|| {
        let (wishes, wanted) = channel::<Wish>();
        std::thread::spawn(move || {
            for (mut command, started) in wanted {
                started.send(command.spawn().unwrap()).unwrap();
            }
        });
        Mutex::new(wishes)
    });
    let (started, child) = channel();
    starting.lock().unwrap_or_else(PoisonError::into_inner).send((command, started)).unwrap();
    child.recv().expect("the server can be started")
}

/// Gives a folder and all in it to who runs the server.
pub fn give_away(folder: &Path, user: &'static str) {
    if let Some(user) = runner(user) {
        assert!(Command::new("chown").args(["-R", user]).arg(folder).status().unwrap().success());
    }
}

/// Ports below those that the kernel gives to outgoing connections, which come and go while a server starts.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// A port that nothing listens on, and that no other call in this process has given.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let of_process = std::process::id().wrapping_mul(2_654_435_761);
    loop {
        let step = of_process.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(PORTS.start + step % (PORTS.end - PORTS.start)).expect("all are below 65,536");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The most servers that wait for a test: each takes memory, a MySQL some 400 MB.
const MOST_IDLE: usize = 8;

/// A server that can be used again.
pub trait Reusable: Sized + 'static {
    /// Where those lie that are not in use.
    fn pool() -> &'static Pool<Self>;

    /// Removes what a test has left; `false` for a server that is not as good as new then.
    fn renew(&mut self) -> bool;
}

/// Servers that are running and not in use, each with its kind, the latest last.
pub struct Pool<S> {
    idle: Mutex<Vec<(String, S)>>,
    at_exit: Once,
    end: extern "C" fn(),
}

impl<S> Pool<S> {
    /// A pool without a server; `end` empties it when the process ends.
    pub const fn new(end: extern "C" fn()) -> Self {
        Self { idle: Mutex::new(Vec::new()), at_exit: Once::new(), end }
    }

    /// Drops all servers in it.
    pub fn empty(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self, kind: &str) -> Option<S> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(found, _)| found == kind)?;
        Some(idle.remove(at).1)
    }

    fn put(&self, kind: String, server: S) {
        // Statics are not dropped at the end of a process.
        // SAFETY: the function takes nothing and stays.
        self.at_exit.call_once(|| assert_eq!(unsafe { libc::atexit(self.end) }, 0));
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (idle.len() == MOST_IDLE).then(|| idle.remove(0));
        idle.push((kind, server));
        drop(idle);
        // To stop it takes its time, in which others may take and give back.
        drop(oldest);
    }
}

/// A server that a test has for itself, and gives back at its end.
pub struct Lent<S: Reusable> {
    /// Of one that may be used again.
    kind: Option<String>,
    server: Option<S>,
}

impl<S: Reusable> Lent<S> {
    /// One of this kind: one that is idle, else a new one. Without a kind one that no other test will use.
    pub fn of(kind: Option<String>, start: impl FnOnce() -> S) -> Self {
        let idle = kind.as_deref().and_then(|kind| S::pool().take(kind));
        Self { kind, server: Some(idle.unwrap_or_else(start)) }
    }
}

impl<S: Reusable> Deref for Lent<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.server.as_ref().expect("it is there until it is dropped")
    }
}

impl<S: Reusable> DerefMut for Lent<S> {
    fn deref_mut(&mut self) -> &mut S {
        self.server.as_mut().expect("it is there until it is dropped")
    }
}

impl<S: Reusable> Drop for Lent<S> {
    fn drop(&mut self) {
        if let (Some(kind), Some(mut server)) = (self.kind.take(), self.server.take()) {
            // What a test that failed has left is not known.
            if !std::thread::panicking() && server.renew() {
                S::pool().put(kind, server);
            }
        }
    }
}
