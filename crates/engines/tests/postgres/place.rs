//! The schema of dsbench: made, marked, measured, dropped; and never one that others made.

use dsbench_core::engine::{Isolation, PlaceState, Session};
use dsbench_core::error::ErrorKind;

use super::server::Server;

const IN_PLACE: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };

#[test]
fn a_place_is_made_marked_measured_and_dropped() {
    let server = Server::start();
    let engine = server.engine();
    let place = engine.place();
    assert_eq!((place.state().unwrap(), place.size_bytes().unwrap()), (PlaceState::Absent, 0));
    place.drop().unwrap();
    let mark = r#"it's me, \ "here"; DROP SCHEMA dsbench"#;
    place.create(mark).unwrap();
    assert_eq!(place.state().unwrap(), PlaceState::Marked(mark.to_owned()));
    let error = place.create("again").unwrap_err();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("it's me"), "{error}");

    let mut connection = engine.connect(IN_PLACE).unwrap();
    connection
        .script(&[
            "CREATE TABLE t (a int PRIMARY KEY, b text)",
            "INSERT INTO t SELECT i, repeat(md5(i::text), 400) FROM generate_series(1, 1000) i",
            "CREATE SEQUENCE s",
            "CREATE TABLE parts (a int) PARTITION BY RANGE (a)",
            "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10)",
            "INSERT INTO parts VALUES (1)",
            "CREATE TABLE public.other AS SELECT 1",
        ])
        .unwrap();
    let where_it_is = connection.fetch("SELECT schemaname FROM pg_tables WHERE tablename = 't'").unwrap();
    assert_eq!(where_it_is.rows, [[Some("dsbench".to_owned())]]);
    let parts =
        "SELECT sum(pg_relation_size(c.oid, fork)) FROM pg_class c, unnest(ARRAY['main', 'fsm', 'vm', 'init']) fork \
        WHERE c.relnamespace = 'dsbench'::regnamespace OR c.oid IN (SELECT reltoastrelid FROM pg_class \
        WHERE relnamespace = 'dsbench'::regnamespace) OR c.oid IN (SELECT indexrelid FROM pg_index JOIN pg_class t \
        ON t.reltoastrelid = indrelid WHERE t.relnamespace = 'dsbench'::regnamespace)";
    let parts = connection.fetch(parts).unwrap().rows[0][0].clone().unwrap();
    assert_eq!(place.size_bytes().unwrap().to_string(), parts, "the sum of every file once");
    drop(connection);

    place.drop().unwrap();
    assert_eq!(place.state().unwrap(), PlaceState::Absent);
    assert!(server.connect().fetch("SELECT * FROM public.other").is_ok(), "only the place is dropped");
}

#[test]
fn what_others_made_is_never_touched() {
    let server = Server::start();
    let engine = server.engine();
    let place = engine.place();
    let mut connection = server.connect();
    connection.script(&["CREATE SCHEMA dsbench", "CREATE TABLE dsbench.mine (a int)"]).unwrap();
    for comment in ["NULL", "'my own'", "'x dsbench mark:'"] {
        connection.script(&[&format!("COMMENT ON SCHEMA dsbench IS {comment}")]).unwrap();
        let PlaceState::Foreign(what) = place.state().unwrap() else { panic!("{:?}", place.state()) };
        assert_eq!(what, "schema dsbench in database postgres has no dsbench mark");
        for error in [place.drop().unwrap_err(), place.create("m").unwrap_err()] {
            assert!(error.kind == ErrorKind::Setup && error.to_string().contains(&what), "{error}");
        }
        assert!(connection.fetch("SELECT * FROM dsbench.mine").is_ok());
    }
    // Names are compared exactly: quotes keep the case, and no other schema counts.
    connection.script(&["DROP SCHEMA dsbench CASCADE", "CREATE SCHEMA \"DSBENCH\"", "CREATE SCHEMA dsbench2"]).unwrap();
    assert_eq!(place.state().unwrap(), PlaceState::Absent);
}

#[test]
fn a_user_without_rights_is_told_what_to_do() {
    let server = Server::start();
    server.connect().script(&["CREATE ROLE guest LOGIN"]).unwrap();
    let url = server.url().replace("admin@", "guest@");
    let engine = dsbench_engines::postgres::open(&url).unwrap();
    let error = engine.place().create("m").unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "42501"));
    assert!(error.to_string().contains("GRANT CREATE ON DATABASE"), "{error}");
    assert_eq!(engine.place().state().unwrap(), PlaceState::Absent);
}

#[test]
fn a_session_has_its_settings_from_the_start() {
    let server = Server::start();
    let settings = "SELECT string_agg(current_setting(name), '|' ORDER BY name) FROM unnest(ARRAY['application_name', \
        'client_encoding', 'default_transaction_isolation', 'search_path', 'work_mem']) name";
    let url = format!("{}&options=-c%20work_mem%3D1234kB", server.url());
    let engine = dsbench_engines::postgres::open(&url).unwrap();
    let found = engine.connect(IN_PLACE).unwrap().fetch(settings).unwrap().rows[0][0].clone().unwrap();
    assert_eq!(found, "dsbench|UTF8|repeatable read|dsbench|1234kB");
    let found = server.connect().fetch(settings).unwrap().rows[0][0].clone().unwrap();
    assert!(found.starts_with("dsbench|UTF8|read committed|\"$user\", public|"), "{found}");
}
