//! The database as dsbench's own place. Its mark is a comment on the database and a row of table
//! `dsbench_mark`; what does not carry both is never written to, nor dropped.

use std::time::{Duration, Instant};

use dsbench_core::engine::{Place, PlaceState};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

use super::attachment::Attachment;
use super::status::Status;
use super::{blocks, codes, text, Firebird};
use crate::place::{self, alone, marked, ours, set_up, strange, vacant, MADE};

/// How the comment on a database of dsbench's starts.
const MARK: &str = "dsbench: ";

/// Error number of Unix and Windows for a file that is not there.
const NO_SUCH_FILE: isize = 2;

/// How long a drop waits for sessions that are just being closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// All that lies in the database by itself, with its kind.
const THERE: &str = "SELECT told FROM (SELECT rdb$relation_name AS name, \
        TRIM(CASE WHEN rdb$relation_type = 1 THEN 'view' ELSE 'table' END) || ' ' || TRIM(rdb$relation_name) AS told \
        FROM rdb$relations WHERE COALESCE(rdb$system_flag, 0) = 0 \
    UNION ALL SELECT rdb$procedure_name, 'procedure ' || TRIM(rdb$procedure_name) FROM rdb$procedures \
        WHERE COALESCE(rdb$system_flag, 0) = 0 AND rdb$package_name IS NULL \
    UNION ALL SELECT rdb$function_name, 'function ' || TRIM(rdb$function_name) FROM rdb$functions \
        WHERE COALESCE(rdb$system_flag, 0) = 0 AND rdb$package_name IS NULL \
    UNION ALL SELECT rdb$package_name, 'package ' || TRIM(rdb$package_name) FROM rdb$packages \
        WHERE COALESCE(rdb$system_flag, 0) = 0 \
    UNION ALL SELECT rdb$generator_name, 'sequence ' || TRIM(rdb$generator_name) FROM rdb$generators \
        WHERE COALESCE(rdb$system_flag, 0) = 0 \
    UNION ALL SELECT rdb$exception_name, 'exception ' || TRIM(rdb$exception_name) FROM rdb$exceptions \
        WHERE COALESCE(rdb$system_flag, 0) = 0)";
/// Of this, what may be somebody else's.
const OF_OTHERS: &str = "WHERE name NOT STARTING WITH 'DSBENCH_' ORDER BY 1";

const STOCK_TAKEN: &str = "SELECT 1 FROM rdb$relations WHERE rdb$relation_name = 'DSBENCH_MADE'";

impl Firebird {
    /// Who owns the database, and a session with it when dsbench does.
    pub(super) fn look(&self) -> Result<(PlaceState, Option<Attachment>)> {
        let (api, name) = (self.api()?, &self.target.database);
        match Attachment::open(api, name, &blocks::look(&self.target)) {
            Ok(mut at) => Ok(match mark(&mut at)? {
                Some(text) => (PlaceState::Marked(text), Some(at)),
                None => (PlaceState::Foreign(format!("database {name} carries no mark of dsbench")), None),
            }),
            Err(status) if is_absent(&status) => Ok((PlaceState::Absent, None)),
            Err(status) if status.has(codes::BAD_FORMAT) => {
                Ok((PlaceState::Foreign(format!("{name} is no database of Firebird")), None))
            }
            Err(status) => Err(status.setup(api, "look for the place", name)),
        }
    }

    /// Makes the mark in a database that was just created, and sees that it has the page size asked for.
    fn furnish(&self, at: &mut Attachment, mark: &str) -> Result<()> {
        let (page_size, _) = at.sizes()?;
        if self.target.page_size.is_some_and(|wanted| wanted != page_size) {
            let message = format!("page_size={} in the target's URL: this version takes {page_size}", wanted(self));
            return Err(Error::configuration(message));
        }
        let text = mark.replace('\'', "''");
        change(
            at,
            &[
                "CREATE TABLE dsbench_mark (mark VARCHAR(4000) NOT NULL)",
                &format!("INSERT INTO dsbench_mark (mark) VALUES ('{text}')"),
                &format!("COMMENT ON DATABASE IS '{MARK}{text}'"),
            ],
        )
    }
}

/// Runs statements, each in a transaction.
fn change(at: &mut Attachment, statements: &[&str]) -> Result<()> {
    for sql in statements {
        at.within(&blocks::schema(), |at, transaction| at.immediate(transaction, sql))?;
    }
    Ok(())
}

