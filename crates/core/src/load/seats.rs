//! Seats: the clients that one thread serves, and how they share its connections.

use crate::engine::{Connection, Described, Prepare, Statement, StatementId, Texts};
use crate::error::Result;
use crate::value::{Rows, Table, Value};
use crate::workload::{Client, Drawn};

/// A simulated user at a thread: the client, and where it stands in its stream of transactions.
pub struct Seat<'a> {
    pub(crate) client: &'a mut dyn Client,
    number: u64,
    pub(crate) drawn: Drawn,
}

impl<'a> Seat<'a> {
    /// The seat of `client`, whose first transaction is number `first` of its stream.
    pub fn new(client: &'a mut dyn Client, first: u64) -> Self {
        let drawn = client.draw(first);
        Self { client, number: first, drawn }
    }

    /// Draws the inputs of the first transaction again: what a client has read while it prepared may
    /// change them.
    pub(crate) fn redraw(&mut self) {
        self.drawn = self.client.draw(self.number);
    }

    /// Draws the inputs of the next transaction: what is measured starts later.
    #[inline]
    pub(crate) fn draw_next(&mut self) -> Drawn {
        self.number += 1;
        self.drawn = self.client.draw(self.number);
        self.drawn
    }
}

/// Lets the clients of all seats but the first prepare on `conn`, where the first one has prepared
/// the same statements: they are given the same numbers, so that the connection holds each statement
/// once and not once for each seat. What else they do there, such as reading a constant, is done.
pub(crate) fn share_statements(seats: &mut [Seat<'_>], conn: &mut dyn Connection, when: Prepare) -> Result<()> {
    seats.iter_mut().skip(1).try_for_each(|seat| seat.client.prepare(&mut Prepared { conn, number: 0 }, when))
}

/// A connection on which all statements are prepared already, in order.
struct Prepared<'a> {
    conn: &'a mut dyn Connection,
    number: u32,
}

impl Connection for Prepared<'_> {
    fn prepare(&mut self, _statement: &Statement<'_>, _when: Prepare) -> Result<StatementId> {
        self.number += 1;
        Ok(StatementId(self.number - 1))
    }

    fn describe(&mut self, sql: &str) -> Result<Described> {
        self.conn.describe(sql)
    }

    fn begin(&mut self) -> Result<()> {
        self.conn.begin()
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.conn.execute(id, params)
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.conn.query(id, params, into)
    }

    fn commit(&mut self) -> Result<()> {
        self.conn.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.conn.rollback()
    }

    fn in_transaction(&mut self) -> bool {
        self.conn.in_transaction()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.conn.script(sql)
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.conn.fetch(sql)
    }

    fn texts(&mut self) -> Option<&mut dyn Texts> {
        self.conn.texts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{End, Shape};

    /// Draws kinds that tell their number.
    struct Counting;

    impl Client for Counting {
        fn prepare(&mut self, _conn: &mut dyn Connection, _when: Prepare) -> Result<()> {
            Ok(())
        }

        fn draw(&mut self, number: u64) -> Drawn {
            Drawn { kind: number as u8, shape: Shape::Single }
        }

        fn execute(&mut self, _conn: &mut dyn Connection) -> Result<End> {
            Ok(End::Commit)
        }

        fn describe(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn a_seat_goes_through_its_stream_from_where_it_enters() {
        let mut client = Counting;
        let mut seat = Seat::new(&mut client, 5);
        assert_eq!((seat.drawn.kind, seat.draw_next().kind, seat.draw_next().kind), (5, 6, 7));
    }
}
