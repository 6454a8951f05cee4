//! The one table from SQLSTATE to the kinds of error that every engine shares.

use dsbench_core::error::ErrorKind;

/// Prefix of a SQLSTATE and the kind it stands for; the first entry that fits counts.
const KINDS: &[(&str, ErrorKind)] = &[
    ("40001", ErrorKind::Serialization),
    ("40P01", ErrorKind::Deadlock),
    ("40003", ErrorKind::Unknown),
    // lock_not_available: NOWAIT or lock_timeout.
    ("55P03", ErrorKind::Busy),
    ("23505", ErrorKind::DuplicateKey),
    // An error of this code that leaves the session alive is about one statement: wrong number of parameters.
    ("08P01", ErrorKind::Statement),
    ("08", ErrorKind::Disconnected),
    // query_canceled: by statement_timeout, or on request.
    ("57014", ErrorKind::Timeout),
    // admin, crash and idle shutdown, cannot_connect_now, database_dropped.
    ("57P", ErrorKind::Disconnected),
    ("25P03", ErrorKind::Disconnected),
    // Login, database, number of connections, rights, schema: what must be right before a run.
    ("28", ErrorKind::Setup),
    ("3D000", ErrorKind::Setup),
    ("3F000", ErrorKind::Setup),
    ("53300", ErrorKind::Setup),
    ("42501", ErrorKind::Setup),
    // Objects that are there already, or clash: the statement was understood.
    ("42P03", ErrorKind::Statement),
    ("42P04", ErrorKind::Statement),
    ("42P05", ErrorKind::Statement),
    ("42P06", ErrorKind::Statement),
    ("42P07", ErrorKind::Statement),
    ("42701", ErrorKind::Statement),
    ("42710", ErrorKind::Statement),
    ("42712", ErrorKind::Statement),
    ("42723", ErrorKind::Statement),
    ("42830", ErrorKind::Statement),
    ("42939", ErrorKind::Statement),
    ("42", ErrorKind::Syntax),
];

/// read_only_sql_transaction: a standby, or a server whose sessions take no writes.
pub const READ_ONLY: &str = "25006";

/// The kind of the error with SQLSTATE `code`; whatever is not in the table is `Statement`.
pub fn kind(code: &[u8]) -> ErrorKind {
    KINDS.iter().find(|(prefix, _)| code.starts_with(prefix.as_bytes())).map_or(ErrorKind::Statement, |(_, kind)| *kind)
}

/// What the user can do about the error with SQLSTATE `code`, where that is not plain from the words of the server.
pub fn remedy(code: &[u8]) -> Option<&'static str> {
    Some(match code {
        b"25006" => {
            "name the primary, or allow writes for this user (default_transaction_read_only); on a copy: --existing \
             with --builtin select-only"
        }
        b"53300" => {
            "use fewer --clients, or raise the limit that is reached (max_connections of the server or the pooler, \
             CONNECTION LIMIT of the role or the database)"
        }
        b"53100" => "make room on the disk of the server, or use a smaller scale",
        b"3D000" => "create the database, or name one that exists at the end of the target",
        b"28000" => "let the user in by pg_hba.conf of the server, or name another user in the target",
        b"28P01" => "give the password by PGPASSWORD or ~/.pgpass",
        b"42501" => {
            "grant the user the right that is missing (GRANT … ON … TO …; for dsbench's own schema GRANT CREATE ON \
             DATABASE), or name a user who has it"
        }
        b"55P03" => "end the session that holds the lock, or raise lock_timeout of the user",
        b"57014" => "raise the statement timeout of the user, then start the run again",
        b"57P03" => "wait until the server has started",
        b"3F000" => "populate first: the schema of dsbench is missing",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_kinds_that_the_loop_relies_on() {
        for (code, expected) in [
            ("40001", ErrorKind::Serialization),
            ("40P01", ErrorKind::Deadlock),
            ("55P03", ErrorKind::Busy),
            ("23505", ErrorKind::DuplicateKey),
            ("23503", ErrorKind::Statement),
            ("42601", ErrorKind::Syntax),
            ("42P01", ErrorKind::Syntax),
            ("42P07", ErrorKind::Statement),
            ("42501", ErrorKind::Setup),
            ("57P01", ErrorKind::Disconnected),
            ("57014", ErrorKind::Timeout),
            ("08006", ErrorKind::Disconnected),
            ("08P01", ErrorKind::Statement),
            ("28P01", ErrorKind::Setup),
            ("53300", ErrorKind::Setup),
            ("53100", ErrorKind::Statement),
            ("XX000", ErrorKind::Statement),
            ("", ErrorKind::Statement),
        ] {
            assert_eq!(kind(code.as_bytes()), expected, "{code}");
        }
    }

    #[test]
    fn remedies_fit_all_that_a_code_stands_for() {
        // "too many connections for role", "permission denied for table".
        assert!(remedy(b"53300").unwrap().contains("CONNECTION LIMIT of the role"));
        assert!(remedy(b"42501").unwrap().starts_with("grant the user the right that is missing"));
    }
}
