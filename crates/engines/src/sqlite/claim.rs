//! A claim to the file: a lock of the kind that SQLite does not use (flock), so that neither disturbs the other. It
//! is seen by processes of other containers that share the volume, and the kernel lets it go with its process.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file that is locked, if any.
#[derive(Debug, Default)]
pub(super) struct Claim(Mutex<Option<File>>);

impl Claim {
    fn held(&self) -> MutexGuard<'_, Option<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks `file` and keeps it open; false when another process has locked it. A file system without locks claims
    /// nothing, and refuses nothing.
    pub(super) fn lock(&self, file: File) -> bool {
        let free = lock(&file);
        if free {
            *self.held() = Some(file);
        }
        free
    }

    /// Whether the file that is at `path` now is the one that was locked. Nothing is opened for it: closing that again
    /// would take SQLite's own locks along.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let held = self.held();
        let Some(Ok(locked)) = held.as_ref().map(File::metadata) else { return false };
        std::fs::metadata(path).is_ok_and(|there| same(&locked, &there))
    }

    pub(super) fn leave(&self) {
        *self.held() = None;
    }
}

#[cfg(unix)]
fn same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(unix)]
fn lock(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open as long as `file` is.
    let refused = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0;
    !(refused && std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock)
}

/// Windows refuses to remove or lock a file that others have open: SQLite's sessions are claim enough.
#[cfg(not(unix))]
fn same(_one: &std::fs::Metadata, _other: &std::fs::Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn lock(_file: &File) -> bool {
    true
}
