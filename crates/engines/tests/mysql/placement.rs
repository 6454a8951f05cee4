//! Clients that follow the server's thread which works for them.

use dsbench_core::placement::cpus;

use super::following::{follow_about, Counted};
use super::server::Server;

const COUNTED: Counted = Counted {
    sql: "UPDATE test.counted SET n = n + 1 WHERE n >= ?",
    count: "SELECT n - 1000 FROM test.counted",
    servers: "SELECT TID FROM information_schema.PROCESSLIST WHERE USER = 'root' AND ID <> connection_id()",
};

#[test]
fn clients_on_carriers_follow_the_threads_of_mariadb_over_its_socket() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::start();
    let mut admin = server.connect_to_test();
    admin.script(&["CREATE TABLE counted (n bigint)", "INSERT INTO counted VALUES (1000)"]).unwrap();
    follow_about(server.engine(), admin.as_mut(), COUNTED, 2 * cpus().len() + 1);
}
