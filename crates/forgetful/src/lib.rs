//! A file system over a folder that forgets what was not flushed, as a machine does that loses its power.
//!
//! What is written stays in memory until fsync, fdatasync or a write with O_SYNC or O_DSYNC brings it into the folder,
//! which stands for the disk. On command all that is still in memory is dropped. A second mode is a lying cache: it
//! acknowledges every flush and forgets all the same. The model is LazyFS, which Jepsen uses.
//!
//! What persists at once, unlike on a real file system, is what happens to names: creating, renaming, linking and
//! removing them, owners, permissions and times. So a database that forgets to flush a folder is not caught; one that
//! renames a file before its content is flushed is: the name is there after the drop, the content is not. What was not
//! flushed is dropped whole: no page of it survives by chance, and none is torn.
//!
//! Nothing survives in the cache of the kernel either: it is told to drop its pages of every file, writes those that
//! were changed through a memory map back first, and asks for sizes at every look.

#![cfg(target_os = "linux")]

mod acts;
mod content;
mod names;
mod serving;
mod state;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{BackgroundSession, MountOption, Notifier, Session};
use nix::mount::{umount2, MntFlags};

use serving::Serving;
use state::State;

/// The source of the mount: by it whoever looks at the mounts of a machine finds it.
pub const MARK: &str = "dsbench-forgetful";

/// A mounted file system. It goes with this value.
pub struct Forgetful {
    state: Arc<Mutex<State>>,
    notifier: Notifier,
    session: Option<BackgroundSession>,
    mountpoint: std::path::PathBuf,
}

impl Forgetful {
    /// Mounts the folder `disk` on the folder `mountpoint`. Errors: no FUSE here, or not for this user.
    pub fn mount(disk: &Path, mountpoint: &Path) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::new(disk)?));
        let mut options = vec![MountOption::FSName(MARK.into()), MountOption::DefaultPermissions];
        // Servers step down from the superuser to another user; an ordinary user's run as that user.
        if nix::unistd::geteuid().is_root() {
            options.push(MountOption::AllowOther);
        }
        let session = Session::new(Serving(Arc::clone(&state)), mountpoint, &options)?;
        let notifier = session.notifier();
        Ok(Self { state, notifier, session: Some(session.spawn()?), mountpoint: mountpoint.to_path_buf() })
    }

    /// Brings everything that was written onto the disk, also what a lying cache kept.
    pub fn settle(&self) -> io::Result<()> {
        self.recall();
        lock(&self.state).settle()
    }

    /// Whether flushes are acknowledged and do nothing.
    pub fn lie(&self, lies: bool) {
        lock(&self.state).lies = lies;
    }

    /// Drops all that is not on the disk; gives the number of bytes that were dropped.
    pub fn forget(&self) -> u64 {
        self.recall();
        let dropped = lock(&self.state).forget();
        self.recall();
        dropped
    }

    /// Has the kernel give back its pages of every file. Without the lock: it may write some of them first.
    fn recall(&self) {
        let known = lock(&self.state).known();
        for number in known {
            // An inode that the kernel does not know has no pages there.
            let _ = self.notifier.inval_inode(number, 0, 0);
        }
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        // At once for everybody who comes, even where somebody still has a file open.
        let _ = umount2(&self.mountpoint, MntFlags::MNT_DETACH);
        drop(self.session.take());
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
