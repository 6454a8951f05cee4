//! The conditions that a bank must meet after a load (TPC-B, clause 2.3 and 2.5, and some more).

use dsbench_core::engine::Connection;
use dsbench_core::error::Result;
use dsbench_core::value::Value;
use dsbench_core::workload::{Condition, Expected, Progress};

use super::bank::{compact_integers, Bank};
use super::rows::{Source, Table};
use crate::loaded::{compare, pieces, Beside, Off, Reading};
use crate::steps::{as_made, no_counts, nothing_kept, numbers, of_unknown_end, unknown_end};

/// Name of the sum by which a client that is no part of dsbench says that it tells none.
const UNTOLD: &str = "untold";

/// Rows and sums of the four tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    rows: [i64; 3],
    sums: [i64; 3],
    history_rows: i64,
    history_sum: i64,
    /// Accounts whose balance is not 0.
    touched: i64,
}

impl Totals {
    /// Reads all of every table.
    pub fn read(bank: &Bank, conn: &mut dyn Connection) -> Result<Self> {
        let [br, bs, tr, ts, ar, as_, history_rows, history_sum, touched] = numbers(conn, bank.sql.one("totals")?)?;
        Ok(Self { rows: [br, tr, ar], sums: [bs, ts, as_], history_rows, history_sum, touched })
    }

    /// Rows of the history that transactions brought.
    fn history_brought(&self, bank: &Bank) -> i64 {
        self.history_rows - bank.before as i64
    }

    /// The number of rows of each table is that of the scale.
    pub fn scaled(&self, bank: &Bank) -> Vec<Condition> {
        let tables = [Table::Branch, Table::Teller, Table::Account];
        let condition = |(table, found): (Table, i64)| {
            equal(&format!("{} rows", table.name()), ("found", found), ("scale", bank.rows_of(table) as i64))
        };
        tables.into_iter().zip(self.rows).map(condition).collect()
    }

    /// Nothing was ever added to a balance.
    pub fn balances_untouched(&self) -> Vec<Condition> {
        ["branch sum", "teller sum", "account sum"].into_iter().zip(self.sums).map(zero).collect()
    }

    /// Nothing was written at all.
    pub fn untouched(&self, bank: &Bank) -> Vec<Condition> {
        let history = zero(("history rows", self.history_brought(bank)));
        self.balances_untouched().into_iter().chain([history]).collect()
    }

    /// Nothing but the balances of accounts was changed.
    pub fn only_accounts(&self, bank: &Bank) -> Vec<Condition> {
        let [branch, teller, _] = self.sums;
        let history = self.history_brought(bank);
        [("branch sum", branch), ("teller sum", teller), ("history rows", history)].map(zero).into()
    }

    /// Every commit of `expected` added one to one of at most so many accounts, and to that of its stream.
    pub fn amended(
        &self,
        bank: &Bank,
        conn: &mut dyn Connection,
        expected: Option<&Expected>,
        accounts: u64,
    ) -> Result<Vec<Condition>> {
        let name = "account sum = committed transactions";
        let found = self.sums[2];
        let sum = expected.map_or_else(
            || no_counts(name),
            |expected| {
                let range = expected.range(0);
                let detail = format!("account sum {found}, committed {}{}", range.start(), of_unknown_end(&range));
                as_made(name, found, &range, detail)
            },
        );
        let detail = format!("{} accounts, {accounts} keys", self.touched);
        let few =
            Condition::made("accounts with a balance <= keys of the streams", self.touched as u64 <= accounts, detail);
        let [amended] = numbers(conn, bank.sql.one("amended")?)?;
        let name = "sum of balance * number = that of the clients";
        Ok(vec![sum, few, of_clients(name, "accounts", ("accounts", amended), found, expected)])
    }
}

/// All conditions of TPC-B after the transactions in `expected`; without it, those within the database.
pub fn check(bank: &Bank, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
    if !bank.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    let totals = Totals::read(bank, conn)?;
    let [branch, teller, account] = totals.sums;
    let mut conditions = totals.scaled(bank);
    conditions.extend([
        equal("account sum = teller sum", ("account", account), ("teller", teller)),
        equal("teller sum = branch sum", ("teller", teller), ("branch", branch)),
        equal("branch sum = history sum", ("branch", branch), ("history", totals.history_sum)),
    ]);
    for (name, section) in [
        ("branch balance = sum of its tellers", "branches_off"),
        ("teller balance = sum of its history", "tellers_off"),
        ("history branch = branch of its teller", "history_off"),
    ] {
        let [off] = numbers(conn, bank.sql.one(section)?)?;
        conditions.push(Condition::made(name, off == 0, format!("{off} rows are off")));
    }
    conditions.push(accounts(bank, conn, &totals)?);
    let mut off = [0; 2];
    for sql in bank.sql.all("rows_off") {
        let found: [i64; 2] = numbers(conn, sql)?;
        off.iter_mut().zip(found).for_each(|(sum, number)| *sum += number);
    }
    for (name, off) in
        ["branch of a teller and of an account = by its number", "fillers as long as written"].into_iter().zip(off)
    {
        conditions.push(Condition::made(name, off == 0, format!("{off} rows are off")));
    }
    conditions.extend(history(bank, conn, &totals, expected)?);
    Ok(conditions)
}

/// Fillers of a branch's rows that were read, and those that are not the loaded ones.
#[derive(Debug, Clone, Copy, Default)]
struct Fillers {
    read: u64,
    others: u64,
    /// Number of the first of these.
    first: i64,
}

