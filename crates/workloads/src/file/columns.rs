//! Which tables statements make, and of what types their columns are: what a population has to know.

use dsbench_core::lexer::{Kind, Rules};
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

/// The table that `sql` makes for a product, if it makes one.
pub(super) fn made(sql: &str, product: Option<&str>) -> Option<Made> {
    // SQLite's whole numbers all have 64 bits.
    let plain = product == Some("sqlite");
    let (head, pieces) = parts(sql, Rules::of(product.unwrap_or_default()));
    let words: Vec<String> = head.split_whitespace().map(str::to_ascii_uppercase).collect();
    if pieces.is_empty() || words.first()? != "CREATE" || !words.iter().any(|word| word == "TABLE") {
        return None;
    }
    let name = head.split_whitespace().last()?.to_string();
    let columns = pieces.iter().filter_map(|piece| column(piece, plain)).collect();
    Some(Made { name, columns, plain })
}

/// What stands before the first bracket of `sql`, and the pieces between the commas in it, without comments.
fn parts(sql: &str, rules: Rules) -> (String, Vec<String>) {
    let (mut head, mut pieces, mut depth) = (String::new(), Vec::new(), 0);
    for (kind, at) in rules.tokens(sql) {
        let token = if kind == Kind::Comment { " " } else { &sql[at] };
        depth += i32::from(token == "(") - i32::from(token == ")");
        match (token, depth) {
            ("(", 1) | (",", 1) => pieces.push(String::new()),
            (")", 0) => break,
            _ => pieces.last_mut().unwrap_or(&mut head).push_str(token),
        }
    }
    (head, pieces)
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
            "CREATE /* ( */ TABLE t (\n id bigint NOT NULL PRIMARY KEY, -- a, b\n p decimal(12, 2), name varchar(10) \
             CHARACTER SET ASCII DEFAULT '),--',\n at timestamp DEFAULT now() /*, k int */, j jsonb,\n PRIMARY KEY (id, p)) -- (",
            None,
        );
        let kinds = [Type::Int64, Type::Decimal(2), Type::Text, Type::Timestamp].map(Some);
        let names = ["id", "p", "name", "at"].map(str::to_string);
        let mut columns: Vec<_> = names.into_iter().zip(kinds).collect();
        columns.push(("j".into(), None));
        assert_eq!(table, Some(Made { name: "t".into(), columns, plain: false }));
        assert_eq!(made("CREATE INDEX i ON t (id)", None), None);
    }
}
