//! The files that were opened or changed, with what of them is in memory alone.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType};
use nix::errno::Errno;

use crate::content::Content;
use crate::names::Names;

/// An error as the kernel takes it.
pub type Done<T> = Result<T, i32>;

/// The number of an error.
pub fn number(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::EIO as i32)
}

/// A file that is open, or has something that is not on the disk.
struct Held {
    file: File,
    content: Content,
    opened: u64,
}

pub struct State {
    pub names: Names,
    /// Whether a flush does nothing.
    pub lies: bool,
    held: HashMap<u64, Held>,
    /// Listings of folders that are open.
    pub listings: HashMap<u64, Vec<(u64, FileType, std::ffi::OsString)>>,
    pub next_listing: u64,
}

impl State {
    pub fn new(disk: &Path) -> io::Result<Self> {
        let disk = disk.canonicalize()?;
        let (held, listings) = (HashMap::new(), HashMap::new());
        Ok(Self { names: Names::new(&disk), lies: false, held, listings, next_listing: 1 })
    }

    /// Numbers of all files with an open handle or something in memory.
    pub fn known(&self) -> Vec<u64> {
        self.held.keys().copied().collect()
    }

    pub fn settle(&mut self) -> io::Result<()> {
        for held in self.held.values_mut() {
            held.content.flush(&held.file)?;
        }
        self.held.retain(|_, held| held.opened > 0);
        Ok(())
    }

    pub fn forget(&mut self) -> u64 {
        let dropped = self.held.values().map(|held| held.content.unflushed()).sum();
        for held in self.held.values_mut() {
            held.content = Content::default();
        }
        self.held.retain(|_, held| held.opened > 0);
        dropped
    }

    pub fn path(&self, of: u64) -> Done<PathBuf> {
        self.names.path(of).ok_or(Errno::ENOENT as i32)
    }

    fn held(&mut self, of: u64) -> Done<&mut Held> {
        if !self.held.contains_key(&of) {
            let path = self.path(of)?;
            let file = File::options().read(true).write(true).open(&path).or_else(|_| File::open(&path));
            let held = Held { file: file.map_err(number)?, content: Content::default(), opened: 0 };
            self.held.insert(of, held);
        }
        self.held.get_mut(&of).ok_or(Errno::EIO as i32)
    }

    pub fn open(&mut self, of: u64) -> Done<()> {
        self.held(of)?.opened += 1;
        Ok(())
    }

    pub fn close(&mut self, of: u64) {
        let nameless = self.names.path(of).is_none();
        if let Some(held) = self.held.get_mut(&of) {
            held.opened = held.opened.saturating_sub(1);
            // What is in memory outlives the last handle, but not the last name.
            if held.opened == 0 && (nameless || held.content.unflushed() == 0) {
                self.held.remove(&of);
            }
        }
    }

    pub fn read(&mut self, of: u64, offset: u64, length: usize) -> Done<Vec<u8>> {
        let held = self.held(of)?;
        held.content.read(&held.file, offset, length).map_err(number)
    }

    /// `durable`: it is to be on the disk when this returns.
    pub fn write(&mut self, of: u64, offset: u64, data: &[u8], durable: bool) -> Done<()> {
        let held = self.held(of)?;
        held.content.write(&held.file, offset, data).map_err(number)?;
        if durable {
            self.flush(of)?;
        }
        Ok(())
    }

    pub fn resize(&mut self, of: u64, size: u64) -> Done<()> {
        let held = self.held(of)?;
        held.content.resize(&held.file, size).map_err(number)
    }

    /// Lengthens the file to `size` where it is shorter.
    pub fn reserve(&mut self, of: u64, size: u64) -> Done<()> {
        let held = self.held(of)?;
        let disk = held.file.metadata().map_err(number)?.len();
        if held.content.size(disk) < size {
            held.content.resize(&held.file, size).map_err(number)?;
        }
        Ok(())
    }

    pub fn flush(&mut self, of: u64) -> Done<()> {
        if self.lies {
            return Ok(());
        }
        match self.held.get_mut(&of) {
            Some(held) => held.content.flush(&held.file).map_err(number),
            None => Ok(()),
        }
    }

    /// Attributes of `of`, which may have lost its name while it is open.
    pub fn attributes(&self, of: u64) -> Done<FileAttr> {
        let held = self.held.get(&of);
        // Of several names the one that was met last may be gone, or be that of another file by now.
        let found = match held {
            Some(held) => held.file.metadata(),
            None => fs::symlink_metadata(self.path(of)?),
        };
        let found = found.map_err(number)?;
        let size = held.map_or(found.len(), |held| held.content.size(found.len()));
        Ok(shown(of, &found, size))
    }

    /// Attributes of what lies at `name` in `parent`.
    pub fn look_up(&mut self, parent: u64, name: &std::ffi::OsStr) -> Done<FileAttr> {
        let path = self.names.child(parent, name).ok_or(Errno::ENOENT as i32)?;
        let found = fs::symlink_metadata(path).map_err(number)?;
        let of = self.names.met(found.ino(), parent, name);
        self.attributes(of)
    }

    /// That a name of `found` was removed or replaced: with the last one what is in memory goes, but for open handles.
    pub fn unnamed(&mut self, found: &Metadata) {
        if found.is_dir() || found.nlink() <= 1 {
            if let Some(of) = self.names.gone(found.ino()) {
                if self.held.get(&of).is_some_and(|held| held.opened == 0) {
                    self.held.remove(&of);
                }
            }
        }
    }
}

fn shown(of: u64, found: &Metadata, size: u64) -> FileAttr {
    let moment = |seconds: i64, ns: i64| -> SystemTime {
        UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(ns).unwrap_or(0))
    };
    let changed = moment(found.ctime(), found.ctime_nsec());
    FileAttr {
        ino: of,
        size,
        blocks: size.div_ceil(512),
        atime: moment(found.atime(), found.atime_nsec()),
        mtime: moment(found.mtime(), found.mtime_nsec()),
        ctime: changed,
        crtime: changed,
        kind: kind_of(found.file_type()),
        perm: (found.mode() & 0o7777) as u16,
        nlink: u32::try_from(found.nlink()).unwrap_or(u32::MAX),
        uid: found.uid(),
        gid: found.gid(),
        rdev: found.rdev() as u32,
        blksize: 4096,
        flags: 0,
    }
}

/// As the kernel calls it.
pub fn kind_of(kind: fs::FileType) -> FileType {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_dir() => FileType::Directory,
        kind if kind.is_symlink() => FileType::Symlink,
        kind if kind.is_socket() => FileType::Socket,
        kind if kind.is_fifo() => FileType::NamedPipe,
        kind if kind.is_char_device() => FileType::CharDevice,
        kind if kind.is_block_device() => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}
