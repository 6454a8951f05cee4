//! The place of dsbench, a schema or a database: made, marked, measured, dropped; and never one that others made.

use dsbench_core::engine::{Connection, Isolation, PlaceState, Session};
use dsbench_core::error::ErrorKind;

use crate::server::{Server, ADMIN};
use crate::{cell, Wire};

for_both!(
    a_place_is_made_marked_measured_and_dropped,
    what_others_made_is_never_touched,
    a_place_on_which_others_depend_is_not_dropped,
    a_user_without_rights_is_told_what_to_do,
);

const IN_PLACE: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };

fn a_place_is_made_marked_measured_and_dropped(wire: Wire) {
    for server in wire.servers(&[]) {
        let engine = server.engine();
        let place = engine.place();
        assert_eq!((place.state().unwrap(), place.size_bytes().unwrap()), (PlaceState::Absent, Some(0)));
        place.drop().unwrap();
        let mark = r#"it's me, \ "here"; DROP SCHEMA dsbench"#;
        place.create(mark).unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Marked(mark.to_owned()));
        let error = place.create("again").unwrap_err();
        assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("it's me"), "{error}");

        let mut connection = engine.connect(IN_PLACE).unwrap();
        let current = wire.either("SELECT current_schema()", "SELECT DATABASE()");
        assert_eq!(cell(&mut *connection, current), "dsbench");
        connection
            .script(&[
                "CREATE TABLE t (a int PRIMARY KEY, b text)",
                "CREATE SCHEMA other",
                "CREATE TABLE other.t (a int)",
            ])
            .unwrap();
        let empty = place.size_bytes().unwrap().unwrap();
        let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)";
        let files = match wire {
            Wire::Postgres => {
                let rows = format!("INSERT INTO t {numbers} SELECT i, repeat(md5(i::text), 400) FROM n");
                files_of_postgres(&mut *connection, &rows)
            }
            Wire::Mysql => {
                let rows = format!("INSERT INTO t {numbers} SELECT i, repeat(md5(i), 100) FROM n");
                connection.script(&["CREATE INDEX t_b ON t (b(100))", &rows]).unwrap();
                // 3.2 MB of text and a share of it in the index; pages are at most half empty.
                let size = place.size_bytes().unwrap().unwrap() - empty;
                assert!((3_200_000..16_000_000).contains(&size), "{size}");
                let files = std::fs::read_dir(server.folder().join("data/dsbench")).unwrap().map(|file| file.unwrap());
                let of_tables = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "ibd"));
                of_tables.map(|file| file.metadata().unwrap().len()).sum()
            }
        };
        assert_eq!(place.size_bytes().unwrap().unwrap(), files, "the sum of every file once");
        drop(connection);

        place.drop().unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
        assert!(server.connect().fetch("SELECT * FROM other.t").is_ok(), "only the place is dropped");
        // A schema that is not there is none of the session's path, a database that is not there cannot be used.
        let entered = engine.connect(IN_PLACE).map(|_| ()).map_err(|error| error.kind);
        assert_eq!(entered, wire.either(Ok(()), Err(ErrorKind::Setup)));
    }
}

/// The bytes of all files of the place, which gets these rows and relations of every kind before.
fn files_of_postgres(connection: &mut dyn Connection, rows: &str) -> u64 {
    connection
        .script(&[
            rows,
            "CREATE SEQUENCE s",
            "CREATE TABLE parts (a int) PARTITION BY RANGE (a)",
            "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10)",
            "INSERT INTO parts VALUES (1)",
            "CREATE TABLE public.other AS SELECT 1",
        ])
        .unwrap();
    let files =
        "SELECT sum(pg_relation_size(c.oid, fork)) FROM pg_class c, unnest(ARRAY['main', 'fsm', 'vm', 'init']) fork \
        WHERE c.relnamespace = 'dsbench'::regnamespace OR c.oid IN (SELECT reltoastrelid FROM pg_class \
        WHERE relnamespace = 'dsbench'::regnamespace) OR c.oid IN (SELECT indexrelid FROM pg_index JOIN pg_class t \
        ON t.reltoastrelid = indrelid WHERE t.relnamespace = 'dsbench'::regnamespace)";
    cell(connection, files).parse().unwrap()
}

