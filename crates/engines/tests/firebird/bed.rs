//! Databases on which the tests run.

use std::sync::Once;

use dsbench_core::engine::{Connection, Engine, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::value::Type;

use crate::folder::Folder;
use crate::server::{Server, PASSWORD};

/// Where a test's database lies.
pub enum Bed {
    Server(Server),
    Embedded(Folder),
}

impl Bed {
    /// A server, and the engine in this process; only that one when another library is to be tested.
    pub fn all() -> Vec<Self> {
        let mut beds = vec![Self::embedded()];
        if library().is_none() {
            beds.push(Self::Server(Server::start("Super")));
        }
        beds
    }

    pub fn embedded() -> Self {
        static LOCKS: Once = Once::new();
        // Read by the library when it is first used. Of root's own, so that no other user's server is disturbed.
        LOCKS.call_once(|| std::env::set_var("FIREBIRD_LOCK", std::env::temp_dir().join("dsbench-fb-locks")));
        std::fs::create_dir_all(std::env::temp_dir().join("dsbench-fb-locks")).unwrap();
        Self::Embedded(Folder::new("embedded"))
    }

    /// The URL of its one database, which is not written through unless `parameters` say so: tests hurry.
    pub fn url(&self, parameters: &str) -> String {
        let parameters = match parameters.contains("forced_writes") {
            true => parameters.to_string(),
            false => format!("forced_writes=off&{parameters}"),
        };
        match self {
            Self::Server(server) => server.url(&format!("sysdba:{PASSWORD}"), &parameters),
            Self::Embedded(folder) => {
                let library = library().map(|path| format!("client_library={path}&")).unwrap_or_default();
                format!("firebird://{}?{library}{parameters}", folder.0.join("test.fdb").display())
            }
        }
    }

    pub fn engine(&self, parameters: &str) -> Box<dyn Engine> {
        dsbench_engines::open(&self.url(parameters)).unwrap()
    }

    /// An engine whose database is made, with a table `t (k INTEGER PRIMARY KEY, v INTEGER)` of (1, 0), (2, 0).
    pub fn furnished(&self, parameters: &str) -> Box<dyn Engine> {
        let engine = self.engine(parameters);
        engine.place().create("test").unwrap();
        let table = "CREATE TABLE t (k INTEGER NOT NULL PRIMARY KEY, v INTEGER)";
        let rows = ["INSERT INTO t VALUES (1, 0)", "INSERT INTO t VALUES (2, 0)"];
        engine.connect(LOAD).unwrap().script(&[table, rows[0], rows[1]]).unwrap();
        engine
    }
}

fn library() -> Option<String> {
    std::env::var("FIREBIRD_TEST_LIBRARY").ok().filter(|path| !path.is_empty())
}

pub const LOAD: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };
pub const ADMIN: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

pub fn prepare(conn: &mut dyn Connection, sql: &str, params: &[Type], columns: &[Type]) -> StatementId {
    conn.prepare(&Statement { sql, params, columns }, Prepare::Once).unwrap()
}

/// The one cell of a query's result.
pub fn cell(conn: &mut dyn Connection, sql: &str) -> String {
    conn.fetch(sql).unwrap().rows.remove(0).remove(0).unwrap_or_else(|| "NULL".into())
}
