//! Words in braces that every file has.

/// Words that every file has, by the product.
pub(super) const BUILTIN: &[&str] = &["key", "int", "bigint", "timestamp", "text", "ascii"];

/// What a word is on a product.
pub(super) fn on_product(word: &str, product: Option<&str>) -> &'static str {
    match (word, product.unwrap_or_default()) {
        // These keep a table in the order of its key, which has to be there before the rows.
        ("key", "mysql" | "sqlite" | "mock") => "PRIMARY KEY",
        // Only a key of this type is the number of the row itself.
        ("int" | "bigint", "sqlite" | "mock") => "integer",
        ("int", _) => "int",
        ("bigint", _) => "bigint",
        ("timestamp", "mysql") => "datetime(6)",
        ("timestamp", _) => "timestamp",
        ("text", "mysql") => "longtext",
        ("text", "firebird") => "varchar(8000)",
        ("text", _) => "text",
        // Firebird takes four bytes for each letter of Unicode.
        ("ascii", "firebird") => "CHARACTER SET ASCII",
        _ => "",
    }
}
