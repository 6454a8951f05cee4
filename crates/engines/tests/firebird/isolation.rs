//! What two sessions do to each other.

use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Engine, Isolation, Session, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use crate::bed::{prepare, Bed};
use crate::server::Server;

/// A session with its statements: read and add to the row of a key.
struct Player {
    conn: Box<dyn Connection>,
    read: StatementId,
    add: StatementId,
}

impl Player {
    fn new(engine: &dyn Engine, isolation: Isolation) -> Self {
        let mut conn = engine.connect(Session { isolation, in_place: true }).unwrap();
        let read = prepare(&mut *conn, "SELECT v FROM t WHERE k = ?", &[Type::Int32], &[Type::Int32]);
        let add = prepare(&mut *conn, "UPDATE t SET v = v + 1 WHERE k = ?", &[Type::Int32], &[]);
        Self { conn, read, add }
    }

    fn begin(&mut self) -> &mut Self {
        self.conn.begin().unwrap();
        self
    }

    fn read(&mut self, key: i64) -> i64 {
        let mut rows = Rows::new();
        self.conn.query(self.read, &[Value::Int(key)], &mut rows).unwrap();
        rows.int(0, 0).unwrap()
    }

    fn add(&mut self, key: i64) -> Result<u64> {
        self.conn.execute(self.add, &[Value::Int(key)])
    }
}

fn pair(bed: &Bed, isolation: Isolation, parameters: &str) -> (Player, Player) {
    let engine = bed.engine(parameters);
    (Player::new(&*engine, isolation), Player::new(&*engine, isolation))
}

/// Without words: it is made on the load path.
fn assert_conflict(error: &Error) {
    assert_eq!((error.kind, error.code.as_str(), error.message.as_deref()), (ErrorKind::Conflict, "335544451", None));
}

fn lost_update(bed: &Bed) {
    let (mut first, mut second) = pair(bed, Isolation::RepeatableRead, "");
    // Both read, the first one writes and commits: the second must not write over it.
    first.begin().read(1);
    let before = second.begin().read(1);
    assert_eq!(first.add(1).unwrap(), 1);
    first.conn.commit().unwrap();
    assert_eq!(second.read(1), before, "a snapshot does not move");
    assert_conflict(&second.add(1).unwrap_err());
    second.conn.rollback().unwrap();
    // The first one has written and is still open: the second does not wait.
    first.begin().add(1).unwrap();
    assert_conflict(&second.begin().add(1).unwrap_err());
    second.conn.rollback().unwrap();
    assert_conflict(&second.add(1).unwrap_err());
    first.conn.rollback().unwrap();
    assert_eq!(second.add(1).unwrap(), 1, "a single call after the conflict is gone");
}

#[test]
fn snapshots_refuse_lost_updates() {
    for bed in Bed::all() {
        bed.furnished("");
        lost_update(&bed);
    }
}

#[test]
fn snapshots_refuse_lost_updates_in_the_classic_modes() {
    for mode in ["SuperClassic", "Classic"] {
        let bed = Bed::Server(Server::start(mode));
        bed.furnished("");
        lost_update(&bed);
    }
}

#[test]
fn read_committed_reads_what_was_committed_and_updates_it() {
    for bed in Bed::all() {
        bed.furnished("");
        let (mut first, mut second) = pair(&bed, Isolation::ReadCommitted, "wait=no");
        let before = second.begin().read(1);
        first.begin().add(1).unwrap();
        assert_eq!(second.read(1), before, "what is not committed is not seen");
        assert_conflict(&second.add(1).unwrap_err());
        first.conn.commit().unwrap();
        assert_eq!(second.read(1), before + 1);
        assert_eq!(second.add(1).unwrap(), 1);
        second.conn.commit().unwrap();
        assert_eq!(first.read(1), before + 2);
    }
}

#[test]
fn serializable_locks_tables_for_writing() {
    for bed in Bed::all() {
        bed.furnished("");
        let (mut first, mut second) = pair(&bed, Isolation::Serializable, "");
        first.begin().add(1).unwrap();
        let error = second.begin().add(2).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Conflict, "335544345"));
        second.conn.rollback().unwrap();
        first.conn.commit().unwrap();
        assert_eq!(second.begin().add(2).unwrap(), 1);
        second.conn.commit().unwrap();
    }
}

#[test]
fn who_waits_goes_on_when_the_other_one_has_ended() {
    for bed in Bed::all() {
        bed.furnished("");
        for (wait, commits, expected) in [("wait=30", false, 1), ("wait=30", true, 3), ("", false, 4), ("", true, 6)] {
            let (mut first, mut second) = pair(&bed, Isolation::ReadCommitted, wait);
            first.begin().add(1).unwrap();
            second.begin();
            thread::scope(|scope| {
                let waiter = scope.spawn(move || second.add(1).and_then(|rows| second.conn.commit().map(|()| rows)));
                thread::sleep(Duration::from_millis(50));
                if commits { first.conn.commit() } else { first.conn.rollback() }.unwrap();
                assert_eq!(waiter.join().unwrap().unwrap(), 1);
            });
            assert_eq!(first.read(1), expected, "{wait:?}, {commits}");
        }
    }
}

#[test]
fn who_waits_for_a_table_gives_up_after_its_time() {
    let bed = Bed::embedded();
    bed.furnished("");
    let (mut first, mut second) = pair(&bed, Isolation::Serializable, "wait=1");
    first.begin().add(1).unwrap();
    let error = second.begin().add(2).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Busy, "335544510"));
}

#[test]
fn a_deadlock_ends_as_a_conflict_of_one_of_the_two() {
    let bed = Bed::Server(Server::start("Super"));
    bed.furnished("");
    let (mut first, mut second) = pair(&bed, Isolation::ReadCommitted, "wait=forever");
    first.begin().add(1).unwrap();
    second.begin().add(2).unwrap();
    let errors: Vec<Error> = thread::scope(|scope| {
        let run = |mut player: Player, key| {
            move || {
                let done = player.add(key);
                player.conn.rollback().unwrap();
                done.err()
            }
        };
        let handles = [scope.spawn(run(first, 2)), scope.spawn(run(second, 1))];
        handles.into_iter().filter_map(|handle| handle.join().unwrap()).collect()
    });
    // Firebird tells it by the same codes as an update that came too late.
    assert_eq!(errors.len(), 1, "{errors:?}");
    // It may be told as an update, or as a read for an update.
    assert!(errors[0].kind == ErrorKind::Conflict, "{:?}", errors[0]);
    assert!(["335544451", "335545096"].contains(&errors[0].code.as_str()), "{:?}", errors[0]);
}
