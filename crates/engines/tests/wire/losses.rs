//! Connections that are lost, in every state a transaction can be in.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Isolation, Prepare, StatementId};
use dsbench_core::error::{Error, ErrorKind};

use crate::server::{Server, ADMIN};
use crate::{cell, Wire};

for_both!(
    in_a_transaction_a_loss_is_a_disconnect,
    outside_a_transaction_the_end_is_unknown,
    a_statement_that_is_killed_is_an_error_of_its_own,
    a_session_that_ended_before_the_flight_left,
    a_server_that_dies,
    another_thread_ends_what_a_connection_waits_for,
);

/// The server's number of a session.
fn number(wire: Wire, connection: &mut dyn Connection) -> String {
    cell(connection, wire.either("SELECT pg_backend_pid()", "SELECT CONNECTION_ID()"))
}

/// Waits until as many sessions meet the condition.
fn wait_for(wire: Wire, admin: &mut dyn Connection, condition: &str, count: &str) {
    let sessions = wire.either("pg_stat_activity", "information_schema.PROCESSLIST");
    while cell(admin, &format!("SELECT count(*) FROM {sessions} WHERE {condition}")) != count {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Of sessions that wait a minute.
fn sleeping(wire: Wire) -> &'static str {
    wire.either("wait_event = 'PgSleep'", "STATE = 'User sleep'")
}

/// Prepares what takes a minute.
fn sleep(wire: Wire, connection: &mut dyn Connection) -> StatementId {
    let sql = wire.either("SELECT pg_sleep(60)", "DO sleep(60)");
    wire.prepare(connection, sql, &[], &[], Prepare::Once).unwrap()
}

/// Ends a session on the server as soon as it does what `when` says, and waits until it is gone.
fn end(wire: Wire, admin: &mut dyn Connection, session: &str, when: &str) {
    let id = wire.either("pid", "ID");
    wait_for(wire, admin, &format!("{id} = {session} AND {when}"), "1");
    admin
        .script(&[&wire.either(format!("SELECT pg_terminate_backend({session})"), format!("KILL {session}"))])
        .unwrap();
    wait_for(wire, admin, &format!("{id} = {session}"), "0");
    // PostgreSQL forgets a session before its process closes the socket.
    let exists = || Command::new("kill").args(["-0", session]).stderr(Stdio::null()).status().unwrap().success();
    while wire == Wire::Postgres && exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sessions over the unix socket and over TCP.
fn both_ways(wire: Wire, server: &Server) -> [Box<dyn Connection>; 2] {
    let mut admin = server.connect();
    if wire == Wire::Mysql {
        admin.script(&["CREATE USER IF NOT EXISTS guest"]).unwrap();
    }
    let tcp = wire.either(server.tcp("admin", "sslmode=disable"), server.tcp("guest", "ssl_mode=DISABLED"));
    [admin, dsbench_engines::open(&tcp).unwrap().connect(ADMIN).unwrap()]
}

/// The error of a call during which the session is ended, as soon as it does what `when` says.
fn ended_in(
    wire: Wire,
    server: &Server,
    connection: &mut dyn Connection,
    when: &str,
    call: impl FnOnce(&mut dyn Connection) -> Error + Send,
) -> Error {
    let session = number(wire, connection);
    let mut admin = server.connect();
    let error = thread::scope(|scope| {
        let waiting = scope.spawn(|| call(connection));
        end(wire, &mut *admin, &session, when);
        waiting.join().unwrap()
    });
    if wire == Wire::Postgres {
        assert_eq!(error.code.as_str(), "57P01");
    }
    error
}

fn in_a_transaction_a_loss_is_a_disconnect(wire: Wire) {
    for server in wire.servers(&[]) {
        for mut connection in both_ways(wire, &server) {
            let sleep = sleep(wire, &mut *connection);
            connection.begin().unwrap();
            let call = |connection: &mut dyn Connection| connection.execute(sleep, &[]).unwrap_err();
            let error = ended_in(wire, &server, &mut *connection, sleeping(wire), call);
            assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
            let later = [
                connection.begin().unwrap_err(),
                connection.commit().unwrap_err(),
                connection.rollback().unwrap_err(),
                connection.execute(sleep, &[]).unwrap_err(),
                connection.fetch("SELECT 1").unwrap_err(),
                wire.prepare(&mut *connection, "SELECT 1", &[], &[], Prepare::Once).unwrap_err(),
            ];
            assert!(later.iter().all(|error| error.kind == ErrorKind::Disconnected), "{later:?}");
        }
    }
}

fn outside_a_transaction_the_end_is_unknown(wire: Wire) {
    for server in wire.servers(&[]) {
        for mut connection in both_ways(wire, &server) {
            let sleep = sleep(wire, &mut *connection);
            let call = |connection: &mut dyn Connection| connection.execute(sleep, &[]).unwrap_err();
            let error = ended_in(wire, &server, &mut *connection, sleeping(wire), call);
            assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
            let later = connection.rollback().map_err(|error| error.kind);
            assert_eq!(later, wire.either(Ok(()), Err(ErrorKind::Disconnected)));
        }
    }
}

#[test]
fn in_a_commit_of_postgres_the_end_is_unknown() {
    let (wire, server) = (Wire::Postgres, Server::postgres());
    server
        .connect()
        .script(&[
            "CREATE TABLE t (a int)",
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$",
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()",
        ])
        .unwrap();
    for mut connection in both_ways(wire, &server) {
        connection.begin().unwrap();
        connection.script(&["INSERT INTO t VALUES (1)"]).unwrap();
        let call = |connection: &mut dyn Connection| connection.commit().unwrap_err();
        let error = ended_in(wire, &server, &mut *connection, sleeping(wire), call);
        assert_eq!(error.kind, ErrorKind::Unknown, "{error}");
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Disconnected, "nothing was sent");
    }
}

fn a_statement_that_is_killed_is_an_error_of_its_own(wire: Wire) {
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
        SELECT count(*) FROM n a, n b, n c, n d";
    for server in wire.servers(&[]) {
        let (mut admin, mut connection) = (server.connect(), server.connect());
        let wait = wire.prepare(&mut *connection, endless, &[], &[], Prepare::Once).unwrap();
        let session = number(wire, &mut *connection);
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.execute(wait, &[]).unwrap_err());
            let running = "query LIKE 'WITH RECURSIVE%' AND state = 'active'";
            wait_for(wire, &mut *admin, wire.either(running, "INFO LIKE 'WITH RECURSIVE%'"), "1");
            let kill = wire.either(format!("SELECT pg_cancel_backend({session})"), format!("KILL QUERY {session}"));
            admin.script(&[&kill]).unwrap();
            waiting.join().unwrap()
        });
        // PostgreSQL has one code for this and for a statement at its time limit.
        assert_eq!(error.kind, wire.either(ErrorKind::Timeout, ErrorKind::Statement));
        assert_eq!(error.code.as_str(), wire.either("57014", "1317"));
        assert_eq!(number(wire, &mut *connection), session, "the session goes on");
    }
}

