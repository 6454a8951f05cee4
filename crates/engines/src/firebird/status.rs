//! The status vector: what a call of the library says about how it ended.

use std::ffi::{c_char, c_uint, CStr};
use std::ptr;

use dsbench_core::error::{Code, Error, ErrorKind};

use super::api::{Api, StatusVector};
use super::codes;

// Tags of a vector's entries.
const END: isize = 0;
const GDS: isize = 1;
/// Its value takes two words: a length and a pointer.
const COUNTED_TEXT: isize = 3;
/// An error number of Unix or Windows.
const SYSTEM: [isize; 2] = [7, 17];

/// More codes than any error of Firebird carries.
const MOST: usize = 10;

/// A status vector, reused by the calls of a session.
#[derive(Debug, Default)]
pub(super) struct Status(pub(super) Box<StatusVector>);

impl Status {
    /// What the library's functions take first.
    #[inline]
    pub(super) fn as_mut_ptr(&mut self) -> *mut isize {
        self.0.as_mut_ptr()
    }

    /// The codes of the last call, from the general to the particular; their number.
    pub(super) fn codes(&self) -> ([i32; MOST], usize) {
        let (mut codes, mut count) = ([0; MOST], 0);
        for (tag, value) in self.entries() {
            if tag == GDS && count < MOST {
                codes[count] = value as i32;
                count += 1;
            }
        }
        (codes, count)
    }

    /// Whether `code` is among them.
    pub(super) fn has(&self, code: i32) -> bool {
        self.entries().any(|(tag, value)| tag == GDS && value as i32 == code)
    }

    /// The operating system's number, which only an engine in this process passes on.
    pub(super) fn system_error(&self) -> Option<isize> {
        self.entries().find(|(tag, _)| SYSTEM.contains(tag)).map(|(_, value)| value)
    }

    fn entries(&self) -> impl Iterator<Item = (isize, isize)> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let tag = *self.0.get(at)?;
            let value = *self.0.get(at + 1)?;
            at += if tag == COUNTED_TEXT { 3 } else { 2 };
            (tag != END).then_some((tag, value))
        })
    }

    /// What the library has to say, one clause after another.
    fn words(&self, api: &Api) -> String {
        let mut words = String::new();
        let mut next: *const isize = self.0.as_ptr();
        let mut clause: [c_char; 1024] = [0; 1024];
        // SAFETY: `next` starts at a vector that a call has filled, and is moved on by the library; the
        // buffer is as long as told, and the library ends it by a zero.
        while unsafe { (api.fb_interpret)(clause.as_mut_ptr(), clause.len() as c_uint, ptr::addr_of_mut!(next)) } > 0 {
            if !words.is_empty() {
                words.push_str("; ");
            }
            // SAFETY: as above.
            words.push_str(&unsafe { CStr::from_ptr(clause.as_ptr()) }.to_string_lossy());
        }
        words.replace('\n', " ")
    }

    /// The error that the vector tells of. Kinds that may be retried come without words: they are
    /// made on the load path.
    pub(super) fn error(&self, api: &Api, context: &'static str) -> Error {
        let (codes, count) = self.codes();
        let (code, kind) = codes::judge(&codes[..count]);
        let error = match kind.is_retryable() {
            true => Error::new(kind, context),
            false => Error::with(kind, context, self.words(api)),
        };
        Error { code: Code::number(code), ..error }.known(codes::missing_right(code))
    }

    /// The error of a step that sets something up: its kind is `Setup`, and it has the remedy of such steps.
    pub(super) fn setup(&self, api: &Api, context: &'static str, place: &str) -> Error {
        let (codes, count) = self.codes();
        let (code, _) = codes::judge(&codes[..count]);
        let remedy = codes[..count].iter().rev().find_map(|code| codes::remedy(*code)).or(codes::missing_right(code));
        let message = format!("{place}: {}", self.words(api));
        let error = Error::with(ErrorKind::Setup, context, message).known(remedy);
        // A code is what a server said, and none has said this one.
        if code == codes::REJECTED {
            return error;
        }
        Error { code: Code::number(code), ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_between_texts() {
        let mut status = Status::default();
        // gds, text, counted text, gds, unix error number.
        status.0[..13].copy_from_slice(&[1, 335_544_344, 2, 99, 3, 4, 99, 1, 335_544_734, 7, 2, 0, 1]);
        let (codes, count) = status.codes();
        assert_eq!(codes[..count], [335_544_344, 335_544_734]);
        assert_eq!(status.system_error(), Some(2));
        assert!(status.has(codes::IO_OPEN) && !status.has(codes::LOGIN));
        assert_eq!(Status::default().codes().1, 0);
    }

    #[test]
    fn a_vector_that_never_ends_is_read_to_its_end_only() {
        let status = Status(Box::new([1; 20]));
        assert_eq!(status.codes().1, MOST);
    }
}
