//! The database of dsbench: made, marked, measured, dropped; and never one that others made.

use dsbench_core::engine::{Isolation, PlaceState, Session};
use dsbench_core::error::ErrorKind;

use super::server::{Server, ADMIN};

const IN_PLACE: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };

#[test]
fn a_place_is_made_marked_measured_and_dropped() {
    for server in Server::of_both(&[]) {
        let engine = server.engine();
        let place = engine.place();
        assert_eq!((place.state().unwrap(), place.size_bytes().unwrap()), (PlaceState::Absent, 0));
        place.drop().unwrap();
        assert_eq!(engine.connect(IN_PLACE).err().unwrap().kind, ErrorKind::Setup);
        let mark = r#"it's me, \ "here"; DROP DATABASE dsbench"#;
        place.create(mark).unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Marked(mark.to_owned()));
        let error = place.create("again").unwrap_err();
        assert!(error.kind == ErrorKind::Setup && error.to_string().contains("it's me"), "{error}");

        let mut connection = engine.connect(IN_PLACE).unwrap();
        let empty = place.size_bytes().unwrap();
        connection
            .script(&[
                "CREATE TABLE t (a int PRIMARY KEY, b text, KEY (b(100)))",
                "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                 SELECT i, repeat(md5(i), 100) FROM n",
                "CREATE DATABASE other",
                "CREATE TABLE other.t AS SELECT * FROM t",
            ])
            .unwrap();
        let where_it_is = connection.fetch("SELECT DATABASE()").unwrap();
        assert_eq!(where_it_is.rows, [[Some("dsbench".to_owned())]]);
        // 3.2 MB of text and a share of it in the index; pages are at most half empty.
        let size = place.size_bytes().unwrap() - empty;
        assert!((3_200_000..16_000_000).contains(&size), "{size}");
        let folder = server.folder.join("data/dsbench");
        let files: u64 = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap())
            .filter(|file| file.path().extension().is_some_and(|extension| extension == "ibd"))
            .map(|file| file.metadata().unwrap().len())
            .sum();
        assert_eq!(place.size_bytes().unwrap(), files, "the sum of every file");
        drop(connection);

        place.drop().unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
        assert!(server.connect().fetch("SELECT 1 FROM other.t").is_ok(), "only the place is dropped");
    }
}

#[test]
fn the_size_is_estimated_where_there_are_no_files_to_see() {
    let server = Server::start_with_rocksdb();
    let fill =
        ["CREATE TABLE t (a int, b text)", "INSERT INTO t SELECT seq, repeat(sha2(seq, 512), 8) FROM seq_1_to_4000"];
    let engine = server.engine_of("RocksDB");
    engine.place().create("mark").unwrap();
    let empty = engine.place().size_bytes().unwrap();
    engine.connect(IN_PLACE).unwrap().script(&fill).unwrap();
    let size = engine.place().size_bytes().unwrap() - empty;
    assert!((1_000_000..8_000_000).contains(&size), "4 MB of digits in compressed form: {size}");
    engine.place().drop().unwrap();

    let engine = server.engine();
    engine.place().create("mark").unwrap();
    engine.connect(IN_PLACE).unwrap().script(&fill).unwrap();
    // Without the right PROCESS the files cannot be seen.
    server.connect().script(&["CREATE USER guest", "GRANT ALL ON dsbench.* TO guest"]).unwrap();
    let guest = dsbench_engines::mysql::open(&server.url().replace("root@", "guest@")).unwrap();
    let (all, seen) = (engine.place().size_bytes().unwrap(), guest.place().size_bytes().unwrap());
    // InnoDB makes its files longer ahead of need.
    assert!(seen > all / 4 && seen <= all, "{seen} of {all}");
}

#[test]
fn what_others_made_is_never_touched() {
    for server in Server::of_both(&[]) {
        let engine = server.engine();
        let place = engine.place();
        let mut connection = server.connect();
        connection.script(&["CREATE DATABASE dsbench", "CREATE TABLE dsbench.mine (a int)"]).unwrap();
        for change in [
            "DO 1",
            "CREATE TABLE dsbench.dsbench_mark (other text)",
            "ALTER TABLE dsbench.dsbench_mark ADD mark text",
            "INSERT INTO dsbench.dsbench_mark VALUES ('a', NULL)",
            "INSERT INTO dsbench.dsbench_mark VALUES ('a', 'b')",
        ] {
            connection.script(&[change]).unwrap();
            let PlaceState::Foreign(what) = place.state().unwrap() else { panic!("{:?}", place.state()) };
            assert_eq!(what, "database dsbench has no dsbench mark");
            for error in [place.drop().unwrap_err(), place.create("m").unwrap_err()] {
                assert!(error.kind == ErrorKind::Setup && error.to_string().contains(&what), "{error}");
            }
            assert!(connection.fetch("SELECT * FROM dsbench.mine").is_ok());
        }
        // Names are compared as the server's files are: here exactly.
        connection.script(&["DROP DATABASE dsbench", "CREATE DATABASE DSBENCH", "CREATE DATABASE dsbench2"]).unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
    }
}

#[test]
fn a_user_without_rights_is_told_what_to_do() {
    for server in Server::of_both(&[]) {
        server.connect().script(&["CREATE USER guest"]).unwrap();
        let engine = dsbench_engines::mysql::open(&server.url().replace("root@", "guest@")).unwrap();
        let error = engine.place().create("m").unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Setup, "1044"));
        assert!(error.to_string().contains("GRANT ALL ON dsbench"), "{error}");
        server.connect().script(&["GRANT ALL ON dsbench.* TO guest"]).unwrap();
        engine.place().create("m").unwrap();
        assert_eq!(engine.place().state().unwrap(), PlaceState::Marked("m".into()));
        engine.place().drop().unwrap();
    }
}

#[test]
fn tables_are_of_the_storage_engine_that_the_target_names() {
    let server = Server::start_with_rocksdb();
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
fn a_session_that_holds_a_table_is_not_waited_for_without_end() {
    let server = Server::start();
    let engine = server.engine();
    engine.place().create("mark").unwrap();
    let mut holder = engine.connect(IN_PLACE).unwrap();
    holder.begin().unwrap();
    holder.fetch("SELECT * FROM dsbench_mark").unwrap();
    let error = engine.place().drop().unwrap_err();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("end that session"), "{error}");
    holder.rollback().unwrap();
    engine.place().drop().unwrap();
}
