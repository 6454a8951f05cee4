//! Databases of each product for these tests. Durability is not what they are about.

use dsbench_core::engine::Engine;
use dsbench_workloads::Call;

use crate::firebird_server::{self, PASSWORD};
use crate::folder::Folder;
use crate::server::Server;

/// A product, with a storage engine where there are several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Product {
    Postgres,
    InnoDb,
    MyRocks,
    Firebird,
    Sqlite,
}

impl Product {
    /// That of a module of tests.
    pub fn named(name: &str) -> Self {
        match name {
            "postgres" => Self::Postgres,
            "innodb" => Self::InnoDb,
            "myrocks" => Self::MyRocks,
            "firebird" => Self::Firebird,
            "sqlite" => Self::Sqlite,
            other => panic!("no product {other}"),
        }
    }

    /// How transactions can be sent.
    pub fn calls(self) -> &'static [Call] {
        match self {
            Self::Sqlite => &[Call::Statements],
            _ => &[Call::Procedure, Call::Statements],
        }
    }

    /// A home of its databases, a server in most.
    pub fn home(self) -> Home {
        match self {
            Self::Postgres => Home::Server(Server::postgres(), ""),
            Self::InnoDb => Home::Server(Server::mariadb(), "storage_engine=InnoDB"),
            Self::MyRocks => Home::Server(Server::mariadb_with_rocksdb(), "storage_engine=RocksDB"),
            Self::Firebird => Home::firebird("Super"),
            Self::Sqlite => Home::Folder(Folder::new("workloads")),
        }
    }
}

/// Where a test's database lies, which goes in the end.
pub enum Home {
    Server(Server, &'static str),
    Firebird(firebird_server::Server),
    Folder(Folder),
}

impl Home {
    /// A server of Firebird in this mode.
    pub fn firebird(mode: &str) -> Self {
        Self::Firebird(firebird_server::Server::start(mode))
    }

    pub fn engine(&self) -> Box<dyn Engine> {
        self.engine_with("")
    }

    /// For clients that compete. Firebird's has no undo log, because of which it keeps changes of transactions that
    /// were rolled back: see docs/engines.md.
    pub fn engine_of_rivals(&self) -> Box<dyn Engine> {
        self.engine_with(if matches!(self, Self::Firebird(_)) { "auto_undo=off" } else { "" })
    }

    /// With parameters of the URL.
    pub fn engine_with(&self, parameters: &str) -> Box<dyn Engine> {
        let url = match self {
            Self::Server(server, own) => format!("{}&{own}", server.url()).trim_end_matches('&').to_string(),
            Self::Firebird(server) => server.url(&format!("sysdba:{PASSWORD}"), "forced_writes=off"),
            Self::Folder(folder) => format!("sqlite:///{}/run.db?synchronous=off", folder.0.display()),
        };
        let and = if parameters.is_empty() { "" } else { "&" };
        dsbench_engines::open(&format!("{url}{and}{parameters}")).unwrap()
    }
}
