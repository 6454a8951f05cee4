//! Changes what a server said: single bytes, lengths, whole messages.

use dsbench_core::random::Stream;

/// How a protocol says how long a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A type, and four bytes of length that count themselves.
    Postgres,
    /// Three bytes of length, the lowest first, and a number.
    Mysql,
}

/// Bytes before the content of a message.
fn head(framing: Framing) -> usize {
    match framing {
        Framing::Postgres => 5,
        Framing::Mysql => 4,
    }
}

impl Framing {
    /// Cuts a session into its messages.
    pub fn messages(self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = bytes;
        let mut found = Vec::new();
        while !rest.is_empty() {
            let length = match self {
                Self::Postgres => 1 + u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize,
                Self::Mysql => 4 + u32::from_le_bytes([rest[0], rest[1], rest[2], 0]) as usize,
            };
            let (message, after) = rest.split_at(length);
            found.push(message.to_vec());
            rest = after;
        }
        found
    }

    /// Says the right length in a message whose content has changed.
    fn mend(self, message: &mut [u8]) {
        let length = message.len() - head(self);
        match self {
            Self::Postgres => message[1..5].copy_from_slice(&(length as u32 + 4).to_be_bytes()),
            Self::Mysql => message[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]),
        }
    }
}

/// Bytes that mean something to a parser.
const TELLING: &[u8] = &[0, 1, 2, 0x1b, b'\n', 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
/// Numbers at which lengths go wrong.
const EDGES: &[u64] = &[0, 1, 3, 0x7fff, 0x8000, 0xffff, 0xff_ffff, 0x3fff_ffff, 0x7fff_fffe, 0x7fff_ffff];

/// Changes `messages` once to three times; gives the number of the first that is not as it was.
pub fn change(messages: &mut Vec<Vec<u8>>, framing: Framing, random: &mut Stream) -> usize {
    let mut first = usize::MAX;
    for _ in 0..random.between(1, 3) {
        if messages.is_empty() {
            break;
        }
        let at = random.below(messages.len() as u64) as usize;
        first = first.min(at);
        once(messages, at, framing, random);
    }
    first
}

fn once(messages: &mut Vec<Vec<u8>>, at: usize, framing: Framing, random: &mut Stream) {
    let head = head(framing);
    let other = random.below(messages.len() as u64) as usize;
    let message = &mut messages[at];
    let place = random.below(message.len().max(1) as u64) as usize;
    match random.below(14) {
        0..=2 if !message.is_empty() => message[place] ^= 1 << random.below(8),
        3..=4 if !message.is_empty() => message[place] = TELLING[random.below(TELLING.len() as u64) as usize],
        5 if !message.is_empty() => message[place] = random.next_u64() as u8,
        6..=7 => number(&mut message[place..], random),
        // The connection ends here.
        8 => {
            message.truncate(place);
            messages.truncate(at + 1);
        }
        9 => drop(messages.remove(at)),
        10 => {
            let copy = messages[other].clone();
            messages.insert(at, copy);
        }
        // A content that is cut, and one that goes on, in messages that hang together.
        11 if message.len() > head => {
            message.truncate(head + random.below((message.len() - head) as u64) as usize);
            framing.mend(message);
        }
        12 if message.len() >= head => {
            let more = [1, 7, 100, 70_000][random.below(4) as usize];
            message.extend((0..more).map(|_| random.next_u64() as u8));
            framing.mend(message);
        }
        13 => {
            let copy = message.clone();
            let times = random.between(2, 300) as usize;
            messages.splice(at..at, std::iter::repeat_n(copy, times));
        }
        // The rest is noise.
        _ => {
            message.truncate(place);
            message.extend((0..random.below(500)).map(|_| random.next_u64() as u8));
            messages.truncate(at + 1);
        }
    }
}

/// Writes a number at which lengths go wrong, in one of the forms of both protocols.
fn number(place: &mut [u8], random: &mut Stream) {
    let value = match EDGES.get(random.below(EDGES.len() as u64 + 3) as usize) {
        Some(edge) => *edge,
        None => u64::MAX >> random.below(33),
    };
    let wide = random.below(3);
    let (big, little) = (value.to_be_bytes(), value.to_le_bytes());
    let bytes = match (wide, random.below(2)) {
        (0, 0) => &big[6..],
        (0, _) => &little[..2],
        (1, 0) => &big[4..],
        (1, _) => &little[..4],
        (_, 0) => &big[..],
        _ => &little[..],
    };
    let length = bytes.len().min(place.len());
    place[..length].copy_from_slice(&bytes[..length]);
}
