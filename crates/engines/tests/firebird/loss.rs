//! Connections that are lost, cut and refused.

use std::thread;
use std::time::Duration;

use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type};

use crate::bed::{cell, prepare, Bed, ADMIN, LOAD};
use crate::server::{Hold, Server, PASSWORD};

#[test]
fn a_killed_server_is_a_lost_connection_and_in_commit_an_unknown_end() {
    let mut server = Server::start("Super");
    let engine = dsbench_engines::open(&server.url(&format!("sysdba:{PASSWORD}"), "")).unwrap();
    engine.place().create("test").unwrap();
    let sessions = ["idle", "begun", "committing", "gone"].map(|_| engine.connect(LOAD).unwrap());
    let [mut idle, mut begun, mut committing, mut gone] = sessions;
    let select = "SELECT 1 FROM rdb$database";
    let statements = [&mut idle, &mut begun, &mut gone].map(|conn| prepare(&mut **conn, select, &[], &[Type::Int32]));
    begun.begin().unwrap();
    committing.begin().unwrap();
    gone.begin().unwrap();
    server.kill();
    let mut rows = Rows::new();
    assert_eq!(committing.commit().unwrap_err().kind, ErrorKind::Unknown);
    assert_eq!(idle.query(statements[0], &[], &mut rows).unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!(begun.query(statements[1], &[], &mut rows).unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!(begun.begin().unwrap_err().kind, ErrorKind::Disconnected);
    // Known to be gone before a commit is sent: nothing of it was under way.
    assert_eq!(gone.query(statements[2], &[], &mut rows).unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!(gone.commit().unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!(gone.rollback().unwrap_err().kind, ErrorKind::Disconnected);
    gone.rollback().expect("and then there is nothing to roll back");
    assert_eq!(engine.connect(LOAD).err().unwrap().kind, ErrorKind::Setup);
}

/// Counts some 10^12 rows.
fn endless() -> String {
    let tables: Vec<String> = (0..5).map(|number| format!("rdb$types t{number}")).collect();
    format!("SELECT count(*) FROM {}", tables.join(" CROSS JOIN "))
}

/// A server that reads a statement and the wish to end it at once looks at no wish any more.
#[test]
fn a_server_that_does_not_end_a_statement_loses_the_connection() {
    let server = Server::start("Super");
    let hold = Hold::default();
    let engine = dsbench_engines::open(&server.url_through(&hold, &format!("sysdba:{PASSWORD}"))).unwrap();
    engine.place().create("test").unwrap();
    let mut lost = 0;
    // Which packet has the server count depends on the library.
    for packets in 0..8 {
        let mut conn = engine.connect(LOAD).unwrap();
        conn.limit(Duration::ZERO).unwrap();
        hold.after(packets);
        assert_eq!(conn.fetch(&endless()).unwrap_err().kind, ErrorKind::Timeout);
        conn.limit(Duration::from_secs(600)).unwrap();
        match conn.fetch("SELECT 1 FROM rdb$database") {
            Ok(found) => assert_eq!(found.rows.len(), 1),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
                lost += 1;
            }
        }
    }
    assert!(lost > 0, "the server has read both at once");
}

#[test]
fn an_interrupt_ends_a_statement_and_the_session() {
    let endless = endless();
    for bed in Bed::all() {
        let engine = bed.furnished("");
        let mut conn = engine.connect(LOAD).unwrap();
        let interrupt = conn.interrupt().unwrap();
        let error = thread::scope(|scope| {
            let call = scope.spawn(|| conn.fetch(&endless).unwrap_err());
            thread::sleep(Duration::from_millis(300));
            interrupt.interrupt();
            call.join().unwrap()
        });
        assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
        assert_eq!(conn.fetch("SELECT 1 FROM rdb$database").unwrap_err().kind, ErrorKind::Disconnected);
        assert_eq!(conn.begin().unwrap_err().kind, ErrorKind::Disconnected);
        drop(conn);
        interrupt.interrupt();
        let mut other = engine.connect(LOAD).unwrap();
        assert_eq!(cell(&mut *other, "SELECT count(*) FROM t"), "2", "other sessions go on");
        // The server ends the statement, too.
        let running = "SELECT count(*) FROM mon$statements WHERE mon$state = 1 AND mon$sql_text LIKE '%CROSS%' \
                       AND mon$attachment_id <> CURRENT_CONNECTION";
        for _ in 0..600 {
            if cell(&mut *other, running) == "0" {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(cell(&mut *other, running), "0");
    }
}

#[test]
fn an_interrupt_ends_a_wait_for_a_lock() {
    for bed in Bed::all() {
        let engine = bed.furnished("wait=600");
        let (mut holder, mut waiter) = (engine.connect(LOAD).unwrap(), engine.connect(LOAD).unwrap());
        let update = "UPDATE t SET v = v + 1 WHERE k = 1";
        let statements = [&mut holder, &mut waiter].map(|conn| prepare(&mut **conn, update, &[], &[]));
        holder.begin().unwrap();
        holder.execute(statements[0], &[]).unwrap();
        waiter.begin().unwrap();
        let interrupt = waiter.interrupt().unwrap();
        let error = thread::scope(|scope| {
            let call = scope.spawn(|| waiter.execute(statements[1], &[]).unwrap_err());
            thread::sleep(Duration::from_millis(200));
            interrupt.interrupt();
            call.join().unwrap()
        });
        assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
        drop(waiter);
        holder.commit().unwrap();
    }
}

#[test]
fn what_refuses_a_login_is_said_with_its_remedy() {
    let server = Server::start("Super");
    let error_of = |url: &str| dsbench_engines::open(url).unwrap().connect(ADMIN).err().unwrap();
    for (url, word) in [
        (server.url("sysdba:wrong", ""), "ISC_PASSWORD"),
        ("firebird://sysdba:wrong@127.0.0.1:1/nowhere".to_string(), "start the server"),
    ] {
        let error = error_of(&url);
        assert_eq!(error.kind, ErrorKind::Setup, "{error}");
        assert!(format!("{error:#}").contains(word) && !format!("{error:#}").contains("wrong"), "{error}");
    }
    let other = error_of(&server.url("sysdba:wrong", "client_library=/tmp/elsewhere/libfbclient.so.2"));
    assert!(other.to_string().contains("/tmp/elsewhere/libfbclient.so.2"), "one library in a process: {other}");
}
