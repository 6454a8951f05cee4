//! What a client draws for a transaction (clauses 2.4.1 to 2.8.1).

use dsbench_core::random::Stream;

use super::nurand::Constants;
use super::sizes::DISTRICTS;

/// The most lines of an order.
pub const MOST_LINES: usize = 15;

/// The number of an item that is not there, whatever the size.
pub const UNUSED_ITEM: i64 = 100_001;

/// Where a client works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// Warehouses there are.
    pub scale: u32,
    /// Its warehouse, from 1.
    pub warehouse: i64,
    /// Its district, from 1; only Stock-Level keeps to it.
    pub district: i64,
}

impl Home {
    /// The warehouse and district of client `id`: the first clients are spread over all warehouses, the
    /// next ones over the next district of each.
    pub fn of(id: u64, scale: u32) -> Self {
        let warehouses = u64::from(scale);
        let district = id / warehouses % DISTRICTS;
        Self { scale, warehouse: (id % warehouses) as i64 + 1, district: district as i64 + 1 }
    }

    /// Where client `id` of `clients` works. So that no warehouse lies idle, fewer clients than warehouses share
    /// these out (client i of n has the warehouses i, i + n, …, from 0), and each draws one of its own, and
    /// a district of it, for each transaction.
    pub fn among(stream: &mut Stream, id: u64, clients: u64, scale: u32) -> Self {
        let warehouses = u64::from(scale);
        if clients >= warehouses {
            return Self::of(id, scale);
        }
        let first = id % clients.max(1);
        let own = (warehouses - first).div_ceil(clients.max(1));
        let warehouse = first + clients * stream.below(own) + 1;
        Self { scale, warehouse: warehouse as i64, district: district(stream) }
    }

    /// Any warehouse and district.
    pub fn draw(stream: &mut Stream, scale: u32) -> Self {
        let warehouse = stream.between(1, i64::from(scale));
        Self { scale, warehouse, district: district(stream) }
    }

    /// With a probability of `percent` another warehouse, each with the same; the home where there is none.
    fn other(self, stream: &mut Stream, percent: u64) -> i64 {
        if stream.below(100) >= percent || self.scale == 1 {
            return self.warehouse;
        }
        let other = stream.between(1, i64::from(self.scale) - 1);
        other + i64::from(other >= self.warehouse)
    }
}

fn district(stream: &mut Stream) -> i64 {
    stream.between(1, DISTRICTS as i64)
}

/// One line of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// The item; [`UNUSED_ITEM`] in an order that is to be rolled back.
    pub item: i64,
    /// The warehouse that supplies it.
    pub supply: i64,
    /// How many.
    pub quantity: i64,
}

/// Inputs of New-Order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewOrder {
    /// Warehouse.
    pub w: i64,
    /// District.
    pub d: i64,
    /// Customer.
    pub c: i64,
    /// The lines, of which `count` are used, in runs without a stock twice, each in the order of locks.
    lines: [Line; MOST_LINES],
    /// How many lines there are: 5 to 15.
    count: usize,
    /// Where each run ends, of which `runs` are used.
    ends: [usize; MOST_LINES],
    runs: usize,
    /// Whether an item is not there.
    pub unused: bool,
}

impl NewOrder {
    /// Draws by clause 2.4.1: 1% have an unused item, 1% of the lines another warehouse.
    pub fn draw(stream: &mut Stream, constants: &Constants, home: Home) -> Self {
        let mut order =
            Self { w: home.warehouse, d: district(stream), c: constants.customer(stream), ..Self::default() };
        order.count = stream.between(5, 15) as usize;
        order.unused = stream.below(100) == 0;
        for line in &mut order.lines[..order.count] {
            let item = constants.item(stream);
            *line = Line { item, supply: home.other(stream, 1), quantity: stream.between(1, 10) };
        }
        if order.unused {
            order.lines[order.count - 1].item = UNUSED_ITEM;
        }
        order.arrange();
        order
    }

