//! Zeroed numbers in memory straight from the system: a page that nothing was written to takes none.
//!
//! The allocator gives such memory only at first. With each large block that is freed, glibc raises the size from which
//! on it asks the system, and then clears memory it has: a thousand clients then took 191 KiB each instead of 55.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// Numbers that are zero until they are written to.
pub struct Zeroed {
    #[cfg(unix)]
    start: std::ptr::NonNull<AtomicU64>,
    #[cfg(unix)]
    length: usize,
    #[cfg(not(unix))]
    numbers: Box<[AtomicU64]>,
}

#[cfg(unix)]
mod system {
    use std::alloc::{handle_alloc_error, Layout};
    use std::ptr::{null_mut, NonNull};
    use std::slice::from_raw_parts;

    use super::{AtomicU64, Zeroed};

    // SAFETY: the memory belongs to this value alone, as that of a box does.
    unsafe impl Send for Zeroed {}
    // SAFETY: as above; what a shared reference writes are atomic numbers.
    unsafe impl Sync for Zeroed {}

    impl Zeroed {
        /// So many of them. Where the system has no memory the program ends, as for any other allocation.
        pub fn new(length: usize) -> Self {
            let layout = Layout::array::<AtomicU64>(length.max(1)).expect("fits into the address space");
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping, of nobody's memory.
            let start = unsafe { libc::mmap(null_mut(), layout.size(), access, kind, -1, 0) };
            if start == libc::MAP_FAILED {
                handle_alloc_error(layout);
            }
            Self { start: NonNull::new(start.cast()).expect("nothing is mapped at zero"), length }
        }

        pub(super) fn numbers(&self) -> &[AtomicU64] {
            // SAFETY: `new` has mapped so many, page by page aligned, and the system has zeroed them.
            unsafe { from_raw_parts(self.start.as_ptr(), self.length) }
        }
    }

    impl Drop for Zeroed {
        fn drop(&mut self) {
            // SAFETY: the mapping that `new` made, as long as it made it, with no reference left.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.length.max(1) * size_of::<AtomicU64>()) };
        }
    }
}

#[cfg(not(unix))]
impl Zeroed {
    /// So many of them.
    pub fn new(length: usize) -> Self {
        Self { numbers: (0..length).map(|_| AtomicU64::new(0)).collect() }
    }

    fn numbers(&self) -> &[AtomicU64] {
        &self.numbers
    }
}

impl Deref for Zeroed {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        self.numbers()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn numbers_are_zero_until_they_are_written_to() {
        for length in [0, 1, 511, 512, 34_816] {
            let numbers = Zeroed::new(length);
            assert_eq!(numbers.len(), length);
            assert!(numbers.iter().all(|number| number.load(Relaxed) == 0));
            numbers.iter().for_each(|number| number.store(7, Relaxed));
            assert_eq!(numbers.iter().map(|number| number.load(Relaxed)).sum::<u64>(), 7 * length as u64);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_that_nothing_was_written_to_take_no_memory() {
        let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        // Blocks that were freed before are what makes the allocator give used memory.
        drop((0..64).map(|_| vec![1_u64; 34_816]).collect::<Vec<_>>());
        let numbers = Zeroed::new(34_816);
        let there = |numbers: &Zeroed| {
            let mut pages = vec![0_u8; (34_816 * size_of::<u64>()).div_ceil(4096)];
            // SAFETY: asks about the mapping of `numbers`, and has a byte for each of its pages, which are no smaller.
            let failed = unsafe { libc::mincore(numbers.as_ptr() as *mut _, 34_816 * 8, pages.as_mut_ptr()) };
            assert_eq!(failed, 0);
            pages.iter().filter(|page| **page & 1 == 1).count()
        };
        assert_eq!(there(&numbers), 0);
        numbers[17_000].store(1, Relaxed);
        assert!(there(&numbers) == 1 || huge.contains("[always]"));
    }
}
