//! The bank: schema, rows and keys, which the workloads `tpcb`, `select`, `tp1`, `t1` and `t2` share.

use dsbench_core::engine::{Connection, Dialect, Prepare, Statement};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Condition, Part, Population, Progress};

use super::rows::{Source, Table, TELLERS};
use crate::catalogue::Promised;
use crate::settings::{Setting, Settings, Values};
use crate::sql::Sections;
use crate::steps;

/// The SQL of each dialect.
const FILES: &[(&str, &str)] = sql_files!();

/// Accounts of a unit of scale.
pub const ACCOUNTS: u64 = 100_000;

/// The largest scale whose accounts have numbers of 32 bits where nothing else is said.
pub const LARGEST_OF_32_BITS: u32 = (i32::MAX as u64 / ACCOUNTS) as u32;

/// The largest scale: some 3 TB.
pub const LARGEST_SCALE: u32 = 200_000;

/// Settings of all that runs on the bank.
pub const SETTINGS: &[Setting] = &[Setting {
    name: "keys",
    values: Values::Words(&["auto", "64"]),
    default: "auto",
    help: "account numbers of 64 bits; auto: only above scale 21,474, so that a ladder across it has two schemas",
}];

/// Rows of one transaction of a bulk load: enough to hide the cost of a commit, few enough that
/// no log grows without end. One transaction for all rows of a session was no faster on PostgreSQL.
const CHUNK: u64 = 500_000;

/// Whether integers take as many bytes as their values need.
pub(super) fn compact_integers(dialect: &Dialect) -> bool {
    ["sqlite", "mock"].contains(&dialect.name)
}

/// How a workload wants its bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape<'a> {
    /// Branches for each unit of scale, which share its accounts.
    pub branches: u64,
    /// Whether rows refer to others by foreign keys.
    pub foreign_keys: bool,
    /// How the history is organised: "heap", "indexed", "hashed" or "partitioned".
    pub history: &'a str,
    /// Rows of history before the first transaction, for each unit of scale.
    pub before: u64,
    /// Whether the pages of the accounts keep room for new versions of their rows, where an engine can be told to.
    pub room: bool,
    /// Tablespaces of relations: `account:fast,history:slow`.
    pub spaces: &'a str,
    /// How full the pages of relations are made, in per cent: `account:50`.
    pub fillfactor: &'a str,
}

/// The bank of TPC-B.
pub const TPCB: Shape<'_> =
    Shape { branches: 1, foreign_keys: true, history: "heap", before: 0, room: false, spaces: "", fillfactor: "" };

const RELATIONS: [&str; 4] = ["branch", "teller", "account", "history"];

/// Partitions of a partitioned history.
const PARTITIONS: u64 = 16;

/// A bank of some branches on a database of one dialect.
#[derive(Debug)]
pub struct Bank {
    /// Number of branches.
    pub branches: u64,
    /// Accounts of a branch.
    pub accounts: u64,
    /// Rows of history before the first transaction.
    pub before: u64,
    foreign_keys: bool,
    history: String,
    /// Accounts have numbers of 64 bits.
    wide: bool,
    /// Whether it was asked for 64 bits at any scale.
    always_wide: bool,
    /// Whether the SQL to reset it is that of its shape.
    plain: bool,
    /// Of each relation its tablespace and how full its pages are, as far as somebody said.
    layout: [(String, String); 4],
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// The SQL of that dialect.
    pub sql: Sections,
}

