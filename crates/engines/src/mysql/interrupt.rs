//! Ends what a connection waits for, from another thread.

use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use dsbench_core::engine::Interrupt;
use dsbench_core::error::ErrorKind;
use socket2::Socket;

use super::login::{self, Reach};
use super::reply::Skip;
use crate::place::ADMINISTRATION;

/// Longest time that the request to end a session may take.
const LIMIT: Duration = Duration::from_secs(1);

/// Which session is ended, and where.
#[derive(Clone)]
pub(super) struct Killer {
    /// How the servers of the target are reached.
    pub(super) reach: Reach,
    /// Which of them has the session.
    pub(super) at: usize,
    /// The server's number of the session.
    pub(super) session: u32,
}

impl Killer {
    /// Opens a second session and asks the server to end ours. Without that, the server would go on with the
    /// statement until it has something to send.
    fn kill(&self) {
        if let Ok(mut other) = login::open_at(&self.reach, self.at, ADMINISTRATION, Some(LIMIT), false) {
            // An error is ignored: the session may have ended already.
            let _ = other.wire.text(&format!("KILL {}", self.session), "kill", ErrorKind::Disconnected, &mut Skip);
        }
    }
}

/// The handle of one connection.
pub(super) struct Handle {
    /// Its socket, which stays open while this is kept.
    pub(super) socket: Arc<Socket>,
    /// How its session ends on the server.
    pub(super) killer: Killer,
}

impl Interrupt for Handle {
    fn interrupt(&self) {
        // First the socket: what the killed session answers must not be taken for a result.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.killer.kill();
    }
}
