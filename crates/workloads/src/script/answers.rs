//! What statements that are sent as text give: rows of text, kept for the variables of the script.

use dsbench_core::engine::Answer;
use dsbench_script::{Memory, Scripts, Slot, Store, Wrong};

/// The result of the last statement. Its room is kept.
#[derive(Debug, Default)]
pub(super) struct Answers {
    names: Vec<u8>,
    name_ends: Vec<usize>,
    cells: Vec<u8>,
    /// Where each cell of the last row ends, and whether it is NULL.
    cell_ends: Vec<(usize, bool)>,
    rows: usize,
    ended: bool,
}

impl Answers {
    /// Forgets the last result.
    pub(super) fn reset(&mut self) {
        self.names.clear();
        self.name_ends.clear();
        self.cells.clear();
        self.cell_ends.clear();
        (self.rows, self.ended) = (0, false);
    }

    /// Takes one piece; true at the end of a statement.
    pub(super) fn take(&mut self, answer: Answer<'_>) -> bool {
        if self.ended {
            self.reset();
        }
        match answer {
            Answer::Column(name) => {
                self.names.extend_from_slice(name);
                self.name_ends.push(self.names.len());
            }
            Answer::Cell(at, cell) => {
                if at == 0 {
                    self.cells.clear();
                    self.cell_ends.clear();
                }
                self.cells.extend_from_slice(cell.unwrap_or_default());
                self.cell_ends.push((self.cells.len(), cell.is_none()));
            }
            Answer::Row => self.rows += 1,
            Answer::End => self.ended = true,
        }
        self.ended
    }

    /// Puts the last row into variables. Without `all` there has to be one row.
    pub(super) fn store(&self, store: &Store, scripts: &Scripts, memory: &mut Memory) -> Result<(), Wrong> {
        if store.all && self.rows == 0 {
            return Ok(());
        }
        if !store.all && self.rows != 1 {
            return Err(Wrong(format!("\\gset: expected one row, got {}", self.rows)));
        }
        let (mut name_start, mut cell_start) = (0, 0);
        for (name_end, (cell_end, null)) in self.name_ends.iter().zip(&self.cell_ends) {
            let column = String::from_utf8_lossy(&self.names[name_start..*name_end]);
            let cell = String::from_utf8_lossy(&self.cells[cell_start..*cell_end]);
            (name_start, cell_start) = (*name_end, *cell_end);
            if !is_name(&store.prefix, &column) {
                let words = format!("error storing into variable {}{column}: name the column by AS", store.prefix);
                return Err(Wrong(words));
            }
            let of_column = |name: &String| name.strip_prefix(&store.prefix) == Some(column.as_ref());
            let Some(slot) = scripts.names().iter().position(of_column) else { continue };
            match null {
                true => memory.set(slot as Slot, dsbench_script::Value::Null),
                false => memory.set_text(slot as Slot, &cell),
            }
        }
        Ok(())
    }
}

/// Whether a prefix and a column make the name of a variable.
pub(super) fn is_name(prefix: &str, column: &str) -> bool {
    let mut bytes = prefix.bytes().chain(column.bytes());
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
    bytes.next().is_some_and(letter) && bytes.all(|byte| letter(byte) || byte.is_ascii_digit())
}
