//! What the sessions of load do at this moment, for whoever looks from another thread.
//!
//! A session stores a byte where its state changes. Reads, writes and flushes are noticed in SQLite's layer of files: the
//! one of the system, of which three functions note who is in them.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Once, Weak};

use dsbench_core::engine::{Seen, State};
use dsbench_core::locking::lock;
use libsqlite3_sys as ffi;

use super::waiting::Waiting;

/// Numbers of the statements that every session has, above those of any client.
pub(super) const BEGIN: u32 = u32::MAX - 3;
pub(super) const COMMIT: u32 = u32::MAX - 2;
pub(super) const ROLLBACK: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

const STATES: [(State, &str); 7] = [
    (State::Idle, ""),
    (State::Open, ""),
    (State::Active, ""),
    (State::Lock, "busy handler"),
    (State::Read, "xRead"),
    (State::Write, "xWrite"),
    (State::Flush, "xSync"),
];
const IDLE: u8 = 0;
const OPEN: u8 = 1;
const ACTIVE: u8 = 2;
pub(super) const LOCK: u8 = 3;
const READ: u8 = 4;
const WRITE: u8 = 5;
const FLUSH: u8 = 6;

/// What one session does.
#[derive(Debug)]
pub(super) struct Doing {
    state: AtomicU8,
    statement: AtomicU32,
    /// What is said of each statement, by number.
    known: Mutex<Vec<Box<str>>>,
}

impl Default for Doing {
    fn default() -> Self {
        Self { state: AtomicU8::new(IDLE), statement: AtomicU32::new(NONE), known: Mutex::default() }
    }
}

thread_local! {
    /// Of the session whose statement this thread runs.
    static HERE: Cell<*const Doing> = const { Cell::new(ptr::null()) };
}

impl Doing {
    /// Names the next statement.
    pub(super) fn add(&self, sql: &str) {
        lock(&self.known).push(sql.into());
    }

    /// A statement begins on this thread; its end sets what the session does then.
    #[inline]
    pub(super) fn begin(&self, statement: u32) {
        self.statement.store(statement, Ordering::Relaxed);
        self.state.store(ACTIVE, Ordering::Relaxed);
        HERE.set(self);
    }

    /// The statement has ended; `idle`: no transaction is open.
    #[inline]
    pub(super) fn end(&self, idle: bool) {
        HERE.set(ptr::null());
        self.state.store(if idle { IDLE } else { OPEN }, Ordering::Relaxed);
    }

    /// Does `work` in the state `state`.
    pub(super) fn during<T>(&self, state: u8, work: impl FnOnce() -> T) -> T {
        let before = self.state.swap(state, Ordering::Relaxed);
        let done = work();
        self.state.store(before, Ordering::Relaxed);
        done
    }

    fn seen(&self) -> Seen {
        let (state, wait) = STATES[usize::from(self.state.load(Ordering::Relaxed)).min(STATES.len() - 1)];
        let statement = match self.statement.load(Ordering::Relaxed) {
            BEGIN => "BEGIN".into(),
            COMMIT => "COMMIT".into(),
            ROLLBACK => "ROLLBACK".into(),
            number => lock(&self.known).get(number as usize).cloned().unwrap_or_default(),
        };
        Seen { state, wait, statement: statement.into() }
    }
}

/// The sessions of load on one file.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Vec<Weak<Waiting>>>);

impl Sessions {
    /// Adds one, and forgets those that were closed.
    pub(super) fn add(&self, session: &Arc<Waiting>) {
        let mut all = lock(&self.0);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(session));
    }

    /// What each of them does now.
    pub(super) fn seen(&self) -> Vec<Seen> {
        lock(&self.0).iter().filter_map(Weak::upgrade).map(|one| one.doing.seen()).collect()
    }
}

/// The functions of a kind of files, three of them ours, and behind them the system's. SQLite sees the first field.
#[repr(C)]
struct Noted {
    methods: ffi::sqlite3_io_methods,
    system: *const ffi::sqlite3_io_methods,
}

/// The layer of files, ours in `xOpen` alone, and behind it the system's. SQLite sees the first field.
#[repr(C)]
struct Layer {
    layer: ffi::sqlite3_vfs,
    system: *mut ffi::sqlite3_vfs,
}

/// Addresses of kinds of files: the system's, and ours for it. There are a handful, which stay.
static NOTED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Makes SQLite open its files by our layer. Called once, before any file is opened.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    // SAFETY: the default layer lives as long as the program, and so does ours, which is leaked. All but `xOpen` are the
    // system's functions, which take from the layer what was copied with it.
    INSTALLED.call_once(|| unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        if system.is_null() || (*system).iVersion < 1 {
            return;
        }
        let mut layer = Box::new(Layer { layer: ptr::read(system), system });
        layer.layer.zName = c"dsbench".as_ptr();
        layer.layer.pNext = ptr::null_mut();
        layer.layer.xOpen = Some(open);
        ffi::sqlite3_vfs_register(&raw mut Box::leak(layer).layer, 1);
    });
}

unsafe extern "C" fn open(
    layer: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite hands the layer that was registered, and a file of the size that the system's layer asks for.
    unsafe {
        let system = (*layer.cast::<Layer>()).system;
        let Some(open) = (*system).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(system, name, file, flags, out);
        if let Some(methods) = NonNull::new((*file).pMethods.cast_mut()) {
            (*file).pMethods = noted(methods.as_ptr());
        }
        code
    }
}

/// Ours for a kind of files of the system.
unsafe fn noted(system: *const ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    let mut all = lock(&NOTED);
    if let Some((_, ours)) = all.iter().find(|(of, _)| *of == system as usize) {
        return *ours as *const _;
    }
    // SAFETY: SQLite's tables of functions are static; the copy is leaked.
    let made = unsafe {
        let methods =
            ffi::sqlite3_io_methods { xRead: Some(read), xWrite: Some(write), xSync: Some(sync), ..ptr::read(system) };
        std::ptr::from_ref(Box::leak(Box::new(Noted { methods, system }))).cast::<ffi::sqlite3_io_methods>()
    };
    all.push((system as usize, made as usize));
    made
}

/// Does `work` with the system's functions of `file`, while the session of this thread is in `state`.
unsafe fn noting(
    file: *mut ffi::sqlite3_file,
    state: u8,
    work: impl FnOnce(&ffi::sqlite3_io_methods) -> c_int,
) -> c_int {
    // SAFETY: only files with our tables come here; a session that runs a statement on this thread lives meanwhile.
    unsafe {
        let system = &*(*(*file).pMethods.cast::<Noted>()).system;
        match HERE.get().as_ref() {
            Some(doing) => doing.during(state, || work(system)),
            None => work(system),
        }
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: handed on as it came.
    unsafe { noting(file, READ, |system| system.xRead.map_or(ffi::SQLITE_IOERR, |read| read(file, into, bytes, at))) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: handed on as it came.
    unsafe {
        noting(file, WRITE, |system| system.xWrite.map_or(ffi::SQLITE_IOERR, |write| write(file, from, bytes, at)))
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: handed on as it came.
    unsafe { noting(file, FLUSH, |system| system.xSync.map_or(ffi::SQLITE_IOERR, |sync| sync(file, flags))) }
}
