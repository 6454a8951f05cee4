//! Whether the indexes and keys that statements made are in the catalogue of the database: valid, over all rows, on
//! their columns in order, unique and referring as they were made. What is promised is read from the statements.

use std::ops::Range;

use dsbench_core::engine::{Connection, Dialect};
use dsbench_core::error::Result;
use dsbench_core::lexer::{Kind, Rules};
use dsbench_core::workload::Condition;

/// An index, or a foreign key: then with the table that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    table: String,
    columns: Vec<String>,
    unique: bool,
    to: Option<String>,
}

impl Key {
    fn told(&self) -> String {
        let (unique, columns) = (if self.unique { "unique " } else { "" }, self.columns.join(", "));
        match &self.to {
            Some(to) => format!("{} ({columns}) references {to}", self.table),
            None => format!("{unique}{} ({columns})", self.table),
        }
    }
}

/// What statements promise.
#[derive(Debug, Default)]
pub struct Promised(Vec<Key>);

impl Promised {
    /// Reads CREATE TABLE, CREATE INDEX and ALTER TABLE ADD in their plain forms. Of other forms, such as an index on an
    /// expression, nothing is promised, and nothing at all where a statement drops or renames.
    pub fn of<S: AsRef<str>>(statements: impl IntoIterator<Item = S>) -> Self {
        let mut keys = Vec::new();
        for statement in statements {
            let words = words(statement.as_ref());
            if words.iter().any(|word| ["drop", "rename"].contains(&word.as_str())) {
                return Self::default();
            }
            made(&words.iter().map(String::as_str).collect::<Vec<_>>(), &mut keys);
        }
        Self(keys)
    }

    /// The same without foreign keys.
    pub fn without_references(mut self) -> Self {
        self.0.retain(|key| key.to.is_none());
        self
    }

    /// The columns of the primary key of a table, or of another key that is unique.
    pub fn key_of(&self, table: &str) -> Option<&[String]> {
        let found = self.0.iter().find(|key| key.unique && key.to.is_none() && key.table.eq_ignore_ascii_case(table));
        found.map(|key| key.columns.as_slice())
    }

    /// Looks all of it up.
    pub fn check(&self, dialect: &Dialect, conn: &mut dyn Connection) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        for (name, of_references) in [("indexes are there, valid and whole", false), ("foreign keys are there", true)] {
            let promised: Vec<&Key> = self.0.iter().filter(|key| key.to.is_some() == of_references).collect();
            if promised.is_empty() {
                continue;
            }
            let Some(sql) = question(dialect, conn, of_references)? else { continue };
            let found = folded(&conn.fetch(&sql)?.rows, of_references);
            let without = if of_references { without_foreign_keys(dialect, conn)? } else { Vec::new() };
            let due: Vec<&Key> = promised.into_iter().filter(|key| !without.contains(&key.table)).collect();
            let lacks = |key: &&&Key| !found.iter().any(|one| fits(one, key));
            let missing: Vec<String> = due.iter().filter(lacks).map(|key| key.told()).collect();
            conditions.push(match (due.len(), missing.len()) {
                (0, _) => Condition::not_made(name, "the storage engine has none", ""),
                (due, 0) => Condition::made(name, true, format!("{due} of them")),
                _ => Condition::made(name, false, format!("there is no valid and whole {}", missing.join("; "))),
            });
        }
        Ok(conditions)
    }
}

fn fits(found: &Key, promised: &Key) -> bool {
    let same = found.table == promised.table && found.columns == promised.columns && found.to == promised.to;
    same && (found.unique || !promised.unique)
}

/// Small letters; brackets and commas alone; comments are left out, and of quoted texts the quote is kept.
fn words(statement: &str) -> Vec<String> {
    let word = |(kind, at): (Kind, Range<usize>)| match kind {
        Kind::Space | Kind::Comment => None,
        Kind::Text | Kind::Name => Some("'".to_string()),
        _ => Some(statement[at].to_ascii_lowercase()),
    };
    Rules::Standard.tokens(statement).filter_map(word).collect()
}

