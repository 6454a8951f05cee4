//! What a mock does beside answering: how long it takes and which calls fail.

use std::ops::Range;

use dsbench_core::clock::Nanos;
use dsbench_core::error::{Error, ErrorKind, Result};

use crate::url::Query;

/// Which calls the numbers of a script count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// `execute` and `query`.
    Statements,
    /// `begin`.
    Begins,
    /// `commit`.
    Commits,
    /// All of these and the `rollback` of an open transaction.
    All,
}

/// Numbers of calls; the first call of the engine is number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This one only.
    At(u64),
    /// Every multiple of this.
    Every(u64),
}

impl When {
    fn meets(self, number: u64) -> bool {
        match self {
            Self::At(at) => number == at,
            Self::Every(step) => number.is_multiple_of(step),
        }
    }
}

/// What happens in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It takes this much longer.
    Stall(Nanos),
    /// It fails. `Disconnected` and `Unknown` also break the connection; in a commit both are `Unknown`.
    Fail(ErrorKind),
}

/// What a mock engine does. Calls are numbered over all its connections, in the order in which they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What every call takes that would be a round trip to a server.
    pub latency_ns: Nanos,
    /// Whether that is the mean of exponential times; else all take as long.
    pub random: bool,
    /// From time to time, and for how long, the server stands still: (every, for) in ns, or zeros.
    pub standstill: (Nanos, Nanos),
    /// What opening a connection takes.
    pub connect_ns: Nanos,
    /// How many of the first connections are refused, with kind `Setup`.
    pub connect_failures: u64,
    /// From when to when on the clock all connections are refused, with kind `Setup`.
    pub down: Vec<Range<Nanos>>,
    /// Which calls have a number.
    pub calls: Calls,
    /// What happens in which of them; stalls add up, the first failure counts.
    pub events: Vec<(When, Action)>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            latency_ns: 0,
            random: false,
            standstill: (0, 0),
            connect_ns: 0,
            connect_failures: 0,
            down: Vec::new(),
            calls: Calls::Statements,
            events: Vec::new(),
        }
    }
}

impl Script {
    /// Reads `mock:?latency_us=100&fail_every=3&fail=serialization&stall_at=1000&stall_ms=2000&…`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (_, mut query) = Query::split(url)?;
        let mut script = Self {
            latency_ns: duration(&mut query, ["latency_ns", "latency_us", "latency_ms"])?,
            connect_ns: duration(&mut query, ["connect_ns", "connect_us", "connect_ms"])?,
            connect_failures: query.number("connect_fail")?.unwrap_or(0),
            ..Self::default()
        };
        script.random = query.word("latency", &["constant", "exponential"])? == Some("exponential");
        script.standstill.0 = duration(&mut query, ["still_every_ns", "still_every_us", "still_every_ms"])?;
        script.standstill.1 = duration(&mut query, ["still_ns", "still_us", "still_ms"])?;
        script.calls = match query.word("calls", &["statements", "begins", "commits", "all"])? {
            Some("begins") => Calls::Begins,
            Some("commits") => Calls::Commits,
            Some("all") => Calls::All,
            _ => Calls::Statements,
        };
        let names = ErrorKind::ALL.map(ErrorKind::name);
        let word = query.word("fail", &names)?;
        let kind = ErrorKind::ALL.into_iter().find(|kind| Some(kind.name()) == word);
        let stall = duration(&mut query, ["stall_ns", "stall_us", "stall_ms"])?;
        let actions = [
            ("fail_at", "fail_every", Action::Fail(kind.unwrap_or(ErrorKind::Serialization))),
            ("stall_at", "stall_every", Action::Stall(stall)),
            ("disconnect_at", "disconnect_every", Action::Fail(ErrorKind::Disconnected)),
        ];
        for (at, every, action) in actions {
            let at = query.number(at)?.map(When::At);
            let every = query.number(every)?.map(When::Every);
            script.events.extend(at.into_iter().chain(every).map(|when| (when, action)));
        }
        query.finish()?;
        if script.standstill.1 >= script.standstill.0.max(1) || (script.standstill.0 > 0) != (script.standstill.1 > 0) {
            let words = "still_ms in the target's URL needs still_every_ms, which is longer";
            return Err(Error::configuration(words));
        }
        let missing = |what: &str, of: &str| Error::configuration(format!("{what} in the target's URL needs {of}"));
        let has = |action: fn(&Action) -> bool| script.events.iter().any(|(_, found)| action(found));
        if kind.is_some() && !has(|action| matches!(action, Action::Fail(_))) {
            return Err(missing("fail", "fail_at or fail_every"));
        }
        match (stall > 0, has(|action| matches!(action, Action::Stall(_)))) {
            (true, false) => Err(missing("stall_ms", "stall_at or stall_every")),
            (false, true) => Err(missing("stall_at", "stall_ms (or _us, _ns)")),
            _ => Ok(script),
        }
    }

    /// When `ns` of work are done that begin at `now`: the server does none while it stands still, at the beginning
    /// of each period of the clock.
    pub(super) fn ends(&self, now: Nanos, ns: Nanos) -> Nanos {
        let (every, still) = self.standstill;
        if every == 0 {
            return now + ns;
        }
        let (period, within) = (now / every, now % every);
        // Work of the period that was done or could have been done before.
        let done = within.saturating_sub(still) + ns;
        let room = every - still;
        // What ends with its period ends before the next standstill.
        let (whole, rest) = ((done.max(1) - 1) / room, (done.max(1) - 1) % room + 1);
        if done == 0 {
            return period * every + within.max(still);
        }
        (period + whole) * every + still + rest
    }

    /// How long call `number` takes, and how it fails.
    pub(super) fn of(&self, number: u64) -> (Nanos, Option<ErrorKind>) {
        let mut result = (self.latency_ns, None);
        for (_, action) in self.events.iter().filter(|(when, _)| when.meets(number)) {
            match *action {
                Action::Stall(ns) => result.0 += ns,
                Action::Fail(kind) => result.1 = result.1.or(Some(kind)),
            }
        }
        result
    }
}