fn ask(at: &mut Attachment, sql: &str) -> Result<Table> {
    at.within(&blocks::reading(), |at, transaction| text::fetch(at, transaction, sql))
}

fn strangers(at: &mut Attachment) -> Result<Vec<String>> {
    let made = match ask(at, STOCK_TAKEN)?.rows.is_empty() {
        true => Table::default(),
        false => ask(at, &format!("SELECT name FROM {MADE}"))?,
    };
    Ok(strange(ask(at, &format!("{THERE} {OF_OTHERS}"))?, made))
}

fn wanted(firebird: &Firebird) -> u32 {
    firebird.target.page_size.unwrap_or_default()
}

/// The text of the mark, when both its parts are there.
fn mark(at: &mut Attachment) -> Result<Option<String>> {
    let first = |table: Table| table.rows.into_iter().flatten().flatten().next();
    let comment = first(ask(at, "SELECT CAST(rdb$description AS VARCHAR(4100)) FROM rdb$database")?);
    if !comment.is_some_and(|comment| comment.starts_with(MARK)) {
        return Ok(None);
    }
    match ask(at, "SELECT mark FROM dsbench_mark") {
        Ok(table) => Ok(first(table)),
        Err(error) if error.kind == ErrorKind::Syntax => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is no such file. A server does not pass the system's error number on, so that a file
/// which it may not read looks absent, too: creating never overwrites one, and tells.
fn is_absent(status: &Status) -> bool {
    status.has(codes::IO_ERROR)
        && status.has(codes::IO_OPEN)
        && matches!(status.system_error(), None | Some(NO_SUCH_FILE))
}

impl Place for Firebird {
    fn state(&self) -> Result<PlaceState> {
        Ok(self.look()?.0)
    }

    fn create(&self, mark: &str) -> Result<()> {
        let (api, name) = (self.api()?, &self.target.database);
        vacant(self.state()?, name, "name another database")?;
        let mut at = Attachment::create(api, name, &blocks::create(&self.target))
            .map_err(|status| status.setup(api, place::CREATE, name))?;
        let furnished = self.furnish(&mut at, mark);
        if furnished.is_err() {
            // The database is ours, so drop it; the first error is the one to report.
            let _ = at.drop_database();
        }
        furnished.map_err(set_up)
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let (state, at) = self.look()?;
        marked(state)?;
        let mut at = at.expect("a mark is only seen in a session");
        let text = mark.replace('\'', "''");
        // The row is what is read; the comment need only begin as one of dsbench's.
        let row = format!("UPDATE dsbench_mark SET mark = '{text}'");
        let comment = format!("COMMENT ON DATABASE IS '{MARK}{text}'");
        change(&mut at, &[&row, &comment]).map_err(set_up)
    }

    fn take_stock(&self) -> Result<()> {
        let (state, at) = self.look()?;
        marked(state)?;
        let mut at = at.expect("a mark is only seen in a session");
        if ask(&mut at, STOCK_TAKEN)?.rows.is_empty() {
            change(&mut at, &[&format!("CREATE TABLE {MADE} (name VARCHAR(200) NOT NULL)")]).map_err(set_up)?;
        }
        // Between the two there is no stock, and all of it is dsbench's.
        change(&mut at, &[&format!("DELETE FROM {MADE}"), &format!("INSERT INTO {MADE} {THERE}")]).map_err(set_up)
    }

    fn strangers(&self) -> Result<Vec<String>> {
        self.look()?.1.map_or(Ok(Vec::new()), |mut at| strangers(&mut at))
    }

    fn drop(&self) -> Result<()> {
        self.close_administration();
        let end = Instant::now() + PATIENCE;
        loop {
            let (state, at) = self.look()?;
            if !ours(state)? {
                return Ok(());
            }
            let mut at = at.expect("a mark is only seen in a session");
            alone(&self.target.database, &strangers(&mut at)?)?;
            let Err(at) = at.drop_database() else {
                self.forget_mark();
                return Ok(());
            };
            if !at.status.has(codes::IN_USE) || Instant::now() > end {
                return Err(at.status.setup(at.api, place::DROP, &self.target.database));
            }
            drop(at);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Pages of the file, times their size; Firebird has no log beside it.
    fn size_bytes(&self) -> Result<Option<u64>> {
        let (api, name) = (self.api()?, &self.target.database);
        let at = Attachment::open(api, name, &blocks::look(&self.target));
        at.map_err(|status| status.setup(api, "measure the place", name))?.sizes().map(|(_, bytes)| Some(bytes))
    }
}
