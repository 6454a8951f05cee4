//! What clients noted.

/// What a transaction did to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// It appended an item that nobody else appends.
    Append {
        /// Number of the list.
        list: u32,
        /// Number of the item.
        item: u32,
    },
    /// It read the list.
    Read {
        /// Number of the list.
        list: u32,
        /// Its items, in order.
        found: Box<[u32]>,
    },
}

/// How a transaction ended, as its client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its commit was acknowledged.
    Committed,
    /// It was rolled back, or its connection was lost before its commit was sent.
    Aborted,
    /// Its connection was lost before its commit was acknowledged.
    Unknown,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// What it did, in order, as far as it came.
    pub ops: Vec<Op>,
    /// When it was asked for.
    pub begun_ns: u64,
    /// When its end was known.
    pub ended_ns: u64,
    /// How it ended.
    pub end: End,
}

/// All attempts, and what the lists held after them.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// In no order. Items are numbered densely from 0.
    pub transactions: Vec<Transaction>,
    /// By list: its items once all clients had ended. Lists that nobody touched may be missing.
    pub last: Vec<(u32, Vec<u32>)>,
}
