//! Plays what a server said to the client that connects next.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{channel, Sender};
use std::thread::JoinHandle;

/// What is done with one connection.
type Part = Box<dyn FnOnce(&mut UnixStream) -> std::io::Result<()> + Send>;

/// A server that does with each connection what it was told before.
pub struct Player {
    parts: Option<Sender<Part>>,
    thread: Option<JoinHandle<()>>,
}

impl Player {
    /// Listens at `path`.
    pub fn at(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (parts, told) = channel::<Part>();
        let thread = std::thread::spawn(move || {
            for part in told {
                let mut stream = listener.accept().unwrap().0;
                // The client may leave at any time. What it still has to say is taken, so that it need not wait.
                let _ = part(&mut stream);
                let _ = stream.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
        });
        Self { parts: Some(parts), thread: Some(thread) }
    }

    /// Tells what to do with the next connection.
    pub fn tell(&self, part: impl FnOnce(&mut UnixStream) -> std::io::Result<()> + Send + 'static) {
        self.parts.as_ref().unwrap().send(Box::new(part)).unwrap();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.parts = None;
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Sends all messages. Nothing is waited for: what the client asks is known.
pub fn send(stream: &mut UnixStream, messages: &[Vec<u8>]) -> std::io::Result<()> {
    stream.write_all(&messages.concat())
}

/// What the client says next.
pub fn take(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let length = stream.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}
