//! A primary key for tables that have none, on servers that take no other: with sql_require_primary_key of MySQL,
//! innodb_force_primary_key of MariaDB. Its column is invisible, so that no statement of a workload meets it.

use dsbench_core::error::Error;

/// What the servers say to a table without a key: of MySQL, of MariaDB.
const WANTED: &[&str] = &["3750", "1173"];
const COLUMN: &str = "dsbench_key bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE";

/// Whether the server refused a table for want of a primary key.
pub(super) fn are_wanted(error: &Error) -> bool {
    WANTED.contains(&error.code.as_str())
}

/// The statement that makes a table, with a key; nothing where it is no such statement.
pub(super) fn added(sql: &str) -> Option<String> {
    let mut words = sql.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    if !first.eq_ignore_ascii_case("CREATE") || !second.eq_ignore_ascii_case("TABLE") {
        return None;
    }
    let end = end_of_columns(sql)?;
    let rest = &sql[end..];
    // The key of a table with partitions has their column.
    let upper = rest.to_ascii_uppercase();
    let parted = upper.find("PARTITION BY HASH (").map(|at| &rest[at + "PARTITION BY HASH (".len()..]);
    let parted =
        parted.and_then(|column| column.split_once(')')).map_or(String::new(), |(name, _)| format!(", {name}"));
    Some(format!("{}, {COLUMN}, PRIMARY KEY (dsbench_key{parted}){rest}", &sql[..end]))
}

/// Where the parenthesis around the columns closes.
fn end_of_columns(sql: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in sql.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(at),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_behind_the_columns() {
        for (sql, expected) in [
            (
                "CREATE TABLE t (a decimal(12, 2), b varchar(9) DEFAULT ')') ENGINE = InnoDB",
                "CREATE TABLE t (a decimal(12, 2), b varchar(9) DEFAULT ')', dsbench_key bigint unsigned NOT NULL \
                 AUTO_INCREMENT INVISIBLE, PRIMARY KEY (dsbench_key)) ENGINE = InnoDB",
            ),
            (
                "create table t (bid int)\nPARTITION BY HASH (bid) PARTITIONS 16",
                "create table t (bid int, dsbench_key bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE, \
                 PRIMARY KEY (dsbench_key, bid))\nPARTITION BY HASH (bid) PARTITIONS 16",
            ),
        ] {
            assert_eq!(added(sql).as_deref(), Some(expected));
        }
        assert_eq!(added("ALTER TABLE t ADD PRIMARY KEY (a)"), None);
        assert_eq!(added("CREATE TABLE t AS SELECT 1"), None);
    }
}
