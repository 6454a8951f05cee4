//! The server's greeting and the client's answer: what both can, and who logs in.

use std::io;

use super::fields::{garbage, put_length, Fields};
use super::packet;

/// Capabilities of the protocol.
pub(super) mod capability {
    pub(crate) const MYSQL: u64 = 1;
    pub(crate) const FOUND_ROWS: u64 = 1 << 1;
    pub(crate) const LONG_FLAG: u64 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u64 = 1 << 3;
    pub(crate) const LOCAL_FILES: u64 = 1 << 7;
    pub(crate) const PROTOCOL_41: u64 = 1 << 9;
    pub(crate) const SSL: u64 = 1 << 11;
    pub(crate) const TRANSACTIONS: u64 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u64 = 1 << 15;
    pub(crate) const MULTI_STATEMENTS: u64 = 1 << 16;
    pub(crate) const MULTI_RESULTS: u64 = 1 << 17;
    pub(crate) const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u64 = 1 << 19;
    pub(crate) const CONNECT_ATTRS: u64 = 1 << 20;
    pub(crate) const PLUGIN_AUTH_LENENC_DATA: u64 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u64 = 1 << 24;
    /// MariaDB: columns of a prepared statement are described again only when they have changed.
    pub(crate) const CACHE_METADATA: u64 = 1 << 36;
}
use capability::*;

/// What dsbench cannot do without: servers since MySQL 5.7 and MariaDB 10.2 have it.
const NEEDED: u64 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF | MULTI_RESULTS;

/// What dsbench uses where the server has it. FOUND_ROWS: an update counts the rows that it finds,
/// also those that are already as they should be.
const WANTED: u64 = NEEDED
    | FOUND_ROWS
    | LONG_FLAG
    | LOCAL_FILES
    | TRANSACTIONS
    | MULTI_STATEMENTS
    | PS_MULTI_RESULTS
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC_DATA
    | CACHE_METADATA;

/// utf8mb4_general_ci, which every server knows.
const CHARACTER_SET: u8 = 45;

/// Longest packet that we take, as far as the server asks.
const LONGEST_PACKET: u32 = 1 << 30;

/// The first packet of a server.
#[derive(Debug)]
pub(super) struct Greeting {
    /// Number of the session.
    pub(super) session: u32,
    /// What the server can.
    pub(super) capabilities: u64,
    /// Random bytes of this login.
    pub(super) challenge: Vec<u8>,
    /// Method of login that the server proposes.
    pub(super) method: String,
}

impl Greeting {
    /// Reads the packet, which is no error.
    pub(super) fn read(content: &[u8]) -> io::Result<Self> {
        let mut fields = Fields(content);
        let protocol = fields.int8()?;
        if protocol != 10 {
            return Err(garbage(&format!("protocol version {protocol}, not 10")));
        }
        let version = String::from_utf8_lossy(fields.zero_ended()?);
        let session = fields.int32()?;
        let mut challenge = fields.bytes(8)?.to_vec();
        fields.int8()?;
        let lower = fields.int16()?;
        fields.bytes(3)?;
        let upper = fields.int16()?;
        let mut capabilities = u64::from(lower) | u64::from(upper) << 16;
        let length = usize::from(fields.int8()?);
        let reserved = fields.bytes(10)?;
        // MariaDB leaves the first capability out and puts its own where MySQL has zeros.
        if let (0, [.., a, b, c, d]) = (capabilities & MYSQL, reserved) {
            capabilities |= u64::from(u32::from_le_bytes([*a, *b, *c, *d])) << 32;
        }
        if capabilities & NEEDED != NEEDED {
            let message =
                format!("server version {version} is too old: dsbench needs MySQL 5.7, MariaDB 10.2 or newer");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        // The random bytes end with a zero.
        let second = fields.bytes(length.saturating_sub(8).max(13))?;
        challenge.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let method = String::from_utf8_lossy(fields.zero_ended().unwrap_or(fields.0)).into_owned();
        Ok(Self { session, capabilities, challenge, method })
    }

    /// What both sides can and dsbench wants.
    pub(super) fn agreed(&self, encrypted: bool, database: bool) -> u64 {
        let wanted = WANTED | if encrypted { SSL } else { 0 } | if database { CONNECT_WITH_DB } else { 0 };
        self.capabilities & (wanted | MYSQL)
    }
}

/// Who logs in where.
pub(super) struct Login<'a> {
    /// User name.
    pub(super) user: &'a str,
    /// Database of the session.
    pub(super) database: Option<&'a str>,
    /// Method of login.
    pub(super) method: &'a str,
    /// First answer of that method.
    pub(super) answer: Vec<u8>,
}

/// Refills `out` with the fixed beginning of the answer; alone it is the request for TLS.
pub(super) fn ask(out: &mut Vec<u8>, agreed: u64) {
    packet::open(out);
    out.extend_from_slice(&(agreed as u32).to_le_bytes());
    out.extend_from_slice(&LONGEST_PACKET.to_le_bytes());
    out.push(CHARACTER_SET);
    out.extend_from_slice(&[0; 19]);
    let own = if agreed & MYSQL == 0 { (agreed >> 32) as u32 } else { 0 };
    out.extend_from_slice(&own.to_le_bytes());
}

/// Refills `out` with the whole answer.
pub(super) fn answer(out: &mut Vec<u8>, agreed: u64, login: &Login<'_>) {
    ask(out, agreed);
    zero_ended(out, login.user);
    let secret = &login.answer[..];
    match agreed & PLUGIN_AUTH_LENENC_DATA {
        0 => out.push(secret.len() as u8),
        _ => put_length(out, secret.len()),
    }
    out.extend_from_slice(secret);
    if let (Some(database), true) = (login.database, agreed & CONNECT_WITH_DB != 0) {
        zero_ended(out, database);
    }
    zero_ended(out, login.method);
    if agreed & CONNECT_ATTRS != 0 {
        // What the server's administrator sees of us in performance_schema.
        let mut attributes = Vec::new();
        for text in ["program_name", "dsbench"] {
            put_length(&mut attributes, text.len());
            attributes.extend_from_slice(text.as_bytes());
        }
        put_length(out, attributes.len());
        out.extend_from_slice(&attributes);
    }
}

fn zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
