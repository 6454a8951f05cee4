//! The name that the operating system knows the user by: the default user of a login.

use crate::url::Environment;

/// The name of the effective user, or what the environment says where the system has none.
pub fn name(environment: Environment<'_>) -> Option<String> {
    system_name().or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| environment(name)))
}

#[cfg(unix)]
fn system_name() -> Option<String> {
    let mut space = vec![0_u8; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: an all-zero passwd is a valid value of a C structure of integers and pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: all pointers are to live locals, and the size is that of `space`.
    let code =
        unsafe { libc::getpwuid_r(libc::geteuid(), &mut entry, space.as_mut_ptr().cast(), space.len(), &mut found) };
    if code != 0 || found.is_null() {
        return None;
    }
    // SAFETY: on success pw_name is a zero-ended string inside `space`, which still lives.
    let name = unsafe { std::ffi::CStr::from_ptr(entry.pw_name) };
    name.to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn system_name() -> Option<String> {
    None
}
