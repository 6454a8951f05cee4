//! Signals stay the program's. With its first call the client library takes SIGINT and SIGTERM, and at one of them
//! shuts down every attachment of the process: a program that wants to end in order would find its sessions gone.

use std::ffi::{c_int, c_void};

use super::api::Api;

/// The library asks before it shuts down (`fb_shut_confirmation`).
const CONFIRMATION: c_int = 1;

/// It would shut down for a signal (`fb_shutrsn_signal`).
const SIGNAL: c_int = -5;

#[cfg(unix)]
const TAKEN: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// Makes the first call of a library that was just loaded, a short one, and gives the program its handlers back.
///
/// A signal that comes meanwhile waits until they are in force, unless another thread takes it: then both handlers
/// run, and the library is refused its shutdown.
pub(super) fn keep(api: &Api) {
    // SAFETY: the function fits the library's type, and lives as long as the program.
    unsafe { (api.fb_shutdown_callback)([0; 20].as_mut_ptr(), refuse, CONFIRMATION, std::ptr::null_mut()) };
    #[cfg(unix)]
    {
        let mask = blocked();
        let before = TAKEN.map(|signal| (signal, action(signal)));
        call(api);
        for (signal, action) in before {
            // SAFETY: the action is one that was in force.
            unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        }
        // SAFETY: the mask is the one that was in force.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()) };
    }
    #[cfg(not(unix))]
    call(api);
}

/// The library's question whether it may shut down, answered: 1 refuses.
extern "C" fn refuse(reason: c_int, _mask: c_int, _argument: *mut c_void) -> c_int {
    c_int::from(reason == SIGNAL)
}

/// A call that fails after the library has set itself up, before it looks for a server: it names parameters of
/// length 1 and gives none.
fn call(api: &Api) {
    let (mut status, mut handle) = ([0; 20], 0);
    // SAFETY: all pointers but that to the parameters are valid, and the library refuses null there.
    unsafe { (api.isc_service_attach)(status.as_mut_ptr(), 0, c"none".as_ptr(), &mut handle, 1, std::ptr::null()) };
}

/// Keeps the signals from this thread, and from those that it starts; the mask that was in force.
#[cfg(unix)]
fn blocked() -> libc::sigset_t {
    // SAFETY: zeros are a set, which is emptied and filled before it is used; all pointers are valid.
    unsafe {
        let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut set);
        for signal in TAKEN {
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        before
    }
}

#[cfg(unix)]
fn action(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: zeros are an action, too (the default), should the call fail.
    unsafe {
        let mut found = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut found);
        found
    }
}
