//! What is wrong with indexes and keys is found in the catalogue of each product.

use dsbench_workloads::catalogue::Promised;

use crate::bed::LOAD;
use crate::home::Product;

// MyRocks has no foreign keys.
on!([postgres, innodb, firebird, sqlite][damaged_indexes_and_keys_are_found_in_the_catalogue]);

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

/// What may be wrong on every product but MariaDB and MySQL, where an index is dropped by the name of its table, too.
const ON_MOST: [&str; 5] = [
    "DROP INDEX t_d; CREATE INDEX t_d ON t (d)",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (c, b)",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b)",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, d)",
    "DROP INDEX t_bc",
];
const ON_POSTGRES: &[&str] = &[
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, c) WHERE b > 100",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, lower(c))",
    "ALTER TABLE t DROP CONSTRAINT t_pkey",
    "ALTER TABLE t DROP CONSTRAINT t_u",
    "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (b) REFERENCES u (a) NOT VALID",
    "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (d) REFERENCES u (a)",
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'dsbench.t_bc'::regclass",
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'dsbench.t_pkey'::regclass",
];
const ON_INNODB: &[&str] = &[
    "DROP INDEX t_d ON t; CREATE INDEX t_d ON t (d)",
    "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t; CREATE INDEX t_bc ON t (c, b)",
    "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t; CREATE INDEX t_bc ON t (b, c(10))",
    "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t",
    "CREATE INDEX t_b ON t (b); ALTER TABLE t ALTER INDEX t_bc IGNORED",
    "ALTER TABLE t DROP PRIMARY KEY",
    "ALTER TABLE t DROP FOREIGN KEY t_u",
];
const ON_FIREBIRD: &[&str] = &[
    "ALTER INDEX t_bc INACTIVE",
    "ALTER TABLE t DROP CONSTRAINT t_u",
    "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (d) REFERENCES u (a)",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t COMPUTED BY (b)",
    "DROP INDEX t_bc; CREATE DESCENDING INDEX t_bc ON t (b, c)",
];
const ON_SQLITE: &[&str] = &[
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, c) WHERE b > 100",
    "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, lower(c))",
    "DROP TABLE t; CREATE TABLE t (a integer NOT NULL PRIMARY KEY, b integer NOT NULL, c varchar(20) NOT NULL, d \
     integer NOT NULL); CREATE INDEX t_bc ON t (b, c); CREATE UNIQUE INDEX t_d ON t (d)",
];

/// Each fault, in statements divided by `; `, is found where it is planted in fresh tables.
fn damaged_indexes_and_keys_are_found_in_the_catalogue(product: Product) {
    let (made, common, own): (&[&str], &[&str], _) = match product {
        Product::Postgres => (&MADE, &ON_MOST, ON_POSTGRES),
        Product::Firebird => (&MADE, &ON_MOST, ON_FIREBIRD),
        Product::Sqlite => (&WITHIN, &ON_MOST, ON_SQLITE),
        Product::InnoDb | Product::MyRocks => (&MADE, &[], ON_INNODB),
    };
    let home = product.home();
    let engine = home.engine();
    for fault in [""].iter().chain(common).chain(own) {
        engine.place().drop().unwrap();
        engine.place().create("test").unwrap();
        engine.connect(LOAD).unwrap().script(made).unwrap();
        let planted: Vec<&str> = fault.split("; ").filter(|sql| !sql.is_empty()).collect();
        engine.connect(LOAD).unwrap().script(&planted).unwrap();
        let found = Promised::of(made).check(engine.dialect(), &mut *engine.connect(LOAD).unwrap()).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let broken: Vec<&str> = found.iter().filter(|one| one.is_broken()).map(|one| one.detail.as_str()).collect();
        assert_eq!(broken.len(), usize::from(!fault.is_empty()), "{fault}: {found:?}");
    }
}