fn what_others_made_is_never_touched(wire: Wire) {
    let changes = wire
        .either(
            &["NULL", "'my own'", "'x dsbench mark:'"].map(|comment| format!("COMMENT ON SCHEMA dsbench IS {comment}"))
                [..],
            &[
                "DO 1",
                "CREATE TABLE dsbench.dsbench_mark (other text)",
                "ALTER TABLE dsbench.dsbench_mark ADD mark text",
                "INSERT INTO dsbench.dsbench_mark VALUES ('a', NULL)",
                "INSERT INTO dsbench.dsbench_mark VALUES ('a', 'b')",
            ]
            .map(String::from),
        )
        .to_vec();
    for server in wire.servers(&[]) {
        let engine = server.engine();
        let place = engine.place();
        let mut connection = server.connect();
        connection.script(&["CREATE SCHEMA dsbench", "CREATE TABLE dsbench.mine (a int)"]).unwrap();
        for change in &changes {
            connection.script(&[change]).unwrap();
            let PlaceState::Foreign(what) = place.state().unwrap() else { panic!("{:?}", place.state()) };
            let name = wire.either("schema dsbench in database postgres", "database dsbench");
            assert_eq!(what, format!("{name} has no dsbench mark"));
            for error in [place.drop().unwrap_err(), place.create("m").unwrap_err()] {
                assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains(&what), "{error}");
            }
            assert!(connection.fetch("SELECT * FROM dsbench.mine").is_ok());
        }
        // Names are compared exactly: quotes keep the case, as MySQL's files do here, and no other name counts.
        let (drop, other) = wire.either(
            ("DROP SCHEMA dsbench CASCADE", "CREATE SCHEMA \"DSBENCH\""),
            ("DROP SCHEMA dsbench", "CREATE SCHEMA DSBENCH"),
        );
        connection.script(&[drop, other, "CREATE SCHEMA dsbench2"]).unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
    }
}

/// Whoever made views, keys and routines on the place from elsewhere has them afterwards; of the place nothing is gone.
fn a_place_on_which_others_depend_is_not_dropped(wire: Wire) {
    for server in wire.servers(&[]) {
        let engine = server.engine();
        let place = engine.place();
        place.create("m").unwrap();
        let mut connection = engine.connect(IN_PLACE).unwrap();
        connection.script(&["CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t VALUES (1)"]).unwrap();
        let made = wire.either(
            &[
                "CREATE TYPE kind AS ENUM ('a', 'b')",
                "CREATE DOMAIN part AS int",
                "CREATE TABLE parts (a part, k kind, s serial, i int GENERATED ALWAYS AS IDENTITY) PARTITION BY RANGE (a)",
                "CREATE TABLE part_0 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
                "CREATE FUNCTION f(t) RETURNS int LANGUAGE sql AS 'SELECT $1.a'",
                "CREATE FUNCTION g() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "CREATE TABLE needs_g (a int DEFAULT g(), b int REFERENCES t)",
                "CREATE VIEW v AS SELECT f(t) FROM t",
                "CREATE MATERIALIZED VIEW m AS SELECT * FROM v",
                "CREATE STATISTICS st ON a, b FROM needs_g",
            ][..],
            &[
                "CREATE FUNCTION f() RETURNS int DETERMINISTIC RETURN 1",
                "CREATE VIEW v AS SELECT a FROM t",
                "CREATE TABLE child (a int, FOREIGN KEY (a) REFERENCES t (a))",
            ],
        );
        connection.script(made).unwrap();
        place.take_stock().unwrap();
        assert_eq!(place.strangers().unwrap(), [""; 0]);
        let of_user = wire.either(
            &[
                "CREATE TABLE public.child (a int REFERENCES dsbench.t)",
                "CREATE VIEW public.v AS SELECT * FROM dsbench.t",
                "CREATE TABLE dsbench.\"my own\" (a int)",
                "CREATE FUNCTION dsbench.mine(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            ][..],
            &[
                "CREATE DATABASE other",
                "CREATE TABLE other.child (a int, FOREIGN KEY (a) REFERENCES dsbench.t (a))",
                "CREATE VIEW other.v AS SELECT * FROM dsbench.t",
                "CREATE TABLE dsbench.`my own` (a int)",
                "CREATE FUNCTION dsbench.mine() RETURNS int DETERMINISTIC RETURN 1",
            ],
        );
        let mut user = server.connect();
        user.script(of_user).unwrap();
        let told = wire.either(
            ["function dsbench.mine(integer)", "table dsbench.\"my own\"", "table public.child", "view public.v"],
            ["function dsbench.mine", "table dsbench.my own", "table other.child", "view other.v"],
        );
        assert_eq!(place.strangers().unwrap(), told);
        let error = place.drop().unwrap_err();
        assert!(error.kind == ErrorKind::Setup && error.to_string().ends_with(&told.join(", ")), "{error}");
        assert!(error.remedy.unwrap().contains("move it or drop it yourself"));
        for view in wire.either(["public.v", "dsbench.v"], ["other.v", "dsbench.v"]) {
            assert_eq!(cell(&mut *user, &format!("SELECT * FROM {view}")), "1");
        }
        let away = wire.either(
            ["DROP VIEW public.v", "DROP TABLE public.child", "DROP FUNCTION dsbench.mine"],
            ["DROP VIEW other.v", "DROP TABLE other.child", "DROP FUNCTION dsbench.mine"],
        );
        user.script(&away).unwrap();
        let mine = wire.either("dsbench.\"my own\"", "dsbench.`my own`");
        user.script(&[&format!("DROP TABLE {mine}")]).unwrap();
        drop(connection);
        place.drop().unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
    }
}

fn a_user_without_rights_is_told_what_to_do(wire: Wire) {
    for server in wire.servers(&[]) {
        server.connect().script(&[wire.either("CREATE ROLE guest LOGIN", "CREATE USER guest")]).unwrap();
        let engine = dsbench_engines::open(&server.socket("guest")).unwrap();
        let error = engine.place().create("m").unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, wire.either("42501", "1044")));
        let remedy = wire.either("GRANT CREATE ON DATABASE", "GRANT ALL ON dsbench");
        assert!(format!("{error:#}").contains(remedy), "{error}");
        let state = engine.place().state().map_err(|error| error.kind);
        assert_eq!(state, wire.either(Ok(PlaceState::Absent), Err(ErrorKind::Setup)));
        let grant = wire.either("GRANT CREATE ON DATABASE postgres TO guest", "GRANT ALL ON dsbench.* TO guest");
        server.connect().script(&[grant]).unwrap();
        engine.place().create("m").unwrap();
        assert_eq!(engine.place().state().unwrap(), PlaceState::Marked("m".into()));
        engine.place().drop().unwrap();
    }
}

