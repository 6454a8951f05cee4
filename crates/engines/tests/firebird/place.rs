//! The database as dsbench's place: what carries the mark, and what does not.

use dsbench_core::engine::PlaceState;
use dsbench_core::error::ErrorKind;

use crate::bed::{Bed, LOAD};

#[test]
fn a_place_is_made_marked_and_dropped() {
    for bed in Bed::all() {
        let engine = bed.engine("");
        let place = engine.place();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
        place.drop().expect("nothing happens when it is absent");
        assert_eq!(engine.connect(LOAD).err().unwrap().kind, ErrorKind::Setup);
        assert_eq!(place.size_bytes().unwrap_err().kind, ErrorKind::Setup);
        place.create("it's a test: {\"host\": \"grün\"}").unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Marked("it's a test: {\"host\": \"grün\"}".into()));
        assert_eq!(place.create("again").unwrap_err().kind, ErrorKind::Setup);
        let before = place.size_bytes().unwrap().unwrap();
        let length = std::fs::metadata(file(&bed)).unwrap().len();
        assert!(length.abs_diff(before) <= 65_536, "{before} of {length} bytes");
        let mut conn = engine.connect(LOAD).unwrap();
        conn.script(&["CREATE TABLE t (v VARCHAR(36))"]).unwrap();
        conn.script(&["EXECUTE BLOCK AS DECLARE n INTEGER = 0; BEGIN WHILE (n < 20000) DO BEGIN \
                       INSERT INTO t VALUES (uuid_to_char(gen_uuid())); n = n + 1; END END"])
            .unwrap();
        assert!(place.size_bytes().unwrap().unwrap() > before + 500_000);
        drop(conn);
        place.drop().unwrap();
        assert_eq!(place.state().unwrap(), PlaceState::Absent);
        assert_eq!(std::fs::read_dir(file(&bed).parent().unwrap()).unwrap().count(), 0, "no file is left");
    }
}

#[test]
fn databases_of_others_are_refused_and_never_touched() {
    for bed in Bed::all() {
        // Three real databases: without the comment, without the table, without the row.
        for spoil in
            ["COMMENT ON DATABASE IS 'of somebody else'", "DROP TABLE dsbench_mark", "DELETE FROM dsbench_mark"]
        {
            let engine = bed.furnished("");
            engine.connect(LOAD).unwrap().script(&[spoil]).unwrap();
            let engine = bed.engine("");
            let PlaceState::Foreign(what) = engine.place().state().unwrap() else { panic!("not foreign: {spoil}") };
            assert!(what.contains("test.fdb"), "{what}");
            let refusals = [engine.place().create("m"), engine.place().drop(), engine.connect(LOAD).map(|_| ())];
            for error in refusals.map(Result::unwrap_err) {
                assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("test.fdb"), "{error}");
            }
            assert!(file(&bed).exists());
            std::fs::remove_file(file(&bed)).unwrap();
        }
    }
}

#[test]
fn files_that_are_no_database_are_refused_and_never_touched() {
    for bed in Bed::all() {
        for content in [&[b'x'; 20_000][..], b"short", b""] {
            std::fs::write(file(&bed), content).unwrap();
            let engine = bed.engine("");
            // A file that is too short to tell is an error, not a foreign database; neither is touched.
            assert!(!matches!(engine.place().state(), Ok(PlaceState::Absent | PlaceState::Marked(_))));
            assert_eq!(engine.place().create("m").unwrap_err().kind, ErrorKind::Setup);
            assert_eq!(engine.place().drop().unwrap_err().kind, ErrorKind::Setup);
            assert_eq!(std::fs::read(file(&bed)).unwrap(), content);
        }
    }
}

#[test]
fn a_place_in_use_is_not_dropped() {
    let bed = Bed::embedded();
    let engine = bed.furnished("");
    let other = bed.engine("").connect(LOAD).unwrap();
    std::thread::scope(|scope| {
        let dropping = scope.spawn(|| engine.place().drop());
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!dropping.is_finished(), "it waits for sessions that are just being closed");
        drop(other);
        dropping.join().unwrap().unwrap();
    });
}

#[test]
fn a_page_size_that_the_version_does_not_have_is_refused() {
    let bed = Bed::embedded();
    let engine = bed.engine("page_size=32768");
    match engine.place().create("m") {
        // Version 3 takes 16384 without a word.
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Configuration, "{error}");
            assert_eq!(engine.place().state().unwrap(), PlaceState::Absent);
        }
        Ok(()) => engine.place().drop().unwrap(),
    }
}

/// The file of a bed's database.
fn file(bed: &Bed) -> std::path::PathBuf {
    match bed {
        Bed::Server(server) => server.data().join("test.fdb"),
        Bed::Embedded(folder) => folder.0.join("test.fdb"),
    }
}
