//! The one table from Firebird's codes (gds codes, `iberror.h`) to dsbench's error kinds.
//!
//! An error is a list of codes, from the general to the particular, and the first of them often says
//! little: a row that another transaction changed comes as `deadlock`, `update conflicts with
//! concurrent update`, `concurrent transaction number is …`, with wait and without. So the table is
//! searched from the top, and the first of its codes that is anywhere in the list decides.

use dsbench_core::error::ErrorKind;

/// `isc_io_error`: the file cannot be opened, created, read …
pub(super) const IO_ERROR: i32 = 335_544_344;
/// `isc_io_open_err`: … namely opened. It is not there, or the server may not read it.
pub(super) const IO_OPEN: i32 = 335_544_734;
/// `isc_bad_db_format`: the file is no database.
pub(super) const BAD_FORMAT: i32 = 335_544_323;
/// `isc_obj_in_use`: others work with the database, or with the table.
pub(super) const IN_USE: i32 = 335_544_453;
/// `isc_login`: name or password is wrong.
pub(super) const LOGIN: i32 = 335_544_472;
/// `isc_no_priv`: the user lacks a right.
const NO_PRIVILEGE: i32 = 335_544_352;
/// `isc_unavailable`: no provider for the database; the library has no engine beside it.
pub(super) const UNAVAILABLE: i32 = 335_544_375;
/// `isc_read_only_trans`: something is to be changed in a transaction that only reads.
pub(super) const READ_ONLY: i32 = 335_544_361;
/// `isc_already_opened`: another process has the file for itself.
pub(super) const ALREADY_OPENED: i32 = 335_545_107;
/// `isc_network_error`: the server does not answer.
pub(super) const NETWORK: i32 = 335_544_721;
/// `isc_connect_reject`: what answers, or keeps silent, is no Firebird.
pub(super) const REJECTED: i32 = 335_544_421;
/// `isc_miss_wirecrypt`: the server asks for encryption that the client refuses.
pub(super) const NO_ENCRYPTION: i32 = 335_545_065;

const KINDS: &[(i32, ErrorKind)] = &[
    (335_544_721, ErrorKind::Disconnected), // network_error
    (335_544_726, ErrorKind::Disconnected), // net_read_err
    (335_544_727, ErrorKind::Disconnected), // net_write_err
    (335_544_648, ErrorKind::Disconnected), // conn_lost
    (335_544_741, ErrorKind::Disconnected), // lost_db_connection
    (335_544_856, ErrorKind::Disconnected), // att_shutdown: killed, cancelled or shut down with the server
    (335_544_528, ErrorKind::Disconnected), // shutdown: the database is closed
    (335_544_506, ErrorKind::Disconnected), // shutinprog
    (335_544_971, ErrorKind::Disconnected), // net_server_shutdown
    (335_544_324, ErrorKind::Disconnected), // bad_db_handle: the attachment is gone
    (335_544_665, ErrorKind::DuplicateKey), // unique_key_violation
    (335_544_349, ErrorKind::DuplicateKey), // no_dup: a unique index without a constraint
    (335_544_794, ErrorKind::Timeout),      // cancelled: by a limit of the statement or of the session, or on request
    (335_544_510, ErrorKind::Busy),         // lock_timeout
    (335_544_451, ErrorKind::Conflict),     // update_conflict: another one changed the row, committed or not
    (335_544_345, ErrorKind::Conflict),     // lock_conflict: another one holds the table
    (335_545_096, ErrorKind::Conflict),     // read_conflict
    (335_544_336, ErrorKind::Deadlock),     // deadlock, and nothing of the above
    (335_544_634, ErrorKind::Syntax),       // dsql_token_unk_err
    (335_544_608, ErrorKind::Syntax),       // command_end_err
    (335_544_851, ErrorKind::Syntax),       // command_end_err2
    (335_544_570, ErrorKind::Syntax),       // dsql_command_err
    (335_544_578, ErrorKind::Syntax),       // dsql_field_err: no such column
    (335_544_580, ErrorKind::Syntax),       // dsql_relation_err
    (335_544_581, ErrorKind::Syntax),       // dsql_procedure_err
    (335_544_586, ErrorKind::Syntax),       // dsql_function_err
    (335_544_472, ErrorKind::Setup),        // login
    (NO_PRIVILEGE, ErrorKind::Setup),
    (335_544_375, ErrorKind::Setup), // unavailable
    (READ_ONLY, ErrorKind::Statement),
];

/// The code that decides and its kind; the first code, and `Statement`, when none is in the table.
pub(super) fn judge(codes: &[i32]) -> (i32, ErrorKind) {
    let found = KINDS.iter().find(|(code, _)| codes.contains(code));
    found.copied().unwrap_or((codes.first().copied().unwrap_or(0), ErrorKind::Statement))
}

/// What the user can do about a right that is missing, in whatever step.
pub(super) fn missing_right(code: i32) -> Option<&'static str> {
    (code == NO_PRIVILEGE).then_some(
        "grant the user the right that is missing (for a new database: GRANT CREATE DATABASE TO USER …), or name a user who \
         has it",
    )
}

/// What the user can do where a connection could not be set up, and the words of the code do not say it.
pub(super) fn remedy(code: i32) -> Option<&'static str> {
    Some(match code {
        NETWORK => "start the server, or name its host and port: firebird://host:3050/…",
        LOGIN => "name user and password in the target, or set ISC_USER and ISC_PASSWORD",
        UNAVAILABLE => {
            "a file of this machine needs the engine beside the client library: apt install firebird3.0-server-core, \
             pip install firebird-embedded, or name a server: firebird://host/…"
        }
        ALREADY_OPENED => "end the other process, or name a server that has the file: firebird://host/…",
        IO_ERROR => {
            "the server's user must be able to read and write the file and its folder, and its DatabaseAccess allow it"
        }
        BAD_FORMAT => "name another file",
        IN_USE => "end the other sessions: select mon$attachment_id, mon$user from mon$attachments",
        NO_ENCRYPTION => "leave wire_crypt=disabled out of the target, or set WireCrypt = Enabled in firebird.conf",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_cause_decides_wherever_it_stands() {
        // Lists as Firebird 3.0 and 5.0 gave them.
        let table: &[(&[i32], i32, ErrorKind)] = &[
            (&[335_544_336, 335_544_451, 335_544_878], 335_544_451, ErrorKind::Conflict),
            (&[335_544_336, 335_544_878], 335_544_336, ErrorKind::Deadlock),
            (&[335_544_345, 335_544_382], 335_544_345, ErrorKind::Conflict),
            (&[335_544_510, 335_544_382], 335_544_510, ErrorKind::Busy),
            (&[335_544_665, 335_545_072], 335_544_665, ErrorKind::DuplicateKey),
            (&[335_544_569, 335_544_436, 335_544_634], 335_544_634, ErrorKind::Syntax),
            (&[335_544_569, 335_544_436, 335_544_580, 335_544_382], 335_544_580, ErrorKind::Syntax),
            (&[335_544_351, 336_397_286, 336_068_740], 335_544_351, ErrorKind::Statement),
            (&[335_544_721, 335_544_722], 335_544_721, ErrorKind::Disconnected),
            (&[], 0, ErrorKind::Statement),
        ];
        for (codes, code, kind) in table {
            assert_eq!(judge(codes), (*code, *kind), "{codes:?}");
        }
    }

    #[test]
    fn no_code_stands_twice() {
        for (at, (code, _)) in KINDS.iter().enumerate() {
            assert!(!KINDS[..at].iter().any(|(seen, _)| seen == code), "{code}");
        }
    }
}
