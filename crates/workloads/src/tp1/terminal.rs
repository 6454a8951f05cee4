//! A teller's terminal in block mode, as the specification of TP1 assumes it: a message of 100 bytes in ten fields comes
//! in, the transaction runs on what it says, and an answer of 100 bytes goes out once it is committed. A pair of local
//! sockets stands for the line; both of its ends are in the thread of the client, so that neither ever waits.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use dsbench_core::engine::{Connection, Prepare};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::workload::{Client, Drawn, End};

use crate::tpcb::client::{Inputs, TpcbClient};

/// Bytes of a message and of its answer.
pub const BLOCK: usize = 100;

/// Widths of the fields of a message: kind, terminal, number, branch, teller, account, amount, currency, day, remark.
const FIELDS: [usize; 10] = [4, 10, 12, 10, 10, 14, 10, 3, 8, 19];
/// The fields that are numbers, and where each begins.
const TERMINAL: (usize, usize) = (4, FIELDS[1]);
const NUMBER: (usize, usize) = (14, FIELDS[2]);
const BRANCH: (usize, usize) = (26, FIELDS[3]);
const TELLER: (usize, usize) = (36, FIELDS[4]);
const ACCOUNT: (usize, usize) = (46, FIELDS[5]);
const AMOUNT: (usize, usize) = (60, FIELDS[6]);
/// In an answer: the account's new balance.
const BALANCE: (usize, usize) = (40, 20);

const MESSAGE: &[u8; BLOCK] =
    b"TP1                                                                   AUD19871101deposit at the till";
const ANSWER: &[u8; BLOCK] =
    b"TP1R                                                        thank you                               ";

/// The two ends of the line of a terminal.
struct Line {
    terminal: UnixStream,
    host: UnixStream,
}

/// A client of the bank at a terminal.
pub struct AtTerminal {
    client: TpcbClient,
    line: Option<Line>,
    id: i64,
    number: i64,
    entered: bool,
    lost: Option<Error>,
}

impl AtTerminal {
    /// Puts `client`, number `id`, at a terminal, which it connects to when it prepares.
    pub fn new(client: TpcbClient, id: u64) -> Self {
        Self { client, line: None, id: id as i64, number: 0, entered: false, lost: None }
    }

    /// The terminal sends what was keyed in, and the host reads it: the inputs are those of the message from here on.
    fn enter(&mut self) -> Result<()> {
        let mut block = *MESSAGE;
        let Inputs { bid, tid, aid, delta, remote } = self.client.inputs;
        for (field, value) in
            [(TERMINAL, self.id), (NUMBER, self.number), (BRANCH, bid), (TELLER, tid), (ACCOUNT, aid), (AMOUNT, delta)]
        {
            put(&mut block, field, value)?;
        }
        self.line.as_mut().ok_or_else(unconnected)?.send_to_host(&mut block)?;
        self.client.inputs = Inputs {
            bid: read(&block, BRANCH)?,
            tid: read(&block, TELLER)?,
            aid: read(&block, ACCOUNT)?,
            delta: read(&block, AMOUNT)?,
            remote,
        };
        self.entered = true;
        Ok(())
    }

    /// The host answers, and the terminal sees that the answer is that to its message.
    fn answer(&mut self) -> Result<()> {
        let mut block = *ANSWER;
        put(&mut block, TERMINAL, self.id)?;
        put(&mut block, NUMBER, self.number)?;
        put(&mut block, BALANCE, self.client.balance)?;
        self.line.as_mut().ok_or_else(unconnected)?.send_to_terminal(&mut block)?;
        match (read(&block, TERMINAL)?, read(&block, NUMBER)?) {
            (id, number) if (id, number) == (self.id, self.number) => Ok(()),
            _ => Err(Error::with(ErrorKind::Statement, "terminal", "the answer is that to another message")),
        }
    }
}

impl Client for AtTerminal {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        if self.line.is_none() {
            self.line = Some(Line::new()?);
        }
        self.client.prepare(conn, when)
    }

    fn draw(&mut self, number: u64) -> Drawn {
        (self.number, self.entered) = (number as i64, false);
        self.client.draw(number)
    }

    /// A retry does not ask the terminal again.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        if !self.entered {
            self.enter()?;
        }
        self.client.execute(conn)
    }

    fn committed(&mut self) {
        self.client.committed();
        self.lost = self.answer().err();
    }

    fn describe(&self) -> String {
        self.client.describe()
    }

    fn sums(&self) -> Vec<(&'static str, i64)> {
        self.client.sums()
    }
}

impl Line {
    fn new() -> Result<Self> {
        let (terminal, host) = UnixStream::pair().map_err(broken)?;
        for end in [&terminal, &host] {
            end.set_nonblocking(true).map_err(broken)?;
        }
        Ok(Self { terminal, host })
    }

    /// Sends a block and reads it at the other end.
    fn send_to_host(&mut self, block: &mut [u8; BLOCK]) -> Result<()> {
        self.terminal.write_all(block).and_then(|()| self.host.read_exact(block)).map_err(broken)
    }

    /// The same in the other direction.
    fn send_to_terminal(&mut self, block: &mut [u8; BLOCK]) -> Result<()> {
        self.host.write_all(block).and_then(|()| self.terminal.read_exact(block)).map_err(broken)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn broken(error: std::io::Error) -> Error {
    Error::with(ErrorKind::Setup, "terminal", format!("the line of a terminal: {error}"))
}

fn unconnected() -> Error {
    Error::with(ErrorKind::Statement, "execute", "the client was not prepared")
}

/// Writes a number right-aligned into a field, with zeros before it and its sign first.
fn put(block: &mut [u8; BLOCK], (at, width): (usize, usize), value: i64) -> Result<()> {
    let field = &mut block[at..at + width];
    let mut left = value.unsigned_abs();
    for digit in field[1..].iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    field[0] = if value < 0 { b'-' } else { b'+' };
    match left {
        0 => Ok(()),
        _ => Err(Error::with(ErrorKind::Statement, "terminal", "a number is too long for its field")),
    }
}

/// The number in a field.
fn read(block: &[u8; BLOCK], (at, width): (usize, usize)) -> Result<i64> {
    let field = &block[at..at + width];
    let wrong = || Error::with(ErrorKind::Statement, "terminal", "a field of a message holds no number");
    let size = field[1..].iter().try_fold(0_i64, |sum, digit| match digit {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')),
        _ => None,
    });
    match (field[0], size) {
        (b'-', Some(size)) => Ok(-size),
        (b'+', Some(size)) => Ok(size),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_fields_fill_a_block() {
        assert_eq!(FIELDS.iter().sum::<usize>(), BLOCK);
        let begins = |n: usize| FIELDS[..n].iter().sum::<usize>();
        let places = [TERMINAL, NUMBER, BRANCH, TELLER, ACCOUNT, AMOUNT].map(|(at, _)| at);
        assert_eq!(places, [1, 2, 3, 4, 5, 6].map(begins));
    }

    #[test]
    fn a_number_survives_its_field_or_is_refused() {
        let mut block = *MESSAGE;
        for value in [0, 7, -999_999, 999_999_999, -999_999_999] {
            put(&mut block, AMOUNT, value).unwrap();
            assert_eq!(read(&block, AMOUNT).unwrap(), value);
        }
        assert_eq!(&block[60..73], b"-999999999AUD");
        assert!(put(&mut block, AMOUNT, 1_000_000_000).is_err());
        block[65] = b'x';
        assert!(read(&block, AMOUNT).is_err());
    }
}
