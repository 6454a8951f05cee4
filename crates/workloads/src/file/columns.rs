//! Which tables statements make, and of what types their columns are: what a population has to know.

use dsbench_core::value::Type;

/// A table that a statement makes.
#[derive(Debug, PartialEq)]
pub(super) struct Made {
    pub(super) name: String,
    /// Its columns, with the type where rows can be made for it.
    pub(super) columns: Vec<(String, Option<Type>)>,
    /// On SQLite, which has neither decimals nor moments: they become doubles and texts, as its own functions give them.
    pub(super) plain: bool,
}

/// The table that `sql` makes, if it makes one; `plain`: on SQLite, whose whole numbers all have 64 bits.
pub(super) fn made(sql: &str, plain: bool) -> Option<Made> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let sql = lines.collect::<Vec<_>>().join(" ");
    let (head, body) = sql.split_once('(')?;
    let words: Vec<String> = head.split_whitespace().map(str::to_ascii_uppercase).collect();
    if words.first()? != "CREATE" || !words.iter().any(|word| word == "TABLE") {
        return None;
    }
    let name = head.split_whitespace().last()?.to_string();
    let columns = of_body(body).into_iter().filter_map(|piece| column(&piece, plain)).collect();
    Some(Made { name, columns, plain })
}

/// The pieces between the commas of a bracket that was opened.
fn of_body(body: &str) -> Vec<String> {
    let (mut pieces, mut depth) = (vec![String::new()], 1);
    for letter in body.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        match (letter, depth) {
            (_, 0) => break,
            (',', 1) => pieces.push(String::new()),
            _ => pieces.last_mut().expect("it begins with one").push(letter),
        }
    }
    pieces
}

/// A column with its type; `None` for what is none, such as a key of the table.
fn column(piece: &str, wide: bool) -> Option<(String, Option<Type>)> {
    const NONE: [&str; 8] = ["PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT", "KEY", "INDEX", "EXCLUDE"];
    let (name, rest) = piece.trim().split_once(char::is_whitespace)?;
    if NONE.contains(&name.to_ascii_uppercase().as_str()) {
        return None;
    }
    let kind = rest.to_ascii_uppercase();
    let end = kind.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(kind.len());
    let scale = || {
        let (_, inner) = kind.split_once('(')?;
        let (_, scale) = inner.split_once(')')?.0.split_once(',')?;
        scale.trim().parse().ok()
    };
    let kind = match &kind[..end] {
        "SMALLINT" | "INT" | "INTEGER" if wide => Some(Type::Int64),
        "SMALLINT" => Some(Type::Int16),
        "INT" | "INTEGER" => Some(Type::Int32),
        "BIGINT" => Some(Type::Int64),
        "DOUBLE" => Some(Type::Float64),
        "DECIMAL" | "NUMERIC" => Some(Type::Decimal(scale().unwrap_or(0))),
        "CHAR" | "CHARACTER" | "VARCHAR" | "TEXT" | "LONGTEXT" => Some(Type::Text),
        "TIMESTAMP" | "DATETIME" => Some(Type::Timestamp),
        _ => None,
    };
    Some((name.to_string(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_types_of_their_statement() {
        let table = made(
            "CREATE TABLE t (\n id bigint NOT NULL PRIMARY KEY, -- a, b\n p decimal(12, 2), name varchar(10) \
             CHARACTER SET ASCII,\n at timestamp DEFAULT now(), j jsonb,\n PRIMARY KEY (id, p))",
            false,
        );
        let kinds = [Type::Int64, Type::Decimal(2), Type::Text, Type::Timestamp].map(Some);
        let names = ["id", "p", "name", "at"].map(str::to_string);
        let mut columns: Vec<_> = names.into_iter().zip(kinds).collect();
        columns.push(("j".into(), None));
        assert_eq!(table, Some(Made { name: "t".into(), columns, plain: false }));
        assert_eq!(made("CREATE INDEX i ON t (id)", false), None);
    }
}