fn a_session_that_ended_before_the_flight_left(wire: Wire) {
    let server = wire.server();
    let mut admin = server.connect();
    // PostgreSQL begins with the first statement.
    let begin = |connection: &mut dyn Connection| {
        connection.begin().unwrap();
        connection.script(&["SELECT 1"]).unwrap();
    };
    for mut connection in both_ways(wire, &server) {
        let (sleep, session) = (sleep(wire, &mut *connection), number(wire, &mut *connection));
        begin(&mut *connection);
        end(wire, &mut *admin, &session, "TRUE");
        let error = connection.execute(sleep, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
    }
    for mut connection in both_ways(wire, &server) {
        let session = number(wire, &mut *connection);
        begin(&mut *connection);
        end(wire, &mut *admin, &session, "TRUE");
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Unknown);
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Disconnected, "nothing was sent");
    }
}

#[test]
fn a_flight_that_postgres_did_not_take_was_surely_not_carried_out() {
    let (wire, server) = (Wire::Postgres, Server::postgres());
    let mut admin = server.connect();
    let mut connection = server.connect();
    let (sleep, session) = (sleep(wire, &mut *connection), number(wire, &mut *connection));
    end(wire, &mut *admin, &session, "TRUE");
    let error = connection.execute(sleep, &[]).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Disconnected, "57P01"), "{error}");

    let mut connection = server.connect();
    let session = number(wire, &mut *connection);
    connection.begin().unwrap();
    end(wire, &mut *admin, &session, "TRUE");
    let error = connection.commit().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected, "the server had not even begun");
}

fn a_server_that_dies(wire: Wire) {
    let mut server = wire.server();
    let [mut idle, mut open, mut busy, mut admin] = [0; 4].map(|_| server.connect());
    open.begin().unwrap();
    open.script(&["SELECT 1"]).unwrap();
    let sleep = sleep(wire, &mut *busy);
    busy.begin().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| busy.execute(sleep, &[]).unwrap_err());
        wait_for(wire, &mut *admin, sleeping(wire), "1");
        server.kill();
        assert_eq!(waiting.join().unwrap().kind, ErrorKind::Disconnected);
    });
    assert_eq!(open.commit().unwrap_err().kind, ErrorKind::Unknown);
    assert!(matches!(idle.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected | ErrorKind::Unknown));
    let error = server.engine().connect(ADMIN).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Setup, "{error}");
}

fn another_thread_ends_what_a_connection_waits_for(wire: Wire) {
    for server in wire.servers(&[]) {
        let mut admin = server.connect();
        for in_transaction in [true, false] {
            let mut connection = server.session(Isolation::ReadCommitted);
            let sleep = sleep(wire, &mut *connection);
            let interrupt = connection.interrupt().unwrap();
            if in_transaction {
                connection.begin().unwrap();
            }
            let error = thread::scope(|scope| {
                let waiting = scope.spawn(|| connection.execute(sleep, &[]).unwrap_err());
                wait_for(wire, &mut *admin, sleeping(wire), "1");
                interrupt.interrupt();
                waiting.join().unwrap()
            });
            assert_eq!(error.kind, if in_transaction { ErrorKind::Disconnected } else { ErrorKind::Unknown });
            assert_eq!(connection.fetch("SELECT 1").unwrap_err().kind, ErrorKind::Disconnected);
            // The statement is ended on the server, a minute before it would end.
            wait_for(wire, &mut *admin, sleeping(wire), "0");
            interrupt.interrupt();
        }
    }
}
