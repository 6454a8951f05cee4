//! TP1 (DebitCredit) as McDonell measured it (1987), and the two transactions that it is made of: T1 amends a row, T2
//! appends one. They run on the bank of TPC-B with the sizes of TP1, without foreign keys, and do a fixed number of
//! transactions over a varying number of streams; docs/tp1.md says more.

pub mod entry;
mod terminal;

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Client, Condition, Drawn, End, Expected, Shape as Form, Workload};

use crate::entry::{names_of, Entry};
use crate::steps::nothing_kept;
use crate::tpcb::bank::{Bank, Shape};
use crate::tpcb::check::{check, history, Totals};
use crate::tpcb::client::{one_row, Does, TpcbClient};
use crate::tpcb::on_bank::OnBank;
use crate::{Call, Options};

use terminal::AtTerminal;

/// Branches of a unit of scale.
const BRANCHES: u64 = 10;

/// Rows between the keys of two streams that must not meet in a page: a page of 64 KB has some 500 rows.
const APART: u64 = 500;

/// The bank of TP1 under the settings of `entry`.
fn shape<'a>(entry: &Entry, options: &'a Options) -> Shape<'a> {
    let history = entry.value(&options.settings, "history");
    let before = entry.value(&options.settings, "before").parse().unwrap_or(0);
    let [spaces, fillfactor] = ["spaces", "fillfactor"].map(|name| entry.value(&options.settings, name));
    Shape { branches: BRANCHES, foreign_keys: false, history, before, room: false, spaces, fillfactor }
}

/// The workload with its fixed number of transactions, boxed.
fn counted(entry: &Entry, mut made: OnBank) -> Box<dyn Workload> {
    made.transactions = entry.value(&made.options.settings, "transactions").parse().ok();
    Box::new(made)
}

/// A part is one statement: there is no procedure that would send it otherwise.
fn one_statement(entry: &Entry, options: &Options) -> Result<()> {
    match options.call {
        Call::Statements => Ok(()),
        Call::Procedure => {
            let words = format!("--call procedure: {} is one statement", entry.name);
            Err(Error::configuration(words).remedy("use --call statements"))
        }
    }
}

fn open_tp1(options: &Options) -> Result<Box<dyn Workload>> {
    let (entry, kinds) = (&entry::TP1, const { &names_of(entry::KINDS[0]) });
    let made = OnBank::new(
        options,
        &shape(entry, options),
        kinds,
        |at, conn, expected| check(&at.bank, conn, expected),
        |at, who, seed| {
            let remote = entry::TP1.value(&at.options.settings, "remote").parse().unwrap_or(0);
            let client = TpcbClient::new(Arc::clone(&at.bank), Does::Whole(at.call), remote, who.id, seed);
            match entry::TP1.value(&at.options.settings, "terminal") {
                "block" => Box::new(AtTerminal::new(client, who.id)),
                _ => Box::new(client),
            }
        },
    )?;
    Ok(counted(entry, made))
}

fn open_t1(options: &Options) -> Result<Box<dyn Workload>> {
    let (entry, kinds) = (&entry::T1, const { &names_of(entry::KINDS[1]) });
    one_statement(entry, options)?;
    let shape = Shape { room: true, history: "heap", ..shape(entry, options) };
    let same = entry.value(&options.settings, "conflict") == "same";
    let made = OnBank::new(options, &shape, kinds, check_t1, |at, who, _seed| {
        let same = entry::T1.value(&at.options.settings, "conflict") == "same";
        let apart = if same { 0 } else { apart(&at.bank, at.options.clients) };
        let aid = who.id % at.options.clients.max(1) * apart + 1;
        Box::new(Amend { bank: Arc::clone(&at.bank), aid: aid as i64, update: None, accounts: 0 })
    })?;
    if !same && apart(&made.bank, options.clients) < APART {
        let most = made.bank.branches * made.bank.accounts / APART;
        return Err(Error::configuration(format!(
            "t1: rows of {} streams would share pages at scale {}, which has room for {most}",
            options.clients, options.scale
        ))
        .remedy("use a larger scale or --set conflict=same"));
    }
    Ok(counted(entry, made))
}

fn open_t2(options: &Options) -> Result<Box<dyn Workload>> {
    let (entry, kinds) = (&entry::T2, const { &names_of(entry::KINDS[2]) });
    one_statement(entry, options)?;
    let made = OnBank::new(options, &shape(entry, options), kinds, check_t2, |at, who, seed| {
        Box::new(TpcbClient::new(Arc::clone(&at.bank), Does::Append, 0, who.id, seed))
    })?;
    Ok(counted(entry, made))
}

/// Accounts from the key of one stream to that of the next.
fn apart(bank: &Bank, streams: u64) -> u64 {
    bank.branches * bank.accounts / streams.max(1)
}

/// Every commit added one to the account of its stream, and nothing else was changed.
fn check_t1(at: &OnBank, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
    let bank = &at.bank;
    if !bank.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    let same = entry::T1.value(&at.options.settings, "conflict") == "same";
    let keys = if same { 1 } else { bank.branches * bank.accounts / APART };
    let totals = Totals::read(bank, conn)?;
    let mut conditions = totals.scaled(bank);
    conditions.extend(totals.only_accounts(bank));
    conditions.extend(totals.amended(bank, conn, expected, keys)?);
    Ok(conditions)
}

/// Every commit brought its row of history, and nothing else was changed.
fn check_t2(at: &OnBank, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>> {
    let bank = &at.bank;
    if !bank.dialect.keeps_data {
        return Ok(nothing_kept());
    }
    let totals = Totals::read(bank, conn)?;
    let mut conditions = totals.scaled(bank);
    conditions.extend(totals.balances_untouched());
    conditions.extend(history(bank, conn, &totals, expected)?);
    Ok(conditions)
}

/// A stream of T1: adds one to the same row again and again.
struct Amend {
    bank: Arc<Bank>,
    aid: i64,
    update: Option<StatementId>,
    accounts: i64,
}

impl Client for Amend {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let params = &[Type::Int32, self.bank.account_key()];
        let update = Statement { sql: self.bank.sql.one("update_account")?, params, columns: &[] };
        self.update = Some(conn.prepare(&update, when)?);
        Ok(())
    }

    fn draw(&mut self, _number: u64) -> Drawn {
        Drawn { kind: 0, shape: Form::Single }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let not_prepared = || Error::with(ErrorKind::Statement, "execute", "the client was not prepared");
        let update = self.update.ok_or_else(not_prepared)?;
        one_row(conn.execute(update, &[Value::Int(1), Value::Int(self.aid)])?, "account")?;
        Ok(End::Commit)
    }

    fn committed(&mut self) {
        self.accounts += self.aid;
    }

    fn describe(&self) -> String {
        format!("amend aid={}", self.aid)
    }

    /// `accounts`: sum of the accounts' numbers.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        vec![("accounts", self.accounts)]
    }
}
