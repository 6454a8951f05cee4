//! The distributions of random numbers here and in the real pgbench: a test of Kolmogorov and Smirnov of two samples. The
//! seeds are fixed, so that the test gives the same each time.

#![cfg(unix)]

mod pgbench;

use dsbench_null::{Address, Server};
use dsbench_script::{Action, Random, Scripts, Source, Value};

/// Calls in one run of the script, and runs of it.
const CALLS: usize = 1000;
const RUNS: u32 = 20;
const SIZE: usize = CALLS * RUNS as usize;

/// A sample of a function, sorted.
fn ours(call: &str, seed: u64) -> Vec<i64> {
    let source = Source { name: "script".into(), weight: 1, text: format!("\\set x {call}\n") };
    let scripts = Scripts::parse(&[source], &[]).unwrap();
    let mut memory = scripts.memory();
    memory.random = Random::new(seed);
    let Action::Set(_, program) = &scripts.scripts[0].commands[0].action else { panic!("a \\set") };
    let mut drawn = || match program.evaluate(&mut memory, &mut |_| {}).unwrap() {
        Value::Int(value) => value,
        other => panic!("{other:?}"),
    };
    let mut sample: Vec<i64> = (0..SIZE).map(|_| drawn()).collect();
    sample.sort_unstable();
    sample
}

fn theirs(server: &Server, call: &str) -> Vec<i64> {
    let file = std::env::temp_dir().join(format!("dsbench-distributions-{}.sql", std::process::id()));
    std::fs::write(&file, format!("\\set x debug({call})\n").repeat(CALLS)).unwrap();
    let (told, said) = pgbench::told(server, &file, 20, RUNS, &[]);
    std::fs::remove_file(&file).unwrap();
    let number = |text: &String| text.strip_prefix("int ").and_then(|digits| digits.parse::<i64>().ok());
    let mut sample: Vec<i64> = told.iter().filter_map(number).collect();
    assert_eq!(sample.len(), SIZE, "{}", said.lines().last().unwrap_or_default());
    sample.sort_unstable();
    sample
}

/// The greatest distance between the two empirical distributions.
fn distance(one: &[i64], other: &[i64]) -> f64 {
    let share = |sample: &[i64], value: i64| sample.partition_point(|found| *found <= value) as f64 / SIZE as f64;
    one.iter().chain(other).map(|value| (share(one, *value) - share(other, *value)).abs()).fold(0.0, f64::max)
}

#[test]
fn random_numbers_are_distributed_as_those_of_pgbench() {
    let server = Server::start(&Address::Tcp(0)).unwrap();
    // Samples of one distribution are further apart with a probability of one in a million (Smirnov, 1948).
    let most = (2e6_f64.ln() / SIZE as f64).sqrt();
    for (function, parameter) in [
        ("random_gaussian", 2.5),
        ("random_gaussian", 6.0),
        ("random_exponential", 3.0),
        ("random_exponential", 9.0),
        ("random_zipfian", 1.1),
        ("random_zipfian", 2.5),
    ] {
        let call = |parameter: f64| format!("{function}(-50, 4950, {parameter})");
        let theirs = theirs(&server, &call(parameter));
        let apart = distance(&ours(&call(parameter), 1), &theirs);
        assert!(apart <= most, "{function} {parameter}: {apart:.4} apart, {most:.4} is chance");
        // The test has to see a parameter that is wrong by a quarter.
        let wrong = distance(&ours(&call(parameter * 1.25), 1), &theirs);
        assert!(wrong > most, "{function} {parameter}: a wrong one is {wrong:.4} apart only");
    }
}
