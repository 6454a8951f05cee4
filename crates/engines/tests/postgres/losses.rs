//! Connections that are lost, in every state a transaction can be in.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Isolation, Prepare, Statement};
use dsbench_core::error::ErrorKind;

use super::server::Server;

const SLEEP: Statement<'_> = Statement { sql: "SELECT pg_sleep(60)", params: &[], columns: &[] };

/// The number of the server's process for a connection.
fn process(connection: &mut dyn Connection) -> String {
    connection.fetch("SELECT pg_backend_pid()").unwrap().rows[0][0].clone().unwrap()
}

/// Waits until the query answers true.
fn wait_for(connection: &mut dyn Connection, sql: &str) {
    while connection.fetch(sql).unwrap().rows[0][0].as_deref() != Some("t") {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a session on the server as soon as it does what `when` says, and waits until it is gone.
fn terminate(admin: &mut dyn Connection, process: &str, when: &str) {
    let has = |what: &str| format!("SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = {process} {what}");
    wait_for(admin, &has(when));
    admin.fetch(&format!("SELECT pg_terminate_backend({process})")).unwrap();
    // The server forgets a session before its process closes the socket.
    let exists = || Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status().unwrap().success();
    while exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sessions over the unix socket and over TCP.
fn both_ways(server: &Server) -> [Box<dyn Connection>; 2] {
    let tcp = dsbench_engines::postgres::open(&server.tcp("admin", "sslmode=disable")).unwrap();
    [server.connect(), tcp.connect(super::server::ADMIN).unwrap()]
}

#[test]
fn in_a_transaction_a_loss_is_a_disconnect() {
    let server = Server::start();
    let mut admin = server.connect();
    for mut connection in both_ways(&server) {
        let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
        let process = process(&mut *connection);
        connection.begin().unwrap();
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
            terminate(&mut *admin, &process, "AND query LIKE '%sleep%' AND state = 'active'");
            waiting.join().unwrap()
        });
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Disconnected, "57P01"));
        let later = [
            connection.begin().unwrap_err(),
            connection.commit().unwrap_err(),
            connection.rollback().unwrap_err(),
            connection.execute(sleep, &[]).unwrap_err(),
            connection.fetch("SELECT 1").unwrap_err(),
        ];
        assert!(later.iter().all(|error| error.kind == ErrorKind::Disconnected), "{later:?}");
    }
}

#[test]
fn outside_a_transaction_the_end_is_unknown() {
    let server = Server::start();
    let mut admin = server.connect();
    for mut connection in both_ways(&server) {
        let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
        let process = process(&mut *connection);
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
            terminate(&mut *admin, &process, "AND query LIKE '%sleep%' AND state = 'active'");
            waiting.join().unwrap()
        });
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Unknown, "57P01"));
        connection.rollback().unwrap();
    }
}

#[test]
fn in_commit_the_end_is_unknown() {
    let server = Server::start();
    let mut admin = server.connect();
    admin
        .script(&[
            "CREATE TABLE t (a int)",
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$",
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()",
        ])
        .unwrap();
    for mut connection in both_ways(&server) {
        let process = process(&mut *connection);
        connection.begin().unwrap();
        connection.script(&["INSERT INTO t VALUES (1)"]).unwrap();
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.commit().unwrap_err());
            terminate(&mut *admin, &process, "AND wait_event = 'PgSleep'");
            waiting.join().unwrap()
        });
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Unknown, "57P01"));
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Disconnected, "nothing was sent");
    }
}

#[test]
fn a_session_that_ended_before_the_flight_left() {
    let server = Server::start();
    let mut admin = server.connect();
    let mut connection = server.connect();
    let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
    let process = process(&mut *connection);
    terminate(&mut *admin, &process, "");
    // On a unix socket the flight is not even taken, so that it was surely not carried out.
    let error = connection.execute(sleep, &[]).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Disconnected, "57P01"), "{error}");

    let mut connection = server.connect();
    let process = self::process(&mut *connection);
    connection.begin().unwrap();
    connection.script(&["SELECT 1"]).unwrap();
    terminate(&mut *admin, &process, "");
    assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Unknown);

    let mut connection = server.connect();
    let process = self::process(&mut *connection);
    connection.begin().unwrap();
    terminate(&mut *admin, &process, "");
    let error = connection.commit().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected, "the server had not even begun");
}

#[test]
fn a_server_that_dies() {
    let mut server = Server::start();
    let mut idle = server.connect();
    let mut open = server.connect();
    open.begin().unwrap();
    open.script(&["SELECT 1"]).unwrap();
    let mut busy = server.connect();
    let sleep = busy.prepare(&SLEEP, Prepare::Once).unwrap();
    busy.begin().unwrap();
    let mut admin = server.connect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| busy.execute(sleep, &[]).unwrap_err());
        wait_for(&mut *admin, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
        server.kill();
        assert_eq!(waiting.join().unwrap().kind, ErrorKind::Disconnected);
    });
    assert_eq!(open.commit().unwrap_err().kind, ErrorKind::Unknown);
    assert!(matches!(idle.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected | ErrorKind::Unknown));
    let error = server.engine().connect(super::server::ADMIN).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Setup, "{error}");
}

#[test]
fn another_thread_ends_what_a_connection_waits_for() {
    let server = Server::start();
    let mut admin = server.connect();
    for in_transaction in [true, false] {
        let mut connection = server.session(Isolation::ReadCommitted);
        let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
        let interrupt = connection.interrupt().unwrap();
        if in_transaction {
            connection.begin().unwrap();
        }
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
            wait_for(&mut *admin, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
            interrupt.interrupt();
            waiting.join().unwrap()
        });
        assert_eq!(error.kind, if in_transaction { ErrorKind::Disconnected } else { ErrorKind::Unknown });
        assert_eq!(connection.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected);
        // The request to cancel ends the statement on the server, a minute before it would end.
        wait_for(&mut *admin, "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
        interrupt.interrupt();
    }
}
