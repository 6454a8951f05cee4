//! A null PostgreSQL: it speaks enough of the protocol (version 3.0) that dsbench, pgbench and
//! sysbench take it for a server, and answers every statement at once. What a client reaches against
//! it is the client's own ceiling, with its system calls and without a database.
//!
//! A SELECT gives one row: 1 in the first column, NULL in the others. INSERT, UPDATE and DELETE say
//! that one row was changed. Nothing is parsed beyond the first word and the commas of a select list,
//! nothing is kept, no password is asked for. `server` listens, `session` reads and writes, by `polled` on a unix socket,
//! `reply` knows the messages, `statement` decides what a statement is answered.

#[cfg(unix)]
mod polled;
mod reply;
mod server;
mod session;
mod statement;

pub use server::{Address, Server};
