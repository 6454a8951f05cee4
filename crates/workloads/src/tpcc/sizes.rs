//! How much a warehouse holds (clause 1.2.1), as one value: tests and trials load a part of it.

use super::entry::ENTRY;
use crate::Settings;

/// Districts of a warehouse. A stock has one text for each, so that their number is no matter of size.
pub const DISTRICTS: u64 = 10;

/// The smallest part of the specification's rows that can be asked for.
pub(super) const LEAST: f64 = 0.01;

/// Numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Items, for all warehouses: a multiple of [`DISTRICTS`].
    pub items: u64,
    /// Customers of a district, and loaded orders.
    pub customers: u64,
    /// Last names; each is that of one of the district's first customers, and of others by chance.
    pub names: u64,
    /// Loaded orders of a district that are not delivered: the last ones.
    pub new_orders: u64,
}

impl Default for Sizes {
    /// Those of the specification.
    fn default() -> Self {
        Self { items: 100_000, customers: 3000, names: 1000, new_orders: 900 }
    }
}

impl Sizes {
    /// The part of the specification's rows that the setting `size` asks for.
    pub fn of(settings: &Settings) -> Self {
        // The setting was checked: what cannot be read is not there.
        ENTRY.value(settings, "size").trim().parse().map_or_else(|_| Self::default(), Self::part)
    }

    /// That part of them.
    pub(super) fn part(part: f64) -> Self {
        let of = |full: u64| (full as f64 * part).round() as u64;
        let full = Self::default();
        Self {
            items: of(full.items / DISTRICTS) * DISTRICTS,
            customers: of(full.customers),
            names: of(full.names),
            new_orders: of(full.new_orders),
        }
    }

    /// Loaded orders of a district that are delivered: the first ones.
    pub fn delivered(&self) -> u64 {
        self.customers - self.new_orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(size: &str) -> Sizes {
        Sizes::of(&Settings::new([("size".to_string(), size.to_string())]))
    }

    #[test]
    fn a_part_keeps_the_proportions_of_the_specification() {
        assert_eq!([of("1"), Sizes::of(&Settings::default())], [Sizes::default(); 2]);
        assert_eq!(Sizes::default().delivered(), 2100);
        let fiftieth = Sizes { items: 2000, customers: 60, names: 20, new_orders: 18 };
        assert_eq!(of(" 0.02"), fiftieth);
        for hundredths in 1..=100 {
            let sizes = Sizes::part(f64::from(hundredths) / 100.0);
            assert_eq!(sizes.items % DISTRICTS, 0, "stock is shared out over the districts");
            assert!(0 < sizes.names && sizes.names < sizes.customers && 0 < sizes.new_orders, "{sizes:?}");
            assert!(sizes.new_orders < sizes.customers, "{sizes:?}");
        }
    }
}
