//! What a driver asks its carrier: to be woken when its socket can be read or written.

use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;

use super::{Carrier, Watched};
use crate::clock::Nanos;

/// A socket's place at the carrier of the client whose socket it is.
#[derive(Debug, Default)]
pub struct Watch(Cell<Option<(u64, usize, RawFd)>>);

impl Watch {
    /// Waits until there may be something to read; false when `until` has come before.
    ///
    /// Only for callers that are [`carried`]. What is read afterwards has to be reported to
    /// [`Watch::drained`] or [`Watch::blocked`].
    #[inline]
    pub fn readable(&self, socket: RawFd, until: Option<Nanos>) -> io::Result<bool> {
        let Some(carrier) = Carrier::current() else { return Ok(true) };
        let place = self.place(carrier, socket)?;
        Ok(carrier.wait_for(place, until, |watched| watched.readable))
    }

    /// Waits until there may be room to write, or a connection under way is made or has failed; false
    /// when `until` has come before. Only for callers that are [`carried`].
    #[cold]
    pub fn writable(&self, socket: RawFd, until: Option<Nanos>) -> io::Result<bool> {
        let Some(carrier) = Carrier::current() else { return Ok(true) };
        let place = self.place(carrier, socket)?;
        let data = carrier.reset_writable(place);
        carrier.epoll.tell_writable(socket, data, true)?;
        let in_time = carrier.wait_for(place, until, |watched| watched.writable);
        carrier.epoll.tell_writable(socket, data, false)?;
        Ok(in_time)
    }

    #[inline]
    fn place(&self, carrier: &Carrier, socket: RawFd) -> io::Result<usize> {
        match self.0.get() {
            Some((number, place, _)) if number == carrier.number => Ok(place),
            _ => {
                let place = carrier.watch(socket)?;
                self.0.set(Some((carrier.number, place, socket)));
                Ok(place)
            }
        }
    }

    /// Reports that a read took all there was, so that the next wait ends with new bytes only. The end of a
    /// connection still has to be read behind its last bytes.
    #[inline]
    pub fn drained(&self) {
        self.update(|watched| watched.readable = watched.ended);
    }

    /// Reports that a read would have had to wait: not even the end is there.
    #[inline]
    pub fn blocked(&self) {
        self.update(|watched| watched.readable = false);
    }

    #[inline]
    fn update(&self, change: impl FnOnce(&mut Watched)) {
        if let (Some(carrier), Some((number, place, _))) = (Carrier::current(), self.0.get()) {
            if number == carrier.number {
                change(&mut carrier.watched.borrow_mut()[place]);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A duplicate of the socket may live on elsewhere, so that closing it would not end the watch.
        if let (Some(carrier), Some((number, place, socket))) = (Carrier::current(), self.0.get()) {
            if number == carrier.number {
                carrier.unwatch(place, socket);
            }
        }
    }
}
