//! What only PostgreSQL has: pipelines.

use dsbench_core::engine::{Engine, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::{ClientId, Population};
use dsbench_workloads::Call;

use crate::bed::{self, build, cell};
use crate::server::Server;

/// Runs `script` once, prepared, on the tables of pgbench.
fn once(engine: &dyn Engine, script: &str) -> dsbench_core::error::Result<()> {
    let settings = [("scripts", format!("{} own.sql\n{script}", script.len()))];
    let settings = settings.each_ref().map(|(name, text)| (*name, text.as_str()));
    let workload = bed::open_with(engine, "scripted", Call::Statements, 1, &settings);
    let mut conn = engine.connect(bed::LOAD)?;
    let mut client = workload.client(ClientId::alone(0), 1);
    client.prepare(&mut *conn, Prepare::Once)?;
    client.draw(0);
    let done = client.execute(&mut *conn).map(|_| ());
    // Whatever came of it, the connection is in step, and no transaction is open.
    conn.begin().unwrap();
    conn.rollback().unwrap();
    assert_eq!(cell(&mut *conn, "SELECT 7"), "7");
    done
}

#[test]
fn a_pipeline_does_what_its_statements_say_and_ends_with_its_errors() {
    let server = Server::postgres();
    let engine = server.engine();
    let workload = bed::open_with(&*engine, "scripted", Call::Statements, 1, &[("builtin", "select-only")]);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let mut kept = |engine: &dyn Engine, script: &str| {
        conn.script(&["DELETE FROM pgbench_history"]).unwrap();
        let done = once(engine, script).map_err(|error| (error.kind, format!("{error:#}")));
        let left = "SELECT coalesce(string_agg(tid::text, ',' ORDER BY tid), '') FROM pgbench_history";
        (done, cell(&mut *conn, left))
    };
    let add = |number: u32| format!("INSERT INTO pgbench_history (tid) VALUES ({number});\n");
    let wrong = "INSERT INTO pgbench_branches (bid) VALUES (1);\n";
    let (one_, two, three) = (add(1), add(2), add(3));
    let whole = format!(
        "\\set x 9\nBEGIN;\n\\startpipeline\n{one_}INSERT INTO pgbench_history (tid) VALUES (:x);\nEND;\n\\syncpipeline\n\
         {two}BEGIN;\n{three}ROLLBACK;\n\\endpipeline\n"
    );
    // What stands between a point of synchronisation and BEGIN is part of the transaction that BEGIN makes of it.
    assert_eq!(kept(&*engine, &whole), (Ok(()), "1,9".into()));
    let broken = format!("\\startpipeline\nBEGIN;\n{one_}{wrong}{two}END;\n\\syncpipeline\n\\endpipeline\n{three}");
    let (done, left) = kept(&*engine, &broken);
    assert_eq!((done.unwrap_err().0, left.as_str()), (ErrorKind::DuplicateKey, ""));
    let later = format!("\\startpipeline\n{one_}{wrong}\\syncpipeline\n{two}\\endpipeline\n");
    let (done, left) = kept(&*engine, &later);
    assert_eq!((done.unwrap_err().0, left.as_str()), (ErrorKind::DuplicateKey, "2"));
    for (script, why) in [
        (format!("{one_}\\endpipeline"), "own.sql:2: not in pipeline mode"),
        (format!("\\startpipeline\n{one_}\\startpipeline\n\\endpipeline"), "own.sql:3: already in pipeline mode"),
        (
            "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline".into(),
            "own.sql:2: \\gset is not allowed in pipeline mode",
        ),
    ] {
        let (kind, said) = kept(&*engine, &script).0.unwrap_err();
        assert!(kind == ErrorKind::Configuration && said.contains(why), "{said}");
    }
}
