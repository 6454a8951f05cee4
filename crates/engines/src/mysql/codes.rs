//! The one table from error numbers to the kinds of error that every engine shares. MariaDB and
//! MySQL agree in the numbers up to 1880; above, each has its own.

use dsbench_core::error::ErrorKind;

use ErrorKind::{Busy, Deadlock, Disconnected, DuplicateKey, Serialization, Setup, Statement, Syntax, Timeout};

/// Error numbers in rising order and the kinds they stand for.
const KINDS: &[(u16, ErrorKind)] = &[
    // A row was changed since it was read: InnoDB with innodb_snapshot_isolation, Aria, MyISAM.
    (1020, Serialization),
    (1022, DuplicateKey),
    // Connecting: too many connections, the database, the login, the host, threads.
    (1040, Setup),
    (1044, Setup),
    (1045, Setup),
    // A node of Galera outside of its cluster: another one may answer.
    (1047, Disconnected),
    (1049, Setup),
    // Shutdown in progress.
    (1053, Disconnected),
    // Unknown column.
    (1054, Syntax),
    (1062, DuplicateKey),
    (1064, Syntax),
    // Empty query.
    (1065, Syntax),
    (1077, Disconnected),
    (1078, Disconnected),
    (1079, Disconnected),
    (1109, Syntax),
    (1129, Setup),
    (1130, Setup),
    (1135, Setup),
    // Rights on a table, a column.
    (1142, Setup),
    (1143, Setup),
    // No such table.
    (1146, Syntax),
    // LOAD DATA LOCAL is not allowed (before MySQL 8 and MariaDB 10.5).
    (1148, Setup),
    (1152, Disconnected),
    // Packets: too long, lost, out of order, cut short by time. The server closes the connection.
    (1153, Disconnected),
    (1158, Disconnected),
    (1159, Disconnected),
    (1160, Disconnected),
    (1161, Disconnected),
    (1169, DuplicateKey),
    (1184, Disconnected),
    (1203, Setup),
    // Lock wait timeout: the statement is rolled back, its transaction not.
    (1205, Busy),
    // MyRocks also says 1213 when another transaction changed the row after the snapshot.
    (1213, Deadlock),
    (1226, Setup),
    (1227, Setup),
    // Login by the method of version 3, by an unknown method.
    (1251, Setup),
    // Unknown storage engine.
    (1286, Setup),
    // No such procedure; wrong number of its arguments.
    (1305, Syntax),
    (1318, Syntax),
    (1370, Setup),
    (1524, Setup),
    (1586, DuplicateKey),
    // XA transactions that the server ended.
    (1614, Deadlock),
    (1698, Setup),
    (1820, Setup),
    (1859, DuplicateKey),
    (1862, Setup),
    (1873, Setup),
    (1927, Disconnected),
    // MariaDB: max_statement_time.
    (1969, Timeout),
    (2006, Disconnected),
    (2013, Disconnected),
    (2055, Disconnected),
    (2061, Setup),
    // MySQL: max_execution_time.
    (3024, Timeout),
    // MySQL 8: password or account locked, NOWAIT, LOAD DATA LOCAL, idle for too long.
    (3118, Setup),
    (3572, Busy),
    (3948, Setup),
    (3955, Setup),
    (4031, Disconnected),
    // MariaDB: account locked, LOAD DATA LOCAL.
    (4151, Setup),
    (4166, Setup),
];

/// Of a server that takes no writes: read_only, a transaction that only reads, a read-only mode.
pub(super) const READ_ONLY: &[&str] = &["1290", "1792", "1836"];

/// The kind of error `number`; whatever is not in the table is `Statement`.
pub(super) fn kind(number: u16) -> ErrorKind {
    KINDS.binary_search_by_key(&number, |(known, _)| *known).map_or(Statement, |at| KINDS[at].1)
}

/// What the user can do about error `number`, where that is not plain from the words of the server.
pub(super) fn remedy(number: u16) -> Option<&'static str> {
    Some(match number {
        1021 | 1114 => "make room on the disk of the server, or use a smaller scale",
        1040 => "use fewer --clients, or raise max_connections of the server",
        1203 | 1226 => "raise that limit of the user (max_user_connections, ALTER USER … WITH …), or name another user",
        1044 | 1142 | 1143 | 1227 | 1370 => {
            "grant the user the right that is missing (GRANT … ON … TO …; for dsbench's own database GRANT ALL ON \
             dsbench.*), or name a user who has it"
        }
        1045 | 1698 => "name the user in the target and give the password by MYSQL_PWD",
        1049 => "create the database, or leave it out of the target; the one of dsbench is there after populating",
        1129 => "run mysqladmin flush-hosts",
        1130 => "create the user for this host (CREATE USER …@'%')",
        1135 => "raise the limit of threads or memory of the server, or use fewer clients",
        1153 => "raise max_allowed_packet of the server to 16M or more",
        1205 => "end the session that holds the lock, or raise innodb_lock_wait_timeout",
        1290 | 1792 | 1836 => {
            "name the primary, or allow writes (SET GLOBAL read_only = OFF); on a copy: --existing with --builtin \
             select-only"
        }
        1286 => "load the storage engine's plugin (plugin_load_add=ha_rocksdb), or name another",
        1969 | 3024 => "raise the statement timeout of the user (max_statement_time, max_execution_time)",
        1173 | 3750 => {
            "give the table a primary key, or allow tables without one: SET GLOBAL sql_require_primary_key = OFF (MariaDB: \
             innodb_force_primary_key)"
        }
        3118 | 4151 => "unlock the account (ALTER USER … ACCOUNT UNLOCK), or name another user",
        1820 | 1862 => "change the user's password, which has expired",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_rises_and_has_no_number_twice() {
        assert!(KINDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn numbers_have_the_kinds_that_the_loop_relies_on() {
        for (number, expected) in [
            (1213, Deadlock),
            (1205, Busy),
            (1020, Serialization),
            (1062, DuplicateKey),
            (1064, Syntax),
            (1146, Syntax),
            (1045, Setup),
            (1053, Disconnected),
            (1927, Disconnected),
            (3572, Busy),
            (1317, Statement),
            (1452, Statement),
            (0, Statement),
            (65_535, Statement),
        ] {
            assert_eq!(kind(number), expected, "{number}");
        }
    }

    #[test]
    fn remedies_fit_all_that_a_number_stands_for() {
        for (number, words) in [(1142, "right that is missing"), (1227, "right that is missing"), (1226, "of the user")]
        {
            assert!(remedy(number).unwrap().contains(words), "{number}");
        }
    }
}
