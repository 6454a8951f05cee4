//! One client of TPC-B: what it draws and how it runs the transaction.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Client, Drawn, End, Shape};

use super::bank::Bank;
use super::rows::TELLERS;
use crate::Call;

/// Per cent of the transactions whose account is of another branch, in TPC-B.
pub const REMOTE: u64 = 15;

/// Inputs of one transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The account.
    pub aid: i64,
    /// The teller, uniform over all tellers.
    pub tid: i64,
    /// The teller's branch.
    pub bid: i64,
    /// What is added, uniform in −999,999 to +999,999.
    pub delta: i64,
    /// Whether the account is of another branch than the teller's.
    pub remote: bool,
}

impl Inputs {
    /// Draws by the rules of TPC-B: in `remote` per cent of the transactions, and in none when there is one branch, an
    /// account of another branch than the teller's, otherwise one of that branch; uniform within the choice.
    pub fn draw(stream: &mut Stream, (branches, accounts): (u64, u64), remote: u64) -> Self {
        let teller = stream.below(branches * TELLERS);
        let home = teller / TELLERS;
        let remote = branches > 1 && stream.below(100) >= 100 - remote;
        let branch = match remote {
            false => home,
            // One of the others: those from the home branch on move up by one.
            true => Some(stream.below(branches - 1)).map_or(home, |other| other + u64::from(other >= home)),
        };
        Self {
            aid: (branch * accounts + stream.below(accounts)) as i64 + 1,
            tid: teller as i64 + 1,
            bid: home as i64 + 1,
            delta: stream.between(-999_999, 999_999),
            remote,
        }
    }
}

/// What of the transaction a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// All of it, sent so.
    Whole(Call),
    /// The row of history alone.
    Append,
}

/// Numbers of the statements of the transaction.
#[derive(Debug, Clone, Copy)]
enum Known {
    Append {
        history: StatementId,
    },
    Procedure {
        call: StatementId,
    },
    Statements {
        account: StatementId,
        balance: StatementId,
        history: StatementId,
        teller: StatementId,
        branch: StatementId,
    },
}

/// A simulated user of the bank.
pub struct TpcbClient {
    bank: Arc<Bank>,
    does: Does,
    remote_percent: u64,
    id: u64,
    seed: u64,
    /// Those drawn last.
    pub(crate) inputs: Inputs,
    /// What the account of the transaction that ran last has now.
    pub(crate) balance: i64,
    known: Option<Known>,
    rows: Rows,
    delta: i64,
    remote: i64,
    accounts: i64,
}

impl TpcbClient {
    /// Client `id` with the stream of `seed`; see [`Inputs::draw`] for `remote_percent`.
    pub fn new(bank: Arc<Bank>, does: Does, remote_percent: u64, id: u64, seed: u64) -> Self {
        let (inputs, rows) = (Inputs::default(), Rows::new());
        let (balance, delta, remote, accounts) = (0, 0, 0, 0);
        Self { bank, does, remote_percent, id, seed, inputs, balance, known: None, rows, delta, remote, accounts }
    }
}

impl Client for TpcbClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        const BALANCE: &[Type] = &[Type::Int64];
        let sql = &self.bank.sql;
        let mut prepare = |name: &str, params: &[Type], columns: &[Type]| {
            conn.prepare(&Statement { sql: sql.one(name)?, params, columns }, when)
        };
        let (int, aid) = (Type::Int32, self.bank.account_key());
        self.known = Some(match self.does {
            Does::Append => Known::Append { history: prepare("insert_history", &[int, int, aid, int], &[])? },
            Does::Whole(Call::Procedure) => {
                Known::Procedure { call: prepare("call_transaction", &[aid, int, int, int], BALANCE)? }
            }
            Does::Whole(Call::Statements) => Known::Statements {
                account: prepare("update_account", &[int, aid], &[])?,
                balance: prepare("select_account", &[aid], BALANCE)?,
                history: prepare("insert_history", &[int, int, aid, int], &[])?,
                teller: prepare("update_teller", &[int; 2], &[])?,
                branch: prepare("update_branch", &[int; 2], &[])?,
            },
        });
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let sizes = (self.bank.branches, self.bank.accounts);
        self.inputs = Inputs::draw(&mut Stream::new(self.seed, self.id, number), sizes, self.remote_percent);
        let shape = match self.does {
            Does::Whole(Call::Statements) => Shape::Block,
            Does::Whole(Call::Procedure) | Does::Append => Shape::Single,
        };
        Drawn { kind: 0, shape }
    }

    /// The order is that of pgbench: account, its balance, teller, branch, history. An insert into
    /// the history before the updates would lock teller and branch by its foreign keys first
    /// (docs/decisions/005). The balance is read from the database and must be a number.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let Inputs { aid, tid, bid, delta, .. } = self.inputs;
        let [aid, tid, bid, delta] = [aid, tid, bid, delta].map(Value::Int);
        match self.known {
            None => return Err(Error::with(ErrorKind::Statement, "execute", "the client was not prepared")),
            Some(Known::Append { history }) => {
                return one_row(conn.execute(history, &[tid, bid, aid, delta])?, "history").map(|()| End::Commit);
            }
            Some(Known::Procedure { call }) => conn.query(call, &[aid, tid, bid, delta], &mut self.rows)?,
            Some(Known::Statements { account, balance, history, teller, branch }) => {
                one_row(conn.execute(account, &[delta, aid])?, "account")?;
                conn.query(balance, &[aid], &mut self.rows)?;
                one_row(conn.execute(teller, &[delta, tid])?, "teller")?;
                one_row(conn.execute(branch, &[delta, bid])?, "branch")?;
                one_row(conn.execute(history, &[tid, bid, aid, delta])?, "history")?;
            }
        }
        self.balance = self.rows.int(0, 0)?;
        Ok(End::Commit)
    }

    fn committed(&mut self) {
        self.delta += self.inputs.delta;
        self.remote += i64::from(self.inputs.remote);
        self.accounts += self.inputs.aid;
    }

    fn describe(&self) -> String {
        let Inputs { aid, tid, bid, delta, .. } = self.inputs;
        format!("tpcb aid={aid} tid={tid} bid={bid} delta={delta}")
    }

    /// `delta`: sum of what was added; `remote`: transactions with an account of another branch; `accounts`: sum of
    /// the accounts' numbers.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        vec![("delta", self.delta), ("remote", self.remote), ("accounts", self.accounts)]
    }
}

