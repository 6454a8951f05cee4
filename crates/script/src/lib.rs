//! pgbench's script language, as the documentation of PostgreSQL 18 defines it.
//!
//! [`Scripts::parse`] turns files into commands: SQL cut at its variables, and meta commands whose expressions are
//! compact programs. A [`Memory`] holds the variables of one client; evaluating a program in it allocates nothing.
//! The crate knows neither databases nor clocks: whoever runs the commands does.
//!
//! `split` cuts SQL as psql does and gives its first words, `words` the arguments of meta commands, `token` and
//! `expression` read an expression, `program` evaluates it, `function`, `random` and `value` are what it is made of.

mod command;
mod error;
mod expression;
mod function;
mod kinds;
mod memory;
mod names;
mod parse;
mod program;
mod random;
mod reader;
mod split;
mod token;
mod value;
mod words;

pub use command::{Action, Command, Part, Pause, Script, Store, Unit};
pub use error::{Error, Wrong};
pub use kinds::Kinds;
pub use memory::{Memory, Parameter, Slot};
pub use names::meant;
pub use parse::{Scripts, Source};
pub use program::Program;
pub use random::Random;
pub use value::Value;
