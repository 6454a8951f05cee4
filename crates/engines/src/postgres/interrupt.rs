//! Ends what a connection waits for, from another thread.

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsbench_core::engine::Interrupt;
use socket2::Socket;

use crate::net::socket::{self, Address};

/// The request code of CancelRequest: 1234 in the upper, 5678 in the lower half.
const CANCEL: u32 = 80_877_102;

/// Longest time that the request to cancel may take.
const LIMIT: Duration = Duration::from_secs(1);

/// Where the statements of a session are cancelled, and with which key.
#[derive(Clone)]
pub struct Cancel {
    address: Address,
    key: Option<(i32, i32)>,
    /// The key is a pooler's, and names no process of the server's.
    pooled: bool,
}

impl Cancel {
    /// A session that has no key yet.
    pub fn new(address: Address) -> Self {
        Self { address, key: None, pooled: false }
    }

    /// Keeps number and secret of the server's process.
    pub fn set_key(&mut self, process: i32, secret: i32) {
        self.key = Some((process, secret));
    }

    /// The number by which the login named the server's process, 0 for none. A pooler's may be any.
    pub fn key(&self) -> i32 {
        self.key.map_or(0, |(process, _)| process)
    }

    /// Says that the login told of no process.
    pub fn forget_process(&mut self) {
        self.pooled = true;
    }

    /// Number of the server's process, by its own word; nothing behind a pooler.
    #[cfg(target_os = "linux")]
    pub fn process(&self) -> Option<u32> {
        u32::try_from(self.key()).ok().filter(|process| *process > 0 && !self.pooled)
    }

    /// Whether a pooler stands between.
    #[cfg(target_os = "linux")]
    pub fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Asks the server to end the statement. It does not answer, so success is not known.
    ///
    /// A pooler drops a session whose socket is closed, and with it what the key stands for. Thousands of such requests at
    /// once ended PgBouncer 1.18.0: "FATAL … disconnect_client(): bad client state: 1".
    fn send(&self) {
        let Some((process, secret)) = self.key.filter(|_| !self.pooled) else { return };
        let mut request = Vec::with_capacity(16);
        for word in [16, CANCEL, process as u32, secret as u32] {
            request.extend_from_slice(&word.to_be_bytes());
        }
        if let Ok(mut channel) = socket::connect(&self.address, Some(Instant::now() + LIMIT)) {
            let _ = channel.write_all(&request);
        }
    }
}

/// The handle of one connection.
pub struct Handle {
    /// Its socket, which stays open while this is kept.
    pub socket: Arc<Socket>,
    /// How its statement ends on the server.
    pub cancel: Cancel,
}

impl Interrupt for Handle {
    fn interrupt(&self) {
        // First the socket: whatever the cancelled statement answers must not be taken for its result.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.cancel.send();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Whether the end of a session asks the server that it names to cancel a statement.
    fn cancels(pooled: bool) -> bool {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut cancel = Cancel::new(Address::Tcp("127.0.0.1".to_string(), port, None));
        cancel.set_key(7, 8);
        if pooled {
            cancel.forget_process();
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        Handle { socket: Arc::new(ours.into()), cancel }.interrupt();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0, "its socket is at its end");
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    }

    #[test]
    fn a_pooler_is_not_asked_to_cancel_what_it_has_dropped() {
        assert!(cancels(false));
        assert!(!cancels(true));
    }
}
