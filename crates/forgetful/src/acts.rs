//! What is done to names, owners, permissions and times: at once, in the folder that stands for the disk.

use std::ffi::OsStr;
use std::fs::{self, FileTimes};
use std::os::unix::fs::{lchown, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use fuser::{FileAttr, FileType, Request, TimeOrNow};
use nix::errno::Errno;

use crate::lock;
use crate::serving::Serving;
use crate::state::{kind_of, number, Done};

impl Serving {
    /// Makes something at `name` in `parent`, gives it to who asked, and looks it up.
    pub fn made(
        &self,
        req: &Request<'_>,
        parent: u64,
        name: &OsStr,
        make: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Done<FileAttr> {
        let mut state = lock(&self.0);
        let path = state.names.child(parent, name).ok_or(Errno::ENOENT as i32)?;
        make(&path).map_err(number)?;
        if nix::unistd::geteuid().is_root() {
            lchown(&path, Some(req.uid()), Some(req.gid())).map_err(number)?;
        }
        state.look_up(parent, name)
    }

    /// Takes the name from it by `remove`.
    pub fn removed(&self, parent: u64, name: &OsStr, remove: impl FnOnce(&Path) -> std::io::Result<()>) -> Done<()> {
        let mut state = lock(&self.0);
        let path = state.names.child(parent, name).ok_or(Errno::ENOENT as i32)?;
        let found = fs::symlink_metadata(&path).map_err(number)?;
        remove(&path).map_err(number)?;
        state.unnamed(&found);
        Ok(())
    }

    /// `from` and `to`: parent and name.
    pub fn renamed(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: u32) -> Done<()> {
        let mut state = lock(&self.0);
        let missing = Errno::ENOENT as i32;
        let (old, new) = (state.names.child(from.0, from.1), state.names.child(to.0, to.1));
        let (old, new) = (old.ok_or(missing)?, new.ok_or(missing)?);
        let replaced = fs::symlink_metadata(&new).ok();
        let moved = fs::symlink_metadata(&old).map_err(number)?;
        match flags {
            0 => {}
            nix::libc::RENAME_NOREPLACE if replaced.is_some() => return Err(Errno::EEXIST as i32),
            nix::libc::RENAME_NOREPLACE => {}
            _ => return Err(Errno::EINVAL as i32),
        }
        fs::rename(&old, &new).map_err(number)?;
        // Two names of one file: renaming one to the other does nothing.
        if let Some(replaced) = replaced.filter(|replaced| replaced.ino() != moved.ino()) {
            state.unnamed(&replaced);
        }
        state.names.met(moved.ino(), to.0, to.1);
        Ok(())
    }

    /// Keeps what a folder holds now; gives the number of that listing.
    pub fn listed(&self, of: u64) -> Done<u64> {
        let mut state = lock(&self.0);
        let path = state.path(of)?;
        let mut found = vec![(of, FileType::Directory, ".".into()), (of, FileType::Directory, "..".into())];
        for entry in fs::read_dir(path).map_err(number)? {
            let entry = entry.map_err(number)?;
            let (kind, name) = (kind_of(entry.file_type().map_err(number)?), entry.file_name());
            found.push((std::os::unix::fs::DirEntryExt::ino(&entry), kind, name));
        }
        let handle = state.next_listing;
        state.next_listing += 1;
        state.listings.insert(handle, found);
        Ok(handle)
    }

    /// Changes of `of` what is given, and gives what it has then.
    pub fn changed(
        &self,
        of: u64,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
        size: Option<u64>,
        times: (Option<TimeOrNow>, Option<TimeOrNow>),
    ) -> Done<FileAttr> {
        let mut state = lock(&self.0);
        if let Some(size) = size {
            state.resize(of, size)?;
        }
        if let Ok(path) = state.path(of) {
            if owner != (None, None) {
                lchown(&path, owner.0, owner.1).map_err(number)?;
            }
            if let Some(mode) = mode {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o7777)).map_err(number)?;
            }
            let mut set = FileTimes::new();
            set = times.0.map_or(set, |time| set.set_accessed(moment(time)));
            set = times.1.map_or(set, |time| set.set_modified(moment(time)));
            // Sockets and closed files keep theirs: no database goes by them.
            let _ = fs::File::open(&path).and_then(|file| file.set_times(set));
        }
        state.attributes(of)
    }
}

fn moment(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}
