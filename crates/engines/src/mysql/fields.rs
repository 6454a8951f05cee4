//! Reads the fields of a packet one after the other; a packet that ends too early is garbage.

use std::io;

/// What is left of a packet.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (found, rest) = self.0.split_at_checked(count).ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(found)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (found, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(*found)
    }

    /// One byte.
    #[inline]
    pub(super) fn int8(&mut self) -> io::Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes, the lowest first, like all numbers of the protocol.
    #[inline]
    pub(super) fn int16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub(super) fn int32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub(super) fn int64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number in one to nine bytes, by its size; `None` is the mark of NULL in a row of text.
    #[inline]
    pub(super) fn length_or_null(&mut self) -> io::Result<Option<u64>> {
        Ok(Some(match self.int8()? {
            0xfb => return Ok(None),
            0xfc => self.int16()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => self.int64()?,
            0xff => return Err(garbage("0xff where a length should be")),
            small => small.into(),
        }))
    }

    /// A number in one to nine bytes, by its size.
    #[inline]
    pub(super) fn length(&mut self) -> io::Result<u64> {
        self.length_or_null()?.ok_or_else(|| garbage("NULL where a length should be"))
    }

    /// Bytes with their length before them; `None` is NULL.
    #[inline]
    pub(super) fn value(&mut self) -> io::Result<Option<&'a [u8]>> {
        match self.length_or_null()? {
            None => Ok(None),
            Some(length) => self.bytes(usize::try_from(length).map_err(|_| cut_off())?).map(Some),
        }
    }

    /// Bytes up to a zero byte, which is taken, too.
    pub(super) fn zero_ended(&mut self) -> io::Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(cut_off)?;
        let found = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(found)
    }
}

#[cold]
fn cut_off() -> io::Error {
    garbage("a packet that ends too early")
}

/// The error of a server that does not speak the protocol.
#[cold]
pub(super) fn garbage(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server does not speak MySQL's protocol: it sent {what}"))
}

/// Appends a length as [`Fields::length`] reads it.
#[inline]
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=0xfa => out.push(length as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_come_back_in_as_few_bytes_as_the_protocol_has() {
        for (length, bytes) in
            [(0, 1), (250, 1), (251, 3), (65_535, 3), (65_536, 4), (0xff_ffff, 4), (0x100_0000, 9), (1 << 40, 9)]
        {
            let mut out = Vec::new();
            put_length(&mut out, length);
            assert_eq!((out.len(), Fields(&out).length().unwrap()), (bytes, length as u64));
        }
        assert_eq!(Fields(&[0xfb]).length_or_null().unwrap(), None);
        assert!(Fields(&[0xfb]).length().is_err() && Fields(&[0xff]).length().is_err());
    }

    #[test]
    fn packets_that_end_too_early_are_garbage() {
        for bytes in [&[][..], &[0xfc, 1], &[0xfd, 1, 2], &[0xfe, 1, 2, 3, 4, 5, 6, 7], &[3, 1, 2], &[0xfe; 9]] {
            let error = Fields(bytes).value().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
        assert!(Fields(b"name").zero_ended().is_err());
        let mut fields = Fields(b"name\0rest");
        assert_eq!((fields.zero_ended().unwrap(), fields.0), (&b"name"[..], &b"rest"[..]));
    }
}
