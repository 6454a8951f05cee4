//! Which number the kernel knows a file of the folder by, and where it lies.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The number of the folder itself.
pub const ROOT: u64 = 1;

/// Numbers are given once and never again: a file that takes the place of another on the disk is a new one.
#[derive(Debug)]
pub struct Names {
    root: PathBuf,
    next: u64,
    /// Number on the disk to ours, while it has a name.
    by_disk: HashMap<u64, u64>,
    /// Parent and name; of several names the last one that was met.
    places: HashMap<u64, (u64, OsString)>,
}

impl Names {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), next: ROOT + 1, by_disk: HashMap::new(), places: HashMap::new() }
    }

    /// Where `number` lies; `None` where it has no name any more.
    pub fn path(&self, number: u64) -> Option<PathBuf> {
        if number == ROOT {
            return Some(self.root.clone());
        }
        let (parent, name) = self.places.get(&number)?;
        Some(self.path(*parent)?.join(name))
    }

    pub fn child(&self, parent: u64, name: &OsStr) -> Option<PathBuf> {
        Some(self.path(parent)?.join(name))
    }

    /// The number of what has the number `on_disk` there and lies at `name` in `parent`.
    pub fn met(&mut self, on_disk: u64, parent: u64, name: &OsStr) -> u64 {
        let number = *self.by_disk.entry(on_disk).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        });
        self.places.insert(number, (parent, name.to_os_string()));
        number
    }

    /// That the last name of `on_disk` is gone; gives its number.
    pub fn gone(&mut self, on_disk: u64) -> Option<u64> {
        let number = self.by_disk.remove(&on_disk)?;
        self.places.remove(&number);
        Some(number)
    }
}
