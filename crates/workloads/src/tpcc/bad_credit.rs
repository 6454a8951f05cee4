//! The data of customers with bad credit: each Payment writes itself before it, and 500 characters stay
//! (clause 2.5.2.2).

use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Value};

/// Characters that stay.
const MOST: usize = 500;

/// The longest text that a Payment writes: the numbers of two places of five and two digits, a customer and an amount.
const LONGEST_ENTRY: usize = "3000 10 99999 10 99999 5000.00 ".len();

/// Whether the data of row `at` of customers are those of its Payments, before the data `loaded` with it.
pub fn holds(found: &Rows, at: usize, loaded: &[Value<'_>]) -> Result<bool> {
    const YTD: usize = 17;
    const PAYMENTS: usize = 18;
    const DATA: usize = 20;
    let Value::Text(before) = loaded[DATA] else { return Ok(false) };
    let key = [found.int(at, 2)?, found.int(at, 1)?, found.int(at, 0)?];
    let (payments, cents) = (found.int(at, PAYMENTS)? - 1, found.decimal(at, YTD, 2)? - 1000);
    Ok(is_written(found.text(at, DATA)?, before, key, payments, cents))
}

/// `key`: customer, district and warehouse; `payments` of `cents` together were made since the load.
fn is_written(found: &str, before: &str, key: [i64; 3], payments: i64, cents: i64) -> bool {
    let (mut rest, mut paid) = (found, 0);
    for _ in 0..payments {
        match entry(rest, key) {
            Some((amount, after)) => (rest, paid) = (after, paid + amount),
            // The oldest ones have fallen off the end.
            None => return found.len() == MOST && rest.len() < LONGEST_ENTRY,
        }
    }
    let room = MOST - (found.len() - rest.len()).min(MOST);
    paid == cents && before.get(..before.len().min(room)) == Some(rest)
}

/// The amount, in cents, of the Payment that a text begins with, and what comes after it.
fn entry(text: &str, key: [i64; 3]) -> Option<(i64, &str)> {
    let (mut numbers, mut rest) = ([0; 5], text);
    for number in &mut numbers {
        let (digits, after) = rest.split_once(' ')?;
        (*number, rest) = (digits.parse().ok()?, after);
    }
    let (amount, rest) = rest.split_once(' ')?;
    let (whole, cents) = amount.split_once('.').filter(|(_, cents)| cents.len() == 2)?;
    let amount = whole.parse::<i64>().ok()? * 100 + cents.parse::<i64>().ok()?;
    (numbers[..3] == key).then_some((amount, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [i64; 3] = [7, 2, 1];

    #[test]
    fn payments_stand_before_what_was_loaded() {
        assert!(is_written("loaded", "loaded", KEY, 0, 0));
        assert!(is_written("7 2 1 3 4 12.05 loaded", "loaded", KEY, 1, 1205));
        assert!(is_written("7 2 1 3 4 1.00 7 2 1 3 4 12.05 loaded", "loaded", KEY, 2, 1305));
        for (found, payments, cents) in [
            ("", 0, 0),
            ("loade", 0, 0),
            ("7 2 1 3 4 12.05 loaded", 0, 0),
            ("7 2 1 3 4 12.05 loaded", 2, 1205),
            ("7 2 1 3 4 12.05 loaded", 1, 1204),
            ("8 2 1 3 4 12.05 loaded", 1, 1205),
            ("7 2 1 3 4 12.5 loaded", 1, 1205),
            ("7 2 1 3 4 12.05loaded", 1, 1205),
        ] {
            assert!(!is_written(found, "loaded", KEY, payments, cents), "{found}");
        }
    }

    #[test]
    fn five_hundred_characters_stay() {
        let (loaded, one) = ("x".repeat(490), "7 2 1 3 4 12.05 ");
        let cut = |text: String| text[..MOST].to_string();
        assert!(is_written(&cut(format!("{one}{loaded}")), &loaded, KEY, 1, 1205));
        assert!(is_written(&cut(one.repeat(40)), &loaded, KEY, 40, 48_200), "the loaded text is gone");
        assert!(is_written(&cut(one.repeat(40)), &loaded, KEY, 99, 119_295), "so are old payments");
        assert!(!is_written(&loaded, &loaded, KEY, 40, 48_200));
        assert!(!is_written(&"x".repeat(500), &loaded, KEY, 1, 1205));
        assert!(!is_written(&one.repeat(40)[..499], &loaded, KEY, 40, 48_200));
    }
}
