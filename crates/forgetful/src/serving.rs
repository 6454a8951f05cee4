//! What the kernel asks for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{symlink, DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    FileAttr, Filesystem, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow,
};
use nix::errno::Errno;
use nix::sys::stat::{mknod, Mode, SFlag};
use nix::sys::statvfs::statvfs;

use crate::lock;
use crate::state::{number, Done, State};

/// How long the kernel may keep attributes and names: not at all, as they change by the drop.
const FRESH: Duration = Duration::ZERO;
/// O_DSYNC, which O_SYNC includes.
const DURABLE: i32 = nix::libc::O_DSYNC;

pub struct Serving(pub Arc<Mutex<State>>);

fn entry(done: Done<FileAttr>, reply: ReplyEntry) {
    match done {
        Ok(found) => reply.entry(&FRESH, &found, 0),
        Err(error) => reply.error(error),
    }
}

fn attributes(done: Done<FileAttr>, reply: ReplyAttr) {
    match done {
        Ok(found) => reply.attr(&FRESH, &found),
        Err(error) => reply.error(error),
    }
}

fn empty(done: Done<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Serving {
    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        entry(lock(&self.0).look_up(parent, name), reply);
    }

    fn getattr(&mut self, _: &Request<'_>, of: u64, _: Option<u64>, reply: ReplyAttr) {
        attributes(lock(&self.0).attributes(of), reply);
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        of: u64,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        attributes(self.changed(of, mode, (uid, gid), size, (accessed, modified)), reply);
    }

    fn readlink(&mut self, _: &Request<'_>, of: u64, reply: ReplyData) {
        use std::os::unix::ffi::OsStrExt;
        match lock(&self.0).path(of).and_then(|path| fs::read_link(path).map_err(number)) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(&mut self, req: &Request<'_>, parent: u64, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        let (kind, rights) = (SFlag::from_bits_truncate(mode), Mode::from_bits_truncate(mode));
        let make = |path: &Path| {
            mknod(path, kind & SFlag::S_IFMT, rights, 0)?;
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
        };
        entry(self.made(req, parent, name, make), reply);
    }

    fn mkdir(&mut self, req: &Request<'_>, parent: u64, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let make = |path: &Path| {
            fs::DirBuilder::new().mode(0o700).create(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
        };
        entry(self.made(req, parent, name, make), reply);
    }

    fn unlink(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        empty(self.removed(parent, name, |path| fs::remove_file(path)), reply);
    }

    fn rmdir(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        empty(self.removed(parent, name, |path| fs::remove_dir(path)), reply);
    }

    fn symlink(&mut self, req: &Request<'_>, parent: u64, name: &OsStr, target: &Path, reply: ReplyEntry) {
        entry(self.made(req, parent, name, |path| symlink(target, path)), reply);
    }

    fn rename(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        new_parent: u64,
        new_name: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        empty(self.renamed((parent, name), (new_parent, new_name), flags), reply);
    }

    fn link(&mut self, _: &Request<'_>, of: u64, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let mut state = lock(&self.0);
        let linked = state.path(of).and_then(|path| {
            let new = state.names.child(parent, name).ok_or(Errno::ENOENT as i32)?;
            fs::hard_link(path, new).map_err(number)
        });
        entry(linked.and_then(|()| state.look_up(parent, name)), reply);
    }

    fn open(&mut self, _: &Request<'_>, of: u64, _: i32, reply: ReplyOpen) {
        match lock(&self.0).open(of) {
            Ok(()) => reply.opened(0, 0),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &mut self,
        req: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.made(req, parent, name, |path| {
            let new = flags & nix::libc::O_EXCL != 0;
            fs::File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .create_new(new)
                .mode(0o600)
                .open(path)
                .map(drop)
        });
        // Opened before it gets its rights: who made it may write into it whatever these are.
        let opened = made.and_then(|found| lock(&self.0).open(found.ino).map(|()| found.ino));
        match opened.and_then(|of| self.changed(of, Some(mode), (None, None), None, (None, None))) {
            Ok(found) => reply.created(&FRESH, &found, 0, 0, 0),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        of: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        match lock(&self.0).read(of, offset.unsigned_abs(), size as usize) {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        of: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        flags: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        match lock(&self.0).write(of, offset.unsigned_abs(), data, flags & DURABLE != 0) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    /// Comes with every close, and promises nothing.
    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(&mut self, _: &Request<'_>, of: u64, _: u64, _: i32, _: Option<u64>, _: bool, reply: ReplyEmpty) {
        lock(&self.0).close(of);
        reply.ok();
    }

    fn fsync(&mut self, _: &Request<'_>, of: u64, _: u64, _: bool, reply: ReplyEmpty) {
        empty(lock(&self.0).flush(of), reply);
    }

    fn opendir(&mut self, _: &Request<'_>, of: u64, _: i32, reply: ReplyOpen) {
        match self.listed(of) {
            Ok(handle) => reply.opened(handle, 0),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&mut self, _: &Request<'_>, _: u64, handle: u64, offset: i64, mut reply: ReplyDirectory) {
        if let Some(found) = lock(&self.0).listings.get(&handle) {
            let left = found.iter().enumerate().skip(usize::try_from(offset).unwrap_or(0));
            for (at, (on_disk, kind, name)) in left {
                if reply.add(*on_disk, at as i64 + 1, *kind, name) {
                    break;
                }
            }
        }
        reply.ok();
    }

    fn releasedir(&mut self, _: &Request<'_>, _: u64, handle: u64, _: i32, reply: ReplyEmpty) {
        lock(&self.0).listings.remove(&handle);
        reply.ok();
    }

    /// Names are on the disk at once.
    fn fsyncdir(&mut self, _: &Request<'_>, _: u64, _: u64, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&mut self, _: &Request<'_>, _: u64, reply: ReplyStatfs) {
        let found =
            lock(&self.0).path(crate::names::ROOT).and_then(|root| statvfs(&root).map_err(|error| error as i32));
        match found {
            Ok(it) => reply.statfs(
                it.blocks(),
                it.blocks_free(),
                it.blocks_available(),
                it.files(),
                it.files_free(),
                it.block_size() as u32,
                it.name_max() as u32,
                it.fragment_size() as u32,
            ),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(&mut self, _: &Request<'_>, of: u64, _: u64, offset: i64, length: i64, mode: i32, reply: ReplyEmpty) {
        if mode != 0 {
            return reply.error(Errno::EOPNOTSUPP as i32);
        }
        empty(lock(&self.0).reserve(of, offset.unsigned_abs() + length.unsigned_abs()), reply);
    }
}
