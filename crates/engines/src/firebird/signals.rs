//! Signals stay the program's. With its first call the client library takes SIGINT and SIGTERM, and at one of them
//! shuts down every attachment of the process: a program that wants to end in order would find its sessions gone.

#[cfg(unix)]
use std::mem::MaybeUninit;
#[cfg(unix)]
use std::sync::Mutex;

use super::api::Api;

#[cfg(unix)]
const TAKEN: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// Libraries that have taken them, by address, and were made to give them back.
#[cfg(unix)]
static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Makes a call.
#[cfg(not(unix))]
pub(super) fn kept<T>(_api: &'static Api, call: impl FnOnce() -> T) -> T {
    call()
}

/// Makes a call of `api`, perhaps its first one, and leaves the program's handlers in force.
#[cfg(unix)]
pub(super) fn kept<T>(api: &'static Api, call: impl FnOnce() -> T) -> T {
    let library = std::ptr::from_ref(api) as usize;
    // Held over the call: another thread's first call must not take the library's handlers for the program's.
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if known.contains(&library) {
        drop(known);
        return call();
    }
    let before = TAKEN.map(|signal| (signal, action(signal)));
    let result = call();
    for (signal, action) in before {
        // SAFETY: the action is one that was in force.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
    known.push(library);
    result
}

#[cfg(unix)]
fn action(signal: libc::c_int) -> libc::sigaction {
    let mut found = MaybeUninit::zeroed();
    // SAFETY: the pointer is valid, and zeros are an action, too (the default), should the call fail.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr());
        found.assume_init()
    }
}