impl Bank {
    /// Errors of kind `Configuration`: a scale of 0 or above [`LARGEST_SCALE`], a dialect without SQL or without such a
    /// history.
    pub fn new(scale: u32, dialect: &'static Dialect, settings: &Settings, shape: &Shape<'_>) -> Result<Self> {
        if scale == 0 || scale > LARGEST_SCALE {
            return Err(Error::configuration(format!("scale {scale} is out of range: choose 1 to {LARGEST_SCALE}")));
        }
        let always_wide = settings.get("keys") == Some("64");
        let wide = scale > LARGEST_OF_32_BITS || always_wide;
        // What keeps no data organises none: a run asks it for the stages before there is a database.
        let history = if dialect.keeps_data { shape.history } else { "heap" };
        // No entry names this setting: tests, which check small banks again and again, open them past the entry.
        let of_unit = settings.get("accounts").and_then(|accounts| accounts.parse().ok()).unwrap_or(ACCOUNTS);
        let accounts = of_unit / shape.branches;
        let (of_branch, made) = (accounts.to_string(), (1 + TELLERS + accounts).to_string());
        let mut words = vec![("{accounts}", of_branch.as_str()), ("{made}", made.as_str())];
        // SQLite's integers have the length of their value, and no other type is the number of the row itself.
        if wide && !compact_integers(dialect) {
            words.push(("{aid}", "bigint"));
        }
        if !shape.foreign_keys {
            words.extend([("{to branch}", ""), ("{to teller}", ""), ("{to account}", "")]);
        }
        let layout = laid_out(dialect, shape)?;
        let ends = [0, 1, 2, 3].map(|at| {
            let (space, fill) = &layout[at];
            let parts = if RELATIONS[at] == "history" && history == "partitioned" { "{partitioned}" } else { "" };
            let with = match fill.as_str() {
                "" if RELATIONS[at] == "account" && shape.room => "{room}".to_string(),
                "" => String::new(),
                fill => format!("WITH (fillfactor = {fill})"),
            };
            let within = if space.is_empty() { String::new() } else { format!("TABLESPACE {space}") };
            [parts, &with, &within].join(" ").trim().to_string()
        });
        let keys = [0, 1, 2].map(|at| match layout[at].0.as_str() {
            "" => String::new(),
            space => format!("USING INDEX TABLESPACE {space}"),
        });
        words.extend(
            ["{end of branch}", "{end of teller}", "{end of account}", "{end of history}"]
                .into_iter()
                .zip(ends.iter().map(String::as_str)),
        );
        words
            .extend(["{branch key}", "{teller key}", "{account key}"].into_iter().zip(keys.iter().map(String::as_str)));
        let sql = Sections::with(dialect, FILES, &words)?;
        let has = |section: &str| !sql.all(section).is_empty();
        match history {
            "hashed" if !has("history_hashed") => return Err(refused(dialect, "hashed", "no hash index")),
            "partitioned" if !has("{partitioned}") => return Err(refused(dialect, "partitioned", "no partitions")),
            _ => {}
        }
        let (branches, before) = (u64::from(scale) * shape.branches, u64::from(scale) * shape.before);
        let (foreign_keys, history) = (shape.foreign_keys, history.to_string());
        let plain = *shape == TPCB;
        Ok(Self { branches, accounts, before, foreign_keys, history, wide, always_wide, plain, layout, dialect, sql })
    }

    /// The type of the accounts' numbers.
    pub fn account_key(&self) -> Type {
        if self.wide {
            Type::Int64
        } else {
            Type::Int32
        }
    }

    /// Rows of a full population.
    pub fn rows(&self) -> u64 {
        self.branches * (1 + TELLERS + self.accounts)
    }

    /// Rows of one table.
    pub fn rows_of(&self, table: Table) -> u64 {
        self.branches * table.per_branch(self.accounts)
    }

    /// Columns of a table, in the order in which its rows give them.
    pub(super) fn columns(&self, table: Table) -> Vec<(&'static str, Type)> {
        let of_key = |(name, kind)| (name, if name == "aid" { self.account_key() } else { kind });
        table.columns().iter().copied().map(of_key).collect()
    }