pub(crate) fn one_row(changed: u64, table: &str) -> Result<()> {
    match changed {
        1 => Ok(()),
        n => Err(Error::with(ErrorKind::Statement, "execute", format!("{n} rows of {table} were changed, not one"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(scale: u32, count: u64) -> impl Iterator<Item = Inputs> {
        (0..count).map(move |number| Inputs::draw(&mut Stream::new(11, 3, number), (scale.into(), 100_000), REMOTE))
    }

    /// Chi-square of counts that should be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum()
    }

    #[test]
    fn inputs_agree_with_each_other() {
        for inputs in draws(7, 20_000) {
            assert_eq!((inputs.tid - 1) / 10 + 1, inputs.bid, "{inputs:?}");
            assert_eq!((inputs.aid - 1) / 100_000 + 1 != inputs.bid, inputs.remote, "{inputs:?}");
            assert!((1..=70).contains(&inputs.tid) && (1..=700_000).contains(&inputs.aid));
            assert!(inputs.delta.abs() <= 999_999);
        }
        assert!(draws(1, 1000).all(|inputs| !inputs.remote && inputs.bid == 1));
    }

    #[test]
    fn fifteen_percent_are_remote() {
        // 100,000 draws of p = 0.15: standard deviation 113; four of them either way.
        let remote = draws(20, 100_000).filter(|inputs| inputs.remote).count();
        assert!((14_550..=15_450).contains(&remote), "{remote}");
    }

    #[test]
    fn tellers_branches_and_deltas_are_uniform() {
        let scale = 5;
        let (mut tellers, mut others, mut accounts, mut deltas) = ([0; 50], [0; 20], [0; 50], [0; 50]);
        for inputs in draws(scale, 100_000) {
            tellers[inputs.tid as usize - 1] += 1;
            accounts[((inputs.aid - 1) % 100_000 / 2000) as usize] += 1;
            deltas[((inputs.delta + 999_999) / 40_000) as usize] += 1;
            if inputs.remote {
                // Home and foreign branch: 5 · 4 pairs, none more likely than another.
                let (home, other) = (inputs.bid as usize - 1, ((inputs.aid - 1) / 100_000) as usize);
                others[home * 4 + other - usize::from(other > home)] += 1;
            }
        }
        // 99.9% points of chi-square with 49 and 19 degrees of freedom.
        for (name, counts, limit) in [
            ("tellers", &tellers[..], 85.4),
            ("accounts", &accounts, 85.4),
            ("deltas", &deltas, 85.4),
            ("others", &others, 43.8),
        ] {
            assert!(chi_square(counts) < limit, "{name}: {} over {limit}", chi_square(counts));
        }
    }

    #[test]
    fn accounts_fit_32_bits_up_to_the_scale_that_changes_their_type() {
        let largest = super::super::bank::LARGEST_OF_32_BITS;
        assert_eq!(largest, 21_474);
        assert!(draws(2 * largest, 1000).any(|inputs| inputs.aid > i64::from(i32::MAX)));
        assert!(draws(largest, 100_000).all(|inputs| inputs.aid <= i64::from(i32::MAX)));
    }
}
