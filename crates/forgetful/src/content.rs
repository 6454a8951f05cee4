//! What a file holds: its part on the disk, and above it what was written and not flushed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const PAGE: usize = 4096;

/// The part of a file that is in memory alone.
#[derive(Debug, Default)]
pub struct Content {
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
    /// The size, and how much of the disk still counts below it; `None`: both are those of the disk.
    sizes: Option<(u64, u64)>,
}

impl Content {
    /// The size of the file, of which `disk` bytes are on the disk.
    pub fn size(&self, disk: u64) -> u64 {
        self.sizes.map_or(disk, |(size, _)| size)
    }

    /// Bytes in memory that are not on the disk.
    pub fn unflushed(&self) -> u64 {
        self.pages.len() as u64 * PAGE as u64 + u64::from(self.sizes.is_some())
    }

    fn sizes(&self, file: &File) -> io::Result<(u64, u64)> {
        match self.sizes {
            Some(sizes) => Ok(sizes),
            None => file.metadata().map(|found| (found.len(), found.len())),
        }
    }

    /// At most `length` bytes from `offset` on.
    pub fn read(&self, file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let (size, counts) = self.sizes(file)?;
        let length = (length as u64).min(size.saturating_sub(offset)) as usize;
        let mut found = vec![0; length];
        from_disk(file, counts, offset, &mut found)?;
        let end = offset + length as u64;
        for (number, page) in self.pages.range(offset / PAGE as u64..end.div_ceil(PAGE as u64)) {
            let begin = number * PAGE as u64;
            let (from, to) = (begin.max(offset), (begin + PAGE as u64).min(end));
            found[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&page[(from - begin) as usize..(to - begin) as usize]);
        }
        Ok(found)
    }

    /// Writes into memory.
    pub fn write(&mut self, file: &File, offset: u64, data: &[u8]) -> io::Result<()> {
        let (size, counts) = self.sizes(file)?;
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let (number, within) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let part = (PAGE - within).min(data.len() - done);
            let page = match self.pages.entry(number) {
                std::collections::btree_map::Entry::Occupied(page) => page.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let mut page = Box::new([0; PAGE]);
                    if part < PAGE {
                        from_disk(file, counts, number * PAGE as u64, &mut page[..])?;
                    }
                    place.insert(page)
                }
            };
            page[within..within + part].copy_from_slice(&data[done..done + part]);
            done += part;
        }
        self.sizes = Some((size.max(offset + data.len() as u64), counts));
        Ok(())
    }

    /// Cuts the file, or lengthens it with zeros.
    pub fn resize(&mut self, file: &File, size: u64) -> io::Result<()> {
        let (before, counts) = self.sizes(file)?;
        if size < before {
            let beyond = self.pages.split_off(&size.div_ceil(PAGE as u64));
            drop(beyond);
            let within = (size % PAGE as u64) as usize;
            if let Some(last) = self.pages.get_mut(&(size / PAGE as u64)) {
                last[within..].fill(0);
            }
        }
        self.sizes = Some((size, counts.min(size)));
        Ok(())
    }

    /// Brings the file on the disk to what it is.
    pub fn flush(&mut self, file: &File) -> io::Result<()> {
        let Some((size, counts)) = self.sizes else { return Ok(()) };
        if file.metadata()?.len() > counts {
            file.set_len(counts)?;
        }
        for (number, page) in &self.pages {
            let begin = number * PAGE as u64;
            let part = size.saturating_sub(begin).min(PAGE as u64) as usize;
            file.write_all_at(&page[..part], begin)?;
        }
        file.set_len(size)?;
        *self = Self::default();
        Ok(())
    }
}

/// Fills `into` from `offset` on; what lies behind the first `counts` bytes stays as it is.
fn from_disk(file: &File, counts: u64, offset: u64, into: &mut [u8]) -> io::Result<()> {
    let length = counts.saturating_sub(offset).min(into.len() as u64) as usize;
    let mut done = 0;
    while done < length {
        match file.read_at(&mut into[done..length], offset + done as u64)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("dsbench-forgetful-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn what_is_written_is_read_and_stays_off_the_disk_until_it_is_flushed() {
        let disk = file("written", &[7; 10_000]);
        let mut content = Content::default();
        content.write(&disk, 4_090, &[1; 20]).unwrap();
        content.write(&disk, 9_999, &[2; 5_000]).unwrap();
        let read = content.read(&disk, 0, 100_000).unwrap();
        assert_eq!(read.len(), 14_999);
        assert_eq!(read[4_089..4_111], [&[7][..], &[1; 20], &[7]].concat());
        assert_eq!((read[9_998], read[9_999], read[14_998]), (7, 2, 2));
        assert_eq!(Content::default().read(&disk, 0, 100_000).unwrap(), [7; 10_000], "the disk is as it was");
        content.flush(&disk).unwrap();
        assert_eq!(Content::default().read(&disk, 0, 100_000).unwrap(), read);
        assert_eq!(content.unflushed(), 0);
    }

    #[test]
    fn what_was_cut_off_is_zero_when_the_file_grows_again() {
        let disk = file("cut", &[7; 10_000]);
        let mut content = Content::default();
        content.write(&disk, 100, &[1; 5_000]).unwrap();
        content.resize(&disk, 200).unwrap();
        content.resize(&disk, 9_000).unwrap();
        let expected = [&[7; 100][..], &[1; 100], &[0; 8_800]].concat();
        assert_eq!(content.read(&disk, 0, 100_000).unwrap(), expected);
        content.write(&disk, 8_000, &[3]).unwrap();
        content.flush(&disk).unwrap();
        let mut expected = expected;
        expected[8_000] = 3;
        assert_eq!(Content::default().read(&disk, 0, 100_000).unwrap(), expected);
        content.resize(&disk, 0).unwrap();
        content.flush(&disk).unwrap();
        assert_eq!(disk.metadata().unwrap().len(), 0);
    }
}
