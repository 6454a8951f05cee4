//! dsbench's own client against the null server, over every transport.

use dsbench_core::engine::{Engine, Isolation, Prepare, Session, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_engines::postgres;
use dsbench_null::{Address, Server};

const SELECT: Statement<'_> =
    Statement { sql: "SELECT abalance FROM account WHERE aid = $1", params: &[Type::Int32], columns: &[Type::Int64] };
const UPDATE: Statement<'_> =
    Statement { sql: "UPDATE t SET b = $1, a = $2", params: &[Type::Text, Type::Int32], columns: &[] };

fn transact(engine: &dyn Engine) {
    let session = Session { isolation: Isolation::RepeatableRead, in_place: true };
    let mut connection = engine.connect(session).unwrap();
    let mut rows = Rows::new();
    for way in [Prepare::Once, Prepare::Never] {
        let select = connection.prepare(&SELECT, way).unwrap();
        let update = connection.prepare(&UPDATE, way).unwrap();
        connection.begin().unwrap();
        for aid in 0..100 {
            connection.query(select, &[Value::Int(aid)], &mut rows).unwrap();
            assert_eq!((rows.len(), rows.int(0, 0).unwrap()), (1, 1));
        }
        assert_eq!(connection.execute(update, &[Value::Text("x"), Value::Null]).unwrap(), 1);
        connection.commit().unwrap();
    }
    connection.script(&["VACUUM t", "SET x = 1"]).unwrap();
    assert_eq!(connection.fetch("SELECT a, b FROM t").unwrap().rows, [[Some("1".to_string()), None]]);
    assert_eq!(connection.script(&["COPY t FROM STDIN"]).unwrap_err().kind, ErrorKind::Statement);
}

#[test]
fn over_tcp_and_with_tls_declined() {
    let server = Server::start(&Address::Tcp(0)).unwrap();
    let Address::Tcp(port) = *server.address() else { panic!("{:?}", server.address()) };
    for mode in ["disable", "prefer"] {
        let url = format!("postgresql://null@127.0.0.1:{port}/null?sslmode={mode}");
        transact(&*postgres::open(&url).unwrap());
    }
    drop(server);
    let url = format!("postgresql://null@127.0.0.1:{port}/null");
    let session = Session { isolation: Isolation::ReadCommitted, in_place: true };
    let gone = postgres::open(&url).unwrap().connect(session);
    assert_eq!(gone.err().map(|error| error.kind), Some(ErrorKind::Setup));
}

#[cfg(unix)]
#[test]
fn over_a_unix_socket_that_goes_with_its_server() {
    let folder = std::env::temp_dir().join(format!("dsbench-null-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join(".s.PGSQL.5432");
    let server = Server::start(&Address::Unix(path.clone())).unwrap();
    let url = format!("postgresql://null@/null?host={}&port=5432", folder.display());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| transact(&*postgres::open(&url).unwrap()));
        }
    });
    drop(server);
    assert!(!path.exists());
    std::fs::remove_dir(&folder).unwrap();
}
