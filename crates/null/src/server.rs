//! Listens, and gives each connection a thread.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

#[cfg(unix)]
use crate::polled::Polled;
use crate::session::serve;

/// Stack of a connection's thread; it goes a few calls deep.
const STACK_BYTES: usize = 128 * 1024;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Path of a unix socket; libpq's clients look for `.s.PGSQL.PORT` in a folder.
    Unix(PathBuf),
    /// A port of the loopback address; 0 takes a free one.
    Tcp(u16),
}

/// A listening server. Dropping it ends the listening; connections end with their clients.
#[derive(Debug)]
pub struct Server {
    address: Address,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen at `address`, on the loopback address only. Errors: what the system says.
    pub fn start(address: &Address) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (address, accept): (Address, Box<dyn FnMut() -> io::Result<()> + Send>) = match address {
            Address::Tcp(port) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?;
                let port = listener.local_addr()?.port();
                let accept = move || {
                    let (stream, _) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    spawn(stream)
                };
                (Address::Tcp(port), Box::new(accept))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                (Address::Unix(path.clone()), Box::new(move || spawn(Polled(listener.accept()?.0))))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let thread = std::thread::spawn(move || listen(accept, &stopped));
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens, with the port that was taken.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

fn listen(mut accept: Box<dyn FnMut() -> io::Result<()> + Send>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        // A client that went away, or that finds no room for a thread, is no reason to stop listening.
        let _ = accept();
    }
}

fn spawn(mut stream: impl Read + Write + Send + 'static) -> io::Result<()> {
    let builder = std::thread::Builder::new().name("session".into()).stack_size(STACK_BYTES);
    // How a session ends is its client's affair.
    builder.spawn(move || drop(serve(&mut stream))).map(drop)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees the wish.
        let woken = match &self.address {
            Address::Tcp(port) => TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))).is_ok(),
            #[cfg(unix)]
            Address::Unix(path) => UnixStream::connect(path).is_ok(),
            #[cfg(not(unix))]
            Address::Unix(_) => false,
        };
        if let (true, Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}