    /// Makes the tables and, where transactions are `called`, their stored procedures.
    pub fn create(&self, conn: &mut dyn Connection, called: bool) -> Result<()> {
        conn.script(&self.sql.script("tables"))?;
        if self.history == "partitioned" {
            for part in self.sql.all("history_partitioned") {
                let each: Vec<String> = (0..PARTITIONS).map(|n| part.replace("{n}", &n.to_string())).collect();
                conn.script(&each.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
        }
        match called && self.dialect.procedures {
            true => conn.script(&self.sql.script("procedures")),
            false => Ok(()),
        }
    }

    /// The indexes and keys that its statements make.
    pub fn promised(&self) -> Promised {
        let mut sections = vec!["tables", "primary_keys"];
        match self.history.as_str() {
            "indexed" => sections.push("history_indexed"),
            "hashed" => sections.push("history_hashed"),
            _ => {}
        }
        if self.foreign_keys {
            sections.push("foreign_keys");
        }
        Promised::of(sections.into_iter().flat_map(|section| self.sql.all(section)))
    }

    /// Whether the relations lie in the tablespaces, and are as full, as was asked for; nothing where nothing was.
    pub fn laid(&self, conn: &mut dyn Connection) -> Result<Vec<Condition>> {
        if self.layout.iter().all(|(space, fill)| space.is_empty() && fill.is_empty()) {
            return Ok(Vec::new());
        }
        let (mut words, mut holds) = (Vec::new(), true);
        let rows = conn.fetch(self.sql.one("layout")?)?.rows;
        for (relation, (space, fill)) in RELATIONS.iter().zip(&self.layout) {
            let cell = |row: &Vec<Option<String>>, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            let mut found = rows.iter().filter(|row| cell(row, 0) == *relation).peekable();
            holds &= found.peek().is_some();
            for row in found {
                let (place, options) = (cell(row, 1), cell(row, 2));
                holds &= space.is_empty() || place == *space;
                holds &= fill.is_empty() || cell(row, 3) == "i" || options.contains(&format!("fillfactor={fill}"));
                words.push([format!("{relation}: {place}"), options].join(", ").trim_end_matches(", ").to_string());
            }
        }
        Ok(vec![Condition::made("relations lie as asked", holds, words.join("; "))])
    }

    /// Writes a part of the rows.
    pub fn populate(&self, conn: &mut dyn Connection, how: Population, part: Part, progress: &Progress) -> Result<()> {
        progress.expect(self.rows());
        match how {
            Population::Bulk => self.populate_bulk(conn, 0, part, progress),
            Population::Procedure => self.populate_by_procedure(conn, part, progress),
        }
    }

    /// The first part writes branches and tellers, every part its share of the accounts; without those of the first
    /// `there` branches, which are in the database.
    fn populate_bulk(&self, conn: &mut dyn Connection, there: u64, part: Part, progress: &Progress) -> Result<()> {
        let from = |table: Table| there * table.per_branch(self.accounts);
        let before = from(Table::Account);
        let accounts = part.range(self.rows_of(Table::Account) - before);
        let mut shares = vec![(Table::Account, before + accounts.start..before + accounts.end)];
        if part.index == 0 {
            for (at, table) in [Table::Branch, Table::Teller].into_iter().enumerate() {
                shares.insert(at, (table, from(table)..self.rows_of(table)));
            }
        }
        for (table, share) in shares {
            for start in share.clone().step_by(CHUNK as usize) {
                let chunk = start..share.end.min(start + CHUNK);
                let mut source = Source::new((table, self.accounts), chunk, compact_integers(self.dialect), progress);
                let load = conn.bulk().ok_or_else(|| {
                    Error::configuration("this engine has no bulk load").remedy("use --population procedure")
                })?;
                load.load(table.name(), &self.columns(table), &mut source)?;
            }
        }
        Ok(())
    }

    /// Whether a bank of scale `from` becomes this one; an error of kind `Configuration` says why not.
    pub fn grows(&self, from: u32) -> Result<()> {
        let why = match () {
            () if !self.dialect.keeps_data => "keeps no data",
            () if self.sql.all("reset").is_empty() => "is left with another layout than that of a fresh database",
            () if !self.plain => "has no reset for such a bank",
            () if self.wide && !self.always_wide && from <= LARGEST_OF_32_BITS => "has other keys at the smaller scale",
            () if u64::from(from) >= self.branches => "has to grow from a smaller scale",
            () => return Ok(()),
        };
        Err(Error::configuration(format!("{} {why}", self.dialect.name)))
    }

    /// Takes the keys away, empties the history and, where transactions changed balances, makes all of them 0 in tables
    /// without the versions that are left of them.
    pub fn reset(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        let [written] = steps::numbers(conn, self.sql.one("written")?)?;
        self.steps(conn, "reset", progress)?;
        if steps::may_refer(&self.sql, conn)? {
            self.steps(conn, "reset_references", progress)?;
        }
        if written != 0 {
            self.steps(conn, "reset_balances", progress)?;
        }
        Ok(())
    }

    /// Writes a part of the rows that a bank of scale `from` lacks.
    pub fn grow(&self, conn: &mut dyn Connection, from: u32, part: Part, progress: &Progress) -> Result<()> {
        self.grows(from)?;
        let there = u64::from(from);
        progress.expect(self.rows() - there * (1 + TELLERS + self.accounts));
        self.populate_bulk(conn, there, part, progress)
    }

    /// One call for each branch.
    fn populate_by_procedure(&self, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        if !self.dialect.procedures {
            return Err(Error::configuration(format!(
                "population by procedure: {} has no stored procedures",
                self.dialect.name
            ))
            .remedy("use --population bulk"));
        }
        if part.index > 0 {
            return Ok(());
        }
        conn.script(&self.sql.script("populating"))?;
        let call = Statement { sql: self.sql.one("call_populate")?, params: &[Type::Int32], columns: &[Type::Int64] };
        let call = conn.prepare(&call, Prepare::Once)?;
        let mut made = Rows::new();
        for branch in 1..=self.branches as i64 {
            conn.query(call, &[Value::Int(branch)], &mut made)?;
            progress.advance(made.int(0, 0)? as u64)?;
        }
        Ok(())
    }

    /// Writes the rows of history that are there before the first transaction, and ends the population.
    pub fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        for rows in self.history_before() {
            let sql = self.sql.one("history_rows")?.replace("{n}", &rows.to_string());
            conn.script(&[&sql])?;
        }
        conn.script(&self.sql.script("settle"))
    }

    /// Those rows, in pieces: each of them of as many accounts, from the first on.
    fn history_before(&self) -> impl Iterator<Item = u64> {
        let accounts = self.branches * self.accounts;
        let (whole, rest) = (self.before / accounts, self.before % accounts);
        std::iter::repeat_n(accounts, whole as usize).chain((rest > 0).then_some(rest))
    }

    /// The sum of the accounts' numbers in those rows.
    pub fn accounts_before(&self) -> i64 {
        self.history_before().map(|rows| (rows * (rows + 1) / 2) as i64).sum()
    }

    /// Adds the primary keys, where the rows come without them, and the index of the history.
    pub fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        self.steps(conn, "primary_keys", progress)?;
        match self.history.as_str() {
            "indexed" => self.steps(conn, "history_indexed", progress)?,
            "hashed" => self.steps(conn, "history_hashed", progress)?,
            _ => {}
        }
        progress.expect(progress.read().0);
        Ok(())
    }

