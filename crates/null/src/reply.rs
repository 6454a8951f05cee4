//! The messages of a server, written to a buffer that is kept.

use crate::statement::Answer;

/// Type number of a four-byte integer, the type of every column.
const INT4: u32 = 23;

/// What follows the login: accepted, the parameters that clients ask for, a key, ready.
pub fn welcome(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&0_u32.to_be_bytes()));
    for (name, value) in [
        ("server_version", "15.0 (null)"),
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
    ] {
        message(out, b'S', |out| {
            for text in [name, value] {
                out.extend_from_slice(text.as_bytes());
                out.push(0);
            }
        });
    }
    message(out, b'K', |out| out.extend_from_slice(&[0; 8]));
    ready(out, b'I');
}

/// ReadyForQuery.
pub fn ready(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// A message without a body: ParseComplete `1`, BindComplete `2`, CloseComplete `3`, NoData `n` …
pub fn bare(out: &mut Vec<u8>, tag: u8) {
    out.extend_from_slice(&[tag, 0, 0, 0, 4]);
}

/// ParameterDescription of no parameters: clients that ask have declared theirs.
pub fn parameters(out: &mut Vec<u8>) {
    message(out, b't', |out| out.extend_from_slice(&[0, 0]));
}

/// RowDescription, or NoData where there are no rows.
pub fn description(out: &mut Vec<u8>, answer: &Answer, binary: bool) {
    if answer.columns == 0 {
        return bare(out, b'n');
    }
    message(out, b'T', |out| {
        out.extend_from_slice(&answer.columns.to_be_bytes());
        for _ in 0..answer.columns {
            // Name, table, column number; type, width, modifier; format.
            out.extend_from_slice(b"n\0\0\0\0\0\0\0");
            out.extend_from_slice(&INT4.to_be_bytes());
            out.extend_from_slice(&4_u16.to_be_bytes());
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            out.extend_from_slice(&u16::from(binary).to_be_bytes());
        }
    });
}

/// The row, if the statement returns one, and CommandComplete.
pub fn result(out: &mut Vec<u8>, answer: &Answer, binary: bool) {
    if answer.refused {
        let fields = b"SERROR\0VERROR\0C0A000\0Mthe null server keeps no data: it has no COPY\0\0";
        return message(out, b'E', |out| out.extend_from_slice(fields));
    }
    if answer.tag.is_empty() {
        return bare(out, b'I');
    }
    if answer.columns > 0 {
        message(out, b'D', |out| {
            out.extend_from_slice(&answer.columns.to_be_bytes());
            let one = if binary { &b"\0\0\0\x04\0\0\0\x01"[..] } else { &b"\0\0\0\x011"[..] };
            out.extend_from_slice(one);
            for _ in 1..answer.columns {
                out.extend_from_slice(&(-1_i32).to_be_bytes());
            }
        });
    }
    message(out, b'C', |out| out.extend_from_slice(&answer.tag));
}

fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - start) as u32).to_be_bytes();
    out[start..start + 4].copy_from_slice(&length);
}
