//! The two clients of wire protocols of our own against real, private servers: PostgreSQL, and MariaDB and MySQL.
//!
//! What both have to do is tested by one function for both, which `for_both` names; what only one has by a test beside it.
//! `cargo test --release -p dsbench-engines --test wire postgres` runs those of PostgreSQL, `mysql` those of the other.
#![cfg(all(unix, feature = "mysql", feature = "postgres"))]

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::value::Type;

use server::{Product, Server};

/// Makes each function a test of either client.
macro_rules! for_both {
    ($($name:ident),+ $(,)?) => {
        mod postgres {
            $(#[test]
            fn $name() {
                super::$name(crate::Wire::Postgres);
            })+
        }
        mod mysql {
            $(#[test]
            fn $name() {
                super::$name(crate::Wire::Mysql);
            })+
        }
    };
}

mod allocations;
mod bulk;
#[cfg(target_os = "linux")]
mod carriers;
mod conformance;
#[path = "../common/counting.rs"]
mod counting;
mod errors;
mod fakes;
#[path = "../common/folder.rs"]
mod folder;
#[cfg(target_os = "linux")]
#[path = "../common/following.rs"]
mod following;
mod impostor;
mod isolation;
mod login;
mod losses;
mod place;
#[cfg(target_os = "linux")]
mod placement;
#[path = "../common/pool.rs"]
mod pool;
#[cfg(target_os = "linux")]
#[path = "../common/probe.rs"]
mod probe;
mod procedures;
#[path = "../common/server.rs"]
mod server;
mod tls;
mod values;

/// One of the two clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire {
    /// That of PostgreSQL.
    Postgres,
    /// That of MariaDB and MySQL.
    Mysql,
}

const WAYS: [Prepare; 2] = [Prepare::Once, Prepare::Never];

impl Wire {
    /// What stands for PostgreSQL, or for MariaDB and MySQL.
    pub fn either<T>(self, postgres: T, mysql: T) -> T {
        match self {
            Self::Postgres => postgres,
            Self::Mysql => mysql,
        }
    }

    /// A product that is always there.
    pub fn product(self) -> Product {
        self.either(Product::Postgres, Product::MariaDb)
    }

    /// A server of it.
    pub fn server(self) -> Server {
        Server::start(&self.product(), &[])
    }

    /// A server of each product of this protocol.
    pub fn servers(self, options: &[&str]) -> Vec<Server> {
        match self {
            Self::Postgres => vec![Server::start(&Product::Postgres, options)],
            Self::Mysql => Server::of_both(options),
        }
    }

    /// SQL in which parameters are written `?` and the type of moments TIME.
    pub fn sql(self, text: &str) -> String {
        let text = text.replace("TIME", self.either("timestamp", "datetime(6)"));
        if self == Self::Mysql {
            return text;
        }
        let mut parts = text.split('?');
        let first = parts.next().unwrap_or_default().to_string();
        (1..).zip(parts).fold(first, |text, (number, part)| format!("{text}${number}{part}"))
    }

    /// Prepares such SQL.
    pub fn prepare(
        self,
        connection: &mut dyn Connection,
        sql: &str,
        params: &[Type],
        columns: &[Type],
        way: Prepare,
    ) -> Result<StatementId> {
        connection.prepare(&Statement { sql: &self.sql(sql), params, columns }, way)
    }
}

/// Two rows in a table, `t`.
pub const ROWS: [&str; 2] =
    ["CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL)", "INSERT INTO t VALUES (1, 0), (2, 0)"];

/// A session for administration on a server with these rows.
pub fn with_table(server: &Server) -> Box<dyn Connection> {
    let mut connection = server.connect();
    connection.script(&ROWS).unwrap();
    connection
}

/// Prepares (without the server) and runs a statement that returns nothing.
pub fn run(connection: &mut dyn Connection, sql: &str) -> Result<u64> {
    let id = connection.prepare(&Statement { sql, params: &[], columns: &[] }, Prepare::Never)?;
    connection.execute(id, &[])
}

/// The rows of a query as text.
pub fn rows(connection: &mut dyn Connection, sql: &str) -> Vec<Vec<Option<String>>> {
    connection.fetch(sql).unwrap().rows
}

/// The one cell of a query's result.
pub fn cell(connection: &mut dyn Connection, sql: &str) -> String {
    rows(connection, sql)[0][0].clone().unwrap_or_default()
}
