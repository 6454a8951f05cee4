//! One connection: a flight is one read and one write.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::rc::Rc;

use crate::reply;
use crate::statement::{Answer, Effect};

/// Longest message that is taken.
const LIMIT: usize = 1 << 20;

const PROTOCOL_3: u32 = 3 << 16;
const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// What is known of a session between its messages.
#[derive(Default)]
struct Session {
    statements: HashMap<Box<[u8]>, Rc<Answer>>,
    /// The statement that was bound last and whether its results are binary; clients bind one at a time.
    portal: Option<(Rc<Answer>, bool)>,
    in_transaction: bool,
}

/// Serves a connection until the client ends it. Errors: a broken connection, or a client that does
/// not speak the protocol.
pub fn serve(stream: &mut (impl Read + Write)) -> io::Result<()> {
    if !welcome(stream)? {
        return Ok(());
    }
    let mut session = Session::default();
    let (mut input, mut end) = (vec![0; 8192], 0);
    let mut output = Vec::with_capacity(512);
    loop {
        match stream.read(&mut input[end..])? {
            0 => return Ok(()),
            count => end += count,
        }
        let mut start = 0;
        while let Some((tag, length)) = header(&input[start..end])? {
            if end - start < 1 + length {
                break;
            }
            if tag == b'X' {
                return Ok(());
            }
            session.take(tag, &input[start + 5..start + 1 + length], &mut output)?;
            start += 1 + length;
        }
        if !output.is_empty() {
            stream.write_all(&output)?;
            output.clear();
        }
        input.copy_within(start..end, 0);
        end -= start;
        if end == input.len() {
            input.resize(end * 2, 0);
        }
    }
}

/// Startup: encryption is declined, everybody is let in. False for a request to cancel.
fn welcome(stream: &mut (impl Read + Write)) -> io::Result<bool> {
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head)?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, code) = (word(0) as usize, word(4));
        if !(8..=LIMIT).contains(&length) {
            return Err(garbage());
        }
        stream.read_exact(&mut vec![0; length - 8])?;
        match code {
            SSL | GSS => stream.write_all(b"N")?,
            PROTOCOL_3 => {
                let mut output = Vec::new();
                reply::welcome(&mut output);
                stream.write_all(&output)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
    }
}

/// Type and length of the message at the front, when as much is here.
fn header(bytes: &[u8]) -> io::Result<Option<(u8, usize)>> {
    let Some(&[tag, a, b, c, d]) = bytes.first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    match (4..=LIMIT).contains(&length) {
        true => Ok(Some((tag, length))),
        false => Err(garbage()),
    }
}

impl Session {
    fn take(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match tag {
            b'P' => self.parse(body, out)?,
            b'B' => self.bind(body, out)?,
            b'D' => self.describe(body, out)?,
            b'E' => {
                let (answer, binary) = self.portal.as_ref().ok_or_else(garbage)?;
                self.in_transaction = after(answer.effect, self.in_transaction);
                reply::result(out, answer, *binary);
            }
            b'S' => reply::ready(out, self.status()),
            b'Q' => {
                let sql = text(body)?.0;
                // dsbench sends its BEGIN in the text of the first statement.
                let sql = match sql.strip_prefix(b"BEGIN;") {
                    Some(rest) => {
                        self.in_transaction = true;
                        reply::result(out, &Answer::to(b"BEGIN"), false);
                        rest
                    }
                    None => sql,
                };
                let answer = Answer::to(sql);
                if answer.columns > 0 {
                    reply::description(out, &answer, false);
                }
                self.in_transaction = after(answer.effect, self.in_transaction);
                reply::result(out, &answer, false);
                reply::ready(out, self.status());
            }
            b'C' => reply::bare(out, b'3'),
            b'H' => {}
            _ => return Err(garbage()),
        }
        Ok(())
    }

    fn status(&self) -> u8 {
        if self.in_transaction {
            b'T'
        } else {
            b'I'
        }
    }

    fn parse(&mut self, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let (name, rest) = text(body)?;
        self.statements.insert(name.into(), Rc::new(Answer::to(text(rest)?.0)));
        reply::bare(out, b'1');
        Ok(())
    }

    fn bind(&mut self, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let (_portal, rest) = text(body)?;
        let (name, rest) = text(rest)?;
        let answer = self.statements.get(name).ok_or_else(garbage)?;
        self.portal = Some((Rc::clone(answer), binary_results(rest)?));
        reply::bare(out, b'2');
        Ok(())
    }

    fn describe(&mut self, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let (what, rest) = body.split_first().ok_or_else(garbage)?;
        if *what == b'S' {
            let answer = self.statements.get(text(rest)?.0).ok_or_else(garbage)?;
            reply::parameters(out);
            reply::description(out, answer, false);
        } else {
            let (answer, binary) = self.portal.as_ref().ok_or_else(garbage)?;
            reply::description(out, answer, *binary);
        }
        Ok(())
    }
}

