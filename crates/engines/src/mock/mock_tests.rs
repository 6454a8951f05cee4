//! What a mock does is what its script says.

use std::sync::Arc;

use dsbench_core::clock::{Clock, FakeClock};
use dsbench_core::engine::{
    Connection, Engine, Isolation, Place, PlaceState, Prepare, RowSource, Session, Statement, StatementId,
};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use super::{Action, Calls, Mock, Script, When};

const LOAD: Session = Session { isolation: Isolation::Serializable, in_place: true };
const ADMIN: Session = Session { in_place: false, ..LOAD };
const WORK: StatementId = StatementId(0);

/// A mock with its own clock, and a connection that knows one statement.
fn connect(script: Script) -> (Mock, Arc<FakeClock>, Box<dyn Connection>) {
    let clock = Arc::new(FakeClock::default());
    let mock = Mock::on_clock(script, Arc::clone(&clock));
    let conn = reconnect(&mock);
    (mock, clock, conn)
}

fn reconnect(mock: &Mock) -> Box<dyn Connection> {
    let mut conn = mock.connect(ADMIN).unwrap();
    let statement = Statement { sql: "whatever", params: &[], columns: &[Type::Int32] };
    assert_eq!(conn.prepare(&statement, Prepare::Once).unwrap(), WORK);
    conn
}

fn kinds(conn: &mut dyn Connection, calls: u64) -> Vec<Option<ErrorKind>> {
    (0..calls).map(|_| conn.execute(WORK, &[]).err().map(|error| error.kind)).collect()
}

#[test]
fn calls_move_the_clock_and_nothing_else_does() {
    let script = Script {
        latency_ns: 10,
        connect_ns: 1000,
        events: vec![(When::At(2), Action::Stall(500)), (When::Every(2), Action::Stall(5))],
        ..Script::default()
    };
    let (_, clock, mut conn) = connect(script);
    let mut times = vec![clock.now()];
    let mut rows = Rows::new();
    let mut took = |result: Result<()>| {
        result.unwrap();
        times.push(clock.now());
    };
    took(conn.begin());
    took(conn.execute(WORK, &[]).map(|_| ()));
    took(conn.query(WORK, &[], &mut rows));
    took(conn.commit());
    took(conn.rollback());
    took(conn.begin());
    took(conn.rollback());
    took(conn.script(&["anything"]));
    let steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((times[0], steps), (1000, vec![10, 10, 515, 10, 0, 10, 10, 0]));
}

#[test]
fn calls_fail_by_their_numbers_over_all_connections() {
    let deadlock = Action::Fail(ErrorKind::Deadlock);
    let script = Script { events: vec![(When::Every(3), deadlock)], ..Script::default() };
    let (mock, _, mut first) = connect(script);
    let mut second = reconnect(&mock);
    assert_eq!(kinds(&mut *first, 2), [None, None]);
    assert_eq!(kinds(&mut *second, 2), [Some(ErrorKind::Deadlock), None]);
    assert_eq!(kinds(&mut *first, 2), [None, Some(ErrorKind::Deadlock)]);
    drop((first, second));
    let counts = mock.counts();
    assert_eq!((counts.executes, counts.singles, counts.failures, counts.transactions()), (4, 4, 2, 4));
}

#[test]
fn a_broken_connection_stays_broken_and_the_next_one_works() {
    let script = Script { events: vec![(When::At(2), Action::Fail(ErrorKind::Disconnected))], ..Script::default() };
    let (mock, _, mut conn) = connect(script);
    let lost = Some(ErrorKind::Disconnected);
    assert_eq!(kinds(&mut *conn, 3), [None, lost, lost]);
    assert_eq!(conn.begin().unwrap_err().kind, ErrorKind::Disconnected);
    assert_eq!(kinds(&mut *reconnect(&mock), 2), [None, None]);
}

#[test]
fn a_connection_lost_in_commit_leaves_its_end_unknown() {
    let events = vec![(When::At(2), Action::Fail(ErrorKind::Disconnected))];
    let (mock, _, mut conn) = connect(Script { calls: Calls::Commits, events, ..Script::default() });
    for expected in [None, Some(ErrorKind::Unknown)] {
        conn.begin().unwrap();
        conn.execute(WORK, &[]).unwrap();
        assert_eq!(conn.commit().err().map(|error| error.kind), expected);
    }
    drop(conn);
    assert_eq!((mock.counts().begins, mock.counts().commits, mock.counts().singles), (2, 1, 0));
}