/// A time by whichever of the names (in ns, µs, ms) is there; 0 when none is.
fn duration(query: &mut Query, names: [&'static str; 3]) -> Result<Nanos> {
    let mut total: Nanos = 0;
    for (name, factor) in names.into_iter().zip([1, 1_000, 1_000_000]) {
        let number = query.number::<Nanos>(name)?.unwrap_or(0);
        let fits = number.checked_mul(factor).and_then(|ns| total.checked_add(ns));
        total = fits.ok_or_else(|| Error::configuration(format!("{name}={number} in the target's URL is too long")))?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_script() {
        assert_eq!(Script::parse("mock:").unwrap(), Script::default());
        let url = "mock:?latency_us=100&fail_every=3&fail=deadlock&stall_at=6&stall_ms=2&disconnect_at=5&calls=all";
        let script = Script::parse(url).unwrap();
        assert_eq!((script.latency_ns, script.calls), (100_000, Calls::All));
        assert_eq!(script.of(1), (100_000, None));
        assert_eq!(script.of(3), (100_000, Some(ErrorKind::Deadlock)));
        assert_eq!(script.of(5), (100_000, Some(ErrorKind::Disconnected)));
        assert_eq!(script.of(6), (2_100_000, Some(ErrorKind::Deadlock)));
    }

    #[test]
    fn a_server_that_stands_still_works_on_afterwards() {
        let script = Script::parse("mock:?still_every_ns=100&still_ns=30").unwrap();
        // At 40 it has worked for 10 of 70 ns of the period.
        let cases =
            [(40, 5, 45), (40, 60, 100), (40, 61, 131), (40, 130, 200), (40, 131, 231), (10, 5, 35), (10, 0, 30)];
        for (now, ns, end) in cases {
            assert_eq!(script.ends(now, ns), end, "{ns} from {now} on");
        }
        assert_eq!(Script::default().ends(40, 5), 45);
    }

    #[test]
    fn half_a_script_is_refused() {
        for wrong in [
            "mock:?fail=busy",
            "mock:?stall_ms=5",
            "mock:?stall_at=5",
            "mock:?fail_at=1&fail=boredom",
            "mock:?latency=5",
            "mock:?still_ms=5",
            "mock:?still_every_ms=5",
            "mock:?still_every_ms=5&still_ms=5",
            "mock:?latency_ms=99999999999999999",
        ] {
            assert_eq!(Script::parse(wrong).unwrap_err().kind, ErrorKind::Configuration, "{wrong}");
        }
    }
}
