//! Parameter blocks: how an attachment, a new database and a transaction are asked for.
//!
//! A block is a version and then clusters of a tag, the length of its value in one byte, and the value
//! (`consts_pub.h`).

use dsbench_core::engine::Isolation;

use super::target::{Target, Wait};
use crate::secret::Secret;

/// A parameter block that is being written.
struct Block(Vec<u8>);

impl Block {
    fn text(&mut self, tag: u8, value: &str) {
        self.bytes(tag, value.as_bytes());
    }

    fn number(&mut self, tag: u8, value: u32) {
        self.bytes(tag, &value.to_le_bytes());
    }

    /// The values are not longer than 255 bytes: the target has seen to that.
    fn bytes(&mut self, tag: u8, value: &[u8]) {
        self.0.extend_from_slice(&[tag, value.len() as u8]);
        self.0.extend_from_slice(value);
    }
}

/// What a session asks for.
pub(super) fn attach(target: &Target) -> Vec<u8> {
    let mut block = Block(vec![1]);
    block.bytes(77, &[]); // utf8_filename
    block.number(63, 3); // sql_dialect
    block.text(48, &target.charset); // lc_ctype
    if let Some(user) = &target.user {
        block.text(28, user);
    }
    if let Some(password) = target.password.as_ref().map(Secret::reveal) {
        block.text(29, password);
    }
    if let Some(role) = &target.role {
        block.text(60, role);
    }
    block.number(57, target.connect_timeout_s.unwrap_or(CONNECT_S));
    if !target.config.is_empty() {
        block.text(87, &target.config);
    }
    block.0
}

/// What a session asks for that only looks: it tidies nothing up in a database that may be another's.
pub(super) fn look(target: &Target) -> Vec<u8> {
    let mut block = Block(attach(target));
    block.bytes(16, &[]); // no_garbage_collect
    block.0
}

/// What a session asks for that removes old versions of rows from the whole database.
pub(super) fn sweep(target: &Target) -> Vec<u8> {
    let mut block = Block(attach(target));
    block.bytes(10, &[2]); // sweep: records
    block.0
}

/// What a new database asks for.
pub(super) fn create(target: &Target) -> Vec<u8> {
    let mut block = Block(attach(target));
    block.bytes(54, &[0]); // overwrite: never
    block.text(68, &target.charset); // set_db_charset
    block.bytes(24, &[u8::from(target.forced_writes)]);
    if let Some(size) = target.page_size {
        block.number(4, size);
    }
    if let Some(pages) = target.page_buffers {
        block.number(61, pages); // set_page_buffers: kept in the database, for all sessions
    }
    if let Some(interval) = target.sweep_interval {
        block.number(22, interval);
    }
    block.0
}

/// Seconds after which a server is given up that takes connections and does not answer; the library waits for 180, and
/// hears no signal meanwhile.
const CONNECT_S: u32 = 60;

// Words of a transaction's parameter block.
const VERSION: u8 = 3;
const CONSISTENCY: u8 = 1;
const CONCURRENCY: u8 = 2;
const WAIT: u8 = 6;
const NO_WAIT: u8 = 7;
const READ: u8 = 8;
const WRITE: u8 = 9;
const READ_COMMITTED: u8 = 15;
const RECORD_VERSION: u8 = 17;
const NO_RECORD_VERSION: u8 = 18;
const NO_UNDO_LOG: u8 = 20;
const LOCK_TIMEOUT: u8 = 21;
const READ_CONSISTENCY: u8 = 22;

/// Transactions of a load at a level of isolation; see the module's table.
pub(super) fn transaction(isolation: Isolation, target: &Target) -> Vec<u8> {
    let mut block = vec![VERSION, WRITE];
    let wait = target.wait_at(isolation);
    match isolation {
        // Who waits takes no older version: else version 3 refuses the update of a row for which it has waited.
        Isolation::ReadCommitted if wait == Wait::No => block.extend([READ_COMMITTED, RECORD_VERSION]),
        Isolation::ReadCommitted => block.extend([READ_COMMITTED, NO_RECORD_VERSION]),
        Isolation::RepeatableRead => block.push(CONCURRENCY),
        Isolation::Serializable => block.push(CONSISTENCY),
    }
    waiting(&mut block, wait);
    if !target.auto_undo {
        block.push(NO_UNDO_LOG);
    }
    block
}

fn waiting(block: &mut Vec<u8>, wait: Wait) {
    match wait {
        Wait::No => block.push(NO_WAIT),
        Wait::Forever => block.push(WAIT),
        Wait::Seconds(seconds) => {
            block.extend([WAIT, LOCK_TIMEOUT, 4]);
            block.extend(seconds.to_le_bytes());
        }
    }
}

/// The transaction of a bulk load. It keeps no undo log, which would hold every row a second time. A load that
/// fails is left to the sweep.
pub(super) fn bulk() -> Vec<u8> {
    vec![VERSION, WRITE, CONCURRENCY, NO_WAIT, NO_UNDO_LOG]
}

/// Transactions of schema statements: they wait until other sessions have let go of the tables.
pub(super) fn schema() -> Vec<u8> {
    const PATIENCE_S: u32 = 60;
    let mut block = vec![VERSION, WRITE, READ_COMMITTED, RECORD_VERSION];
    waiting(&mut block, Wait::Seconds(PATIENCE_S));
    block
}

/// Transactions that only read what was committed: they are written down nowhere, and hold nothing up.
pub(super) fn reading() -> Vec<u8> {
    vec![VERSION, READ, READ_COMMITTED, RECORD_VERSION, NO_WAIT]
}

/// The same, where every statement sees one snapshot, its own; from version 4 on.
pub(super) fn reading_consistently() -> Vec<u8> {
    vec![VERSION, READ, READ_COMMITTED, READ_CONSISTENCY, NO_WAIT]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_byte_for_byte_what_the_library_reads() {
        let target = Target::parse("firebird://me:pw@h/a?page_size=8192&forced_writes=off", &|_| None).unwrap();
        let attach = attach(&target);
        assert_eq!(attach, b"\x01\x4d\x00\x3f\x04\x03\0\0\0\x30\x04UTF8\x1c\x02me\x1d\x02pw\x39\x04\x3c\0\0\0");
        let create = create(&target);
        assert_eq!(create[attach.len()..], *b"\x36\x01\x00\x44\x04UTF8\x18\x01\x00\x04\x04\x00\x20\0\0");
        for (isolation, settings, block) in [
            (Isolation::RepeatableRead, "", &[3, 9, 2, 7][..]),
            (Isolation::RepeatableRead, "?auto_undo=off", &[3, 9, 2, 7, 20]),
            (Isolation::ReadCommitted, "", &[3, 9, 15, 18, 6]),
            (Isolation::ReadCommitted, "?wait=no", &[3, 9, 15, 17, 7]),
            (Isolation::RepeatableRead, "?wait=forever", &[3, 9, 2, 6]),
            (Isolation::Serializable, "?wait=5", &[3, 9, 1, 6, 21, 4, 5, 0, 0, 0]),
        ] {
            let target = Target::parse(&format!("firebird://h/a{settings}"), &|_| None).unwrap();
            assert_eq!(transaction(isolation, &target), block, "{isolation:?} {settings}");
        }
    }
}