#[test]
fn the_size_in_mysql_is_estimated_where_there_are_no_files_to_see() {
    let server = Server::mariadb_with_rocksdb();
    let fill =
        ["CREATE TABLE t (a int, b text)", "INSERT INTO t SELECT seq, repeat(sha2(seq, 512), 8) FROM seq_1_to_4000"];
    let engine = server.engine_of("RocksDB");
    engine.place().create("mark").unwrap();
    let empty = engine.place().size_bytes().unwrap().unwrap();
    engine.connect(IN_PLACE).unwrap().script(&fill).unwrap();
    let size = engine.place().size_bytes().unwrap().unwrap() - empty;
    assert!((1_000_000..8_000_000).contains(&size), "4 MB of digits in compressed form: {size}");
    engine.place().drop().unwrap();

    let engine = server.engine();
    engine.place().create("mark").unwrap();
    engine.connect(IN_PLACE).unwrap().script(&fill).unwrap();
    // Without the right PROCESS the files cannot be seen.
    server.connect().script(&["CREATE USER guest", "GRANT ALL ON dsbench.* TO guest"]).unwrap();
    let guest = dsbench_engines::open(&server.socket("guest")).unwrap();
    let (all, seen) = (engine.place().size_bytes().unwrap().unwrap(), guest.place().size_bytes().unwrap().unwrap());
    // InnoDB makes its files longer ahead of need.
    assert!(seen > all / 4 && seen <= all, "{seen} of {all}");
}

#[test]
fn tables_of_mysql_are_of_the_storage_engine_that_the_target_names() {
    let server = Server::mariadb_with_rocksdb();
    for name in ["RocksDB", "InnoDB"] {
        let engine = server.engine_of(name);
        engine.place().create("mark").unwrap();
        engine.connect(IN_PLACE).unwrap().script(&["CREATE TABLE t (a int)"]).unwrap();
        let found = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'dsbench'";
        let found = engine.connect(ADMIN).unwrap().fetch(found).unwrap().rows;
        assert!(found.len() == 1 && found[0][0].as_deref().unwrap().eq_ignore_ascii_case(name), "{found:?}");
        engine.place().drop().unwrap();
    }
}

#[test]
fn a_session_of_mysql_that_holds_a_table_is_not_waited_for_without_end() {
    let server = Server::mariadb();
    let engine = server.engine();
    engine.place().create("mark").unwrap();
    let mut holder = engine.connect(IN_PLACE).unwrap();
    holder.begin().unwrap();
    holder.fetch("SELECT * FROM dsbench_mark").unwrap();
    let error = engine.place().drop().unwrap_err();
    assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("end that session"), "{error}");
    holder.rollback().unwrap();
    engine.place().drop().unwrap();
}
