//! What is wrong with indexes and keys is found in the catalogue of each product.

use dsbench_core::engine::Engine;
use dsbench_workloads::catalogue::Promised;

use crate::bed::LOAD;

const MADE: [&str; 5] = [
    "CREATE TABLE u (a integer NOT NULL PRIMARY KEY)",
    "CREATE TABLE t (a integer NOT NULL PRIMARY KEY, b integer NOT NULL, c varchar(20) NOT NULL, d integer NOT NULL)",
    "CREATE INDEX t_bc ON t (b, c)",
    "CREATE UNIQUE INDEX t_d ON t (d)",
    "ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (b) REFERENCES u (a)",
];

/// As SQLite takes them: a foreign key comes with its table alone.
const WITHIN: [&str; 4] = [
    MADE[0],
    "CREATE TABLE t (a integer NOT NULL PRIMARY KEY, b integer NOT NULL REFERENCES u, c varchar(20) NOT NULL, d integer NOT NULL)",
    MADE[2],
    MADE[3],
];

/// Each of `faults`, in statements divided by `; `, is found where it is planted in fresh tables.
pub fn faults_are_found(engine: &dyn Engine, faults: &[&str]) {
    let made: &[&str] = if engine.dialect().name == "sqlite" { &WITHIN } else { &MADE };
    let common = [
        "DROP INDEX t_d; CREATE INDEX t_d ON t (d)",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (c, b)",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b)",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, d)",
        "DROP INDEX t_bc",
    ];
    let common = if engine.dialect().name == "mysql" { &[][..] } else { &common };
    for fault in [""].iter().chain(common).chain(faults) {
        engine.place().drop().unwrap();
        engine.place().create("test").unwrap();
        engine.connect(LOAD).unwrap().script(made).unwrap();
        let planted: Vec<&str> = fault.split("; ").filter(|sql| !sql.is_empty()).collect();
        engine.connect(LOAD).unwrap().script(&planted).unwrap();
        let found = Promised::of(made).check(engine.dialect(), &mut *engine.connect(LOAD).unwrap()).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let broken: Vec<&str> = found.iter().filter(|one| !one.holds).map(|one| one.detail.as_str()).collect();
        assert_eq!(broken.len(), usize::from(!fault.is_empty()), "{fault}: {found:?}");
    }
    engine.place().drop().unwrap();
}