#[test]
fn every_call_has_a_number_when_the_script_wants_it() {
    let busy = Action::Fail(ErrorKind::Busy);
    let (_, _, mut conn) =
        connect(Script { calls: Calls::All, events: vec![(When::Every(4), busy)], ..Script::default() });
    conn.begin().unwrap();
    conn.execute(WORK, &[]).unwrap();
    conn.commit().unwrap();
    assert_eq!(conn.begin().unwrap_err().kind, ErrorKind::Busy);
    conn.rollback().expect("no transaction was opened, so this is no call");
    conn.begin().unwrap();
    conn.rollback().unwrap();
    conn.begin().unwrap();
    assert_eq!(conn.execute(WORK, &[]).unwrap_err().kind, ErrorKind::Busy);
}

#[test]
fn queries_answer_one_row_of_zeros() {
    let (_, _, mut conn) = connect(Script::default());
    let columns = [Type::Int16, Type::Float64, Type::Decimal(2), Type::Text, Type::Timestamp];
    let id = conn.prepare(&Statement { sql: "?", params: &[], columns: &columns }, Prepare::Never).unwrap();
    let mut rows = Rows::new();
    conn.query(id, &[], &mut rows).unwrap();
    conn.query(id, &[], &mut rows).unwrap();
    let row: Vec<Value<'_>> = (0..5).map(|column| rows.get(0, column).unwrap()).collect();
    let decimal = Value::Decimal { unscaled: 0, scale: 2 };
    assert_eq!(
        (rows.len(), row),
        (1, vec![Value::Int(0), Value::Float(0.0), decimal, Value::Text(""), Value::Timestamp(0)])
    );
    assert_eq!(conn.query(StatementId(7), &[], &mut rows).unwrap_err().kind, ErrorKind::Statement);
}

#[test]
fn the_place_is_kept_and_needed() {
    let mock = Mock::new(Script { connect_failures: 1, ..Script::default() });
    assert_eq!(mock.connect(ADMIN).err().unwrap().kind, ErrorKind::Setup, "the first is refused");
    assert_eq!(mock.connect(LOAD).err().unwrap().kind, ErrorKind::Setup, "there is no place");
    mock.create("mine").unwrap();
    assert_eq!(mock.create("again").unwrap_err().kind, ErrorKind::Setup);
    assert_eq!(mock.clone().state().unwrap(), PlaceState::Marked("mine".into()));
    mock.connect(LOAD).unwrap();
    Place::drop(&mock).unwrap();
    assert_eq!(mock.state().unwrap(), PlaceState::Absent);
}

#[test]
fn an_interrupt_ends_a_real_wait() {
    let mock = super::open("mock:?stall_at=1&stall_ms=3600000").unwrap();
    let mut conn = mock.connect(ADMIN).unwrap();
    let statement = Statement { sql: "", params: &[], columns: &[] };
    conn.prepare(&statement, Prepare::Once).unwrap();
    let interrupt = conn.interrupt().unwrap();
    let error = std::thread::scope(|scope| {
        let call = scope.spawn(|| conn.execute(WORK, &[]).unwrap_err());
        interrupt.interrupt();
        call.join().unwrap()
    });
    assert_eq!(error.kind, ErrorKind::Disconnected);
}

struct Three(u32);

impl RowSource for Three {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        self.0 += 1;
        if self.0 <= 3 {
            emit(&[Value::Int(1)])?;
        }
        Ok(self.0 <= 3)
    }
}

#[test]
fn bulk_loads_are_drained_and_counted() {
    let (mock, _, mut conn) = connect(Script::default());
    let columns = [("k", Type::Int32), ("v", Type::Int32)];
    assert_eq!(conn.bulk().unwrap().load("t", &columns[..1], &mut Three(0)).unwrap(), 3);
    assert_eq!(conn.bulk().unwrap().load("t", &columns, &mut Three(0)).unwrap_err().kind, ErrorKind::Statement);
    drop(conn);
    assert_eq!(mock.counts().rows, 3);
}

#[test]
fn random_times_are_exponential() {
    let (_, clock, mut conn) = connect(Script { latency_ns: 1_000_000, random: true, ..Script::default() });
    let mut times: Vec<f64> = (0..20_000)
        .map(|_| {
            let before = clock.now();
            conn.execute(WORK, &[]).unwrap();
            (clock.now() - before) as f64
        })
        .collect();
    let mean = times.iter().sum::<f64>() / 20_000.0;
    assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
    times.sort_unstable_by(f64::total_cmp);
    assert!((times[10_000] / mean - 2.0_f64.ln()).abs() < 0.03, "the median of an exponential is ln 2 of its mean");
}
