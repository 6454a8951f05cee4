//! The real pgbench, the newest that is installed. It runs against the null server: its meta commands need none, but it
//! wants one.

use std::path::{Path, PathBuf};
use std::process::Command;

use dsbench_null::{Address, Server};

fn program() -> PathBuf {
    let found = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut of_versions: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    // Another generator of random numbers came with version 15.
    of_versions.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let on_path = std::env::var("PATH").unwrap_or_default();
    let on_path = on_path.split(':').map(|folder| PathBuf::from(folder).join("pgbench"));
    let mut all = of_versions.into_iter().map(|folder| folder.join("bin/pgbench")).chain(on_path);
    all.find(|path| path.is_file()).expect("pgbench, which comes with PostgreSQL's server: install it")
}

/// Runs the script in `file` so many times: what its calls of the function debug tell, and all that it says.
pub fn told(server: &Server, file: &Path, seed: u64, times: u32, defined: &[(&str, &str)]) -> (Vec<String>, String) {
    let Address::Tcp(port) = *server.address() else { panic!("the null server listens elsewhere") };
    let mut command = Command::new(program());
    command.args(["-n", "-h", "127.0.0.1", "-U", "null", "-f"]).arg(file);
    command.args(["-t", &times.to_string(), "-p", &port.to_string(), "--random-seed", &seed.to_string()]);
    command.args(defined.iter().map(|(name, text)| format!("-D{name}={text}")));
    let output = command.env("PGSSLMODE", "disable").arg("null").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let lines = said.lines().filter_map(|line| line.strip_prefix("debug(script=0,command=")?.split_once("): "));
    (lines.map(|(_, value)| value.to_string()).collect(), said.clone())
}