    /// Sorts the lines so that no two orders wait for each other's stocks, and an unused item comes last.
    /// A stock that stands twice comes once in each run: one statement may update all of a run.
    fn arrange(&mut self) {
        // An unused item stays last of all: until it is met, everything else is done.
        let sorted = self.count - usize::from(self.unused);
        let lines = &mut self.lines[..sorted];
        let key = |line: &Line| (line.item, line.supply);
        lines.sort_unstable_by_key(key);
        let (mut start, mut runs) = (0, 0);
        while start < lines.len() {
            let mut end = start + 1;
            for at in start + 1..lines.len() {
                let twice = key(&lines[at]) == key(&lines[end - 1]);
                if !twice {
                    // What was passed over keeps its order.
                    lines[end..=at].rotate_right(1);
                    end += 1;
                }
            }
            self.ends[runs] = end;
            runs += 1;
            start = end;
        }
        self.ends[runs - 1] = self.count;
        self.runs = runs;
    }

    /// Its lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Where each run of lines without a stock twice ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends[..self.runs]
    }

    /// Lines that another warehouse supplies.
    pub fn remote_lines(&self) -> usize {
        self.lines().iter().filter(|line| line.supply != self.w).count()
    }
}

/// How a customer is named: by number, or by the number of the last name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Id(i64),
    /// By last name.
    Name(i64),
}

impl Default for Who {
    fn default() -> Self {
        Self::Id(0)
    }
}

impl Who {
    /// 60% by last name.
    fn draw(stream: &mut Stream, constants: &Constants) -> Self {
        match stream.below(100) < 60 {
            true => Self::Name(constants.last_name(stream)),
            false => Self::Id(constants.customer(stream)),
        }
    }
}

/// Inputs of Payment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Payment {
    /// Warehouse and district that take the payment.
    pub w: i64,
    /// The district.
    pub d: i64,
    /// Warehouse of the customer.
    pub c_w: i64,
    /// District of the customer.
    pub c_d: i64,
    /// The customer.
    pub who: Who,
    /// 1.00 to 5000.00.
    pub cents: i64,
}

impl Payment {
    /// Draws by clause 2.5.1: 15% of the customers are another warehouse's.
    pub fn draw(stream: &mut Stream, constants: &Constants, home: Home) -> Self {
        let (w, d) = (home.warehouse, district(stream));
        let c_w = home.other(stream, 15);
        let c_d = if c_w == w { d } else { district(stream) };
        Self { w, d, c_w, c_d, who: Who::draw(stream, constants), cents: stream.between(100, 500_000) }
    }

    /// Whether the customer is another warehouse's.
    pub fn is_remote(&self) -> bool {
        self.c_w != self.w
    }
}

/// Inputs of Order-Status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderStatus {
    /// Warehouse.
    pub w: i64,
    /// District.
    pub d: i64,
    /// The customer.
    pub who: Who,
}

impl OrderStatus {
    /// Draws by clause 2.6.1.
    pub fn draw(stream: &mut Stream, constants: &Constants, home: Home) -> Self {
        Self { w: home.warehouse, d: district(stream), who: Who::draw(stream, constants) }
    }
}

/// Inputs of Delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Warehouse.
    pub w: i64,
    /// Carrier, 1 to 10.
    pub carrier: i64,
}

impl Delivery {
    /// Draws by clause 2.7.1.
    pub fn draw(stream: &mut Stream, home: Home) -> Self {
        Self { w: home.warehouse, carrier: stream.between(1, 10) }
    }
}

/// Inputs of Stock-Level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StockLevel {
    /// Warehouse.
    pub w: i64,
    /// District.
    pub d: i64,
    /// 10 to 20.
    pub threshold: i64,
}

impl StockLevel {
    /// Draws by clause 2.8.1.
    pub fn draw(stream: &mut Stream, home: Home) -> Self {
        Self { w: home.warehouse, d: home.district, threshold: stream.between(10, 20) }
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