/// Rows, branches and fillers as the load made them. A procedure fills in others: a branch none of whose accounts has
/// the filler of a load in bulk was made by it, and its fillers are not compared.
pub fn loaded(bank: &Bank, conn: &mut dyn Connection) -> Result<Vec<Condition>> {
    let mut branches = vec![Fillers::default(); bank.branches as usize];
    let mut conditions = Vec::new();
    for table in [Table::Account, Table::Teller, Table::Branch] {
        let (columns, rows, per_branch) = (bank.columns(table), bank.rows_of(table), table.per_branch(bank.accounts));
        let filler = columns.len() - 1;
        let (mut off, mut read) = (Off::default(), 0);
        let mut reading = Reading::new(conn, bank.dialect, table.name(), &columns, &[0])?;
        let ranges = pieces(rows);
        for range in &ranges {
            let progress = Progress::default();
            let compact = compact_integers(bank.dialect);
            let mut source = Source::new((table, bank.accounts), range.clone(), compact, &progress);
            read += range.end - range.start;
            compare(&mut reading, &mut source, ranges.len() == 1, &mut |row| {
                let number = |value: &Value<'_>| if let Value::Int(number) = value { *number } else { 0 };
                match row {
                    Beside::Missing(wanted) => off.add(|| format!("{} is missing", number(&wanted[0]))),
                    Beside::Added(found) => {
                        let number = found.int(0)?;
                        off.add(|| format!("{number} was added"));
                    }
                    Beside::Both(wanted, found) => {
                        let number = number(&wanted[0]);
                        let of = &mut branches[((number - 1) as u64 / per_branch) as usize];
                        let same = found.has(filler, wanted[filler])?;
                        if table == Table::Account {
                            of.read += 1;
                            of.first = if !same && of.others == 0 { number } else { of.first };
                            of.others += u64::from(!same);
                        } else if !same && of.others < of.read {
                            off.add(|| format!("the filler of {number} is another one"));
                        }
                        if table != Table::Branch && !found.has(1, wanted[1])? {
                            off.add(|| format!("{number} is of another branch"));
                        }
                    }
                }
                Ok(())
            })?;
        }
        if table == Table::Account {
            for of in branches.iter().filter(|of| of.others < of.read) {
                (0..of.others).for_each(|_| off.add(|| format!("the filler of {} is another one", of.first)));
            }
        }
        conditions.push(off.condition(format!("{} as loaded, but for balances", table.name()), read, rows));
    }
    Ok(conditions)
}

/// What the history holds is what the clients did, and what was there before.
pub fn history(
    bank: &Bank,
    conn: &mut dyn Connection,
    totals: &Totals,
    expected: Option<&Expected>,
) -> Result<Vec<Condition>> {
    let brought = totals.history_brought(bank);
    let [remote, accounts] = numbers(conn, bank.sql.one("history_accounts")?)?;
    let sums = [
        ("history sum = sum of the clients", "delta", totals.history_sum),
        ("remote rows of the history = those of the clients", "remote", remote),
        (
            "sum of accounts' numbers in the history = that of the clients",
            "accounts",
            accounts - bank.accounts_before(),
        ),
    ];
    let of_clients = sums.map(|(name, sum, found)| of_clients(name, sum, ("history", found), brought, expected));
    Ok(std::iter::once(history_rows(brought, expected)).chain(of_clients).collect())
}

/// The balance of each account is the sum of its history; what has no history has 0.
fn accounts(bank: &Bank, conn: &mut dyn Connection, totals: &Totals) -> Result<Condition> {
    let [off, moved] = numbers(conn, bank.sql.one("accounts_off")?)?;
    let detail = format!("{off} rows are off, {} not 0, by the history {moved}", totals.touched);
    let holds = off == 0 && moved == totals.touched;
    Ok(Condition::made("account balance = sum of its history", holds, detail))
}

/// Every acknowledged commit is in the history, and nothing else but commits of unknown end.
fn history_rows(brought: i64, expected: Option<&Expected>) -> Condition {
    let name = "history rows = committed transactions";
    let Some(expected) = expected else { return no_counts(name) };
    let range = expected.range(0);
    let detail = format!("history {brought}, committed {}{}", range.start(), of_unknown_end(&range));
    as_made(name, brought, &range, detail)
}

/// What the clients summed up is what the history says. When commits of unknown end took place, their
/// inputs are not known, and the sums can only be compared within the database.
fn of_clients(name: &str, sum: &str, found: (&str, i64), brought: i64, expected: Option<&Expected>) -> Condition {
    let Some(expected) = expected else { return no_counts(name) };
    let committed = *expected.range(0).start();
    match expected.sum(sum).or((committed == 0).then_some(0)) {
        None if expected.sum(UNTOLD).is_some() => Condition::not_made(name, "this client tells no sums", ""),
        None => Condition::made(name, false, format!("the clients gave no sum of {sum}")),
        Some(_) if *expected.range(0).end() > committed && brought as u64 != committed => unknown_end(name, expected),
        Some(sum) => equal(name, found, ("clients", sum)),
    }
}

fn zero((name, found): (&str, i64)) -> Condition {
    equal(&format!("{name} = 0"), ("found", found), ("wanted", 0))
}

fn equal(name: &str, left: (&str, i64), right: (&str, i64)) -> Condition {
    let detail = format!("{} {}, {} {}", left.0, left.1, right.0, right.1);
    Condition::made(name, left.1 == right.1, detail)
}
