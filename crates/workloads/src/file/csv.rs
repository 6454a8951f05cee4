//! Tables from CSV (RFC 4180): commas, quotes that are doubled within quotes, a head with the names of the columns.

/// Cells of a row; `None` for an empty one without quotes, which is NULL.
type Row = Vec<Option<String>>;

/// All rows, the head first. An error: the line, from 1, and why.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, (usize, String)> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut row, mut cell, mut line) = (Row::new(), None::<String>, 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if cell.is_none() => {
                let mut quoted = String::new();
                loop {
                    match letters.next() {
                        Some('"') if letters.peek() == Some(&'"') => quoted.extend(letters.next()),
                        Some('"') => break,
                        Some(other) => {
                            line += usize::from(other == '\n');
                            quoted.push(other);
                        }
                        None => return Err((line, "a quote is not closed".into())),
                    }
                }
                cell = Some(quoted);
            }
            ',' => row.push(cell.take()),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' => {
                if !row.is_empty() || cell.is_some() {
                    row.push(cell.take());
                    rows.push(std::mem::take(&mut row));
                    fits(&rows, line)?;
                }
                line += 1;
            }
            other => cell.get_or_insert_default().push(other),
        }
    }
    if !row.is_empty() || cell.is_some() {
        row.push(cell);
        rows.push(row);
        fits(&rows, line)?;
    }
    Ok(rows)
}

fn fits(rows: &[Row], line: usize) -> Result<(), (usize, String)> {
    let [wanted, found] = [rows.first(), rows.last()].map(|row| row.map_or(0, Vec::len));
    match wanted == found {
        true => Ok(()),
        false => Err((line, format!("it has {found} cells, and the head {wanted}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_quoted_and_empty_ones_are_null() {
        let found = rows("a,b\r\n1,\"x \"\"y\"\",\nz\"\n,\"\"\n").unwrap();
        let cell = |text: &str| Some(text.to_string());
        assert_eq!(found[1..], [vec![cell("1"), cell("x \"y\",\nz")], vec![None, cell("")]]);
        assert_eq!(rows("a,b\n1\n").unwrap_err(), (2, "it has 1 cells, and the head 2".into()));
        assert_eq!(rows("a\n\"1\n").unwrap_err(), (3, "a quote is not closed".into()));
    }
}