fn after(effect: Effect, in_transaction: bool) -> bool {
    match effect {
        Effect::None => in_transaction,
        Effect::Begin => true,
        Effect::End => false,
    }
}

/// A text up to its zero byte, and what follows it.
fn text(bytes: &[u8]) -> io::Result<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or_else(garbage)?;
    Ok((&bytes[..end], &bytes[end + 1..]))
}

/// Whether the first format of a Bind's results is binary; `rest` follows the names.
fn binary_results(rest: &[u8]) -> io::Result<bool> {
    let (formats, mut rest) = int16(rest)?;
    rest = rest.get(2 * formats..).ok_or_else(garbage)?;
    let (values, mut rest) = int16(rest)?;
    for _ in 0..values {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(garbage)?;
        // A length of -1 is NULL and has no bytes.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        rest = after.get(length..).ok_or_else(garbage)?;
    }
    let (formats, rest) = int16(rest)?;
    Ok(formats > 0 && int16(rest)?.0 == 1)
}

fn int16(bytes: &[u8]) -> io::Result<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>().ok_or_else(garbage)?;
    Ok((u16::from_be_bytes(*number).into(), rest))
}

#[cold]
fn garbage() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the client does not speak PostgreSQL's protocol")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsbench_core::random::Stream;

    fn answers(flight: &[u8]) -> io::Result<Vec<u8>> {
        let (mut session, mut out) = (Session::default(), Vec::new());
        let mut rest = flight;
        while let Some((tag, length)) = header(rest)? {
            let body = rest.get(5..1 + length).ok_or_else(garbage)?;
            session.take(tag, body, &mut out)?;
            rest = &rest[1 + length..];
        }
        Ok(out)
    }

    /// A client that sends these bytes, some at a time, and leaves.
    struct Client<'a>(&'a [u8], usize);

    impl Read for Client<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let here = self.0.len().min(self.1);
            (&self.0[..here]).read(buffer).inspect(|count| self.0 = &self.0[*count..])
        }
    }

    impl Write for Client<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// `DSBENCH_FUZZ_INPUTS` and `DSBENCH_FUZZ_SEED` try more than the sample.
    #[test]
    fn damaged_sessions_end_in_words() {
        let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let (inputs, seed) = (set("DSBENCH_FUZZ_INPUTS").unwrap_or(5_000), set("DSBENCH_FUZZ_SEED").unwrap_or(1));
        let begin = b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x10\0\x03\0\0user\0u\0\0";
        let query = b"Q\0\0\0\x20select f(a, 'b,'), c from t\0";
        let session = [&begin[..], FLIGHT, query, b"D\0\0\0\x07Ss\0D\0\0\0\x06P\0C\0\0\0\x07Ss\0X\0\0\0\x04"].concat();
        assert!(serve(&mut Client(&session, 7)).is_ok());
        let mut refused = 0;
        for input in 0..inputs {
            let mut random = Stream::new(seed, 2, input);
            let mut damaged = session.clone();
            for _ in 0..random.between(1, 4) {
                let at = random.below(damaged.len() as u64) as usize;
                match random.below(5) {
                    0 => damaged[at] ^= 1 << random.below(8),
                    1 => damaged[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
                    2 => drop(damaged.drain(at..(at + 5).min(damaged.len() - 1))),
                    3 => damaged.extend_from_within(at..),
                    _ => damaged.truncate(at.max(1)),
                }
            }
            refused += u64::from(serve(&mut Client(&damaged, random.between(1, 300) as usize)).is_err());
        }
        println!("null: {inputs} inputs, {} accepted, {refused} refused, 0 findings", inputs - refused);
        assert!(refused > inputs / 10);
    }

    const FLIGHT: &[u8] = b"P\0\0\0\x12s\0SELECT $1\0\0\0\
        B\0\0\0\x19\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

    #[test]
    fn a_flight_is_answered_byte_for_byte() {
        let expected = b"1\0\0\0\x042\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x01C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        assert_eq!(answers(FLIGHT).unwrap(), expected);
    }

    #[test]
    fn the_status_follows_begin_and_commit() {
        let out = answers(b"Q\0\0\0\x0aBEGIN\0Q\0\0\0\x0bCOMMIT\0").unwrap();
        let statuses: Vec<u8> = out.windows(5).filter(|w| w.starts_with(b"\0\0\0\x05")).map(|w| w[4]).collect();
        assert_eq!(statuses, b"TI");
    }

    #[test]
    fn damaged_flights_are_errors_or_nothing() {
        for at in 0..FLIGHT.len() {
            for wrong in [0, 1, 0x7f, 0xff] {
                let mut flight = FLIGHT.to_vec();
                flight[at] = wrong;
                let _ = answers(&flight);
                let _ = answers(&flight[..at]);
            }
        }
        assert!(answers(b"B\0\0\0\x0b\0s\0\0\0\0\0").is_err(), "a statement that was not parsed");
    }
}
