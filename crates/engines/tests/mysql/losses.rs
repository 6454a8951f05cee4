//! Connections that are lost, in every state a transaction can be in.

use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Isolation, Prepare, Statement};
use dsbench_core::error::ErrorKind;

use super::server::{Server, ADMIN};

const SLEEP: Statement<'_> = Statement { sql: "DO sleep(60)", params: &[], columns: &[] };

fn cell(connection: &mut dyn Connection, sql: &str) -> String {
    connection.fetch(sql).unwrap().rows[0][0].clone().unwrap_or_default()
}

/// The server's number of a session.
fn session(connection: &mut dyn Connection) -> String {
    cell(connection, "SELECT CONNECTION_ID()")
}

/// Waits until as many sessions meet the condition.
fn wait_for(connection: &mut dyn Connection, condition: &str, count: &str) {
    let sql = format!("SELECT count(*) FROM information_schema.PROCESSLIST WHERE {condition}");
    while cell(connection, &sql) != count {
        thread::sleep(Duration::from_millis(5));
    }
}

const SLEEPING: &str = "INFO LIKE 'DO sleep%'";

/// Ends a session on the server as soon as it does what `when` says, and waits until it is gone.
fn kill(admin: &mut dyn Connection, session: &str, when: &str) {
    wait_for(admin, &format!("ID = {session} AND {when}"), "1");
    admin.script(&[&format!("KILL {session}")]).unwrap();
    wait_for(admin, &format!("ID = {session}"), "0");
}

/// Sessions over the unix socket and over TCP.
fn both_ways(server: &Server) -> [Box<dyn Connection>; 2] {
    let mut admin = server.connect();
    admin.script(&["CREATE USER IF NOT EXISTS guest"]).unwrap();
    let tcp = dsbench_engines::mysql::open(&server.tcp("guest", "ssl_mode=DISABLED")).unwrap();
    [admin, tcp.connect(ADMIN).unwrap()]
}

#[test]
fn in_a_transaction_a_loss_is_a_disconnect() {
    for server in Server::of_both(&[]) {
        let mut admin = server.connect();
        for mut connection in both_ways(&server) {
            let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
            let number = session(&mut *connection);
            connection.begin().unwrap();
            let error = thread::scope(|scope| {
                let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
                kill(&mut *admin, &number, SLEEPING);
                waiting.join().unwrap()
            });
            assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
            let later = [
                connection.begin().unwrap_err(),
                connection.commit().unwrap_err(),
                connection.rollback().unwrap_err(),
                connection.execute(sleep, &[]).unwrap_err(),
                connection.fetch("SELECT 1").unwrap_err(),
                connection.prepare(&SLEEP, Prepare::Never).unwrap_err(),
            ];
            assert!(later.iter().all(|error| error.kind == ErrorKind::Disconnected), "{later:?}");
        }
    }
}

#[test]
fn outside_a_transaction_the_end_is_unknown() {
    for server in Server::of_both(&[]) {
        let mut admin = server.connect();
        for mut connection in both_ways(&server) {
            let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
            let number = session(&mut *connection);
            let error = thread::scope(|scope| {
                let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
                kill(&mut *admin, &number, SLEEPING);
                waiting.join().unwrap()
            });
            assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
        }
    }
}

#[test]
fn a_statement_that_is_killed_is_an_error_of_its_own() {
    for server in Server::of_both(&[]) {
        let mut admin = server.connect();
        let mut connection = server.connect();
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
            SELECT count(*) FROM n a, n b, n c, n d";
        let wait = Statement { sql, params: &[], columns: &[] };
        let wait = connection.prepare(&wait, Prepare::Once).unwrap();
        let number = session(&mut *connection);
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.execute(wait, &[]).unwrap_err());
            wait_for(&mut *admin, "INFO LIKE 'WITH RECURSIVE%'", "1");
            admin.script(&[&format!("KILL QUERY {number}")]).unwrap();
            waiting.join().unwrap()
        });
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "1317"));
        assert_eq!(session(&mut *connection), number, "the session goes on");
    }
}

#[test]
fn a_session_that_ended_before_the_flight_left() {
    let server = Server::start();
    let mut admin = server.connect();
    for mut connection in both_ways(&server) {
        let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
        let number = session(&mut *connection);
        connection.begin().unwrap();
        kill(&mut *admin, &number, "TRUE");
        let error = connection.execute(sleep, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
    }
    for mut connection in both_ways(&server) {
        let number = session(&mut *connection);
        connection.begin().unwrap();
        kill(&mut *admin, &number, "TRUE");
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Unknown);
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Disconnected, "nothing was sent");
    }
}

#[test]
fn a_server_that_dies() {
    let mut server = Server::start();
    let mut idle = server.connect();
    let mut open = server.connect();
    open.begin().unwrap();
    let mut busy = server.connect();
    let sleep = busy.prepare(&SLEEP, Prepare::Once).unwrap();
    busy.begin().unwrap();
    let mut admin = server.connect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| busy.execute(sleep, &[]).unwrap_err());
        wait_for(&mut *admin, SLEEPING, "1");
        server.kill();
        assert_eq!(waiting.join().unwrap().kind, ErrorKind::Disconnected);
    });
    assert_eq!(open.commit().unwrap_err().kind, ErrorKind::Unknown);
    assert!(matches!(idle.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected | ErrorKind::Unknown));
    let error = server.engine().connect(ADMIN).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Setup, "{error}");
}

#[test]
fn another_thread_ends_what_a_connection_waits_for() {
    for server in Server::of_both(&[]) {
        let mut admin = server.connect();
        for in_transaction in [true, false] {
            let mut connection = server.session_of(Isolation::ReadCommitted);
            let sleep = connection.prepare(&SLEEP, Prepare::Once).unwrap();
            let interrupt = connection.interrupt().unwrap();
            if in_transaction {
                connection.begin().unwrap();
            }
            let error = thread::scope(|scope| {
                let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
                wait_for(&mut *admin, SLEEPING, "1");
                interrupt.interrupt();
                waiting.join().unwrap()
            });
            assert_eq!(error.kind, if in_transaction { ErrorKind::Disconnected } else { ErrorKind::Unknown });
            assert_eq!(connection.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected);
            // The session is ended on the server, a minute before its statement would end.
            wait_for(&mut *admin, SLEEPING, "0");
            interrupt.interrupt();
        }
    }
}
