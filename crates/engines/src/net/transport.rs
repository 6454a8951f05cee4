//! The bytes below the messages: a plain socket, or TLS over it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use dsbench_core::engine::Messages;
use rustls::{ClientConnection, StreamOwned};
use socket2::Socket;

use super::channel::Channel;

/// A TLS stream over a socket.
pub(crate) type TlsStream = StreamOwned<ClientConnection, Channel>;

/// A connection to a server.
pub(crate) enum Transport {
    /// Bytes as they are.
    Plain(Channel),
    /// Bytes inside TLS; boxed, since its state is large.
    Tls(Box<TlsStream>),
}

impl Transport {
    /// Sends all of `bytes`, in one system call where the socket takes them.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(channel) => channel.write_all(bytes),
            Self::Tls(stream) => send_encrypted(stream, bytes),
        }
    }

    /// Reads what is there, at least one byte; 0 at the end.
    #[inline]
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let done = match self {
            Self::Plain(channel) => channel.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        };
        match done {
            // A server that ends without TLS's goodbye has ended all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            done => done,
        }
    }

    /// Reads what is there without waiting; `None` when that is nothing.
    pub(crate) fn receive_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.channel().set_nonblocking(true)?;
        let done = self.receive(buffer);
        self.channel().set_nonblocking(false)?;
        match done {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            done => done.map(Some),
        }
    }

    /// Ends the time limit of the login.
    pub(crate) fn lift_deadline(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(channel) => channel.lift_deadline(),
            Self::Tls(stream) => stream.sock.lift_deadline(),
        }
    }

    /// The socket below.
    #[cfg(target_os = "linux")]
    pub(crate) fn socket(&self) -> &Socket {
        self.channel().socket()
    }

    /// The socket for another thread as well.
    pub(crate) fn share(&self) -> Arc<Socket> {
        self.channel().share()
    }

    /// Sends `bytes` as a goodbye that never waits.
    pub(crate) fn farewell(&mut self, bytes: &[u8]) {
        if self.channel().set_nonblocking(true).is_ok() {
            // A goodbye that does not arrive changes nothing: the socket closes next.
            let _ = self.send(bytes);
        }
    }

    /// The sends and receives of the socket below.
    #[inline]
    pub(crate) fn messages(&self) -> Messages {
        self.channel().messages()
    }

    fn channel(&self) -> &Channel {
        match self {
            Self::Plain(channel) => channel,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

/// Writes and never reads, so that an error means that the bytes did not all leave. (The library's
/// own way to write may also read, and would mix up the two.)
fn send_encrypted(stream: &mut TlsStream, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = stream.conn.writer().write(rest)?;
        rest = &rest[taken..];
        while stream.conn.wants_write() {
            if stream.conn.write_tls(&mut stream.sock)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
    }
    Ok(())
}