/// What one statement makes.
fn made(words: &[&str], keys: &mut Vec<Key>) {
    match words {
        ["create", "table", "if", "not", "exists", table, "(", body @ ..]
        | ["create", "table", table, "(", body @ ..] => {
            pieces(body).iter().for_each(|piece| keys.extend(of_piece(table, piece)));
        }
        ["alter", "table", table, actions @ ..] => {
            for action in pieces(actions) {
                if let ["add", rest @ ..] = action {
                    keys.extend(of_constraint(table, rest));
                }
            }
        }
        ["create", rest @ ..] => {
            let Some(at) = rest.iter().position(|word| *word == "on") else { return };
            let (head, body) = rest.split_at(at);
            const HEAD: [&str; 9] =
                ["unique", "index", "asc", "ascending", "concurrently", "if", "not", "exists", "nonclustered"];
            let plain = head.iter().filter(|word| !HEAD.contains(word)).count() <= 1;
            if !plain || !head.contains(&"index") || body.contains(&"where") {
                return;
            }
            let (table, body) = match body {
                ["on", table, "using", _, "(", body @ ..] | ["on", table, "(", body @ ..] => (table, body),
                _ => return,
            };
            keys.extend(key(table, body, head.contains(&"unique")).map(|(key, _)| key));
        }
        _ => {}
    }
}

