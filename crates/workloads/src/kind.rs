//! A kind of transactions, as an entry of the registry has it.

/// A kind of transactions. Start from [`Kind::named`].
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in tables.
    pub name: &'static str,
    /// Share (0-1) that it must have in the mix.
    pub least_share: Option<f64>,
    /// Seconds that 90% of its response times must not exceed.
    pub limit_s: Option<f64>,
    /// Seconds to key its inputs in, and the mean of those to think after it.
    pub keying_and_think_s: Option<(u32, u32)>,
    /// When its terminal only queues it.
    pub queued: Option<Queued>,
    /// What it does to the rows that it counts; `None` where it counts none, or does several things to them.
    pub rows: Option<Changed>,
}

/// What a kind does to each row that it counts: its operations are these rows, not its transactions.
#[derive(Debug, Clone, Copy)]
pub enum Changed {
    /// Brings it, with so many bytes of user data on average; 0 where they are not known.
    Inserted(f64),
    /// Takes it away.
    Deleted,
}

/// A kind that a terminal does not wait for where a setting says so.
#[derive(Debug, Clone, Copy)]
pub struct Queued {
    /// Name of the setting.
    pub setting: &'static str,
    /// Its value.
    pub value: &'static str,
    /// The limit then, from queueing to the end, in seconds.
    pub limit_s: f64,
}

impl Kind {
    /// A kind of which nothing is asked.
    pub const fn named(name: &'static str) -> Self {
        Self { name, least_share: None, limit_s: None, keying_and_think_s: None, queued: None, rows: None }
    }

    /// The same, of one that does this to each of its rows.
    pub const fn of_rows(name: &'static str, rows: Changed) -> Self {
        Self { rows: Some(rows), ..Self::named(name) }
    }
}

/// The names of `kinds`, for [`Workload::kinds`](dsbench_core::workload::Workload::kinds).
pub const fn names_of<const N: usize>(kinds: &[Kind; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = kinds[at].name;
        at += 1;
    }
    names
}
