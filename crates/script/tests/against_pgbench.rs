//! The same expressions here and in the real pgbench, to the digit. pgbench runs against the null server: its meta
//! commands need none, but it wants one.
//!
//! A sample runs with the tests; `DSBENCH_EXPRESSIONS=1000000` compares as many as that.

#![cfg(unix)]

mod pgbench;

use std::path::PathBuf;

use dsbench_null::{Address, Server};
use dsbench_script::{Random, Scripts, Source, Value};

const SEED: u64 = 5432;
/// Expressions of one run of pgbench.
const AT_ONCE: usize = 1000;

/// Makes expressions that are mostly right.
struct Maker(Random);

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        self.0.up_to(bound as u64 - 1) as usize
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn number(&mut self) -> String {
        match self.below(6) {
            0 => (self.0.bits() as i64 >> self.below(63)).to_string().replace("-9223372036854775808", "7"),
            1 => format!("{}.{}", self.below(1000), self.below(1000)),
            2 => format!(".{}e{}", self.below(100), self.below(20)),
            3 => self.one_of(&[":i", ":d", ":scale", ":default_seed", ":random_seed", ":text"]).into(),
            _ => self.below(20).to_string(),
        }
    }

    fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.one_of(&["true", "FALSE", ":yes", ":off", "null IS NULL"]).into();
        }
        let depth = depth - 1;
        match self.below(7) {
            0 => format!("NOT {}", self.boolean(depth)),
            1 => format!("{} and {}", self.boolean(depth), self.boolean(depth)),
            2 => format!("({} Or {})", self.boolean(depth), self.boolean(depth)),
            3 => format!(
                "{} {}",
                self.number_of(depth),
                self.one_of(&["is null", "IS NOT NULL", "isnull", "notnull", "is true"])
            ),
            4 => format!("({}) is not false", self.boolean(depth)),
            _ => {
                let sign = self.one_of(&["=", "<>", "!=", "<", "<=", ">", ">="]);
                format!("({} {sign} {})", self.number_of(depth), self.number_of(depth))
            }
        }
    }

    fn number_of(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.number();
        }
        let depth = depth - 1;
        match self.below(14) {
            0 => format!("-{}", self.number_of(depth)),
            1 => format!("~ {}", self.number_of(depth)),
            2 => format!("({})", self.number_of(depth)),
            3 => format!("case when {} then {} else {} end", self.boolean(depth), self.number_of(depth), self.number()),
            4 => {
                let name = self.one_of(&["abs", "double", "int", "sqrt", "ln", "exp", "hash", "hash_fnv1a"]);
                format!("{name}({})", self.number_of(depth))
            }
            5 => {
                let name = self.one_of(&["least", "greatest", "mod", "power", "hash_murmur2", "hash_fnv1a"]);
                format!("{name}({}, {})", self.number_of(depth), self.number_of(depth))
            }
            6 => format!("permute({}, {}, {})", self.number_of(depth), self.number(), self.number()),
            7 => format!("permute({}, {})", self.number(), 1 + self.below(100)),
            8 => {
                let width = 1 << self.below(62);
                format!("random({}, {})", self.below(100), 100 + self.0.up_to(width))
            }
            _ => {
                let sign = self.one_of(&["+", "-", "*", "/", "%", "|", "#", "&", "<<", ">>"]);
                format!("{} {sign} {}", self.number_of(depth), self.number_of(depth))
            }
        }
    }

    fn expression(&mut self) -> String {
        let depth = self.below(5);
        if self.below(4) == 0 {
            self.boolean(depth)
        } else {
            self.number_of(depth)
        }
    }
}

fn shown(value: Value) -> String {
    let mut text = Vec::new();
    value.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    if value == Value::Null {
        "null".into()
    } else {
        format!("{} {text}", value.type_name())
    }
}

const DEFINED: &[(&str, &str)] =
    &[("i", "+37"), ("d", "-0.75"), ("text", "12"), ("yes", "ye"), ("off", "of"), ("scale", "3")];

/// What this crate makes of expressions, one after the other; `None` where it refuses one. Those that fail leave the
/// random numbers as if they had never been.
fn ours(expressions: &[String]) -> Vec<Option<String>> {
    let mut base = Random::new(SEED);
    let (random, seed) = (Random::new(base.bits()), base.bits() as i64);
    let defined: Vec<_> = DEFINED.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let mut going = random;
    let of = |text: &String| {
        let source = Source { name: "script".into(), weight: 1, text: format!("\\set x debug({text})\n") };
        let scripts = Scripts::parse(&[source], &defined).ok()?;
        let mut memory = scripts.memory();
        memory.define("default_seed", Value::Int(seed));
        memory.define("random_seed", Value::Int(SEED as i64));
        memory.random = going;
        let mut told = None;
        scripts.scripts[0].advance(0, &mut memory, &mut |_, value| told = Some(shown(value))).ok()?;
        going = memory.random;
        told
    };
    expressions.iter().map(of).collect()
}

/// What pgbench makes of them.
fn theirs(server: &Server, expressions: &[&String], file: &PathBuf) -> (Vec<String>, String) {
    let lines: Vec<String> = expressions.iter().map(|text| format!("\\set x debug({text})\n")).collect();
    std::fs::write(file, lines.concat()).unwrap();
    pgbench::told(server, file, SEED, 1, DEFINED)
}

#[test]
fn expressions_have_the_values_that_pgbench_gives_them() {
    let wanted = std::env::var("DSBENCH_EXPRESSIONS").map_or(4000, |text| text.parse().unwrap());
    let server = Server::start(&Address::Tcp(0)).unwrap();
    let file = std::env::temp_dir().join(format!("dsbench-expressions-{}.sql", std::process::id()));
    let (mut compared, mut refused, mut round) = (0, 0, 0);
    while compared < wanted {
        round += 1;
        let mut maker = Maker(Random::new(round));
        let expressions: Vec<String> = (0..AT_ONCE).map(|_| maker.expression()).collect();
        let ours = ours(&expressions);
        let right: Vec<&String> =
            expressions.iter().zip(&ours).filter(|(_, value)| value.is_some()).map(|(text, _)| text).collect();
        let (told, said) = theirs(&server, &right, &file);
        for (at, (text, value)) in right.iter().zip(ours.iter().flatten()).enumerate() {
            assert_eq!(told.get(at), Some(value), "{text}\n{}", said.lines().last().unwrap_or_default());
        }
        compared += right.len();
        // Some of those that this crate refuses, pgbench refuses, too. Alone they would draw other random numbers.
        let wrong = expressions.iter().zip(&ours).filter(|(_, value)| value.is_none()).map(|(text, _)| text);
        for text in wrong.filter(|text| !text.contains("random(")).take(2) {
            let (told, said) = theirs(&server, &[text], &file);
            assert!(told.is_empty(), "{text}: {told:?} {said}");
            refused += 1;
        }
    }
    std::fs::remove_file(&file).unwrap();
    println!("{compared} values are pgbench's, {refused} were refused by both");
}