/// The pieces between the commas that stand in no bracket, up to the bracket that closes.
fn pieces<'a, 'w>(words: &'a [&'w str]) -> Vec<&'a [&'w str]> {
    let (mut found, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, word) in words.iter().enumerate() {
        match (*word, depth) {
            ("(", _) => depth += 1,
            (")", 0) => {
                found.push(&words[begin..at]);
                return found;
            }
            (")", _) => depth -= 1,
            (",", 0) => {
                found.push(&words[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&words[begin..]);
    found
}

/// What a piece of CREATE TABLE promises: a constraint of the table, or those of a column.
fn of_piece(table: &str, piece: &[&str]) -> Vec<Key> {
    const CONSTRAINTS: [&str; 8] = ["primary", "unique", "foreign", "constraint", "key", "index", "check", "exclude"];
    match piece {
        [first, ..] if CONSTRAINTS.contains(first) => of_constraint(table, piece).into_iter().collect(),
        [column, rest @ ..] => {
            let one = |unique, to: Option<&str>| Key {
                table: table.into(),
                columns: vec![(*column).to_string()],
                unique,
                to: to.map(str::to_string),
            };
            let unique = rest.windows(2).any(|two| two == ["primary", "key"]) || rest.contains(&"unique");
            let to = rest.windows(2).find(|two| two[0] == "references").map(|two| two[1]);
            let to = to.map(|to| one(false, Some(to)));
            unique.then(|| one(true, None)).into_iter().chain(to).collect()
        }
        [] => Vec::new(),
    }
}

/// PRIMARY KEY, UNIQUE, FOREIGN KEY or INDEX with columns in brackets.
fn of_constraint(table: &str, words: &[&str]) -> Option<Key> {
    let words = match words {
        ["constraint", _, rest @ ..] => rest,
        words => words,
    };
    let open = words.iter().position(|word| *word == "(")?;
    let (head, body) = (&words[..open], &words[open + 1..]);
    let unique = matches!(head, ["primary", "key"] | ["unique", ..]);
    let (key, rest) = key(table, body, unique)?;
    match (head, rest) {
        (["foreign", "key", ..], ["references", to, ..]) => Some(Key { to: Some((*to).to_string()), ..key }),
        (["primary", "key"] | ["unique" | "index" | "key", ..], _) => Some(key),
        _ => None,
    }
}

/// The key on the columns up to the closing bracket, and what follows; `None` for anything but plain columns.
fn key<'a, 'w>(table: &str, body: &'a [&'w str], unique: bool) -> Option<(Key, &'a [&'w str])> {
    let end = body.iter().position(|word| *word == ")")?;
    let columns: Option<Vec<String>> = pieces(&body[..end])
        .into_iter()
        .map(|piece| match piece {
            [column] | [column, "asc"] => Some((*column).to_string()).filter(|column| *column != "'"),
            _ => None,
        })
        .collect();
    Some((Key { table: table.into(), columns: columns?, unique, to: None }, &body[end + 1..]))
}

/// Rows of table, name, column, unique or the other table, fit: the columns of a name in order.
fn folded(rows: &[Vec<Option<String>>], of_references: bool) -> Vec<Key> {
    let mut found: Vec<(String, bool, Key)> = Vec::new();
    for row in rows {
        let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default().trim().to_ascii_lowercase();
        let yes = |at: usize| ["1", "t", "true"].contains(&cell(at).as_str());
        let (table, name) = (cell(0), cell(1));
        match found.last_mut().filter(|(known, _, key)| *known == name && key.table == table) {
            Some((_, fit, key)) => {
                *fit &= yes(4);
                key.columns.push(cell(2));
            }
            None => {
                let (unique, to) = if of_references { (false, Some(cell(3))) } else { (yes(3), None) };
                found.push((name, yes(4), Key { table, columns: vec![cell(2)], unique, to }));
            }
        }
    }
    found.into_iter().filter(|(_, fit, _)| *fit).map(|(.., key)| key).collect()
}

/// Tables whose storage engine has no foreign keys.
fn without_foreign_keys(dialect: &Dialect, conn: &mut dyn Connection) -> Result<Vec<String>> {
    if dialect.name != "mysql" {
        return Ok(Vec::new());
    }
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND engine <> 'InnoDB'";
    Ok(conn.fetch(sql)?.rows.into_iter().filter_map(|row| Some(row.first()?.clone()?.to_ascii_lowercase())).collect())
}

/// What asks for all indexes, or all foreign keys: an index on part of the rows or of a column does not fit.
fn question(dialect: &Dialect, conn: &mut dyn Connection, of_references: bool) -> Result<Option<String>> {
    let column_of = |conn: &mut dyn Connection, sql: &str| -> Result<String> {
        let found = conn.fetch(sql)?.rows.into_iter().next();
        Ok(found.and_then(|row| row.into_iter().next()).flatten().unwrap_or_default().trim().to_ascii_lowercase())
    };
    Ok(Some(match (dialect.name, of_references) {
        ("postgres", false) => "SELECT t.relname, i.relname, coalesce(a.attname, '(expression)'), x.indisunique, \
             x.indisvalid AND x.indisready AND x.indpred IS NULL \
             FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
             JOIN pg_namespace n ON n.oid = t.relnamespace CROSS JOIN generate_series(0, x.indnatts - 1) AS k (n) \
             LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[k.n] AND a.attnum > 0 \
             WHERE n.nspname = current_schema() ORDER BY 1, 2, k.n"
            .into(),
        ("postgres", true) => "SELECT t.relname, c.conname, a.attname, r.relname, c.convalidated \
             FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class r ON r.oid = c.confrelid \
             JOIN pg_namespace n ON n.oid = t.relnamespace CROSS JOIN generate_series(1, array_upper(c.conkey, 1)) AS k (n) \
             JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[k.n] \
             WHERE c.contype = 'f' AND n.nspname = current_schema() ORDER BY 1, 2, k.n"
            .into(),
        ("mysql", false) => {
            // MySQL has one of them, MariaDB the other, older versions have none.
            let seen = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'information_schema' \
                        AND table_name = 'STATISTICS' AND column_name IN ('IS_VISIBLE', 'IGNORED')";
            let used = match column_of(conn, seen)?.as_str() {
                "is_visible" => "AND is_visible = 'YES'",
                "ignored" => "AND ignored = 'NO'",
                _ => "",
            };
            format!(
                "SELECT table_name, index_name, coalesce(column_name, '(expression)'), non_unique = 0, \
                 sub_part IS NULL {used} FROM information_schema.statistics WHERE table_schema = database() \
                 ORDER BY table_name, index_name, seq_in_index"
            )
        }
        ("mysql", true) => "SELECT table_name, constraint_name, column_name, referenced_table_name, 1 \
             FROM information_schema.key_column_usage \
             WHERE table_schema = database() AND referenced_table_name IS NOT NULL \
             ORDER BY table_name, constraint_name, ordinal_position"
            .into(),
        ("firebird", false) => {
            // From version 5 on.
            let seen = "SELECT rdb$field_name FROM rdb$relation_fields \
                        WHERE rdb$relation_name = 'RDB$INDICES' AND rdb$field_name = 'RDB$CONDITION_BLR'";
            let whole = if column_of(conn, seen)?.is_empty() { "" } else { "AND i.rdb$condition_blr IS NULL" };
            format!(
                "SELECT i.rdb$relation_name, i.rdb$index_name, s.rdb$field_name, coalesce(i.rdb$unique_flag, 0), \
                 CASE WHEN coalesce(i.rdb$index_inactive, 0) = 0 AND coalesce(i.rdb$index_type, 0) = 0 {whole} \
                 THEN 1 ELSE 0 END \
                 FROM rdb$indices i JOIN rdb$index_segments s ON s.rdb$index_name = i.rdb$index_name \
                 WHERE coalesce(i.rdb$system_flag, 0) = 0 \
                 ORDER BY i.rdb$relation_name, i.rdb$index_name, s.rdb$field_position"
            )
        }
        ("firebird", true) => "SELECT c.rdb$relation_name, c.rdb$constraint_name, s.rdb$field_name, u.rdb$relation_name, 1 \
             FROM rdb$relation_constraints c JOIN rdb$index_segments s ON s.rdb$index_name = c.rdb$index_name \
             JOIN rdb$ref_constraints r ON r.rdb$constraint_name = c.rdb$constraint_name \
             JOIN rdb$relation_constraints u ON u.rdb$constraint_name = r.rdb$const_name_uq \
             WHERE c.rdb$constraint_type = 'FOREIGN KEY' \
             ORDER BY c.rdb$relation_name, c.rdb$constraint_name, s.rdb$field_position"
            .into(),
        // The key of a table without WITHOUT ROWID may be the number of the row, which is no index of its own.
        ("sqlite", false) => "SELECT m.name, l.name, coalesce(i.name, '(expression)'), l.\"unique\", NOT l.partial, i.seqno AS n \
             FROM sqlite_schema m, pragma_index_list(m.name) l, pragma_index_info(l.name) i WHERE m.type = 'table' \
             UNION ALL SELECT m.name, '', t.name, 1, 1, t.pk FROM sqlite_schema m, pragma_table_info(m.name) t \
             WHERE m.type = 'table' AND t.pk > 0 ORDER BY 1, 2, 6"
            .into(),
        ("sqlite", true) => "SELECT m.name, f.id, f.\"from\", f.\"table\", 1, f.seq \
             FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY 1, 2, 6"
            .into(),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(statements: &[&str]) -> Vec<String> {
        Promised::of(statements).0.iter().map(Key::told).collect()
    }

    #[test]
    fn plain_statements_promise_their_keys() {
        let table = "CREATE TABLE t (\n  a bigint NOT NULL PRIMARY KEY, -- the key, b\n  b decimal(12, 2) UNIQUE,\n \
                     c int DEFAULT $$ ), PRIMARY KEY (c) $$ REFERENCES u (x) /*, PRIMARY KEY (c) */, PRIMARY KEY (a, b),\n  CONSTRAINT f FOREIGN KEY (b, c) REFERENCES v)";
        let found = told(&[table]);
        assert_eq!(
            found,
            ["unique t (a)", "unique t (b)", "t (c) references u", "unique t (a, b)", "t (b, c) references v"]
        );
        let found = told(&[
            "ALTER TABLE x ADD CONSTRAINT k PRIMARY KEY (a), ADD INDEX i (b, c), ADD FOREIGN KEY (c) REFERENCES u (c)",
            "CREATE UNIQUE INDEX i ON t (a);",
            "create index if not exists j on T using btree (B, c asc)",
        ]);
        assert_eq!(found, ["unique x (a)", "x (b, c)", "x (c) references u", "unique t (a)", "t (b, c)"]);
    }

    #[test]
    fn nothing_is_promised_of_what_is_not_plain() {
        let others = [
            "CREATE INDEX i ON t (lower(a))",
            "CREATE INDEX i ON t (a) WHERE a > 0",
            "CREATE INDEX i ON t (a DESC)",
            "CREATE TABLE t AS SELECT 1",
            "CREATE VIEW v AS SELECT a FROM t",
            "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 $$",
            "CREATE INDEX i ON t (\"A b\")",
            "CREATE TABLE t (a int CHECK (a > 0), b text DEFAULT 'x, PRIMARY KEY')",
        ];
        assert_eq!(told(&others), [""; 0]);
        assert_eq!(told(&["CREATE INDEX i ON t (a)", "DROP INDEX i"]), [""; 0]);
    }

    #[test]
    fn an_index_fits_with_its_columns_in_order_and_when_it_is_fit() {
        let row = |cells: [&str; 5]| cells.map(|cell| Some(cell.to_string())).to_vec();
        let rows = [
            row(["T ", "I", "a", "t", "t"]),
            row(["T ", "I", "b", "t", "t"]),
            row(["T ", "J", "b", "0", "1"]),
            row(["T ", "K", "c", "1", "0"]),
        ];
        let found = folded(&rows, false);
        assert_eq!(found.iter().map(Key::told).collect::<Vec<_>>(), ["unique t (a, b)", "t (b)"]);
        let promised = Promised::of(["CREATE UNIQUE INDEX x ON t (b)"]).0;
        assert!(!found.iter().any(|one| fits(one, &promised[0])));
        assert!(fits(&found[1], &Promised::of(["CREATE INDEX x ON t (b)"]).0[0]));
    }
}
