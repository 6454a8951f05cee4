//! A database as it stands, with tables that somebody else made. It has no place: nothing can be created, marked,
//! measured or dropped there by dsbench, whoever asks for it.

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, PlaceState, Pooled, Seen, Session};
use dsbench_core::error::{ErrorKind, Result};

use crate::place::{refuse, CREATE, DROP, REMARK};

/// An engine all of whose sessions are in the database of the target.
pub(crate) struct Existing(Box<dyn Engine>);

impl Existing {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl Engine for Existing {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.0.connect_existing(session.isolation)
    }

    fn reconnect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.0.reconnect_existing(session.isolation)
    }

    fn is_unproved(&self) -> bool {
        self.0.is_unproved()
    }

    fn passed_over(&self) -> &[String] {
        self.0.passed_over()
    }

    fn hosts(&self) -> Vec<String> {
        self.0.hosts()
    }

    fn pooled(&self) -> Option<Pooled> {
        self.0.pooled()
    }

    fn place(&self) -> &dyn Place {
        self
    }

    fn seen(&self) -> Option<Vec<Seen>> {
        self.0.seen()
    }

    fn waits_in_sockets(&self) -> bool {
        self.0.waits_in_sockets()
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        self.0.kind_of(code)
    }

    fn is_read_only(&self, code: &str) -> bool {
        self.0.is_read_only(code)
    }

    fn on_thread(&self, body: &mut dyn FnMut()) {
        self.0.on_thread(body);
    }
}

fn never<T>(doing: &'static str) -> Result<T> {
    Err(refuse(doing, "the tables that are there belong to somebody else: nothing is made or dropped".into()))
}

impl Place for Existing {
    /// There is none. An error where no session can be had.
    fn state(&self) -> Result<PlaceState> {
        self.0.connect_existing(Isolation::ReadCommitted).map(|_| PlaceState::Absent)
    }

    fn create(&self, _mark: &str) -> Result<()> {
        never(CREATE)
    }

    fn remark(&self, _mark: &str) -> Result<()> {
        never(REMARK)
    }

    fn take_stock(&self) -> Result<()> {
        never(CREATE)
    }

    fn strangers(&self) -> Result<Vec<String>> {
        never(DROP)
    }

    fn drop(&self) -> Result<()> {
        never(DROP)
    }

    fn size_bytes(&self) -> Result<Option<u64>> {
        never("measure the place")
    }
}
