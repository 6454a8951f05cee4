//! Moments of the calendar as numbers and as texts, by Hinnant, "chrono-Compatible Low-Level Date Algorithms": days of a
//! calendar whose years begin in March.

use std::io::Write;

/// Microseconds since 1970 of `YYYY-MM-DD`, with ` HH:MM:SS` or without, and with parts of a second or without.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "0:0:0"));
    let (time, part) = time.split_once('.').unwrap_or((time, ""));
    let numbers = |text: &str, sign| -> Option<[i64; 3]> {
        let all: std::result::Result<Vec<i64>, _> = text.split(sign).map(str::parse).collect();
        all.ok()?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let part: i64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let fits = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=longest).contains(&day);
    let fits = fits && (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    fits.then_some(seconds * 1_000_000 + part)
}

/// A moment as text, by the calendar of [`timestamp`] the other way round.
pub(super) fn moment(at: i64, text: &mut Vec<u8>) -> std::io::Result<()> {
    let (days, of_day) = (at.div_euclid(86_400_000_000) + 719_468, at.rem_euclid(86_400_000_000));
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let months = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * months + 2) / 5 + 1, if months < 10 { months + 3 } else { months - 9 });
    let year = era * 400 + years + i64::from(month < 3);
    let (second, part) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    write!(text, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
    if part > 0 {
        write!(text, ".{part:06}")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written_by_the_calendar() {
        for (text, at) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 23:59:59", 951_868_799_000_000),
            ("2026-03-01 12:00:00.000250", 1_772_366_400_000_250),
            ("1969-12-31 23:59:59.500000", -500_000),
        ] {
            let mut written = Vec::new();
            moment(at, &mut written).unwrap();
            assert_eq!((timestamp(text), String::from_utf8(written).unwrap().as_str()), (Some(at), text));
        }
        for wrong in ["2026-13-01", "2026-02-29", "2026-04-31", "1900-02-29", "2026-01-01 24:00:00", "today"] {
            assert_eq!(timestamp(wrong), None, "{wrong}");
        }
    }
}
