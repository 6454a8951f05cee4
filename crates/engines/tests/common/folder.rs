//! Folders of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

/// A new folder, which is removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// With this in its name.
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        static CLEANED: Once = Once::new();
        CLEANED.call_once(remove_orphans);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dsbench-{name}-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

/// Those that a process left which was killed.
fn remove_orphans() {
    for entry in fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let file = entry.file_name().into_string().unwrap_or_default();
        let mut parts = file.strip_prefix("dsbench-").unwrap_or_default().rsplitn(3, '-').map(str::parse::<u32>);
        if let (Some(Ok(_)), Some(Ok(pid)), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            if !Path::new("/proc").join(pid.to_string()).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
