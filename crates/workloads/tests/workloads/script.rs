//! Scripts, the same on every product.

use dsbench_core::engine::{Engine, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::{ClientId, Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{broken, build, cell, open_with, options, run, LOAD};
use crate::home::Product;

on!([postgres, sqlite][scripts_do_what_they_say]);
on!(thorough [innodb, myrocks, firebird] [scripts_do_what_they_say]);

fn scripts_do_what_they_say(product: Product) {
    let home = product.home();
    let engine = home.engine();
    builtins_pass_and_fail_their_check(&*engine);
    a_script_does_what_it_says(&*engine);
    faults_have_file_and_line(&*engine);
}

/// Variables of all types, a result that decides, a rollback, a text and NULL.
const SCRIPT: &str = "\\set n random(1, 9)
\\set d :n * 1.5
\\set nothing NULL
\\set big CASE WHEN :n > 20 THEN :n ELSE 0 END > 0
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance + :n WHERE bid = 1 AND bbalance > -:d;
SELECT bbalance AS total FROM pgbench_branches WHERE bid = 1 \\gset
SELECT bid AS one FROM pgbench_branches ORDER BY bid {limit} \\gset
\\if :total > 20 or :big
ROLLBACK;
\\else
\\set left 20 - :total
INSERT INTO pgbench_history (tid, bid, aid, delta, filler) VALUES (:n, :nothing, :left, :scale, :word);
END;
\\endif";

/// The builtin scripts leave what their check wants, and it finds what they did not do.
fn builtins_pass_and_fail_their_check(engine: &dyn Engine) {
    let mix = [("builtin", "tpcb-like,simple-update,select-only@2")];
    let workload = open_with(engine, "scripted", Call::Statements, 1, &mix);
    let mut conn = build(engine, &*workload, Population::Bulk, 1);
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty());
    let expected = run(engine, &*workload, 2, 60);
    assert!(expected.committed.iter().all(|count| *count > 10), "{expected:?}");
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0]);
    conn.script(&[
        "DELETE FROM pgbench_history WHERE aid = (SELECT max(aid) FROM pgbench_accounts WHERE abalance <> 0)",
    ])
    .unwrap();
    let found = broken(&*workload, &mut *conn, &expected);
    assert!(found.iter().any(|name| name == "history rows = committed transactions"), "{found:?}");
}

/// A script of every kind of statement does what it says.
fn a_script_does_what_it_says(engine: &dyn Engine) {
    // A limit has to be a number: what a result may be is no text for that.
    let limit = if engine.dialect().name == "firebird" { "ROWS :n" } else { "LIMIT :n" };
    // PostgreSQL gets the text as it is where statements are not prepared: both of that and of a value has to be one.
    let word = if engine.dialect().name == "postgres" { "'it''s'" } else { ":word" };
    let script = SCRIPT.replace("{limit}", limit).replace(":word", word);
    let text = format!("{} own.sql\n{script}", script.len());
    let settings = [("scripts", text.as_str()), ("define", "word=it's")];
    let workload = open_with(engine, "scripted", Call::Statements, 1, &settings);
    let mut conn = build(engine, &*workload, Population::Bulk, 1);
    run(engine, &*workload, 2, 30);
    let sum = cell(&mut *conn, "SELECT sum(tid) FROM pgbench_history");
    assert_eq!(cell(&mut *conn, "SELECT bbalance FROM pgbench_branches"), sum, "what was rolled back is not there");
    assert!((10..=20).contains(&sum.parse::<u32>().unwrap()), "{sum}");
    let wrong = "SELECT count(*) FROM pgbench_history WHERE bid IS NOT NULL OR delta <> 1 OR filler <> 'it''s'";
    assert_eq!(cell(&mut *conn, wrong), "0");
    assert_eq!(
        cell(&mut *conn, "SELECT min(aid) FROM pgbench_history").parse::<u32>().unwrap(),
        20 - sum.parse::<u32>().unwrap()
    );
}

/// What is wrong is told with file and line: when a script is opened, when it is prepared, when it runs.
fn faults_have_file_and_line(engine: &dyn Engine) {
    let open = |text: &str| {
        let text = format!("{} x.sql\n{text}", text.len());
        dsbench_workloads::open("scripted", &options(engine, Call::Statements, 1, &[("scripts", &text)]))
    };
    let of_postgres = engine.dialect().name == "postgres";
    for (text, why) in [
        (
            "SELECT 1;\n  \\startpipeline\n\\endpipeline\n",
            "x.sql:2: column 3: only PostgreSQL's protocol has pipelines",
        ),
        (
            "SELECT 1;\n\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nEND",
            "x.sql:3: this product's transactions begin without options",
        ),
    ] {
        match open(text) {
            Err(error) => assert!(format!("{error:#}").contains(why), "{error}"),
            Ok(_) => assert!(of_postgres, "{text}"),
        }
    }
    let open_end = open("BEGIN;\nSELECT bid FROM pgbench_branches;").err().unwrap().to_string();
    assert!(open_end.contains("x.sql:2: end of script reached without completing"), "{open_end}");
    let quoted = "\\set x 1\nSELECT bid FROM pgbench_branches WHERE ':x' = ':client_id';";
    match open(quoted) {
        Err(error) => assert!(format!("{error:#}").contains("x.sql:2: :x stands in quotes"), "{error}"),
        Ok(workload) => {
            let error = workload.rehearse(&mut *engine.connect(LOAD).unwrap(), Prepare::Once, false).unwrap_err();
            assert!(of_postgres && format!("{error:#}").contains("x.sql:2: :x stands in quotes"), "{error}");
        }
    }
    let mut conn = engine.connect(LOAD).unwrap();
    for (text, when, kind, why) in [
        ("SELECT bid FROM pgbench_branches;\nSELEC 1;", Prepare::Never, ErrorKind::Syntax, "x.sql:2: "),
        (
            "SELECT bid FROM pgbench_branches \\gset 1",
            Prepare::Once,
            ErrorKind::Configuration,
            "storing into variable 1",
        ),
    ] {
        let workload = open(text).unwrap();
        let error = workload.rehearse(&mut *conn, when, false).unwrap_err();
        assert!(error.kind == kind && format!("{error:#}").contains(why), "{error:?}");
    }
    for (text, why) in [
        ("\\set zero 0\n\\set x 1 / :zero\nSELECT bid FROM pgbench_branches;", "x.sql:2: division by zero"),
        (
            "BEGIN;\nSELECT bid FROM pgbench_branches WHERE bid < 0 \\gset\nEND;",
            "x.sql:2: \\gset: expected one row, got 0",
        ),
    ] {
        let workload = open(text).unwrap();
        let mut client = workload.client(ClientId::alone(0), 1);
        client.prepare(&mut *conn, Prepare::Never).unwrap();
        client.draw(0);
        let error = client.execute(&mut *conn).unwrap_err();
        assert!(error.kind == ErrorKind::Configuration && format!("{error:#}").contains(why), "{error:?}");
        conn.begin().unwrap();
        conn.rollback().unwrap();
    }
}
