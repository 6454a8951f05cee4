//! Streams of queries. What a stream asks at a place is a function of its number and the place alone.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare};
use dsbench_core::error::Result;
use dsbench_core::workload::{Client, ClientId, Drawn, End, Shape};

use super::entry::QUERIES;
use crate::tpcc::deck;
use crate::tpch::parameters::ORDERS;

/// The texts of all queries, in their order, and how they are sent.
#[derive(Debug)]
pub struct Texts {
    /// By number of the query, from 0.
    pub all: Vec<String>,
    /// See [`Shape`].
    pub shape: Shape,
}

/// A session that asks one query after another, in the orders of TPC-H's streams.
pub struct Analyst {
    texts: Arc<Texts>,
    id: u64,
    query: usize,
}

impl Analyst {
    /// Client `who`.
    pub fn new(texts: Arc<Texts>, who: ClientId) -> Self {
        Self { texts, id: who.id, query: 0 }
    }
}

impl Client for Analyst {
    fn prepare(&mut self, _conn: &mut dyn Connection, _when: Prepare) -> Result<()> {
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let (set, place) = (number / QUERIES as u64, (number % QUERIES as u64) as usize);
        let order = &ORDERS[((self.id + set + 1) % ORDERS.len() as u64) as usize];
        self.query = usize::from(order[place]) - 1;
        Drawn { kind: (deck::KINDS + self.query) as u8, shape: self.texts.shape }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        conn.fetch(&self.texts.all[self.query]).map(|_| End::Commit)
    }

    fn describe(&self) -> String {
        self.texts.all[self.query].clone()
    }
}
