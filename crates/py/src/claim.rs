//! A lock of the server's that ends with the session which has it: who has it, and how its own lost session is ended.

use dsbench_core::engine::Connection;
use dsbench_core::error::Result;
use dsbench_core::value::Table;

/// The queries of a lock, in the words of its server.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Takes it: "t" where it was free, and the name of the asking session: among all that the server ever had.
    pub take: String,
    /// Who has it: the name of the session, its number, and where it comes from.
    pub holder: String,
    /// Ends the session whose `{name}` and `{number}` this holds.
    pub end: String,
}

/// A session that has the lock. What the server does not show is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    name: String,
    /// By which the server knows it.
    pub number: String,
    /// Address and port of its client.
    pub origin: String,
}

/// What came of an attempt to take the lock.
#[derive(Debug)]
pub enum Attempt {
    /// It was free: the name of the session that has it now.
    Taken(String),
    /// Another session has it.
    Held(Holder),
}

impl Claim {
    /// Tries to take the lock in `connection`.
    pub fn attempt(&self, connection: &mut dyn Connection) -> Result<Attempt> {
        let taken = connection.fetch(&self.take)?;
        if cell(&taken, 0) == "t" {
            return Ok(Attempt::Taken(cell(&taken, 1)));
        }
        let holder = connection.fetch(&self.holder)?;
        let [name, number, origin] = [0, 1, 2].map(|at| cell(&holder, at));
        Ok(Attempt::Held(Holder { name, number, origin }))
    }

    /// Ends `holder`, as far as the user may. Whether it helped, the next attempt shows.
    pub fn end(&self, holder: &Holder, connection: &mut dyn Connection) {
        let end = self.end.replace("{name}", &holder.name).replace("{number}", &holder.number);
        let _ = connection.fetch(&end);
    }
}

impl Holder {
    /// Whether it is the session of this name.
    pub fn is(&self, name: &str) -> bool {
        !name.is_empty() && self.name == name
    }

    /// Its number and origin, as far as they are known.
    pub fn words(&self) -> String {
        match (self.number.as_str(), self.origin.as_str()) {
            ("", _) => "a session that is not shown".into(),
            (number, "") => format!("session {number}"),
            (number, origin) => format!("session {number} from {origin}"),
        }
    }
}

/// A cell of the only row; empty where there is none.
fn cell(table: &Table, at: usize) -> String {
    table.rows.first().and_then(|row| row.get(at)?.clone()).unwrap_or_default()
}
