//! The tables of the benchmark: their names, their SQL, and what their clients share.

use std::sync::atomic::AtomicI64;

use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::{Error, Result};

use super::entry::ENTRY;
use super::settle::{first, storage};
use crate::sql::Sections;
use crate::Options;

const FILES: &[(&str, &str)] = sql_files!();

const LARGEST_SCALE: u32 = 1_000_000;

/// The three secondary indexes: the end of the name, the first column, and a column that no other index has together
/// with the first.
pub const INDEXES: [(&str, &str, &str); 3] = [
    ("marketsegment", "productid", "customerid"),
    ("registersegment", "cashregisterid", "customerid"),
    ("pdc", "price", "dateandtime"),
];

/// Statements as a script takes them.
pub fn texts(statements: &[String]) -> Vec<&str> {
    statements.iter().map(String::as_str).collect()
}

/// What a run asks for.
#[derive(Debug)]
pub struct Tables {
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// Clients of all nodes.
    pub clients: u64,
    /// Whether they share one table.
    pub shared: bool,
    /// Rows of each client in l.i0, l.i1 and l.i2.
    pub rows: [u64; 3],
    /// Whether to wait before the queries as long as published.
    pub waits: bool,
    /// Of the rates beside the queries the only one; all where there is none.
    pub rate: Option<u64>,
    /// Whether deletes name a range of numbers, and not the oldest rows.
    pub ranges: bool,
    /// Whether the secondary indexes have a column family of their own, on MyRocks.
    pub family: bool,
    /// Where the deletes of each table stand: no row below this number is left, as far as its clients know.
    pub oldest: Vec<AtomicI64>,
    sql: Sections,
}

impl Tables {
    /// Errors of kind `Configuration`: a scale out of range, a dialect without SQL.
    pub fn new(options: &Options) -> Result<Self> {
        let Options { scale, dialect, clients, .. } = *options;
        if scale == 0 || scale > LARGEST_SCALE {
            return Err(Error::configuration(format!("scale {scale} is out of range: choose 1 to {LARGEST_SCALE}")));
        }
        let value = |name| ENTRY.value(&options.settings, name);
        // Whole transactions of 100 rows.
        let unit: u64 = value("rows").parse().unwrap_or_default();
        let (first, sizes) = ((u64::from(scale) * unit).next_multiple_of(100), value("sizes"));
        let writes = match (value("writes").parse().unwrap_or(0), sizes) {
            (0, "cached") => first * 10 / 3,
            (0, "io-bound") => first / 160,
            (0, _) => first / 5,
            (writes, _) => writes,
        };
        // Whole transactions of 50 and of 5 rows.
        let rows = [first, (writes * 4 / 5).next_multiple_of(50), (writes / 5).next_multiple_of(5)];
        let (clients, shared) = (clients.max(1), value("tables") == "shared");
        let waits = value("settle") == "full" || (value("settle") == "auto" && sizes != "quick");
        let rate = value("rates").parse().ok();
        let (family, ranges) = (value("family") == "secondary", value("deletes") == "range");
        if ranges && shared && clients > 1 {
            let problem = "--set deletes=range: the numbers of a shared table are those of several clients";
            return Err(Error::configuration(problem).remedy("omit it, or omit tables=shared"));
        }
        let tables = if shared { 1 } else { clients };
        let oldest = (0..tables).map(|_| AtomicI64::new(0)).collect();
        let sql = Sections::of(dialect, FILES)?;
        Ok(Self { dialect, clients, shared, rows, waits, rate, ranges, family, oldest, sql })
    }

    /// Fails, with an error of kind `Configuration`, where the server leaves numbers out between rows, as the nodes of
    /// a Galera cluster do: deletes and queries by number would find fewer rows, and the checks none that hold.
    pub fn refuse_gaps(&self, conn: &mut dyn Connection) -> Result<()> {
        if self.dialect.name != "mysql" {
            return Ok(());
        }
        let step = first(conn, &self.one("step", 0)?)?.unwrap_or_default();
        match step.as_str() {
            "1" => Ok(()),
            _ => Err(Error::configuration(format!(
                "rows are numbered in steps of {step} here, and the workload needs every number: \
                 SET GLOBAL auto_increment_increment = 1, on Galera wsrep_auto_increment_control = OFF before"
            ))),
        }
    }

    /// Fails, with an error of kind `Configuration`, where a column family is asked for and the tables have none.
    pub fn refuse_family(&self, conn: &mut dyn Connection) -> Result<()> {
        match self.family && storage(self, conn)? != "rocksdb" {
            false => Ok(()),
            true => Err(Error::configuration("--set family=secondary: only tables of MyRocks have column families")
                .remedy("leave it out, or name a server of MariaDB with storage_engine=RocksDB")),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.oldest.len()
    }

    /// Number of the table of a client.
    pub fn of(&self, client: u64) -> usize {
        (client % self.count() as u64) as usize
    }

    /// The name of a table.
    pub fn name(table: usize) -> String {
        format!("pi{}", table + 1)
    }

    /// The statements of a section for a table.
    pub fn all(&self, section: &str, table: usize) -> Vec<String> {
        self.sql.all(section).iter().map(|sql| sql.replace("{t}", &Self::name(table))).collect()
    }

    /// The one statement of a section for a table.
    pub fn one(&self, section: &str, table: usize) -> Result<String> {
        Ok(self.sql.one(section)?.replace("{t}", &Self::name(table)))
    }

    /// The statement that inserts so many rows. VALUES of Firebird has one row: there it is a block of as many INSERTs.
    pub fn insert(&self, table: usize, rows: usize) -> Result<String> {
        let (insert, now) = (self.one("insert", table)?, self.sql.one("{now}")?.trim());
        if self.dialect.name == "firebird" {
            const TYPES: [&str; 5] = ["integer", "integer", "integer", "integer", "varchar(20) CHARACTER SET ASCII"];
            let parameter = |at: usize| format!("p{at} {} = ?", TYPES[at % TYPES.len()]);
            let parameters: Vec<String> = (0..rows * TYPES.len()).map(parameter).collect();
            let row = |row: usize| {
                let names: Vec<String> = (0..TYPES.len()).map(|at| format!(":p{}", row * TYPES.len() + at)).collect();
                format!("{insert} {now}, {});", names.join(", "))
            };
            let body: Vec<String> = (0..rows).map(row).collect();
            return Ok(format!("EXECUTE BLOCK ({}) AS BEGIN {} END", parameters.join(", "), body.join(" ")));
        }
        let numbered = self.dialect.name == "postgres";
        let parameter = |at: usize| if numbered { format!("${}", at + 1) } else { "?".to_string() };
        let row = |row: usize| {
            let parameters: Vec<String> = (row * 5..row * 5 + 5).map(parameter).collect();
            format!("({now}, {})", parameters.join(", "))
        };
        Ok(format!("{insert} {}", (0..rows).map(row).collect::<Vec<_>>().join(", ")))
    }
}