    /// Runs the statements of a section one by one, as steps of `progress`.
    pub fn steps(&self, conn: &mut dyn Connection, section: &str, progress: &Progress) -> Result<()> {
        steps::run(&self.sql, conn, section, progress)
    }

    /// Adds the foreign keys; where they stand in the tables already, checks that all rows meet them.
    pub fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        match self.foreign_keys {
            true => steps::foreign_keys(&self.sql, conn, progress),
            false => Ok(()),
        }
    }
}

/// Of each relation its tablespace and fill factor. Errors of kind `Configuration`: another product than PostgreSQL, no
/// such relation, no name, no number.
fn laid_out(dialect: &Dialect, shape: &Shape<'_>) -> Result<[(String, String); 4]> {
    let mut found: [(String, String); 4] = Default::default();
    for (setting, text) in [("spaces", shape.spaces), ("fillfactor", shape.fillfactor)] {
        let refused = |words: String| Error::configuration(format!("--set {setting}={text}: {words}"));
        let wrong = |words: String, remedy: String| Err(refused(words).remedy(remedy));
        if !text.is_empty() && dialect.keeps_data && dialect.name != "postgres" {
            let words = format!("{} has none by relation here", dialect.name);
            return wrong(words, "use PostgreSQL, or leave it out".into());
        }
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (relation, value) = pair.split_once(':').unwrap_or((pair, ""));
            let (relation, value) = (relation.trim(), value.trim());
            let Some(at) = RELATIONS.iter().position(|known| *known == relation) else {
                return wrong(format!("no relation {relation:?}"), format!("use {}", RELATIONS.join(", ")));
            };
            let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
            let named = value.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
                && value.chars().all(letters);
            match setting {
                "spaces" if !named => {
                    return Err(refused(format!("{value:?} is no name of a tablespace in small letters")))
                }
                "spaces" => found[at].0 = value.to_string(),
                _ if relation == "history" && shape.history == "partitioned" => {
                    return wrong("a partitioned history has no pages of its own".into(), "leave history out".into())
                }
                _ if !value.parse().is_ok_and(|number: u32| (10..=100).contains(&number)) => {
                    return Err(refused(format!("{value:?} is no whole number from 10 to 100")))
                }
                _ => found[at].1 = value.to_string(),
            }
        }
    }
    Ok(found)
}

fn refused(dialect: &Dialect, history: &str, lacks: &str) -> Error {
    let words = format!("--set history={history}: {} has {lacks} here", dialect.name);
    Error::configuration(words).remedy("use heap or indexed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_before_comes_in_pieces_of_all_accounts() {
        static SQLITE: Dialect =
            Dialect { name: "sqlite", procedures: false, embedded: true, single_writer: true, keeps_data: true };
        let shape = Shape { branches: 10, foreign_keys: false, before: 250_000, ..TPCB };
        let bank = Bank::new(2, &SQLITE, &Settings::default(), &shape).unwrap();
        assert_eq!((bank.branches, bank.accounts, bank.before), (20, 10_000, 500_000));
        assert_eq!(bank.history_before().collect::<Vec<_>>(), [200_000, 200_000, 100_000]);
        assert_eq!(bank.accounts_before(), 2 * 200_000 * 200_001 / 2 + 100_000 * 100_001 / 2);
    }
}
