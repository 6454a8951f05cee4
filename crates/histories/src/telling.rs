//! An anomaly in words: its transactions, and why each comes after the one before.

use std::fmt::Write;

use crate::graph::kind::{WR, WW};
use crate::graph::Edge;
use crate::history::{Op, Transaction};

/// Items of a list that are shown; the first ones of a longer list are left out.
const SHOWN: usize = 6;

fn items(found: &[u32]) -> String {
    let left_out = found.len().saturating_sub(SHOWN);
    let dots = if left_out > 0 { "… " } else { "" };
    let shown: Vec<String> = found[left_out..].iter().map(u32::to_string).collect();
    format!("[{dots}{}]", shown.join(" "))
}

/// `T7 read list 3 as [1 2]`.
pub fn tell_read(reader: u32, list: u32, found: &[u32]) -> String {
    format!("T{reader} read list {list} as {}", items(found))
}

/// What the transactions of a cycle did on the lists that it is about, and a reason for each step. A way that meets a
/// transaction twice shows it once.
pub fn tell_cycle(all: &[Transaction], cycle: &[Edge]) -> String {
    let mut words = String::new();
    let mut shown = Vec::new();
    for edge in cycle {
        if shown.contains(&edge.from) {
            continue;
        }
        shown.push(edge.from);
        let lists: Vec<u32> = cycle.iter().map(|edge| edge.list).collect();
        let one = &all[edge.from as usize];
        let ops = one.ops.iter().filter_map(|op| match op {
            Op::Append { list, item } if lists.contains(list) => Some(format!("append {item} to {list}")),
            Op::Read { list, found } if lists.contains(list) => Some(format!("read {list}: {}", items(found))),
            _ => None,
        });
        let (begun, ended) = (one.begun_ns as f64 / 1e9, one.ended_ns as f64 / 1e9);
        let ops = ops.collect::<Vec<_>>().join("; ");
        let _ = writeln!(words, "T{} ({begun:.6} s to {ended:.6} s): {ops}", edge.from);
    }
    for edge in cycle {
        let Edge { from, to, kind, list } = edge;
        let why = match *kind {
            WW => "appended to it next",
            WR => "saw that append",
            _ => "appended what it did not see",
        };
        let did = if *kind == WW || *kind == WR { "appended to" } else { "read" };
        let _ = writeln!(words, "T{from} {did} list {list}, T{to} {why}");
    }
    words.trim_end().to_string()
}
